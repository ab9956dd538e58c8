"""The frame of a hand, and the room that it occupies: boxes about slices of fingers and palm, from their colliders."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from unlatch.robots.description import ArmCfg, RobotCfg
from unlatch.robots.models import model_path
from unlatch.simcore.cache import LRUCache
from unlatch.simcore.errors import ConfigError
from unlatch.simcore.geometry import Pose, unit
from unlatch.simcore.meshes.shape_surface import shape_mesh
from unlatch.simcore.meshes.triangle_mesh import sample_surface
from unlatch.simcore.urdf.model import UrdfModel
from unlatch.simcore.urdf.reader import read_urdf

Array = np.ndarray

PAD_M = 0.018
"""Length of the pads that hold, from the fingertips [m]."""
_TOOL_KEYPOINTS = ("tool_head", "tool_tail", "tool_side")
_SPACING_M = 0.002
_ALIKE_M = 1e-4
_ALONG = 0.999
"""Cosine of the angle to an axis below which a direction is given by its numbers: 2.6 degrees."""
_SHAPES: LRUCache[HandShape] = LRUCache(16)
_SLICE_M = 0.015
"""Thickness of a slice: fingers are thinner at their tips."""


def tool_frame(keypoints: Mapping[str, Sequence[float]]) -> Pose:
    """Returns `T_ee_tool`: x from the palm to the fingertips, y where the fingers open, origin `tool_head`."""
    head, tail, side = (np.array(keypoints[name]) for name in _TOOL_KEYPOINTS)
    x = unit(head - tail)
    y = unit(side - head - x * float((side - head) @ x))
    return Pose(np.column_stack([x, y, np.cross(x, y)]), head)


def describe_hand_frame(arm: ArmCfg) -> str:
    """Returns where the hand of an arm approaches, opens and holds, in the frame of its ee link.

    Robots differ in this: the hand of a Franka approaches along +z of its link, that of others along +x. The tool
    keypoints define it.
    """
    T_ee_tool = tool_frame(arm.keypoints)
    place = ", ".join(f"{1e3 * value + 0.0:.0f}" for value in T_ee_tool.p)
    opening = describe_direction(T_ee_tool.R[:, 1]).lstrip("+-")
    return (
        f"frame of {arm.ee_link}: approaches along {describe_direction(T_ee_tool.R[:, 0])}, opens along {opening}, "
        f"holds at ({place}) mm"
    )


def describe_direction(direction: Array) -> str:
    """Returns the signed axis that a unit vector equals, or else its numbers."""
    axis = int(np.argmax(np.abs(direction)))
    if abs(float(direction[axis])) >= _ALONG:
        return f"{'+' if direction[axis] > 0 else '-'}{'xyz'[axis]}"
    return "(" + ", ".join(f"{value + 0.0:.2f}" for value in direction) + ")"


@dataclass(frozen=True)
class HandShape:
    """A hand as boxes about slices of its links, in the tool frame of `tool_frame`."""

    fingers: Array
    """(F, W, 2, 3) lower and upper corners, at each opening, of the boxes that may touch the part [m]."""
    palm: Array
    """(P, W, 2, 3) those of the boxes that may not touch it [m]."""
    widths_m: tuple[float, ...]
    """The openings at which the boxes are known, from closed to wide open [m]."""

    @property
    def max_width_m(self) -> float:
        """Opening between the pads when wide open [m]."""
        return self.widths_m[-1]

    def takes_same_room(self, other: HandShape) -> bool:
        """Returns whether two hands occupy the same room."""
        pairs = [(self.fingers, other.fingers), (self.palm, other.palm)]
        return self.widths_m == other.widths_m and all(
            first.shape == second.shape and np.allclose(first, second, atol=_ALIKE_M) for first, second in pairs
        )

    @property
    def tip_m(self) -> float:
        """How far the fingertips reach beyond `tool_head`, at the opening where they reach furthest [m]."""
        return float(self.fingers[:, :, 1, 0].max())

    @property
    def tip_half_m(self) -> float:
        """Distance of the outermost corner of the closed fingertips from the axis of the hand [m]."""
        fingers, _ = self.boxes(0.0)
        tips = fingers[fingers[:, 1, 0] > self.tip_m - _SLICE_M]
        return float(np.linalg.norm(np.abs(tips[:, :, 1:]).max(axis=(0, 1))))

    def gap_box(self, width_m: float) -> Array:
        """Returns (1, 2, 3) corners of the box between the pads at an opening, tool frame [m]."""
        fingers, _ = self.boxes(width_m)
        low, high = float(fingers[:, 0, 2].max()), float(fingers[:, 1, 2].min())
        return np.array([[[self.tip_m - PAD_M, -width_m / 2, low], [self.tip_m, width_m / 2, high]]])

    def boxes(self, width_m: float) -> tuple[Array, Array]:
        """Returns (F, 2, 3) and (P, 2, 3) corners of the boxes of fingers and palm at an opening, tool frame [m]."""
        widths = np.array(self.widths_m)
        i = int(np.clip(np.searchsorted(widths, width_m, side="right") - 1, 0, len(widths) - 2))
        share = float(np.clip((width_m - widths[i]) / (widths[i + 1] - widths[i]), 0.0, 1.0))
        fingers, palm = ((1.0 - share) * boxes[:, i] + share * boxes[:, i + 1] for boxes in (self.fingers, self.palm))
        return fingers, palm


def hand_shape(robot: RobotCfg | str, arm: ArmCfg) -> HandShape:
    """Returns the hand of an arm in the tool frame of its keypoints; the result is cached.

    Raises:
        ConfigError: A keypoint is missing.
        AssetError: The model is not there, or damaged.
    """
    called = robot if isinstance(robot, str) else robot.name
    for name in _TOOL_KEYPOINTS:
        if name not in arm.keypoints:
            raise ConfigError(
                f"arm.keypoints.{name} of robot '{called}' is missing. It gives the tool frame of the hand. Add it.",
                key=f"arm.keypoints.{name}",
            )
    urdf, ee, gripper, fingers = model_path(robot), arm.ee_link, arm.gripper, frozenset(arm.gripper.finger_links)
    widths = tuple(float(width) for width in gripper.widths_m) or (0.0, float(gripper.max_width_m))
    points = {name: tuple(float(v) for v in arm.keypoints[name]) for name in _TOOL_KEYPOINTS}
    positions = [tuple(zip(gripper.joints, gripper.positions(width), strict=True)) for width in widths]

    def make() -> HandShape:
        model, T_ee_tool = read_urdf(urdf, packages=True), tool_frame(points)
        below = [name for name in model.links if model.is_below(name, ee)]
        at = [_link_clouds(model, ee, T_ee_tool, below, dict(each)) for each in positions]
        no_box = np.zeros((0, len(widths), 2, 3))
        boxes = {name: _slice_boxes([clouds[name] for clouds in at]) for name in at[0]}
        return HandShape(
            fingers=np.concatenate([no_box, *(found for name, found in boxes.items() if name in fingers)]),
            palm=np.concatenate([no_box, *(found for name, found in boxes.items() if name not in fingers)]),
            widths_m=widths,
        )

    return _SHAPES.get((urdf, ee, tuple(points.items()), fingers, widths, tuple(positions)), make)


def hand_shapes(robot: RobotCfg, *, arm: str | None = None) -> list[HandShape]:
    """Returns the hands of a robot in the order of its arms, each shape once. `arm` names the only arm to look at."""
    found: list[HandShape] = []
    for each in robot.arms:
        hand = hand_shape(robot, each) if arm in (None, each.name) else None
        if hand is not None and not any(hand.takes_same_room(other) for other in found):
            found.append(hand)
    return found


def _link_clouds(
    model: UrdfModel, ee: str, T_ee_tool: Pose, links: Sequence[str], positions: Mapping[str, float]
) -> dict[str, Array]:
    """Returns (N, 3) points over the colliders of links, tool frame [m]; a link has the same points at any position."""
    at = dict(positions)
    T_tool_root = (model.link_pose(ee, at) @ T_ee_tool).inverse()
    clouds = {}
    for name in links:
        T_tool_link = T_tool_root @ model.link_pose(name, at)
        points = collider_points(model, name, spacing_m=_SPACING_M)
        if len(points):
            clouds[name] = T_tool_link @ points
    return clouds


def collider_points(model: UrdfModel, link: str, *, spacing_m: float) -> Array:
    """Returns (N, 3) points over the colliders of a link, link frame [m]."""
    found = [
        sample_surface(shape_mesh(shape).moved(shape.T_link_shape), spacing_m=spacing_m)
        for shape in model.links[link].collisions
    ]
    return np.concatenate(found) if found else np.zeros((0, 3))


def _slice_boxes(clouds: Sequence[Array]) -> Array:
    """Returns (S, W, 2, 3) boxes about slices along x of a link's points, (N, 3) at each of W openings [m].

    A slice has the same points at every opening.
    """
    closed = clouds[0]
    low, high = float(closed[:, 0].min()), float(closed[:, 0].max())
    cuts = np.linspace(low, high, max(1, round((high - low) / _SLICE_M)) + 1)
    boxes = []
    for first, last in pairwise(cuts):
        inside = (closed[:, 0] >= first - _SPACING_M) & (closed[:, 0] <= last + _SPACING_M)
        boxes.append([[points[inside].min(axis=0), points[inside].max(axis=0)] for points in clouds])
    return np.array(boxes)
