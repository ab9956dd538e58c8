"""Recording of attempts: frame by frame, on disk, judged again from the record alone."""

from simcore.recording.check import Problem, check_dataset, check_record
from simcore.recording.codes import FAILURE_CODES
from simcore.recording.episode import FORMAT_VERSION, EpisodeRecord
from simcore.recording.index import EpisodeSummary
from simcore.recording.keys import KEYS, KeySpec
from simcore.recording.recorder import EpisodeRecorder
from simcore.recording.storage import DataSet
from simcore.recording.verdict import Verdict, recompute_success

__all__ = [
    "FAILURE_CODES",
    "FORMAT_VERSION",
    "KEYS",
    "DataSet",
    "EpisodeRecord",
    "EpisodeRecorder",
    "EpisodeSummary",
    "KeySpec",
    "Problem",
    "Verdict",
    "check_dataset",
    "check_record",
    "recompute_success",
]
