"""Finds the rigid bodies and joints of a USD, and arranges them as a tree with one root."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from unlatch.objects.importers.usd.stage import OpenedStage, rigid_part, rotation_of
from unlatch.simcore.geometry import Pose
from unlatch.simcore.urdf.model import Joint

WORLD = ""
"""Key of what does not move: everything without a rigid body."""

_KINDS = {"PhysicsRevoluteJoint": "revolute", "PhysicsPrismaticJoint": "prismatic", "PhysicsFixedJoint": "fixed"}
_AXES = {"X": np.array([1.0, 0.0, 0.0]), "Y": np.array([0.0, 1.0, 0.0]), "Z": np.array([0.0, 0.0, 1.0])}
_MOST_NAMED = 4


@dataclass(frozen=True)
class UsdBody:
    """A rigid body, or what does not move."""

    key: str
    """Path of its prim; `WORLD` for what does not move."""
    name: str
    prim: Any
    T_stage_body: Pose
    """Pose of its prim without scale, in metres with z up."""


@dataclass(frozen=True)
class UsdJoint:
    """A joint between two bodies, not yet in the order of a tree."""

    name: str
    prim: Any
    kind: str
    """URDF type."""
    first: str
    """Key of the first body."""
    second: str
    T_first: Pose
    """Frame of the joint in the first body."""
    T_second: Pose
    """Frame of the joint in the second body."""
    axis: np.ndarray
    """(3,) in the frame of the joint."""
    is_extra: bool
    """Whether it is kept out of the articulation, as a joint that closes a loop must be."""


@dataclass(frozen=True)
class JointTree:
    """The bodies that joints connect, with the frames of their links."""

    root: str
    """Key of the root."""
    T_body_link: Mapping[str, Pose]
    """Frame of each link in its body. That of a moving body is on the axis of its joint, as URDF wants it; that of the
    root is upright."""
    joints: tuple[tuple[UsdJoint, Joint], ...]
    """Joints as read, and as URDF joints whose parent and child are keys of bodies."""


def owner_of(stage: OpenedStage, prim: Any) -> str:
    """Returns the key of the body that a prim is part of."""
    while prim and not prim.IsPseudoRoot():
        if _is_body(stage, prim):
            return str(prim.GetPath())
        prim = prim.GetParent()
    return WORLD


def find_bodies(stage: OpenedStage, prims: Sequence[Any]) -> dict[str, UsdBody]:
    """Returns the bodies by key; `WORLD` comes first."""
    bodies = {WORLD: UsdBody(WORLD, "world", None, Pose.identity())}
    taken = {"world"}
    for prim in prims:
        if _is_body(stage, prim):
            key = str(prim.GetPath())
            bodies[key] = UsdBody(key, unused_name(prim.GetName(), taken), prim, rigid_part(stage.place(prim)))
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


def build_tree(
    stage: OpenedStage, bodies: Mapping[str, UsdBody], joints: Sequence[UsdJoint], *, has_static_shape: bool
) -> JointTree:
    """Arranges the bodies that moving joints connect as a tree.

    Args:
        stage: The stage.
        bodies: Its bodies.
        joints: Its joints.
        has_static_shape: Whether geometry belongs to no body.

    Raises:
        AssetError: No joint moves, joints close a loop, or joints move several objects that nothing connects.
    """
    moving = [joint for joint in joints if joint.kind != "fixed"]
    if not moving:
        raise stage.error("/", _explain_no_joint(bodies, joints))
    group = _connected(moving[0].first, joints)
    apart = [joint for joint in moving if joint.first not in group]
    if apart:
        raise stage.error(
            "/",
            f"holds several objects: nothing connects {_list_paths(moving[:1])} and {_list_paths(apart)}. Expected one "
            "object. Export each alone, or make one the default prim.",
        )
    left = [body for key, body in bodies.items() if key not in group and key != WORLD]
    if left:
        stage.notices.append(f"left out, no joint holds it: {', '.join(body.key for body in left[:_MOST_NAMED])}")
    root = _choose_root(stage, bodies, [j for j in joints if j.first in group], group, has_static_shape)
    return _hang_below(stage, root, [joint for joint in joints if joint.first in group], bodies)


def unused_name(name: str, taken: set[str]) -> str:
    """Returns a name that is not taken, and takes it."""
    unique, number = name, 1
    while unique in taken:
        unique, number = f"{name}_{number}", number + 1
    taken.add(unique)
    return unique


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
        ends.append((key, bodies[key].T_stage_body.inverse() @ _joint_frame(stage, prim, target, number)))
    (first, T_first), (second, T_second) = ends
    axis = _AXES[str(_value(prim, "physics:axis") or "X")] if kind != "PhysicsFixedJoint" else _AXES["X"]
    is_extra = bool(_value(prim, "physics:excludeFromArticulation"))
    return UsdJoint(name, prim, _KINDS[kind], first, second, T_first, T_second, axis, is_extra)


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


def _connected(start: str, joints: Sequence[UsdJoint]) -> set[str]:
    """Returns the keys of all bodies that joints connect with one, itself included."""
    group = {start}
    while more := {key for j in joints if {j.first, j.second} & group for key in (j.first, j.second)} - group:
        group |= more
    return group


def _choose_root(
    stage: OpenedStage,
    bodies: Mapping[str, UsdBody],
    joints: Sequence[UsdJoint],
    group: set[str],
    has_static_shape: bool,
) -> str:
    """Returns what the joints hang from: the world if it has a shape or several joints, else the base."""
    at_world = [joint for joint in joints if WORLD in (joint.first, joint.second)]
    if WORLD in group:
        if has_static_shape or len(at_world) > 1 or at_world[0].kind != "fixed":
            return WORLD
        return next(key for key in (at_world[0].first, at_world[0].second) if key != WORLD)
    marked = [
        key for key in bodies if key in group and bodies[key].prim.HasAPI(stage.pxr.UsdPhysics.ArticulationRootAPI)
    ]
    seconds = {joint.second for joint in joints if not joint.is_extra}
    firsts = [joint.first for joint in joints if joint.first not in seconds]
    return (marked or firsts or sorted(group))[0]


def _hang_below(stage: OpenedStage, root: str, joints: Sequence[UsdJoint], bodies: Mapping[str, UsdBody]) -> JointTree:
    # what stands on the table must be upright: the frame of the root is that of the stage
    frames = {root: Pose(bodies[root].T_stage_body.R.T, np.zeros(3))}
    ordered: list[tuple[UsdJoint, Joint]] = []
    # a fixed joint that only holds the root in place is no joint of the tree
    left = [joint for joint in joints if root == WORLD or WORLD not in (joint.first, joint.second)]
    while left:
        usable = [joint for joint in left if joint.first in frames or joint.second in frames]
        joint = next((joint for joint in usable if not joint.is_extra), usable[0])
        left.remove(joint)
        if joint.first in frames and joint.second in frames:
            if not joint.is_extra:
                raise stage.error(
                    joint.prim,
                    "closes a loop of joints. Expected a tree. Leave one joint of the loop out, or set "
                    "physics:excludeFromArticulation.",
                )
            stage.notices.append(f"{joint.prim.GetPath()} is left out: it closes a loop")
            continue
        turned = joint if joint.first in frames else _exchange_ends(joint)
        frames[turned.second] = Pose.from_translation(turned.T_second.p) if turned.kind != "fixed" else Pose.identity()
        T_parent_joint = (
            frames[turned.first].inverse() @ turned.T_first @ turned.T_second.inverse() @ frames[turned.second]
        )
        axis = turned.T_second.R @ turned.axis
        ordered.append((joint, Joint(turned.name, turned.kind, turned.first, turned.second, T_parent_joint, axis)))
    return JointTree(root, frames, tuple(ordered))


def _exchange_ends(joint: UsdJoint) -> UsdJoint:
    """Returns a joint seen from its second body: the same position moves the first body the other way."""
    return replace(
        joint,
        first=joint.second,
        second=joint.first,
        T_first=joint.T_second,
        T_second=joint.T_first,
        axis=-joint.axis,
    )


def _explain_no_joint(bodies: Mapping[str, UsdBody], joints: Sequence[UsdJoint]) -> str:
    found = f"{len(bodies) - 1} rigid bodies and {len(joints)} fixed joints"
    return (
        f"has no joint that moves ({found}). Expected a PhysicsRevoluteJoint or PhysicsPrismaticJoint between a body "
        "and its moving part. Add UsdPhysics joints to the asset, or use its URDF."
    )


def _list_paths(joints: Sequence[UsdJoint]) -> str:
    return ", ".join(str(joint.prim.GetPath()) for joint in joints[:_MOST_NAMED])
