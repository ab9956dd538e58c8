"""A data set on disk: its folder layout, header, index and writers."""
