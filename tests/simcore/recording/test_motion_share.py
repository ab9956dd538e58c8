"""The share of the asked motion, recomputed from a record alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from unlatch.simcore.errors import RecordingError
from unlatch.simcore.recording.check import check_dataset
from unlatch.simcore.recording.data_set import DataSet
from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.simcore.recording.index import EpisodeSummary, parse_line
from unlatch.simcore.recording.motion_share import compute_motion_share
from unlatch.simcore.recording.policy_outcome import PolicyOutcome

DOOR = "objects.microwave.joint_positions"


@pytest.fixture
def record(make_record: Callable[..., EpisodeRecord]) -> EpisodeRecord:
    """The door opens from 0 to 0.8 rad, of which 0.7 rad is asked."""
    made = make_record()
    made.goal |= {"hold_frames": 3, "chain_length": 1, "chain_motions": 1, "max_changes": {"microwave.1": 0.02}}
    made.goal |= {"reached": True, "reached_frame": 18}
    made.skills[0]["frame_end"] = 20
    made.settle = {**(made.settle or {}), "frame_end": 20}
    return made


def lead(record: EpisodeRecord, *positions: float) -> None:
    """Leads the door of a record from one position to the next, evenly over the frames [rad]."""
    frames = np.linspace(0, 20, len(positions))
    record.arrays[DOOR][:, 1] = np.interp(np.arange(21), frames, positions)
    record.skills[0]["s0"] = float(record.arrays[DOOR][record.skills[0]["frame_start"], 1])


def ask(record: EpisodeRecord, mode: str, threshold: float, *, kind: str | None = None, value: float = 0.0) -> None:
    """Replaces what the skill of a record asks for, and its goal; None: no goal."""
    record.skills[0] |= {"success_mode": mode, "success_threshold": threshold}
    goal = {**record.goal["conditions"][0], "kind": kind, "value": value}
    record.goal["conditions"] = [] if kind is None else [goal]


def test_a_part_that_is_where_it_was_asked_to_be_has_share_1(record: EpisodeRecord):
    assert compute_motion_share(record) == 1.0


def test_a_part_that_stayed_has_share_0(record: EpisodeRecord):
    lead(record, 0.0, 0.0)
    assert compute_motion_share(record) == 0.0


def test_a_part_half_way_has_share_one_half(record: EpisodeRecord):
    record.arrays[DOOR][:, 1] = np.minimum(record.arrays[DOOR][:, 1], 0.35)
    assert compute_motion_share(record) == pytest.approx(0.5)


def test_where_the_part_is_at_the_end_counts_and_not_how_far_it_had_come(record: EpisodeRecord):
    record.arrays[DOOR][18:, 1] = 0.21
    assert compute_motion_share(record) == pytest.approx(0.3)


@pytest.mark.parametrize(
    ("mode", "threshold", "path", "share"),
    [
        ("normal", 0.7, (0.0, 0.0, 0.35), 0.5),
        ("normal", 0.7, (0.4, 0.4, 0.0), 0.0),  # the wrong way
        ("abs", 0.8, (0.4, 0.4, 0.0), 0.5),  # a knob may turn either way
        ("fraction", 0.5, (0.0, 0.0, 0.4), 0.5),  # of 0.5 of a range of 1.6 rad
        ("zero", 0.1, (0.9, 0.9, 0.5), 0.5),
        ("zero", 0.1, (0.9, 0.9, 0.1), 1.0),
        ("zero", 0.1, (0.9, 0.9, 0.9), 0.0),
        ("zero", 0.1, (0.9, 0.9, 1.2), 0.0),
        ("dis_to_init", 0.4, (0.9, 0.9, 0.7), 0.5),
    ],
)
def test_the_share_follows_the_mode_of_the_skill(
    record: EpisodeRecord, mode: str, threshold: float, path: tuple[float, ...], share: float
):
    ask(record, mode, threshold)
    lead(record, *path)
    assert compute_motion_share(record) == pytest.approx(share)


@pytest.mark.parametrize(
    ("mode", "threshold", "kind", "value", "path", "share"),
    [
        ("abs", 0.2, "moved", 0.8, (0.0, 0.0, 0.4), 0.5),
        ("abs", 0.2, "moved_fraction", 0.5, (0.0, 0.0, 0.4), 0.5),
        ("abs", 0.2, "open_fraction", 0.5, (0.4, 0.4, 0.6), 0.5),  # from a quarter of a range of 1.6 rad
        ("dis_to_init", 0.1, "within_closed", 0.1, (0.9, 0.9, 0.5), 0.5),
        ("zero", 0.2, "within_closed", 0.2, (0.1, 0.1, 0.3), 0.0),  # closed at the start, and opened
    ],
)
def test_a_goal_that_asks_more_than_the_skill_counts(
    record: EpisodeRecord,
    mode: str,
    threshold: float,
    kind: str,
    value: float,
    path: tuple[float, ...],
    share: float,
):
    ask(record, mode, threshold, kind=kind, value=value)
    lead(record, *path)
    assert compute_motion_share(record) == pytest.approx(share)


@pytest.mark.parametrize(("last", "share"), [(0.8, 0.5), (0.45, 0.75), (0.1, 1.0)])
def test_in_a_chain_a_skill_is_judged_where_the_next_one_on_its_part_begins(
    record: EpisodeRecord, last: float, share: float
):
    second = {**record.skills[0], "name": "close", "success_mode": "zero", "success_threshold": 0.1}
    record.skills.append({**second, "s0": 0.8, "s_end": last, "frame_start": 16, "frame_end": 20})
    record.skills[0]["frame_end"] = 16
    record.goal |= {"chain_length": 2, "chain_motions": 2}
    record.goal["conditions"][0] |= {"kind": "within_closed", "value": 0.1}
    record.arrays[DOOR][16:, 1] = np.linspace(0.8, last, 5)
    assert compute_motion_share(record) == pytest.approx(share)


@pytest.mark.parametrize(("length", "motions", "share"), [(2, 2, 0.5), (3, 2, 0.5), (2, 1, 1.0), (4, 4, 0.25)])
def test_skills_that_have_not_begun_count_as_0(record: EpisodeRecord, length: int, motions: int, share: float):
    record.goal |= {"chain_length": length, "chain_motions": motions}
    assert compute_motion_share(record) == share


def test_a_value_that_is_not_finite_counts_as_0(record: EpisodeRecord):
    record.arrays[DOOR][-1, 1] = np.nan
    assert compute_motion_share(record) == 0.0


def test_a_record_without_the_number_of_motions_has_no_share(record: EpisodeRecord):
    del record.goal["chain_motions"]
    assert compute_motion_share(record) is None
    summary = EpisodeSummary.of(record, b"")
    assert parse_line(summary.line()) == summary


@pytest.mark.parametrize("value", ["1", True, None])
def test_a_number_of_motions_of_another_type_is_refused(record: EpisodeRecord, value: Any):
    record.goal["chain_motions"] = value
    with pytest.raises(RecordingError, match=f"chain_motions={value!r} in the goal of episode 0"):
        compute_motion_share(record)


def test_an_episode_that_never_began_has_share_0(make_record: Callable[..., EpisodeRecord]):
    made = make_record(success=False, code="invalid_layout", skills=[], arrays={}, settle=None)
    made.goal |= {"reached": False, "reached_frame": None}
    outcome = PolicyOutcome.of(made)
    assert outcome is not None
    assert outcome.share == 0.0


def test_check_finds_an_index_line_that_claims_another_share(tmp_path, record: EpisodeRecord):
    with DataSet.create_or_resume(tmp_path / "set", header={}) as data_set:
        data_set.write(record)
    assert check_dataset(tmp_path / "set") == []
    (line,) = (tmp_path / "set" / "index").glob("*.jsonl")
    line.write_bytes(line.read_bytes().replace(b'"share": 1.0', b'"share": 0.5'))
    assert ["its line in the index contradicts" in problem.message for problem in check_dataset(tmp_path / "set")] == [
        True
    ]


def test_an_index_line_with_a_share_above_1_is_damaged(record: EpisodeRecord):
    line = EpisodeSummary.of(record, b"").line()
    assert parse_line(line.replace(b'"share": 1.0', b'"share": 1.5')) is None
