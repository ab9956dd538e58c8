"""Randomization of the physics of one or many environments: `from unlatch import randomization as dr`."""
