"""The articulated path: joints of the arm while the part moves along its joint in the hand.

The grasp is described by what stays fixed to the part (`Slip`). Paths are followed waypoint by waypoint for several
goals at once; a whole-path program is the rescue where that loses its way.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np

from simcore.geometry import Pose, unit
from solver.path_rescue import RescueProblem, rescue_program_of
from solver.program import POINT_WEIGHT, Program, Schedule, Structure, program_of
from solver.scene import ArmModel, PlanningScene
from solver.verify import active_bounds, angles, box_excess, limit_margin

Array = np.ndarray

_TRACK = Schedule(((1e4, 0.02, 1.0, 0.3), (1e4, 0.02, 1.0, 0.3), (1e4, 1e-3, 0.0, 0.2), (1e4, 1e-3, 0.0, 0.1)))
_RESTORE = Schedule(((1e4, 1e-2, 0.0, 0.2),) * 5)
_CENTRING = 0.02
_NEARLY_PARALLEL = 1e-3
POINT_TOLERANCE_M = 2e-4
"""What the contact point may be off its place on the part, on a waypoint [m]."""
ANGLE_TOLERANCE_RAD = 2e-3
"""What a held direction may be off, on a waypoint [rad]."""


class SlipMode(Enum):
    """What the hand may do about the contact point while the part moves."""

    fixed = "fixed"
    """Nothing: the hand moves with the part."""
    bar = "bar"
    """Turn about the bar (the annotation's contact axis), as on a round bar."""
    side = "side"
    """Turn about the line between the fingertips, as on a panel."""
    gimbal = "gimbal"
    """Both: the fingertip line stays at right angles to the bar."""
    cone = "cone"
    """Any rotation with the approach axis inside the cone, as a pushing fingertip."""


@dataclass(frozen=True)
class Slip:
    """How the hand may turn about the contact, and how far."""

    mode: SlipMode = SlipMode.fixed
    """Which rotations are free."""
    limit_rad: float = math.radians(75.0)
    """Largest angle between the approach axis and the inward direction of the part [rad]; not used by `fixed`."""
    stiffness: float = 0.05
    """Weight of keeping the hand still relative to the part, beside 1 for a squared joint step."""


@dataclass(frozen=True)
class PathSolution:
    """Joints along the part's motion, or how far it went."""

    found: bool
    q: Array
    """(W, n) joints, the first row the goal [rad]."""
    s: Array
    """(W,) joint positions of the part [rad or m]."""
    reached_s: float
    """Position of the part up to which the path holds [rad or m]."""
    reason: str
    """Why it ends there; empty where it was found."""
    margin_rad: float
    """Smallest distance of any joint to its limit on the part that holds [rad]."""
    length_rad: float
    """Sum of the joint steps, as norms [rad]."""


def bar_axis(scene: PlanningScene) -> Array | None:
    """(3,) direction of the bar or edge that is held, base frame: the annotation's contact axis; None without one."""
    return scene.axes.get("link0_contact_axis", scene.axes.get("object_link0_contact_axis"))


def inward_direction(scene: PlanningScene, fallback: Array) -> Array:
    """The direction into the front of the part, base frame.

    `cross(tail - head, contact_axis)` is the outward normal by the convention of the annotation.

    Args:
        scene: The object.
        fallback: (3,) used where the annotation lacks one of the three.
    """
    names = ("articulated_object_head", "articulated_object_tail")
    contact = bar_axis(scene)
    if contact is not None and all(name in scene.keypoints for name in names):
        normal = np.cross(scene.keypoints[names[1]] - scene.keypoints[names[0]], contact)
        if float(np.linalg.norm(normal)) > 1e-6:
            return -unit(normal)
    return unit(fallback)


class PathSolver:
    """Follows the part for one arm."""

    def __init__(
        self,
        arm: ArmModel,
        *,
        max_step_rad: float = 0.3,
        point_tolerance_m: float = POINT_TOLERANCE_M,
        angle_tolerance_rad: float = ANGLE_TOLERANCE_RAD,
    ) -> None:
        """Makes a solver.

        Args:
            arm: The arm.
            max_step_rad: Largest change of a joint between two waypoints [rad].
            point_tolerance_m: What the contact point may be off its place on the part [m].
            angle_tolerance_rad: What a held direction may be off [rad].
        """
        self.arm = arm
        self.max_step_rad = max_step_rad
        self.point_tolerance_m = point_tolerance_m
        self.angle_tolerance_rad = angle_tolerance_rad
        self.middle = 0.5 * (arm.q_lower + arm.q_upper)

    def follow(
        self, goals: Array, scene: PlanningScene, *, s_values: Array, slip: Slip, inward: Array, contact_ee: Array
    ) -> list[PathSolution]:
        """Follows the part from several goals.

        Args:
            goals: (C, n) joints at contact, at the scene's joint position [rad].
            scene: The object.
            s_values: (W,) positions of the part to go through, the first that of the scene [rad or m].
            slip: What the hand may do.
            inward: (3,) inward direction of the part at the scene's joint position, base frame.
            contact_ee: (3,) the point of the hand that stays on the part, ee frame [m].
        """
        R0, p0 = self.arm.kinematics.fk_batch(goals)
        turns, shifts = _motions(scene, s_values)
        asked = [self._on_part(scene, R0[c], p0[c], turns, shifts, slip, inward, contact_ee) for c in range(len(goals))]
        program = self._program(asked[0])
        parameters = np.stack([self._pack(rows, program) for rows in asked])
        tracked = program.track(goals, self.middle, parameters, _TRACK, centring=_CENTRING)
        q = np.concatenate([goals[:, None], tracked], axis=1)
        R, p = self.arm.kinematics.fk_batch(q.reshape(-1, self.arm.n_q))
        R, p = R.reshape(*q.shape[:2], 3, 3), p.reshape(*q.shape[:2], 3)
        return [self._judge(q[c], R[c], p[c], s_values, asked[c]) for c in range(len(goals))]

    def rescue(
        self,
        lost: PathSolution,
        scene: PlanningScene,
        *,
        s_values: Array,
        slip: Slip,
        inward: Array,
        contact_ee: Array,
    ) -> PathSolution:
        """Solves all waypoints at once from a path that was lost, then fills in the finer ones.

        Args:
            lost: A path of `follow` that was not found; its positions are the waypoints of the program.
            scene: The object.
            s_values: (W,) positions of the path that is wanted, the first that of the scene [rad or m].
            slip: What the hand may do.
            inward: (3,) inward direction of the part, base frame.
            contact_ee: (3,) the point of the hand that stays on the part, ee frame [m].
        """
        goal, coarse = lost.q[0], len(lost.s) - 1
        R0, p0 = self.arm.kinematics.fk_batch(goal[None])
        rows = self._on_part(scene, R0[0], p0[0], *_motions(scene, lost.s), slip, inward, contact_ee)
        held = None if rows.held_is_wish else math.cos(rows.held_angle)
        problem = RescueProblem(
            x_point=rows.x_point,
            points=rows.points[1:],
            x_held=rows.x_held,
            held=rows.held[1:],
            held_cosine=held,
            x_approach=rows.x_approach,
            approach=rows.approach[1:],
            cone_cosine=math.cos(0.97 * rows.cone) - (1e-6 if rows.cone == 0.0 else 0.0),
            soft=rows.approach[1:] if rows.soft_approach is None else rows.soft_approach[1:],
            stiffness=rows.stiffness,
        )
        solved = rescue_program_of(self.arm.kinematics, coarse).solve(
            problem,
            lost.q,
            lower=self.arm.q_lower,
            upper=self.arm.q_upper,
            box=self.arm.workspace,
            max_step=0.9 * self.max_step_rad * (len(s_values) - 1) / coarse,
        )
        if solved is None:
            return lost
        order = np.argsort(lost.s)
        guess = np.column_stack([np.interp(s_values, lost.s[order], solved[order, i]) for i in range(self.arm.n_q)])
        fine = self._on_part(scene, R0[0], p0[0], *_motions(scene, s_values), slip, inward, contact_ee)
        program = self._program(fine)
        restored = program.solve(guess[1:], guess[1:], self._pack(fine, program), _RESTORE)
        q = np.concatenate([goal[None], restored])
        R, p = self.arm.kinematics.fk_batch(q)
        return self._judge(q, R, p, s_values, fine)

    def through(self, start: Array, poses: Sequence[Pose], *, tilt_rad: float = 0.0) -> PathSolution:
        """Moves the ee through poses from a configuration.

        Args:
            start: (n,) joints at the first pose [rad].
            poses: Poses of the ee, base frame, the first that of `start`.
            tilt_rad: How far the approach axis may leave that of the poses; the fingertip line keeps its direction.

        Returns:
            Joints on the poses; `s` counts them.
        """
        if len(poses) == 1:  # a setting without such motions: the start is the whole path
            return PathSolution(True, start[None], np.zeros(1), 0.0, "", float(limit_margin(self.arm, start)), 0.0)
        head = self.arm.tool_keypoints.get("tool_head", np.zeros(3))
        axis, side = self.arm.approach_axis(), _side_axis(self.arm)
        rows = _Waypoints(
            x_point=head,
            points=np.array([pose @ head for pose in poses]),
            x_held=side,
            held=np.array([pose.R @ side for pose in poses]),
            held_angle=0.0,
            x_approach=axis,
            approach=np.array([pose.R @ axis for pose in poses]),
            cone=tilt_rad,
        )
        program = self._program(rows)
        parameters = self._pack(rows, program)[None]
        tracked = program.track(start[None], self.middle, parameters, _TRACK, centring=0.0)[0]
        q = np.concatenate([start[None], tracked])
        R, p = self.arm.kinematics.fk_batch(q)
        return self._judge(q, R, p, np.arange(len(poses), dtype=float), rows)

    def _on_part(
        self,
        scene: PlanningScene,
        R0: Array,
        p0: Array,
        turns: Array,
        shifts: Array,
        slip: Slip,
        inward: Array,
        contact_ee: Array,
    ) -> _Waypoints:
        """What one grasp asks of the waypoints."""
        x_approach, side = self.arm.approach_axis(), _side_axis(self.arm)
        fixed_approach = turns @ (R0 @ x_approach)
        bar = bar_axis(scene)
        bar_base = R0 @ np.cross(side, x_approach) if bar is None else bar
        x_held, held_base, angle = side, R0 @ side, 0.0
        if slip.mode is SlipMode.bar:
            x_held, held_base = R0.T @ bar_base, bar_base
        elif slip.mode is SlipMode.gimbal:
            held_base, angle = bar_base, float(angles(R0 @ side, bar_base))
        fixed = slip.mode is SlipMode.fixed
        soft = None if fixed or slip.stiffness <= 0.0 else fixed_approach
        return _Waypoints(
            x_point=contact_ee,
            points=turns @ (R0 @ contact_ee + p0) + shifts,
            x_held=x_held,
            held=turns @ held_base,
            held_angle=angle,
            held_is_wish=slip.mode is SlipMode.cone,
            x_approach=x_approach,
            approach=fixed_approach if fixed else turns @ inward,
            cone=0.0 if fixed else slip.limit_rad,
            soft_approach=soft,
            stiffness=slip.stiffness,
        )

    def _program(self, rows: _Waypoints) -> Program:
        at_angle = rows.held_angle > _NEARLY_PARALLEL
        return program_of(
            self.arm.kinematics,
            Structure(points=1, cones=2 if at_angle else 3, angles=1 if at_angle else 0, planes=0),
        )

    def _pack(self, rows: _Waypoints, program: Program) -> Array:
        """(W - 1, n_parameters) problems of the waypoints after the first; the layout is that of `Program.pack`."""
        arm, count = self.arm, len(rows.points) - 1
        soft = rows.soft_approach if rows.soft_approach is not None else rows.approach
        radius = 2.0 * math.sin(0.5 * min(math.pi, 0.97 * rows.cone))
        blocks: list[tuple[Array, Array, list[float]]] = [
            (rows.x_point, rows.points, [0.0, -POINT_WEIGHT]),
            (rows.x_approach, rows.approach, [radius, 1.0]),
            (rows.x_approach, soft, [0.0, 0.0 if rows.soft_approach is None else -rows.stiffness]),
        ]
        if program.structure.angles:
            cosine = math.cos(rows.held_angle)
            blocks.append((rows.x_held, rows.held, [cosine, cosine, 1.0]))
        else:
            blocks.append((rows.x_held, rows.held, [0.0, -rows.stiffness if rows.held_is_wish else 1.0]))
        box = (arm.workspace + 1e-6 * np.array([[1.0], [-1.0]])).ravel()
        tail = np.concatenate([box, arm.q_lower, arm.q_upper, np.ones(arm.n_q)])
        out = np.empty((count, program.n_parameters))
        cursor = 0
        for x, directions, numbers in blocks:
            end = cursor + 6 + len(numbers)
            out[:, cursor : cursor + 3], out[:, cursor + 3 : cursor + 6] = x, directions[1:]
            out[:, cursor + 6 : end] = numbers
            cursor = end
        out[:, cursor:] = tail
        return out

    def _judge(self, q: Array, R: Array, p: Array, s_values: Array, rows: _Waypoints) -> PathSolution:
        """Measures a path in plain NumPy and says where it ends."""
        point = np.abs(R @ rows.x_point + p - rows.points).max(axis=1)[1:]
        angle = rows.angle_errors(R)[1:]
        step = np.abs(np.diff(q, axis=0)).max(axis=1)
        box = box_excess(self.arm, p)[1:]
        good = (point <= self.point_tolerance_m) & (angle <= self.angle_tolerance_rad) & (step <= self.max_step_rad)
        good &= (box <= 1e-6) & np.isfinite(q).all(axis=1)[1:]
        ends = np.flatnonzero(~good)
        last = len(good) if len(ends) == 0 else int(ends[0])
        reached = q[: last + 1]
        reason = ""
        if len(ends):
            bounds = active_bounds(self.arm, q[last + 1], p[last + 1])
            if point[last] > self.point_tolerance_m or angle[last] > self.angle_tolerance_rad:
                reason = f"the hand would be {1e3 * point[last]:.1f} mm and {angle[last]:.3f} rad off the part"
            elif box[last] > 1e-6:
                reason = f"the hand would leave the workspace by {1e3 * box[last]:.1f} mm"
            else:
                reason = f"a joint would jump by {step[last]:.2f} rad, a singular posture"
            reason += f" ({', '.join(bounds)})" if bounds else " (out of reach, no joint limit active)"
        return PathSolution(
            found=len(ends) == 0,
            q=q,
            s=s_values,
            reached_s=float(s_values[last]),
            reason=reason,
            margin_rad=float(limit_margin(self.arm, reached).min()),
            length_rad=float(np.linalg.norm(np.diff(reached, axis=0), axis=1).sum()),
        )


@dataclass(frozen=True)
class _Waypoints:
    """What is asked of W waypoints, the first being the start; base frame."""

    x_point: Array
    """(3,) point of the hand, ee frame [m]."""
    points: Array
    """(W, 3) where it must be [m]."""
    x_held: Array
    """(3,) direction of the hand, ee frame."""
    held: Array
    """(W, 3) what it keeps an angle to."""
    held_angle: float
    """That angle [rad]."""
    x_approach: Array
    """(3,) approach axis, ee frame."""
    approach: Array
    """(W, 3) what the approach axis must be near."""
    cone: float
    """How near: the largest angle [rad]."""
    soft_approach: Array | None = None
    """(W, 3) where the approach axis would be in a fixed grasp."""
    stiffness: float = 0.0
    """Weight of that."""
    held_is_wish: bool = False
    """Whether `held` is a wish too, with the same weight."""

    def angle_errors(self, R: Array) -> Array:
        """(W,) largest error of a direction at tool rotations (W, 3, 3) [rad]."""
        error = np.maximum(0.0, angles(R @ self.x_approach, self.approach) - self.cone)
        if not self.held_is_wish:
            error = np.maximum(error, np.abs(angles(R @ self.x_held, self.held) - self.held_angle))
        return error


def _motions(scene: PlanningScene, s_values: Array) -> tuple[Array, Array]:
    """(W, 3, 3) rotations and (W, 3) shifts of the part at joint positions (W,)."""
    moves = [scene.joint.motion(float(s) - scene.joint.position) for s in s_values]
    return np.array([R for R, _ in moves]), np.array([t for _, t in moves])


def _side_axis(arm: ArmModel) -> Array:
    if {"tool_head", "tool_side"} <= set(arm.tool_keypoints):
        return unit(arm.tool_keypoints["tool_side"] - arm.tool_keypoints["tool_head"])
    return np.array([0.0, 1.0, 0.0])
