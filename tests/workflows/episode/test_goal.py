"""The judge of the goal: which conditions hold, which joints stayed where they were, and what is said if not."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from unlatch.simcore.recording.success_rules import MAX_SETTLE_CHANGE_M, MAX_SETTLE_CHANGE_RAD
from unlatch.tasks.task import GoalCfg, GoalKind
from unlatch.workflows.episode.criteria import goal_conditions
from unlatch.workflows.episode.judge import GoalJudge, goal_failure

HZ = 30.0
DOOR, BUTTON, DRAWER = ("oven", 0), ("oven", 1), ("chest", 0)


class FakeObject:
    """An object whose joints are set by hand; the names of its joints are those of its parts."""

    def __init__(
        self, kinds: dict[str, str], *, closed: float = 0.1, opened: float = 1.7, moves_little: bool = False
    ) -> None:
        self.joint_names = list(kinds)
        self.s = np.zeros(len(kinds))
        openness = SimpleNamespace(closed=closed, open=opened)
        parts = {name: SimpleNamespace(joint=name, openness=openness, moves_little=moves_little) for name in kinds}
        joints = {
            name: SimpleNamespace(
                name=name, kind="prismatic" if kind == "slider" else "revolute", parent="body", child=name, moves=True
            )
            for name, kind in kinds.items()
        }
        self.asset = SimpleNamespace(
            model=SimpleNamespace(root="body", joints=joints),
            articulation=SimpleNamespace(part=parts.__getitem__, parts=parts),
        )
        self.body = SimpleNamespace(joint_states=lambda: (self.s.copy(), np.full(len(kinds), 9.0)))


@pytest.fixture
def oven() -> FakeObject:
    return FakeObject({"door": "hinge", "button": "slider"})


@pytest.fixture
def chest() -> FakeObject:
    return FakeObject({"drawer": "slider"})


def make_judge(oven: FakeObject, chest: FakeObject, *goals: GoalCfg) -> GoalJudge:
    cfg: Any = SimpleNamespace(task=SimpleNamespace(goal=list(goals)), world=SimpleNamespace(record_hz=HZ))
    objects: Any = {"oven": oven, "chest": chest}
    return GoalJudge(cfg, objects)


def open_door(value: float = 0.5) -> GoalCfg:
    return GoalCfg(object="oven", part="door", kind=GoalKind.moved, value=value)


def observe(judge: GoalJudge, item: FakeObject, index: int, *positions: float) -> None:
    """Sets a joint in each of the next frames."""
    for s in positions:
        item.s[index] = s
        judge.observe()


def test_conditions_have_what_a_record_needs(oven, chest):
    task: Any = SimpleNamespace(
        goal=[
            GoalCfg(object="chest", part="drawer", kind=GoalKind.moved_fraction, value=0.4),
            GoalCfg(object="oven", part="button", kind=GoalKind.within_closed, value=0.01),
        ]
    )
    assets: Any = {"oven": oven.asset, "chest": chest.asset}
    drawer = {"object": "chest", "part": "drawer", "joint_index": 0, "kind": "moved_fraction", "value": 0.4}
    button = {"object": "oven", "part": "button", "joint_index": 1, "kind": "within_closed", "value": 0.01}
    limits = {"s_closed": 0.1, "s_open": 1.7}
    assert goal_conditions(task, assets) == [drawer | limits, button | limits]


def test_positions_are_those_of_the_last_frame(oven, chest):
    judge = make_judge(oven, chest, open_door())
    oven.s[:], chest.s[:] = [0.2, 0.01], [0.3]
    assert judge.positions == {DOOR: 0.0, BUTTON: 0.0, DRAWER: 0.0}
    judge.observe()
    assert judge.positions == {DOOR: 0.2, BUTTON: 0.01, DRAWER: 0.3}
    judge.act_on(DRAWER, 0.25)
    assert judge.positions == {DOOR: 0.2, BUTTON: 0.01, DRAWER: 0.25}


def test_the_settling_period_states_the_limits_of_the_joints_that_were_acted_on(oven, chest):
    judge = make_judge(oven, chest, open_door())
    assert judge.settle_entry(4, 9) == {
        "frame_start": 4,
        "frame_end": 9,
        "max_change": MAX_SETTLE_CHANGE_RAD,
        "max_changes": {"oven.0": MAX_SETTLE_CHANGE_RAD},
    }
    judge.act_on(DRAWER, 0.0)
    assert judge.settle_entry(4, 9) == {
        "frame_start": 4,
        "frame_end": 9,
        "max_change": MAX_SETTLE_CHANGE_M,
        "max_changes": {"chest.0": MAX_SETTLE_CHANGE_M, "oven.0": MAX_SETTLE_CHANGE_RAD},
    }


def test_a_part_that_moves_little_stands_still_within_a_tenth_of_its_range(oven):
    panel = FakeObject({"drawer": "slider"}, closed=0.0, opened=0.003, moves_little=True)
    judge = make_judge(oven, panel, open_door())
    judge.act_on(DRAWER, 0.0)
    assert judge.max_changes()["chest.0"] == pytest.approx(0.0003)
    observe(judge, panel, 0, 0.0, 0.0002)
    assert "'drawer'" not in str(judge.failures_since(0))
    observe(judge, panel, 0, 0.0004)
    assert "'drawer' of 'chest' moved by 0.0004" in str(judge.failures_since(0))


def test_a_goal_that_holds_from_the_first_frame_to_the_last_has_no_failure(oven, chest):
    judge = make_judge(oven, chest, open_door())
    observe(judge, oven, 0, 0.3, 0.6, 0.61, 0.6)
    assert judge.failures_since(2) == []


def test_a_goal_that_does_not_hold_at_the_beginning_is_not_reached(oven, chest):
    judge = make_judge(oven, chest, open_door())
    observe(judge, oven, 0, 0.3, 0.49, 0.505)
    (failure,) = judge.failures_since(2)
    assert (failure.code, failure.time_s) == ("not_reached", 2 / HZ)
    assert failure.message == "Goal 'moved 0.5' of oven.door does not hold: 0.4900"
    assert failure.evidence == {"condition": judge.conditions[0], "reached": 0.49, "s": 0.49}


def test_a_goal_that_does_not_hold_at_the_end_is_unsettled(oven, chest):
    judge = make_judge(oven, chest, open_door())
    observe(judge, oven, 0, 0.3, 0.505, 0.49)
    (failure,) = judge.failures_since(2)
    assert (failure.code, failure.time_s) == ("unsettled", 3 / HZ)
    assert failure.evidence["s"] == 0.49


@pytest.mark.parametrize(("sign", "moves"), [(1, 1.01), (-1, 1.01), (1, 0.99), (-1, 0.99)])
def test_a_hinge_must_stay_within_its_limit_of_where_it_was(oven, chest, sign, moves):
    judge = make_judge(oven, chest, open_door(0.1))
    away = 0.6 + sign * moves * MAX_SETTLE_CHANGE_RAD
    observe(judge, oven, 0, 0.2, 0.6, 0.6, away, 0.6, 0.6)
    found = judge.failures_since(2)
    if moves < 1.0:
        assert found == []
        return
    (failure,) = found
    change = abs(away - 0.6)
    assert (failure.code, failure.time_s) == ("unsettled", 4 / HZ)
    assert failure.message == "'door' of 'oven' moved by 0.0202 while it should have stayed (allowed 0.02)"
    assert failure.evidence == {
        "object": "oven",
        "joint": "door",
        "change": pytest.approx(change),
        "allowed": MAX_SETTLE_CHANGE_RAD,
    }


def test_the_first_frame_and_the_largest_change_of_a_joint_that_moved_are_named(oven, chest):
    judge = make_judge(oven, chest, open_door(0.1))
    observe(judge, oven, 0, 0.6, 0.63, 0.7, 0.64)
    (failure,) = judge.failures_since(1)
    assert failure.time_s == 2 / HZ
    assert failure.evidence["change"] == pytest.approx(0.1)


def test_a_change_of_exactly_the_limit_is_allowed(oven, chest):
    judge = make_judge(oven, chest)
    judge.act_on(DOOR, 0.0)
    observe(judge, oven, 0, MAX_SETTLE_CHANGE_RAD)
    assert judge.failures_since(0) == []


@pytest.mark.parametrize(("moves", "n_failures"), [(0.9, 0), (1.1, 1)])
def test_a_slider_that_was_acted_on_has_the_limit_of_sliders(oven, chest, moves, n_failures):
    judge = make_judge(oven, chest)
    judge.act_on(DRAWER, 0.0)
    observe(judge, chest, 0, 0.2, 0.2 + moves * MAX_SETTLE_CHANGE_M)
    assert [failure.evidence["object"] for failure in judge.failures_since(1)] == ["chest"] * n_failures


def test_joints_that_were_not_acted_on_may_move(oven, chest):
    judge = make_judge(oven, chest, open_door())
    observe(judge, oven, 0, 0.6)
    observe(judge, oven, 1, 0.5)
    assert judge.failures_since(1) == []


def test_every_joint_that_moved_is_a_failure(oven, chest):
    judge = make_judge(oven, chest, open_door(0.5))
    judge.act_on(DRAWER, 0.0)
    oven.s[0], chest.s[0] = 0.3, 0.3
    judge.observe()
    found = [(failure.code, failure.evidence.get("object")) for failure in judge.failures_since(0)]
    assert found == [("not_reached", None), ("unsettled", None), ("unsettled", "chest"), ("unsettled", "oven")]


def condition(kind: str, value: float, **changes: float) -> dict[str, Any]:
    limits = {"s_closed": 0.1, "s_open": 1.7, **changes}
    return {"object": "oven", "part": "door", "joint_index": 0, "kind": kind, "value": value, **limits}


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


@pytest.mark.parametrize("kind", ["moved", "moved_fraction", "open_fraction", "within_closed"])
def test_a_condition_holds_at_exactly_its_value(kind):
    wanted = condition(kind, 0.5, s_closed=1.0, s_open=0.0)  # a joint that opens in its negative direction
    assert goal_failure("unsettled", [wanted], {DOOR: 0.5}, {DOOR: 0.0}, 0.0) is None


def test_the_first_condition_that_does_not_hold_is_named():
    conditions = [condition("moved", 0.1), condition("moved", 0.8), condition("moved", 0.9)]
    failure = goal_failure("unsettled", conditions, {DOOR: 0.5}, {DOOR: 0.0}, 0.0)
    assert failure is not None
    assert failure.evidence["condition"] == conditions[1]
    assert goal_failure("unsettled", [], {}, {}, 0.0) is None
