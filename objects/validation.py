"""Checks an annotation against the geometry and the joints of its object, and the classes that an option names."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import TYPE_CHECKING

import numpy as np

from unlatch.objects.annotation import FREE_KEYPOINT_NAMES, KEYPOINT_NAMES, Articulation, Part, PartKind
from unlatch.objects.articulated_object import ObjectAsset
from unlatch.objects.closing_force_values import LEAST_LEVER_M, can_hold_closed, handle_lever_m
from unlatch.objects.procedural.catalog import GENERATORS
from unlatch.simcore.errors import AssetError, ConfigError, close_matches
from unlatch.simcore.meshes.shape_surface import surface_distance
from unlatch.simcore.urdf.model import Joint, UrdfModel, rigid_shapes

if TYPE_CHECKING:
    from unlatch.simcore.sim.world import World

ON_PART_M = 0.01
"""A keypoint lies on its link if it is this close to its surface [m] ..."""
ON_PART_SHARE = 0.02
"""... or this close as a share of the object's largest extent."""
_UNIT = 1e-3
_LEAST_HEIGHT_M = 1e-3
_PARALLEL = 0.999
_ORTHOGONAL = 0.05
_LIMIT_SLACK = 1e-6
_TURNING = (PartKind.hinge_vertical, PartKind.hinge_horizontal, PartKind.lid, PartKind.knob, PartKind.lever)


def validate_articulation(asset: ObjectAsset) -> list[str]:
    """Returns what is wrong with the annotation of an object, one line each; empty if nothing is wrong.

    Raises:
        AssetError: The URDF itself cannot be read.
    """
    return articulation_problems(asset.articulation, asset.model, size_m=float(np.max(asset.size_m)))


def check_articulation(asset: ObjectAsset) -> None:
    """Checks that the annotation of an object fits it.

    Raises:
        AssetError: It does not fit. The message states the first problem and how many more there are.
    """
    raise_problems(validate_articulation(asset), where=str(asset.urdf_path.parent))


def raise_problems(problems: list[str], *, where: str) -> None:
    """Raises an error with the first problem, if there is one.

    Raises:
        AssetError: The list is not empty.
    """
    if problems:
        more = f" ({len(problems) - 1} more)" if len(problems) > 1 else ""
        raise AssetError(f"{where}: {problems[0]}{more}", path=where, problems=problems)


def articulation_problems(articulation: Articulation, model: UrdfModel, *, size_m: float) -> list[str]:
    """Returns the problems of an annotation with a URDF in memory."""
    problems = [*_free_problems(articulation, model), *_region_problems(articulation, model)]
    for part in articulation.parts.values():
        where = f"part '{part.name}'"
        joint = model.joints.get(part.joint)
        if joint is None:
            known = ", ".join(model.joints)
            problems.append(f"{where}: joint '{part.joint}' is not in the URDF. Joints: {known}.")
            continue
        missing = [link for link in (part.link, part.base) if link not in model.links]
        if missing:
            problems.append(f"{where}: link '{missing[0]}' is not in the URDF. Links: {', '.join(model.links)}.")
            continue
        found = _joint_problems(part, joint, model)
        found += _keypoint_problems(part, model, size_m=size_m)
        if not found:
            found += _axis_problems(part, joint) + _closing_problems(part, joint, model)
        problems += [f"{where}: {problem}" for problem in found]
    if articulation.mechanisms:
        from unlatch.objects.mechanism_problems import mechanism_problems  # few objects have any

        problems += mechanism_problems(articulation.mechanisms, parts=articulation.joint_ranges(), model=model)
    return problems


def _free_problems(articulation: Articulation, model: UrdfModel) -> list[str]:
    problems = [
        f"keypoint '{name}' is in frame '{point.frame}', expected 'obj'."
        for name, point in articulation.keypoints.items()
        if point.frame != "obj"
    ]
    if not articulation.free:
        return problems
    if any(joint.moves for joint in model.joints.values()):
        problems.append("free is true, but the URDF has joints that move. Only rigid objects can be carried.")
    missing = [name for name in FREE_KEYPOINT_NAMES if name not in articulation.keypoints]
    if missing:
        return [*problems, f"keypoint '{missing[0]}' is missing, which a free object needs."]
    bottom, top = (articulation.keypoints[name].xyz for name in FREE_KEYPOINT_NAMES)
    if float(np.linalg.norm(top - bottom)) < _LEAST_HEIGHT_M:
        problems.append(f"keypoints bottom_center and top_center are less than {_LEAST_HEIGHT_M:g} m apart.")
    mass_kg = sum(link.inertial.mass_kg for link in model.links.values() if link.inertial is not None)
    if not mass_kg > 0.0:
        problems.append("free is true, but its links have no mass. Add inertials to the URDF.")
    return problems


def _region_problems(articulation: Articulation, model: UrdfModel) -> list[str]:
    problems = []
    for name, region in (articulation.regions or {}).items():
        if region.link not in model.links:
            problems.append(
                f"region '{name}': link '{region.link}' is not in the URDF. Links: {', '.join(model.links)}."
            )
        if region.part is not None and region.part not in articulation.parts:
            problems.append(f"region '{name}': part '{region.part}' is not one of {', '.join(articulation.parts)}.")
    return problems


def _joint_problems(part: Part, joint: Joint, model: UrdfModel) -> list[str]:
    problems = []
    if not joint.moves:
        problems.append(
            f"joint '{joint.name}' is {joint.kind}; a part needs a revolute, prismatic or continuous joint."
        )
        return problems
    slides = joint.kind == "prismatic"
    if slides != (part.kind is PartKind.slider):
        problems.append(f"kind is {part.kind.name}, but joint '{joint.name}' is {joint.kind}.")
    if not _moves_with(part.link, joint, model):
        problems.append(f"link '{part.link}' is not moved by joint '{joint.name}', whose child is '{joint.child}'.")
    if _moves_with(part.base, joint, model):
        problems.append(f"base '{part.base}' moves with joint '{joint.name}'.")
    unit = "m" if slides else "rad"
    if part.openness.closed == part.openness.open:
        problems.append(f"openness closed and open are both {part.openness.open:g} {unit}.")
    if joint.kind == "continuous":
        return problems
    if joint.lower >= joint.upper:
        problems.append(f"joint '{joint.name}' cannot move: limits {joint.lower:g} to {joint.upper:g} {unit}.")
    for name, value in (("closed", part.openness.closed), ("open", part.openness.open)):
        if not joint.lower - _LIMIT_SLACK <= value <= joint.upper + _LIMIT_SLACK:
            problems.append(
                f"openness {name} is {value:g} {unit}, outside the limits {joint.lower:g} to {joint.upper:g} {unit} "
                f"of joint '{joint.name}'."
            )
    return problems


def _closing_problems(part: Part, joint: Joint, model: UrdfModel) -> list[str]:
    if part.closing_forces is None or part.closing_forces.reach_m == 0.0 or can_hold_closed(part, model):
        return []
    unit = "m" if part.kind is PartKind.slider else "rad"
    limit = joint.lower if part.openness.sign > 0 else joint.upper
    end = "joint has none" if joint.kind == "continuous" else f"limit is {limit:g} {unit}"
    lever = (
        "" if part.kind is PartKind.slider else f", the handle is {handle_lever_m(part, model):.3f} m from the hinge"
    )
    return [
        "closing_forces need a part that closes at a limit of its joint and has a handle at least "
        f"{100 * LEAST_LEVER_M:g} cm from the hinge. `closed` is {part.openness.closed:g} {unit}, the {end}{lever}. "
        "Remove closing_forces, or correct closed."
    ]


def _keypoint_problems(part: Part, model: UrdfModel, *, size_m: float) -> list[str]:
    problems = [f"keypoint '{name}' is missing." for name in KEYPOINT_NAMES if name not in part.keypoints]
    if problems:
        return problems
    allowed = max(ON_PART_M, ON_PART_SHARE * size_m)
    shapes_of = {link: rigid_shapes(model, link) for link in (part.link, part.base)}
    for name in ("articulated_object_head", "link_contact_point", "base_contact_point"):
        keypoint = part.keypoints[name]
        wanted = "base" if name.startswith("base") else "link"
        if not np.all(np.isfinite(keypoint.xyz)):
            problems.append(f"keypoint '{name}' is {keypoint.xyz.tolist()}, expected finite numbers.")
            continue
        if keypoint.frame != wanted:
            problems.append(f"keypoint '{name}' is in frame '{keypoint.frame}', expected '{wanted}'.")
            continue
        link = part.base if wanted == "base" else part.link
        shapes = shapes_of[link]
        if not shapes and wanted == "base":
            continue  # a part that slides on something invisible has nothing to press against
        slack = allowed
        if name == "articulated_object_head":
            # The head is the centre of what the fingers hold, or of a knob that is too wide for them, so it lies half a
            # thickness below the surface. The size is 0 where there is nothing to hold.
            slack += float(np.min(part.handle.size)) / 2
        distance = surface_distance(shapes, keypoint.xyz)
        if distance > slack:
            problems.append(
                f"keypoint '{name}' lies {distance:.4f} m from the surface of link '{link}', "
                f"at most {slack:.4f} m is allowed."
            )
    return problems


def _axis_problems(part: Part, joint: Joint) -> list[str]:
    turns = part.kind in _TURNING
    wanted = ["link0_rot_axis" if turns else "link0_move_axis", "link0_contact_axis", "base_front_axis"]
    problems = [f"axis '{name}' is missing." for name in wanted if name not in part.axes]
    for name in wanted:
        frame = "base" if name.startswith("base") else "link"
        if name in part.axes and part.axes[name].frame not in (frame, "obj" if frame == "base" else frame):
            problems.append(f"axis '{name}' is in frame '{part.axes[name].frame}', expected '{frame}'.")
    for name, axis in part.axes.items():
        length = float(np.linalg.norm(axis.xyz))
        if not abs(length - 1.0) < _UNIT:
            problems.append(f"axis '{name}' has length {length:.4f}, expected 1.")
    if problems:
        return problems
    joint_axis = joint.axis / np.linalg.norm(joint.axis)  # the joint frame is the child link's frame
    moving = part.axes[wanted[0]].xyz
    opens = float(np.sign(part.openness.open - part.openness.closed))
    along = float(moving @ joint_axis)
    if turns and abs(along) < _PARALLEL:
        problems.append(
            f"link0_rot_axis is {_to_degrees(abs(along)):.1f} degrees off the axis of joint '{joint.name}'."
        )
    if not turns and along * opens < _PARALLEL:
        problems.append(
            f"link0_move_axis is {_to_degrees(along * opens):.1f} degrees off the opening direction of joint "
            f"'{joint.name}'."
        )
    head = part.keypoints["articulated_object_head"].xyz
    tail = part.keypoints["articulated_object_tail"].xyz - head
    length = float(np.linalg.norm(tail))
    if length < 1e-3:
        return [*problems, f"head and tail are {length:.4f} m apart, expected at least 0.001 m."]
    tail = tail / length
    across = abs(float(tail @ moving))
    if across > _ORTHOGONAL and not (turns and across > _PARALLEL):
        # Fingers close across a bar, which runs along the hinge or, on some doors, across it.
        problems.append(f"head to tail is {90 - _to_degrees(across):.1f} degrees off the plane across {wanted[0]}.")
    contact = part.axes["link0_contact_axis"].xyz
    if abs(float(tail @ contact)) > _ORTHOGONAL:
        problems.append("link0_contact_axis is not at a right angle to head to tail.")
        return problems
    outward = np.cross(tail, contact)
    motion = opens * (np.cross(joint_axis, head) if turns else joint_axis)
    speed = float(np.linalg.norm(motion))
    # Knobs and levers turn in their own plane: only doors, lids and sliders open towards the outward normal.
    if part.kind not in (PartKind.knob, PartKind.lever) and float(motion @ outward) < 0.3 * speed:
        problems.append("(tail - head) x link0_contact_axis does not point to where the part opens.")
    return problems


def _moves_with(link: str, joint: Joint, model: UrdfModel) -> bool:
    nearest = next((above for above in model.joints_above(link) if above.moves or above.child == joint.child), None)
    return nearest is not None and nearest.child == joint.child


def _to_degrees(cosine: float) -> float:
    return float(np.degrees(np.arccos(np.clip(cosine, -1.0, 1.0))))


SURROUNDINGS = ("table", "stand", "floor", "wall", "ceiling", "window", "furniture", "robot_mount")
"""Classes of the table, of a robot's stand and of rooms."""
IN_SCENES = ("distractor", "plinth", "robot", *SURROUNDINGS)
"""Classes of bodies other than objects; the class of an object is its category."""
_NEAR = 0.8
"""Smallest similarity, from 0 to 1, of a misspelt name to a known one; `my_table` is not a misspelling of `table`."""


def check_classes(names: Iterable[str], world: World, *, key: str) -> None:
    """Raises for a class that is unknown and similar to a known one.

    A class that is similar to none passes: it may be the category of an object in another episode.

    Raises:
        ConfigError: A class is misspelt.
    """
    from unlatch.objects.importers.partnet_source import CATEGORIES

    known = {*IN_SCENES, *CATEGORIES, *GENERATORS.names(), *(body.semantic_class for body in world.seen_bodies())}
    for name in names:
        if name not in known and get_close_matches(name, known, cutoff=_NEAR):
            here = ", ".join(sorted({body.semantic_class for body in world.seen_bodies()}))
            raise ConfigError(
                f"{key} has '{name}', which is not a known class.{close_matches(name, known)} Expected classes as "
                f"in segmentation images; those here: {here}. Correct it.",
                key=key,
                available=sorted(known),
            )
