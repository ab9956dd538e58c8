"""Importers and converters: from meshes and foreign URDFs to simulation-ready ones, cached by content."""
