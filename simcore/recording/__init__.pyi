from .check import Problem, check_dataset, check_record
from .codes import CODE_ORDER, FAILURE_CODES
from .data_set.data_set import DataSet
from .data_set.index import EpisodeSummary
from .episode import EPISODE_FILE, FORMAT_VERSION, EpisodeRecord, read_episode, verify_episode
from .json_values import differences, plain
from .keys import KEYS, KeySpec, is_name
from .recorder import EpisodeRecorder
from .state_file import encode_state
from .success_rules import (
    MAX_JOINT_SPEED,
    MAX_SETTLE_CHANGE_M,
    MAX_SETTLE_CHANGE_RAD,
    MIN_CONTACT_SHARE,
    MOVING_STEP,
    SuccessRule,
)
from .verdict import Verdict, recompute_success

__all__ = [
    "CODE_ORDER",
    "EPISODE_FILE",
    "FAILURE_CODES",
    "FORMAT_VERSION",
    "KEYS",
    "MAX_JOINT_SPEED",
    "MAX_SETTLE_CHANGE_M",
    "MAX_SETTLE_CHANGE_RAD",
    "MIN_CONTACT_SHARE",
    "MOVING_STEP",
    "DataSet",
    "EpisodeRecord",
    "EpisodeRecorder",
    "EpisodeSummary",
    "KeySpec",
    "Problem",
    "SuccessRule",
    "Verdict",
    "check_dataset",
    "check_record",
    "differences",
    "encode_state",
    "is_name",
    "plain",
    "read_episode",
    "recompute_success",
    "verify_episode",
]
