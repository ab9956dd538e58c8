"""Skills: what a robot does to one part of one object; one skill a file, listed in `catalog.py`."""
