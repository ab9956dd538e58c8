"""Reads the meshes of an object's links once, and says which links move together."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from unlatch.objects.annotate.source import SourceObject
from unlatch.simcore.geometry import Pose
from unlatch.simcore.meshes.shape_surface import shape_mesh
from unlatch.simcore.meshes.triangle_mesh import TriangleMesh
from unlatch.simcore.urdf.model import Shape


@dataclass(frozen=True)
class LinkMesh:
    """One mesh of a link; a file that is both visual and collider is read once."""

    shape: Shape
    mesh: TriangleMesh
    """The mesh in the link frame, in the units of the source."""
    seen: bool
    touched: bool


class ObjectGeometry:
    """Meshes by link and the tree of joints; lengths are in the units of the source."""

    def __init__(self, source: SourceObject) -> None:
        """Takes an object; meshes are read when they are first used."""
        self.source = source
        self.model = source.model
        self._meshes: dict[str, list[LinkMesh]] = {}

    def meshes(self, link: str) -> list[LinkMesh]:
        """Returns the meshes of a link.

        Raises:
            AssetError: A file holds no mesh.
        """
        if link not in self._meshes:
            self._meshes[link] = self._read_meshes(link)
        return self._meshes[link]

    def vertices(self, link: str) -> np.ndarray:
        """Returns (N, 3) vertices of a link, in its frame."""
        found = [item.mesh.vertices for item in self.meshes(link)]
        return np.concatenate(found) if found else np.zeros((0, 3))

    @cached_property
    def fixed_links(self) -> list[str]:
        """Links that no joint moves relative to the root."""
        moved = [joint.child for joint in self.model.joints.values() if joint.moves]
        return [name for name in self.model.links if not any(self.model.is_below(name, top) for top in moved)]

    def _read_meshes(self, link: str) -> list[LinkMesh]:
        entry = self.model.links[link]
        seen, touched = _shapes_by_file(entry.visuals), _shapes_by_file(entry.collisions)
        result = []
        for key, shape in {**touched, **seen}.items():
            mesh = shape_mesh(shape).moved(shape.T_link_shape)
            if len(mesh.faces):
                # Some objects have no colliders: their visuals are used instead.
                result.append(LinkMesh(shape, mesh, key in seen or not seen, key in touched or not touched))
        return result


def joint_motion(kind: str, origin: np.ndarray, axis: np.ndarray, position: float) -> Pose:
    """Returns the motion of a part from joint position 0 to another [rad or units of the source], in the root frame.
    `origin` (3,) is a point on the axis; `axis` (3,) has unit length.
    """
    if kind == "prismatic":
        return Pose.from_translation(axis * position)
    half = position / 2
    turn = Pose.from_quat_xyzw(np.zeros(3), [*(axis * np.sin(half)), float(np.cos(half))])
    return Pose.from_translation(origin) @ turn @ Pose.from_translation(-origin)


def _shapes_by_file(shapes: tuple[Shape, ...]) -> dict[tuple[str, bytes], Shape]:
    # primitives have no file: their kind and size identify them
    return {
        (
            shape.mesh or f"{shape.kind.name} {shape.size}",
            np.round(shape.T_link_shape.matrix, 6).tobytes(),
        ): shape
        for shape in shapes
    }
