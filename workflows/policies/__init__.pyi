from .catalog import load_policy
from .module import load
from .policy import Policy

__all__ = [
    "Policy",
    "load",
    "load_policy",
]
