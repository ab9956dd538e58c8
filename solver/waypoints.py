"""The conditions on the waypoints of a path, as rows of the compiled program: to lead a part, or to follow poses."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from unlatch.simcore.geometry import Pose, unit
from unlatch.solver.parameter_layout import POINT_WEIGHT, RowCounts
from unlatch.solver.program import Program, program_of
from unlatch.solver.scene import ArmModel, Array, PlanningScene, Slip, SlipMode, bar_axis, slide_line
from unlatch.solver.solution import angles_between

_NEARLY_PARALLEL = 1e-3


@dataclass(frozen=True)
class Waypoints:
    """What W waypoints must meet, the first of them the start; base frame."""

    x_point: Array
    """(3,) point of the hand, ee frame [m]."""
    points: Array
    """(W, 3) target positions of that point [m]."""
    x_held: Array
    """(3,) direction of the hand, ee frame."""
    held: Array
    """(W, 3) directions to which `x_held` keeps an angle."""
    held_angle: float
    """Angle between `x_held` and `held` [rad]."""
    x_approach: Array
    """(3,) approach axis, ee frame."""
    approach: Array
    """(W, 3) directions near which the approach axis must be."""
    cone: float
    """Largest angle between `x_approach` and `approach` [rad]."""
    soft_approach: Array | None = None
    """(W, 3) preferred approach axis, that of a fixed grasp; None = no preference."""
    stiffness: float = 0.0
    """Weight of that preference."""
    held_is_soft: bool = False
    """Whether `held` is only preferred, with the same weight."""
    line: Array | None = None
    """(W, 3) unit directions along which the point may slide; None = none."""
    slide_m: float = 0.0
    """Largest slide to either side [m]."""

    def point_errors(self, R: Array, p: Array) -> Array:
        """Returns the (W,) distance of the point from its target, at tool rotations (W, 3, 3), positions (W, 3) [m]."""
        error = R @ self.x_point + p - self.points
        if self.line is not None:
            along = np.einsum("wi,wi->w", error, self.line)
            error = error - np.clip(along, -self.slide_m, self.slide_m)[:, None] * self.line
        return np.abs(error).max(axis=1)

    def angle_errors(self, R: Array) -> Array:
        """Returns the (W,) largest error of a direction at tool rotations (W, 3, 3) [rad]."""
        error = np.maximum(0.0, angles_between(R @ self.x_approach, self.approach) - self.cone)
        if not self.held_is_soft:
            error = np.maximum(error, np.abs(angles_between(R @ self.x_held, self.held) - self.held_angle))
        return error

    def program(self, arm: ArmModel) -> Program:
        """Returns the compiled program of one waypoint."""
        at_angle = self.held_angle > _NEARLY_PARALLEL
        row_counts = RowCounts(
            points=1 if self.line is None else 0,
            cones=2 if at_angle else 3,
            angles=1 if at_angle else 0,
            planes=0 if self.line is None else 3,
        )
        return program_of(arm.kinematics, row_counts)

    def pack(self, arm: ArmModel) -> Array:
        """Returns the problems of the waypoints after the first, (W - 1, n_parameters); see `ParameterLayout.pack`."""
        program, count = self.program(arm), len(self.points) - 1
        soft = self.soft_approach if self.soft_approach is not None else self.approach
        radius = 2.0 * math.sin(0.5 * min(math.pi, 0.97 * self.cone))
        blocks: list[tuple[Array, Array, Any]] = []
        if self.line is None:
            blocks.append((self.x_point, self.points, [0.0, -POINT_WEIGHT]))
        blocks += [
            (self.x_approach, self.approach, [radius, 1.0]),
            (self.x_approach, soft, [0.0, 0.0 if self.soft_approach is None else -self.stiffness]),
        ]
        if program.row_counts.angles:
            cosine = math.cos(self.held_angle)
            blocks.append((self.x_held, self.held, [cosine, cosine, 1.0]))
        else:
            blocks.append((self.x_held, self.held, [0.0, -self.stiffness if self.held_is_soft else 1.0]))
        if self.line is not None:
            blocks += self._planes(self.line)
        empty = program.layout.pack([], lower=arm.q_lower, upper=arm.q_upper, box=arm.workspace)
        out = np.tile(empty, (count, 1))
        cursor = 0
        for x, directions, numbers in blocks:
            numbers = np.asarray(numbers)
            end = cursor + 6 + numbers.shape[-1]
            out[:, cursor : cursor + 3], out[:, cursor + 3 : cursor + 6] = x, directions[1:]
            out[:, cursor + 6 : end] = numbers
            cursor = end
        return out

    def _planes(self, line: Array) -> list[tuple[Array, Array, Array]]:
        """Returns the rows that keep the point on a piece of a line: two planes through the line, one across it."""
        first = np.cross(line, np.eye(3)[int(np.argmin(np.abs(line[0])))])
        first /= np.linalg.norm(first, axis=1)[:, None]
        blocks = []
        for normal, half in ((first, 0.0), (np.cross(line, first), 0.0), (line, 0.97 * self.slide_m)):
            offset = np.einsum("wi,wi->w", normal, self.points)[1:]
            rest = np.broadcast_to([half, -POINT_WEIGHT], (len(offset), 2))
            blocks.append((self.x_point, normal, np.column_stack([offset, rest])))
        return blocks


@dataclass(frozen=True)
class Grasp:
    """How the hand leads the part: the contact point and its freedom."""

    slip: Slip
    """Freedom of the hand."""
    inward: Array
    """(3,) inward direction of the part at the scene's joint position, base frame."""
    contact_ee: Array
    """(3,) the point of the hand that stays on the part, ee frame [m]."""


def part_motions(scene: PlanningScene, s_values: Array) -> tuple[Array, Array]:
    """Returns (W, 3, 3) rotations and (W, 3) shifts [m] of the part at joint positions (W,), base frame."""
    moves = [scene.joint.motion(float(s) - scene.joint.position) for s in s_values]
    return np.array([R for R, _ in moves]), np.array([t for _, t in moves])


def part_waypoints(
    arm: ArmModel, scene: PlanningScene, R0: Array, p0: Array, turns: Array, shifts: Array, grasp: Grasp
) -> Waypoints:
    """Returns the waypoints of a part that one grasp leads, from the scene at the start; all in the base frame.

    At the goal the ee is at R0 (3, 3), p0 (3,) [m]. On its way the part turns by (W, 3, 3) and shifts by (W, 3) [m].
    """
    slip = grasp.slip
    x_approach, side = arm.approach_axis(), arm.side_axis()
    fixed_approach = turns @ (R0 @ x_approach)
    bar = bar_axis(scene)
    bar_base = R0 @ np.cross(side, x_approach) if bar is None else bar
    x_held, held_base, angle = side, R0 @ side, 0.0
    if slip.mode is SlipMode.bar:
        x_held, held_base = R0.T @ bar_base, bar_base
    elif slip.mode is SlipMode.gimbal:
        held_base, angle = bar_base, float(angles_between(R0 @ side, bar_base))
    fixed = slip.mode is SlipMode.fixed
    line = slide_line(scene, slip, grasp.inward)
    soft = None if fixed or slip.stiffness <= 0.0 else fixed_approach
    return Waypoints(
        x_point=grasp.contact_ee,
        points=turns @ (R0 @ grasp.contact_ee + p0) + shifts,
        x_held=x_held,
        held=turns @ held_base,
        held_angle=angle,
        held_is_soft=slip.mode is SlipMode.cone,
        x_approach=x_approach,
        approach=fixed_approach if fixed else turns @ grasp.inward,
        cone=0.0 if fixed else slip.limit_rad,
        soft_approach=soft,
        stiffness=slip.stiffness,
        line=None if line is None else turns @ line,
        slide_m=0.0 if line is None else slip.slide_m,
    )


def pose_waypoints(arm: ArmModel, poses: Sequence[Pose], *, tilt_rad: float) -> Waypoints:
    """Returns the waypoints of ee poses, base frame.

    The approach axis tilts by at most `tilt_rad`; the line between the fingertips keeps its direction.
    """
    head = arm.tool_keypoints.get("tool_head", np.zeros(3))
    axis, side = arm.approach_axis(), arm.side_axis()
    return Waypoints(
        x_point=head,
        points=np.array([pose @ head for pose in poses]),
        x_held=side,
        held=np.array([pose.R @ side for pose in poses]),
        held_angle=0.0,
        x_approach=axis,
        approach=np.array([pose.R @ axis for pose in poses]),
        cone=tilt_rad,
    )


def perpendicular_pair(direction: Array) -> Array:
    """Returns (2, 3) unit vectors at right angles to a unit vector (3,) and to each other."""
    first = unit(np.cross(direction, np.eye(3)[int(np.argmin(np.abs(direction)))]))
    return np.array([first, np.cross(direction, first)])


def interpolate_rows(x: Array, x_rows: Array, rows: Array) -> Array:
    """Returns (K, n) values at places x (K,), interpolated between rows (W, n) at places x_rows (W,) in any order."""
    order = np.argsort(x_rows)
    return np.column_stack([np.interp(x, x_rows[order], column[order]) for column in rows.T])
