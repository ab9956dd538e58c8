"""The launchers of a sweep by name."""

from __future__ import annotations

from unlatch.simcore.registry import Catalog, CatalogEntry

SERIAL = "serial"
"""Value of `launcher.name` without a launcher: this process runs the jobs."""
_MODULE = "unlatch.workflows.runs.launchers.hydra_launcher"
LAUNCHERS = Catalog(
    "launcher",
    {
        "joblib": CatalogEntry(f"{_MODULE}:JOBLIB", "processes of this machine: extra 'joblib'"),
        "slurm": CatalogEntry(f"{_MODULE}:SLURM", "jobs of a cluster with Slurm: extra 'slurm'"),
        "slurm_local": CatalogEntry(f"{_MODULE}:SLURM_LOCAL", "jobs as for Slurm, on this machine: extra 'slurm'"),
    },
)
"""Hydra's launchers by the name that `launcher.name` uses."""
