"""Annotated things: bodies and links, with labels of several types."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np

from unlatch.simcore.geometry import Pose
from unlatch.simcore.meshes.triangle_mesh import TriangleMesh, join_meshes
from unlatch.simcore.sim.bodies import Body
from unlatch.simcore.sim.visuals.pictures import link_labels
from unlatch.simcore.sim.visuals.visual_geometry import link_mesh
from unlatch.simcore.sim.world import World

Array = np.ndarray

SEMANTIC_TYPES = ("class", "body", "part", "link")
"""Types of labels: bodies have the first two, links also the last two; a part is a link that an annotation names."""
CORNER_SIGNS = np.array(
    [[1, -1, 1], [-1, -1, 1], [-1, 1, 1], [1, 1, 1], [1, -1, -1], [-1, -1, -1], [-1, 1, -1], [1, 1, -1]]
)
"""(8, 3) signs of the corners of a box around its centre, in the order of DOPE's cuboids."""


@dataclass(frozen=True)
class Entity:
    """One thing with labels. Its frame is that of the body's root link, or of the link."""

    path: str
    """`/<body>` or `/<body>/<link>`."""
    labels: Mapping[str, str]
    """Its labels by type, including those of its body."""
    link_ids: tuple[int, ...]
    """Numbers of its links in `RawImages.link_ids`."""
    T_world_entity: Pose
    """Pose of its frame."""
    pieces: tuple[tuple[Pose, TriangleMesh], ...]
    """Pose in its frame and visual mesh of each link."""

    def mesh(self, T_a_world: Pose) -> TriangleMesh:
        """Returns its visual mesh in a frame a."""
        T_a_entity = T_a_world @ self.T_world_entity
        return join_meshes(piece.moved(T_a_entity @ T) for T, piece in self.pieces)

    @cached_property
    def hull_points_world(self) -> Array:
        """(H, 3) points with the same extents as its visual mesh along any direction, world frame [m]."""
        clouds = [self.T_world_entity @ T @ piece.hull_points for T, piece in self.pieces]
        return np.concatenate([np.zeros((0, 3)), *clouds])

    @cached_property
    def extents(self) -> Array:
        """(2, 3) lower and upper corner of its box in its frame [m]; NaN without a visual mesh."""
        points = self.T_world_entity.inverse() @ self.hull_points_world
        if not len(points):
            return np.full((2, 3), np.nan)
        return np.stack([points.min(axis=0), points.max(axis=0)])

    @property
    def corners(self) -> Array:
        """(8, 3) corners of that box in the world frame [m], in the order of `CORNER_SIGNS`."""
        low, high = self.extents
        return self.T_world_entity @ np.where(CORNER_SIGNS > 0, high, low)

    @property
    def centre(self) -> Array:
        """(3,) middle of that box in the world frame [m]."""
        return self.T_world_entity @ self.extents.mean(axis=0)


def list_entities(world: World, semantic_types: Sequence[str], *, leave_out: Sequence[str] = ()) -> list[Entity]:
    """Returns all things that have their own label of one of the types, except bodies of the classes in `leave_out`.

    Bodies come before their links. The world must have visual shapes.
    """
    number = {label: index for index, (label, _) in enumerate(link_labels(world), start=1)}
    found = []
    for body in world.seen_bodies():
        if body.semantic_class in leave_out:
            continue
        ids = {link: number[body.label(index)] for link, index in body.links.items()}
        if {"class", "body"} & set(semantic_types):
            found.append(_body_entity(body, ids, semantic_types))
        found += [
            _link_entity(body, link, ids[link], semantic_types)
            for link in body.links
            if "link" in semantic_types or ("part" in semantic_types and link in body.part_names)
        ]
    return found


def list_links(world: World) -> list[tuple[Pose, TriangleMesh]]:
    """Returns pose in the world and visual mesh of every link, in the order of `link_labels`."""
    return [(body.link_pose(link), link_mesh(body, link)) for body in world.seen_bodies() for link in body.links]


def _body_entity(body: Body, ids: Mapping[str, int], semantic_types: Sequence[str]) -> Entity:
    T_world_root = body.root_pose()
    T_root_world = T_world_root.inverse()
    pieces = tuple((T_root_world @ body.link_pose(link), link_mesh(body, link)) for link in ids)
    return Entity(f"/{body.name}", _list_labels(body, None, semantic_types), tuple(ids.values()), T_world_root, pieces)


def _link_entity(body: Body, link: str, link_id: int, semantic_types: Sequence[str]) -> Entity:
    pieces = ((Pose.identity(), link_mesh(body, link)),)
    path, labels = f"/{body.name}/{link}", _list_labels(body, link, semantic_types)
    return Entity(path, labels, (link_id,), body.link_pose(link), pieces)


def _list_labels(body: Body, link: str | None, semantic_types: Sequence[str]) -> dict[str, str]:
    labels = {"class": body.semantic_class, "body": body.name}
    if link is not None:
        labels["link"] = link
        if link in body.part_names:
            labels["part"] = body.part_names[link]
    return {kind: labels[kind] for kind in SEMANTIC_TYPES if kind in semantic_types and kind in labels}


def box_edges() -> list[tuple[int, int]]:
    """Returns the edges of a box as pairs of corners in the order of `CORNER_SIGNS`."""
    pairs = combinations(range(8), 2)
    return [(i, j) for i, j in pairs if np.count_nonzero(CORNER_SIGNS[i] != CORNER_SIGNS[j]) == 1]
