"""How far an episode came, from its record alone: goal, stage, share of the asked motion and share of the range."""

import math

import numpy as np
import pytest

from tests.simcore.recording.builders import DOOR, TOUCH, make_record, never_began, of_policy
from unlatch.simcore.recording.check import check_record
from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.simcore.recording.index import EpisodeSummary, parse_line
from unlatch.simcore.recording.motion_share import compute_motion_share
from unlatch.simcore.recording.policy_outcome import PolicyOutcome, end_share


@pytest.fixture
def record():
    return of_policy()


def fail(record, code, frame):
    record.success, record.code, record.evidence, record.settle = False, code, {"frame": frame}, None


def lead(record, *positions):
    """Leads the door of a record from one position to the next, evenly over the frames [rad]."""
    record.arrays[DOOR][:, 1] = np.interp(np.arange(21), np.linspace(0, 20, len(positions)), positions)
    record.skills[0]["s0"] = float(record.arrays[DOOR][record.skills[0]["frame_start"], 1])


class TestGoal:
    @pytest.mark.parametrize("key", ["chain_length", "max_changes"])
    def test_check_names_what_the_goal_lacks(self, record, key):
        del record.goal[key]
        assert any(f"there is no '{key}' in" in problem for problem in check_record(record))

    @pytest.mark.parametrize("claim", [{"reached": False, "reached_frame": None}, {"reached_frame": 20}])
    def test_check_refuses_a_goal_that_the_states_contradict(self, record, claim):
        record.goal |= claim
        assert any("goal.reached" in problem for problem in check_record(record))


class TestStage:
    def test_a_success_has_the_times_of_both_measures(self, record):
        assert PolicyOutcome.of(record) == PolicyOutcome(True, 18 / 30, 20 / 30, "goal", None, 1.0)

    @pytest.mark.parametrize(
        ("frame", "stage"), [(4, "never_touched"), (5, "touched"), (9, "moved"), (16, "reached"), (19, "goal")]
    )
    def test_a_violation_belongs_to_the_stage_in_which_it_came(self, record, frame, stage):
        fail(record, "collision", frame)
        outcome = PolicyOutcome.of(record)
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
    def test_the_stage_is_the_furthest_that_was_reached(self, record, most, fingers, stage):
        fail(record, "timeout", 20)
        record.goal |= {"reached": False, "reached_frame": None}
        record.arrays[DOOR][:, 1] = np.minimum(record.arrays[DOOR][:, 1], most)
        record.arrays[TOUCH] *= fingers
        outcome = PolicyOutcome.of(record)
        assert (outcome.stage, outcome.violation_stage, outcome.goal_s) == (stage, None, None)

    def test_a_demonstration_has_no_outcome_and_an_episode_that_never_began_has_share_0(self):
        assert PolicyOutcome.of(make_record()) is None
        record = never_began("invalid_layout")
        record.goal |= {"reached": False, "reached_frame": None}
        assert PolicyOutcome.of(record).share == 0.0


class TestMotionShare:
    @pytest.mark.parametrize(
        ("mode", "threshold", "goal", "path", "share"),
        [
            ("abs", 0.7, None, (0.0, 0.0, 0.0), 0.0),
            ("normal", 0.7, None, (0.0, 0.0, 0.35), 0.5),
            ("normal", 0.7, None, (0.4, 0.4, 0.0), 0.0),  # the wrong way
            ("fraction", 0.5, None, (0.0, 0.0, 0.4), 0.5),  # of 0.5 of a range of 1.6 rad
            ("zero", 0.1, None, (0.9, 0.9, 0.5), 0.5),
            ("zero", 0.1, None, (0.9, 0.9, 0.9), 0.0),
            ("zero", 0.1, None, (0.9, 0.9, 1.2), 0.0),
            # a goal that asks more than the skill counts
            ("abs", 0.2, ("moved", 0.8), (0.0, 0.0, 0.4), 0.5),
            ("abs", 0.2, ("moved_fraction", 0.5), (0.0, 0.0, 0.4), 0.5),
            ("abs", 0.2, ("open_fraction", 0.5), (0.4, 0.4, 0.6), 0.5),  # from a quarter of a range of 1.6 rad
            ("dis_to_init", 0.1, ("within_closed", 0.1), (0.9, 0.9, 0.5), 0.5),
            ("zero", 0.2, ("within_closed", 0.2), (0.1, 0.1, 0.3), 0.0),  # closed at the start, and opened
        ],
    )
    def test_it_is_how_far_the_part_is_at_the_end_on_its_way(self, record, mode, threshold, goal, path, share):
        record.skills[0] |= {"success_mode": mode, "success_threshold": threshold}
        conditions = record.goal["conditions"]
        record.goal["conditions"] = [{**conditions[0], "kind": goal[0], "value": goal[1]}] if goal else []
        lead(record, *path)
        assert compute_motion_share(record) == pytest.approx(share)

    @pytest.mark.parametrize(("length", "motions", "share"), [(2, 2, 0.5), (3, 2, 0.5), (2, 1, 1.0), (4, 4, 0.25)])
    def test_skills_that_have_not_begun_count_as_0(self, record, length, motions, share):
        record.goal |= {"chain_length": length, "chain_motions": motions}
        assert compute_motion_share(record) == share

    def test_a_value_that_is_not_finite_counts_as_0(self, record):
        record.arrays[DOOR][-1, 1] = np.nan
        assert compute_motion_share(record) == 0.0


OPEN = {"name": "open", "success_mode": "range", "s_closed": 0.0, "s_open": -2.0, "s0": 0.0}
CLOSE = {**OPEN, "name": "close", "success_mode": "zero"}


@pytest.mark.parametrize(
    ("skill", "share"),
    [
        ({**OPEN, "s_end": -1.9}, 0.95),
        ({**CLOSE, "s0": -1.0, "s_end": -0.1}, 0.95),
        ({**CLOSE, "success_mode": "dis_to_init", "s0": -2.0, "s_end": -0.2}, 0.9),
        ({**OPEN, "name": "rotate", "success_mode": "abs", "s_end": 1.0}, -0.5),
        ({"name": "hold", "success_mode": None}, 1.0),
    ],
)
def test_the_share_of_the_range_counts_on_the_way_that_the_skill_moves_its_part(skill, share):
    assert end_share(skill) == pytest.approx(share)


class TestIndexLine:
    def test_it_keeps_the_outcome_and_a_damaged_one_is_not_read(self, record):
        summary = EpisodeSummary.of(record, b"")
        assert summary.policy is not None
        assert parse_line(summary.line()) == summary
        for key, value, damaged in (("stage", '"goal"', '"moon"'), ("share", "1.0", "1.5")):
            line = summary.line().replace(f'"{key}": {value}'.encode(), f'"{key}": {damaged}'.encode())
            assert line != summary.line()
            assert parse_line(line) is None

    def test_a_record_without_the_number_of_motions_has_no_share(self, record):
        del record.goal["chain_motions"]
        assert compute_motion_share(record) is None
        summary = EpisodeSummary.of(record, b"")
        assert parse_line(summary.line()) == summary

    @pytest.mark.parametrize(
        ("skill", "share"),
        [
            ({**OPEN, "s_end": -1.9}, 0.95),
            ({"name": "open", "success_mode": "range"}, None),
            ({**OPEN, "s_end": math.nan}, None),
        ],
    )
    def test_it_keeps_the_share_of_the_range_of_a_success_that_says_where_its_part_ends(self, skill, share):
        summary = EpisodeSummary.of(EpisodeRecord(number=0, seed=0, success=True, code=None, skills=[skill]), b"")
        assert summary.range_share == (None if share is None else pytest.approx(share))
        assert (b"range_share" in summary.line()) == (share is not None)
        assert parse_line(summary.line()) == summary
