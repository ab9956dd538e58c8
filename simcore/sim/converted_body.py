"""Loads a converted asset with the properties that a URDF cannot state, and measures whether its parts overlap and
its joints move freely.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pybullet as p

from unlatch.simcore.geometry import Pose
from unlatch.simcore.sim.bodies import ROOT, Body, moved_links
from unlatch.simcore.sim.drives import DriveGroup, DriveMode, JointDrive
from unlatch.simcore.sim.world import World, WorldCfg


def load_converted(
    world: World, urdf_path: Path, physics: Mapping[str, Any], *, name: str, T_world_root: Pose
) -> tuple[Body, DriveGroup]:
    """Loads a converted URDF with the properties of its `physics.json`; its base is free unless its root has no mass.

    Gravity is balanced and velocities are limited before every physics step until the world's next reset.

    Args:
        world: The world.
        urdf_path: The converted URDF.
        physics: Content of the `physics.json` beside it; may be empty.
        name: Name of the body in this world.
        T_world_root: Pose of the root link's frame.

    Note:
        Contact and rest offsets have no counterpart in Bullet and are left to engines that read the USD.

    Returns:
        The body, and its motors: position drives take targets of `DriveGroup.set_targets`, velocity drives hold still.

    Raises:
        WorldError: The name is taken, or Bullet cannot load the file.
    """
    body = world.load_urdf(
        urdf_path,
        name=name,
        T_world_root=T_world_root,
        self_collision=bool(physics.get("self_collision")),
        fixed=False,
    )
    _apply_rigid(world, body, physics.get("rigid", {}))
    drives = {joint.name: _make_drive(joint.name, physics.get("drives", {})) for joint in body.movable_joints}
    return body, DriveGroup(body, drives, world=world)


def _make_drive(name: str, drives: Mapping[str, Any]) -> JointDrive:
    values = drives.get(name, {"type": "none"})
    if values["type"] == "none":
        return JointDrive(DriveMode.passive)
    return JointDrive(
        DriveMode.spring,
        stiffness=values["stiffness"],
        damping=values["damping"],
        max_effort=values["max_effort"],
        max_velocity=values["max_velocity"],
    )


def _apply_rigid(world: World, body: Body, values: Mapping[str, Any]) -> None:
    damping = (values.get("linear_damping", 0.0), values.get("angular_damping", 0.0))
    if any(damping):
        # not Bullet's own damping, which differs between kinds of bodies
        world.call_before_step(lambda: _damp_velocity(world, body, damping))
    if values.get("kinematic"):
        p.changeDynamics(body.body_id, ROOT, mass=0.0, physicsClientId=body.client)
    if values.get("disable_gravity"):
        world.call_before_step(lambda: _balance_weight(world, body))
    fastest = {key: values[key] for key in ("max_linear_velocity", "max_angular_velocity") if key in values}
    if fastest:
        world.call_before_step(lambda: _limit_velocity(body, fastest))


def _balance_weight(world: World, body: Body) -> None:
    """Balances the weight of a body's root for one step."""
    mass = p.getDynamicsInfo(body.body_id, ROOT, physicsClientId=body.client)[0]
    body.apply_force(ROOT, -mass * world.gravity_m_s2)


def _damp_velocity(world: World, body: Body, damping: tuple[float, float]) -> None:
    """Applies the damping of one step to a body's velocities."""
    velocities = p.getBaseVelocity(body.body_id, physicsClientId=body.client)
    linear, angular = (np.array(v) * np.exp(-d * world.dt) for v, d in zip(velocities, damping, strict=True))
    p.resetBaseVelocity(body.body_id, linear.tolist(), angular.tolist(), physicsClientId=body.client)
    body.forget_state()


def _limit_velocity(body: Body, fastest: Mapping[str, float]) -> None:
    """Slows a body's root down to its limits."""
    linear, angular = (np.array(v) for v in p.getBaseVelocity(body.body_id, physicsClientId=body.client))
    limits = (fastest.get("max_linear_velocity", np.inf), fastest.get("max_angular_velocity", np.inf))
    slowed = [
        v if np.linalg.norm(v) <= limit else v * (limit / np.linalg.norm(v))
        for v, limit in zip((linear, angular), limits, strict=True)
    ]
    if slowed[0] is not linear or slowed[1] is not angular:
        p.resetBaseVelocity(body.body_id, slowed[0].tolist(), slowed[1].tolist(), physicsClientId=body.client)
        body.forget_state()


SMALL_TORQUE_NM = 0.5
"""Effort of the free-motion check on a hinge [N m]."""
SMALL_FORCE_N = 5.0
"""The same on a slider [N]."""

_CONTINUOUS_RANGE_RAD = 2.0 * np.pi


@dataclass(frozen=True)
class MeasuredMotion:
    """Measured motion of one joint."""

    joint: str
    lower: float
    """Lower end of its range [rad or m]."""
    upper: float
    """Upper end of its range [rad or m]."""
    overlap_m: dict[str, float]
    """Deepest overlap of the moved links with the other links, at `lower`, `half` and `upper` [m]."""
    travel: float
    """Share of its range that it covers under a small effort without gravity, in the better direction."""


def measure_motion(urdf_path: Path, *, continuous: Collection[str] = ()) -> list[MeasuredMotion]:
    """Measures every movable joint of an object, with the others at 0 or at the nearest end of their range.

    Args:
        urdf_path: The converted URDF.
        continuous: Names of the joints without limits, which Bullet does not distinguish; they get a full turn.

    Raises:
        WorldError: Bullet cannot load it.
    """
    with World(WorldCfg(gravity_m_s2=0.0)) as world:
        body = world.load_urdf(urdf_path, name="object", T_world_root=Pose.identity())
        ranges = {
            joint.name: (0.0, _CONTINUOUS_RANGE_RAD) if joint.name in continuous else (joint.lower, joint.upper)
            for joint in body.movable_joints
        }
        rest = {name: float(np.clip(0.0, *limits)) for name, limits in ranges.items()}
        return [_measure_joint(world, body, name, ranges[name], rest) for name in rest]


def _measure_joint(
    world: World, body: Body, name: str, limits: tuple[float, float], rest: Mapping[str, float]
) -> MeasuredMotion:
    lower, upper = limits
    moving = moved_links(body, name)
    overlap = {}
    for label, position in (("lower", lower), ("half", (lower + upper) / 2), ("upper", upper)):
        body.set_joint_positions(list(rest), [*rest.values()])
        body.set_joint_positions([name], [position])
        # the deepest overlap of the moving links with the others [m]; 0 if they are apart
        p.performCollisionDetection(physicsClientId=body.client)
        deepest = 0.0
        for first, second in product(sorted(moving), sorted(set(body.link_names) - moving)):
            points = p.getClosestPoints(
                body.body_id, body.body_id, 0.0, linkIndexA=first, linkIndexB=second, physicsClientId=body.client
            )
            deepest = min([deepest, *(point[8] for point in points)])
        overlap[label] = -deepest
    travel = max(
        _measure_travel(world, body, name, start, end, rest) for start, end in ((lower, upper), (upper, lower))
    )
    return MeasuredMotion(name, lower, upper, overlap, travel)


def _measure_travel(world: World, body: Body, name: str, start: float, end: float, rest: Mapping[str, float]) -> float:
    """Returns the share of the range that a constant small effort covers."""
    joint = body.joint(name)
    if start == end:
        return 0.0
    effort = SMALL_FORCE_N if joint.prismatic else SMALL_TORQUE_NM
    body.set_joint_positions(list(rest), [*rest.values()])
    body.set_joint_positions([name], [start])
    # every other joint is held in place
    held = {other: JointDrive(DriveMode.passive, friction=1e4) for other in rest if other != name}
    DriveGroup(body, held)
    DriveGroup(body, {name: JointDrive(DriveMode.passive)})
    farthest = 0.0
    for _ in range(int(2.0 * world.cfg.physics_hz)):  # time for which the effort acts [s]
        p.setJointMotorControl2(
            body.body_id,
            joint.index,
            p.TORQUE_CONTROL,
            force=float(np.sign(end - start)) * effort,
            physicsClientId=body.client,
        )
        world.step()
        position = float(p.getJointState(body.body_id, joint.index, physicsClientId=body.client)[0])
        farthest = max(farthest, (position - start) / (end - start))
        if farthest >= 1.0:
            break
    return min(farthest, 1.0)
