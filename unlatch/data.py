"""Records and data sets: open one, check it, read its arrays, and look at the images that were rendered from it.

    from unlatch.data import RenderSet, open_dataset

    record = open_dataset("data/demo")[3]
    print(record.success, record.arrays["time"][-1])
    for image in RenderSet.open("data/demo", "default").episode(3).frames("front", "rgb"):
        print(image.shape)

`RecordedScene` is what a viewer of a plugin draws (entry points `unlatch.viewers`).
"""

from unlatch.simcore.recording.check import check_dataset
from unlatch.simcore.recording.data_set import DataSet, open_dataset
from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.simcore.recording.episode_reading import read_arrays
from unlatch.simcore.recording.index import EpisodeSummary
from unlatch.simcore.recording.pytorch_writer import PytorchListener, PytorchWriter
from unlatch.simcore.recording.renders import RenderSet
from unlatch.simcore.recording.state_file import EpisodeRecorder
from unlatch.workflows.runs.recorded_config import config_of
from unlatch.workflows.viewing.recorded_scene import RecordedScene

__all__ = [
    "DataSet",
    "EpisodeRecord",
    "EpisodeRecorder",
    "EpisodeSummary",
    "PytorchListener",
    "PytorchWriter",
    "RecordedScene",
    "RenderSet",
    "check_dataset",
    "config_of",
    "open_dataset",
    "read_arrays",
]
