"""Bullet behind typed functions: the only package that imports it."""

from unlatch.simcore.process import hide_native_output

with hide_native_output():  # Bullet prints a banner when it is first imported
    import pybullet as pybullet
