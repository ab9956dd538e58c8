"""Who runs the jobs of a multirun: this process one after the other, or one of Hydra's launchers.

To add one: one line in `catalog.py`, one YAML in `configs/launcher/`, one test.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
