"""Collision shapes of a MuJoCo model, with Bullet's rules for what touches what and how much friction it has.

- The friction of a contact is the product of the two coefficients. MuJoCo takes the larger one, so every pair of shapes
  that may touch is an explicit contact pair with its own coefficient.
- Two shapes of which neither moves never touch. Links of one object never touch each other. Of a robot, some pairs of
  links never touch (`add_pairs` gets them).
- A mesh is one convex hull for each object of its OBJ file, and the hull grows by a margin of 1 mm.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from unlatch.simcore.errors import AssetError
from unlatch.simcore.geometry import Pose, quat_wxyz_from_xyzw
from unlatch.simcore.meshes.mesh_reader import read_mesh
from unlatch.simcore.urdf.model import Shape, ShapeKind

Array = np.ndarray

HULL_MARGIN_M = 0.001
"""By how much Bullet's convex hulls are larger than their meshes (`gUrdfDefaultCollisionMargin`)."""
CONTACT_SOLREF = (0.004, 1.0)
"""Time constant [s] and damping ratio of contacts, limits and couplings."""
_SLIGHT = 1e-5
"""A coefficient of friction that MuJoCo needs and that has no effect."""


@dataclass(frozen=True)
class Surface:
    """What decides which shapes a shape may touch, and with how much friction."""

    owner: str
    """Robot, object or fixture."""
    link: str
    moves: bool
    """Whether a joint moves it."""
    friction: float
    """Coefficient of sliding friction."""
    spinning_m: float = 0.0
    """Coefficient of friction about the normal [m]."""


class ShapeBuilder:
    """Adds shapes to the bodies of one specification, and at the end the pairs of them that may touch."""

    def __init__(self, mj: Any, spec: Any) -> None:
        """Takes the module `mujoco` and an `MjSpec`."""
        self._types = mj.mjtGeom
        self._spec = spec
        self._shapes: list[tuple[str, Surface, float]] = []
        """Name, surface and margin of each shape."""
        self._hulls: dict[tuple[Path, tuple[float, ...]], tuple[str, ...]] = {}
        """Names of meshes by file and scale: a file that is used again is added once."""

    def add(self, body: Any, shape: Shape, surface: Surface) -> None:
        """Adds a shape to a body.

        Raises:
            AssetError: MuJoCo has no such shape.
        """
        if shape.concave or (shape.kind is ShapeKind.mesh and shape.path is None):
            raise AssetError(
                f"Link '{surface.link}' of '{surface.owner}' has a collider '{shape.mesh}' that is concave or has no "
                "file. Expected convex colliders, as in converted objects. Convert the object again."
            )
        margin_m = HULL_MARGIN_M if shape.kind is ShapeKind.mesh else 0.0
        for geometry in self._geometries(shape):
            name = f"shape{len(self._shapes)}"
            pose = placed(shape.T_link_shape)
            body.add_geom(name=name, contype=0, conaffinity=0, **pose, **geometry)
            self._shapes.append((name, surface, margin_m))

    def _geometries(self, shape: Shape) -> list[dict[str, Any]]:
        if shape.kind is ShapeKind.mesh:
            return [{"type": self._types.mjGEOM_MESH, "meshname": name} for name in self._add_hulls(shape)]
        if shape.kind is ShapeKind.box:
            return [{"type": self._types.mjGEOM_BOX, "size": [0.5 * length for length in shape.size]}]
        if shape.kind is ShapeKind.cylinder:
            return [{"type": self._types.mjGEOM_CYLINDER, "size": [shape.size[0], 0.5 * shape.size[1], 0.0]}]
        return [{"type": self._types.mjGEOM_SPHERE, "size": [shape.size[0], 0.0, 0.0]}]

    def _add_hulls(self, shape: Shape) -> tuple[str, ...]:
        path = Path(str(shape.path))
        key = (path, tuple(shape.size))
        if key not in self._hulls:
            names = []
            for points in _hull_points(path):
                names.append(f"hull{len(self._hulls)}_{len(names)}")
                self._spec.add_mesh(name=names[-1], uservert=(points * np.array(shape.size)).ravel())
            self._hulls[key] = tuple(names)
        return self._hulls[key]

    def add_pairs(self, never: Mapping[str, set[frozenset[str]]]) -> None:
        """Adds all pairs of shapes that may touch.

        Args:
            never: For each owner whose links may touch each other: the pairs of links that never do.
        """
        for (name, surface, margin_m), (other_name, other, other_margin_m) in combinations(self._shapes, 2):
            if not _may_touch(surface, other, never):
                continue
            spinning_m = surface.spinning_m * other.friction + other.spinning_m * surface.friction  # as in Bullet
            sliding = surface.friction * other.friction
            pair = self._spec.add_pair(geomname1=name, geomname2=other_name)
            pair.condim = 4 if spinning_m > 0.0 else 3
            pair.friction[:] = [sliding, sliding, max(spinning_m, _SLIGHT), _SLIGHT, _SLIGHT]
            pair.margin = margin_m + other_margin_m
            pair.solref[:] = CONTACT_SOLREF


def placed(pose: Pose) -> dict[str, Array]:
    """Returns a pose as MuJoCo's attributes of a body or geom."""
    return {"pos": pose.p, "quat": quat_wxyz_from_xyzw(pose.quat_xyzw)}


def _may_touch(first: Surface, second: Surface, never: Mapping[str, set[frozenset[str]]]) -> bool:
    if not (first.moves or second.moves):
        return False
    if first.owner != second.owner:
        return True
    return first.owner in never and frozenset((first.link, second.link)) not in never[first.owner]


def _hull_points(path: Path) -> Iterator[Array]:
    """Yields (V, 3) the points of each hull that Bullet makes of a file: one for each object of an OBJ."""
    if path.suffix != ".obj":
        yield read_mesh(path).mesh.vertices
        return
    points: list[list[float]] = []
    used: list[set[int]] = [set()]
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        words = line.split()
        if words[:1] == ["v"]:
            points.append([float(word) for word in words[1:4]])
        elif words[:1] in (["o"], ["g"]):
            used.append(set())
        elif words[:1] == ["f"]:
            corners = [int(word.split("/")[0]) for word in words[1:]]
            used[-1].update(corner - 1 if corner > 0 else len(points) + corner for corner in corners)
    yield from (np.array(points)[sorted(indices)] for indices in used if indices)
