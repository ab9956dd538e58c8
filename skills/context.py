"""What a skill sees of its episode, and how it is judged: the scene, why an attempt failed, how far a part can be led,
and what counts as success.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from unlatch.objects.annotation import Openness
from unlatch.objects.scene_object import ObjectRegion, SceneObject
from unlatch.robots.robot import Arm, Robot
from unlatch.simcore.errors import SkillError, unknown_entry
from unlatch.simcore.recording.success_rules import CODE_ORDER, NO_FAILURES
from unlatch.simcore.sim.bodies import JointInfo
from unlatch.simcore.sim.collision import BulletCollisionChecker, ObstacleModel, PlannedMotion, RobotModel
from unlatch.simcore.sim.contacts import ContactView
from unlatch.simcore.sim.world import WorldCfg
from unlatch.simcore.urdf.model import Joint
from unlatch.solver.plan import PlanBudget
from unlatch.solver.scene import ArmModel
from unlatch.solver.setting import SuccessMode


@dataclass(frozen=True)
class Failure:
    """One violated condition."""

    code: str
    message: str
    time_s: float
    """Simulated time at which it was violated [s]."""
    evidence: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.code not in CODE_ORDER and self.code not in NO_FAILURES:
            said = f"Unknown failure code '{self.code}'."
            raise unknown_entry(said, self.code, CODE_ORDER, error=SkillError, code=self.code)

    def __repr__(self) -> str:
        return f"Failure({self.code} at {self.time_s:.2f} s: {self.message})"

    def to_evidence(self, rates: WorldCfg, *, last_frame: int) -> dict[str, Any]:
        """Returns the record's `evidence`; `last_frame` is the state frame at which the episode ended."""
        frame = math.ceil(self.time_s * rates.record_hz - 1e-6)
        return {
            "message": self.message,
            "time_s": self.time_s,
            "frame": min(frame, last_frame),
            **dict(self.evidence),
        }


def earliest(failures: list[Failure]) -> Failure | None:
    """The failure that happened first; at the same time the one whose code stands first in `FAILURE_CODES`."""
    return min(failures, key=lambda f: (f.time_s, CODE_ORDER[f.code]), default=None)


_PAST_LIMIT_RAD = 0.05
_PAST_LIMIT_M = 0.01
"""A part may be pushed this far past its joint's limit, so that it surely reaches the limit."""


def is_reachable(joint: Joint, position: float) -> bool:
    """Returns whether a part can be led to a position of its joint [rad or m], or pushed against its limit there."""
    past = _past_limit(joint)
    return joint.kind == "continuous" or joint.lower - past <= position <= joint.upper + past


def describe_reach(joint: Joint) -> str:
    """Returns the positions that a joint with limits can reach, in words."""
    unit, past = joint.unit, _past_limit(joint)
    return f"{joint.lower:.3g} to {joint.upper:.3g} {unit} (at most {past:g} {unit} past a limit, to push against it)"


def _past_limit(joint: Joint) -> float:
    return _PAST_LIMIT_M if joint.kind == "prismatic" else _PAST_LIMIT_RAD


@dataclass(frozen=True)
class Displacement:
    """A measured displacement of a joint and its threshold."""

    mode: SuccessMode
    value: float
    """The displacement since the skill began [rad or m]; for `fraction` as a share of the way from closed to open, and
    for `zero` the distance that is left to closed [rad or m]."""
    threshold: float
    """What `value` is compared with, in the same unit."""

    @classmethod
    def of(cls, mode: SuccessMode, *, s: float, s0: float, openness: Openness, threshold: float) -> Displacement:
        """Measures the displacement of a joint at s that was at s0 when the skill began [rad or m]."""
        span = openness.open - openness.closed
        if mode is SuccessMode.zero:
            value = abs(s - openness.closed)
        elif mode is SuccessMode.normal:
            value = (s - s0) if span >= 0.0 else (s0 - s)
        elif mode is SuccessMode.fraction:
            value = abs(s - s0) / abs(span)
        else:
            value = abs(s - s0)
        return cls(mode, value, threshold)

    @property
    def enough(self) -> bool:
        """Whether the threshold is met: near closed for `zero`, far from the start for the others."""
        return self.value <= self.threshold if self.mode is SuccessMode.zero else self.value >= self.threshold


class SkillTarget(NamedTuple):
    """Where a skill puts a free object."""

    of: str | None
    """The object in, on or beside which it goes; None: the table."""
    region: str | None
    """Region of that object; None: beside it, on the table."""


@dataclass(frozen=True)
class Views:
    """The four contact views of one (robot, arm, object part)."""

    fingers_link: ContactView
    """Fingers on the moving part."""
    fingers_base: ContactView
    """Fingers on the object's body."""
    forbid_collision: ContactView
    """Arm links on any link of the object."""
    environment: ContactView
    """Every robot link against floor, furniture, other objects and itself."""

    @property
    def forbidden(self) -> tuple[ContactView, ...]:
        """The views in which any force is a violation."""
        return (self.fingers_base, self.forbid_collision, self.environment)


@dataclass(frozen=True)
class FrameSpeeds:
    """Largest joint speeds over the physics steps of a record frame [rad/s or m/s]."""

    robot: float
    objects: Mapping[str, float]
    too_fast: Mapping[str, JointInfo] = field(default_factory=dict)
    """The fastest joint of the robot and of each object that exceeds the limit, by their names."""


@dataclass(frozen=True)
class SkillContext:
    """The parts of the scene that a skill acts on."""

    robot: Robot
    arm: Arm
    arm_model: ArmModel
    objects: Mapping[str, SceneObject]
    views: Mapping[tuple[str, str | None], Views]
    """By (object, part); without a part for a free object."""
    checker: BulletCollisionChecker
    robot_model: RobotModel
    fixtures: tuple[ObstacleModel, ...]
    """The table, or the floor and the robot's stand; then plinths."""
    rates: WorldCfg
    concurrent_motions: tuple[PlannedMotion, ...] = ()
    """Motions of other arms at the same time; the planner keeps clear of their whole paths."""
    regions: Mapping[tuple[str, str], ObjectRegion] = field(default_factory=dict)
    """Regions that the goal or a skill names, by (object, region)."""
    budget: PlanBudget = field(default_factory=PlanBudget)
    """How much the planner tries."""

    @property
    def scale(self) -> float:
        """Size of the robot's tasks relative to those of a Panda: straight motions of its hand are multiplied by it."""
        return self.robot.cfg.scale

    @property
    def ground_z_m(self) -> float:
        """Height of what objects stand on, the table or the floor, world frame [m]."""
        ground = self.fixtures[0]
        return float(ground.T_world_root.p[2] + 0.5 * ground.size_m[2]) if ground.size_m is not None else 0.0

    @property
    def frame_s(self) -> float:
        """Length of a record frame [s]."""
        return 1.0 / self.rates.record_hz

    def frames(self, seconds: float) -> int:
        """Returns the number of record frames that last at least this time [s]."""
        return self.rates.frames(seconds)

    @property
    def time_s(self) -> float:
        """Simulated time [s]."""
        return self.robot.time_s

    def obstacles(self, *, seen: bool = False) -> list[ObstacleModel]:
        """Returns everything that the planner must keep clear of.

        With `seen`, objects are where pose errors show them, not where they are.
        """
        items = list(self.fixtures)
        for name, item in self.objects.items():
            positions, _, _ = item.body.joint_states()
            T_world_root = item.body.root_pose()
            if seen:
                positions, T_world_root = (
                    item.pose_error.joint_positions(positions),
                    item.pose_error.estimate_root(T_world_root),
                )
            items.append(
                ObstacleModel(
                    name=name,
                    urdf_path=item.asset.urdf_path,
                    T_world_root=T_world_root,
                    joint_positions=dict(zip(item.joint_names, positions.tolist(), strict=True)),
                )
            )
        return items


SKIN_M = 0.002
"""Bullet adds a skin of a millimetre to meshes: fingers meet a part this far before their surfaces do."""
