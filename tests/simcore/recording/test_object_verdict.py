"""Conditions on free objects, judged from records of six actions in which a can is carried."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from unlatch.simcore.errors import RecordingError
from unlatch.simcore.recording.broken_rules import (
    BrokenRule,
    JudgedSkill,
    broken_goal_rules,
    broken_skill_rules,
    goal_value,
    recompute_goal_frame,
)
from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.simcore.recording.measurements import object_value
from unlatch.simcore.recording.success_rules import MOVING_STEP

CAN = "objects.shelf.can"
QUARTER = [np.sqrt(0.5), 0.0, 0.0, np.sqrt(0.5)]
"""A quarter turn about x, as a quaternion (x, y, z, w)."""
RISES = [0.0, 0.0, 0.05, 0.1, 0.15, 0.2, 0.2]
NEVER = 7
LIFTED: dict[str, Any] = {"object": "shelf.can", "kind": "lifted", "value": 0.1}
UPRIGHT: dict[str, Any] = {"object": "shelf.can", "kind": "upright", "value": 0.2, "up_axis": [0.0, 0.0, 1.0]}
INSIDE: dict[str, Any] = {
    "object": "shelf.can",
    "kind": "inside",
    "value": 0.001,
    "of": "chest",
    "region": "drawer",
    "bounds": [[-0.03, -0.02, 0.0], [0.03, 0.02, 0.1]],
    "size": [0.2, 0.1, 0.15],
}
"""A can 6 x 4 x 10 cm in a region 20 x 10 x 15 cm."""
SKILL: dict[str, Any] = {
    "name": "pick",
    "object": "shelf.can",
    "conditions": [LIFTED],
    "frame_start": 1,
    "frame_end": 5,
    "success_mode": None,
    "finger_contact_required": False,
    "collision_valid_enabled": False,
    "process_valid_enabled": False,
    "finger_force_limit_n": 140.0,
}


def make(
    positions: Any,
    *skills: dict[str, Any],
    quat: Any = (0.0, 0.0, 0.0, 1.0),
    region: Any = (0.0, 0.0, 0.0),
    **rest: Any,
) -> EpisodeRecord:
    """Returns a record whose can has these seven positions, or heights; the region turns by a quarter about z."""
    positions = np.array(positions, dtype=float)
    if positions.ndim == 1:
        positions = np.column_stack([np.zeros(7), np.zeros(7), positions])
    arrays = {
        "time": np.arange(7) / 30.0,
        f"{CAN}.root_position": positions,
        f"{CAN}.root_quat_xyzw": np.tile(quat, (7, 1)),
        "contacts.panda.left.fingers.force_sustained_n": np.zeros(6),
        "regions.chest.drawer.position": np.tile(region, (7, 1)),
        "regions.chest.drawer.quat_xyzw": np.tile([0.0, 0.0, np.sqrt(0.5), np.sqrt(0.5)], (7, 1)),
        **rest.pop("arrays", {}),
    }
    return EpisodeRecord(number=4, seed=0, success=True, skills=list(skills), arrays=arrays, **rest)


def skill_rules(record: EpisodeRecord, index: int = 0) -> list[BrokenRule]:
    skills = [JudgedSkill.read(record, n) for n in range(len(record.skills))]
    return list(broken_skill_rules(skills[index], skills, limit=NEVER))


def goal_rules(record: EpisodeRecord) -> list[BrokenRule]:
    return list(broken_goal_rules(record, [JudgedSkill.read(record, n) for n in range(len(record.skills))]))


class TestConditions:
    @pytest.mark.parametrize(("start", "reached", "holds"), [(0, 0.1, True), (2, 0.05, False)])
    def test_lifted_counts_from_a_frame(self, start: int, reached: float, holds: bool):
        assert object_value(make(RISES), LIFTED, 3, start) == (pytest.approx(reached), holds)

    def test_lifted_of_a_goal_counts_from_the_first_frame_of_the_episode(self):
        assert goal_value(make([0.0, 0.05, 0.05, 0.1, 0.1, 0.1, 0.1]), LIFTED, 3) == (0.1, True)

    def test_upright_is_an_angle(self):
        assert object_value(make(RISES), UPRIGHT, 3, 0) == (0.0, True)
        tilted = object_value(make(RISES, quat=QUARTER), UPRIGHT, 3, 0)
        assert tilted == (pytest.approx(np.pi / 2), False)
        assert object_value(make(RISES, quat=QUARTER), {**UPRIGHT, "up_axis": [0, 1, 0]}, 3, 0)[1]

    @pytest.mark.parametrize(
        ("place", "out"),
        [
            # the region is turned by a quarter: its long side lies along y of the world
            ((0.0, 0.0, 0.02), -0.02),  # the bottom is nearest
            ((0.0, 0.0, 0.045), -0.005),  # the top is nearest
            ((0.0, 0.09, 0.02), 0.01),  # 0.09 + 0.02 - 0.1 beside the long side
            ((0.03, 0.0, 0.02), 0.01),  # 0.03 + 0.03 - 0.05 beside the short one
            ((0.0, 0.0, -0.004), 0.004),
            ((0.0, 0.0, 0.06), 0.01),
        ],
    )
    def test_inside_is_how_far_corners_stick_out_of_the_region(self, place: tuple[float, ...], out: float):
        turned = (0.0, 0.0, 0.0, 1.0)
        found, holds = object_value(make([place] * 7, quat=turned), INSIDE, 2, 0)
        assert found == pytest.approx(out, abs=1e-9)
        assert holds == (out <= 0.001)
        assert goal_value(make([place] * 7), INSIDE, 2) == (found, holds)

    def test_a_region_that_is_open_above_asks_for_the_middle(self):
        record = make([(0.0, 0.0, 0.12)] * 7)
        assert object_value(record, INSIDE, 0, 0) == (pytest.approx(0.07), False)
        assert object_value(record, {**INSIDE, "open_above": True}, 0, 0) == (pytest.approx(0.02), False)
        low = make([(0.0, 0.0, 0.09)] * 7)
        assert object_value(low, {**INSIDE, "open_above": True}, 0, 0)[1]

    @pytest.mark.parametrize(
        ("place", "out"), [((0.0, 0.0, 0.002), 0.002), ((0.0, 0.11, 0.0), 0.01), ((0.06, 0.0, -0.004), 0.01)]
    )
    def test_on_asks_for_the_middle_and_the_bottom(self, place: tuple[float, ...], out: float):
        assert object_value(make([place] * 7), {**INSIDE, "kind": "on"}, 0, 0)[0] == pytest.approx(out, abs=1e-9)

    def test_the_table_has_no_sides(self):
        table = {**INSIDE, "kind": "on", "of": None, "size": None}
        assert object_value(make([(5.0, 5.0, 0.0)] * 7), table, 0, 0) == (0.0, True)

    def test_a_condition_holds_at_exactly_its_value(self):
        on_table = {**INSIDE, "kind": "on", "of": None, "size": None}
        for condition in (UPRIGHT, on_table, {**LIFTED, "value": 0.0}):
            assert object_value(make(RISES), {**condition, "value": 0.0}, 0, 0) == (0.0, True)

    @pytest.mark.parametrize("kind", ["inside", "on"])
    def test_a_region_that_moves_takes_its_object_with_it(self, kind: str):
        place, region = np.array([0.01, 0.04, 0.02]), np.array([0.7, -0.3, 0.4])
        condition = {**INSIDE, "kind": kind}
        here = object_value(make([place] * 7), condition, 0, 0)
        there = object_value(make([place + region] * 7, region=region), condition, 0, 0)
        assert there == (pytest.approx(here[0]), here[1])

    @pytest.mark.parametrize("corner", list(product((-0.03, 0.03), (-0.02, 0.02), (-0.05, 0.05))))
    def test_a_tilted_can_stands_on_its_lowest_corner_whichever_it_is(self, corner: tuple[float, float, float]):
        middle = np.array([0.0, 0.0, 0.05])
        length = np.linalg.norm(corner)
        turn, _ = Rotation.align_vectors([[0.0, 0.0, -1.0]], [corner])  # this corner points down
        place = [0.0, 0.0, length] - turn.apply(middle)
        record = make([place] * 7, quat=turn.as_quat())
        assert object_value(record, {**INSIDE, "kind": "on"}, 0, 0)[0] == pytest.approx(0.0, abs=1e-9)

    @pytest.mark.parametrize(
        ("place", "inside", "on"),
        [
            ((0.0, 0.0, 0.01), -0.03, 0.03),  # two balls of radius 10 mm, whose middles are 30 and 70 mm above the root
            ((0.0, 0.0, -0.04), 0.02, 0.02),  # the lower one reaches 20 mm below the floor
            ((0.0, 0.0, 0.105), 0.035, 0.125),  # the upper one reaches 185 mm above the floor
            ((0.0, 0.095, 0.01), 0.005, 0.03),  # 0.095 + 0.01 - 0.1 beside the long side
            ((0.0, -0.096, 0.01), 0.006, 0.03),
            ((0.041, 0.0, 0.01), 0.001, 0.03),  # 0.041 + 0.01 - 0.05 beside the short one
            ((-0.047, 0.0, 0.01), 0.007, 0.03),
        ],
    )
    def test_an_outline_of_balls_is_measured_in_place_of_the_corners(
        self, place: tuple[float, ...], inside: float, on: float
    ):
        balls = {**INSIDE, "outline": [[0.0, 0.0, 0.03, 0.01], [0.0, 0.0, 0.07, 0.01], [0.0, 0.0, 0.05, 0.0]]}
        assert object_value(make([place] * 7), balls, 2, 0)[0] == pytest.approx(inside, abs=1e-9)
        assert object_value(make([place] * 7), {**balls, "kind": "on"}, 2, 0)[0] == pytest.approx(on, abs=1e-9)

    def test_the_middle_is_that_of_the_bounds_whatever_the_outline(self):
        aside = {**INSIDE, "outline": [[0.5, 0.0, 0.0, 0.0]], "open_above": True}
        assert object_value(make([(0.0, 0.0, 0.12)] * 7), {**aside, "kind": "on"}, 0, 0)[0] == pytest.approx(0.12)
        low = {**aside, "outline": [[0.0, 0.0, 0.3, 0.0]]}
        assert object_value(make([(0.0, 0.0, 0.12)] * 7), low, 0, 0)[0] == pytest.approx(0.02)  # 0.12 + 0.05 - 0.15

    @pytest.mark.parametrize("outline", [[[0, 0, 0]], [0, 0, 0, 0], [], [[0, 0, 0, np.inf]], "none", None])
    def test_an_outline_of_another_shape_is_refused(self, outline: Any):
        with pytest.raises(RecordingError) as caught:
            object_value(make(RISES), {**INSIDE, "outline": outline}, 0, 0)
        assert caught.value.message == (
            f"'outline' of a condition on 'shelf.can' is {outline!r}, expected numbers of shape [N, 4]. The record is "
            "incomplete."
        )

    @pytest.mark.parametrize("value", [[0, 1], "z", ["x", "y", "z"], [0, 0, np.nan], None])
    def test_a_value_of_another_shape_is_refused(self, value: Any):
        with pytest.raises(RecordingError) as caught:
            object_value(make(RISES), {**UPRIGHT, "up_axis": value}, 0, 0)
        assert caught.value.message == (
            f"'up_axis' of a condition on 'shelf.can' is {value!r}, expected numbers of shape [3]. The record is "
            "incomplete."
        )
        assert caught.value.values == {"key": "up_axis"}

    @pytest.mark.parametrize("key", [f"{CAN}.root_position", f"{CAN}.root_quat_xyzw", "regions.chest.drawer.position"])
    def test_an_array_that_is_missing_is_named(self, key: str):
        record = make(RISES)
        del record.arrays[key]
        with pytest.raises(RecordingError) as caught:
            object_value(record, INSIDE, 0, 0)
        assert caught.value.message == (
            f"Episode 4 has no array '{key}', which its verdict needs. The record is incomplete."
        )
        assert caught.value.values == {"key": key}


class TestSkills:
    def test_a_can_that_is_where_it_must_be_breaks_no_rule(self):
        assert skill_rules(make(RISES, SKILL)) == []

    def test_a_can_that_is_elsewhere_at_the_end_is_not_reached(self):
        record = make([0, 0, 0.05, 0.08, 0.09, 0.09, 0.3], {"name": "artpreplan"} | SKILL)
        evidence = {"skill": 0, "name": "pick", "kind": "lifted", "object": "shelf.can", "wanted": 0.1}
        assert skill_rules(record) == [BrokenRule(5, "not_reached", {**evidence, "reached": pytest.approx(0.09)})]

    def test_lifted_counts_from_the_first_attempt(self):
        first = {**SKILL, "entry": 0, "attempt": 0, "frame_end": 3, "broken_off": True}
        second = {**SKILL, "entry": 0, "attempt": 1, "frame_start": 3}
        assert skill_rules(make([0, 0, 0.05, 0.07, 0.1, 0.12, 0.12], first, second), 1) == []

    def test_contact_is_asked_for_while_the_can_moves(self):
        touch = "contacts.panda.left.shelf.can.fingers_link.force_max_n"
        skill = {**SKILL, "finger_contact_required": True, "robot": "panda", "arm": "left"}
        rows = np.array([0.0, 5.0, 0.0, 0.0, 0.0, 0.0])
        others = {"contacts.panda.left.shelf.can.fingers_base.force_max_n": np.zeros(6)}
        (rule,) = skill_rules(make(RISES, skill, arrays={touch: rows, **others}))
        assert rule.code == "slipped"
        assert rule.evidence["moving_frames"] == 4
        assert rule.evidence["contact_share"] == 0.25

    def test_a_step_of_exactly_the_least_one_is_no_motion(self):
        skill = {**SKILL, "finger_contact_required": True, "robot": "panda", "arm": "left"}
        touch = {"contacts.panda.left.shelf.can.fingers_link.force_max_n": np.array([0.0, 0.0, 0.0, 0.0, 5.0, 0.0])}
        heights = [0.0, 0.0, MOVING_STEP, MOVING_STEP, MOVING_STEP, 0.2, 0.2]
        assert skill_rules(make(heights, skill, arrays=touch)) == []

    @pytest.mark.parametrize("key", ["object", "conditions"])
    def test_a_skill_with_conditions_names_its_object(self, key: str):
        with pytest.raises(RecordingError, match=f"^{key}=3 in entry 0 of the skills of episode 4, expected"):
            JudgedSkill.read(make(RISES, {**SKILL, key: 3}), 0)


SETTLE = {"frame_start": 4, "frame_end": 6, "max_change": 0.005, "max_changes": {"shelf.can.root": 0.005}}


class TestGoal:
    def judged(self, heights: list[float], *skills: dict[str, Any], conditions: Any = (LIFTED,)) -> list[BrokenRule]:
        return goal_rules(make(heights, *skills, goal={"conditions": list(conditions)}, settle=SETTLE))

    def test_a_can_that_stays_breaks_no_rule(self):
        assert self.judged([0, 0, 0.1, 0.2, 0.2, 0.204, 0.204]) == []

    def test_a_can_that_moves_while_the_scene_settles_is_unsettled(self):
        (rule,) = self.judged([0, 0, 0.1, 0.2, 0.2, 0.208, 0.21])
        numbers = {"object": "shelf.can", "joint_index": "root", "allowed": 0.005}
        assert rule == BrokenRule(5, "unsettled", {**numbers, "change": pytest.approx(0.01)})

    def test_a_can_that_a_skill_carries_must_stay_too(self):
        (rule,) = self.judged([0, 0, 0.1, 0.2, 0.2, 0.2, 0.21], SKILL, conditions=())
        assert (rule.frame, rule.code) == (6, "unsettled")

    def test_a_can_and_its_lid_must_both_rest(self):
        lid = {"object": "shelf.can", "part": "lid", "joint_index": 0, "kind": "moved", "value": 0.0}
        turns = {f"{CAN}.joint_positions": np.array([[0.0]] * 5 + [[0.1]] * 2)}
        goal = {"conditions": [lid, LIFTED]}
        rules = goal_rules(make([0, 0, 0.1, 0.2, 0.2, 0.2, 0.21], goal=goal, settle=SETTLE, arrays=turns))
        assert {(rule.frame, rule.evidence["joint_index"]) for rule in rules} == {(5, 0), (6, "root")}

    def test_a_condition_that_does_not_hold_or_does_not_last(self):
        label = {"condition": 0, "object": "shelf.can", "part": None, "kind": "lifted", "wanted": 0.1}
        assert self.judged([0.0, 0.0, 0.1, 0.1, 0.099, 0.099, 0.1]) == [
            BrokenRule(4, "not_reached", {**label, "reached": pytest.approx(0.099)})
        ]
        assert self.judged([0.0, 0.0, 0.1, 0.1, 0.101, 0.1, 0.099]) == [
            BrokenRule(6, "unsettled", {**label, "reached": pytest.approx(0.099), "at_start": pytest.approx(0.101)})
        ]

    def test_a_policy_reaches_the_goal_where_it_has_held_for_long_enough(self):
        goal = {"conditions": [LIFTED], "hold_frames": 2, "chain_length": 1, "max_changes": {"shelf.can.root": 0.005}}
        skill = {**SKILL, "frame_end": 6}
        assert recompute_goal_frame(make([0, 0, 0.1, 0.2, 0.203, 0.206, 0.206], skill, goal=goal)) == 6
        assert recompute_goal_frame(make([0, 0, 0.1, 0.2, 0.203, 0.204, 0.206], skill, goal=goal)) == 5
        assert recompute_goal_frame(make([0, 0, 0.1, 0.2, 0.21, 0.22, 0.23], skill, goal=goal)) is None
