"""Shading of hits: one distant light, hard shadows, textures."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import numpy as np
from PIL import Image

from unlatch.simcore.geometry import Pose
from unlatch.simcore.sim.renderers.ray_scene import RayHits, Rays, RayScene
from unlatch.simcore.sim.visuals.visual_shapes import Light

Array = np.ndarray

_SHININESS = 32
_BACKGROUND = 255.0


def hit_normals(scene: RayScene, hits: RayHits, T_world_camera: Pose, rays: Rays) -> Array:
    """Returns unit normals (N, 3) of the hit triangles, towards the camera, camera frame; 0 for none."""
    R_camera_links = T_world_camera.R.T.astype(np.float32) @ scene.R_world_links
    found = _rotate_each(R_camera_links, hits.link_index, scene.shading.normals.take(hits.face, axis=0))
    found = _face_towards(found, -rays.directions)
    found[hits.link_index < 0] = 0.0
    return found


def shade_hits(
    scene: RayScene,
    hits: RayHits,
    T_world_camera: Pose,
    rays: Rays,
    *,
    light: Light,
    shadow: bool,
    pixel_rad: float,
) -> tuple[Array, Array]:
    """Returns colours: `colour (ambient + light diffuse cos(angle of incidence)) + light specular`.

    In this formula `light` is the light's colour where it reaches the surface, and 0 elsewhere.

    Args:
        scene: The placed links.
        hits: The first hits of the rays.
        T_world_camera: Pose of the camera.
        rays: The rays.
        light: Direction, colour and strengths of the light.
        shadow: Whether bodies cast shadows.
        pixel_rad: Angle between neighbouring rays [rad].

    Returns:
        (N, 3) float32 colours, 0 to 255, and (N,) bool whether light reaches the visible surface.
    """
    to_light = np.array(light.direction) / np.linalg.norm(light.direction)
    towards_light = to_light.astype(np.float32)
    seen = np.flatnonzero(hits.link_index >= 0)
    which: Array
    face: Array
    uv: Array
    which, face, uv = hits.link_index.take(seen), hits.face.take(seen), hits.uv.take(seen, axis=0)
    shares = np.stack([1.0 - uv[:, 0] - uv[:, 1], uv[:, 0], uv[:, 1]])[:, :, None]  # (3, M, 1)
    along = rays.directions.take(seen, axis=0) @ T_world_camera.R.T.astype(np.float32)
    lengths = np.sqrt(np.einsum("ij,ij->i", along, along))
    towards = along / -lengths[:, None]
    R = scene.R_world_links
    flat = _face_towards(_rotate_each(R, which, scene.shading.normals.take(face, axis=0)), towards)
    smooth = _face_towards(
        _normalize(_rotate_each(R, which, _interpolate(shares, scene.shading.corner_normals.take(face, axis=0)))), flat
    )
    facing = np.clip(smooth @ towards_light, 0.0, 1.0)
    lit = (facing > 0.0) & (flat @ towards_light > 0.0)
    if shadow and lit.any():
        meets = np.flatnonzero(lit)
        reach: Array = hits.reach.take(seen.take(meets))
        points = T_world_camera.p.astype(np.float32) + along.take(meets, axis=0) * reach[:, None]
        lit[meets] = scene.lit(points, flat.take(meets, axis=0), to_light)
    shine = np.clip(np.einsum("ij,ij->i", smooth, _normalize(towards + towards_light)), 0.0, 1.0) ** _SHININESS
    albedo = _surface_colours(scene, face, shares, hits.reach.take(seen) * lengths * np.float32(pixel_rad))
    thrown = lit[:, None] * np.array(light.colour, dtype=np.float32)
    colour = albedo * (light.ambient + light.diffuse * facing[:, None] * thrown)
    colour += light.specular * shine[:, None] * thrown
    rgb: Array = np.full((len(hits.link_index), 3), _BACKGROUND, dtype=np.float32)
    rgb[seen] = 255.0 * np.clip(colour, 0.0, 1.0)
    reached: Array = np.zeros(len(hits.link_index), dtype=bool)
    reached[seen] = lit
    return rgb, reached


def _surface_colours(scene: RayScene, face: Array, shares: Array, pixel_m: Array) -> Array:
    """Returns colours (M, 3) at points of triangles `face` (M,) by the shares (3, M, 1) of their corners.

    `pixel_m` (M,) is the width that a pixel covers on the surface [m].
    """
    shading = scene.shading
    shapes: Array = shading.shape_of_face.take(face)
    albedo = np.array([rgb for link in scene.links for rgb in link.rgb], dtype=np.float32).take(shapes, axis=0)
    carriers: dict[Path, list[int]] = {}
    for place, picture in enumerate(picture for link in scene.links for picture in link.pictures):
        if picture is not None:
            carriers.setdefault(picture, []).append(place)
    count = sum(len(link.rgb) for link in scene.links)
    for path, places in carriers.items():
        carries: Array = np.zeros(count, dtype=bool)
        carries[places] = True
        here = np.flatnonzero(carries[shapes])
        if len(here):
            faces: Array = face.take(here)
            uvs = _interpolate(shares.take(here, axis=1), shading.uvs.take(faces, axis=0))
            albedo[here] *= _read_picture(path).at(uvs, pixel_m.take(here) * shading.uvs_per_m.take(faces))
    return albedo


def _rotate_each(R: Array, which: Array, vectors: Array) -> Array:
    """Rotates vectors (N, 3), each by one of (L, 3, 3); written out, which is fastest in NumPy."""
    own = R.transpose(0, 2, 1).reshape(-1, 9).take(which, axis=0)
    return own[:, :3] * vectors[:, :1] + own[:, 3:6] * vectors[:, 1:2] + own[:, 6:] * vectors[:, 2:]


def _interpolate(shares: Array, values: Array) -> Array:
    """Interpolates values (M, 3, n) at corners by shares (3, M, 1) to (M, n)."""
    return shares[0] * values[:, 0] + shares[1] * values[:, 1] + shares[2] * values[:, 2]


def _normalize(vectors: Array) -> Array:
    return vectors / np.sqrt(np.maximum(np.einsum("ij,ij->i", vectors, vectors), np.float32(1e-18)))[:, None]


def _face_towards(normals: Array, towards: Array) -> Array:
    """Returns normals (N, 3), flipped to the side of directions (N, 3)."""
    return np.where(np.einsum("ij,ij->i", normals, towards)[:, None] < 0.0, -normals, normals)


class _Picture:
    """A repeating picture at several resolutions, each half of the previous one."""

    def __init__(self, path: Path) -> None:
        with Image.open(path) as image:
            level: Array = np.asarray(image.convert("RGB"), dtype=np.float32) / np.float32(255.0)
        self._levels = [level]
        while min(level.shape[:2]) > 1:
            rows, columns = level.shape[0] // 2 * 2, level.shape[1] // 2 * 2
            level = level[:rows, :columns].reshape(rows // 2, 2, columns // 2, 2, 3).mean(axis=(1, 3))
            self._levels.append(level)

    def at(self, uvs: Array, footprint: Array) -> Array:
        """Returns colours (N, 3), 0 to 1, at uvs (N, 2) where a pixel covers a share (N,) of the picture's side."""
        side = max(self._levels[0].shape[:2])
        wanted = np.rint(np.log2(np.maximum(footprint * side, 1.0)))
        which = np.minimum(wanted, len(self._levels) - 1).astype(int)
        found: Array = np.empty((len(uvs), 3), dtype=np.float32)
        for number in np.flatnonzero(np.bincount(which)):
            here = np.flatnonzero(which == number)
            found[here] = _sample_bilinear(self._levels[number], uvs.take(here, axis=0))
        return found


def _sample_bilinear(picture: Array, uvs: Array) -> Array:
    height, width = picture.shape[:2]
    x, y = uvs[:, 0] * width - 0.5, (1.0 - uvs[:, 1]) * height - 0.5
    left, top = np.floor(x).astype(int), np.floor(y).astype(int)
    right_share, down_share = (x - left)[:, None], (y - top)[:, None]
    texels = picture.reshape(-1, 3)
    rows, columns = (top % height * width, (top + 1) % height * width), (left % width, (left + 1) % width)

    def mixed(row: Array) -> Array:
        left_colour: Array = texels.take(row + columns[0], axis=0)
        return left_colour + right_share * (texels.take(row + columns[1], axis=0) - left_colour)

    upper = mixed(rows[0])
    return upper + down_share * (mixed(rows[1]) - upper)


def _read_picture(path: Path) -> _Picture:
    """Returns the picture of a file; a changed file is read again."""
    status = path.stat()
    return _open_picture(path, status.st_mtime_ns, status.st_size)


@lru_cache(maxsize=64)
def _open_picture(path: Path, _mtime_ns: int, _size: int) -> _Picture:
    return _Picture(path)
