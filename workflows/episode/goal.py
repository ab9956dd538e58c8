"""The goal of a task: conditions on joints and free objects that must hold, and last while the scene settles.

It is part of the rule of success in `unlatch.simcore.recording.success_rules`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from unlatch.configs.schema import EpisodeCfg
from unlatch.objects.carrying.conditions import ObjectPoses
from unlatch.objects.scene_object import SceneObject
from unlatch.skills.contract.failure import Failure
from unlatch.workflows.episode.criteria import goal_conditions, settle_limit, settle_limits

Joint = tuple[str, int]
"""(object, index of the joint in its arrays)."""


class GoalJudge:
    """Follows the joints of all objects, and the free objects, from frame to frame and judges the goal of the task."""

    def __init__(
        self,
        cfg: EpisodeCfg,
        objects: Mapping[str, SceneObject],
        read_poses: Callable[[], ObjectPoses] = lambda: ObjectPoses({}, {}),
    ) -> None:
        """Stores the joint positions and poses at episode start; the state of the objects must have been read.

        `read_poses` returns where free objects and regions are now.
        """
        self._assets = {name: item.asset for name, item in objects.items()}
        self.conditions = goal_conditions(cfg.task, self._assets)
        """The conditions, as the record has them."""
        self._hz = cfg.world.record_hz
        self._read_poses = read_poses
        self._objects = objects
        self._limits: dict[tuple[str, int | None], float] = {}
        """How far what was acted on may move while the scene settles; see `settle_limits`."""
        for item in self.conditions:
            self._must_rest(item["object"], item.get("joint_index"))
        self._positions: list[dict[Joint, float]] = [self._read_positions()]
        self._poses: list[ObjectPoses] = [read_poses()]

    @property
    def positions(self) -> dict[Joint, float]:
        """Joint positions of all objects in the last frame [rad or m]."""
        return self._positions[-1]

    @property
    def poses(self) -> ObjectPoses:
        """Where the free objects and regions are in the last frame."""
        return self._poses[-1]

    def last_step(self, name: str) -> float:
        """Returns how far a free object moved in the last frame [m]."""
        before, now = (poses.objects[name].p for poses in self._poses[-2:])
        return float(np.linalg.norm(now - before))

    def observe(self) -> None:
        """Reads joints and poses after a record frame."""
        self._positions.append(self._read_positions())
        self._poses.append(self._read_poses())

    def carry(self, name: str) -> None:
        """Adds a free object that must stay where it is while the scene settles."""
        self._must_rest(name, None)

    def act_on(self, joint: Joint, s: float) -> None:
        """Adds a joint at position s [rad or m] that must stay where it is while the scene settles."""
        self._must_rest(*joint)
        self._positions[-1][joint] = s

    def _must_rest(self, name: str, joint_index: int | None) -> None:
        self._limits[name, joint_index] = settle_limit(self._assets[name], joint_index)

    def max_changes(self) -> dict[str, float]:
        """Returns how far each joint or free object that was acted on may move while the scene settles [rad or m]."""
        return settle_limits(self._assets, self._limits)

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
        things = sorted(self._limits, key=lambda thing: (thing[1] is None, thing))  # joints first
        moved = [self._moved(name, joint_index, frame_start) for name, joint_index in things]
        return [failure for failure in (*found, *moved) if failure is not None]

    def _moved(self, name: str, joint_index: int | None, frame_start: int) -> Failure | None:
        """Returns that a joint, or with None a free object, moved too far since a frame; None if it stayed."""
        allowed = self._limits[name, joint_index]
        if joint_index is None:
            p = np.array([poses.objects[name].p for poses in self._poses[frame_start:]])
            change = np.linalg.norm(p - p[0], axis=1)
            joint, what = {}, f"'{name}' moved by {1e3 * change.max():.1f} mm"
            limit = f"{1e3 * allowed:g} mm"
        else:
            s = np.array([positions[name, joint_index] for positions in self._positions[frame_start:]])
            change = np.abs(s - s[0])
            joint = {"joint": self._objects[name].joint_names[joint_index]}
            what, limit = f"'{joint['joint']}' of '{name}' moved by {change.max():.4f}", f"{allowed:g}"
        above = np.flatnonzero(change > allowed)
        if not above.size:
            return None
        return Failure(
            "unsettled",
            f"{what} while it should have stayed (allowed {limit})",
            (frame_start + int(above[0])) / self._hz,
            {"object": name, **joint, "change": float(change.max()), "allowed": allowed},
        )

    def _broken_condition(self, code: str, frame: int) -> Failure | None:
        time_s = frame / self._hz
        joints = [item for item in self.conditions if "joint_index" in item]
        found = goal_failure(code, joints, self._positions[frame], self._positions[0], time_s)
        others = [item for item in self.conditions if "joint_index" not in item]
        return found or object_failure(code, others, self._poses[frame], self._poses[0], time_s)

    def _read_positions(self) -> dict[Joint, float]:
        return {
            (name, index): float(s)
            for name, item in self._objects.items()
            for index, s in enumerate(item.body.joint_states()[0])
        }


def object_failure(
    code: str, conditions: Sequence[Mapping[str, Any]], poses: ObjectPoses, start: ObjectPoses, time_s: float
) -> Failure | None:
    """Returns the first condition on a free object that does not hold, or None; see `goal_failure`."""
    for condition in conditions:
        reached, holds = poses.measure(condition, start)
        if not holds:
            place = "" if condition.get("of") is None else f" {condition['of']}.{condition['region']}"
            return Failure(
                code,
                f"Condition '{condition['kind']}{place}' of {condition['object']} does not hold: {reached:.4f}, "
                f"limit {condition['value']:g}",
                time_s,
                {"condition": {k: v for k, v in condition.items() if k != "outline"}, "reached": reached},
            )
    return None


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
        elif condition["kind"] == "open_fraction":
            reached = (s - condition["s_closed"]) / (condition["s_open"] - condition["s_closed"])
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
