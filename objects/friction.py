"""Friction of the surfaces of objects, and the least friction that a joint may have."""

from __future__ import annotations

from collections.abc import Iterator

from unlatch.objects.articulated_object import ObjectAsset
from unlatch.simcore.errors import ConfigError

OBJECT_FRICTION = 0.8
"""Lateral friction of the surface of an object."""
MIN_TURNING_N_M, MIN_SLIDING_N = 0.2, 1.0
"""Least dry friction of a joint. With less, Bullet's joints drift when a hand only touches them."""
_MIN_JOINT_FRICTION = {
    "revolute": (MIN_TURNING_N_M, "N m"),
    "continuous": (MIN_TURNING_N_M, "N m"),
    "prismatic": (MIN_SLIDING_N, "N"),
}


def joint_problems(asset: ObjectAsset) -> Iterator[ConfigError]:
    """Yields an error for every joint of an object that moves more easily than a real one."""
    for joint in asset.model.joints.values():
        least, unit = _MIN_JOINT_FRICTION.get(joint.kind, (0.0, ""))
        friction = asset.friction.get(joint.name, 0.0)
        if friction < least:
            yield ConfigError(
                f"Joint '{joint.name}' of object '{asset.name}' ({asset.source} {asset.category} {asset.instance}) has "
                f"a friction of {friction:g} {unit}, expected at least {least:g} {unit}. Raise it in the generator or "
                "converter.",
                key="object",
            )
