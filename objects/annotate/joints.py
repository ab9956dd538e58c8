"""Finds the joints of an object that a skill fits."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from unlatch.objects.annotate.geometry import ObjectGeometry
from unlatch.objects.annotate.openness import joint_ends, joint_limits
from unlatch.objects.annotate.size import base_scale, check_extent
from unlatch.objects.annotation import SMALL_RANGE_RAD
from unlatch.simcore.errors import AssetError
from unlatch.simcore.urdf.model import Joint

MIN_RANGE_RAD = 0.05
MIN_RANGE_M = 0.002
"""Joints that move less have play: a goal at a quarter of the range could not be told from the slack of a bearing."""
LARGE_RANGE_SHARE = 0.05
"""Parts that move less, such as buttons and switches, come after the others, and do not decide how large the object is.
The limit of a slider is this share of the object's largest extent, that of other parts `SMALL_RANGE_RAD`."""
SMALLEST_UNITS, LARGEST_UNITS = 1e-4, 1e6
"""Extents that are plausible in some unit of length."""
MIN_PART_SHARE = 0.015
"""Smaller parts, as a share of the object's largest extent, are screws and feet."""
BUTTON_NAMES = ("button", "key")
"""Parts that a finger presses."""
UNFIT_NAMES = ("wheel", "caster", "tray", "slot")
"""No skill fits these: wheels roll, trays are behind a door."""


@dataclass(frozen=True)
class JointChoice:
    """A joint, and whether a skill fits it."""

    joint: Joint
    names: str
    """Names of the part in its files, in lower case, separated by blanks."""
    refusal: str
    """Why no skill fits; empty if one does."""
    is_large: bool = True
    """Whether the part moves far; see `LARGE_RANGE_SHARE`."""


def joint_choices(
    geometry: ObjectGeometry, *, scale: float | None = None, size_m: float | None = None
) -> list[JointChoice]:
    """Returns every joint that moves, in the order of the file, with the reason if no skill fits.

    `scale` and `size_m` are those of `base_scale`.

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
    metres = 1.0
    if extent > 0.0:
        metres, _ = base_scale(geometry.source, extent, scale=scale, size_m=size_m)
        check_extent(metres * extent, where=str(geometry.source.file.parent))
    choices = []
    for joint in geometry.model.joints.values():
        if joint.moves:
            names = part_names(geometry, joint)
            refusal = _find_refusal(geometry, joint, names, extent, metres)
            lower, upper = joint_limits(joint)
            large = LARGE_RANGE_SHARE * extent if joint.kind == "prismatic" else SMALL_RANGE_RAD
            is_large = upper - lower >= large and not is_named_button(names)
            choices.append(JointChoice(joint, names, refusal, is_large))
    return choices


def fitting_joints(
    geometry: ObjectGeometry, *, scale: float | None = None, size_m: float | None = None
) -> list[JointChoice]:
    """Returns the joints that a skill fits, those that move far first; see `joint_choices`.

    Raises:
        AssetError: There is none; the message gives the reason for each joint.
    """
    choices = joint_choices(geometry, scale=scale, size_m=size_m)
    fitting = sorted((choice for choice in choices if not choice.refusal), key=lambda choice: not choice.is_large)
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


def is_named_button(names: str) -> bool:
    """Returns whether the names of a part say that a finger presses it."""
    return any(word in BUTTON_NAMES for word in names.split())


def _plain_words(name: str) -> str:
    # `rotation_lid`, `translation_tray`: the joint says how it moves
    words = (word for word in re.split(r"[^a-z]+", name.lower()) if word not in ("rotation", "translation"))
    return " ".join(word for word in words if word)


def _find_refusal(geometry: ObjectGeometry, joint: Joint, names: str, extent: float, metres: float) -> str:
    lower, upper = joint_limits(joint)
    slides = joint.kind == "prismatic"
    moved, least = (upper - lower) * (metres if slides else 1.0), MIN_RANGE_M if slides else MIN_RANGE_RAD
    if moved < least:
        if not joint.has_range:
            return "has no <limit> with lower and upper, which say how far it moves; add it to the URDF"
        unit = "m" if slides else "rad"
        return f"moves by {max(moved, 0.0):.3g} {unit}, expected at least {least:.3g} {unit}"
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
