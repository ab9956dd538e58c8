"""Runs the jobs of a sweep by one of Hydra's launchers.

The launcher is given nothing but the number of a job: what it runs is the `unlatch` command of that job in a process of
its own, so that a job that dies of native code takes neither the launcher's pool nor other jobs with it.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simcore.errors import ConfigError
from workflows.console import note
from workflows.launchers.sweep import LOGS, read_job

if TYPE_CHECKING:
    from omegaconf import DictConfig

_QUIET = ("hydra.output_subdir=null", "hydra/job_logging=none", "hydra/hydra_logging=none", "hydra.verbose=false")


@dataclass(frozen=True)
class HydraLauncher:
    """One of Hydra's launchers."""

    option: str
    """Its name in Hydra's group `hydra/launcher`."""
    module: str
    """The plugin's package."""
    extra: str
    """The extra that brings it."""
    program: str | None = None
    """What it calls to submit jobs."""

    def launch(self, folder: Path, n_jobs: int, settings: Mapping[str, Any], *, at_once: int | None) -> list[int]:
        """Runs the jobs of a sweep and waits for them.

        Args:
            folder: Folder of the sweep, with its jobs.
            n_jobs: How many there are.
            settings: Settings of the launcher; those that are null are its own.
            at_once: Jobs at a time, for a launcher that knows no such limit; None: as many as it likes.

        Returns:
            The exit code of each job; 1 for one that the launcher lost.

        Raises:
            PluginError: The plugin is not installed.
            ConfigError: A setting is wrong.
        """
        from hydra import initialize_config_dir
        from hydra.core.global_hydra import GlobalHydra
        from hydra.errors import HydraException
        from omegaconf.errors import OmegaConfBaseException

        from configs import config_dir
        from configs.explain import explain
        from workflows.viewers.extra import import_extra

        import_extra(self.module, extra=self.extra)
        self._check_program()
        overrides = self.overrides(folder, n_jobs, settings, at_once=at_once)
        try:
            with initialize_config_dir(config_dir=str(config_dir()), job_name="unlatch", version_base="1.3"):
                hydra = GlobalHydra.instance().hydra
                returns = [] if hydra is None else hydra.multirun("sweep_job", run_job, overrides)
        except (HydraException, OmegaConfBaseException) as exc:
            raise explain(exc) from exc
        except Exception as exc:  # noqa: BLE001 - the launcher's own: a job was killed, a node went
            note(
                f"unlatch: the launcher lost jobs, and what became of the others is not known: {exc}. The same command "
                "again makes what is missing."
            )
            return [1] * n_jobs
        return [_exit_code(result) for batch in returns for result in batch]

    def overrides(self, folder: Path, n_jobs: int, settings: Mapping[str, Any], *, at_once: int | None) -> list[str]:
        """What is asked of Hydra; arguments as those of `launch`."""
        limit = [] if at_once is None else [f"hydra.sweeper.max_batch_size={at_once}"]
        return [
            f"job={','.join(map(str, range(n_jobs)))}",
            f"folder={_quoted(str(folder))}",
            f"hydra/launcher={self.option}",
            f"hydra.sweep.dir={_quoted(str(folder / '.launcher'))}",
            *_QUIET,
            *(f"hydra.launcher.{key}={_literal(value)}" for key, value in settings.items() if value is not None),
            *limit,
        ]

    def _check_program(self) -> None:
        if self.program is not None and shutil.which(self.program) is None:
            raise ConfigError(
                f"Program '{self.program}' is not on this machine. Expected a host that jobs are submitted from. "
                "Run it there, or try the sweep out with launcher=slurm_local.",
                key="launcher",
            )


def run_job(cfg: DictConfig) -> int:
    """Runs one job of a sweep in a process of its own, what it says going into its log; returns its exit code.

    Args:
        cfg: `job`, its number, and `folder`, that of the sweep.
    """
    folder = Path(cfg.folder)
    job = read_job(folder, cfg.job)
    with (folder / LOGS / f"{job.name}.log").open("ab") as log:
        words = [sys.executable, "-m", "unlatch", *job.arguments]
        return subprocess.run(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log, check=False).returncode


def _exit_code(result: Any) -> int:
    from hydra.core.utils import JobStatus

    return int(result.return_value) if result.status is JobStatus.COMPLETED else 1


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _literal(value: Any) -> str:
    """A value as Hydra's overrides have it."""
    if isinstance(value, Mapping):
        return "{" + ",".join(f"{_quoted(str(key))}:{_literal(item)}" for key, item in value.items()) + "}"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return "[" + ",".join(map(_literal, value)) + "]"
    if isinstance(value, bool):
        return str(value).lower()
    return _quoted(value) if isinstance(value, str) else str(value)
