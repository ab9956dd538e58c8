"""Decomposition of meshes into convex colliders."""
