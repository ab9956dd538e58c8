"""Articulated paths: the joints while the part moves in the hand."""
