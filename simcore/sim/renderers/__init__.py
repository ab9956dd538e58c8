"""Renderers make images of a world; a configuration chooses one by name."""
