"""Ray casting on the CPU: surfaces, first hits of rays on placed links, shadow tests, and the shading of hits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from unlatch.simcore.cameras import Pinhole
from unlatch.simcore.geometry import Array, Pose
from unlatch.simcore.meshes.mesh_reader import SurfaceMesh
from unlatch.simcore.meshes.triangle_mesh import TriangleMesh, creased_normals, join_meshes
from unlatch.simcore.sim.visuals.visual_shapes import Light

_CREASE_RAD = np.radians(30.0)


@dataclass(frozen=True)
class FaceShading:
    """The values for shading of some triangles: of a shape, a link or a scene."""

    normals: Array
    """(F, 3) unit normals of the faces, each in the frame of its shape or link."""
    corner_normals: Array
    """(F, 3, 3) unit normals at their corners, likewise."""
    uvs: Array
    """(F, 3, 2) texture coordinates."""
    uvs_per_m: Array
    """(F,) repetitions of a picture per metre of each face."""
    shape_of_face: Array
    """(F,) index of the shape of each face."""

    def in_link(self, T_link_shape: Pose) -> FaceShading:
        """Returns the values in the frame of the link, as float32."""
        return FaceShading(
            T_link_shape.rotate(self.normals).astype(np.float32),
            T_link_shape.rotate(self.corner_normals).astype(np.float32),
            self.uvs.astype(np.float32),
            self.uvs_per_m.astype(np.float32),
            self.shape_of_face,
        )

    @classmethod
    def join(cls, parts: Sequence[FaceShading], *, shapes: Sequence[int]) -> FaceShading:
        """Joins parts; `shapes` has the number of shapes of each. Indices of shapes then count through all parts."""
        firsts = np.cumsum([0, *shapes])
        return cls(
            np.concatenate([part.normals for part in parts]),
            np.concatenate([part.corner_normals for part in parts]),
            np.concatenate([part.uvs for part in parts]),
            np.concatenate([part.uvs_per_m for part in parts]),
            np.concatenate([part.shape_of_face + first for part, first in zip(parts, firsts, strict=False)]),
        )


@dataclass(frozen=True)
class RayShape:
    """One visual shape in its own frame."""

    mesh: TriangleMesh
    """Its triangles [m]."""
    shading: FaceShading
    """Their values for shading."""
    picture: Path | None
    """The texture of its file."""
    textured: bool
    """Whether it has texture coordinates."""

    @classmethod
    def from_surface(cls, surface: SurfaceMesh, scale: Array) -> RayShape:
        """Computes the values for shading; `scale` (3,) are factors on the coordinates."""
        mesh = surface.mesh.scaled(scale)
        across = mesh.area_normals
        twice_area = np.maximum(np.linalg.norm(across, axis=1), 1e-30)
        if surface.corner_normals is None:
            at_corners = creased_normals(mesh, crease_rad=_CREASE_RAD)
        else:
            at_corners = surface.corner_normals / scale
            at_corners /= np.maximum(np.linalg.norm(at_corners, axis=-1, keepdims=True), 1e-30)
        uvs = np.zeros((len(mesh.faces), 3, 2)) if surface.corner_uvs is None else surface.corner_uvs
        (a, b), (c, d) = (uvs[:, 1] - uvs[:, 0]).T, (uvs[:, 2] - uvs[:, 0]).T
        density = np.sqrt(np.abs(a * d - b * c) / twice_area)
        first: Array = np.zeros(len(mesh.faces), dtype=int)
        shading = FaceShading(across / twice_area[:, None], at_corners, uvs, density, first)
        return cls(mesh, shading, surface.texture, surface.corner_uvs is not None)


@dataclass(frozen=True, eq=False)
class RaySurface:
    """All shapes of one link in the link's frame, with a ray tree; equal only to itself."""

    box_corners: Array
    """(8, 3) corners of its bounding box [m]."""
    shading: FaceShading
    """Values for shading of the faces of all shapes, float32."""
    pictures: tuple[Path | None, ...]
    """The texture of each shape's file."""
    textured: tuple[bool, ...]
    """Whether each shape has texture coordinates."""
    tree: Any
    """Embree's scene."""
    tree_meshes: Any
    """Objects that Embree's scene refers to; they must live as long as the tree."""

    @classmethod
    def from_shapes(cls, shapes: Sequence[tuple[Pose, RayShape]]) -> RaySurface:
        """Joins shapes, each with its pose in the link's frame, and builds the ray tree."""
        from embreex.mesh_construction import TriangleMesh as EmbreeMesh
        from embreex.rtcore_scene import EmbreeScene

        mesh = join_meshes(shape.mesh.moved(T) for T, shape in shapes)
        tree = EmbreeScene(robust=True)
        tree_meshes = EmbreeMesh(tree, mesh.vertices.astype(np.float32), mesh.faces.astype(np.int32))
        low, high = mesh.vertices.min(axis=0), mesh.vertices.max(axis=0)
        picks = np.array([[(corner >> axis) & 1 for axis in range(3)] for corner in range(8)], dtype=bool)
        return cls(
            np.where(picks, high, low),
            FaceShading.join([shape.shading.in_link(T) for T, shape in shapes], shapes=[1] * len(shapes)),
            tuple(shape.picture for _, shape in shapes),
            tuple(shape.textured for _, shape in shapes),
            tree,
            tree_meshes,
        )


_LIFT_M = 5e-4
"""Distance from the surface at which rays towards the light start: Embree's single precision is not exact."""
_BOX_MARGIN = 1e-4
"""Margin of bounding boxes, as a share of their distance."""

_EDGES = np.array([(i, i | 1 << axis) for axis in range(3) for i in range(8) if not i >> axis & 1])
"""(12, 2) edges of a box as pairs of corners, in the order of `RaySurface.box_corners`."""


@dataclass(frozen=True)
class PlacedLink:
    """One link at its pose."""

    surface: RaySurface
    T_world_link: Pose
    link_id: int
    """As in `RawImages.link_ids`."""
    rgb: tuple[tuple[float, ...], ...]
    """Colour of every shape, 0 to 1; a factor on its picture, if any."""
    pictures: tuple[Path | None, ...]
    """Picture of every shape."""
    sheet: bool
    """Whether it is visible only from its +z side and casts no shadow."""


@dataclass(frozen=True)
class Rays:
    """Rays from the centre of a camera."""

    directions: Array
    """(N, 3) float32 in the camera frame: through a pinhole with z = 1, else unit vectors."""
    pinhole: Pinhole | None
    """The pinhole whose pixels the rays are, in order; None for other rays."""
    flat: bool
    """Whether all have z = 1."""

    def batches(self) -> Iterator[Rays]:
        """Yields the rays in batches; batches of an image are whole rows."""
        width = 1 if self.pinhole is None else self.pinhole.width
        size = max(1, 32_768 // width) * width  # rays per batch; larger batches are slower because of memory
        for first in range(0, len(self.directions), size):
            directions, lens = self.directions[first : first + size], self.pinhole
            if lens is not None:
                lens = replace(lens, height=len(directions) // width, cy=lens.cy - first // width)
            yield Rays(directions, lens, self.flat)

    def indices_near(self, box: Array, *, near: float) -> Array:
        """Returns the indices of rays that may hit a box of corners (8, 3) in the camera frame, and maybe some more."""
        if not self.flat:
            return self._within_cone(box)
        front = _in_front(box, near)
        if not len(front):
            return np.zeros(0, dtype=int)
        at = front[:, :2] / front[:, 2:]
        (left, top), (right, bottom) = at.min(axis=0) - _BOX_MARGIN, at.max(axis=0) + _BOX_MARGIN
        lens = self.pinhole
        if lens is None:
            x, y = self.directions[:, 0], self.directions[:, 1]
            return np.flatnonzero((x >= left) & (x <= right) & (y >= top) & (y <= bottom))
        columns = _integers_between(left * lens.fx + lens.cx, right * lens.fx + lens.cx, lens.width)
        rows = _integers_between(top * lens.fy + lens.cy, bottom * lens.fy + lens.cy, lens.height)
        return (rows[:, None] * lens.width + columns).ravel()

    def _within_cone(self, box: Array) -> Array:
        """Returns the indices of rays within the cone around the bounding sphere of a box."""
        middle = box.mean(axis=0)
        distance, radius = float(np.linalg.norm(middle)), float(np.linalg.norm(box - middle, axis=1).max())
        if distance <= radius * (1.0 + _BOX_MARGIN):
            return np.arange(len(self.directions))
        least = np.sqrt(1.0 - (radius / distance) ** 2) - _BOX_MARGIN
        return np.flatnonzero(self.directions @ (middle / distance).astype(np.float32) >= least)


def _in_front(box: Array, near: float) -> Array:
    """Returns the corners (C, 3) of the part of a box (8, 3) at z >= near."""
    inside = box[:, 2] >= near
    if inside.all():
        return box
    crossed = inside[_EDGES[:, 0]] != inside[_EDGES[:, 1]]
    a, b = box[_EDGES[crossed, 0]], box[_EDGES[crossed, 1]]
    met = a + (near - a[:, 2:]) / (b[:, 2:] - a[:, 2:]) * (b - a)
    return np.concatenate([box[inside], met])


def _integers_between(low: float, high: float, most: int) -> Array:
    """Returns the whole numbers from low to high that are in 0 to most - 1."""
    return np.arange(int(np.clip(np.ceil(low), 0, most)), int(np.clip(np.floor(high) + 1, 0, most)))


@dataclass(frozen=True)
class RayHits:
    """The first hits of N rays."""

    link_index: Array
    """(N,) index of the link, -1 for none."""
    reach: Array
    """(N,) float32 factor on the ray's direction at which it hits; infinite for none."""
    face: Array
    """(N,) index of the triangle in the scene."""
    uv: Array
    """(N, 2) float32 barycentric shares of its second and third corner."""


class RayScene:
    """Placed links, each with its own ray tree, so that motion needs no new tree."""

    def __init__(self, links: Sequence[PlacedLink], shading: FaceShading) -> None:
        """Places links, at least one, with the joined shading of their surfaces."""
        self.links, self.shading = tuple(links), shading
        self._first_faces = np.cumsum([0, *(len(link.surface.shading.normals) for link in links)])
        self.R_world_links: Array = np.array([link.T_world_link.R for link in links], dtype=np.float32)
        """(L, 3, 3)."""
        self._corners = [link.T_world_link @ link.surface.box_corners for link in links]

    def first_hits(self, T_world_camera: Pose, rays: Rays, *, near: float, far: float) -> RayHits:
        """Returns the first hits of rays from `near` to `far`, in lengths of the rays' directions."""
        count = len(rays.directions)
        hits = RayHits(
            np.full(count, -1, dtype=np.int32),
            np.full(count, far - near, dtype=np.float32),
            np.zeros(count, dtype=np.int32),
            np.zeros((count, 2), dtype=np.float32),
        )
        T_camera_world = T_world_camera.inverse()
        boxes = [T_camera_world @ corners for corners in self._corners]
        for place in np.argsort([np.linalg.norm(box.mean(axis=0)) for box in boxes]):
            link = self.links[place]
            T_link_camera = link.T_world_link.inverse() @ T_world_camera
            if link.sheet and T_link_camera.p[2] <= 0.0:
                continue
            chosen = rays.indices_near(boxes[place], near=near)
            if rays.flat:  # rays with a hit in front of the box cannot hit it
                chosen = chosen[hits.reach.take(chosen) > boxes[place][:, 2].min() - near]
            if not len(chosen):
                continue
            along = rays.directions.take(chosen, axis=0) @ T_link_camera.R.T.astype(np.float32)
            start = T_link_camera.p.astype(np.float32) + np.float32(near) * along
            met = link.surface.tree.run(start, along, dists=hits.reach.take(chosen), output=True)
            found = np.flatnonzero(met["primID"] >= 0)
            chosen = chosen.take(found)
            hits.link_index[chosen] = place
            hits.reach[chosen] = met["tfar"].take(found)
            hits.face[chosen] = met["primID"].take(found) + self._first_faces[place]
            hits.uv[chosen] = np.stack([met["u"].take(found), met["v"].take(found)], axis=1)
        np.add(hits.reach, np.float32(near), out=hits.reach)
        hits.reach[hits.link_index < 0] = np.inf
        return hits

    def lit(self, points_world: Array, normals_world: Array, to_light: Array) -> Array:
        """Returns (N,) bool: whether nothing lies between points and a distant light.

        Args:
            points_world: (N, 3) float32 on surfaces [m].
            normals_world: (N, 3) float32 their normals, on the light's side.
            to_light: (3,) unit vector.
        """
        R_world_light = _frame_along(to_light)
        starts = points_world + np.float32(_LIFT_M) * normals_world
        x, y, z = np.ascontiguousarray((starts @ R_world_light.astype(np.float32)).T)  # z points to the light
        free: Array = np.ones(len(starts), dtype=bool)
        for link, corners in zip(self.links, self._corners, strict=True):
            if link.sheet:
                continue
            box = corners @ R_world_light
            low, high = box.min(axis=0), box.max(axis=0)
            within = free & (z < high[2]) & (x > low[0]) & (x < high[0]) & (y > low[1]) & (y < high[1])
            chosen = np.flatnonzero(within)
            if len(chosen):
                T_link_world = link.T_world_link.inverse()
                R_world_link = T_link_world.R.T.astype(np.float32)
                along = np.broadcast_to(T_link_world.rotate(to_light).astype(np.float32), (len(chosen), 3)).copy()
                begin = starts.take(chosen, axis=0) @ R_world_link + T_link_world.p.astype(np.float32)
                there = link.surface.tree.run(begin, along, query="OCCLUDED")
                free[chosen[there >= 0]] = False
        return free


def _frame_along(z: Array) -> Array:
    """Returns a rotation (3, 3) whose third column is a given unit vector."""
    aside = np.eye(3)[int(np.argmin(np.abs(z)))]
    x = np.cross(aside, z)
    x = x / np.linalg.norm(x)
    return np.column_stack([x, np.cross(z, x), z])


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
