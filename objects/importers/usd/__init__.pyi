from .openusd import import_openusd
from .writer import write_usd

__all__ = [
    "import_openusd",
    "write_usd",
]
