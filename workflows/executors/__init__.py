"""Who makes the episodes of a run: this process, or worker processes.

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
        "serial": CatalogEntry("workflows.executors.serial:SerialExecutor", "this process, one after the other"),
    },
)
"""Executors by name; each is called with `workers` and `limits`."""
