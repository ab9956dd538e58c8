"""Parts that all commands share: arguments, console output, help, progress and Ctrl-C."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
