"""Jobs that render images of recorded episodes."""
