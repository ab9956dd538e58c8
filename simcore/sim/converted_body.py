"""Loads converted assets with the properties that a URDF cannot state: free base, drives, self-collision, groups."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pybullet as p

from unlatch.simcore.geometry import Pose
from unlatch.simcore.sim.bodies import ROOT, Body
from unlatch.simcore.sim.drives import DriveGroup
from unlatch.simcore.sim.joint_drive import DriveMode, JointDrive
from unlatch.simcore.sim.world import World


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
