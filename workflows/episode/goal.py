"""The goal of a task: conditions on joints that must hold after settling."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from unlatch.objects.scene_object import SceneObject
from unlatch.skills.contract.failure import Failure
from unlatch.tasks.task import TaskCfg

Joint = tuple[str, int]
"""(object, index of the joint in its arrays)."""


def goal_conditions(task: TaskCfg, objects: Mapping[str, SceneObject]) -> list[dict[str, Any]]:
    """The conditions as plain values, for the record."""
    conditions = []
    for goal in task.goal:
        item = objects[goal.object]
        part = item.asset.articulation.part(goal.part)
        conditions.append(
            {
                "object": goal.object,
                "part": goal.part,
                "joint_index": item.joint_index(part.joint),
                "kind": goal.kind.value,
                "value": goal.value,
                "s_closed": part.openness.closed,
                "s_open": part.openness.open,
            }
        )
    return conditions


def goal_failure(
    code: str,
    conditions: list[dict[str, Any]],
    positions: Mapping[Joint, float],
    start: Mapping[Joint, float],
    time_s: float,
) -> Failure | None:
    """The first condition that does not hold, or None.

    Args:
        code: `not_reached` when settling begins, `unsettled` when it ends.
        conditions: From `goal_conditions`.
        positions: Joint positions that are judged, by (object, joint index) [rad or m].
        start: Joint positions at episode start [rad or m].
        time_s: Simulated time of those positions [s].
    """
    for condition in conditions:
        joint = (condition["object"], condition["joint_index"])
        s = positions[joint]
        moved = abs(s - start[joint])
        value = condition["value"]
        if condition["kind"] == "moved":
            reached, holds = moved, moved >= value
        elif condition["kind"] == "moved_fraction":
            reached = moved / abs(condition["s_open"] - condition["s_closed"])
            holds = reached >= value
        else:
            reached = abs(s - condition["s_closed"])
            holds = reached <= value
        if not holds:
            return Failure(
                code,
                f"Goal '{condition['kind']} {value:g}' of {joint[0]}.{condition['part']} does not hold: {reached:.4f}",
                time_s,
                {"condition": condition, "reached": reached, "s": s},
            )
    return None
