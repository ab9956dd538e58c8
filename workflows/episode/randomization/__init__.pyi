from .episode_randomization import EpisodeRandomization, VisualDraw, make_randomization
from .recorded_randomization import with_recorded
from .visual_views import cameras

__all__ = [
    "EpisodeRandomization",
    "VisualDraw",
    "cameras",
    "make_randomization",
    "with_recorded",
]
