from .catalog import LAUNCHERS, SERIAL
from .sweep import LOGS, SWEEP_KEYS, SweepJob, default_folder, job_name, key_of, varied_keys, write_jobs

__all__ = [
    "LAUNCHERS",
    "LOGS",
    "SERIAL",
    "SWEEP_KEYS",
    "SweepJob",
    "default_folder",
    "job_name",
    "key_of",
    "varied_keys",
    "write_jobs",
]
