"""The part in the work frame of a hand that comes to open it: x towards the hand, z along the hinge."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from unlatch.objects.annotate.posing import PosedMesh, PosedObject
from unlatch.objects.annotation import HandleType, PartKind
from unlatch.simcore.meshes.triangle_mesh import TriangleMesh, join_meshes

GRIP_MIN_M = 0.003
GRIP_MAX_M = 0.07
"""Thicknesses that a hand of 8 cm can hold."""
PROTRUSION_MIN_M = 0.014
"""Fingers cannot reach around a handle that stands out less."""
SIDE_MIN_M = 0.005
"""A handle found only by its shape has sides of at least this depth."""
SHEET_M = 0.002
"""Thickness of the colliders of flat sheets."""
FINGER_DEPTH_M = 0.012
"""How deep the centre between the fingertips is in what they hold."""


@dataclass(frozen=True)
class NamedMesh:
    """A mesh in the work frame [m], with its name in the file."""

    name: str
    mesh: TriangleMesh


@dataclass(frozen=True)
class Grip:
    """Where and how to hold the closed part; in the work frame or, from `root_grip`, in the root frame."""

    type: HandleType
    centre: np.ndarray
    """(3,) middle of the graspable cross-section [m]."""
    R_handle: np.ndarray
    """(3, 3): x away from the part, y where the fingers close, z along."""
    size: np.ndarray
    """(3,) depth, thickness, length [m]."""
    clearance_m: float = 0.0
    """Free gap behind a bar."""
    name: str = ""
    """Name of the visual, of a named handle."""

    @property
    def is_graspable(self) -> bool:
        """Whether a hand can close around it while the object is closed."""
        return self.type in (HandleType.bar, HandleType.knob)


@dataclass(frozen=True)
class PartView:
    """Part and body in the work frame: the root frame turned, see `PosedObject.R_root_work` [m]."""

    kind: PartKind
    origin: np.ndarray
    """(3,) a point on the joint's axis."""
    axis: np.ndarray
    """(3,) unit axis of the joint."""
    rises: bool
    """Whether the axis of the joint is upright: a slider then moves up and down."""
    part: list[NamedMesh]
    """Visuals of the part; its colliders if it has none."""
    body: list[NamedMesh]
    """Visuals of the rest."""
    hint: np.ndarray | None
    """(3,) where others hold the part, if that is known and used."""

    @classmethod
    def of(cls, posed: PosedObject, *, use_info: bool) -> PartView:
        """Makes the view of a posed object; with `use_info`, the head of `info.json` is a hint."""
        R = posed.R_root_work.T
        hint = posed.info_head if use_info else None
        return cls(
            kind=posed.kind,
            origin=R @ posed.origin,
            axis=R @ posed.axis,
            rises=bool(abs(posed.axis[2]) > 0.7),
            part=_turned(posed.part_visuals or posed.part_collisions, R),
            body=_turned(posed.body_visuals or posed.body_collisions, R),
            hint=None if hint is None else R @ hint,
        )

    @property
    def slides(self) -> bool:
        """Whether the part is a slider."""
        return self.kind is PartKind.slider

    @cached_property
    def whole(self) -> TriangleMesh:
        """The whole part."""
        return join_meshes([item.mesh for item in self.part])

    @cached_property
    def rest(self) -> TriangleMesh:
        """The whole body."""
        return join_meshes([item.mesh for item in self.body])

    @cached_property
    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper corner (3,) of the part."""
        return self.whole.vertices.min(axis=0), self.whole.vertices.max(axis=0)

    @property
    def away(self) -> float:
        """+1 if the free side of a hinged part is towards +y of its axis, else -1."""
        low, high = self.bounds
        return 1.0 if high[1] - self.origin[1] > self.origin[1] - low[1] else -1.0


def root_grip(grip: Grip, R_root_work: np.ndarray) -> Grip:
    """Returns a grip of the work frame in the root frame."""
    return replace(grip, centre=R_root_work @ grip.centre, R_handle=R_root_work @ grip.R_handle)


def _turned(items: list[PosedMesh], R: np.ndarray) -> list[NamedMesh]:
    if np.array_equal(R, np.eye(3)):
        return [NamedMesh(p.shape.name, p.mesh) for p in items]
    return [NamedMesh(p.shape.name, TriangleMesh(p.mesh.vertices @ R.T, p.mesh.faces)) for p in items]
