"""The public names of `unlatch`: `lazy_loader` imports each on use, editors and mypy read their types here."""

from .objects.annotate.annotator import AnnotationResult
from .simcore.errors import (
    AssetError,
    ConfigError,
    FormatVersionError,
    NoSolutionError,
    PluginError,
    RecordingError,
    SimCoreError,
    SkillError,
    SolverError,
    WorldError,
)
from .simcore.recording.data_set.data_set import DataSet, open_dataset
from .simcore.recording.data_set.index import EpisodeSummary
from .simcore.recording.episode import EpisodeRecord
from .simcore.recording.export.run import ExportReport
from .simcore.recording.images.renders import RenderSet
from .solver.diagnosis.diagnosis import Diagnosis
from .solver.planning.plan import KeyframePlan
from .workflows.assets.annotate import annotate
from .workflows.gym.config import ActionCfg, ObservationCfg
from .workflows.gym.make_env import make_env
from .workflows.images.export import export
from .workflows.images.render import render
from .workflows.policies.policy import Policy
from .workflows.runs.collect import collect
from .workflows.runs.evaluate import EvaluationResult, evaluate
from .workflows.runs.loading import load
from .workflows.runs.plan import EpisodePlan, SkillPlan, plan
from .workflows.runs.progress import Progress
from .workflows.runs.replay import Deviation, ReplayOutcome, replay
from .workflows.runs.schema import CollectCfg
from .workflows.runs.statistics import RunStatistics

__version__: str
__all__ = [
    "ActionCfg",
    "AnnotationResult",
    "AssetError",
    "CollectCfg",
    "ConfigError",
    "DataSet",
    "Deviation",
    "Diagnosis",
    "EpisodePlan",
    "EpisodeRecord",
    "EpisodeSummary",
    "EvaluationResult",
    "ExportReport",
    "FormatVersionError",
    "KeyframePlan",
    "NoSolutionError",
    "ObservationCfg",
    "PluginError",
    "Policy",
    "Progress",
    "RecordingError",
    "RenderSet",
    "ReplayOutcome",
    "RunStatistics",
    "SimCoreError",
    "SkillError",
    "SkillPlan",
    "SolverError",
    "WorldError",
    "annotate",
    "collect",
    "evaluate",
    "export",
    "load",
    "make_env",
    "open_dataset",
    "plan",
    "render",
    "replay",
]
