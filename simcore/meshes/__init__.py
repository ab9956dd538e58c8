"""Triangle meshes: reading files, measuring surfaces, and writing them."""
