"""Robots: what they are, their arms and grippers; one robot a file, listed in `catalog.py`."""
