"""The physics loop in C; `unlatch.simcore.sim.core` calls it."""
