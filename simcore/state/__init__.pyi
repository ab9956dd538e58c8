from .buffer import Buffer
from .module import Module
from .rendering import Rendering

__all__ = [
    "Buffer",
    "Module",
    "Rendering",
]
