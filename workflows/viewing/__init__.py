"""Pictures, pages and reports of recorded episodes."""
