"""Bullet behind typed functions: the only place that imports it."""
