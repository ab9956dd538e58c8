"""Freedom of a grasp: how the hand may turn and slide on the part that it leads."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum

import numpy as np

from unlatch.simcore.geometry import unit
from unlatch.solver.scene import Array, PlanningScene


class SlipMode(Enum):
    """Rotations of the hand about the contact point while the part moves."""

    fixed = "fixed"
    """No rotation: the hand moves with the part."""
    bar = "bar"
    """About the bar (the annotation's contact axis), as on a round bar."""
    side = "side"
    """About the line between the fingertips, as on a panel."""
    gimbal = "gimbal"
    """Both: the fingertip line stays at right angles to the bar."""
    cone = "cone"
    """Any rotation with the approach axis inside the cone, as a pushing fingertip."""


class Slide(Enum):
    """Line on the part along which the contact point may slide while the part moves."""

    none = "none"
    """No line: the contact point stays where it is."""
    edge = "edge"
    """Along the edge (the annotation's contact axis)."""
    across = "across"
    """At right angles to the edge, on the front of the part."""


@dataclass(frozen=True)
class Slip:
    """Freedom of the hand to turn about the contact and to slide on the part."""

    mode: SlipMode = SlipMode.fixed
    """Which rotations are free."""
    limit_rad: float = math.radians(75.0)
    """Largest angle between the approach axis and `inward_direction` [rad]; not used by `fixed`."""
    stiffness: float = 2.0
    """Weight of the motion of the hand relative to the part; a squared joint step has weight 1."""
    slide: Slide = Slide.none
    """Line along which the contact point may slide."""
    slide_m: float = 0.05
    """Largest slide to either side of the contact at the goal [m]; not used if `slide` is `none`."""

    @property
    def name(self) -> str:
        """Short name, such as `bar` or `cone, sliding across`."""
        return self.mode.value if self.slide is Slide.none else f"{self.mode.value}, sliding {self.slide.value}"


def bar_axis(scene: PlanningScene) -> Array | None:
    """Returns the (3,) direction of the held bar or edge, base frame: the annotated contact axis; None without one."""
    return scene.axes.get("link0_contact_axis", scene.axes.get("object_link0_contact_axis"))


def slide_line(scene: PlanningScene, slip: Slip, inward: Array) -> Array | None:
    """Returns the (3,) unit direction in which the contact may slide, base frame; None if it may not slide.

    `inward` (3,) is the inward direction of the part: a part without a front is slid on at right angles to it. On the
    front, a hand that comes over the edge or from inside slides as one from outside: a line along the normal would lead
    it off the part.
    """
    bar = bar_axis(scene)
    if slip.slide is Slide.none or slip.slide_m <= 0.0 or bar is None:
        return None
    if slip.slide is Slide.edge:
        return bar
    normal = front_normal(scene)
    across = np.cross(bar, inward if normal is None else normal)
    return unit(across) if float(np.linalg.norm(across)) > 1e-6 else None


def front_normal(scene: PlanningScene) -> Array | None:
    """Returns the (3,) outward normal of the front of the part, base frame; None if the annotation lacks a name.

    By the convention of the annotation, it is `cross(tail - head, contact_axis)`.
    """
    names = ("articulated_object_head", "articulated_object_tail")
    contact = bar_axis(scene)
    if contact is None or any(name not in scene.keypoints for name in names):
        return None
    normal = np.cross(scene.keypoints[names[1]] - scene.keypoints[names[0]], contact)
    return unit(normal) if float(np.linalg.norm(normal)) > 1e-6 else None


def inward_direction(scene: PlanningScene, approaches: Array) -> Array:
    """Returns the (3,) direction in which the hand comes to the part, base frame.

    It points into the front of the part or, if every hand comes from another side, over its edge. The first approach
    axis is returned if the annotation lacks a name.

    Args:
        scene: The part.
        approaches: (3,) or (G, 3) approach axes of the hand at its goals, base frame.
    """
    axes = np.atleast_2d(approaches)
    contact, normal = bar_axis(scene), front_normal(scene)
    if contact is None or normal is None:
        return unit(axes[0])
    inward, over_edge = -normal, unit(np.cross(contact, normal))
    if np.any(axes @ inward >= np.abs(axes @ over_edge)):
        return inward
    return over_edge if float(np.sum(axes @ over_edge)) >= 0.0 else -over_edge
