"""The result of a conversion: the URDF's model, its meshes in memory, and the physics that a URDF cannot hold."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from unlatch.simcore.errors import AssetError
from unlatch.simcore.geometry import Pose
from unlatch.simcore.meshes.textured_surface import TexturedSurface
from unlatch.simcore.meshes.triangle_mesh import TriangleMesh
from unlatch.simcore.urdf.model import UrdfModel

PHYSICS_FILE = "physics.json"
"""Name of the file with the physics, beside the converted URDF."""


@dataclass(frozen=True)
class VisualMesh:
    """One visual surface of a link."""

    mesh: TriangleMesh
    """The mesh before scaling; copies of one mesh share the object."""
    scale: tuple[float, float, float]
    T_link_mesh: Pose
    rgba: tuple[float, float, float, float] | None
    texture: TexturedSurface | None = None
    """The same triangles with texture coordinates, if they have a picture."""


@dataclass(frozen=True)
class ConvertedLink:
    """The geometry of one link, in its frame."""

    visuals: tuple[VisualMesh, ...] = ()
    parts: tuple[TriangleMesh, ...] = ()
    """Convex colliders, including those of primitives."""
    triangles: TriangleMesh | None = None
    """A concave collider instead."""
    surface: tuple[TriangleMesh, ...] = ()
    """The surfaces from which the colliders were made."""
    methods: dict[str, int] = field(default_factory=dict)
    """Number of pieces by the method that made them."""


@dataclass(frozen=True)
class ConvertedAsset:
    """One converted asset."""

    model: UrdfModel
    """The URDF as written."""
    links: dict[str, ConvertedLink]
    physics: dict[str, Any]
    """Content of `physics.json`."""
    fix_base: bool = False
    approximation: str | None = None
    """For a single mesh: how an engine that reads USD makes colliders from the visual mesh."""
    notices: tuple[str, ...] = ()


def read_physics(urdf_path: Path) -> dict[str, Any]:
    """Returns the content of `physics.json` beside a converted URDF; empty without the file.

    Raises:
        AssetError: The file is damaged.
    """
    path = urdf_path.parent / PHYSICS_FILE
    if not path.is_file():
        return {}
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as exc:
        raise AssetError(f"{path}: no readable JSON ({exc}). Convert the asset again.", path=str(path)) from exc
    if not isinstance(data, dict):
        raise AssetError(f"{path}: expected a JSON object. Convert the asset again.", path=str(path))
    return data


def write_physics(physics: dict[str, Any], folder: Path) -> None:
    """Writes `physics.json` into a folder."""
    (folder / PHYSICS_FILE).write_text(json.dumps(physics, indent=1, sort_keys=True) + "\n", encoding="utf-8")
