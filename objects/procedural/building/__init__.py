"""Building blocks that the generators of objects share: panels, handles, textures, assemblies."""
