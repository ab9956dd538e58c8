"""The goal of a task: conditions on joints that must hold, and last while the scene settles.

It is part of the rule of success in `unlatch.simcore.recording.success_rules`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from unlatch.configs.schema import EpisodeCfg
from unlatch.objects.scene_object import SceneObject
from unlatch.simcore.recording.success_rules import MAX_SETTLE_CHANGE_M, MAX_SETTLE_CHANGE_RAD
from unlatch.skills.contract.failure import Failure
from unlatch.tasks.task import TaskCfg

Joint = tuple[str, int]
"""(object, index of the joint in its arrays)."""


class GoalJudge:
    """Follows the joints of all objects from frame to frame and judges the goal of the task."""

    def __init__(self, cfg: EpisodeCfg, objects: Mapping[str, SceneObject]) -> None:
        """Stores the joint positions at episode start; the state of the objects must have been read."""
        self.conditions = goal_conditions(cfg.task, objects)
        """The conditions, as the record has them."""
        self._hz = cfg.world.record_hz
        self._objects = objects
        self._acted_on: set[Joint] = {(item["object"], item["joint_index"]) for item in self.conditions}
        self._positions: list[dict[Joint, float]] = [self._read_positions()]

    @property
    def positions(self) -> dict[Joint, float]:
        """Joint positions of all objects in the last frame [rad or m]."""
        return self._positions[-1]

    def observe(self) -> None:
        """Reads the joints after a record frame."""
        self._positions.append(self._read_positions())

    def act_on(self, joint: Joint, s: float) -> None:
        """Adds a joint at position s [rad or m] that must stay where it is while the scene settles."""
        self._acted_on.add(joint)
        self._positions[-1][joint] = s

    def max_changes(self) -> dict[str, float]:
        """Returns how far each joint that was acted on may move while the scene settles [rad or m].

        The keys are `<object>.<index of the joint>`.
        """
        return {f"{name}.{index}": self._max_change((name, index)) for name, index in sorted(self._acted_on)}

    def settle_entry(self, frame_start: int, frame_end: int) -> dict[str, Any]:
        """Returns the settling period between two frames, as the record's `settle` holds it."""
        allowed = self.max_changes()
        return {
            "frame_start": frame_start,
            "frame_end": frame_end,
            "max_change": min(allowed.values()),
            "max_changes": allowed,
        }

    def failures_since(self, frame_start: int) -> list[Failure]:
        """Returns why the goal did not last since a frame: conditions that do not hold, joints that moved."""
        found = [
            self._broken_condition("not_reached", frame_start),
            self._broken_condition("unsettled", len(self._positions) - 1),
        ]
        moved = [self._moved_joint(joint, frame_start) for joint in sorted(self._acted_on)]
        return [failure for failure in (*found, *moved) if failure is not None]

    def _moved_joint(self, joint: Joint, frame_start: int) -> Failure | None:
        s = np.array([positions[joint] for positions in self._positions[frame_start:]])
        change, allowed = np.abs(s - s[0]), self._max_change(joint)
        above = np.flatnonzero(change > allowed)
        if not above.size:
            return None
        name = self._objects[joint[0]].joint_names[joint[1]]
        return Failure(
            "unsettled",
            f"'{name}' of '{joint[0]}' moved by {change.max():.4f} while it should have stayed (allowed {allowed:g})",
            (frame_start + int(above[0])) / self._hz,
            {"object": joint[0], "joint": name, "change": float(change.max()), "allowed": allowed},
        )

    def _max_change(self, joint: Joint) -> float:
        item = self._objects[joint[0]]
        is_slider = item.body.joint(item.joint_names[joint[1]]).prismatic
        return MAX_SETTLE_CHANGE_M if is_slider else MAX_SETTLE_CHANGE_RAD

    def _broken_condition(self, code: str, frame: int) -> Failure | None:
        return goal_failure(code, self.conditions, self._positions[frame], self._positions[0], frame / self._hz)

    def _read_positions(self) -> dict[Joint, float]:
        return {
            (name, index): float(s)
            for name, item in self._objects.items()
            for index, s in enumerate(item.body.joint_states()[0])
        }


def goal_conditions(task: TaskCfg, objects: Mapping[str, SceneObject]) -> list[dict[str, Any]]:
    """Returns the conditions of a task's goal as plain values, for the record."""
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
    """Returns the first condition that does not hold, or None.

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
