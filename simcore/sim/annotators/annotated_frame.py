"""All that annotators work from: one image of a world with what the world knew when it was made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

import numpy as np

from unlatch.simcore.geometry import Fisheye, Pinhole, Pose
from unlatch.simcore.meshes.silhouette import nearest_through
from unlatch.simcore.meshes.triangle_mesh import TriangleMesh, join_meshes
from unlatch.simcore.sim.annotators.config import AnnotationCfg
from unlatch.simcore.sim.annotators.entity import Entity, entities_of, links_of
from unlatch.simcore.sim.renderers.render_request import RenderRequest
from unlatch.simcore.sim.renderers.renderer import RawImages
from unlatch.simcore.sim.visuals.pictures import link_labels, take_images
from unlatch.simcore.sim.world import World

Array = np.ndarray

BACKGROUND = {"class": "BACKGROUND"}
"""Labels of where nothing is seen: semantic id 0."""
UNLABELLED = {"class": "UNLABELLED"}
"""Labels of what has none of the semantic types that were asked for: semantic id 1."""


@dataclass(frozen=True)
class AnnotatedFrame:
    """An image and the geometry behind it; nothing in it changes with the world."""

    cfg: AnnotationCfg
    """What all annotators are told."""
    optics: Pinhole | Fisheye
    """Size and lens of the camera."""
    T_world_camera: Pose
    """Pose of its frame."""
    near_m: float
    """Nothing nearer is seen [m]."""
    images: RawImages
    """Colours, depth and links, without noise."""
    link_names: tuple[str, ...]
    """Label of every link, in the order of `images.link_ids`, which counts from 1."""
    all_entities: tuple[Entity, ...]
    """Everything with a label of the types that were asked for, seen or not."""
    links: tuple[tuple[Pose, TriangleMesh], ...]
    """Pose in the world of every link and what can be seen of it, in the same order."""
    keypoints: Mapping[str, Array] = field(default_factory=dict)
    """Points (3,) in the world frame by name [m]."""

    @cached_property
    def _pixels_of_link(self) -> Array:
        return np.bincount(self.images.link_ids.ravel(), minlength=len(self.link_names) + 1)

    def visible_px(self, entity: Entity) -> int:
        """How many pixels show a thing."""
        return int(self._pixels_of_link[list(entity.link_ids)].sum())

    @cached_property
    def entities(self) -> tuple[Entity, ...]:
        """What is annotated: without what is not seen, unless that was asked for."""
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
        """The key of a thing's labels in `id_to_labels`."""
        return next(number for number, labels in self.id_to_labels.items() if labels == dict(entity.labels))

    @cached_property
    def T_camera_world(self) -> Pose:
        """Pose of the world in the camera frame."""
        return self.T_world_camera.inverse()

    def seen_mesh(self) -> TriangleMesh:
        """Every link of which a pixel is seen, in the camera frame."""
        seen = [self.links[number - 1] for number in np.flatnonzero(self._pixels_of_link) if number]
        return join_meshes(mesh.moved(self.T_camera_world @ T) for T, mesh in seen)

    @cached_property
    def distance_m(self) -> Array:
        """(height, width) distance to the camera's centre [m]; infinite where nothing is seen."""
        if self.images.distance_m is not None or isinstance(self.optics, Fisheye):
            return self.images.depth_m if self.images.distance_m is None else self.images.distance_m
        return (self.images.depth_m * ray_lengths(self.optics)).astype(np.float32)

    @property
    def lengths_m(self) -> Array:
        """(height, width) what `nearest` compares with: depth of a pinhole, distance of a fisheye [m]."""
        return self.distance_m if isinstance(self.optics, Fisheye) else self.images.depth_m

    def nearest(self, mesh: TriangleMesh) -> tuple[Array, Array]:
        """Which triangles of a mesh in the camera frame every pixel would show; see `nearest_through`."""
        return nearest_through(self.optics, mesh, near_m=self.near_m)

    def points_camera(self) -> Array:
        """(height, width, 3) where each pixel's ray meets a surface, camera frame [m]; NaN where nothing is seen."""
        if isinstance(self.optics, Pinhole):
            return self.optics.points(self.images.depth_m)
        return self.optics.rays() * np.where(np.isfinite(self.distance_m), self.distance_m, np.nan)[..., None]

    def in_camera(self, points_world: Array) -> Array:
        """Points (..., 3) of the world in the camera frame [m]."""
        return self.T_camera_world @ points_world

    def mask(self, entity: Entity) -> Array:
        """(height, width) bool: the pixels that show a thing."""
        wanted: Array = np.zeros(len(self.link_names) + 1, dtype=bool)
        wanted[list(entity.link_ids)] = True
        return wanted[self.images.link_ids]


@lru_cache(maxsize=8)
def ray_lengths(pinhole: Pinhole) -> Array:
    """(height, width) distance to the camera's centre over depth, of the cameras that were used last."""
    lengths = pinhole.ray_lengths()
    lengths.setflags(write=False)
    return lengths


def take_annotated_frame(
    world: World,
    optics: Pinhole | Fisheye,
    T_world_camera: Pose,
    *,
    near_m: float,
    far_m: float,
    cfg: AnnotationCfg,
    keypoints: Mapping[str, Array] | None = None,
) -> AnnotatedFrame:
    """Makes an image and keeps what annotators need of the world.

    Args:
        world: The world, loaded with visual shapes.
        optics: Size and lens.
        T_world_camera: Pose of the camera's frame.
        near_m: Nothing nearer is seen [m].
        far_m: Nothing farther is seen [m].
        cfg: What all annotators are told.
        keypoints: Points (3,) in the world frame by name [m].

    Raises:
        WorldError: The world has no visual shapes.
    """
    images = take_images(world, RenderRequest(optics, T_world_camera, near_m, far_m))
    return make_annotated_frame(world, images, optics, T_world_camera, near_m=near_m, cfg=cfg, keypoints=keypoints)


def make_annotated_frame(
    world: World,
    images: RawImages,
    optics: Pinhole | Fisheye,
    T_world_camera: Pose,
    *,
    near_m: float,
    cfg: AnnotationCfg,
    keypoints: Mapping[str, Array] | None = None,
) -> AnnotatedFrame:
    """The same of an image that was made already, of the world as it is now; arguments as of `take_annotated_frame`."""
    return AnnotatedFrame(
        cfg=cfg,
        optics=optics,
        T_world_camera=T_world_camera,
        near_m=near_m,
        images=images,
        link_names=tuple(label for label, _ in link_labels(world)),
        all_entities=tuple(entities_of(world, cfg.semantic_types, leave_out=cfg.leave_out)),
        links=tuple(links_of(world)),
        keypoints=dict(keypoints or {}),
    )
