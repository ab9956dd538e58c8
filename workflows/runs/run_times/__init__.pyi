from .pace import Pace as Pace
from .pace import pace_of as pace_of
from .run_clock import read_run_times as read_run_times
