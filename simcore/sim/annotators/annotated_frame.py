"""The input of annotators: one image of a world, and the geometry of the world at that moment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from unlatch.simcore.geometry import Fisheye, Pinhole, Pose
from unlatch.simcore.meshes.silhouette import nearest_triangles_any_lens
from unlatch.simcore.meshes.triangle_mesh import TriangleMesh, join_meshes
from unlatch.simcore.sim.annotators.config import AnnotationCfg
from unlatch.simcore.sim.annotators.entity import Entity, list_entities, list_links
from unlatch.simcore.sim.renderers.renderer import RawImages, RenderRequest
from unlatch.simcore.sim.visuals.pictures import link_labels, take_images
from unlatch.simcore.sim.world import World

Array = np.ndarray

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
