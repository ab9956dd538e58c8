"""Who makes the episodes of a run: this process, worker processes, or workers on a cluster.

To add one: one file here, one catalog line, one YAML in `configs/executor/`, one test.
"""

from simcore.registry import Catalog, CatalogEntry
from workflows.executors.executor import EpisodeMaker, Executor, Job, Outcome, WorkerLimits

__all__ = ["EXECUTORS", "EpisodeMaker", "Executor", "Job", "Outcome", "WorkerLimits"]

EXECUTORS = Catalog(
    "executor",
    {
        "process": CatalogEntry(
            "workflows.executors.process:ProcessExecutor", "worker processes; one that dies is replaced"
        ),
        "ray": CatalogEntry(
            "workflows.executors.ray_cluster:RayExecutor", "workers on every node of a Ray cluster (extra ray)"
        ),
        "serial": CatalogEntry("workflows.executors.serial:SerialExecutor", "this process, one after the other"),
    },
)
"""Executors by name; each is called with `workers` and `limits`."""
