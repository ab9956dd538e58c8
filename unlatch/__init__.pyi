"""The public names of `unlatch`: `lazy_loader` imports each on use, editors and mypy read their types here."""

from .objects.annotate.annotator import AnnotationResult as AnnotationResult
from .simcore.errors import AssetError as AssetError
from .simcore.errors import ConfigError as ConfigError
from .simcore.errors import FormatVersionError as FormatVersionError
from .simcore.errors import HubError as HubError
from .simcore.errors import NoSolutionError as NoSolutionError
from .simcore.errors import PluginError as PluginError
from .simcore.errors import RecordingError as RecordingError
from .simcore.errors import SkillError as SkillError
from .simcore.errors import SolverError as SolverError
from .simcore.errors import UnlatchError as UnlatchError
from .simcore.errors import WorldError as WorldError
from .simcore.recording.data_set.data_set import DataSet as DataSet
from .simcore.recording.data_set.data_set import open_dataset as open_dataset
from .simcore.recording.data_set.index import EpisodeSummary as EpisodeSummary
from .simcore.recording.episode import EpisodeRecord as EpisodeRecord
from .simcore.recording.episode import read_arrays as read_arrays
from .simcore.recording.export.run import ExportReport as ExportReport
from .simcore.recording.images.renders import RenderSet as RenderSet
from .solver.diagnosis.diagnosis import Diagnosis as Diagnosis
from .solver.planning.plan import KeyframePlan as KeyframePlan
from .workflows.assets.annotate import annotate as annotate
from .workflows.gym.config import ActionCfg as ActionCfg
from .workflows.gym.config import ObservationCfg as ObservationCfg
from .workflows.gym.make_env import make_env as make_env
from .workflows.images.export import export as export
from .workflows.images.render import render as render
from .workflows.policies.policy import Policy as Policy
from .workflows.runs.collect import collect as collect
from .workflows.runs.evaluate import EvaluationResult as EvaluationResult
from .workflows.runs.evaluate import evaluate as evaluate
from .workflows.runs.loading import load as load
from .workflows.runs.plan import EpisodePlan as EpisodePlan
from .workflows.runs.plan import SkillPlan as SkillPlan
from .workflows.runs.plan import plan as plan
from .workflows.runs.progress import Progress as Progress
from .workflows.runs.replay import Deviation as Deviation
from .workflows.runs.replay import ReplayOutcome as ReplayOutcome
from .workflows.runs.replay import replay as replay
from .workflows.runs.schema import CollectCfg as CollectCfg
from .workflows.runs.statistics import RunStatistics as RunStatistics
from .workflows.viewing.clips.clip import clip as clip

__version__: str
