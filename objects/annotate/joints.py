"""Chooses the joints of an object that are parts, and finds their closed and open ends."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from unlatch.objects.annotate.couplings import find_rails, hangs_on_leader, is_parallel
from unlatch.objects.annotate.kinds import names_kind
from unlatch.objects.annotate.posing import Ends, body_along, surface_points
from unlatch.objects.annotate.source import ObjectGeometry, base_scale, check_extent
from unlatch.objects.annotation import SMALL_RANGE_RAD
from unlatch.simcore.errors import AssetError
from unlatch.simcore.urdf.model import ENDLESS, Joint, rigid_links

SHORT_SHARE = 0.05
"""A slider that moves by a smaller share of the object's largest extent may be a button."""
MAX_OPEN_RAD = 3.1416
"""A door that turns by more than half a circle meets its own cabinet, even if the data set has no limit."""
_CONTINUOUS_RAD = float(np.pi / 2)
"""Range of a joint without limits."""
_BOTH_WAYS_RAD = 0.1
_FLUSH = 1e-3
_SAME_BOX = 0.02
"""Boxes whose volumes differ by less are equal."""
_NEARLY_SAME_BOX = 0.05
"""Boxes whose volumes differ by less are nearly equal."""
_LOWER = 0.05
"""A part lies lower in one pose than in another from this share of its extent on."""


def joint_limits(joint: Joint) -> tuple[float, float]:
    """Returns the lower and upper joint position [rad, or a length in the units of the source]."""
    if joint.kind == "continuous":
        return 0.0, _CONTINUOUS_RAD
    return joint.lower, joint.upper


def joint_ends(geometry: ObjectGeometry, joint: Joint) -> tuple[float, float]:
    """Returns the closed and the open position of a joint.

    A joint is closed where the part and the body fill the smaller box. The body is what no joint moves, and what
    carries a part that turns and turns itself about a parallel axis. If the boxes are nearly
    equal, a part that turns is closed as it is drawn, if that is at one end, and clearly lower there. If they are
    equal, a part that slides up and down is closed below, where its weight takes it, and any other one as it is drawn.
    A slider that moves only a little is closed at the end that is nearer to the middle of the body, such as a button
    that is pressed. A part that turns about its middle, such as a knob, is closed as it is drawn if that is at one
    end of its range, or in between and it turns both ways. A turning part opens by at most half a circle.
    """
    lower, upper = joint_limits(joint)
    model = geometry.model
    moving = geometry.moving_links(joint)
    # Links that other joints move do not count as body: they may be open themselves. What carries a part about a
    # parallel axis does, for the part closes against it: the first leaf of a folding door, a cabinet on a swivel.
    carriers = [above for above in model.joints_above(joint.parent) if joint.kind == above.kind == "revolute"]
    carriers = [above for above in carriers if is_parallel(model, above, joint)]
    body = [*geometry.fixed_links, *(name for above in carriers for name in rigid_links(model, above.child))]
    body = [name for name in body if len(geometry.vertices(name))]
    body = body or [name for name in model.links if name not in moving]
    fixed = geometry.points(body)
    axis = model.link_pose(joint.child).rotate(joint.axis / np.linalg.norm(joint.axis))

    if joint.kind == "prismatic" and len(fixed) and len(moved := geometry.points(moving)):
        extent = float(np.max(np.ptp(np.concatenate([fixed, moved]), axis=0)))
        if upper - lower < SHORT_SHARE * extent:
            stands_out = float((_box_middle(moved) - _box_middle(fixed)) @ axis) >= 0.0
            return (lower, upper) if stands_out else (upper, lower)
    rises = joint.kind == "prismatic" and abs(axis[2]) > 0.7
    drawn = 0.0
    if joint.kind != "prismatic":  # limits may leave play on either side of the pose in which the file draws the part
        drawn = next((end for end in (lower, upper) if abs(end) < MIN_RANGE_RAD <= upper - lower), 0.0)
    positions = [lower, upper]
    if joint.kind == "prismatic" and not rises and lower < 0.0 < upper:
        positions = [0.0, lower, upper]
    if (
        joint.kind != "prismatic"
        and lower < -_BOTH_WAYS_RAD
        and upper > _BOTH_WAYS_RAD
        and upper - lower >= SMALL_RANGE_RAD
    ):
        # A door that turns both ways may be closed in between, where the data set poses it.
        positions = [0.0, lower, upper]
    closed = positions[0]
    if len(fixed) and len(geometry.points(moving)) and joint.kind != "continuous":
        volumes = {s: _box_volume(fixed, geometry.points(moving, {joint.name: s})) for s in positions}
        # of equal boxes, as of a lever on a door, the pose in which the file draws the part
        closed = min(volumes, key=lambda s: (round(volumes[s], 6), abs(s)))
        start, turned = geometry.points(moving), geometry.points(moving, {joint.name: closed})
        if (
            joint.kind != "prismatic"
            and drawn in (lower, upper)
            and volumes[drawn] < (1.0 + _NEARLY_SAME_BOX) * volumes[closed]
            and float((_box_middle(turned) - _box_middle(start))[2]) > _LOWER * float(np.ptp(start, axis=0).max())
        ):
            closed = drawn  # a lid that opens in front of a tank, and lies closed
        if joint.kind == "prismatic" and 0.0 in volumes and volumes[0.0] <= (1.0 + _FLUSH) * volumes[closed]:
            closed = 0.0  # the part is flush with the body; any further, it would move into the body
        if joint.kind == "prismatic" and max(volumes.values()) < (1.0 + _SAME_BOX) * min(volumes.values()):
            closed = (lower if axis[2] > 0 else upper) if rises else min(volumes, key=abs)
    if drawn in positions and _turns_about_its_middle(geometry, joint, axis):
        closed = drawn  # its box says nothing, and the file draws it at one end or in between
    opened = max((lower, upper), key=lambda s: abs(s - closed))
    if joint.kind == "revolute" and lower < closed < upper and len(fixed) and len(geometry.points(moving)):
        # to the side on which the part leaves the body
        probes = {
            end: closed + float(np.clip(end - closed, -_CONTINUOUS_RAD, _CONTINUOUS_RAD)) for end in (lower, upper)
        }
        boxes = {end: _box_volume(fixed, geometry.points(moving, {joint.name: s})) for end, s in probes.items()}
        if abs(boxes[upper] - boxes[lower]) > _SAME_BOX * max(boxes.values()):
            opened = max(boxes, key=lambda end: boxes[end])
    if joint.kind == "revolute":
        opened = closed + float(np.clip(opened - closed, -MAX_OPEN_RAD, MAX_OPEN_RAD))
    return closed, opened


def _turns_about_its_middle(geometry: ObjectGeometry, joint: Joint, axis: np.ndarray) -> bool:
    """Returns whether a part turns about an axis, the (3,) unit vector, that passes through the middle of its box."""
    points = geometry.points(geometry.moving_links(joint))
    if joint.kind == "prismatic" or not len(points):
        return False
    across = np.eye(3) - np.outer(axis, axis)
    off = across @ (_box_middle(points) - geometry.model.link_pose(joint.child).p)
    size = float(np.max(np.ptp(points @ across, axis=0)))
    return float(np.linalg.norm(off)) < _OFF_MIDDLE * size


def _box_middle(points: np.ndarray) -> np.ndarray:
    return (points.min(axis=0) + points.max(axis=0)) / 2


def _box_volume(fixed: np.ndarray, moved: np.ndarray) -> float:
    return float(np.prod(np.ptp(np.concatenate([fixed, moved]), axis=0)))


_OFF_MIDDLE = 0.1
"""A part turns about its middle if its axis is this near to it, as a share of its size across the axis."""
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
_WHEEL_NAMES = {"wheel", "caster"}
_GROUND = 0.02
"""A wheel is nearer to the ground than this share of the object's largest extent."""
_HIDDEN = 0.02
"""A part is inside if along each of the coordinate axes, at most this share of its surface is seen: some lines of sight
pass through the gaps around a door."""


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
    geometry: ObjectGeometry, ends: Ends, *, scale: float | None = None, size_m: float | None = None
) -> list[JointChoice]:
    """Returns every joint that moves, in the order of the file, with the reason if no skill fits.

    `ends` are those of `all_joint_ends`, `scale` and `size_m` those of `base_scale`.

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
    closed = {name: end[0] for name, end in ends.items()}
    rails = rails_of(geometry, ends)
    choices = []
    for joint in geometry.model.joints.values():
        if joint.moves:
            names = part_names(geometry, joint)
            coupled = f"is a rail on which '{rails[joint.name]}' slides" if joint.name in rails else ""
            if joint.follows is not None and hangs_on_leader(geometry.model, joint):
                coupled = f"hangs on the part of joint '{joint.follows.joint}', which it follows"
            refusal = coupled or _refuse_range(joint, metres) or _refuse_part(geometry, joint, names, extent, closed)
            lower, upper = joint_limits(joint)
            large = LARGE_RANGE_SHARE * extent if joint.kind == "prismatic" else SMALL_RANGE_RAD
            choices.append(JointChoice(joint, names, refusal, upper - lower >= large))
    return choices


def fitting_joints(geometry: ObjectGeometry, choices: list[JointChoice]) -> list[JointChoice]:
    """Returns the joints that a skill fits, those that move far first; see `joint_choices`.

    Raises:
        AssetError: There is none; the message gives the reason for each joint.
    """
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


def rails_of(geometry: ObjectGeometry, ends: Ends) -> dict[str, str]:
    """Returns the joints of rails of telescopic slides, each with the joint that slides on it; see `find_rails`."""
    closed = {name: end[0] for name, end in ends.items()}
    return find_rails(geometry, lambda links: _is_hidden(geometry, links, closed))


def all_joint_ends(geometry: ObjectGeometry) -> dict[str, tuple[float, float]]:
    """Returns the closed and the open position of every joint that moves, by name."""
    return {joint.name: joint_ends(geometry, joint) for joint in geometry.model.joints.values() if joint.moves}


def part_names(geometry: ObjectGeometry, joint: Joint) -> str:
    """Returns the names of the part that a joint moves: from `semantics.txt`, else of its visuals, else of its link.

    A link whose own name says what it is comes before its visuals, of which one may be the handle.
    """
    stated = geometry.source.semantics.get(joint.child)
    if stated:
        return _plain_words(stated)
    if names_kind(_plain_words(joint.child)):
        return _plain_words(joint.child)
    visuals = {_plain_words(re.sub(r"-\d+$", "", shape.name)) for shape in geometry.model.links[joint.child].visuals}
    visuals = {name for name in visuals if name}
    return " ".join(sorted(visuals)) or _plain_words(f"{joint.child} {joint.name}")


def _plain_words(name: str) -> str:
    # `rotation_lid`, `translation_tray`: the joint says how it moves
    words = (word for word in re.split(r"[^a-z]+", name.lower()) if word not in ("rotation", "translation"))
    return " ".join(word for word in words if word)


def _refuse_range(joint: Joint, metres: float) -> str:
    """Returns why the range of a joint fits no skill; empty if it does. `metres` are those of one unit."""
    lower, upper = joint_limits(joint)
    slides = joint.kind == "prismatic"
    moved, least = (upper - lower) * (metres if slides else 1.0), MIN_RANGE_M if slides else MIN_RANGE_RAD
    if moved >= least:
        return ""
    if lower > upper:
        return f"its lower limit {lower:g} is above its upper one {upper:g}"
    if not joint.has_range:
        return (
            f"the file does not say how far it moves: it has no limits, or some without end (from {ENDLESS:g} on); "
            "give it a range"
        )
    unit = "m" if slides else "rad"
    return f"moves by {max(moved, 0.0):.3g} {unit}, expected at least {least:.3g} {unit}"


def _refuse_part(geometry: ObjectGeometry, joint: Joint, names: str, extent: float, closed: dict[str, float]) -> str:
    """Returns why no skill fits the part of a joint on the closed object of this largest extent; empty if one does."""
    moving = geometry.moving_links(joint)
    clouds = [cloud for link in moving if len(cloud := geometry.vertices(link))]
    if not clouds:
        return "nothing can be seen of its part"
    size = max(float(np.max(np.ptp(cloud, axis=0))) for cloud in clouds)
    if size < MIN_PART_SHARE * extent:
        return f"its part measures {size:.3g} of {extent:.3g}"
    part = geometry.points(moving, closed)
    above_ground = float(part[:, 2].min() - geometry.points(geometry.model.links, closed)[:, 2].min())
    if _WHEEL_NAMES & set(names.split()) and joint.kind != "prismatic" and above_ground < _GROUND * extent:
        return "is a wheel on the ground"
    return "is inside of the closed object" if _is_hidden(geometry, moving, closed) else ""


def _is_hidden(geometry: ObjectGeometry, moving: list[str], closed: dict[str, float]) -> bool:
    """Returns whether other links are around a part on all sides."""
    poses = {name: geometry.model.link_pose(name, closed) for name in geometry.model.links}
    rest = [poses[name] @ item.mesh.triangles for name in poses if name not in moving for item in geometry.meshes(name)]
    points = surface_points([item.mesh.moved(poses[name]) for name in moving for item in geometry.meshes(name)])
    looks = (body_along(points, direction, rest) for direction in (*np.eye(3), *-np.eye(3)))
    return all(np.mean(heights < places) <= _HIDDEN for places, heights in looks)
