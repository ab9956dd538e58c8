"""Importers and converters: they make meshes and foreign URDFs ready for simulation, and cache them by content."""
