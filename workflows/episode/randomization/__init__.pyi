from .episode_randomization import EpisodeRandomization as EpisodeRandomization
from .recorded_randomization import make_randomization as make_randomization
from .recorded_randomization import with_recorded as with_recorded
from .visual_views import cameras as cameras
