"""How well an arm reaches the region in which derived tasks put the part: to place its base and choose its home."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unlatch.configs.derivation.task import REACH_CENTER_M, REACH_HALF_M
from unlatch.robots.description import ArmCfg
from unlatch.simcore.geometry import Pose, unit
from unlatch.solver.kinematics import Kinematics

Array = np.ndarray

HEIGHT_HALF_M = 0.12
"""Half extent of the grid in height: knobs and lids lie above or below the middle [m]."""
_STARTS = 12
_HOME_STARTS = 12
_STEPS = 80
_STEP_RAD = 0.4
_ROOM_RAD = 0.5
"""A joint so far from its end is free [rad]."""
_BENT = 0.01
_DAMPING = 0.05
_NEAR_M, _NEAR_RAD = 2e-3, 0.02
_MARGIN_RAD = 0.05
_DIRECTIONS = ((1.0, 0.0, 0.0), (0.94, 0.34, 0.0), (0.94, -0.34, 0.0), (0.5, 0.0, -0.87), (0.0, 0.0, -1.0))
"""Directions in which a hand looks when it takes bars, edges and knobs: ahead, to either side, steeply and straight
down."""


@dataclass(frozen=True)
class Reach:
    """What an arm reaches of a grid of hand poses."""

    found: Array
    """(P,) whether a pose is reached inside joint limits, with a margin."""
    q: Array
    """(P, n) joint positions that reach it; NaN where none do [rad or m]."""

    @property
    def share(self) -> float:
        """Share of the poses that is reached."""
        return float(self.found.mean())


def hand_poses(arm: ArmCfg, *, count: int = 3) -> tuple[Array, Array]:
    """(P, 3, 3) and (P, 3) poses of the ee frame in the world, over the region of derived tasks [m].

    Args:
        arm: The arm; its tool keypoints say how the hand is held.
        count: Points along each edge of the region.
    """
    T_ee_tool = tool_frame(arm)
    center = np.array(REACH_CENTER_M)
    half = np.array([*REACH_HALF_M, HEIGHT_HALF_M])
    grid = np.stack(np.meshgrid(*[np.linspace(-1.0, 1.0, count)] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
    rotations, points = [], []
    for direction in _DIRECTIONS:
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


def tool_frame(arm: ArmCfg) -> Pose:
    """`T_ee_tool`: x from the palm to the fingertips, y where the fingers open, origin `tool_head`."""
    head, tail, side = (np.array(arm.keypoints[name]) for name in ("tool_head", "tool_tail", "tool_side"))
    x = unit(head - tail)
    y = unit(side - head - x * float((side - head) @ x))
    return Pose(np.column_stack([x, y, np.cross(x, y)]), head)


def reach(kinematics: Kinematics, arm: ArmCfg, T_world_base: Pose, *, count: int = 3, seed: int = 0) -> Reach:
    """Tries to bring the hand to every pose of the grid, by damped least squares from many starts.

    Args:
        kinematics: The arm's chain.
        arm: The arm.
        T_world_base: Pose of its base frame.
        count: Points along each edge of the region.
        seed: Seed of the starts.
    """
    R_world, p_world = hand_poses(arm, count=count)
    home = np.array(arm.home)
    found, q = _solved(
        kinematics, arm, *_in_base(R_world, p_world, T_world_base), starts=_STARTS, first=home, seed=seed
    )
    return Reach(found, q)


def homes(kinematics: Kinematics, arm: ArmCfg, T_world_base: Pose, *, p_world_head: Array, seed: int = 0) -> Array:
    """(H, n) joint positions with the hand looking down at a point, the best first [rad or m].

    Better is farther from singularities (the smallest singular value of the Jacobian), from the ends of joints, and
    with all joints nearer to their middle.

    Args:
        kinematics: The arm's chain.
        arm: The arm; its home is not read.
        T_world_base: Pose of its base frame.
        p_world_head: (3,) where `tool_head` is to be [m].
        seed: Seed of the starts.
    """
    T_ee_tool = tool_frame(arm)
    rotations, points = [], []
    for turn in np.linspace(0.0, np.pi, 4, endpoint=False):
        y = np.array([np.cos(turn), np.sin(turn), 0.0])
        x = np.array([0.0, 0.0, -1.0])
        R = np.column_stack([x, y, np.cross(x, y)]) @ T_ee_tool.R.T
        rotations += [R] * _HOME_STARTS
        points += [np.asarray(p_world_head) - R @ T_ee_tool.p] * _HOME_STARTS
    goal = _in_base(np.array(rotations), np.array(points), T_world_base)
    found, q = _solved(kinematics, arm, *goal, starts=3, first=None, seed=seed)
    q = q[found]
    low, high = np.array(arm.lower), np.array(arm.upper)
    values = []
    for row in q:
        room = np.minimum(row - low, high - row)
        dexterity = float(np.linalg.svd(kinematics.jacobian(row), compute_uv=False)[-1])
        bent = float(np.mean(np.abs(row - np.clip(0.0, low, high))))
        values.append(dexterity * min(1.0, float(room.min()) / _ROOM_RAD) - _BENT * bent)
    order = np.argsort(-np.round(values, 6), kind="stable")
    best: Array = q[order]
    return best


def _in_base(R_world: Array, p_world: Array, T_world_base: Pose) -> tuple[Array, Array]:
    return T_world_base.R.T @ R_world, (p_world - T_world_base.p) @ T_world_base.R


def _solved(
    kinematics: Kinematics, arm: ArmCfg, R_goal: Array, p_goal: Array, *, starts: int, first: Array | None, seed: int
) -> tuple[Array, Array]:
    """(P,) which poses of the base frame are reached and (P, n) how, NaN where not; damped least squares."""
    low, high = np.array(arm.lower) + _MARGIN_RAD, np.array(arm.upper) - _MARGIN_RAD
    rng = np.random.default_rng(seed)
    n = len(low)
    found: Array = np.zeros(len(R_goal), dtype=bool)
    best = np.full((len(R_goal), n), np.nan)
    for start in range(starts):
        open_ = np.flatnonzero(~found)
        if not len(open_):
            break
        drawn = rng.uniform(np.maximum(low, -np.pi), np.minimum(high, np.pi), (len(open_), n))
        q = np.tile(np.clip(first, low, high), (len(open_), 1)) if start == 0 and first is not None else drawn
        for _ in range(_STEPS):
            error, J = _error(kinematics, q, R_goal[open_], p_goal[open_])
            A = J.transpose(0, 2, 1) @ J + _DAMPING**2 * np.eye(n)
            step = np.linalg.solve(A, (J.transpose(0, 2, 1) @ error[..., None]))[..., 0]
            q = np.clip(q + np.clip(step, -_STEP_RAD, _STEP_RAD), low, high)
        error, _ = _error(kinematics, q, R_goal[open_], p_goal[open_])
        good = (np.linalg.norm(error[:, :3], axis=1) < _NEAR_M) & (np.linalg.norm(error[:, 3:], axis=1) < _NEAR_RAD)
        found[open_[good]] = True
        best[open_[good]] = q[good]
    return found, best


def _error(kinematics: Kinematics, q: Array, R_goal: Array, p_goal: Array) -> tuple[Array, Array]:
    """(P, 6) what is left to go, linear then angular, and (P, 6, n) the Jacobians, base frame."""
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
            J[:, :3, i] = np.cross(axes[i], p - origins[i])
            J[:, 3:, i] = axes[i]
    return np.concatenate([p_goal - p, turned], axis=1), J
