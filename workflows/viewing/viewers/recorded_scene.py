"""The scene of a recorded episode: bodies with their poses in every frame, points, forces and curves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from unlatch.simcore.geometry import Pose
from unlatch.workflows.viewing.picture import Rgb
from unlatch.workflows.viewing.viewers.link_meshes import ColouredMesh

Array = np.ndarray

POINT_RGB: Rgb = (250, 180, 20)
PATH_RGB: Rgb = (60, 110, 220)
_TOUCH_N = 0.1
"""Smaller forces are not shown [N]."""


@dataclass(frozen=True)
class ShownBody:
    """One rigid body: a link, a table."""

    name: str
    """Unique; slashes group bodies, as in `robot/panda_hand`."""
    meshes: tuple[ColouredMesh, ...]
    positions: Array
    """(T, 3) origin in the world frame [m]."""
    quats_xyzw: Array
    """(T, 4) orientation in the world frame."""

    @property
    def moves(self) -> bool:
        """Whether it ever leaves its first pose."""
        return bool(np.ptp(self.positions, axis=0).any() or np.ptp(self.quats_xyzw, axis=0).any())


@dataclass(frozen=True)
class ShownPoint:
    """A keypoint of the annotation."""

    name: str
    """`<object>/<part>/<keypoint>`."""
    label: str
    positions: Array
    """(T, 3) in the world frame [m]."""
    acted_on: bool = True
    """Whether a skill acted on its part; other parts have no labels."""


@dataclass(frozen=True)
class ShownForce:
    """The largest force of one contact view; the record has neither its point nor its direction."""

    name: str
    """Name of the view in the record."""
    label: str
    rgb: Rgb
    values_n: Array
    """(T,) largest force since the previous frame; 0 in the first [N]."""
    positions: Array
    """(T, 3) positions of its mark, at the tool or the hand, world frame [m]."""

    @property
    def radii_m(self) -> Array:
        """(T,) radii of a ball whose volume shows the force: twice the width is eight times the force [m]."""
        radii: Array = np.where(self.values_n > _TOUCH_N, 0.01 * np.cbrt(self.values_n), 0.0)
        return radii


@dataclass(frozen=True)
class ShownCurve:
    """One value over time, beside the forces."""

    label: str
    unit: str
    values: Array
    """(T,)."""


@dataclass(frozen=True)
class RecordedScene:
    """Everything that a viewer shows of an episode."""

    title: str
    success: bool
    notes: tuple[str, ...]
    """Instruction and failure message, one line each."""
    times_s: Array
    """(T,) times from 0 on [s]."""
    phases: tuple[str, ...]
    """Name of the phase of each frame."""
    bodies: tuple[ShownBody, ...]
    points: tuple[ShownPoint, ...] = ()
    forces: tuple[ShownForce, ...] = ()
    curves: tuple[ShownCurve, ...] = ()
    tool_paths: Mapping[str, Array] = field(default_factory=dict)
    """Path (T, 3) of the point between the fingertips by arm, world frame [m]."""
    eye: Array = field(default_factory=lambda: np.array([-0.2, -1.3, 1.0]))
    """(3,) position of the camera, world frame [m]."""
    target: Array = field(default_factory=lambda: np.array([0.4, 0.0, 0.3]))
    """(3,) point that the camera looks at, world frame [m]."""


def fixed_body(name: str, mesh: ColouredMesh, T_world_body: Pose, *, frames: int) -> ShownBody:
    """Returns a body that does not move."""
    return ShownBody(name, (mesh,), np.tile(T_world_body.p, (frames, 1)), np.tile(T_world_body.quat_xyzw, (frames, 1)))
