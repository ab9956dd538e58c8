from .config import DisturbCfg as DisturbCfg
from .disturbance import Disturbance as Disturbance
from .disturbance import SmoothNoise as SmoothNoise
from .nudge import Nudge as Nudge
from .step_back import StepBack as StepBack
