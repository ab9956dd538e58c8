"""Finds the joints of an object that a skill fits."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from unlatch.objects.annotate.geometry import ObjectGeometry
from unlatch.objects.annotate.openness import joint_ends, joint_limits
from unlatch.simcore.errors import AssetError
from unlatch.simcore.urdf.model import Joint

MIN_RANGE_RAD = 0.3
MIN_RANGE_SHARE = 0.05
"""Joints that move less are buttons or have play; the limit of a slider is a share of the object's largest extent."""
SMALLEST_UNITS, LARGEST_UNITS = 1e-4, 1e6
"""Extents that are plausible in some unit of length."""
MIN_PART_SHARE = 0.015
"""Smaller parts, as a share of the object's largest extent, are screws and feet."""
UNFIT_NAMES = ("button", "key", "wheel", "caster", "tray", "slot")
"""No skill fits these: buttons and keys are pressed and spring back, wheels roll, trays are behind a door."""


@dataclass(frozen=True)
class JointChoice:
    """A joint, and whether a skill fits it."""

    joint: Joint
    names: str
    """Names of the part in its files, in lower case, separated by blanks."""
    refusal: str
    """Why no skill fits; empty if one does."""


def joint_choices(geometry: ObjectGeometry) -> list[JointChoice]:
    """Returns every joint that moves, in the order of the file, with the reason if no skill fits.

    Raises:
        AssetError: A mesh is damaged, or the size of the object is implausible in any unit.
    """
    points = geometry.points(geometry.model.links)
    extent = float(np.max(np.ptp(points, axis=0))) if len(points) else 0.0
    if len(points) and not SMALLEST_UNITS <= extent <= LARGEST_UNITS:
        raise AssetError(
            f"{geometry.source.file.parent}: the largest extent is {extent:.4g} units, expected {SMALLEST_UNITS:g} to "
            f"{LARGEST_UNITS:g}. Correct the scales and origins of the URDF.",
            path=str(geometry.source.file.parent),
        )
    choices = []
    for joint in geometry.model.joints.values():
        if joint.moves:
            names = part_names(geometry, joint)
            choices.append(JointChoice(joint, names, _find_refusal(geometry, joint, names, extent)))
    return choices


def fitting_joints(geometry: ObjectGeometry) -> list[JointChoice]:
    """Returns the joints that a skill fits.

    Raises:
        AssetError: There is none; the message gives the reason for each joint.
    """
    choices = joint_choices(geometry)
    fitting = [choice for choice in choices if not choice.refusal]
    if not fitting:
        joints = geometry.model.joints.values()
        found = "; ".join(f"{c.joint.name}: {c.refusal}" for c in choices[:6]) or (
            ", ".join(f"{j.name} ({j.kind})" for j in list(joints)[:6]) or "no joints at all"
        )
        raise AssetError(
            f"{geometry.source.file.parent}: no movable joint that a skill fits ({found}). "
            "Expected a revolute, continuous or prismatic joint with a part that can be seen.",
            path=str(geometry.source.file.parent),
        )
    return fitting


def all_joint_ends(geometry: ObjectGeometry) -> dict[str, tuple[float, float]]:
    """Returns the closed and the open position of every joint that moves, by name."""
    return {joint.name: joint_ends(geometry, joint) for joint in geometry.model.joints.values() if joint.moves}


def part_names(geometry: ObjectGeometry, joint: Joint) -> str:
    """Returns the names of the part that a joint moves: from `semantics.txt`, else of its visuals, else of its link."""
    stated = geometry.source.semantics.get(joint.child)
    if stated:
        return _plain_words(stated)
    visuals = {_plain_words(re.sub(r"-\d+$", "", shape.name)) for shape in geometry.model.links[joint.child].visuals}
    visuals = {name for name in visuals if name}
    return " ".join(sorted(visuals)) or _plain_words(f"{joint.child} {joint.name}")


def _plain_words(name: str) -> str:
    # `rotation_lid`, `translation_tray`: the joint says how it moves
    words = (word for word in re.split(r"[^a-z]+", name.lower()) if word not in ("rotation", "translation"))
    return " ".join(word for word in words if word)


def _find_refusal(geometry: ObjectGeometry, joint: Joint, names: str, extent: float) -> str:
    lower, upper = joint_limits(joint)
    least = MIN_RANGE_SHARE * extent if joint.kind == "prismatic" else MIN_RANGE_RAD
    if upper - lower < least:
        if not joint.has_range:
            return "has no <limit> with lower and upper, which say how far it moves; add it to the URDF"
        unit = "" if joint.kind == "prismatic" else " rad"
        return f"moves by {max(upper - lower, 0.0):.3g}{unit}, expected at least {least:.3g}{unit}"
    unfit = [word for word in names.split() if word in UNFIT_NAMES]
    if unfit:
        return f"is a {unfit[0]}"
    clouds = [cloud for name in geometry.moving_links(joint) if len(cloud := geometry.vertices(name))]
    if not clouds:
        return "nothing can be seen of its part"
    size = max(float(np.max(np.ptp(cloud, axis=0))) for cloud in clouds)
    if size < MIN_PART_SHARE * extent:
        return f"its part measures {size:.3g} of {extent:.3g}"
    return ""
