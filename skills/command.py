"""Manipulation commands: what a skill tells an arm, one after the other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType
from typing import Any

import numpy as np

from simcore.geometry import Pose

Array = np.ndarray


class ManipKind(Enum):
    """What a command does."""

    open_gripper = "open_gripper"
    """Moves to the target with the gripper open."""
    close_gripper = "close_gripper"
    """Moves to the target with the gripper closed."""
    attach_obj = "attach_obj"
    """From here on the planner moves an object with the hand; the simulation joins nothing."""
    detach_obj = "detach_obj"
    """The reverse of `attach_obj`."""
    update_specific = "update_specific"
    """From here on the named pairs of links may touch; no motion."""
    update_pose_cost_metric = "update_pose_cost_metric"
    """From here on components of the pose are held by the planner; no motion."""
    dummy_forward = "dummy_forward"
    """Raw joint and gripper targets."""
    in_plane_rotation = "in_plane_rotation"
    """Turns the hand about its approach axis."""
    joint_ctrl = "joint_ctrl"
    """Moves joints to targets."""


class Phase(Enum):
    """What an arm is doing; the number is what a record holds."""

    idle = 0
    transit = 1
    approach = 2
    grasp = 3
    follow = 4
    release = 5
    retreat = 6
    settle = 7


@dataclass(frozen=True)
class JointMotion:
    """A timed joint trajectory, one row a record frame."""

    q: Array
    """(T, n) joint targets [rad]."""
    s: Array | None = None
    """(T,) position that the part's joint should have [rad or m]; None where the part does not move."""
    gripper_m: float | None = None
    """Opening during the motion [m]; None for that of the command's kind."""

    def __post_init__(self) -> None:
        q = np.array(self.q, dtype=float)
        q.setflags(write=False)
        object.__setattr__(self, "q", q)
        if self.s is not None:
            s = np.array(self.s, dtype=float)
            s.setflags(write=False)
            object.__setattr__(self, "s", s)

    def __len__(self) -> int:
        return len(self.q)


@dataclass(frozen=True)
class ManipCommand:
    """One command: a kind, the pose to reach, and parameters."""

    kind: ManipKind
    T_base_ee: Pose
    """Target of the ee frame in the arm's base frame."""
    phase: Phase
    motion: JointMotion | None = None
    """The planned way to the target; None where nothing moves."""
    dwell_frames: int = 0
    """Record frames to stay at the target."""
    params: Mapping[str, Any] = field(default_factory=dict)
    """Parameters of the kind, such as `allowed_pairs`."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "params", MappingProxyType(dict(self.params)))

    def as_tuple(self) -> tuple[Array, Array, str, dict[str, Any]]:
        """`(p (3,), quat_wxyz (4,), name, params)` in the arm's base frame: the form that other systems use."""
        return (self.T_base_ee.p.copy(), self.T_base_ee.quat_wxyz, self.kind.value, dict(self.params))

    def __repr__(self) -> str:
        moves = f", {len(self.motion)} frames" if self.motion is not None else ""
        dwell = f", dwell {self.dwell_frames}" if self.dwell_frames else ""
        return f"ManipCommand({self.kind.value}, {self.phase.name}{moves}{dwell})"
