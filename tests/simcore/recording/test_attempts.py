"""The verdict of records in which a skill was attempted again after it was broken off."""

from collections.abc import Callable

import numpy as np
import pytest

from unlatch.simcore.errors import RecordingError
from unlatch.simcore.recording.check import check_record
from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.simcore.recording.index import EpisodeSummary, parse_line
from unlatch.simcore.recording.verdict import recompute_success

MakeRecord = Callable[..., EpisodeRecord]
DOOR = "objects.microwave.joint_positions"
TOUCH = "contacts.panda.left.microwave.fingers_link.force_max_n"
FORBIDDEN = "contacts.panda.left.microwave.forbid_collision.force_max_n"


@pytest.fixture
def record(make_record: MakeRecord) -> EpisodeRecord:
    """The door is lost at frame 10 (0.4 of 0.8 rad) and led on from there by the second attempt."""
    made = make_record()
    whole = made.skills[0]
    common = {"entry": 0, "finger_contact_required": True}
    first = {**whole, **common, "attempt": 0, "broken_off": True, "frame_end": 10, "s_end": 0.4, "success": False}
    again = {**whole, **common, "attempt": 1, "broken_off": False, "frame_start": 10}
    made.skills = [{**first, "code": "slipped", "message": "lost"}, again]
    made.arrays[DOOR][10, 1] = 0.4
    made.arrays["skills.index"][10:] = 1
    return made


def test_a_skill_that_succeeds_at_its_second_attempt_is_a_success(record: EpisodeRecord):
    verdict = recompute_success(record)
    assert (verdict.success, verdict.skills) == (True, (None, True))
    assert check_record(record) == []


def test_the_displacement_counts_from_the_start_of_the_first_attempt(record: EpisodeRecord):
    record.skills[1]["success_threshold"] = 0.79  # 0.8 rad in all, 0.4 rad in the second attempt
    assert recompute_success(record).success
    record.skills[1]["success_threshold"] = 0.81
    assert recompute_success(record).code == "not_reached"


def test_a_broken_off_attempt_is_not_judged_by_its_end_but_by_its_forces(record: EpisodeRecord):
    record.arrays[TOUCH][2:9] = 0.0  # the first attempt never touched the door
    record.arrays[TOUCH][9] = 0.0
    assert recompute_success(record).success
    record.arrays[FORBIDDEN][5] = 9.0
    assert recompute_success(record).code == "collision"


def test_forces_on_the_way_back_count_too(record: EpisodeRecord):
    record.skills[0]["frame_end"] = 7
    record.arrays[FORBIDDEN][8] = 9.0
    verdict = recompute_success(record)
    assert (verdict.code, verdict.evidence["skill"]) == ("collision", 0)


def test_an_attempt_that_was_broken_off_and_not_repeated_is_no_success(record: EpisodeRecord):
    del record.skills[1]
    assert recompute_success(record).code == "not_reached"


def test_an_attempt_without_a_first_one_is_refused(record: EpisodeRecord):
    del record.skills[0]
    with pytest.raises(RecordingError, match="no attempt 0"):
        recompute_success(record)


def test_the_summary_counts_replans_and_leaves_them_out_where_there_are_none(
    record: EpisodeRecord, make_record: MakeRecord
):
    assert EpisodeSummary.of(record, b"").replans == 1
    plain = EpisodeSummary.of(make_record(), b"")
    assert plain.replans == 0
    assert b"replans" not in plain.line()
    assert parse_line(EpisodeSummary.of(record, b"").line()) == EpisodeSummary.of(record, b"")
    assert np.all(record.arrays["skills.index"] <= 1)
