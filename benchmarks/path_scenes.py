"""Draws random parts in front of a Panda, with sizes from the ranges of real objects."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from unlatch.robots.catalog import load_robot
from unlatch.robots.models import model_path
from unlatch.simcore.geometry import matrix_from_axis_angle
from unlatch.solver.kinematics import Kinematics
from unlatch.solver.plan import PlanBudget, PlanRequest
from unlatch.solver.scene import ArmModel, JointGeometry, PlanningScene, Slip, SlipMode
from unlatch.solver.setting import PlannerSettingCfg
from unlatch.solver.setting_reader import read_planner_setting

Array = np.ndarray
WAYPOINTS = 24
MAX_STEP_RAD = 0.3
_LIMIT_MARGIN_RAD = 0.02
_X, _Y, _Z = np.eye(3)


@dataclass(frozen=True)
class Problem:
    """A request and its kind."""

    kind: str
    """`hinge_vertical`, `hinge_horizontal`, `slider`, `knob` or `lid`, with `open`, `close` or `turn`."""
    request: PlanRequest


def panda() -> ArmModel:
    """Returns the shipped Panda without a scene."""
    arm = load_robot("franka_panda").arms[0]
    return ArmModel(
        kinematics=Kinematics.from_urdf(model_path("franka_panda"), base_link=arm.base_link, tip_link=arm.ee_link),
        tool_keypoints={
            "tool_head": np.array([0, 0, 0.1034]),
            "tool_tail": np.array([0, 0, 0.0584]),
            "tool_side": np.array([0, 0.04, 0.1034]),
        },
        q_lower=np.array(arm.lower) + _LIMIT_MARGIN_RAD,
        q_upper=np.array(arm.upper) - _LIMIT_MARGIN_RAD,
        max_velocity=np.array(arm.max_velocity),
        max_acceleration=np.array(arm.max_acceleration),
        workspace=np.array([[-0.3, -0.85, -0.1], [0.9, 0.85, 1.1]]),
        q_home=np.array([0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785]),
    )


def problems(arm: ArmModel, *, n: int, seed: int) -> Iterator[Problem]:
    """Yields n random problems, with the kinds in turn.

    Args:
        arm: The arm.
        n: Number of problems.
        seed: Seed of the draws; problem i depends only on (seed, i).
    """
    makers: tuple[Callable[[np.random.Generator], _RandomPart], ...] = (
        _draw_vertical_hinge,
        _draw_horizontal_hinge,
        _draw_slider,
        _draw_knob,
        _draw_lid,
    )
    for i in range(n):
        rng = np.random.default_rng([seed, i])
        drawn = makers[i % len(makers)](rng)
        yield Problem(
            drawn.kind,
            PlanRequest(
                arm=arm,
                scene=drawn.placed(rng),
                setting=drawn.setting(),
                q_current=np.clip(arm.q_home + rng.normal(scale=0.1, size=arm.n_q), arm.q_lower, arm.q_upper),
                follow_to=drawn.target,
                closed_gripper=drawn.push,
                slips=drawn.slips,
                retreat_m=0.0,
                budget=PlanBudget(waypoints=WAYPOINTS),
            ),
        )


@dataclass(frozen=True)
class _RandomPart:
    """A random part in the frame of its object: x out of the front, y to the right as seen from the front, z up."""

    kind: str
    head: Array
    tail: Array
    contact: Array
    axis: Array
    origin: Array
    prismatic: bool
    start: float
    target: float
    limits: tuple[float, float]
    distance: tuple[float, float]
    """Range of the distance from the arm's base to the front [m]."""
    height: tuple[float, float]
    """Range of the object's height over the arm's base [m]."""
    push: bool = False
    tolerance: float = 0.8
    """Tolerance of the direction of approach [rad]."""
    along_edge: bool = True
    """Whether the fingers must lie across the edge."""
    slips: tuple[Slip, ...] | None = None

    def placed(self, rng: np.random.Generator) -> PlanningScene:
        bearing, yaw = rng.uniform(-0.8, 0.8), rng.uniform(-0.8, 0.8)
        R = matrix_from_axis_angle(_Z, math.pi + bearing + yaw)
        reach = rng.uniform(*self.distance)
        p = np.array([reach * math.cos(bearing), reach * math.sin(bearing), rng.uniform(*self.height)])
        closed = PlanningScene(
            keypoints={
                "articulated_object_head": R @ self.head + p,
                "articulated_object_tail": R @ self.tail + p,
            },
            axes={"link0_contact_axis": R @ self.contact, "base_front_axis": R @ _X},
            R_base_link=R,
            R_base_world=np.eye(3),
            joint=JointGeometry(self.prismatic, R @ self.origin + p, R @ self.axis, 0.0, *self.limits),
            s_closed=0.0,
            s_open=self.limits[1],
            moving_names=frozenset({"articulated_object_head", "articulated_object_tail", "link0_contact_axis"}),
        )
        return closed.at(self.start)

    def setting(self) -> PlannerSettingCfg:
        between = {"axis_from_keypoint_name": "tool_head", "axis_to_keypoint_name": "tool_tail"}
        constraints: list[dict[str, Any]] = [
            {
                "type": "point2point_constraint",
                "keypoint_name": "tool_head",
                "target_keypoint_name": "articulated_object_head",
                "tolerance": 1e-3,
            },
            {
                "type": "frame_axis_parallel",
                **between,
                "cross_target_axis1_from_keypoint_name": "articulated_object_head",
                "cross_target_axis1_to_keypoint_name": "articulated_object_tail",
                "target_axis": "link0_contact_axis",
                "tolerance": self.tolerance,
            },
        ]
        if self.along_edge:
            constraints.append(
                {
                    "type": "keypoint_axis_parallel",
                    "axis_from_keypoint_name": "tool_head",
                    "axis_to_keypoint_name": "tool_side",
                    "target_axis_from_keypoint_name": "articulated_object_head",
                    "target_axis_to_keypoint_name": "articulated_object_tail",
                    "tolerance": 0.05,
                }
            )
        raw = {
            "success_threshold": 0.1,
            "constraint_list": constraints,
            "pre_actuation_motions": [["translate_z", -0.08 if self.push else -0.1]],
        }
        setting: PlannerSettingCfg = read_planner_setting(raw, where="planner_setting")[0]
        return setting


def _draw_opening(rng: np.random.Generator, opened: tuple[float, float]) -> tuple[bool, float, float]:
    """Draws whether the part closes; returns this with the start and the target of its joint [rad or m]."""
    push = bool(rng.random() < 0.5)
    wide = float(rng.uniform(*opened))
    return (True, wide, -0.02 * wide) if push else (False, 0.0, wide)


def _make_front_part(
    kind: str, push: bool, *, distance: tuple[float, float] = (0.45, 0.85), **rest: Any
) -> _RandomPart:
    """Returns a part in the front of a body, to pull open by its edge or bar, or to push shut; joint at the origin."""
    return _RandomPart(
        kind=f"{kind} {'close' if push else 'open'}",
        origin=np.zeros(3),
        distance=distance,
        height=(-0.1, 0.5),
        push=push,
        tolerance=0.6 if push else 0.8,
        along_edge=not push,
        **rest,
    )


def _draw_vertical_hinge(rng: np.random.Generator) -> _RandomPart:
    push, start, target = _draw_opening(rng, (0.7, 1.6))
    side, width = float(rng.choice([-1.0, 1.0])), rng.uniform(0.22, 0.5)
    stands, edge, z = (0.0 if push else rng.uniform(0.03, 0.06)), rng.uniform(0.03, 0.06), rng.uniform(0.08, 0.25)
    head = np.array([stands, -side * (width - edge), z])
    across = np.array([0.0, -side, 0.0])
    return _make_front_part(
        "hinge_vertical",
        push,
        head=head,
        tail=head + 0.03 * across,
        contact=np.cross(_X, across),
        axis=side * _Z,
        prismatic=False,
        start=start,
        target=target,
        limits=(0.0, 1.8),
        distance=(0.4, 0.85),
    )


def _draw_horizontal_hinge(rng: np.random.Generator) -> _RandomPart:
    opening = _draw_opening(rng, (0.6, 1.5))
    tall = rng.uniform(0.2, 0.4)
    head = np.array([_draw_standoff(rng, opening), rng.uniform(-0.08, 0.08), tall - 0.04])
    return _make_level_part("hinge_horizontal", opening, head, axis=_Y, prismatic=False, furthest=1.6)


def _draw_slider(rng: np.random.Generator) -> _RandomPart:
    opening = _draw_opening(rng, (0.15, 0.3))
    head = np.array([_draw_standoff(rng, opening), rng.uniform(-0.1, 0.1), rng.uniform(0.05, 0.3)])
    return _make_level_part("slider", opening, head, axis=_X, prismatic=True, furthest=0.32)


def _draw_standoff(rng: np.random.Generator, opening: tuple[bool, float, float]) -> float:
    """Draws how far the grasped place stands out of the front [m]; 0 if the part is pushed."""
    return 0.0 if opening[0] else float(rng.uniform(0.03, 0.06))


def _make_level_part(
    kind: str, opening: tuple[bool, float, float], head: Array, *, axis: Array, prismatic: bool, furthest: float
) -> _RandomPart:
    """Returns a part with a level bar or edge."""
    push, start, target = opening
    return _make_front_part(
        kind,
        push,
        head=head,
        tail=head + 0.03 * _Z,
        contact=np.cross(_X, _Z),
        axis=axis,
        prismatic=prismatic,
        start=start,
        target=target,
        limits=(0.0, furthest),
    )


def _draw_knob(rng: np.random.Generator) -> _RandomPart:
    head = np.array([rng.uniform(0.02, 0.04), rng.uniform(-0.2, 0.2), rng.uniform(0.1, 0.4)])
    return _RandomPart(
        kind="knob turn",
        head=head,
        tail=head + 0.02 * _Y,
        contact=np.cross(_X, _Y),
        axis=_X,
        origin=head,
        prismatic=False,
        start=0.0,
        target=float(rng.choice([-1.0, 1.0]) * rng.uniform(0.5, 2.6)),
        limits=(-3.1, 3.1),
        distance=(0.4, 0.85),
        height=(-0.1, 0.5),
        tolerance=0.15,
        along_edge=False,
        slips=(Slip(SlipMode.fixed),),
    )


def _draw_lid(rng: np.random.Generator) -> _RandomPart:
    push, start, target = _draw_opening(rng, (0.5, 1.3))
    deep = rng.uniform(0.2, 0.4)
    head = np.array([0.0 if push else rng.uniform(0.03, 0.05), rng.uniform(-0.08, 0.08), 0.0])
    return _RandomPart(
        kind=f"lid {'close' if push else 'open'}",
        head=head,
        tail=head + 0.02 * _Z,
        contact=np.cross(_X, _Z),
        axis=-_Y,
        origin=np.array([-deep, 0.0, 0.0]),
        prismatic=False,
        start=start,
        target=target,
        limits=(0.0, 1.6),
        distance=(0.3, 0.7),
        height=(0.0, 0.6),
        tolerance=0.8,
        along_edge=not push,
        slips=(Slip(SlipMode.bar), Slip(SlipMode.gimbal)),
    )
