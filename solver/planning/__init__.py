"""The planner: goal, path, approach, retreat and free motion as one timed plan."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
