"""Points on the surface of an object that move with its links."""

from __future__ import annotations

import numpy as np

from unlatch.simcore.errors import AssetError
from unlatch.simcore.geometry import Array, Pose
from unlatch.simcore.meshes.shape_surface import shape_mesh
from unlatch.simcore.meshes.triangle_mesh import TriangleMesh, draw_surface_points, join_meshes
from unlatch.simcore.recording.modality import PointSurface
from unlatch.simcore.recording.object_geometry import ObjectGeometry
from unlatch.simcore.rng import sum_in_order
from unlatch.simcore.urdf.model import Link, Shape, UrdfModel


class SurfaceCloud:
    """Points on all links of an object, each fixed to its link.

    Their density is the same everywhere, or a share of them lies on one part.
    """

    def __init__(
        self,
        item: ObjectGeometry,
        n: int,
        *,
        surface: PointSurface,
        rng: np.random.Generator,
        part: str | None = None,
        part_share: float = 0.5,
    ) -> None:
        """Draws the points.

        Args:
            item: The object.
            n: Number of points.
            surface: Shapes that are used; a link that has none gives its other shapes.
            rng: Draws the points.
            part: Name of a part on which a share of the points lies; None: the density is the same everywhere.
            part_share: That share, 0 to 1; it counts all links that the joint of the part moves.

        Raises:
            AssetError: The object has no surface, or a mesh cannot be read.
        """
        model = item.model
        meshes: dict[str, list[TriangleMesh]] = {}
        for name, link in model.links.items():
            moving, T_moving_link = _moving_link(model, name)
            found = [shape_mesh(shape).moved(T_moving_link @ shape.T_link_shape) for shape in _shapes(link, surface)]
            meshes.setdefault(moving, []).extend(found)
        self._item = item
        self._links = list(meshes)
        whole = [join_meshes(meshes[name]) for name in self._links]
        if not any(mesh.area for mesh in whole):
            raise AssetError(f"'{model.name}' has no surface. Expected visuals or colliders. Set point_cloud=0.")
        on_part = np.zeros(len(whole), dtype=bool) if part is None else self._moved_by(part)
        groups = [np.flatnonzero(on_part), np.flatnonzero(~on_part)]
        areas = [sum_in_order(whole[index].area for index in group) for group in groups]
        n_part = 0 if not areas[0] else n if not areas[1] else round(n * part_share)
        drawn = [
            _draw_points(whole, group, count, rng)
            for group, count in zip(groups, (n_part, n - n_part), strict=True)
            if count
        ]
        self._points, self._owners = (np.concatenate(arrays) for arrays in zip(*drawn, strict=True))
        self._places = [np.flatnonzero(self._owners == index) for index in range(len(self._links))]

    def positions(self, positions: Array, T_base_root: Pose) -> Array:
        """Returns the points (n, 3) in the frame in which the root link has the pose `T_base_root` [m].

        Args:
            positions: (m,) positions of the object's movable joints [rad or m].
            T_base_root: Pose of its root link.
        """
        found = np.empty_like(self._points)
        for link, places in zip(self._links, self._places, strict=True):
            if len(places):
                found[places] = (T_base_root @ self._item.link_pose(link, positions)) @ self._points[places]
        return found

    def on_part(self, part: str) -> Array:
        """Returns (n,) whether the joint of a part moves each point."""
        return self._moved_by(part)[self._owners]

    def _moved_by(self, part: str) -> Array:
        """Returns for every moving link whether the joint of a part moves it."""
        model = self._item.model
        top = model.joints[self._item.parts[part].joint].child
        return np.array([model.is_below(link, top) for link in self._links])


def _draw_points(meshes: list[TriangleMesh], chosen: Array, n: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Draws n points (n, 3) on the chosen ones of some meshes, and returns (n,) the index of each point's mesh."""
    points, faces = draw_surface_points(join_meshes([meshes[index] for index in chosen]), n, rng)
    return points, np.repeat(chosen, [len(meshes[index].faces) for index in chosen])[faces]


def _moving_link(model: UrdfModel, link: str) -> tuple[str, Pose]:
    """Returns the root or the child of the nearest movable joint above a link, and the link's frame in its frame."""
    T_moving_link = Pose.identity()
    for joint in model.joints_above(link):
        if joint.moves:
            return joint.child, T_moving_link
        T_moving_link = joint.T_parent_joint @ T_moving_link
    return model.root, T_moving_link


def _shapes(link: Link, surface: PointSurface) -> tuple[Shape, ...]:
    visual = link.visuals or link.collisions
    return visual if surface is PointSurface.visual else link.collisions or link.visuals
