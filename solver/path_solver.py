"""Paths of the hand: along the joint of a part, through poses, and along the motions that a setting lists."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from unlatch.simcore.geometry import Pose, matrix_from_axis_angle
from unlatch.solver.program import Schedule
from unlatch.solver.scene import ArmModel, Array, PlanningScene, Slip
from unlatch.solver.setting import MOTION_WORDS, REGION_FRONT, MotionReading
from unlatch.solver.solution import SLACK, active_bounds, box_excess, limit_margin
from unlatch.solver.term import Row
from unlatch.solver.waypoints import Grasp, Waypoints, interpolate_rows, part_motions, part_waypoints, pose_waypoints

STEP_M, FINE_STEP_M = 0.02, 0.005
"""Distance between the poses of a straight motion [m]; the second where a joint of a short arm would turn too far."""
_STEP_RAD = 0.05
NO_ENDS = (-math.inf, math.inf)
"""Lowest and highest joint position of a part that nothing stops."""
_HALVINGS = 40


@dataclass(frozen=True)
class PoseTrack:
    """Poses along a sequence of motions."""

    dense: list[Pose]
    """Poses of the ee in small steps, the first the goal."""
    keyframes: list[int]
    """Index into `dense` of the end of each motion."""
    s: Array
    """(len(dense),) position of the part's joint if it follows the hand [rad or m]."""


def apply_motion(
    T_base_ee: Pose, motion: Sequence[Any], scene: PlanningScene, reading: MotionReading, *, share: float = 1.0
) -> Pose:
    """Returns the pose after a share (0 to 1) of one motion of the setting, [mode, value] or [word, distance]."""
    mode, value = str(motion[0]), share * float(motion[1])
    if mode == "rotate":
        R, origin = matrix_from_axis_angle(scene.joint.axis, reading.turn_sign * value), scene.joint.origin
        return Pose(R @ T_base_ee.R, R @ T_base_ee.p + (origin - R @ origin))
    shift = np.zeros(3)
    if mode in MOTION_WORDS:
        shift[MOTION_WORDS[mode][0]] = value
        return Pose(T_base_ee.R, T_base_ee.p + shift)
    if mode == "translate_out":
        return Pose(T_base_ee.R, T_base_ee.p + value * scene.axis(REGION_FRONT))
    shift["xyz".index(mode[-1])] = value
    return T_base_ee @ Pose.from_translation(reading.R_ee_hand @ shift)


def motion_poses(
    T_base_goal: Pose,
    motions: Sequence[Sequence[Any]],
    scene: PlanningScene,
    reading: MotionReading,
    *,
    before_contact: int = 0,
    ends: tuple[float, float] = NO_ENDS,
    step_m: float = STEP_M,
) -> PoseTrack:
    """Returns the poses from the goal on, with the joint position of a part that follows the hand.

    The part does not move during the first `before_contact` motions, before the fingers meet it; on the way back to a
    pre-grasp these are all. The track ends where the part reaches one of the `ends`, a lower and an upper joint
    position [rad or m]. Straight motions have a pose every `step_m`.
    """
    dense, s = [T_base_goal], [scene.s]
    keyframes: list[int] = []
    for index, motion in enumerate(motions):
        leads_part = index >= before_contact
        step = _STEP_RAD if motion[0] == "rotate" else step_m
        count = max(1, math.ceil(abs(float(motion[1])) / step - 1e-9))
        start, s_start = dense[-1], s[-1]

        def at(
            share: float, start: Pose = start, s_start: float = s_start, motion: Sequence[Any] = motion
        ) -> tuple[Pose, float]:
            T = apply_motion(start, motion, scene, reading, share=share)
            return T, s_start + _joint_change(start, T, scene, reading, motion, share)

        for k in range(1, count + 1):
            T, s_part = at(k / count)
            is_over = leads_part and not ends[0] < s_part < ends[1]
            if is_over:
                T, s_part = _cut_motion(at, (k - 1) / count, k / count, ends)
            dense.append(T)
            s.append(s_part if leads_part else s_start)
            if is_over:
                return PoseTrack(dense, [*keyframes, len(dense) - 1], np.array(s))
        keyframes.append(len(dense) - 1)
    return PoseTrack(dense, keyframes, np.array(s))


def step_back(T_base_ee: Pose, distance_m: float, approach_ee: Array, *, step_m: float = STEP_M) -> list[Pose]:
    """Returns poses back along the approach axis (3,) of the ee frame, starting with the pose itself."""
    count = max(1, math.ceil(distance_m / step_m))
    return [T_base_ee @ Pose.from_translation(-approach_ee * distance_m * k / count) for k in range(count + 1)]


def _cut_motion(
    at: Callable[[float], tuple[Pose, float]], low: float, high: float, ends: tuple[float, float]
) -> tuple[Pose, float]:
    """Returns pose and joint position where the part reaches one of the ends, between two shares of a motion."""
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        inside = ends[0] < at(middle)[1] < ends[1]
        low, high = (middle, high) if inside else (low, middle)
    T, s_part = at(high)
    return T, float(np.clip(s_part, *ends))


def _joint_change(
    start: Pose, end: Pose, scene: PlanningScene, reading: MotionReading, motion: Sequence[Any], share: float
) -> float:
    """Returns the change of the joint position if the part follows the hand [rad or m]."""
    joint = scene.joint
    if joint.prismatic:
        return float(joint.axis @ (end.p - start.p))
    if motion[0] == "rotate":
        return share * reading.turn_sign * float(motion[1])
    before, after = start.p - joint.origin, end.p - joint.origin
    before, after = before - joint.axis * (joint.axis @ before), after - joint.axis * (joint.axis @ after)
    (ux, uy, uz), (bx, by, bz), (ax, ay, az) = joint.axis.tolist(), before.tolist(), after.tolist()
    # numpy's cross product takes most of the time of a long list
    turned = ux * (by * az - bz * ay) + uy * (bz * ax - bx * az) + uz * (bx * ay - by * ax)
    return math.atan2(turned, float(before @ after))


_TRACK: Schedule = ((1e4, 0.02, 1.0, 0.3), (1e4, 0.02, 1.0, 0.3), (1e4, 1e-3, 0.0, 0.2), (1e4, 1e-3, 0.0, 0.1))
_RESTORE: Schedule = ((1e4, 1e-2, 0.0, 0.2),) * 5
_CENTRING = 0.02
POINT_TOLERANCE_M = 2e-4
"""Largest distance of the contact point from its place on the part, at a waypoint [m]."""
ANGLE_TOLERANCE_RAD = 2e-3
"""Largest error of a held direction, at a waypoint [rad]."""


@dataclass(frozen=True)
class PathSolution:
    """Joints along the motion of the part, complete or up to where it fails."""

    found: bool
    q: Array
    """(W, n) joints, the first row the goal [rad]."""
    s: Array
    """(W,) joint positions of the part [rad or m]."""
    reached_s: float
    """Position of the part up to which the path holds [rad or m]."""
    reason: str
    """Why it ends there; empty if it is found."""
    margin_rad: float
    """Smallest distance of any joint to its limit on the part that holds [rad]."""
    length_rad: float
    """Sum of the joint steps, as norms [rad]."""
    jumps: bool = False
    """Whether it ends because a joint would turn too far in one step; finer steps may help."""


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
        self.arm = arm
        self.max_step_rad = max_step_rad
        self.point_tolerance_m = point_tolerance_m
        self.angle_tolerance_rad = angle_tolerance_rad
        self.middle = 0.5 * (arm.q_lower + arm.q_upper)
        self.centring = _CENTRING
        """Weight with which each waypoint of `follow` draws the joints to the middle of their range."""

    def follow(
        self, goals: Array, scene: PlanningScene, *, s_values: Array, slip: Slip, inward: Array, contact_ee: Array
    ) -> list[PathSolution]:
        """Follows the part from several goals.

        Args:
            goals: (C, n) joints at contact, at the scene's joint position [rad].
            scene: The object.
            s_values: (W,) positions of the part to go through, the first that of the scene [rad or m].
            slip: Freedom of the hand.
            inward: (3,) inward direction of the part at the scene's joint position, base frame.
            contact_ee: (3,) the point of the hand that stays on the part, ee frame [m].
        """
        R0, p0 = self.arm.kinematics.fk_batch(goals)
        turns, shifts = part_motions(scene, s_values)
        grasp = Grasp(slip, inward, contact_ee)
        waypoints = [part_waypoints(self.arm, scene, R0[c], p0[c], turns, shifts, grasp) for c in range(len(goals))]
        tracked = np.empty((len(goals), len(s_values) - 1, self.arm.n_q))
        programs = [rows.program(self.arm) for rows in waypoints]
        for program in dict.fromkeys(programs):  # a hand along the bar has other rows than one at an angle to it
            same = [c for c in range(len(goals)) if programs[c] is program]
            parameters = np.stack([waypoints[c].pack(self.arm) for c in same])
            tracked[same] = program.track(goals[same], self.middle, parameters, _TRACK, centring=self.centring)
        q = np.concatenate([goals[:, None], tracked], axis=1)
        R, p = self.arm.kinematics.fk_batch(q.reshape(-1, self.arm.n_q))
        R, p = R.reshape(*q.shape[:2], 3, 3), p.reshape(*q.shape[:2], 3)
        return [self._judge(q[c], R[c], p[c], s_values, waypoints[c]) for c in range(len(goals))]

    def solve_together(
        self,
        guess: PathSolution,
        scene: PlanningScene,
        *,
        rows: Sequence[Row],
        s_values: Array,
        grasp: Grasp,
        retreats: Array,
        q_now: Array,
    ) -> PathSolution:
        """Solves goal, approach and path at once, then fills in the waypoints.

        Args:
            guess: A path of `follow`, found or not, to start from.
            scene: The object.
            rows: Constraints and costs of the goal; the first row of a found path meets them.
            s_values: (W,) positions of the part to go through, the first that of the scene [rad or m].
            grasp: How the hand leads the part.
            retreats: (K, 3) offsets back from the goal, ee frame, the goal (zero) first [m].
            q_now: (n,) joints to stay near [rad].
        """
        from unlatch.solver.path_with_goal import WAYPOINTS, solve_with_goal

        solved, s_solved, goal_violation = solve_with_goal(
            self.arm,
            scene,
            grasp,
            rows,
            guess=guess.q,
            s_guess=guess.s,
            target_s=float(s_values[-1]),
            retreats=retreats,
            q_now=q_now,
            max_step_rad=self.max_step_rad * max(1.0, (len(s_values) - 1) / WAYPOINTS),
        )
        fine = interpolate_rows(s_values, s_solved, solved)
        fine[0] = solved[0]
        R, p = self.arm.kinematics.fk_batch(fine)
        waypoints = part_waypoints(self.arm, scene, R[0], p[0], *part_motions(scene, s_values), grasp)
        restored = waypoints.program(self.arm).solve(fine[1:], fine[1:], waypoints.pack(self.arm), _RESTORE)
        q = np.concatenate([fine[:1], restored])
        R, p = self.arm.kinematics.fk_batch(q)
        path = self._judge(q, R, p, s_values, waypoints)
        if path.found and goal_violation > SLACK:
            reason = f"the goal would be out by {goal_violation:.4f}"
            return replace(path, found=False, reached_s=float(s_values[0]), reason=reason)
        return path

    def follow_poses(self, start: Array, poses: Sequence[Pose], *, tilt_rad: float = 0.0) -> PathSolution:
        """Moves the ee through poses, base frame, from the joints (n,) [rad] at the first one.

        The approach axis tilts by at most `tilt_rad`; the line between the fingertips keeps its direction. `s` of the
        result counts the poses.
        """
        if len(poses) == 1:  # a single pose: the start is the whole path
            return PathSolution(True, start[None], np.zeros(1), 0.0, "", float(limit_margin(self.arm, start)), 0.0)
        rows = pose_waypoints(self.arm, poses, tilt_rad=tilt_rad)
        parameters = rows.pack(self.arm)[None]
        tracked = rows.program(self.arm).track(start[None], self.middle, parameters, _TRACK, centring=0.0)[0]
        q = np.concatenate([start[None], tracked])
        R, p = self.arm.kinematics.fk_batch(q)
        return self._judge(q, R, p, np.arange(len(poses), dtype=float), rows)

    def reach_poses(self, starts: Array, poses: Sequence[Pose]) -> tuple[Array, Array]:
        """Moves the ee in one step to one pose each, base frame, from joints (C, n) [rad].

        Returns:
            (C, n) joints [rad]; and (C,) whether they reach the pose.
        """
        rows = pose_waypoints(self.arm, [poses[0], *poses], tilt_rad=0.0)
        parameters = rows.pack(self.arm)[:, None]
        q = rows.program(self.arm).track(starts, self.middle, parameters, _TRACK, centring=0.0)[:, 0]
        step = np.abs(q - starts).max(axis=1)
        q = np.concatenate([starts[:1], q])
        R, p = self.arm.kinematics.fk_batch(q)
        return q[1:], self._measure(q, R, p, step, rows)[-1]

    def _measure(self, q: Array, R: Array, p: Array, step: Array, rows: Waypoints) -> tuple[Array, Array, Array, Array]:
        """Returns the (W - 1,) errors of points [m] and angles [rad] and excess of the box [m] of waypoints after the
        first, and whether they hold.
        """
        point = rows.point_errors(R, p)[1:]
        angle = rows.angle_errors(R)[1:]
        box = box_excess(self.arm, p)[1:]
        good = (point <= self.point_tolerance_m) & (angle <= self.angle_tolerance_rad) & (step <= self.max_step_rad)
        good &= (box <= 1e-6) & np.isfinite(q).all(axis=1)[1:]
        return point, angle, box, good

    def _judge(self, q: Array, R: Array, p: Array, s_values: Array, rows: Waypoints) -> PathSolution:
        """Measures a path in plain NumPy and finds where it ends."""
        step = np.abs(np.diff(q, axis=0)).max(axis=1)
        point, angle, box, good = self._measure(q, R, p, step, rows)
        ends = np.flatnonzero(~good)
        last = len(good) if len(ends) == 0 else int(ends[0])
        reached = q[: last + 1]
        reason, jumps = "", False
        if len(ends):
            bounds = active_bounds(self.arm, q[last + 1], p[last + 1])
            if point[last] > self.point_tolerance_m or angle[last] > self.angle_tolerance_rad:
                reason = f"the hand would be {1e3 * point[last]:.1f} mm and {angle[last]:.3f} rad off the part"
            elif box[last] > 1e-6:
                reason = f"the hand would leave the workspace by {1e3 * box[last]:.1f} mm"
            else:
                jumps = True
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
            jumps=jumps,
        )
