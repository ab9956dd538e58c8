"""The judge of the goal: which conditions hold, which joints and objects stayed, and what is said if not."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.workflows.episode.judge_stage import FakeObject
from unlatch.objects.carrying_conditions import ObjectPoses
from unlatch.simcore.geometry import Pose
from unlatch.simcore.recording.success_rules import MAX_SETTLE_CHANGE_M, MAX_SETTLE_CHANGE_RAD
from unlatch.tasks.task import GoalCfg, GoalKind
from unlatch.workflows.episode.criteria import goal_conditions
from unlatch.workflows.episode.judge import GoalJudge, goal_failure, object_failure

HZ = 30.0
DOOR, BUTTON, DRAWER = ("oven", 0), ("oven", 1), ("chest", 0)
LIMITS = {"s_closed": 0.1, "s_open": 1.7}


class Kitchen:
    """An oven with a door and a button, a chest with a drawer, and the judge of their goal."""

    def __init__(self, *goals: GoalCfg, chest: Any = None) -> None:
        span = {"closed": 0.1, "opened": 1.7}
        self.objects: Any = {
            "oven": FakeObject(door="revolute", button="prismatic", **span),
            "chest": chest or FakeObject(drawer="prismatic", **span),
        }
        cfg: Any = SimpleNamespace(task=SimpleNamespace(goal=list(goals)), world=SimpleNamespace(record_hz=HZ))
        self.judge = GoalJudge(cfg, self.objects)

    def move(self, joint: tuple[str, int], *positions: float) -> None:
        """Sets a joint in each of the next frames."""
        for s in positions:
            self.objects[joint[0]].s[joint[1]] = s
            self.judge.observe()

    def failures(self, first: int) -> list[tuple[str, float, Any]]:
        """Returns code, time and object of each failure since a frame."""
        found = self.judge.failures_since(first)
        return [(failure.code, round(failure.time_s * HZ), failure.evidence.get("object")) for failure in found]


def open_door(value: float = 0.5) -> GoalCfg:
    return GoalCfg(object="oven", part="door", kind=GoalKind.moved, value=value)


def test_conditions_have_what_a_record_needs():
    goal = [
        GoalCfg(object="chest", part="drawer", kind=GoalKind.moved_fraction, value=0.4),
        GoalCfg(object="oven", part="button", kind=GoalKind.within_closed, value=0.01),
        GoalCfg(object="can", kind=GoalKind.upright, value=0.2),
    ]
    assets: Any = {name: item.asset for name, item in Kitchen().objects.items()}
    assets["can"] = SimpleNamespace(free=True, articulation=SimpleNamespace(up_axis=np.array([0.0, 1.0, 0.0])))
    assert goal_conditions(SimpleNamespace(goal=goal), assets) == [
        {"object": "chest", "part": "drawer", "joint_index": 0, "kind": "moved_fraction", "value": 0.4} | LIMITS,
        {"object": "oven", "part": "button", "joint_index": 1, "kind": "within_closed", "value": 0.01} | LIMITS,
        {"object": "can", "kind": "upright", "value": 0.2, "up_axis": [0.0, 1.0, 0.0]},
    ]


def test_positions_are_those_of_the_last_frame():
    kitchen = Kitchen(open_door())
    kitchen.objects["oven"].s[:], kitchen.objects["chest"].s[:] = [0.2, 0.01], [0.3]
    assert kitchen.judge.positions == {DOOR: 0.0, BUTTON: 0.0, DRAWER: 0.0}
    kitchen.judge.observe()
    assert kitchen.judge.positions == {DOOR: 0.2, BUTTON: 0.01, DRAWER: 0.3}
    kitchen.judge.act_on(DRAWER, 0.25)
    assert kitchen.judge.positions == {DOOR: 0.2, BUTTON: 0.01, DRAWER: 0.25}


def test_the_settling_period_states_the_limits_of_the_joints_that_were_acted_on():
    judge = Kitchen(open_door()).judge
    frames, door = {"frame_start": 4, "frame_end": 9}, {"oven.0": MAX_SETTLE_CHANGE_RAD}
    alone = {**frames, "max_change": MAX_SETTLE_CHANGE_RAD, "max_changes": door}
    assert judge.settle_entry(4, 9) == alone
    judge.act_on(DRAWER, 0.0)
    both = {"chest.0": MAX_SETTLE_CHANGE_M, **door}
    assert judge.settle_entry(4, 9) == {**frames, "max_change": MAX_SETTLE_CHANGE_M, "max_changes": both}


def test_a_part_that_moves_little_stands_still_within_a_tenth_of_its_range():
    panel = FakeObject(drawer="prismatic", closed=0.0, opened=0.003, moves_little=True)
    kitchen = Kitchen(open_door(), chest=panel)
    kitchen.judge.act_on(DRAWER, 0.0)
    assert kitchen.judge.max_changes()["chest.0"] == pytest.approx(0.0003)
    kitchen.move(DRAWER, 0.0, 0.0002)
    assert "'drawer_joint'" not in str(kitchen.judge.failures_since(0))
    kitchen.move(DRAWER, 0.0004)
    assert "'drawer_joint' of 'chest' moved by 0.0004" in str(kitchen.judge.failures_since(0))


@pytest.mark.parametrize(
    ("positions", "code", "frame", "s"),
    [
        ((0.3, 0.6, 0.61, 0.6), None, 0, 0.0),
        ((0.3, 0.49, 0.505), "not_reached", 2, 0.49),  # not at the beginning
        ((0.3, 0.505, 0.49), "unsettled", 3, 0.49),  # not at the end
    ],
)
def test_a_goal_must_hold_from_the_first_frame_to_the_last(positions, code, frame, s):
    kitchen = Kitchen(open_door())
    kitchen.move(DOOR, *positions)
    found = kitchen.judge.failures_since(2)
    assert [(failure.code, failure.time_s) for failure in found] == ([(code, frame / HZ)] if code else [])
    for failure in found:
        assert failure.message == "Goal 'moved 0.5' of oven.door does not hold: 0.4900"
        assert failure.evidence == {"condition": kitchen.judge.conditions[0], "reached": s, "s": s}


@pytest.mark.parametrize(("sign", "moves"), [(1, 1.01), (-1, 1.01), (1, 0.99), (-1, 0.99)])
def test_a_hinge_must_stay_within_its_limit_of_where_it_was(sign, moves):
    kitchen = Kitchen(open_door(0.1))
    away = 0.6 + sign * moves * MAX_SETTLE_CHANGE_RAD
    kitchen.move(DOOR, 0.2, 0.6, 0.6, away, 0.6, 0.6)
    found = kitchen.judge.failures_since(2)
    assert len(found) == (moves > 1.0)
    for failure in found:
        assert (failure.code, failure.time_s) == ("unsettled", 4 / HZ)
        assert failure.message == "'door_joint' of 'oven' moved by 0.0202 while it should have stayed (allowed 0.02)"
        change = {"change": pytest.approx(abs(away - 0.6)), "allowed": MAX_SETTLE_CHANGE_RAD}
        assert failure.evidence == {"object": "oven", "joint": "door_joint", **change}


def test_the_first_frame_and_the_largest_change_of_a_joint_that_moved_are_named():
    kitchen = Kitchen(open_door(0.1))
    kitchen.move(DOOR, 0.6, 0.63, 0.7, 0.64)
    (failure,) = kitchen.judge.failures_since(1)
    assert (failure.time_s, failure.evidence["change"]) == (2 / HZ, pytest.approx(0.1))


def test_joints_that_were_acted_on_may_move_up_to_the_limit_of_their_kind():
    kitchen = Kitchen()
    kitchen.judge.act_on(DOOR, 0.0)
    kitchen.move(DOOR, MAX_SETTLE_CHANGE_RAD)
    assert kitchen.failures(0) == []
    kitchen.judge.act_on(DRAWER, 0.0)
    kitchen.move(DRAWER, 0.2, 0.2 + 0.9 * MAX_SETTLE_CHANGE_M)
    assert kitchen.failures(2) == []
    kitchen.move(DRAWER, 0.2 + 1.1 * MAX_SETTLE_CHANGE_M)
    assert kitchen.failures(2) == [("unsettled", 4, "chest")]


def test_joints_that_were_not_acted_on_may_move_and_every_other_one_is_a_failure():
    kitchen = Kitchen(open_door())
    kitchen.move(DOOR, 0.6)
    kitchen.move(BUTTON, 0.5)
    assert kitchen.failures(1) == []
    kitchen = Kitchen(open_door())
    kitchen.judge.act_on(DRAWER, 0.0)
    kitchen.objects["oven"].s[0] = 0.3
    kitchen.move(DRAWER, 0.3)
    found = [(code, name) for code, _, name in kitchen.failures(0)]
    assert found == [("not_reached", None), ("unsettled", None), ("unsettled", "chest"), ("unsettled", "oven")]


def condition(kind: str, value: float, **changes: float) -> dict[str, Any]:
    return {"object": "oven", "part": "door", "joint_index": 0, "kind": kind, "value": value, **LIMITS, **changes}


@pytest.mark.parametrize(
    ("kind", "value", "s", "holds", "reached"),
    [
        ("moved", 0.5, 0.75, True, 0.5),
        ("moved", 0.5, 0.74, False, 0.49),
        ("moved", 0.2, 0.05, True, 0.2),  # a part may move either way
        ("moved_fraction", 0.25, 0.65, True, 0.25),
        ("moved_fraction", 0.25, 0.642, False, 0.245),
        ("open_fraction", 0.25, 0.51, True, 0.25625),  # of a range of 1.6 rad from 0.1, whatever the start
        ("open_fraction", 0.25, 0.484, False, 0.24),
        ("open_fraction", 0.25, -0.4, False, -0.3125),  # past closed is not open
        ("at_fraction", 0.25, 0.545, True, 0.278125),  # up to 0.03 of the range to either side
        ("at_fraction", 0.25, 0.455, True, 0.221875),
        ("at_fraction", 0.25, 0.56, False, 0.2875),
        ("at_fraction", 0.25, 0.44, False, 0.2125),
        ("within_closed", 0.02, 0.12, True, 0.02),
        ("within_closed", 0.02, 0.125, False, 0.025),
        ("within_closed", 0.02, 0.07, False, 0.03),
    ],
)
def test_each_kind_of_condition_holds_up_to_its_value(kind, value, s, holds, reached):
    wanted = condition(kind, value + 1e-9 if kind == "within_closed" else value - 1e-9)
    failure = goal_failure("not_reached", [wanted], {DOOR: s}, {DOOR: 0.25}, 1.5)
    assert (failure is None) == holds
    if failure is not None:
        assert (failure.code, failure.time_s) == ("not_reached", 1.5)
        assert failure.message == f"Goal '{kind} {value:g}' of oven.door does not hold: {reached:.4f}"
        assert failure.evidence == {"condition": wanted, "reached": pytest.approx(reached), "s": s}
    at_value = condition(kind, 0.5, s_closed=1.0, s_open=0.0)  # a joint that opens in its negative direction
    assert goal_failure("unsettled", [at_value], {DOOR: 0.5}, {DOOR: 0.0}, 0.0) is None


def test_the_first_condition_that_does_not_hold_is_named():
    conditions = [condition("moved", 0.1), condition("moved", 0.8), condition("moved", 0.9)]
    failure = goal_failure("unsettled", conditions, {DOOR: 0.5}, {DOOR: 0.0}, 0.0)
    assert failure is not None
    assert failure.evidence["condition"] == conditions[1]
    assert goal_failure("unsettled", [], {}, {}, 0.0) is None


LIFTED = {"object": "can", "kind": "lifted", "value": 0.1}
INSIDE = {
    **{"object": "can", "kind": "inside", "value": 0.0, "of": "drawer", "region": "interior"},
    **{"bounds": [[-0.02, -0.02, 0.0], [0.02, 0.02, 0.1]], "size": [0.3, 0.3, 0.2], "open_above": False},
}


class Table:
    """A can that is set by hand, and the judge that reads it."""

    def __init__(self, *conditions: dict[str, Any]) -> None:
        self.can = [0.0, 0.0, 0.0]
        goals = [SimpleNamespace(condition=SimpleNamespace(describe=lambda _, item=item: item)) for item in conditions]
        cfg: Any = SimpleNamespace(task=SimpleNamespace(goal=goals), world=SimpleNamespace(record_hz=HZ))
        can: Any = SimpleNamespace(asset=None, body=SimpleNamespace(joint_states=lambda: (np.zeros(0), None)))
        self.judge = GoalJudge(cfg, {"can": can}, self.poses)

    def poses(self) -> ObjectPoses:
        region = {("drawer", "interior"): Pose(np.eye(3), [1.0, 0.0, 0.0])}
        return ObjectPoses({"can": Pose(np.eye(3), self.can)}, region)

    def move(self, *places: tuple[float, float, float]) -> Table:
        """Puts the can somewhere in each of the next frames."""
        for place in places:
            self.can = list(place)
            self.judge.observe()
        return self


def test_evidence_leaves_out_the_outline_by_which_a_condition_is_measured():
    table = Table()
    table.can = [1.2, 0.0, 0.0]
    outlined = {**INSIDE, "outline": [[0.0, 0.0, 0.05, 0.03]]}
    failure = object_failure("not_reached", [outlined], table.poses(), table.poses(), 0.0)
    assert failure is not None
    assert failure.evidence == {"condition": INSIDE, "reached": pytest.approx(0.08)}


@pytest.mark.parametrize(
    ("heights", "codes", "time_s"),
    [
        ((0.05, 0.1001, 0.1001), [], None),
        ((0.05, 0.0995, 0.1005), ["not_reached"], 2 / HZ),
        ((0.1004, 0.1004, 0.0999), ["unsettled"], 3 / HZ),
    ],
)
def test_a_can_must_be_lifted_from_the_first_frame_to_the_last(heights, codes, time_s):
    found = Table(LIFTED).move(*((0, 0, height) for height in heights)).judge.failures_since(2)
    assert [failure.code for failure in found] == codes
    assert [failure.time_s for failure in found] == [time_s] * len(codes)
    if codes == ["not_reached"]:
        assert found[0].message == "Condition 'lifted' of can does not hold: 0.0995, limit 0.1"
        assert found[0].evidence == {"condition": LIFTED, "reached": pytest.approx(0.0995)}


def test_the_region_of_a_condition_is_named_and_each_condition_counts():
    begin, end = Table(LIFTED, INSIDE).move((0, 0, 0.2), (0, 0, 0.2)).judge.failures_since(1)
    assert (begin.code, end.code) == ("not_reached", "unsettled")
    assert begin.message == "Condition 'inside drawer.interior' of can does not hold: 0.8700, limit 0"
    assert Table(INSIDE).move((1, 0, 0.05), (1, 0, 0.05)).judge.failures_since(1) == []


def test_a_can_that_moves_while_it_should_stay_is_unsettled():
    step = 40 * MAX_SETTLE_CHANGE_M
    table = Table(LIFTED).move((0, 0, 0.3), (0, 0, 0.3), (step, 0, 0.3), (2 * step, 0, 0.3), (step, 0, 0.3))
    (failure,) = table.judge.failures_since(2)
    assert (failure.code, failure.time_s) == ("unsettled", 3 / HZ)
    allowed = f"{1e3 * MAX_SETTLE_CHANGE_M:g} mm"
    assert failure.message == f"'can' moved by {2e3 * step:.1f} mm while it should have stayed (allowed {allowed})"
    change = {"change": pytest.approx(2 * step), "allowed": MAX_SETTLE_CHANGE_M}
    assert failure.evidence == {"object": "can", **change}
    by_the_limit = Table(LIFTED).move((5, 0, 0.3), (0, 0, 0.3), (MAX_SETTLE_CHANGE_M, 0, 0.3))
    assert by_the_limit.judge.failures_since(2) == []


def test_an_object_that_a_skill_carries_must_stay_too():
    table = Table()
    assert table.judge.failures_since(0) == []
    table.judge.carry("can")
    table.move((0, 0.0, 0), (0, 2 * MAX_SETTLE_CHANGE_M, 0))
    (failure,) = table.judge.failures_since(1)
    assert failure.evidence["object"] == "can"
    assert table.judge.max_changes() == {"can.root": MAX_SETTLE_CHANGE_M}
    assert table.judge.settle_entry(1, 2)["max_change"] == MAX_SETTLE_CHANGE_M
    assert table.judge.poses.objects["can"].p[1] == 2 * MAX_SETTLE_CHANGE_M


def test_the_first_condition_of_objects_that_does_not_hold_is_said():
    table = Table()
    start = table.poses()
    table.can = [0.0, 0.0, 0.1]
    upright = {"object": "can", "kind": "upright", "value": 0.1, "up_axis": [0, 0, 1]}
    lying, higher = {**upright, "up_axis": [1, 0, 0]}, {**LIFTED, "value": 0.3}
    assert object_failure("slipped", [LIFTED, upright], table.poses(), start, 2.0) is None
    failure = object_failure("slipped", [upright, lying, higher], table.poses(), start, 2.0)
    assert failure is not None
    assert (failure.code, failure.time_s) == ("slipped", 2.0)
    assert failure.message == f"Condition 'upright' of can does not hold: {np.pi / 2:.4f}, limit 0.1"
