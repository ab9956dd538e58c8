"""Verified demonstrations of a robot opening, closing and turning articulated objects.

    import unlatch

    cfg = unlatch.load("open_microwave", "robot=ur5", seed=7)
    data = unlatch.collect(cfg, episodes=20, out="data/demo")
    print(data[3].success, data[3].language[0])

The names in `__all__` are imported when they are first used, so that `import unlatch` takes no time.
"""

from __future__ import annotations

import sys
import warnings
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from unlatch import old_paths

if TYPE_CHECKING:
    from unlatch.objects.annotate.annotator import AnnotationResult as AnnotationResult
    from unlatch.simcore.errors import AssetError as AssetError
    from unlatch.simcore.errors import ConfigError as ConfigError
    from unlatch.simcore.errors import FormatVersionError as FormatVersionError
    from unlatch.simcore.errors import HubError as HubError
    from unlatch.simcore.errors import NoSolutionError as NoSolutionError
    from unlatch.simcore.errors import PluginError as PluginError
    from unlatch.simcore.errors import RecordingError as RecordingError
    from unlatch.simcore.errors import SkillError as SkillError
    from unlatch.simcore.errors import SolverError as SolverError
    from unlatch.simcore.errors import UnlatchError as UnlatchError
    from unlatch.simcore.errors import WorldError as WorldError
    from unlatch.simcore.recording.data_set import DataSet as DataSet
    from unlatch.simcore.recording.data_set import open_dataset as open_dataset
    from unlatch.simcore.recording.episode import EpisodeRecord as EpisodeRecord
    from unlatch.simcore.recording.episode_reading import read_arrays as read_arrays
    from unlatch.simcore.recording.export.exporter import ExportReport as ExportReport
    from unlatch.simcore.recording.index import EpisodeSummary as EpisodeSummary
    from unlatch.simcore.recording.renders import RenderSet as RenderSet
    from unlatch.solver.diagnosis import Diagnosis as Diagnosis
    from unlatch.solver.plan import KeyframePlan as KeyframePlan
    from unlatch.workflows.assets.annotate import annotate as annotate
    from unlatch.workflows.gym.config import ActionCfg as ActionCfg
    from unlatch.workflows.gym.config import ObservationCfg as ObservationCfg
    from unlatch.workflows.gym.make_env import make_env as make_env
    from unlatch.workflows.images.export import export as export
    from unlatch.workflows.images.render import render as render
    from unlatch.workflows.policies.catalog import Policy as Policy
    from unlatch.workflows.runs.evaluate import EvaluationResult as EvaluationResult
    from unlatch.workflows.runs.evaluate import evaluate as evaluate
    from unlatch.workflows.runs.loading import load as load
    from unlatch.workflows.runs.plan import EpisodePlan as EpisodePlan
    from unlatch.workflows.runs.plan import SkillPlan as SkillPlan
    from unlatch.workflows.runs.plan import plan as plan
    from unlatch.workflows.runs.progress import Progress as Progress
    from unlatch.workflows.runs.replay import Deviation as Deviation
    from unlatch.workflows.runs.replay import ReplayOutcome as ReplayOutcome
    from unlatch.workflows.runs.replay import replay as replay
    from unlatch.workflows.runs.run import collect as collect
    from unlatch.workflows.runs.runner import EpisodeRunner as EpisodeRunner
    from unlatch.workflows.runs.schema import CollectCfg as CollectCfg
    from unlatch.workflows.runs.statistics import RunStatistics as RunStatistics
    from unlatch.workflows.viewing.clip import clip as clip

if find_spec("casadi") is None:
    raise ModuleNotFoundError(
        f"Unlatch is not installed in this Python, {sys.executable}: package 'casadi' is missing. "
        "Activate the environment that has it (. .venv/bin/activate), or install it in the folder of the repository: "
        "pip install -e .",
        name="casadi",
    )

__version__ = "0.2.0"

old_paths.install()

_NAMES = {
    "unlatch.objects.annotate.annotator": ("AnnotationResult",),
    "unlatch.simcore.errors": (
        "AssetError",
        "ConfigError",
        "FormatVersionError",
        "HubError",
        "NoSolutionError",
        "PluginError",
        "RecordingError",
        "SkillError",
        "SolverError",
        "UnlatchError",
        "WorldError",
    ),
    "unlatch.simcore.recording.data_set": ("DataSet", "open_dataset"),
    "unlatch.simcore.recording.episode": ("EpisodeRecord",),
    "unlatch.simcore.recording.episode_reading": ("read_arrays",),
    "unlatch.simcore.recording.export.exporter": ("ExportReport",),
    "unlatch.simcore.recording.index": ("EpisodeSummary",),
    "unlatch.simcore.recording.renders": ("RenderSet",),
    "unlatch.solver.diagnosis": ("Diagnosis",),
    "unlatch.solver.plan": ("KeyframePlan",),
    "unlatch.workflows.assets.annotate": ("annotate",),
    "unlatch.workflows.gym.config": ("ActionCfg", "ObservationCfg"),
    "unlatch.workflows.gym.make_env": ("make_env",),
    "unlatch.workflows.images.export": ("export",),
    "unlatch.workflows.images.render": ("render",),
    "unlatch.workflows.policies.catalog": ("Policy",),
    "unlatch.workflows.runs.evaluate": ("EvaluationResult", "evaluate"),
    "unlatch.workflows.runs.loading": ("load",),
    "unlatch.workflows.runs.plan": ("EpisodePlan", "SkillPlan", "plan"),
    "unlatch.workflows.runs.progress": ("Progress",),
    "unlatch.workflows.runs.replay": ("Deviation", "ReplayOutcome", "replay"),
    "unlatch.workflows.runs.run": ("collect",),
    "unlatch.workflows.runs.runner": ("EpisodeRunner",),
    "unlatch.workflows.runs.schema": ("CollectCfg",),
    "unlatch.workflows.runs.statistics": ("RunStatistics",),
    "unlatch.workflows.viewing.clip": ("clip",),
}
"""The public names by the module that defines them; the imports above tell type checkers and editors the same."""
_HOMES = {name: module for module, names in _NAMES.items() for name in names}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    """Returns a name of `__all__`, or `UnlatchError` under the name that it had in version 0.2, with a warning."""
    if name == "SimCoreError":
        warnings.warn(
            f"{name} is named UnlatchError. The next version has only that name.", DeprecationWarning, stacklevel=2
        )
        name = "UnlatchError"
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Returns the public names."""
    return [*__all__, "__version__"]


def _register_environments(_: object = None) -> None:
    """Registers every task with Gymnasium as `unlatch/<Task>-v0`."""
    from unlatch.workflows.gym.make_env import register_environments

    register_environments()


if "gymnasium" in sys.modules:
    _register_environments()
else:
    with suppress(ModuleNotFoundError):  # wrapt comes with the extra `gym`, as Gymnasium does
        from wrapt import when_imported

        when_imported("gymnasium")(_register_environments)
