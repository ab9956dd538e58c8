"""Finds the bodies and joints of a glTF, in either of two extensions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from unlatch.objects.importers.body_tree import WORLD, Body, BodyJoint, unused_name
from unlatch.objects.importers.gltf.gltf_file import AGI, KHR, GltfFile
from unlatch.simcore.errors import close_matches
from unlatch.simcore.geometry import Pose

_AXES = "xyz"
_MOVING_STAGES = ("xRotate", "yRotate", "zRotate", "xTranslate", "yTranslate", "zTranslate")
"""Types of the stages of `AGI_articulations` that are joints."""
_SCALING_STAGES = ("xScale", "yScale", "zScale", "uniformScale")
"""The others, which are no joints."""
_FULL_TURN_RAD = 2 * np.pi


@dataclass(frozen=True)
class GltfJoint(BodyJoint):
    """A joint of a glTF."""

    lower: float
    """Least position [rad or m]; -inf without a limit."""
    upper: float


def find_bodies(file: GltfFile) -> dict[str, Body]:
    """Returns the bodies by key, which is the number of their node; `WORLD` comes first."""
    bodies = {WORLD: Body(WORLD, "world", Pose.identity(), is_marked=False)}
    taken = {"world"}
    for node in file.numbers():
        if _is_body(file, node):
            bodies[str(node)] = Body(str(node), unused_name(file.name(node), taken), file.pose(node), is_marked=False)
    return bodies


def body_of(file: GltfFile, node: int) -> str:
    """Returns the key of the body that a node is part of."""
    return next((str(at) for at in file.above(node) if _is_body(file, at)), WORLD)


def find_joints(file: GltfFile, bodies: dict[str, Body]) -> list[GltfJoint]:
    """Returns the joints between two bodies.

    Raises:
        AssetError: A joint moves in more than one direction, or names something that does not exist.
    """
    taken: set[str] = set()
    return [*_articulations(file, bodies, taken), *_physics_joints(file, bodies, taken)]


def _is_body(file: GltfFile, node: int) -> bool:
    motion = file.extension(node, KHR).get("motion")
    if isinstance(motion, dict) and not motion.get("isKinematic", False):
        return True
    return _articulation_name(file, node) is not None


def _articulation_name(file: GltfFile, node: int) -> str | None:
    name = file.extension(node, AGI).get("articulationName")
    return name if isinstance(name, str) else None


def _articulations(file: GltfFile, bodies: dict[str, Body], taken: set[str]) -> Iterator[GltfJoint]:
    listed = file.root_extension(AGI).get("articulations", [])
    known = {item.get("name"): item for item in listed if isinstance(item, dict)}
    for node in file.numbers():
        name = _articulation_name(file, node)
        if name is None:
            continue
        if name not in known:
            raise file.error(node, f"names the articulation '{name}'. Known: {', '.join(map(str, known))}. Correct it.")
        stages = [stage for stage in known[name].get("stages", []) if isinstance(stage, dict)]
        moving = [stage for stage in stages if stage.get("type") in _MOVING_STAGES]
        for stage in () if moving else stages:
            _check_stage_type(file, node, str(stage.get("type", "")))
        if len(moving) != 1:
            raise file.error(
                node,
                f"moves in {len(moving)} ways by the articulation '{name}'. Expected one stage that rotates or "
                "translates. Give each way a node of its own.",
            )
        yield _stage_joint(file, bodies, node, moving[0], unused_name(name, taken))


def _check_stage_type(file: GltfFile, node: int, word: str) -> None:
    if word not in (*_MOVING_STAGES, *_SCALING_STAGES):
        raise file.error(
            node,
            f"has a stage of the unknown type '{word}'.{close_matches(word, _MOVING_STAGES)} Expected one of "
            f"{', '.join(_MOVING_STAGES)}. Correct it.",
        )


def _stage_joint(file: GltfFile, bodies: dict[str, Body], node: int, stage: dict[str, Any], name: str) -> GltfJoint:
    word = stage["type"]
    axis = np.eye(3)[_AXES.index(word[0])]
    turns = word.endswith("Rotate")
    unit = float(np.radians(1.0)) if turns else float(np.linalg.norm(file.affine(node)[:3, :3] @ axis))
    lower, upper = (_number(file, node, stage, key) * unit for key in ("minimumValue", "maximumValue"))
    parent = next((body_of(file, at) for at in list(file.above(node))[1:2]), WORLD)
    T_node = file.pose(node)
    return GltfJoint(
        name=name,
        place=file.place(node),
        kind=_kind(turns, lower, upper),
        first=parent,
        second=str(node),
        T_first=bodies[parent].T_file_body.inverse() @ T_node,
        T_second=Pose.identity(),
        axis=axis,
        is_extra=False,
        lower=lower,
        upper=upper,
    )


def _physics_joints(file: GltfFile, bodies: dict[str, Body], taken: set[str]) -> Iterator[GltfJoint]:
    described = file.root_extension(KHR).get("physicsJoints", [])
    for node in file.numbers():
        joint = file.extension(node, KHR).get("joint")
        if not isinstance(joint, dict):
            continue
        other, index = joint.get("connectedNode"), joint.get("joint")
        if not isinstance(other, int) or other not in file.numbers():
            raise file.error(node, f"has a joint with connectedNode {other}, which does not exist. Correct it.")
        if not isinstance(index, int) or not 0 <= index < len(described):
            raise file.error(node, f"has the joint {index} of {len(described)} physicsJoints. Correct it.")
        first, second = body_of(file, node), body_of(file, other)
        if first == second:
            file.notices.append(f"{file.place(node)}: its joint is left out, it joins a body to itself")
            continue
        turns, axis, lower, upper = _free_direction(file, node, described[index])
        if not turns and not np.all(np.isfinite([lower, upper])):
            raise file.error(
                node, f"slides without end: {lower:g} to {upper:g}. Expected a limit with min and max. Add them."
            )
        yield GltfJoint(
            name=unused_name(file.name(node), taken),
            place=file.place(node),
            kind=_kind(turns, lower, upper),
            first=first,
            second=second,
            T_first=bodies[first].T_file_body.inverse() @ file.pose(node),
            T_second=bodies[second].T_file_body.inverse() @ file.pose(other),
            axis=axis,
            is_extra=False,
            lower=lower,
            upper=upper,
        )


def _free_direction(file: GltfFile, node: int, described: Any) -> tuple[bool, np.ndarray, float, float]:
    """Returns whether a joint turns, its axis, and its range, from the limits of each direction.

    A joint that keeps all directions has an empty range.
    """
    ranges = {(turns, k): (-np.inf, np.inf) for turns in (False, True) for k in range(3)}
    for limit in described.get("limits", []):
        low = float(limit.get("min", -np.inf))
        high = float(limit.get("max", np.inf))
        for turns, key in ((False, "linearAxes"), (True, "angularAxes")):
            axes = limit.get(key, [])
            for k in axes:  # a limit of several axes is a distance from 0, or an angle from it
                ranges[turns, int(k)] = (-high if len(axes) > 1 else low, high)
    free = [(key, (low, high)) for key, (low, high) in ranges.items() if high - low > 1e-9]
    if len(free) > 1:
        words = ", ".join(f"{'turns about' if turns else 'slides along'} {_AXES[k]}" for (turns, k), _ in free)
        raise file.error(
            node, f"has a joint that moves in {len(free)} ways: {words}. Expected one. Limit the others to 0."
        )
    if not free:
        return False, np.eye(3)[0], 0.0, 0.0
    ((turns, k), (low, high)) = free[0]
    return turns, np.eye(3)[k], low, high


def _kind(turns: bool, lower: float, upper: float) -> str:
    if upper - lower <= 1e-9:
        return "fixed"
    if not turns:
        return "prismatic"
    return "continuous" if upper - lower >= _FULL_TURN_RAD - 1e-6 else "revolute"


def _number(file: GltfFile, node: int, values: dict[str, Any], key: str) -> float:
    value = values.get(key)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not np.isfinite(value):
        raise file.error(node, f"has a stage with {key}={value}. Expected a number. Correct it.")
    return float(value)
