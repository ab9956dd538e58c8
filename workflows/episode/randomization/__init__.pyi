from .episode_randomization import EpisodeRandomization as EpisodeRandomization
from .recorded_randomization import make_randomization as make_randomization
from .visual_views import cameras as cameras
