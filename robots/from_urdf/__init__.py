"""Derives a robot's description from its URDF."""
