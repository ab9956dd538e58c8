"""The number of this process among the workers of a run."""

from __future__ import annotations

import os

WORKER_VARIABLE = "UNLATCH_WORKER"
"""The environment variable with the number of a worker, from 0; executors set it."""


def speaks_for_all() -> bool:
    """Returns whether this process says what all workers of a run would say: it is the first of them, or none."""
    return os.environ.get(WORKER_VARIABLE, "0") == "0"
