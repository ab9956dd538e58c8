"""What a conversion has made: the URDF's model, its meshes in memory, and what a URDF cannot say."""

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
"""Beside the converted URDF."""


@dataclass(frozen=True)
class VisualMesh:
    """One surface of a link, as it is seen."""

    mesh: TriangleMesh
    """Before scaling; the same object for copies of one mesh."""
    scale: tuple[float, float, float]
    T_link_mesh: Pose
    rgba: tuple[float, float, float, float] | None
    texture: TexturedSurface | None = None
    """The same triangles with texture coordinates, where they carry a picture."""


@dataclass(frozen=True)
class ConvertedLink:
    """The geometry of one link, in its frame."""

    visuals: tuple[VisualMesh, ...] = ()
    parts: tuple[TriangleMesh, ...] = ()
    """Convex colliders, those of primitives included."""
    triangles: TriangleMesh | None = None
    """A concave collider in their place."""
    surface: tuple[TriangleMesh, ...] = ()
    """What the colliders were made from."""
    methods: dict[str, int] = field(default_factory=dict)
    """Number of pieces by how their colliders were made."""


@dataclass(frozen=True)
class ConvertedAsset:
    """One converted asset."""

    model: UrdfModel
    """As it was written."""
    links: dict[str, ConvertedLink]
    physics: dict[str, Any]
    """Content of `physics.json`."""
    fix_base: bool = False
    approximation: str | None = None
    """For a single mesh: how an engine that reads USD makes the colliders from the visual mesh."""
    notices: tuple[str, ...] = ()


def read_physics(urdf_path: Path) -> dict[str, Any]:
    """What stands in `physics.json` beside a converted URDF; empty without one.

    Args:
        urdf_path: The URDF.

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
