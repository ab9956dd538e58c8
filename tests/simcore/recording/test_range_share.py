"""Where the part of a success ends on its way through its range."""

import math

import pytest

from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.simcore.recording.index import EpisodeSummary, parse_line
from unlatch.simcore.recording.policy_outcome import end_share

OPEN = {"name": "open", "success_mode": "range", "s_closed": 0.0, "s_open": -2.0, "s0": 0.0}


@pytest.mark.parametrize(
    ("skill", "share"),
    [
        ({**OPEN, "s_end": -1.9}, 0.95),
        ({**OPEN, "name": "close", "success_mode": "zero", "s0": -0.2, "s_end": -0.1}, 0.95),
        ({**OPEN, "name": "nudge", "success_mode": "zero", "s0": -1.0, "s_end": -0.1}, 0.95),
        ({**OPEN, "name": "nudge", "success_mode": "zero", "s0": -0.1, "s_end": -0.1}, 0.95),
        ({**OPEN, "name": "close", "success_mode": "dis_to_init", "s0": -2.0, "s_end": -0.2}, 0.9),
        ({**OPEN, "name": "rotate", "success_mode": "abs", "s_end": 1.0}, -0.5),
        ({"name": "hold", "success_mode": None}, 1.0),
    ],
)
def test_the_share_counts_on_the_way_that_the_skill_moves_its_part(skill: dict[str, object], share: float):
    assert end_share(skill) == pytest.approx(share)


@pytest.mark.parametrize("s_end", [-1.9, 0.0])
def test_a_line_of_the_index_keeps_the_share_of_a_success(s_end: float):
    record = EpisodeRecord(number=0, seed=0, success=True, code=None, skills=[{**OPEN, "s_end": s_end}])
    summary = EpisodeSummary.of(record, b"")
    assert summary.range_share == pytest.approx(-s_end / 2.0)
    assert parse_line(summary.line()) == summary


@pytest.mark.parametrize("skill", [{"name": "open", "success_mode": "range"}, {**OPEN, "s_end": math.nan}])
def test_a_record_that_does_not_say_where_its_part_ends_has_no_share(skill: dict[str, object]):
    record = EpisodeRecord(number=0, seed=0, success=True, code=None, skills=[skill])
    summary = EpisodeSummary.of(record, b"")
    assert summary.range_share is None
    assert b"range_share" not in summary.line()
