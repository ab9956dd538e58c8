"""Skills: what a robot does to one part of one object; one skill per file, listed in `catalog.py`.

How a part is grasped, pushed or turned is in `strategies/`. What counts as success is in `contract/success.py`; the
threshold of a derived setting is `goal_value` in `strategies/open_close.py`.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
