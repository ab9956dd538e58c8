"""The launchers of a sweep by name."""

from unlatch.workflows.runs.launchers.hydra_launcher import HydraLauncher

SERIAL = "serial"
"""Value of `launcher.name` without a launcher: this process runs the jobs."""
LAUNCHERS = {
    "joblib": HydraLauncher("joblib", module="hydra_plugins.hydra_joblib_launcher", extra="joblib"),
    "slurm": HydraLauncher(
        "submitit_slurm", module="hydra_plugins.hydra_submitit_launcher", extra="slurm", program="sbatch"
    ),
    "slurm_local": HydraLauncher("submitit_local", module="hydra_plugins.hydra_submitit_launcher", extra="slurm"),
}
"""Hydra's launchers by the name that `launcher.name` uses."""
