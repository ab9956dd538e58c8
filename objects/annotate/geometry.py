"""Reads the meshes of an object's links once, and says which links move together."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from unlatch.objects.annotate.source import SourceObject
from unlatch.simcore.meshes.shape_surface import shape_mesh
from unlatch.simcore.meshes.triangle_mesh import TriangleMesh
from unlatch.simcore.urdf.model import Joint, Shape


@dataclass(frozen=True)
class LinkMesh:
    """One mesh of a link; a file that is both visual and collider is read once."""

    shape: Shape
    mesh: TriangleMesh
    """The mesh in the link frame, in the units of the source."""
    is_visual: bool
    """Whether the mesh counts as visible; so do colliders of a link without visuals."""
    is_collider: bool
    """Whether the mesh counts as a collider; so do visuals of a link without colliders."""


class ObjectGeometry:
    """Meshes by link and the tree of joints; lengths are in the units of the source."""

    def __init__(self, source: SourceObject) -> None:
        """Takes an object; its meshes are read on first use."""
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
        return np.concatenate([np.zeros((0, 3)), *(item.mesh.vertices for item in self.meshes(link))])

    def points(self, links: Iterable[str], positions: dict[str, float] | None = None) -> np.ndarray:
        """Returns (N, 3) vertices of links in the root frame; joints without a position are at 0."""
        clouds = [self.model.link_pose(name, positions) @ self.vertices(name) for name in links]
        return np.concatenate([np.zeros((0, 3)), *clouds])

    def moving_links(self, joint: Joint) -> list[str]:
        """Returns the links that a joint moves."""
        return [name for name in self.model.links if self.model.is_below(name, joint.child)]

    @cached_property
    def fixed_links(self) -> list[str]:
        """Links that no joint moves relative to the root."""
        moved = [joint.child for joint in self.model.joints.values() if joint.moves]
        return [name for name in self.model.links if not any(self.model.is_below(name, top) for top in moved)]

    def _read_meshes(self, link: str) -> list[LinkMesh]:
        entry = self.model.links[link]
        visuals, colliders = _shapes_by_file(entry.visuals), _shapes_by_file(entry.collisions)
        result = []
        for key, shape in {**colliders, **visuals}.items():
            mesh = shape_mesh(shape).moved(shape.T_link_shape)
            if len(mesh.faces):
                is_visual, is_collider = key in visuals or not visuals, key in colliders or not colliders
                result.append(LinkMesh(shape, mesh, is_visual, is_collider))
        return result


def _shapes_by_file(shapes: tuple[Shape, ...]) -> dict[tuple[str, bytes], Shape]:
    # primitives have no file: their kind and size identify them
    return {
        (
            shape.mesh or f"{shape.kind.name} {shape.size}",
            np.round(shape.T_link_shape.matrix, 6).tobytes(),
        ): shape
        for shape in shapes
    }
