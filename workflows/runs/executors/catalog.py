"""The executors by name."""

from __future__ import annotations

from loky import cpu_count

from unlatch.simcore.registry import Catalog, CatalogEntry
from unlatch.workflows.runs.executors.executor import Executor, WorkerLimits

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
    listed_by="unlatch list executors",
)
"""Executors by name; each is called with `workers` and `limits`."""


def make_executor(name: str, *, workers: int | None, limits: WorkerLimits | None = None) -> Executor:
    """Makes an executor; by default it has one worker for each CPU core of this host or of its cluster."""
    executor_type = EXECUTORS.load(name)
    if workers is None and executor_type.on_this_host:
        workers = cpu_count()
    executor: Executor = executor_type(workers=workers, limits=limits)
    return executor
