"""Writes converted objects as USD files (extra `usd`)."""
