"""Grasp, hook, push and turn strategies, derived from a part's geometry as planner settings."""
