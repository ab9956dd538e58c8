"""Convex hulls with their mass and inertia, and the colliders of an object as convex solids."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import scipy

from unlatch.simcore.errors import AssetError
from unlatch.simcore.geometry import Array, Pose
from unlatch.simcore.meshes.shape_surface import shape_mesh
from unlatch.simcore.meshes.triangle_mesh import TriangleMesh, split_components
from unlatch.simcore.rng import sum_in_order
from unlatch.simcore.urdf.model import Inertial, Shape, ShapeKind, UrdfModel
from unlatch.simcore.urdf.reader import read_urdf


def convex_hull(points: Array) -> TriangleMesh:
    """Returns the convex hull of points (N, 3), its triangles turned outwards."""
    hull = scipy.spatial.ConvexHull(points)
    used, renumbered = np.unique(hull.simplices, return_inverse=True)
    mesh = TriangleMesh(points[used], renumbered.reshape(-1, 3))
    flipped = np.einsum("ij,ij->i", mesh.area_normals, hull.equations[:, :3]) < 0
    mesh.faces[flipped] = mesh.faces[flipped][:, ::-1]
    return mesh


def mesh_hull(mesh: TriangleMesh, *, least_m: float, where: str) -> TriangleMesh:
    """Returns the convex hull of a mesh; a flat mesh or a line is thickened to `least_m` first.

    Raises:
        AssetError: The mesh has no extent at all.
    """
    points = mesh.vertices[np.unique(mesh.faces)]
    thickened, changed = thicken_points(points, least_m=least_m)
    try:
        return convex_hull(thickened if changed else points)
    except (scipy.spatial.QhullError, ValueError) as exc:
        raise AssetError(f"{where}: the mesh has no convex hull. Expected a surface. Export it again.") from exc


def thicken_points(points: Array, *, least_m: float) -> tuple[Array, bool]:
    """Spreads points (N, 3) along each principal axis until they extend at least `least_m` along it [m].

    Returns:
        The points, (N, 3) or (8 N, 3); and whether any axis was too short.
    """
    centre = points.mean(axis=0)
    _, _, axes = np.linalg.svd(points - centre, full_matrices=True)
    local = (points - centre) @ axes.T
    shifts = np.maximum(least_m - np.ptp(local, axis=0), 0.0) / 2
    thin = bool(np.any(shifts > 0))
    if thin:
        signs = np.array(np.meshgrid((-1, 1), (-1, 1), (-1, 1))).reshape(3, -1).T
        local = (local[:, None, :] + signs * shifts).reshape(-1, 3)
    return local @ axes + centre, thin


def hulls_inertial(hulls: Sequence[TriangleMesh], mass_kg: float) -> Inertial:
    """Returns mass, centre and inertia of convex pieces of one density; overlaps count twice."""
    import trimesh

    found = trimesh.triangles.mass_properties(np.concatenate([hull.triangles for hull in hulls]))
    return Inertial(mass_kg=mass_kg, com_link=found.center_mass, inertia=found.inertia * (mass_kg / found.volume))


_DENSITY_KG_M3, _LEAST_KG = 1000.0, 1e-4


def shape_inertials(model: UrdfModel) -> dict[str, Inertial]:
    """Returns mass and inertia, from its shapes, of every link that a joint moves, has shapes and states no mass.

    Each shape counts as its convex hull, with the density of water: printed and milled parts are hollow.
    """
    found = {}
    for name, link in model.links.items():
        shapes = link.collisions or link.visuals
        states_none = link.inertial is None or link.inertial.mass_kg <= 0.0
        if shapes and states_none and any(joint.moves for joint in model.joints_above(name)):
            with suppress(scipy.spatial.QhullError):  # a flat shape has no volume
                hulls = [convex_hull(shape.T_link_shape @ shape_mesh(shape).vertices) for shape in shapes]
                mass_kg = _DENSITY_KG_M3 * sum_in_order(hull.volume for hull in hulls)
                found[name] = hulls_inertial(hulls, max(_LEAST_KG, mass_kg))
    return found


_MOST_POSITIONS = 100
"""Number of joint positions whose poses of links are kept."""
_SHEET_M = 5e-4
"""Thickness of flat colliders [m]."""


@dataclass(frozen=True)
class ConvexSolid:
    """The hull of one collider, in the frame of its link [m]."""

    vertices: Array
    """(V, 3)."""
    normals: Array
    """(P, 3) unit normals of its faces, outwards."""
    offsets: Array
    """(P,) the inside is `normals @ x <= offsets`."""
    middle: Array
    """(3,) centre of its bounding sphere."""
    radius: float
    """Radius of that sphere."""


class Solids:
    """The convex colliders of an object, for queries at any joint positions."""

    def __init__(self, model: UrdfModel) -> None:
        """Takes an object with convex mesh colliders, as in converted and generated objects."""
        self.model = model
        self._solids: dict[str, tuple[ConvexSolid, ...]] = {}
        """By link; a link is read when it is first asked for."""
        self._spheres: dict[str, tuple[Array, Array]] = {}
        """(S, 3) centres and (S,) radii of the bounding spheres, by link that was read."""
        self._link_poses: dict[tuple[tuple[str, float], ...], dict[str, Pose]] = {}
        """Poses of links, by joint positions: a search asks thousands of times with the same ones."""

    @classmethod
    def from_urdf(cls, urdf: Path) -> Solids:
        """Returns the solids of a converted or generated URDF; the last ones are cached."""
        return _load_solids(urdf, urdf.stat().st_mtime_ns)

    def of_link(self, link: str) -> tuple[ConvexSolid, ...]:
        """Returns the solids of a link, in its frame."""
        if link not in self._solids:
            self._solids[link] = solids = tuple(
                convex_solid(shape.T_link_shape @ piece.vertices)
                for shape in self.model.links[link].collisions
                for piece in _pieces(shape)
            )
            self._spheres[link] = np.array([each.middle for each in solids]), np.array([each.radius for each in solids])
        return self._solids[link]

    def vertices(self, link: str) -> Array:
        """Returns corners (N, 3) of a link's solids, in its frame [m]."""
        return np.concatenate([solid.vertices for solid in self.of_link(link)] or [np.zeros((0, 3))])

    def top_heights(self, link: str, T_root_link: Pose) -> list[float]:
        """Returns the heights of the upward faces of a link's solids, in the root frame [m]."""
        return [
            float((T_root_link @ solid.vertices)[:, 2].max())
            for solid in self.of_link(link)
            if np.any(solid.normals @ T_root_link.R[2] > 0.999)  # cosine of the largest tilt of a horizontal face
        ]

    def section(self, link: str, normal: Array, at: float) -> Array:
        """Returns corner points (N, 3) of the section of a plane through a link's solids, in its frame [m].

        The plane has a unit normal (3,), and `at` is its distance from the link's origin [m].
        """
        found = [np.zeros((0, 3))]
        for solid in self.of_link(link):
            height = solid.vertices @ normal - at
            over = height >= 0.0
            above, below = solid.vertices[over], solid.vertices[~over]
            share = height[over][:, None] / (height[over][:, None] - height[~over])
            found.append((above[:, None] + share[..., None] * (below[None] - above[:, None])).reshape(-1, 3))
        return np.concatenate(found)

    def meets(
        self,
        boxes: Array,
        T_root_box: Pose,
        positions: dict[str, float],
        *,
        margin_m: float = 0.0,
        without: str | None = None,
        only: str | None = None,
    ) -> bool:
        """Returns whether any box is closer to the object than a margin.

        Solids are apart if a face plane of one separates them. Pairs that only two edges separate count as touching.

        Args:
            boxes: (B, 2, 3) lower and upper corners, in their own frame [m].
            T_root_box: Pose of that frame in the root frame of the object.
            positions: Joint positions of the object [rad or m].
            margin_m: Free space around each box [m].
            without: A link to ignore.
            only: The only link to check.
        """
        if not len(boxes):
            return False
        low, high = boxes[:, 0] - margin_m, boxes[:, 1] + margin_m
        middle = (low.min(axis=0) + high.max(axis=0)) / 2
        reach = float(np.linalg.norm(high.max(axis=0) - middle))
        for name in self.model.links:
            if name == without or only not in (None, name) or not (solids := self.of_link(name)):
                continue
            T_box_link = T_root_box.inverse() @ self._link_pose(name, positions)
            middles, radii = self._spheres[name]
            near = np.linalg.norm(T_box_link @ middles - middle, axis=1) <= reach + radii
            for solid in (solids[index] for index in np.flatnonzero(near)):
                if _any_box_touches(
                    low, high, T_box_link @ solid.vertices, solid.normals @ T_box_link.R.T, solid, T_box_link
                ):
                    return True
        return False

    def _link_pose(self, name: str, positions: dict[str, float]) -> Pose:
        key = tuple(positions.items())
        if key not in self._link_poses:
            if len(self._link_poses) >= _MOST_POSITIONS:
                self._link_poses.clear()
            self._link_poses[key] = {}
        poses = self._link_poses[key]
        if name not in poses:
            poses[name] = self.model.link_pose(name, positions)
        return poses[name]


def _pieces(shape: Shape) -> list[TriangleMesh]:
    """Returns the hulls of a collider: a file of colliders holds several."""
    mesh = shape_mesh(shape)
    return split_components(mesh) if shape.kind is ShapeKind.mesh else [mesh]


def convex_solid(points: Array) -> ConvexSolid:
    """Returns the hull of points (N, 3) [m]; flat ones are thickened."""
    try:
        hull = scipy.spatial.ConvexHull(points)
    except (scipy.spatial.QhullError, ValueError):
        offsets = np.stack(np.meshgrid(*[[-_SHEET_M / 2, _SHEET_M / 2]] * 3), axis=-1).reshape(-1, 3)
        points = (points[:, None] + offsets).reshape(-1, 3)
        hull = scipy.spatial.ConvexHull(points)
    planes = np.unique(np.round(hull.equations, 6), axis=0)
    vertices = points[hull.vertices]
    middle = (vertices.min(axis=0) + vertices.max(axis=0)) / 2
    radius = float(np.linalg.norm(vertices - middle, axis=1).max())
    return ConvexSolid(vertices, planes[:, :3], -planes[:, 3], middle, radius)


def _any_box_touches(low: Array, high: Array, vertices: Array, normals: Array, solid: ConvexSolid, T: Pose) -> bool:
    """Returns whether a box touches a solid: no axis of the box and no face of the solid separates them."""
    apart = np.any((vertices.min(axis=0) > high) | (vertices.max(axis=0) < low), axis=1)  # (B,)
    if apart.all():
        return False
    offsets = solid.offsets + normals @ T.p
    low, high = low[~apart], high[~apart]
    # the corner of each box that lies deepest behind a face
    deepest = np.where(normals > 0.0, low[:, None], high[:, None])  # (B, P, 3)
    return bool(np.any(np.all(np.einsum("bpk,pk->bp", deepest, normals) <= offsets, axis=1)))


@lru_cache(maxsize=16)
def _load_solids(urdf: Path, changed_ns: int) -> Solids:
    del changed_ns  # part of the key: a changed file is read again
    return Solids(read_urdf(urdf))
