"""Friction of surfaces, the least friction of a joint, and its friction and damping where a file states none."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from unlatch.objects.annotation import Part, PartKind
from unlatch.objects.articulated_object import ObjectAsset
from unlatch.objects.mechanisms import Detent
from unlatch.simcore.errors import ConfigError
from unlatch.simcore.urdf.model import Joint, UrdfModel

OBJECT_FRICTION = 0.8
"""Lateral friction of the surface of an object."""
MIN_TURNING_N_M, MIN_SLIDING_N = 0.2, 1.0
"""Least dry friction of a joint. With less, Bullet's joints drift when a hand only touches them, unless a detent holds
them."""
_MIN_JOINT_FRICTION = {
    "revolute": (MIN_TURNING_N_M, "N m"),
    "continuous": (MIN_TURNING_N_M, "N m"),
    "prismatic": (MIN_SLIDING_N, "N"),
}
_GRAVITY_M_S2 = 9.81
HOLDING = 1.3
"""Factor on the friction that a part needs to hold its own weight. The part then stays where it is released, as on the
hinges of a laptop or an oven, and an episode can be judged after it has settled."""
_TURNING, _SLIDING, _TURNED_BY_FINGERS = (0.3, 0.1), (1.5, 1.0), (0.2, 0.02)
"""Friction and damping of doors and lids [N m, N m s/rad], drawers [N, N s/m], knobs, levers and switches."""


def joint_problems(asset: ObjectAsset) -> Iterator[ConfigError]:
    """Yields an error for every joint of an object that moves more easily than a real one of its size."""
    size = float(asset.parameters.get("size", 1.0))
    clicks = {each.joint for each in asset.articulation.mechanisms.values() if isinstance(each, Detent)}
    for joint in asset.model.joints.values():
        if joint.name in clicks:
            continue
        least, unit = _MIN_JOINT_FRICTION.get(joint.kind, (0.0, ""))
        if size != 1.0:  # as `scaled_object` changes frictions, but for rounding
            least *= 0.999 * size ** (3 if joint.kind == "prismatic" else 4)
        friction = asset.friction.get(joint.name, 0.0)
        if friction < least:
            yield ConfigError(
                f"Joint '{joint.name}' of object '{asset.name}' ({asset.source} {asset.category} {asset.instance}) has "
                f"a friction of {friction:g} {unit}, expected at least {least:g} {unit}. Raise it in the generator or "
                "converter.",
                key="object",
            )


def joint_friction(model: UrdfModel, part: Part) -> tuple[float, float]:
    """Returns dry friction and viscous damping of the joint of a part: the file's values, else those of its kind.

    Returns:
        (friction [N m or N], damping [N m s/rad or N s/m]).
    """
    joint = model.joints[part.joint]
    if part.kind is PartKind.slider:
        friction, damping = _SLIDING
    else:
        friction, damping = _TURNED_BY_FINGERS if part.kind.turns_in_hand or part.is_button else _TURNING
    least = MIN_SLIDING_N if part.kind is PartKind.slider else MIN_TURNING_N_M
    needed = holding_friction(model, part)
    return (
        round(max(joint.friction, least) if joint.friction > 0.0 else max(friction, needed), 4),
        round(joint.damping if joint.damping > 0.0 else damping, 4),
    )


def rail_friction(joint: Joint) -> tuple[float, float]:
    """Returns dry friction and viscous damping of a joint that moves no part, such as a rail, as `joint_friction`."""
    least, _ = _MIN_JOINT_FRICTION.get(joint.kind, (0.0, ""))
    return max(joint.friction, least), joint.damping


def holding_friction(model: UrdfModel, part: Part) -> float:
    """Returns the dry friction with which a part stays where it is let go, whatever its position [N m or N]."""
    return HOLDING * gravity_load(model, model.joints[part.joint])


def gravity_load(model: UrdfModel, joint: Joint) -> float:
    """Returns the largest force along a joint, or moment about it, from the weight that it carries [N or N m]."""
    mass, moment = 0.0, np.zeros(3)
    for name, link in model.links.items():
        if link.inertial is not None and model.is_below(name, joint.child):
            mass += link.inertial.mass_kg
            moment += link.inertial.mass_kg * (model.link_pose(name) @ link.inertial.com_link)
    if mass <= 0.0:
        return 0.0
    T_root_link = model.link_pose(joint.child)
    axis = T_root_link.rotate(joint.axis / np.linalg.norm(joint.axis))
    weight_n = mass * _GRAVITY_M_S2
    if joint.kind == "prismatic":
        return weight_n * abs(float(axis[2]))
    lever = float(np.linalg.norm(np.cross(axis, moment / mass - T_root_link.p)))
    level = float(np.hypot(axis[0], axis[1]))
    return weight_n * lever * level if level > 1e-3 else 0.0
