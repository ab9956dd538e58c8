"""Forms in which a recorded episode can be looked at; each turns a `RecordedScene` into the bytes of one file.

To add one: one file here with a function `to_NAME(scene) -> bytes`, one catalog line whose name is the file's ending,
one test in `tests/workflows/commands/test_view.py`. What it needs beyond the core is an extra, imported by
`import_extra`.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
