"""Policies, which decide the actions of the arms in `unlatch evaluate`, by their spec.

To add a kind: one file here with a function that makes the policy, one catalog line, one test.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
