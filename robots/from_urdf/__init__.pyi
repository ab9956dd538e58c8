from .reach import ReachModel, ReachRegion

__all__ = [
    "ReachModel",
    "ReachRegion",
]
