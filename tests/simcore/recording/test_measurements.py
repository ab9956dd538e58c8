"""What a verdict reads from a record: joints, contacts, speeds, and where a free object is."""

from itertools import product

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from tests.simcore.refusals import refused
from unlatch.simcore.errors import RecordingError
from unlatch.simcore.recording import measurements
from unlatch.simcore.recording.broken_rules import goal_value
from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.simcore.recording.measurements import (
    forbidden_rows,
    hold_rows,
    interval_arrays,
    object_value,
    overload_rows,
    touching_rows,
)
from unlatch.simcore.recording.success_rules import SuccessRule

ALL, LATER = slice(0, 3), slice(1, None)
ENVIRONMENT = "contacts__panda__environment__force_max_n"


def make(number=4, skills=(), **arrays):
    """Returns a record of three actions; `__` in the name of an array stands for a dot."""
    given = {key.replace("__", "."): np.array(values) for key, values in arrays.items()}
    arrays = {"time": np.zeros(4), **given}
    return EpisodeRecord(number=number, seed=0, success=True, skills=list(skills), arrays=arrays)


def lacks(key):
    """The message of a verdict that finds no array with this key."""
    return f"Episode 4 has no array '{key}', which its verdict needs. The record is incomplete."


CHAIN = [{"arm": "left", "stage": 0}, {"arm": "right", "stage": 0}, {"arm": "third", "stage": 1}]
NO_STAGES = [{"arm": "left"}, {"arm": "right"}]


@pytest.mark.parametrize(
    ("skills", "index", "arms"),
    [(CHAIN, 0, {"right"}), (CHAIN, 1, {"left"}), (CHAIN, 2, set()), (NO_STAGES, 0, set())],
)
def test_concurrent_arms_are_the_other_ones_of_the_same_stage(skills, index, arms):
    assert measurements.concurrent_arms(make(skills=skills), skills[index]) == arms


def rule(contact_n, scene_n=None):
    return SuccessRule(None, None, False, True, True, contact_n, 140.0, scene_force_threshold_n=scene_n)


BASE = "left.oven.fingers_base"


class TestForbiddenContacts:
    RECORD = make(
        contacts__panda__left__oven__fingers_base__force_max_n=[0.0, 0.0, 3.0],
        contacts__panda__left__oven__forbid_collision__force_max_n=[0.0, 4.0, 9.0],
        contacts__panda__left__oven__fingers_link__force_max_n=[8.0, 8.0, 8.0],
        contacts__panda__environment__force_max_n=[5.0, 0.0, 7.0],
    )

    @pytest.mark.parametrize(
        ("rows", "threshold_n", "found"),
        [
            (ALL, 1.0, [(0, "environment", 5.0), (1, "left.oven.forbid_collision", 4.0), (2, BASE, 3.0)]),
            (ALL, 4.0, [(0, "environment", 5.0), (2, "left.oven.forbid_collision", 9.0)]),
            (slice(1, 3), 4.0, [(2, "environment", 7.0), (2, "left.oven.forbid_collision", 9.0)]),
        ],
    )
    def test_the_first_contact_of_each_view_in_the_rows_is_found_the_earliest_first(self, rows, threshold_n, found):
        expected = [(row, f"panda.{view}", force_n, threshold_n) for row, view, force_n in found]
        assert forbidden_rows(self.RECORD, rows, rule(threshold_n)) == expected

    def test_views_of_skipped_arms_are_not_searched_and_those_of_the_robot_are(self):
        record = make(
            contacts__panda__left__oven__forbid_collision__force_max_n=[9.0, 0.0, 0.0],
            contacts__panda__right__oven__forbid_collision__force_max_n=[0.0, 9.0, 0.0],
            contacts__left__left__environment__force_max_n=[0.0, 0.0, 9.0],
        )
        found = forbidden_rows(record, ALL, rule(1.0), skipped_arms=frozenset({"left"}))
        assert found == [(1, "panda.right.oven.forbid_collision", 9.0, 1.0), (2, "left.left.environment", 9.0, 1.0)]


DRAWER = {"object": "drawer", "frame_start": 1}
AT_ONCE = {**DRAWER, "frame_start": 0}
SKILLS = [DRAWER, {"object": "can", "frame_start": 3}]
TOUCHED, LATE = [0.0, 0.0, 4.0, 4.0], [0.0, 0.0, 0.0, 4.0]


class TestForcesOnObjects:
    """A can and a drawer; the first skill begins at state 1, so row 0 says what they bear at rest."""

    @staticmethod
    def make(skills=SKILLS, furniture=(0.0,) * 4, others=(0.0,) * 4):
        """Returns a record of four actions in which an impact of 900 N is part of every row of a view."""
        arrays = {}
        for view, values in (("furniture", furniture), ("other_objects", others)):
            arrays[f"contacts__can__{view}__force_sustained_n"] = values
            arrays[f"contacts__can__{view}__force_max_n"] = [900.0 * (force_n > 0.0) for force_n in values]
        return make(skills=skills, time=[0.0] * 5, **{ENVIRONMENT: [0.0] * 4}, **arrays)

    @pytest.mark.parametrize(
        ("forces", "rows", "found"),
        [
            # it may bear the threshold more than at rest
            ({"furniture": [3.0, 33.0, 33.5, 40.0]}, LATER, [(2, "can.furniture", 33.5, 33.0)]),
            ({"furniture": [3.0, 33.0, 33.5, 40.0]}, slice(1, 2), []),
            # a bystander may not be touched until a skill names it
            ({"others": TOUCHED}, LATER, [(2, "can.other_objects", 900.0, 1.0)]),
            ({"others": LATE}, LATER, []),
            ({"others": TOUCHED, "skills": [{**DRAWER, "conditions": [{"object": "can"}]}]}, LATER, []),
            ({"others": TOUCHED, "skills": [{**DRAWER, "conditions": [{"object": "apple", "of": "can"}]}]}, LATER, []),
            # one that no skill names may not be touched at all
            ({"others": LATE, "skills": [DRAWER]}, LATER, [(3, "can.other_objects", 900.0, 1.0)]),
            ({"others": LATE, "skills": [DRAWER]}, slice(1, 4), [(3, "can.other_objects", 900.0, 1.0)]),
            ({"others": LATE, "skills": [DRAWER]}, slice(1, 3), []),
            # without a frame before the first skill nothing bears anything at rest
            ({"others": [0.0, 4.0, 0.0, 2.0], "skills": [AT_ONCE]}, ALL, [(1, "can.other_objects", 900.0, 1.0)]),
            # what lies in a drawer at rest may be touched by it
            ({"others": [2.0, 2.0, 5.0, 2.0]}, LATER, []),
        ],
    )
    def test_what_an_object_may_bear_is_counted_from_what_it_bears_at_rest(self, forces, rows, found):
        assert forbidden_rows(self.make(**forces), rows, rule(1.0, 30.0)) == found

    def test_a_record_without_the_arrays_cannot_be_judged(self):
        record = make(skills=SKILLS, **{ENVIRONMENT: [0.0] * 3})
        with pytest.raises(RecordingError, match=r"no array 'contacts\.\*\.furniture\.force_sustained_n'"):
            forbidden_rows(record, ALL, rule(1.0, 30.0))


@pytest.mark.parametrize(
    ("skill", "rows", "found"),
    [
        ({}, ALL, [(0, "panda.right", 170.0), (1, "panda.left", 150.0)]),
        ({"arm": "left"}, ALL, [(1, "panda.left", 150.0)]),
        ({"arm": "right"}, slice(1, 3), []),
    ],
)
def test_the_first_overload_of_each_hand_of_a_skill_is_found_the_earliest_first(skill, rows, found):
    record = make(
        contacts__panda__left__fingers__force_sustained_n=[0.0, 150.0, 160.0],
        contacts__panda__right__fingers__force_sustained_n=[170.0, 0.0, 0.0],
        contacts__panda__left__fingers__force_max_n=[900.0, 900.0, 900.0],
    )
    assert overload_rows(record, skill, rows, 140.0) == found


def test_the_first_overspeed_of_each_body_is_found_the_earliest_first():
    record = make(speeds__panda__max=[5.0, 5.1, 6.0], speeds__oven__max=[7.0, 0.0, 0.0], speeds__tap__max=[5.0] * 3)
    assert measurements.overspeed_rows(record, ALL) == [(0, "oven", 7.0), (1, "panda", 5.1)]


PHASES = make(skills__phase=[8, 8, 3, 8], skills__left__phase=[0, 8, 8, 0])


@pytest.mark.parametrize(
    ("skill", "frames", "mask"),
    [({}, (0, 3), [True, False, True]), ({}, (1, 2), [False]), ({"arm": "left"}, (0, 3), [True, True, False])],
)
def test_a_row_is_held_if_its_later_state_is_in_the_phase_hold_of_the_arm(skill, frames, mask):
    assert hold_rows(PHASES, skill, *frames).tolist() == mask


@pytest.mark.parametrize(
    ("skill", "frames", "mask"),
    [({}, (0, 3), [False, True, True]), ({}, (1, 2), [True]), ({"arm": "left"}, (0, 3), [False, True, False])],
)
def test_any_force_of_fingers_of_the_arm_of_a_skill_is_a_touch(skill, frames, mask):
    record = make(
        contacts__panda__left__oven__fingers_link__force_max_n=[0.0, 1e-9, 0.0],
        contacts__panda__right__oven__fingers_link__force_max_n=[0.0, 0.0, 2.0],
        contacts__panda__left__tap__fingers_link__force_max_n=[5.0, 5.0, 5.0],
    )
    assert touching_rows(record, {"object": "oven", **skill}, *frames).tolist() == mask


ATTEMPTS = [{"entry": 0, "attempt": 0}, *({"entry": 1, "attempt": attempt} for attempt in range(3))]


class TestFirstAttempt:
    @pytest.mark.parametrize(("index", "first"), [(0, 0), (1, 1), (2, 1), (3, 1)])
    def test_it_has_the_same_place_in_the_chain(self, index, first):
        record = make(skills=ATTEMPTS)
        assert measurements.first_attempt(record, record.skills[index]) is record.skills[first]


class TestIntervalArrays:
    def test_a_record_with_actions_needs_one_and_a_record_without_does_not(self):
        with refused(RecordingError, lacks("speeds.*.max"), key="speeds.*.max"):
            interval_arrays(make(), "speeds.", ".max")
        assert interval_arrays(EpisodeRecord(number=0, seed=0, success=True), "speeds.", ".max") == []


@pytest.mark.parametrize("frame", [0, 3])
def test_a_state_frame_of_the_episode_is_read(frame):
    assert measurements.read_frame({"frame_end": frame}, "frame_end", 3) == frame


@pytest.mark.parametrize("frame", [-1, 4, True, None])
def test_a_value_that_is_no_state_frame_is_refused(frame):
    message = f"'frame_end' is {frame!r}, expected a state frame from 0 to 3. The record is incomplete."
    with refused(RecordingError, message, key="frame_end"):
        measurements.read_frame({"frame_end": frame}, "frame_end", 3)


CAN = "objects.shelf.can"
RISES = [0.0, 0.0, 0.05, 0.1, 0.15, 0.2, 0.2]
QUARTER_ABOUT_X, QUARTER_ABOUT_Z = (Rotation.from_rotvec(np.pi / 2 * axis).as_quat() for axis in np.eye(3)[[0, 2]])
LIFTED = {"object": "shelf.can", "kind": "lifted", "value": 0.1}
UPRIGHT = {"object": "shelf.can", "kind": "upright", "value": 0.2, "up_axis": [0.0, 0.0, 1.0]}
INSIDE = {
    "object": "shelf.can",
    "kind": "inside",
    "value": 0.001,
    "of": "chest",
    "region": "drawer",
    "bounds": [[-0.03, -0.02, 0.0], [0.03, 0.02, 0.1]],
    "size": [0.2, 0.1, 0.15],
}
"""A can 6 x 4 x 10 cm in a region 20 x 10 x 15 cm, which is turned by a quarter: its long side lies along y."""
ON = {**INSIDE, "kind": "on"}
ON_TABLE = {**ON, "of": None, "size": None}
BALLS = [[0.0, 0.0, 0.03, 0.01], [0.0, 0.0, 0.07, 0.01], [0.0, 0.0, 0.05, 0.0]]
"""An outline of two balls of radius 10 mm, whose middles are 30 and 70 mm above the root, and of a point."""


def can(positions, *, quat=(0.0, 0.0, 0.0, 1.0), region=(0.0, 0.0, 0.0)):
    """Returns a record whose can has these seven heights, or this position; the region is turned by a quarter."""
    positions = np.array(positions, dtype=float)
    heights = positions if len(positions) == 7 else None
    arrays = {
        "time": np.arange(7) / 30.0,
        f"{CAN}.root_position": np.tile(positions, (7, 1)) if heights is None else np.outer(heights, [0, 0, 1]),
        f"{CAN}.root_quat_xyzw": np.tile(quat, (7, 1)),
        "regions.chest.drawer.position": np.tile(region, (7, 1)),
        "regions.chest.drawer.quat_xyzw": np.tile(QUARTER_ABOUT_Z, (7, 1)),
    }
    return EpisodeRecord(number=4, seed=0, success=True, arrays=arrays)


class TestObjectConditions:
    def test_upright_is_an_angle(self):
        assert object_value(can(RISES), UPRIGHT, 3, 0) == (0.0, True)
        lying = can(RISES, quat=QUARTER_ABOUT_X)
        assert object_value(lying, UPRIGHT, 3, 0) == (pytest.approx(np.pi / 2), False)
        assert object_value(lying, {**UPRIGHT, "up_axis": [0, 1, 0]}, 3, 0)[1]

    @pytest.mark.parametrize(
        ("condition", "place", "out"),
        [
            (INSIDE, (0.0, 0.0, 0.02), -0.02),  # the bottom is nearest
            (INSIDE, (0.0, 0.0, 0.045), -0.005),  # the top is nearest
            (INSIDE, (0.03, 0.0, 0.02), 0.01),  # 0.03 + 0.03 - 0.05 beside the short one
            (INSIDE, (0.0, 0.0, -0.004), 0.004),
            (INSIDE, (0.0, 0.0, 0.12), 0.07),
            ({**INSIDE, "open_above": True}, (0.0, 0.0, 0.12), 0.02),  # the middle must be inside
            (ON, (0.0, 0.0, 0.002), 0.002),  # the middle and the bottom
            (ON, (0.0, 0.11, 0.0), 0.01),
            (ON, (0.06, 0.0, -0.004), 0.01),
            (ON_TABLE, (5.0, 5.0, 0.0), 0.0),  # the table has no sides
        ],
    )
    def test_a_place_is_measured_by_how_far_corners_stick_out_of_the_region(self, condition, place, out):
        found, holds = object_value(can(place), condition, 2, 0)
        assert found == pytest.approx(out, abs=1e-9)
        assert holds == (out <= 0.001)
        assert goal_value(can(place), condition, 2) == (found, holds)

    @pytest.mark.parametrize("condition", [UPRIGHT, ON_TABLE, LIFTED])
    def test_a_condition_holds_at_exactly_its_value(self, condition):
        assert object_value(can(RISES), {**condition, "value": 0.0}, 0, 0) == (0.0, True)

    @pytest.mark.parametrize("corner", list(product((-0.03, 0.03), (-0.02, 0.02), (-0.05, 0.05))))
    def test_a_tilted_can_stands_on_its_lowest_corner_whichever_it_is(self, corner):
        turn, _ = Rotation.align_vectors([[0.0, 0.0, -1.0]], [corner])  # this corner points down
        place = [0.0, 0.0, np.linalg.norm(corner)] - turn.apply([0.0, 0.0, 0.05])
        assert object_value(can(place, quat=turn.as_quat()), ON, 0, 0)[0] == pytest.approx(0.0, abs=1e-9)

    @pytest.mark.parametrize(
        ("place", "inside", "on"),
        [
            ((0.0, 0.0, 0.01), -0.03, 0.03),
            ((0.0, 0.0, -0.04), 0.02, 0.02),  # the lower ball reaches 20 mm below the floor
            ((0.0, 0.095, 0.01), 0.005, 0.03),  # 0.095 + 0.01 - 0.1 beside the long side
            ((0.0, -0.096, 0.01), 0.006, 0.03),
            ((0.041, 0.0, 0.01), 0.001, 0.03),  # 0.041 + 0.01 - 0.05 beside the short one
        ],
    )
    def test_an_outline_of_balls_is_measured_in_place_of_the_corners(self, place, inside, on):
        for condition, out in ((INSIDE, inside), (ON, on)):
            found = object_value(can(place), {**condition, "outline": BALLS}, 2, 0)[0]
            assert found == pytest.approx(out, abs=1e-9)
