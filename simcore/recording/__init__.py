"""Recording of attempts: frame by frame, on disk, judged again from the record alone."""

from unlatch.simcore.recording.check import Problem, check_dataset, check_record
from unlatch.simcore.recording.codes import FAILURE_CODES
from unlatch.simcore.recording.data_set.data_set import DataSet
from unlatch.simcore.recording.data_set.index import EpisodeSummary
from unlatch.simcore.recording.episode import FORMAT_VERSION, EpisodeRecord
from unlatch.simcore.recording.keys import KEYS, KeySpec
from unlatch.simcore.recording.recorder import EpisodeRecorder
from unlatch.simcore.recording.verdict import Verdict, recompute_success

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
