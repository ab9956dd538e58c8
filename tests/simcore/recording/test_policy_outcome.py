"""Both measures of success and the stages of a policy, recomputed from a record alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from unlatch.simcore.recording.broken_rules import recompute_goal_frame
from unlatch.simcore.recording.check import check_record
from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.simcore.recording.index import EpisodeSummary, parse_line
from unlatch.simcore.recording.policy_outcome import PolicyOutcome

HOLD = 3
DOOR = "objects.microwave.joint_positions"
FINGERS = "contacts.panda.left.microwave.fingers_link.force_max_n"
FORBIDDEN = "contacts.panda.environment.force_max_n"


@pytest.fixture
def record(make_record: Callable[..., EpisodeRecord]) -> EpisodeRecord:
    """The door passes the threshold of its skill, 0.7 rad, in frame 14 and stops in frame 15."""
    made = make_record()
    made.goal |= {"hold_frames": HOLD, "chain_length": 1, "max_changes": {"microwave.1": 0.02}}
    made.goal["chain_motions"] = 1
    made.goal |= {"reached": True, "reached_frame": 15 + HOLD}
    made.skills[0]["frame_end"] = 20
    made.settle = {**(made.settle or {}), "frame_end": 20}
    return made


def fail(record: EpisodeRecord, code: str, frame: int) -> None:
    record.success, record.code, record.evidence, record.settle = False, code, {"frame": frame}, None


def test_the_goal_is_reached_once_the_part_has_stayed_for_long_enough(record: EpisodeRecord):
    assert recompute_goal_frame(record) == 15 + HOLD
    assert check_record(record) == []


def test_a_forbidden_contact_and_missing_fingers_do_not_matter_for_the_goal(record: EpisodeRecord):
    record.arrays[FORBIDDEN][8] = 50.0
    record.arrays[FINGERS][:] = 0.0
    assert recompute_goal_frame(record) == 15 + HOLD


@pytest.mark.parametrize("change", ["falls back", "never stays", "short", "chain"])
def test_the_goal_is_not_reached_if_the_part_does_not_stay_or_a_skill_is_missing(record: EpisodeRecord, change: str):
    door = record.arrays[DOOR][:, 1]
    if change == "falls back":
        door[17:] = 0.5
    elif change == "never stays":
        door[14:] = 0.8 + 0.05 * (np.arange(7) % 2)
    elif change == "short":
        np.minimum(door, 0.69, out=door)
    else:
        record.goal["chain_length"] = 2
    assert recompute_goal_frame(record) is None


@pytest.mark.parametrize("claim", [{"reached": False, "reached_frame": None}, {"reached_frame": 20}])
def test_check_refuses_a_goal_that_the_states_contradict(record: EpisodeRecord, claim: dict[str, Any]):
    record.goal |= claim
    assert any("goal.reached" in problem for problem in check_record(record))


@pytest.mark.parametrize("key", ["hold_frames", "chain_length", "max_changes"])
def test_check_names_what_the_goal_lacks(record: EpisodeRecord, key: str):
    del record.goal[key]
    assert any(f"{key}=None" in problem for problem in check_record(record))


def test_a_success_has_the_times_of_both_measures(record: EpisodeRecord):
    outcome = PolicyOutcome.of(record)
    assert outcome == PolicyOutcome(True, 18 / 30, 20 / 30, "goal", None, 1.0)


@pytest.mark.parametrize(
    ("frame", "stage"), [(4, "never_touched"), (5, "touched"), (9, "moved"), (16, "reached"), (19, "goal")]
)
def test_a_violation_belongs_to_the_stage_in_which_it_came(record: EpisodeRecord, frame: int, stage: str):
    fail(record, "collision", frame)
    outcome = PolicyOutcome.of(record)
    assert outcome is not None
    assert (outcome.goal_reached, outcome.stage, outcome.violation_stage) == (True, "goal", stage)
    assert outcome.clean_s is None


@pytest.mark.parametrize(
    ("most", "fingers", "stage"),
    [
        (0.0, False, "never_touched"),
        (0.01, True, "touched"),
        (0.5, True, "moved"),
        (0.5, False, "moved"),
        (0.75, True, "reached"),
    ],
)
def test_the_stage_is_the_furthest_that_was_reached(record: EpisodeRecord, most: float, fingers: bool, stage: str):
    fail(record, "timeout", 20)
    record.goal |= {"reached": False, "reached_frame": None}
    record.arrays[DOOR][:, 1] = np.minimum(record.arrays[DOOR][:, 1], most)
    record.arrays[FINGERS] *= fingers
    outcome = PolicyOutcome.of(record)
    assert outcome is not None
    assert (outcome.stage, outcome.violation_stage, outcome.goal_s) == (stage, None, None)


def test_a_demonstration_has_no_outcome_of_a_policy(make_record: Callable[..., EpisodeRecord]):
    assert PolicyOutcome.of(make_record()) is None


def test_the_index_keeps_the_outcome(record: EpisodeRecord):
    summary = EpisodeSummary.of(record, b"")
    assert summary.policy is not None
    assert parse_line(summary.line()) == summary
    assert parse_line(summary.line().replace(b'"stage": "goal"', b'"stage": "moon"')) is None
