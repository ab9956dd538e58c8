"""Appearance of a world: colours, textures, light, scenery, and pictures."""
