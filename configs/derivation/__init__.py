"""Derives what a command line or a task file leaves out: tasks, regions, words and planner settings."""
