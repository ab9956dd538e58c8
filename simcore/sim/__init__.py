"""Bullet behind typed functions: the only package that imports it."""
