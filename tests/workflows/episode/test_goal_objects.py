"""The judge of the goal where a condition speaks of a free object: what holds, what moved, and what is said if not."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from unlatch.objects.carrying_conditions import ObjectPoses
from unlatch.simcore.geometry import Pose
from unlatch.simcore.recording.success_rules import MAX_SETTLE_CHANGE_M
from unlatch.tasks.task import GoalCfg, GoalKind
from unlatch.workflows.episode.criteria import goal_conditions
from unlatch.workflows.episode.judge import GoalJudge, object_failure

HZ = 30.0
LIFTED = {"object": "can", "kind": "lifted", "value": 0.1}
INSIDE = {
    "object": "can",
    "kind": "inside",
    "value": 0.0,
    "of": "drawer",
    "region": "interior",
    "bounds": [[-0.02, -0.02, 0.0], [0.02, 0.02, 0.1]],
    "size": [0.3, 0.3, 0.2],
    "open_above": False,
}


class Scene:
    """A can that is set by hand, and the judge that reads it."""

    def __init__(self, *conditions: dict[str, Any]) -> None:
        self.can = [0.0, 0.0, 0.0]
        goals = [SimpleNamespace(condition=SimpleNamespace(describe=lambda _, item=item: item)) for item in conditions]
        cfg: Any = SimpleNamespace(task=SimpleNamespace(goal=goals), world=SimpleNamespace(record_hz=HZ))
        can: Any = SimpleNamespace(asset=None, body=SimpleNamespace(joint_states=lambda: (np.zeros(0), None)))
        self.judge = GoalJudge(cfg, {"can": can}, self.poses)

    def poses(self) -> ObjectPoses:
        region = Pose(np.eye(3), [1.0, 0.0, 0.0])
        can = Pose(np.eye(3), self.can)
        return ObjectPoses({"can": can}, {("drawer", "interior"): region})

    def move(self, *places: tuple[float, float, float]) -> None:
        """Puts the can somewhere in each of the next frames."""
        for place in places:
            self.can = list(place)
            self.judge.observe()


def test_evidence_leaves_out_the_outline_by_which_a_condition_is_measured():
    outlined = {**INSIDE, "outline": [[0.0, 0.0, 0.05, 0.03]]}
    can = ObjectPoses({"can": Pose(np.eye(3), [1.2, 0.0, 0.0])}, {("drawer", "interior"): Pose(np.eye(3), [1.0, 0, 0])})
    failure = object_failure("not_reached", [outlined], can, can, 0.0)
    assert failure is not None
    assert failure.evidence == {"condition": INSIDE, "reached": pytest.approx(0.08)}


def test_the_condition_of_a_task_has_the_sizes_that_its_judgement_needs():
    task: Any = SimpleNamespace(goal=[GoalCfg(object="can", kind=GoalKind.upright, value=0.2)])
    articulation = SimpleNamespace(up_axis=np.array([0.0, 1.0, 0.0]))
    assets: Any = {"can": SimpleNamespace(free=True, articulation=articulation)}
    upright = {"object": "can", "kind": "upright", "value": 0.2, "up_axis": [0.0, 1.0, 0.0]}
    assert goal_conditions(task, assets) == [upright]


def test_a_can_that_is_lifted_and_stays_has_no_failure():
    scene = Scene(LIFTED)
    scene.move((0, 0, 0.05), (0, 0, 0.1001), (0, 0, 0.1001))
    assert scene.judge.failures_since(2) == []


def test_a_condition_that_does_not_hold_at_the_beginning_is_not_reached():
    scene = Scene(LIFTED)
    scene.move((0, 0, 0.05), (0, 0, 0.0995), (0, 0, 0.1005))
    (failure,) = scene.judge.failures_since(2)
    assert (failure.code, failure.time_s) == ("not_reached", 2 / HZ)
    assert failure.message == "Condition 'lifted' of can does not hold: 0.0995, limit 0.1"
    assert failure.evidence == {"condition": LIFTED, "reached": pytest.approx(0.0995)}


def test_a_condition_that_does_not_hold_at_the_end_is_unsettled():
    scene = Scene(LIFTED)
    scene.move((0, 0, 0.1004), (0, 0, 0.1004), (0, 0, 0.0999))
    (failure,) = scene.judge.failures_since(2)
    assert (failure.code, failure.time_s) == ("unsettled", 3 / HZ)


def test_the_region_of_a_condition_is_named_and_each_condition_counts():
    scene = Scene(LIFTED, INSIDE)
    scene.move((0, 0, 0.2), (0, 0, 0.2))
    begin, end = scene.judge.failures_since(1)
    assert (begin.code, end.code) == ("not_reached", "unsettled")
    assert begin.message == "Condition 'inside drawer.interior' of can does not hold: 0.8700, limit 0"
    scene = Scene(INSIDE)
    scene.move((1, 0, 0.05), (1, 0, 0.05))
    assert scene.judge.failures_since(1) == []


def test_a_can_that_moves_while_it_should_stay_is_unsettled():
    scene = Scene(LIFTED)
    step = 40 * MAX_SETTLE_CHANGE_M
    scene.move((0, 0, 0.3), (0, 0, 0.3), (step, 0, 0.3), (2 * step, 0, 0.3), (step, 0, 0.3))
    (failure,) = scene.judge.failures_since(2)
    assert (failure.code, failure.time_s) == ("unsettled", 3 / HZ)
    allowed = f"{1e3 * MAX_SETTLE_CHANGE_M:g} mm"
    assert failure.message == (f"'can' moved by {2e3 * step:.1f} mm while it should have stayed (allowed {allowed})")
    assert failure.evidence == {"object": "can", "change": pytest.approx(2 * step), "allowed": MAX_SETTLE_CHANGE_M}


def test_a_can_may_move_by_the_limit_and_before_it_settles():
    scene = Scene(LIFTED)
    scene.move((5, 0, 0.3), (0, 0, 0.3), (MAX_SETTLE_CHANGE_M, 0, 0.3))
    assert scene.judge.failures_since(2) == []


def test_an_object_that_a_skill_carries_must_stay_too():
    scene = Scene()
    assert scene.judge.failures_since(0) == []
    scene.judge.carry("can")
    scene.move((0, 0.0, 0), (0, 2 * MAX_SETTLE_CHANGE_M, 0))
    (failure,) = scene.judge.failures_since(1)
    assert failure.evidence["object"] == "can"
    assert scene.judge.max_changes() == {"can.root": MAX_SETTLE_CHANGE_M}
    assert scene.judge.settle_entry(1, 2)["max_change"] == MAX_SETTLE_CHANGE_M
    assert scene.judge.poses.objects["can"].p[1] == 2 * MAX_SETTLE_CHANGE_M


def test_the_first_condition_that_does_not_hold_is_said():
    scene = Scene()
    start = scene.poses()
    scene.can = [0.0, 0.0, 0.1]
    upright = {"object": "can", "kind": "upright", "value": 0.1, "up_axis": [0, 0, 1]}
    lying, higher = {**upright, "up_axis": [1, 0, 0]}, {**LIFTED, "value": 0.3}
    assert object_failure("slipped", [LIFTED, upright], scene.poses(), start, 2.0) is None
    failure = object_failure("slipped", [upright, lying, higher], scene.poses(), start, 2.0)
    assert failure is not None
    assert (failure.code, failure.time_s) == ("slipped", 2.0)
    assert failure.message == f"Condition 'upright' of can does not hold: {np.pi / 2:.4f}, limit 0.1"
