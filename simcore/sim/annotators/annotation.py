"""Annotates one image: the entities with their labels, the geometry of the world at that moment, the contract of an
annotator, and the function that runs annotators.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from typing import ClassVar

import numpy as np

from unlatch.simcore.cameras import Fisheye, Pinhole
from unlatch.simcore.catalogs import ANNOTATORS
from unlatch.simcore.errors import ConfigError, unknown_name
from unlatch.simcore.geometry import Array, Pose
from unlatch.simcore.meshes.silhouette import nearest_triangles_any_lens
from unlatch.simcore.meshes.triangle_mesh import TriangleMesh, join_meshes
from unlatch.simcore.ranges import Fraction, check_ranges
from unlatch.simcore.sim.bodies import Body
from unlatch.simcore.sim.renderers.link_geometry import link_mesh
from unlatch.simcore.sim.renderers.renderer import RawImages, RenderRequest
from unlatch.simcore.sim.visuals.pictures import link_labels, take_images
from unlatch.simcore.sim.world import World

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


@dataclass
class AnnotationCfg:
    """Selects the annotated things and the camera frame of poses."""

    semantic_types: list[str] = field(default_factory=lambda: ["class"])
    """Types of labels. A thing is annotated if it has its own label of one of them. Whole bodies have `class` and
    `body`, parts that an annotation names have `part`, and every link has `link`."""
    include_occluded: bool = False
    """Whether things without a visible pixel are annotated, too."""
    leave_out: list[str] = field(default_factory=list)
    """Classes of bodies that are not annotated, such as `table`; they still hide others."""
    camera_rotation_deg: list[float] = field(default_factory=lambda: [0.0, 0.0, 0.0])
    """Rotation from our camera frame to that of poses, about the fixed axes x, then y, then z [degrees]. Ours has x to
    the right of the image, y down, z forward; [180, 0, 0] gives OpenGL's and USD's, with y up and z backward."""
    keypoint_tolerance_m: Fraction = 0.01
    """A keypoint up to this far behind the visible surface counts as visible [m]."""

    def __post_init__(self) -> None:
        for name in self.semantic_types:
            if name not in SEMANTIC_TYPES:
                raise unknown_name(name, "a type of label", where="semantic_types", known=SEMANTIC_TYPES)
        if not self.semantic_types:
            raise ConfigError(
                f"semantic_types is empty. Expected some of {', '.join(SEMANTIC_TYPES)}. Name one.",
                key="semantic_types",
            )
        if len(self.camera_rotation_deg) != 3:
            raise ConfigError(
                f"camera_rotation_deg has {len(self.camera_rotation_deg)} numbers. Expected 3. Change it.",
                key="camera_rotation_deg",
            )
        check_ranges(self)

    def type_of(self, labels: Mapping[str, str]) -> str:
        """Returns the first of the semantic types that occurs in labels, which have at least one."""
        return next(kind for kind in self.semantic_types if kind in labels)

    @property
    def T_camera_turned(self) -> Pose:
        """Pose of the rotated camera frame in the camera's frame."""
        return Pose.from_rpy(np.zeros(3), np.radians(self.camera_rotation_deg))


BACKGROUND = {"class": "BACKGROUND"}
"""Labels of pixels that show nothing: semantic id 0."""
UNLABELLED = {"class": "UNLABELLED"}
"""Labels of pixels that show things without labels of the wanted types: semantic id 1."""


@dataclass(frozen=True)
class AnnotatedFrame:
    """An image and the geometry behind it; it does not change with the world."""

    cfg: AnnotationCfg
    """Settings of all annotators."""
    optics: Pinhole | Fisheye
    """Size and lens of the camera."""
    T_world_camera: Pose
    """Pose of its frame."""
    near_m: float
    """Distance of the near plane [m]."""
    images: RawImages
    """Colours, depth and links, without noise."""
    link_names: tuple[str, ...]
    """Label of every link; `images.link_ids` numbers them from 1."""
    all_entities: tuple[Entity, ...]
    """All things with a label of the wanted types, visible or not."""
    links: tuple[tuple[Pose, TriangleMesh], ...]
    """Pose in the world and visual mesh of every link, in the same order."""
    keypoints: Mapping[str, Array] = field(default_factory=dict)
    """Points (3,) in the world frame by name [m]."""

    @cached_property
    def _pixels_of_link(self) -> Array:
        return np.bincount(self.images.link_ids.ravel(), minlength=len(self.link_names) + 1)

    def visible_px(self, entity: Entity) -> int:
        """Returns the number of pixels that show a thing."""
        return int(self._pixels_of_link[list(entity.link_ids)].sum())

    @cached_property
    def entities(self) -> tuple[Entity, ...]:
        """The annotated things: the visible ones, or all with `include_occluded`."""
        if self.cfg.include_occluded:
            return self.all_entities
        return tuple(entity for entity in self.all_entities if self.visible_px(entity))

    @cached_property
    def id_to_labels(self) -> dict[int, dict[str, str]]:
        """Labels by semantic id; things with the same labels share one."""
        found = [BACKGROUND, UNLABELLED]
        for entity in self.all_entities:
            if dict(entity.labels) not in found:
                found.append(dict(entity.labels))
        return dict(enumerate(found))

    def semantic_id(self, entity: Entity) -> int:
        """Returns the key of a thing's labels in `id_to_labels`."""
        return next(number for number, labels in self.id_to_labels.items() if labels == dict(entity.labels))

    @cached_property
    def T_camera_world(self) -> Pose:
        """Pose of the world in the camera frame."""
        return self.T_world_camera.inverse()

    def seen_mesh(self) -> TriangleMesh:
        """Returns the mesh of all visible links, in the camera frame."""
        seen = [self.links[number - 1] for number in np.flatnonzero(self._pixels_of_link) if number]
        return join_meshes(mesh.moved(self.T_camera_world @ T) for T, mesh in seen)

    @cached_property
    def distance_m(self) -> Array:
        """(height, width) distance to the camera's centre [m]; infinite where nothing is visible."""
        if self.images.distance_m is not None:
            return self.images.distance_m
        if isinstance(self.optics, Fisheye):
            return self.images.depth_m
        return (self.images.depth_m * self.optics.ray_lengths).astype(np.float32)

    @property
    def lengths_m(self) -> Array:
        """(height, width) lengths as of `nearest_triangles`: depth for a pinhole, distance for a fisheye [m]."""
        return self.distance_m if isinstance(self.optics, Fisheye) else self.images.depth_m

    def nearest_triangles(self, mesh: TriangleMesh) -> tuple[Array, Array]:
        """Returns what a mesh in the camera frame would show at each pixel; see `nearest_triangles_any_lens`."""
        return nearest_triangles_any_lens(self.optics, mesh, near_m=self.near_m)

    def points_camera(self) -> Array:
        """(height, width, 3) visible point of each pixel, camera frame [m]; NaN where nothing is visible."""
        return self.optics.points(self.lengths_m)

    def in_camera(self, points_world: Array) -> Array:
        """Returns points (..., 3) of the world in the camera frame [m]."""
        return self.T_camera_world @ points_world

    def mask(self, entity: Entity) -> Array:
        """(height, width) bool: pixels that show a thing."""
        wanted: Array = np.zeros(len(self.link_names) + 1, dtype=bool)
        wanted[list(entity.link_ids)] = True
        return wanted[self.images.link_ids]


def take_annotated_frame(
    world: World,
    optics: Pinhole | Fisheye,
    T_world_camera: Pose,
    *,
    near_m: float,
    far_m: float,
    cfg: AnnotationCfg,
    keypoints: Mapping[str, Array] | None = None,
    images: RawImages | None = None,
) -> AnnotatedFrame:
    """Renders an image and takes the geometry of the world that annotators need.

    Args:
        world: The world.
        optics: Size and lens of the camera.
        T_world_camera: Pose of its frame.
        near_m: Distance of the near plane [m].
        far_m: Distance of the far plane [m].
        cfg: Settings of all annotators.
        keypoints: Points (3,) in the world frame by name [m].
        images: Images of the world as it is now, if they are rendered already.

    Raises:
        WorldError: The world has no visual shapes.
    """
    return AnnotatedFrame(
        cfg=cfg,
        optics=optics,
        T_world_camera=T_world_camera,
        near_m=near_m,
        images=images or take_images(world, RenderRequest(optics, T_world_camera, near_m, far_m)),
        link_names=tuple(label for label, _ in link_labels(world)),
        all_entities=tuple(list_entities(world, cfg.semantic_types, leave_out=cfg.leave_out)),
        links=tuple(list_links(world)),
        keypoints=dict(keypoints or {}),
    )


@dataclass(frozen=True)
class Output:
    """One array of an annotator."""

    name: str
    """Name, unique among all annotators."""
    shape: tuple[int | str, ...]
    """`N` things in the order of `Annotations.paths`, `K` keypoints, `H` rows and `W` columns of the image."""
    dtype: str
    """NumPy's name of the type of its values; `text` for names."""
    unit: str
    """Unit, or `-`."""
    meaning: str
    """Its content, in one sentence."""


class Annotator(ABC):
    """Computes the same arrays from every frame, and changes nothing."""

    outputs: ClassVar[tuple[Output, ...]]
    """The arrays that it computes."""

    @abstractmethod
    def annotate(self, frame: AnnotatedFrame) -> dict[str, Array]:
        """Returns the arrays by the names in `outputs`."""


@dataclass(frozen=True)
class Annotations:
    """The labels of one image."""

    values: Mapping[str, Array]
    """Arrays by the names of the annotators' outputs."""
    paths: tuple[str, ...]
    """Path of every thing; row i of an array with one row per thing belongs to path i."""
    semantic_ids: tuple[int, ...]
    """Key in `id_to_labels` of every thing."""
    id_to_labels: Mapping[int, Mapping[str, str]]
    """Labels by type."""

    def __getitem__(self, name: str) -> Array:
        return self.values[name]


def annotate(frame: AnnotatedFrame, names: Sequence[str]) -> Annotations:
    """Runs annotators on an image, by their names in the catalog.

    Raises:
        UnknownEntryError: No such annotator.
    """
    values: dict[str, Array] = {}
    for name in names:
        values.update(ANNOTATORS.load(name)().annotate(frame))
    return Annotations(
        values,
        tuple(entity.path for entity in frame.entities),
        tuple(frame.semantic_id(entity) for entity in frame.entities),
        frame.id_to_labels,
    )
