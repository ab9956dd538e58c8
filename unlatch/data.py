"""Records and data sets: reading, checking, and images of recorded episodes."""

from unlatch.simcore.recording.check import check_dataset
from unlatch.simcore.recording.data_set import DataSet, open_dataset
from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.simcore.recording.episode_reading import read_arrays
from unlatch.simcore.recording.index import EpisodeSummary
from unlatch.simcore.recording.pytorch_writer import PytorchListener, PytorchWriter
from unlatch.simcore.recording.renders import RenderSet
from unlatch.workflows.runs.recorded_config import config_of

__all__ = [
    "DataSet",
    "EpisodeRecord",
    "EpisodeSummary",
    "PytorchListener",
    "PytorchWriter",
    "RenderSet",
    "check_dataset",
    "config_of",
    "open_dataset",
    "read_arrays",
]
