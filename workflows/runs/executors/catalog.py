"""The executors by name."""

from unlatch.simcore.registry import Catalog, CatalogEntry

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
