"""Closing forces of a category: which catch and gasket its doors have, and how far a part must swing to close."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from unlatch.objects.annotation import Articulation, Part, PartKind
from unlatch.objects.annotation_entries import NO_CLOSING_FORCES, Catch, ClosingForces, Gasket
from unlatch.objects.mechanisms import Closer, Latch, PushLatch, Release, SoftClose
from unlatch.simcore.rng import stream
from unlatch.simcore.urdf.model import UrdfModel

Array = np.ndarray

_SLACK = 1e-4
"""A part closes at a stop if `closed` is this close to the limit of its joint [rad or m]."""
LEAST_LEVER_M = 0.02
"""Least distance of a handle from the hinge for a force on it to open the part [m]."""


def lever_m(model: UrdfModel, part: Part, point: Array) -> float:
    """Returns how far a point (3,) of the part's link moves per unit of the joint.

    It is its distance from the hinge [m/rad]; 1 for a slider.
    """
    return float(opening_motions(model, part, point[None])[0][0])


def opening_direction(model: UrdfModel, part: Part, point: Array) -> Array:
    """Returns the (3,) unit direction in which a point (3,) of the part moves as it opens, frame of the link."""
    return opening_motions(model, part, point[None])[1][0]


def opening_motions(model: UrdfModel, part: Part, points: Array) -> tuple[Array, Array]:
    """Returns how far points (N, 3) of the part's link move per unit of the joint (N,), see `lever_m`, and the unit
    directions (N, 3) in which they move as the part opens, frame of the link.
    """
    joint = model.joints[part.joint]
    T_link_child = model.link_pose(part.link).inverse() @ model.link_pose(joint.child)
    axis = T_link_child.rotate(joint.axis / np.linalg.norm(joint.axis)) * part.openness.sign
    if part.kind is PartKind.slider:
        return np.ones(len(points)), np.tile(axis, (len(points), 1))
    moved = np.cross(axis, points - T_link_child.p)
    levers = np.linalg.norm(moved, axis=1)
    return levers, moved / np.maximum(levers, 1e-12)[:, None]


def handle_lever_m(part: Part, model: UrdfModel) -> float:
    """Returns how far the handle moves per unit of the joint, see `lever_m`."""
    return lever_m(model, part, part.keypoint("articulated_object_head").xyz)


def can_hold_closed(part: Part, model: UrdfModel) -> bool:
    """Returns whether a catch or gasket can hold a part: a limit of its joint stops it, and its handle has a lever."""
    joint = model.joints[part.joint]
    limit = joint.lower if part.openness.sign > 0.0 else joint.upper
    stops = joint.kind != "continuous" and abs(part.openness.closed - limit) <= _SLACK
    return stops and handle_lever_m(part, model) >= LEAST_LEVER_M


def closing_reach(part: Part, model: UrdfModel) -> float:
    """Returns the opening within which catch or gasket act on a part [rad or m]; 0 without them."""
    reach_m = 0.0 if part.closing_forces is None else part.closing_forces.reach_m
    return reach_m / handle_lever_m(part, model) if reach_m else 0.0


Range = tuple[float, float]


@dataclass(frozen=True)
class ForceRanges:
    """What the closing forces of one kind of part are drawn from: a uniform distribution for each value."""

    catch: dict[str, Range] = field(default_factory=dict)
    """Ranges by field of `Catch`, in the order of the draws; empty: the part has none."""
    gasket: dict[str, Range] = field(default_factory=dict)
    """The same for `Gasket`."""

    def draw(self, rng: np.random.Generator) -> ClosingForces:
        """Draws catch and gasket."""
        catch, gasket = (
            {name: round(float(rng.uniform(*bounds)), 4) for name, bounds in ranges.items()}
            for ranges in (self.catch, self.gasket)
        )
        return ClosingForces(Catch(**catch) if catch else None, Gasket(**gasket) if gasket else None)


_DRAWER = ForceRanges({"leave_n": (5.0, 15.0), "reach_m": (0.015, 0.04)})
"""Runners that pull the drawer in over its last centimetres: from the force of a detent (Accuride) up, and below the
bound for accessible furniture (ADA)."""
_SMALL_DRAWER = ForceRanges({"leave_n": (3.0, 8.0), "reach_m": (0.004, 0.01)})
"""A small chest without runners: a ball or a bead that snaps into a groove, around the force of a detent (Accuride)."""
_CABINET = ForceRanges({"leave_n": (9.0, 36.0), "reach_m": (0.003, 0.006)})
"""A magnetic catch at the edge far from the hinge: the pulls that Monroe Engineering states."""
_REFRIGERATOR = ForceRanges(gasket={"pull_n": (20.0, 50.0), "reach_m": (0.004, 0.008)})
"""A magnetic gasket: below the legal bound, around the forces that are called typical."""
_MICROWAVE = ForceRanges({"leave_n": (15.0, 40.0), "reach_m": (0.003, 0.006), "enter_n": (10.0, 25.0)})
"""Two hooks that a spring presses behind a ledge: our own choice, around the 15 to 36 N reported for appliances."""
_RUBBER = {"pull_n": (-5.0, -2.0), "reach_m": (0.008, 0.012)}
"""A rubber seal that the latch compresses: our own choice."""
_LATCHED = ForceRanges({"leave_n": (20.0, 45.0), "reach_m": (0.004, 0.008), "enter_n": (10.0, 25.0)}, _RUBBER)
"""A latch that the handle pulls open, and a rubber seal: our own choice, below the bound for washing machines."""
_OVEN = ForceRanges({"leave_n": (10.0, 30.0), "reach_m": (0.015, 0.03)})
"""Hinges with springs, which pull the door in at the end: our own choice."""

CLOSING_FORCE_RANGES: dict[tuple[str, PartKind], ForceRanges] = {
    ("cabinet", PartKind.hinge_vertical): _CABINET,
    ("desk_drawers", PartKind.slider): _SMALL_DRAWER,
    ("dishwasher", PartKind.hinge_horizontal): _LATCHED,
    ("drawer", PartKind.slider): _DRAWER,
    ("drawer_cabinet", PartKind.slider): _DRAWER,
    ("kitchen_cabinet", PartKind.hinge_vertical): _CABINET,
    ("kitchen_dishwasher", PartKind.hinge_horizontal): _LATCHED,
    ("kitchen_oven", PartKind.hinge_horizontal): _OVEN,
    ("microwave", PartKind.hinge_vertical): _MICROWAVE,
    ("oven", PartKind.hinge_horizontal): _OVEN,
    ("refrigerator", PartKind.hinge_vertical): _REFRIGERATOR,
    ("storagefurniture", PartKind.hinge_vertical): _CABINET,
    ("storagefurniture", PartKind.slider): _DRAWER,
    ("table", PartKind.slider): _DRAWER,
    ("tall_refrigerator", PartKind.hinge_vertical): _REFRIGERATOR,
    ("wardrobe", PartKind.slider): _DRAWER,
    ("washing_machine", PartKind.hinge_vertical): _LATCHED,
    ("washingmachine", PartKind.hinge_vertical): _LATCHED,
}
"""Ranges by category, in lower case, and kind of part. All other parts have neither catch nor gasket: lids, knobs and
levers; safes and doors of rooms, whose bolts a key or a lever moves; windows and toasters."""


def draw_closing_forces(category: str, kind: PartKind, rng: np.random.Generator) -> ClosingForces:
    """Draws the closing forces of a part; nothing is drawn for a part that has none."""
    ranges = CLOSING_FORCE_RANGES.get((category.lower(), kind))
    return NO_CLOSING_FORCES if ranges is None else ranges.draw(rng)


def with_drawn_forces(articulation: Articulation, category: str, rng: np.random.Generator) -> Articulation:
    """Returns the annotation with closing forces for the parts that state none, in the order of the parts.

    Parts that have none by their category stay as they are, and those that a mechanism holds or draws closed.
    """
    kinds = (Latch, PushLatch, Release, Closer, SoftClose)
    by_mechanism = {item.joint for item in articulation.mechanisms.values() if isinstance(item, kinds)}

    def complete(part: Part) -> Part:
        if part.closing_forces is not None or part.joint in by_mechanism:
            return part
        drawn = draw_closing_forces(category, part.kind, rng)
        return part if drawn == NO_CLOSING_FORCES else replace(part, closing_forces=drawn)

    return replace(articulation, parts={name: complete(part) for name, part in articulation.parts.items()})


def record_forces(articulation: Articulation) -> dict[str, float | str]:
    """Returns the closing forces of all parts for the record of an object, such as `door_catch_leave_n`."""
    forces = {name: part.closing_forces for name, part in articulation.parts.items()}
    return {key: value for name, item in forces.items() if item for key, value in item.record(name).items()}


def with_category_forces(articulation: Articulation, model: UrdfModel, *, category: str, instance: str) -> Articulation:
    """Returns the annotation of a real object with the closing forces that its file does not state.

    A part that cannot be held closed, see `can_hold_closed`, gets none. The values depend on category and instance
    only: the same object has the same catch in every episode.
    """
    drawn = with_drawn_forces(articulation, category, stream(0, f"objects.closing_forces.{category}.{instance}"))
    parts = {}
    for name, part in drawn.parts.items():
        stated = articulation.parts[name]
        fits = can_hold_closed(part, model) and part.closing_forces is not None and stated.closing_forces is None
        parts[name] = with_forces_of_mass(part, model) if fits else stated
    return replace(drawn, parts=parts)


_MOST_SPEED = {True: 0.5, False: 2.0}
"""Speed to which catch and gasket alone pull a part that stands at the end of their reach: sliders (True) [m/s], others
[rad/s]. An oven door of 6 kg and 45 cm that springs pull by 20 N over 2 cm turns by 1.4 rad/s."""


def with_forces_of_mass(part: Part, model: UrdfModel) -> Part:
    """Returns a part whose closing forces are weakened where they would throw it: it is smaller than usual."""
    forces = part.closing_forces
    if forces is None or forces.reach_m == 0.0:
        return part
    slides = part.kind is PartKind.slider
    most_j = 0.5 * moved_inertia(part.joint, model) * _MOST_SPEED[slides] ** 2
    share = most_j / max(forces.pull_j, 1e-9)
    return part if share >= 1.0 else replace(part, closing_forces=forces.weakened(share))


def moved_inertia(joint_name: str, model: UrdfModel) -> float:
    """Returns the inertia about a joint of all links that it moves [kg m^2]; of one that slides their mass [kg]."""
    joint = model.joints[joint_name]
    axis, T_child_root = joint.axis / np.linalg.norm(joint.axis), model.link_pose(joint.child).inverse()
    total = 0.0
    for name, link in model.links.items():
        inertial = link.inertial
        if inertial is None or not (name == joint.child or model.is_below(name, joint.child)):
            continue
        if joint.kind == "prismatic":
            total += inertial.mass_kg
            continue
        T = T_child_root @ model.link_pose(name)
        turned = T.R.T @ axis
        away = np.cross(axis, T @ inertial.com_link)
        total += float(turned @ inertial.inertia @ turned + inertial.mass_kg * away @ away)
    return total
