"""Images of recorded episodes: render sets, their videos and their readers."""
