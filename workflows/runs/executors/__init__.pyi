from .catalog import EXECUTORS
from .executor import EpisodeMaker, Executor, Job, Outcome, WorkerLimits
from .process import ProcessExecutor
from .ray_cluster import RayExecutor
from .serial import SerialExecutor

__all__ = [
    "EXECUTORS",
    "EpisodeMaker",
    "Executor",
    "Job",
    "Outcome",
    "ProcessExecutor",
    "RayExecutor",
    "SerialExecutor",
    "WorkerLimits",
]
