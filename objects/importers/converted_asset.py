"""The result of a conversion: links and joints, their meshes in memory, and the physics that a URDF cannot hold."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from unlatch.objects.articulated_object import PHYSICS_FILE
from unlatch.simcore.errors import AssetError
from unlatch.simcore.geometry import Pose
from unlatch.simcore.meshes.textured_surface import TexturedSurface
from unlatch.simcore.meshes.triangle_mesh import TriangleMesh
from unlatch.simcore.urdf.model import Joint, Link, Shape, ShapeKind, UrdfModel


@dataclass(frozen=True)
class PlacedMesh:
    """A mesh with its place in a link, and its colour if it is drawn."""

    mesh: TriangleMesh
    """The mesh before scaling; copies of one mesh share the object."""
    scale: tuple[float, float, float] = (1.0, 1.0, 1.0)
    T_link_mesh: Pose = field(default_factory=Pose.identity)
    rgba: tuple[float, float, float, float] | None = None
    texture: TexturedSurface | None = None
    """The same triangles with texture coordinates, if they have a picture."""

    def in_link(self) -> TriangleMesh:
        """Returns the scaled mesh in the link frame; triangles of a mirrored mesh face outwards again."""
        faces = self.mesh.faces[:, ::-1] if float(np.prod(self.scale)) < 0 else self.mesh.faces
        return TriangleMesh(self.T_link_mesh @ (self.mesh.vertices * np.asarray(self.scale)), faces)


@dataclass(frozen=True)
class ConvertedLink:
    """A link as written to the URDF, and its meshes in memory."""

    link: Link
    visuals: tuple[PlacedMesh, ...] = ()
    parts: tuple[TriangleMesh, ...] = ()
    """Convex colliders in the link frame, including those of primitives."""


@dataclass(frozen=True)
class ConvertedAsset:
    """One converted asset."""

    name: str
    links: dict[str, ConvertedLink]
    joints: dict[str, Joint]
    physics: dict[str, Any]
    """Content of `physics.json`."""
    fix_base: bool = False
    approximation: str | None = None
    """For a single mesh: how an engine that reads USD makes colliders from the visual mesh."""
    notices: tuple[str, ...] = ()

    @property
    def model(self) -> UrdfModel:
        """The URDF."""
        return UrdfModel(self.name, {name: item.link for name, item in self.links.items()}, self.joints)


def mesh_collider(folder: Path, file: str, *, concave: bool = False) -> Shape:
    """Returns the collider of a mesh file in the link frame; `file` is relative to the folder of the URDF."""
    name = "triangles" if concave else "hulls"
    unscaled = (1.0, 1.0, 1.0)
    return Shape(ShapeKind.mesh, unscaled, Pose.identity(), name, mesh=file, path=folder / file, concave=concave)


def read_physics(urdf_path: Path) -> dict[str, Any]:
    """Returns the content of `physics.json` beside a converted URDF; empty without the file.

    Raises:
        AssetError: The file is damaged.
    """
    path = urdf_path.parent / PHYSICS_FILE
    if not path.is_file():
        return {}
    try:
        data = json.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError, RecursionError) as exc:
        raise AssetError(f"{path}: no readable JSON ({exc}). Convert the asset again.", path=str(path)) from exc
    if not isinstance(data, dict):
        raise AssetError(f"{path}: expected a JSON object. Convert the asset again.", path=str(path))
    return data
