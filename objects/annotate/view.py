"""A part in the work frame of the hand that opens it: x points towards the hand, z along the hinge."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from unlatch.objects.annotate.posing import PosedMesh, PosedObject
from unlatch.objects.annotation import HandleType, PartKind
from unlatch.simcore.meshes.triangle_mesh import TriangleMesh, join_meshes

HANDLE_NAMES = ("handle",)
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
    """(3, 3): x away from the part, y the closing direction of the fingers, z along the handle."""
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
    free_side: float
    """+1 if the side of +y of the axis of a hinge moves out (towards +x) when the part opens, else -1."""
    is_switch: bool
    """Whether a finger presses the part on one side of its axis."""
    rises: bool
    """Whether the axis of the joint is upright: a slider then moves up and down."""
    part: list[NamedMesh]
    """Visuals of the part; its colliders if it has none."""
    body: list[NamedMesh]
    """Visuals of the rest; its colliders if it has none."""
    front: np.ndarray | None
    """(3,) `PosedObject.plane_front`."""
    hint: np.ndarray | None
    """(3,) where another project holds the part; None if that is unknown or not used."""

    @classmethod
    def of(cls, posed: PosedObject, *, use_info: bool) -> PartView:
        """Makes the view of a posed object; with `use_info`, the hint is the head in `info.json`."""
        R = posed.R_root_work.T
        hint = posed.info_head if use_info else None
        return cls(
            kind=posed.kind,
            origin=R @ posed.origin,
            axis=R @ posed.axis,
            free_side=posed.opens if float((R @ posed.axis)[2]) < 0.0 else -posed.opens,
            is_switch=posed.is_switch,
            rises=bool(abs(posed.axis[2]) > 0.7),
            part=_turn_meshes(posed.part_visuals or posed.part_collisions, R),
            body=_turn_meshes(posed.body_visuals or posed.body_collisions, R),
            front=None if posed.plane_front is None else R @ posed.plane_front,
            hint=None if hint is None else R @ hint,
        )

    @property
    def slides(self) -> bool:
        """Whether the part is a slider."""
        return self.kind is PartKind.slider

    @cached_property
    def part_mesh(self) -> TriangleMesh:
        """The meshes of the part as one."""
        return join_meshes([item.mesh for item in self.part])

    @cached_property
    def body_mesh(self) -> TriangleMesh:
        """The meshes of the body as one."""
        return join_meshes([item.mesh for item in self.body])

    @cached_property
    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper corner (3,) of the part."""
        return self.part_mesh.vertices.min(axis=0), self.part_mesh.vertices.max(axis=0)


def root_grip(grip: Grip, R_root_work: np.ndarray) -> Grip:
    """Returns a grip of the work frame in the root frame."""
    return replace(grip, centre=R_root_work @ grip.centre, R_handle=R_root_work @ grip.R_handle)


def _turn_meshes(items: list[PosedMesh], R: np.ndarray) -> list[NamedMesh]:
    if np.array_equal(R, np.eye(3)):
        return [NamedMesh(p.shape.name, p.mesh) for p in items]
    return [NamedMesh(p.shape.name, TriangleMesh(p.mesh.vertices @ R.T, p.mesh.faces)) for p in items]


def named_meshes(view: PartView, prefixes: tuple[str, ...]) -> list[NamedMesh]:
    """Returns the meshes whose names begin with a prefix; none if the part consists only of them."""
    groups: dict[str, list[TriangleMesh]] = {}
    for item in view.part:
        if item.name.startswith(prefixes):
            groups.setdefault(item.name, []).append(item.mesh)
    if sum(len(meshes) for meshes in groups.values()) == len(view.part):
        return []
    return [NamedMesh(name, join_meshes(meshes)) for name, meshes in groups.items()]
