"""Sensors: modules mounted on a link or in the world, chosen by name in a configuration."""
