"""Runs the jobs of a sweep by one of Hydra's launchers.

The launcher is given nothing but the number of a job: what it runs is the `unlatch` command of that job in a process of
its own, so that a job that dies of native code takes neither the launcher's pool nor other jobs with it.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unlatch.simcore.errors import ConfigError
from unlatch.workflows.cli.console import FAILED, print_note
from unlatch.workflows.runs.launchers.sweep import LOGS, read_job

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

    def launch(self, jobs: Path, n_jobs: int, settings: Mapping[str, Any], *, at_once: int | None) -> list[int]:
        """Runs the jobs of a sweep and waits for them.

        Args:
            jobs: The file of the sweep's folder that says which jobs there are.
            n_jobs: How many there are.
            settings: Settings of the launcher; those that are null are its own.
            at_once: Jobs at a time, for a launcher that knows no such limit; None: as many as it likes.

        Returns:
            The exit code of each job; 1 for one that the launcher lost before it had ended.

        Raises:
            PluginError: The plugin is not installed.
            ConfigError: A setting is wrong.
        """
        from hydra import initialize_config_dir
        from hydra.core.global_hydra import GlobalHydra
        from hydra.errors import HydraException
        from omegaconf.errors import OmegaConfBaseException

        from unlatch.configs.config_files import config_dir
        from unlatch.configs.hydra_errors import explain_error

        self.check()
        codes = jobs.parent / ".launcher" / uuid.uuid4().hex
        overrides = self.overrides(jobs, n_jobs, settings, codes=codes, at_once=at_once)
        try:
            with initialize_config_dir(config_dir=str(config_dir()), job_name="unlatch", version_base="1.3"):
                hydra = GlobalHydra.instance().hydra
                returns = [] if hydra is None else hydra.multirun("sweep_job", run_job, overrides)
        except (HydraException, OmegaConfBaseException) as exc:
            raise explain_error(exc) from exc
        except Exception as exc:  # noqa: BLE001 - the launcher's own: a job was killed, a node went
            found = [_noted_code(codes, number) for number in range(n_jobs)]
            lost = [number for number, code in enumerate(found) if code is None]
            print_note(f"unlatch: the launcher lost {len(lost)} of {n_jobs} jobs before they had ended: {exc}.")
            return [FAILED if code is None else code for code in found]
        return [_exit_code(result) for batch in returns for result in batch]

    def overrides(
        self, jobs: Path, n_jobs: int, settings: Mapping[str, Any], *, codes: Path, at_once: int | None
    ) -> list[str]:
        """What is asked of Hydra; arguments as those of `launch`, and a folder for exit codes and files of Hydra's."""
        limit = [] if at_once is None else [f"hydra.sweeper.max_batch_size={at_once}"]
        if self.option == "submitit_local":
            # one folder for all jobs, there beforehand: of a job's own, its process may be there first, and fails
            limit.append(f"hydra.launcher.submitit_folder={_quoted(str(codes / 'submitit'))}")
        return [
            f"job={','.join(map(str, range(n_jobs)))}",
            f"jobs={_quoted(str(jobs))}",
            f"codes={_quoted(str(codes))}",
            f"hydra/launcher={self.option}",
            f"hydra.sweep.dir={_quoted(str(codes))}",
            *_QUIET,
            *(f"hydra.launcher.{key}={_literal(value)}" for key, value in settings.items() if value is not None),
            *limit,
        ]

    def check(self) -> None:
        """Checks that it can be used here; nothing is written before.

        Raises:
            PluginError: The plugin is not installed.
            ConfigError: What it submits by is not on this machine.
        """
        from unlatch.simcore.extras import import_extra

        import_extra(self.module, extra=self.extra)
        if self.program is not None and shutil.which(self.program) is None:
            raise ConfigError(
                f"Program '{self.program}' is not on this machine. Expected a host that jobs are submitted from. "
                "Run it there, or try the sweep out with launcher=slurm_local.",
                key="launcher",
            )


def run_job(cfg: DictConfig) -> int:
    """Runs one job of a sweep in a process of its own, what it says going into its log; returns its exit code.

    Args:
        cfg: `job`, its number; `jobs`, the file that has it; `codes`, the folder where its exit code is noted.
    """
    jobs, codes = Path(cfg.jobs), Path(cfg.codes)
    job = read_job(jobs, cfg.job)
    with (jobs.parent / LOGS / f"{job.name}.log").open("ab") as log:
        words = [sys.executable, "-m", "unlatch", *job.arguments]
        code = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log, check=False).returncode
    # a launcher that loses one job tells nothing of the others
    codes.mkdir(parents=True, exist_ok=True)
    (codes / f"{cfg.job}.code").write_text(str(code), encoding="utf-8")
    return code


def _noted_code(codes: Path, number: int) -> int | None:
    """The exit code of a job that has ended; None of one that has not."""
    try:
        return int((codes / f"{number}.code").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


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
