"""Who makes the episodes of a run: this process, worker processes, or workers on a cluster.

To add one: one file here, one catalog line, one YAML in `configs/executor/`, one test.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
