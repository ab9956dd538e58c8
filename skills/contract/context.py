"""The parts of an episode that a skill sees and uses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from unlatch.objects.scene_object import ObjectRegion, SceneObject
from unlatch.robots.robot import Arm, Robot
from unlatch.simcore.sim.bodies import JointInfo
from unlatch.simcore.sim.collision import BulletCollisionChecker, ObstacleModel, RobotModel
from unlatch.simcore.sim.contacts import ContactView
from unlatch.simcore.sim.sweep import PlannedMotion
from unlatch.simcore.sim.world import WorldCfg
from unlatch.solver.planning.plan import PlanBudget
from unlatch.solver.scene import ArmModel


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
    """Table, floor and plinths."""
    rates: WorldCfg
    concurrent_motions: tuple[PlannedMotion, ...] = ()
    """Motions of other arms at the same time; the planner keeps clear of their whole paths."""
    regions: Mapping[tuple[str, str], ObjectRegion] = field(default_factory=dict)
    """Regions that the goal or a skill names, by (object, region)."""
    budget: PlanBudget = field(default_factory=PlanBudget)
    """How much the planner tries."""

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
