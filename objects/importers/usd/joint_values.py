"""Reads limits, friction and damping of the joints of a USD, in radians, metres and newtons."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from unlatch.objects.importers.usd.joint_tree import UsdJoint
from unlatch.objects.importers.usd.stage import OpenedStage
from unlatch.simcore.urdf.model import Joint

_TURN_RAD = 2 * np.pi
"""Range of a revolute joint with one limit beyond it."""


def with_values(stage: OpenedStage, found: UsdJoint, joint: Joint) -> Joint:
    """Returns a joint with its limits and dynamics.

    Raises:
        AssetError: A prismatic joint lacks a limit, or a value is not a number.
    """
    if joint.kind == "fixed":
        return joint
    return _with_dynamics(stage, found, _with_limits(stage, found, joint))


def _with_limits(stage: OpenedStage, found: UsdJoint, joint: Joint) -> Joint:
    slides = joint.kind == "prismatic"
    unit = stage.units.length_m if slides else float(np.radians(1.0))
    lower, upper = (_number(stage, found.prim, f"physics:{side}Limit", sign) for side, sign in _SIDES)
    if lower > upper:
        raise stage.error(
            found.prim, f"has physics:lowerLimit {lower:g} above physics:upperLimit {upper:g}. Exchange them."
        )
    if slides and not np.all(np.isfinite([lower, upper])):
        raise stage.error(
            found.prim,
            f"slides without end: limits {lower:g} to {upper:g}. Expected physics:lowerLimit and physics:upperLimit. "
            "Add them.",
        )
    if not np.isfinite(lower) and not np.isfinite(upper):
        return replace(joint, kind="continuous", has_range=False)
    low, high = lower * unit, upper * unit
    if not np.isfinite(low) or not np.isfinite(high):
        low, high = (high - _TURN_RAD, high) if not np.isfinite(low) else (low, low + _TURN_RAD)
        stage.notices.append(f"{found.prim.GetPath()} has one limit: it turns by at most 360 degrees")
    return replace(joint, lower=float(low), upper=float(high))


_SIDES = (("lower", -1.0), ("upper", 1.0))


def _with_dynamics(stage: OpenedStage, found: UsdJoint, joint: Joint) -> Joint:
    slides = joint.kind == "prismatic"
    length, mass = stage.units.length_m, stage.units.mass_kg
    force = mass * length if slides else mass * length**2  # newtons, or newton metres
    turn = 1.0 if slides else float(np.degrees(1.0))
    speed = length if slides else float(np.radians(1.0))
    damping, effort = 0.0, joint.effort
    name = "linear" if slides else "angular"
    if found.prim.HasAPI(stage.pxr.UsdPhysics.DriveAPI, name):
        drive = stage.pxr.UsdPhysics.DriveAPI(found.prim, name)
        if str(drive.GetTypeAttr().Get()) == "acceleration":
            stage.notices.append(f"{found.prim.GetPath()}: its drive is left out, it is of the type acceleration")
        else:
            damping = _attribute(stage, found.prim, drive.GetDampingAttr(), 0.0) * turn * (mass if slides else force)
            most = _attribute(stage, found.prim, drive.GetMaxForceAttr(), np.inf)
            effort = most * force if 0.0 < most < 1e9 else effort
            if _attribute(stage, found.prim, drive.GetStiffnessAttr(), 0.0) > 0.0:
                stage.notices.append(f"{found.prim.GetPath()}: the stiffness of its drive is left out")
    friction = _number(stage, found.prim, "physxJoint:jointFriction", 0.0, missing=0.0) * force
    velocity = _number(stage, found.prim, "physxJoint:maxJointVelocity", 1.0, missing=np.inf) * speed
    return replace(
        joint,
        damping=max(damping, 0.0),
        effort=effort,
        friction=max(friction, 0.0),
        velocity=velocity if 0.0 < velocity < 1e6 else joint.velocity,
    )


def _number(stage: OpenedStage, prim: Any, name: str, sign: float, *, missing: float | None = None) -> float:
    """Returns a number of a prim; without the attribute `missing`, or infinity with a sign."""
    return _attribute(stage, prim, prim.GetAttribute(name), sign * np.inf if missing is None else missing)


def _attribute(stage: OpenedStage, prim: Any, attribute: Any, missing: float) -> float:
    value = attribute.Get() if attribute else None
    if value is None:
        return missing
    if np.isnan(value):
        raise stage.error(prim, f"has {attribute.GetName()}=nan. Expected a number. Correct it.")
    return float(value)
