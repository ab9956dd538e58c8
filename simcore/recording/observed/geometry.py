"""The column `geometry`: the numbers that describe the part an arm acts on, in the base frame of the arm."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from unlatch.simcore.geometry import Pose
from unlatch.simcore.recording.observed.object_geometry import ObjectGeometry, PartGeometry
from unlatch.simcore.recording.observed.scene import ObservedScene

Array = np.ndarray
_AXES = ("x", "y", "z")


@dataclass(frozen=True)
class GeometryEntry:
    """Some numbers of the column `geometry`."""

    name: str
    words: tuple[str, ...]
    """Endings of the names of its numbers; empty: one number. `kinds` and `types` stand for those of the scene."""
    unit: str
    meaning: str
    """What the numbers mean, and their frame."""

    def table_row(self) -> str:
        """Returns the row of this entry in the table of the page."""
        own = {"kinds": "a kind of part", "types": "a type of grip"}
        words = ", ".join(own.get(word, f"`{word}`") for word in self.words)
        return f"| `{self.name}` | {words or 'one number'} | {self.unit} | {self.meaning} |"


GEOMETRY: tuple[GeometryEntry, ...] = (
    GeometryEntry("body.center", _AXES, "m", "Centre of the box around the closed object, base frame of the arm."),
    GeometryEntry("body.front", _AXES, "-", "Direction out of the object's front, base frame of the arm."),
    GeometryEntry(
        "body.size", ("depth", "width", "height"), "m", "Extents of that box along the front, across it and upwards."
    ),
    GeometryEntry(
        "part.center", _AXES, "m", "Centre of the box around the part, handle included, base frame of the arm."
    ),
    GeometryEntry("part.normal", _AXES, "-", "Direction out of the plane of the part, base frame of the arm."),
    GeometryEntry(
        "part.size",
        ("depth", "across", "along"),
        "m",
        "Extents of that box along the normal, across and along the grip.",
    ),
    GeometryEntry("part.kind", ("kinds",), "-", "1 for the kind of the part, 0 for the other kinds."),
    GeometryEntry(
        "hinge.point",
        _AXES,
        "m",
        "Point on the axis of the joint nearest to the grip, base frame of the arm. For a part that slides: the grip.",
    ),
    GeometryEntry(
        "hinge.axis",
        _AXES,
        "-",
        "Axis of the joint, base frame of the arm. The part opens by a positive turn about it, or a motion along it.",
    ),
    GeometryEntry("hinge.slides", (), "-", "1 if the part slides along the axis, 0 if it turns about it."),
    GeometryEntry("joint.opening", (), "rad or m", "How far the part is from closed, towards open."),
    GeometryEntry("joint.span", (), "rad or m", "Distance from closed to fully open."),
    GeometryEntry(
        "joint.limits",
        ("least", "most"),
        "rad or m",
        "Least and largest opening that the limits of the joint allow; for a joint without limits, 0 and the span.",
    ),
    GeometryEntry(
        "grip.center",
        _AXES,
        "m",
        "Centre of what the fingers hold, base frame of the arm. Without a handle: the keypoint at which a hand acts.",
    ),
    GeometryEntry("grip.out", _AXES, "-", "Direction from the part to a hand that holds it, base frame of the arm."),
    GeometryEntry(
        "grip.along",
        _AXES,
        "-",
        "Direction along the handle or edge, base frame of the arm. Of a closed object: left, up or to the front.",
    ),
    GeometryEntry(
        "grip.size",
        ("depth", "thickness", "length"),
        "m",
        "Extents of what the fingers hold: away from the part, across and along it. 0 without a handle.",
    ),
    GeometryEntry("grip.type", ("types",), "-", "1 for what the fingers hold, 0 for the other types."),
)
"""The numbers of the column in their order. `docs/export.md` has the same table."""


def geometry_names(scene: ObservedScene) -> tuple[str, ...]:
    """Returns the names of the numbers, such as `geometry.hinge.point.x`."""
    words = {"kinds": scene.part_kinds, "types": scene.grip_types}
    names: list[str] = []
    for entry in GEOMETRY:
        endings = [word for each in entry.words for word in words.get(each, (each,))]
        names += [f"geometry.{entry.name}.{word}" for word in endings] or [f"geometry.{entry.name}"]
    return tuple(names)


def geometry_values(
    scene: ObservedScene, item: ObjectGeometry, part: PartGeometry, *, T_base_root: Pose, positions: Array
) -> Array:
    """Returns the numbers of one frame, in the order of `geometry_names`.

    Args:
        scene: Gives the order of the kinds.
        item: The object.
        part: The part of it that the arm acts on.
        T_base_root: Root link frame of the object in the base frame of the arm.
        positions: (m,) positions of the object's movable joints [rad or m].
    """
    T_base_link = T_base_root @ item.link_pose(part.link, positions)
    T_base_box, T_base_grip = T_base_link @ part.T_link_box, T_base_link @ part.T_link_grip
    lower, upper = item.bounds
    openings = [part.sign * (s - part.closed) for s in (float(positions[item.joints.index(part.joint)]), *part.limits)]
    return np.concatenate(
        [
            T_base_root @ ((lower + upper) / 2),
            T_base_root.R[:, 0],
            upper - lower,
            T_base_box.p,
            T_base_box.R[:, 0],
            part.box_size,
            _one_hot(part.kind, scene.part_kinds),
            T_base_link @ part.hinge_point,
            T_base_link.rotate(part.hinge_axis),
            [float(part.slides), openings[0], abs(part.open - part.closed), *sorted(openings[1:])],
            T_base_grip.p,
            T_base_grip.R[:, 0],
            T_base_grip.R[:, 2],
            part.grip_size,
            _one_hot(part.grip_type, scene.grip_types),
        ]
    )


def _one_hot(word: str, words: Sequence[str]) -> list[float]:
    return [float(word == each) for each in words]
