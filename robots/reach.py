"""Measures how much of a region the arms of a robot reach, and finds homes with the hand before the objects."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

import numpy as np

from unlatch.robots.description import ArmCfg, RobotCfg, base_pose
from unlatch.robots.hand_shape import tool_frame
from unlatch.robots.models import model_path
from unlatch.simcore.geometry import Pose, unit
from unlatch.simcore.urdf.reader import read_urdf

Array = np.ndarray

_REACH_STARTS = 12
_HOME_STARTS = 12
_STEPS = 80
_STEP_RAD = 0.4
_FREE_RAD = 0.5
"""A turning joint is free if it is this far from its limits [rad]; a sliding one in the middle half of its range."""
_BENT_COST = 0.01
_DAMPING = 0.05
_TOLERANCE_M, _TOLERANCE_RAD = 2e-3, 0.02
_MARGIN_RAD, _MARGIN_M = 0.05, 0.005
_SETTLED = 1e-9
"""A search whose joints all move less than this in a step has ended, at a solution or elsewhere [rad or m]."""
_APPROACHES = ((1.0, 0.0, 0.0), (0.94, 0.34, 0.0), (0.94, -0.34, 0.0), (0.5, 0.0, -0.87), (0.0, 0.0, -1.0))
"""Directions in which a hand looks when it grasps bars, edges and knobs: ahead, to either side, steeply down, down."""


class ArmJoint(Protocol):
    """One joint of an arm."""

    @property
    def prismatic(self) -> bool:
        """Whether the joint slides."""


class ArmKinematics(Protocol):
    """Forward kinematics of an arm from its base link to its ee link: the solver's `Kinematics`."""

    @property
    def n_q(self) -> int:
        """Number of joints."""

    @property
    def joints(self) -> Sequence[ArmJoint]:
        """The joints from base to tip."""

    def sweep(self, q: Array) -> tuple[Array, Array, Array, Array]:
        """Returns tip rotations (B, 3, 3) and positions (B, 3), joint axes and origins (n_q, B, 3), base frame [m]."""

    def jacobian(self, q: Array) -> Array:
        """Returns the (6, n_q) geometric Jacobian at q, base frame."""


class ReadKinematics(Protocol):
    """Reads the kinematics between two links of a URDF."""

    def __call__(self, urdf_path: Path, *, base_link: str, tip_link: str) -> ArmKinematics:
        """Returns the kinematics from the base link to the tip link."""


@dataclass(frozen=True)
class ReachRegion:
    """A box in the world in which robots act: its middle, and half its extents."""

    center_m: tuple[float, float, float]
    half_m: tuple[float, float, float]


@dataclass(frozen=True)
class ReachModel:
    """Measures how much of a region the arms of a robot reach."""

    region: ReachRegion
    read_kinematics: ReadKinematics

    def scaled(self, scale: float) -> ReachModel:
        """Returns the model of a region of another size; the origin is where a Panda stands."""
        (x, y, z), (half_x, half_y, half_z) = self.region.center_m, self.region.half_m
        region = ReachRegion((scale * x, scale * y, scale * z), (scale * half_x, scale * half_y, scale * half_z))
        return replace(self, region=region)

    def kinematics(self, cfg: RobotCfg, arm: ArmCfg) -> ArmKinematics:
        """Returns the kinematics of one arm."""
        return self.read_kinematics(model_path(cfg), base_link=arm.base_link, tip_link=arm.ee_link)

    def shares(self, cfg: RobotCfg, *, count: int = 3) -> list[float]:
        """Returns for every arm the share of hand poses in the region that it reaches, see `hand_poses`."""
        return self.shares_at(cfg, [base_pose(cfg)], count=count)[0]

    def shares_at(self, cfg: RobotCfg, bases: Sequence[Pose], *, count: int = 3) -> list[list[float]]:
        """Returns the `shares` with the robot's root at each of the poses `bases` in the world.

        All bases are solved at once, which takes a sixth of the time of one after the other.
        """
        model = read_urdf(model_path(cfg))
        arms = [
            find_reaches(
                self.kinematics(cfg, arm),
                arm,
                [T_world_root @ model.link_pose(arm.base_link) for T_world_root in bases],
                region=self.region,
                count=count,
            )
            for arm in cfg.arms
        ]
        return [[reach.share for reach in at_base] for at_base in zip(*arms, strict=True)]


@dataclass(frozen=True)
class Reach:
    """Which poses of a grid an arm reaches."""

    found: Array
    """(P,) whether the arm reaches a pose inside its joint limits, with a margin."""
    q: Array
    """(P, n) joint positions that reach the pose; NaN where none do [rad or m]."""

    @property
    def share(self) -> float:
        """Share of the poses that the arm reaches."""
        return float(self.found.mean())


def hand_poses(arm: ArmCfg, *, region: ReachRegion, count: int = 3) -> tuple[Array, Array]:
    """Returns (P, 3, 3) rotations and (P, 3) positions [m] of the ee frame in the world, with `tool_head` at `count`
    points along each edge of a region.
    """
    T_ee_tool = tool_frame(arm.keypoints)
    center, half = np.array(region.center_m), np.array(region.half_m)
    grid = np.stack(np.meshgrid(*[np.linspace(-1.0, 1.0, count)] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
    rotations, points = [], []
    for direction in _APPROACHES:
        x = unit(direction)
        for across in ((0.0, 1.0, 0.0), (0.0, 0.0, 1.0), (1.0, 0.0, 0.0)):
            if abs(float(x @ np.array(across))) > 0.6:
                continue
            y = unit(np.array(across) - x * float(x @ np.array(across)))
            R_world_tool = np.column_stack([x, y, np.cross(x, y)])
            R = R_world_tool @ T_ee_tool.R.T
            for offset in grid * half:
                rotations.append(R)
                points.append(center + offset - R @ T_ee_tool.p)
    return np.array(rotations), np.array(points)


def find_reaches(
    kinematics: ArmKinematics,
    arm: ArmCfg,
    T_world_bases: Sequence[Pose],
    *,
    region: ReachRegion,
    count: int = 3,
) -> list[Reach]:
    """Solves the inverse kinematics of every hand pose over a region, see `hand_poses`, from many starts.

    It returns a result for each of the poses `T_world_bases` of the arm's base link in the world.
    """
    R_world, p_world = hand_poses(arm, region=region, count=count)
    goals = [_to_base_frame(R_world, p_world, T_world_base) for T_world_base in T_world_bases]
    home = np.array(arm.home)
    found, q = _solve_poses(kinematics, arm, goals, starts=_REACH_STARTS, first=home)
    return [
        Reach(found_here, q_here)
        for found_here, q_here in zip(np.split(found, len(goals)), np.split(q, len(goals)), strict=True)
    ]


def find_homes(
    kinematics: ArmKinematics,
    arm: ArmCfg,
    T_world_base: Pose,
    *,
    p_world_head: Array,
    direction: Sequence[float] = (0.0, 0.0, -1.0),
) -> Array:
    """Returns (H, n) joint positions with the hand looking down, or in another `direction` of the x-z plane, and
    `tool_head` at a point (3,) [m], best first [rad or m].

    A better home is farther from singularities (the smallest singular value of the Jacobian) and from joint limits, and
    its joints are nearer to 0. The arm's own home is not read.
    """
    T_ee_tool = tool_frame(arm.keypoints)
    rotations, points = [], []
    for turn in np.linspace(0.0, np.pi, 4, endpoint=False):
        x = unit(np.array(direction))
        y = np.cos(turn) * np.array([-x[2], 0.0, x[0]]) + np.sin(turn) * np.array([0.0, 1.0, 0.0])
        R = np.column_stack([x, y, np.cross(x, y)]) @ T_ee_tool.R.T
        rotations += [R] * _HOME_STARTS
        points += [np.asarray(p_world_head) - R @ T_ee_tool.p] * _HOME_STARTS
    goal = _to_base_frame(np.array(rotations), np.array(points), T_world_base)
    found, q = _solve_poses(kinematics, arm, [goal], starts=3, first=None)
    q = q[found]
    low, high = np.array(arm.lower), np.array(arm.upper)
    free = np.where(sliding_joints(kinematics), 0.25 * (high - low), _FREE_RAD)
    values = []
    for row in q:
        room = np.minimum(row - low, high - row) / free
        dexterity = float(np.linalg.svd(kinematics.jacobian(row), compute_uv=False)[-1])
        bent = float(np.mean(np.abs(row - np.clip(0.0, low, high))))
        values.append(dexterity * min(1.0, float(room.min())) - _BENT_COST * bent)
    order = np.argsort(-np.round(values, 6), kind="stable")
    best: Array = q[order]
    return best


def sliding_joints(kinematics: ArmKinematics) -> Array:
    """Returns (n,) whether each joint slides, such as the lift of a column."""
    return np.array([joint.prismatic for joint in kinematics.joints])


def _to_base_frame(R_world: Array, p_world: Array, T_world_base: Pose) -> tuple[Array, Array]:
    return T_world_base.R.T @ R_world, (p_world - T_world_base.p) @ T_world_base.R


def _solve_poses(
    kinematics: ArmKinematics,
    arm: ArmCfg,
    goals: Sequence[tuple[Array, Array]],
    *,
    starts: int,
    first: Array | None,
) -> tuple[Array, Array]:
    """Returns (P,) whether each pose is reached and (P, n) the joint positions, for the poses of all goals in a row.

    The method is damped least squares from several starts. Each goal draws its own starts from one seed, so that its
    result does not depend on the other goals.

    Args:
        kinematics: From the base link to the ee link.
        arm: Its limits count.
        goals: Rotations (G, 3, 3) and positions (G, 3) [m] of the ee link each, base frame.
        starts: The number of starts.
        first: The (n,) joint positions of the first start; drawn if None [rad or m].
    """
    R_goal, p_goal = (np.concatenate(parts) for parts in zip(*goals, strict=True))
    goal_of: Array = np.repeat(np.arange(len(goals)), [len(p) for _, p in goals])
    margin = np.where(sliding_joints(kinematics), _MARGIN_M, _MARGIN_RAD)
    low, high = np.array(arm.lower) + margin, np.array(arm.upper) - margin
    rngs = [np.random.default_rng(0) for _ in goals]
    n = len(low)
    found: Array = np.zeros(len(R_goal), dtype=bool)
    best = np.full((len(R_goal), n), np.nan)
    for start in range(starts):
        open_ = np.flatnonzero(~found)
        if not len(open_):
            break
        counts = np.bincount(goal_of[open_], minlength=len(goals))
        bounds = np.maximum(low, -np.pi), np.minimum(high, np.pi)
        drawn = np.concatenate([rng.uniform(*bounds, (c, n)) for rng, c in zip(rngs, counts, strict=True)])
        q = np.tile(np.clip(first, low, high), (len(open_), 1)) if start == 0 and first is not None else drawn
        moving = np.arange(len(open_))
        for _ in range(_STEPS):
            before = q[moving]
            error, J = _reachable_error(kinematics, before, R_goal[open_[moving]], p_goal[open_[moving]])
            step = _damped_step(J, error)
            leaves = ((before <= low) & (step < 0.0)) | ((before >= high) & (step > 0.0))
            at_limit = leaves.any(axis=1)  # the other joints make up for those that cannot go on
            step[at_limit] = _damped_step(J[at_limit] * ~leaves[at_limit, None, :], error[at_limit])
            q[moving] = np.clip(before + np.clip(step, -_STEP_RAD, _STEP_RAD), low, high)
            moving = moving[np.abs(q[moving] - before).max(axis=1) > _SETTLED]
            if not len(moving):
                break
        error, _ = _reachable_error(kinematics, q, R_goal[open_], p_goal[open_])
        good = (np.linalg.norm(error[:, :3], axis=1) < _TOLERANCE_M) & (
            np.linalg.norm(error[:, 3:], axis=1) < _TOLERANCE_RAD
        )
        found[open_[good]] = True
        best[open_[good]] = q[good]
    return found, best


def _damped_step(J: Array, error: Array) -> Array:
    """Returns (P, n) damped least-squares steps for (P, 6, n) Jacobians and (P, 6) errors [rad or m]."""
    J_T = J.transpose(0, 2, 1)
    A = J_T @ J + _DAMPING**2 * np.eye(J.shape[2])
    step: Array = np.linalg.solve(A, J_T @ error[..., None])[..., 0]
    return step


def _reachable_error(kinematics: ArmKinematics, q: Array, R_goal: Array, p_goal: Array) -> tuple[Array, Array]:
    """Returns what `_pose_error` does; an arm of fewer than six joints need not turn about its first axis as told."""
    error, J = _pose_error(kinematics, q, R_goal, p_goal)
    if kinematics.n_q < 6 and not kinematics.joints[0].prismatic:
        axis = kinematics.sweep(q[:1])[2][0, 0]  # (3,) the same at all positions
        across = np.eye(3) - np.outer(axis, axis)
        error[:, 3:] = error[:, 3:] @ across
        J[:, 3:] = across @ J[:, 3:]
    return error, J


def _pose_error(kinematics: ArmKinematics, q: Array, R_goal: Array, p_goal: Array) -> tuple[Array, Array]:
    """Returns (P, 6) pose errors, linear then angular, and (P, 6, n) Jacobians, base frame."""
    R, p, axes, origins = kinematics.sweep(q)
    turn = R_goal @ R.transpose(0, 2, 1)
    skew = np.stack(
        [turn[:, 2, 1] - turn[:, 1, 2], turn[:, 0, 2] - turn[:, 2, 0], turn[:, 1, 0] - turn[:, 0, 1]], axis=1
    )
    sine = np.linalg.norm(skew, axis=1)
    angle = np.arctan2(sine, np.trace(turn, axis1=1, axis2=2) - 1.0)
    turned = skew * (angle / np.maximum(sine, 1e-9))[:, None]
    J = np.zeros((len(q), 6, kinematics.n_q))
    for i, joint in enumerate(kinematics.joints):
        if joint.prismatic:
            J[:, :3, i] = axes[i]
        else:
            # the cross products (P, 3) of rows (P, 3), bit for bit those of `np.cross`, in a fraction of its time
            a = axes[i]
            b = p - origins[i]
            product: Array = a[:, [1, 2, 0]] * b[:, [2, 0, 1]] - a[:, [2, 0, 1]] * b[:, [1, 2, 0]]
            J[:, :3, i] = product
            J[:, 3:, i] = axes[i]
    return np.concatenate([p_goal - p, turned], axis=1), J
