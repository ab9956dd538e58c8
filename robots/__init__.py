"""Robots: their description, arms and grippers; one robot a module, listed in `catalog.py`."""
