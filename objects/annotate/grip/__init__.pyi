from .handle import HANDLE_NAMES, find_grip
from .push import body_point, push_point

__all__ = [
    "HANDLE_NAMES",
    "body_point",
    "find_grip",
    "push_point",
]
