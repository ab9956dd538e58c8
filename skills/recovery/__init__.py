"""Ways off the plan and back: disturbed targets, and the step back before a skill is planned anew."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
