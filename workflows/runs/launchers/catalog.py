"""The launchers of a sweep by name."""

from unlatch.workflows.runs.launchers.hydra_launcher import HydraLauncher

SERIAL = "serial"
"""Name of the launcher that is none: this process."""
LAUNCHERS = {
    "joblib": HydraLauncher("joblib", module="hydra_plugins.hydra_joblib_launcher", extra="joblib"),
    "slurm": HydraLauncher(
        "submitit_slurm", module="hydra_plugins.hydra_submitit_launcher", extra="slurm", program="sbatch"
    ),
    "slurm_local": HydraLauncher("submitit_local", module="hydra_plugins.hydra_submitit_launcher", extra="slurm"),
}
"""The others by name."""
