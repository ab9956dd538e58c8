"""Derives what a command line or a task file leaves out: tasks, regions, words and planner settings."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
