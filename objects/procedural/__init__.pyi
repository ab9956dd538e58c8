from .catalog import GENERATORS

__all__ = [
    "GENERATORS",
]
