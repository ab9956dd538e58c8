"""Finds the rigid bodies and joints of a USD."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from unlatch.objects.importers.body_tree import WORLD, Body, BodyJoint, BodyTree, build_tree, rigid_part, unused_name
from unlatch.objects.importers.usd.stage import OpenedStage, rotation_of
from unlatch.simcore.geometry import Pose

_KINDS = {"PhysicsRevoluteJoint": "revolute", "PhysicsPrismaticJoint": "prismatic", "PhysicsFixedJoint": "fixed"}
_AXES = {"X": np.array([1.0, 0.0, 0.0]), "Y": np.array([0.0, 1.0, 0.0]), "Z": np.array([0.0, 0.0, 1.0])}


@dataclass(frozen=True)
class UsdBody(Body):
    """A rigid body of a USD; its key is the path of its prim."""

    prim: Any


@dataclass(frozen=True)
class UsdJoint(BodyJoint):
    """A joint of a USD."""

    prim: Any


def owner_of(stage: OpenedStage, prim: Any) -> str:
    """Returns the key of the body that a prim is part of."""
    while prim and not prim.IsPseudoRoot():
        if _is_body(stage, prim):
            return str(prim.GetPath())
        prim = prim.GetParent()
    return WORLD


def find_bodies(stage: OpenedStage, prims: Sequence[Any]) -> dict[str, UsdBody]:
    """Returns the bodies by key; `WORLD` comes first."""
    bodies = {WORLD: UsdBody(WORLD, "world", Pose.identity(), is_marked=False, prim=None)}
    taken = {"world"}
    for prim in prims:
        if _is_body(stage, prim):
            key = str(prim.GetPath())
            is_marked = prim.HasAPI(stage.pxr.UsdPhysics.ArticulationRootAPI)
            name = unused_name(prim.GetName(), taken)
            bodies[key] = UsdBody(key, name, rigid_part(stage.place(prim)), is_marked, prim)
    return bodies


def find_joints(stage: OpenedStage, prims: Sequence[Any], bodies: Mapping[str, UsdBody]) -> list[UsdJoint]:
    """Returns the joints between two bodies.

    Raises:
        AssetError: A joint is of a kind that no URDF has, or names a prim that does not exist.
    """
    found = []
    taken: set[str] = set()
    for prim in prims:
        if not prim.IsA(stage.pxr.UsdPhysics.Joint):
            continue
        if _value(prim, "physics:jointEnabled") is False:
            stage.notices.append(f"{prim.GetPath()} is left out: it is switched off")
            continue
        joint = _read_joint(stage, prim, bodies, unused_name(prim.GetName(), taken))
        if joint.first == joint.second:
            stage.notices.append(f"{prim.GetPath()} is left out: it joins a body to itself")
            continue
        found.append(joint)
    return found


def arrange_joints(
    stage: OpenedStage, bodies: Mapping[str, UsdBody], joints: Sequence[UsdJoint], *, has_static_shape: bool
) -> BodyTree[UsdJoint]:
    """Arranges the bodies that moving joints connect as a tree; see `build_tree`.

    Raises:
        AssetError: No joint moves, joints close a loop, or joints move several objects that nothing connects.
    """
    if all(joint.kind == "fixed" for joint in joints):
        raise stage.error("/", _explain_no_joint(bodies, joints))
    return build_tree(
        stage,
        bodies,
        joints,
        has_static_shape=has_static_shape,
        alone="Export each alone, or make one the default prim.",
        remedy="Leave one joint of the loop out, or set physics:excludeFromArticulation.",
    )


def _is_body(stage: OpenedStage, prim: Any) -> bool:
    """Whether a prim is a rigid body that moves; a kinematic one stays where it is."""
    if not prim.HasAPI(stage.pxr.UsdPhysics.RigidBodyAPI):
        return False
    return (
        _value(prim, "physics:rigidBodyEnabled") is not False and _value(prim, "physics:kinematicEnabled") is not True
    )


def _value(prim: Any, name: str) -> Any:
    attribute = prim.GetAttribute(name)
    return attribute.Get() if attribute else None


def _read_joint(stage: OpenedStage, prim: Any, bodies: Mapping[str, UsdBody], name: str) -> UsdJoint:
    kind = str(prim.GetTypeName())
    if kind not in _KINDS:
        raise stage.error(
            prim,
            f"is a {kind}. Expected {', '.join(_KINDS)}: a joint that moves in one direction or not at all. Replace it "
            "by one of these, or deactivate it.",
        )
    api = stage.pxr.UsdPhysics.Joint(prim)
    ends = []
    for number, relation in enumerate((api.GetBody0Rel(), api.GetBody1Rel())):
        targets = relation.GetTargets()
        if len(targets) > 1:
            raise stage.error(prim, f"has {len(targets)} targets of physics:body{number}. Expected at most one.")
        target = stage.stage.GetPrimAtPath(targets[0]) if targets else None
        if targets and not target:
            raise stage.error(
                prim, f"names physics:body{number} <{targets[0]}>, which does not exist. Correct the path."
            )
        key = owner_of(stage, target) if target else WORLD
        if key not in bodies:
            raise stage.error(prim, f"names <{key}>, which is not below the default prim. Move both below it.")
        ends.append((key, bodies[key].T_file_body.inverse() @ _joint_frame(stage, prim, target, number)))
    (first, T_first), (second, T_second) = ends
    axis = _AXES[str(_value(prim, "physics:axis") or "X")] if kind != "PhysicsFixedJoint" else _AXES["X"]
    is_extra = bool(_value(prim, "physics:excludeFromArticulation"))
    return UsdJoint(name, str(prim.GetPath()), _KINDS[kind], first, second, T_first, T_second, axis, is_extra, prim)


def _joint_frame(stage: OpenedStage, prim: Any, target: Any, number: int) -> Pose:
    """Returns the frame of a joint as one of its ends states it, in the stage [m].

    `target` is the prim of that end; a position in it is scaled with it, as its geometry is.
    """
    position, turn = _value(prim, f"physics:localPos{number}"), _value(prim, f"physics:localRot{number}")
    local = np.array(position, dtype=float) if position is not None else np.zeros(3)
    R = rotation_of(turn) if turn is not None else np.eye(3)
    affine = stage.place(target if target else stage.stage.GetPseudoRoot())
    if not np.all(np.isfinite(local)) or not np.all(np.isfinite(R)):
        raise stage.error(prim, f"has a frame in physics:body{number} that is not finite. Correct it.")
    return Pose(rigid_part(affine).R @ R, affine[:3, :3] @ local + affine[:3, 3])


def _explain_no_joint(bodies: Mapping[str, UsdBody], joints: Sequence[UsdJoint]) -> str:
    found = f"{len(bodies) - 1} rigid bodies and {len(joints)} fixed joints"
    return (
        f"has no joint that moves ({found}). Expected a PhysicsRevoluteJoint or PhysicsPrismaticJoint between a body "
        "and its moving part. Add UsdPhysics joints to the asset, or use its URDF."
    )
