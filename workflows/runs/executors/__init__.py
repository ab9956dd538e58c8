"""Who makes the episodes of a run: this process, worker processes, or workers on a cluster.

To add one: one file here, one catalog line, one YAML in `configs/executor/`, one test.
"""

from unlatch.simcore.registry import Catalog, CatalogEntry
from unlatch.workflows.runs.executors.executor import EpisodeMaker, Executor, Job, Outcome, WorkerLimits

__all__ = ["EXECUTORS", "EpisodeMaker", "Executor", "Job", "Outcome", "WorkerLimits"]

EXECUTORS = Catalog(
    "executor",
    {
        "process": CatalogEntry(
            "unlatch.workflows.runs.executors.process:ProcessExecutor", "worker processes; one that dies is replaced"
        ),
        "ray": CatalogEntry(
            "unlatch.workflows.runs.executors.ray_cluster:RayExecutor",
            "workers on every node of a Ray cluster (extra ray)",
        ),
        "serial": CatalogEntry(
            "unlatch.workflows.runs.executors.serial:SerialExecutor", "this process, one after the other"
        ),
    },
)
"""Executors by name; each is called with `workers` and `limits`."""
