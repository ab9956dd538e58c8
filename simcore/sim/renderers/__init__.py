"""Renderers: what makes images of a world, chosen by name."""
