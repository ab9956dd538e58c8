"""Colours of what rays meet: one light far away, hard shadows, pictures on surfaces."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simcore.geometry import Pose
from simcore.sim.light import Light
from simcore.sim.renderers.ray_scene import Hits, RayScene
from simcore.sim.renderers.ray_surface import picture_of

Array = np.ndarray

_SHININESS = 32
_NOTHING = 255.0


@dataclass(frozen=True)
class Shaded:
    """What N rays see."""

    rgb: Array
    """(N, 3) 0 to 255."""
    lit: Array
    """(N,) bool: whether light reaches it."""


def normals_of(scene: RayScene, hits: Hits, T_world_camera: Pose, directions: Array) -> Array:
    """(N, 3) unit normals of the triangles that were met, towards the camera, camera frame; 0 for none.

    Args:
        scene: The scene.
        hits: What was met.
        T_world_camera: Pose of the camera.
        directions: (N, 3) the rays, in the camera frame.
    """
    normals: Array = np.zeros((len(hits.which), 3))
    for place, rays in _by_shape(hits):
        shape = scene.shapes[place]
        R_camera_shape = (T_world_camera.inverse() @ shape.T_world_shape).R
        found = shape.surface.normals[hits.face[rays]] @ R_camera_shape.T
        away = np.einsum("ij,ij->i", found, directions[rays]) > 0.0
        normals[rays] = np.where(away[:, None], -found, found)
    return normals


def shaded(
    scene: RayScene,
    hits: Hits,
    T_world_camera: Pose,
    directions: Array,
    *,
    light: Light,
    shadow: bool,
    pixel_rad: float,
) -> Shaded:
    """Colours: `colour (ambient + diffuse cos(angle of incidence)) + specular`, the latter two where light reaches.

    Args:
        scene: The scene.
        hits: What was met.
        T_world_camera: Pose of the camera.
        directions: (N, 3) the rays, in the camera frame.
        light: The light.
        shadow: Whether things throw shadows.
        pixel_rad: Angle from one ray to the next [rad].
    """
    count = len(hits.which)
    rays_world = T_world_camera.rotate(directions)
    to_light = np.array(light.direction) / np.linalg.norm(light.direction)
    albedo, smooth, flat = np.zeros((count, 3)), np.zeros((count, 3)), np.zeros((count, 3))
    lengths = np.linalg.norm(directions, axis=1)
    for place, rays in _by_shape(hits):
        shape = scene.shapes[place]
        surface, face = shape.surface, hits.face[rays]
        u, v = hits.uv[rays, :1], hits.uv[rays, 1:]
        shares = np.concatenate([1.0 - u - v, u, v], axis=1)  # (M, 3)
        R = shape.T_world_shape.R
        flat[rays] = surface.normals[face] @ R.T
        smooth[rays] = np.einsum("mk,mki->mi", shares, surface.corner_normals[face]) @ R.T
        albedo[rays] = shape.rgb
        if shape.picture is not None and surface.uvs is not None:
            status = shape.picture.stat()
            picture = picture_of(shape.picture, status.st_mtime_ns, status.st_size)
            places = np.einsum("mk,mki->mi", shares, surface.uvs[face])
            footprint = hits.reach[rays] * lengths[rays] * pixel_rad * surface.uvs_per_m[face]
            albedo[rays] *= picture.at(places, footprint)
    seen = np.flatnonzero(hits.which >= 0)
    towards = -rays_world[seen] / lengths[seen, None]
    flat, smooth = _facing(flat[seen], towards), smooth[seen]
    smooth /= np.maximum(np.linalg.norm(smooth, axis=1, keepdims=True), 1e-9)
    smooth *= np.where(np.einsum("ij,ij->i", smooth, flat) < 0.0, -1.0, 1.0)[:, None]
    facing = np.clip(smooth @ to_light, 0.0, 1.0)
    lit = (facing > 0.0) & (flat @ to_light > 0.0)
    if shadow and lit.any():
        points = T_world_camera.p + rays_world[seen] * hits.reach[seen, None]
        lit[lit] = scene.lit(points[lit], flat[lit], to_light)
    half = to_light + towards
    half /= np.maximum(np.linalg.norm(half, axis=1, keepdims=True), 1e-9)
    shine = light.specular * np.clip(np.einsum("ij,ij->i", smooth, half), 0.0, 1.0) ** _SHININESS
    strength = light.ambient + light.diffuse * facing * lit
    colour = (albedo[seen] * strength[:, None] + (shine * lit)[:, None]) * np.array(light.colour)
    rgb: Array = np.full((count, 3), _NOTHING)
    rgb[seen] = 255.0 * np.clip(colour, 0.0, 1.0)
    reached: Array = np.zeros(count, dtype=bool)
    reached[seen] = lit
    return Shaded(rgb, reached)


def _by_shape(hits: Hits) -> list[tuple[int, Array]]:
    """Shapes that were met, and which rays met each."""
    order = np.argsort(hits.which, kind="stable")
    places, starts = np.unique(hits.which[order], return_index=True)
    parts = np.split(order, starts[1:])
    return [(int(place), rays) for place, rays in zip(places, parts, strict=True) if place >= 0]


def _facing(normals: Array, towards: Array) -> Array:
    away = np.einsum("ij,ij->i", normals, towards) < 0.0
    return np.where(away[:, None], -normals, normals)
