"""Manipulation commands: the steps of a skill for an arm."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from types import MappingProxyType
from typing import Any

import numpy as np

from unlatch.simcore.errors import SkillError
from unlatch.simcore.geometry import Pose
from unlatch.solver.kinematics import frozen_array

Array = np.ndarray


class ManipKind(Enum):
    """Kind of a command: it moves the arm by its motion, or it sets a parameter of the planner and moves nothing."""

    open_gripper = "open_gripper"
    """Moves to the target, or dwells there, with the gripper open."""
    close_gripper = "close_gripper"
    """Moves to the target, or dwells there, with the gripper closed."""
    attach_obj = "attach_obj"
    """From here on a planner moves `object` with the hand; the simulation joins nothing."""
    detach_obj = "detach_obj"
    """The reverse of `attach_obj`."""
    update_specific = "update_specific"
    """From here on `allowed_pairs` of links, and no others, may touch for a planner."""
    update_pose_cost_metric = "update_pose_cost_metric"
    """From here on a planner holds components of the pose: `hold_vec_weight`, about x, y, z, then along x, y, z."""
    dummy_forward = "dummy_forward"
    """Raw joint and gripper targets: those of its motion, as given."""
    in_plane_rotation = "in_plane_rotation"
    """Turns the hand about its approach axis by its motion; the gripper stays as it is."""
    joint_ctrl = "joint_ctrl"
    """Moves joints by its motion; the gripper stays as it is."""


PLANNER_PARAMETER = {
    ManipKind.attach_obj: "object",
    ManipKind.detach_obj: "object",
    ManipKind.update_specific: "allowed_pairs",
    ManipKind.update_pose_cost_metric: "hold_vec_weight",
}
"""Kinds that only set a parameter of the planner, and the name of that parameter."""

_MUST_MOVE = frozenset({ManipKind.dummy_forward, ManipKind.in_plane_rotation, ManipKind.joint_ctrl})


class Phase(Enum):
    """What an arm is doing; a record holds the number."""

    idle = 0
    transit = 1
    approach = 2
    grasp = 3
    follow = 4
    release = 5
    retreat = 6
    settle = 7
    hold = 8


@dataclass(frozen=True)
class JointMotion:
    """A timed joint trajectory, one row a record frame."""

    q: Array
    """(T, n) joint targets [rad]."""
    s: Array | None = None
    """(T,) position that the part's joint should have [rad or m]; None where the part does not move."""
    gripper_m: float | Array | None = None
    """Opening during the motion [m], one for all rows or (T,); None: as the command's kind says."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "q", frozen_array(self.q))
        if self.gripper_m is not None and np.ndim(self.gripper_m) > 0:
            widths_m = frozen_array(self.gripper_m)
            if widths_m.shape != (len(self.q),):
                expected = f"one number or {len(self.q)}, one for each row of q"
                raise SkillError(f"gripper_m of a JointMotion has shape {widths_m.shape}. Expected {expected}.")
            object.__setattr__(self, "gripper_m", widths_m)
        if self.s is not None:
            object.__setattr__(self, "s", frozen_array(self.s))

    def __len__(self) -> int:
        return len(self.q)

    def begun_at(self, q: Array) -> JointMotion:
        """Returns the motion with its start moved to joints (n,) [rad] and its end kept; a single row is unchanged."""
        left = np.linspace(1.0, 0.0, len(self.q))[:, None] if len(self.q) > 1 else np.zeros((1, 1))
        return replace(self, q=self.q + left * (q - self.q[:1]))


@dataclass(frozen=True)
class ManipCommand:
    """One command: a kind, the pose to reach, and parameters."""

    kind: ManipKind
    T_base_ee: Pose
    """Target of the ee frame in the arm's base frame."""
    phase: Phase
    motion: JointMotion | None = None
    """The planned motion to the target; None if nothing moves."""
    dwell_frames: int = 0
    """Record frames to stay at the target."""
    params: Mapping[str, Any] = field(default_factory=dict)
    """Parameters of the kind, such as `allowed_pairs`."""

    def __post_init__(self) -> None:
        """Checks that the command can be carried out.

        Raises:
            SkillError: The kind lacks a motion or a parameter, or has one that it cannot use.
        """
        object.__setattr__(self, "params", MappingProxyType(dict(self.params)))
        parameter = PLANNER_PARAMETER.get(self.kind)
        if self.kind in _MUST_MOVE and not (self.motion is not None and len(self.motion)):
            raise SkillError(f"Command '{self.kind.value}' has no motion. Give it the JointMotion to carry out.")
        if parameter is not None and (self.motion is not None or self.dwell_frames):
            raise SkillError(
                f"Command '{self.kind.value}' tells a planner something and takes no time, but has a motion or "
                f"{self.dwell_frames} frames to dwell. Put those into a command of their own."
            )
        if parameter is not None and parameter not in self.params:
            raise SkillError(
                f"Command '{self.kind.value}' lacks parameter '{parameter}'; got {sorted(self.params)}. Add it.",
                parameter=parameter,
            )

    @property
    def frames(self) -> int:
        """Record frames of its motion and its dwell."""
        return (len(self.motion) if self.motion is not None else 0) + self.dwell_frames

    def as_tuple(self) -> tuple[Array, Array, str, dict[str, Any]]:
        """`(p (3,), quat_wxyz (4,), name, params)` in the arm's base frame: the form that other systems use."""
        return (self.T_base_ee.p.copy(), self.T_base_ee.quat_wxyz, self.kind.value, dict(self.params))

    def __repr__(self) -> str:
        moves = f", {len(self.motion)} frames" if self.motion is not None else ""
        dwell = f", dwell {self.dwell_frames}" if self.dwell_frames else ""
        return f"ManipCommand({self.kind.value}, {self.phase.name}{moves}{dwell})"
