"""Runs the jobs of a sweep with one of Hydra's launchers."""

from __future__ import annotations

import logging
import shutil
import subprocess
import sys
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from hydra import initialize_config_dir
from hydra.core.global_hydra import GlobalHydra
from hydra.core.utils import JobStatus
from hydra.errors import HydraException
from omegaconf import DictConfig
from omegaconf.errors import OmegaConfBaseException

from unlatch.configs.config_files import config_dir
from unlatch.configs.override_errors import explain_error
from unlatch.configs.overrides import quote_text, write_value
from unlatch.simcore.errors import ConfigError
from unlatch.simcore.extras import import_extra
from unlatch.workflows.runs.sweep import LOGS, read_job

logger = logging.getLogger(__name__)

_QUIET = ("hydra.output_subdir=null", "hydra/job_logging=none", "hydra/hydra_logging=none", "hydra.verbose=false")


@dataclass(frozen=True)
class HydraLauncher:
    """One of Hydra's launchers."""

    option: str
    """Its name in Hydra's group `hydra/launcher`."""
    module: str
    """The plugin's package."""
    extra: str
    """The extra that installs it."""
    program: str | None = None
    """The program that submits jobs; None: there is none."""

    def launch(
        self,
        jobs: Path,
        n_jobs: int,
        settings: Mapping[str, Any],
        *,
        at_once: int | None,
        notify: Callable[[str], None] = logger.warning,
    ) -> list[int]:
        """Runs the jobs of a sweep and waits for them.

        Args:
            jobs: The file in the sweep's folder that lists the jobs.
            n_jobs: The number of jobs.
            settings: Settings of the launcher; null keeps its default.
            at_once: Most jobs at a time, for a launcher without such a setting; None: no limit.
            notify: Called with one line if the launcher loses jobs.

        Returns:
            The exit code of each job; 1 for a job that the launcher lost.

        Raises:
            PluginError: The plugin is not installed.
            ConfigError: A setting is wrong.
        """
        self.check()
        codes = jobs.parent / ".launcher" / uuid.uuid4().hex
        overrides = self.overrides(jobs, n_jobs, settings, codes=codes, at_once=at_once)
        try:
            with initialize_config_dir(config_dir=str(config_dir()), job_name="unlatch", version_base="1.3"):
                hydra = GlobalHydra.instance().hydra
                returns = [] if hydra is None else hydra.multirun("sweep_job", run_job, overrides)
        except (HydraException, OmegaConfBaseException) as exc:
            raise explain_error(exc) from exc
        except Exception as exc:  # noqa: BLE001 - any error of the launcher: a job was killed, a node is gone
            found = [_read_exit_code(codes, number) for number in range(n_jobs)]
            lost = [number for number, code in enumerate(found) if code is None]
            notify(f"unlatch: the launcher lost {len(lost)} of {n_jobs} jobs before their end: {exc}.")
            return [1 if code is None else code for code in found]
        results = chain.from_iterable(returns)
        return [int(result.return_value) if result.status is JobStatus.COMPLETED else 1 for result in results]

    def overrides(
        self, jobs: Path, n_jobs: int, settings: Mapping[str, Any], *, codes: Path, at_once: int | None
    ) -> list[str]:
        """Returns the overrides for Hydra; arguments as for `launch`, and a folder for exit codes and Hydra's files."""
        limit = [] if at_once is None else [f"hydra.sweeper.max_batch_size={at_once}"]
        if self.option == "submitit_local":
            # one folder for all jobs, which exists beforehand: a job may start before its own folder exists
            limit.append(f"hydra.launcher.submitit_folder={quote_text(str(codes / 'submitit'))}")
        return [
            f"job={','.join(map(str, range(n_jobs)))}",
            f"jobs={quote_text(str(jobs))}",
            f"codes={quote_text(str(codes))}",
            f"hydra/launcher={self.option}",
            f"hydra.sweep.dir={quote_text(str(codes))}",
            *_QUIET,
            *(
                # a key of a mapping, such as `gres`, is new to the plugin's schema
                f"{'++' if isinstance(value, Mapping) else ''}hydra.launcher.{key}={write_value(value)}"
                for key, value in settings.items()
                if value is not None
            ),
            *limit,
        ]

    def check(self) -> None:
        """Checks that the launcher can be used here.

        Raises:
            PluginError: The plugin is not installed.
            ConfigError: The program that submits jobs is not on this machine.
        """
        import_extra(self.module, extra=self.extra)
        if self.program is not None and shutil.which(self.program) is None:
            raise ConfigError(
                f"Program '{self.program}' is not on this machine. Expected a host that can submit "
                "jobs. Run it there, or try the sweep with launcher=slurm_local.",
                key="launcher",
            )


def run_job(cfg: DictConfig) -> int:
    """Runs one job of a sweep in a process of its own and writes its output to its log; returns its exit code."""
    jobs, codes = Path(cfg.jobs), Path(cfg.codes)
    job = read_job(jobs, cfg.job)
    with (jobs.parent / LOGS / f"{job.name}.log").open("ab") as log:
        words = [sys.executable, "-m", "unlatch", *job.arguments]
        code = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log, check=False).returncode
    # a launcher that loses one job does not report the others
    codes.mkdir(parents=True, exist_ok=True)
    (codes / f"{cfg.job}.code").write_text(str(code), encoding="utf-8")
    return code


def _read_exit_code(codes: Path, number: int) -> int | None:
    """Returns the exit code of a job that has ended; None if it has not."""
    try:
        return int((codes / f"{number}.code").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


_SUBMITIT = "hydra_plugins.hydra_submitit_launcher"
JOBLIB = HydraLauncher("joblib", module="hydra_plugins.hydra_joblib_launcher", extra="joblib")
SLURM = HydraLauncher("submitit_slurm", module=_SUBMITIT, extra="slurm", program="sbatch")
SLURM_LOCAL = HydraLauncher("submitit_local", module=_SUBMITIT, extra="slurm")
