"""The links of a scene of pygfx: their triangles, their materials, and the level of detail at which they are drawn."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from unlatch.simcore.geometry import Pose
from unlatch.simcore.sim.renderers.light import HEADROOM, decode_srgb, use_sloped_bias
from unlatch.simcore.sim.renderers.link_geometry import (
    DrawnLink,
    ShapeGeometry,
    bounding_sphere,
    can_simplify,
    simplify_shape,
)
from unlatch.simcore.sim.renderers.pygfx_passes import PosedLink, UploadedMesh
from unlatch.simcore.sim.visuals.visual_shapes import Finish, Paint


class LinkGeometry:
    """The triangles of one link."""

    def __init__(self, shapes: list[ShapeGeometry], mesh: UploadedMesh) -> None:
        self.shapes, self.mesh = shapes, mesh
        self.sphere = bounding_sphere(shapes) if any(can_simplify(shape) for shape in shapes) else None
        """Centre and radius of a sphere around it [m]; None if it has no levels of detail."""
        self._by_level: dict[int, list[ShapeGeometry]] = {}

    def at_level(self, level: int | None) -> list[ShapeGeometry]:
        """Returns its shapes at a level of detail, which are made once."""
        if level is None:
            return self.shapes
        if level not in self._by_level:
            self._by_level[level] = [simplify_shape(shape, level) for shape in self.shapes]
        return self._by_level[level]


class _LinkMeshes:
    """The meshes of pygfx of one link at one level of detail, one for each material."""

    def __init__(self, objects: list[Any]) -> None:
        self.objects = objects
        self._T_world_link: Pose | None = None

    def move(self, T_world_link: Pose) -> None:
        """Places them."""
        if T_world_link is not self._T_world_link:
            self._T_world_link = T_world_link
            for item in self.objects:
                item.local.matrix = T_world_link.matrix

    def set_visible(self, visible: bool) -> None:
        """Shows or hides them."""
        for item in self.objects:
            item.visible = visible


class ShownLink:
    """One link as it is drawn now."""

    def __init__(self, link: DrawnLink, geometry: LinkGeometry) -> None:
        self.link, self.body = link, link.body
        self.geometry = geometry
        self.paints: tuple[Paint, ...] = ()
        self.T_world_link = Pose.identity()
        """Where it is drawn."""
        self._by_level: dict[int | None, _LinkMeshes] = {}
        self._shown: _LinkMeshes | None = None

    @property
    def objects(self) -> list[Any]:
        """Its meshes of pygfx, those of other levels of detail included."""
        return [item for meshes in self._by_level.values() for item in meshes.objects]

    @property
    def glows(self) -> bool:
        """Whether all of it emits light."""
        return all(shape.finish.emission > 0.0 for shape in self.geometry.shapes)

    def placed(self) -> PosedLink:
        """Returns the link for the exact drawing."""
        return PosedLink(self.geometry.mesh, self.T_world_link, self.link.link_id, self.body.sheet)

    def paint(self, paints: tuple[Paint, ...]) -> None:
        """Sets its appearance; meshes of pygfx are made again."""
        self.paints = paints
        self._by_level, self._shown = {}, None

    def show(self, level: int | None) -> list[Any]:
        """Draws it at a level of detail from now on, at its present pose; returns meshes that are new."""
        new: list[Any] = []
        meshes = self._by_level.get(level)
        if meshes is None:
            new = self._make_objects(level)
            meshes = self._by_level[level] = _LinkMeshes(new)
        if meshes is not self._shown:
            if self._shown is not None:
                self._shown.set_visible(False)
            meshes.set_visible(True)
            self._shown = meshes
        meshes.move(self.T_world_link)
        return new

    def _make_objects(self, level: int | None) -> list[Any]:
        """Makes its meshes: shapes with the same material become one mesh, coloured by vertex."""
        groups: dict[tuple[Path | None, Finish, bool], list[tuple[ShapeGeometry, Paint]]] = {}
        by_level = zip(self.geometry.shapes, self.geometry.at_level(level), self.paints, strict=True)
        for full, simplified, paint in by_level:
            clear = paint.rgba[3] < 1.0
            shape = full if clear else simplified  # the order of its triangles decides what is seen through it
            picture = (paint.picture or shape.picture) if shape.textured else None
            groups.setdefault((picture, shape.finish, clear), []).append((shape, paint))
        return [
            _make_mesh(members, picture, finish, clear=clear, sheet=self.body.sheet)
            for (picture, finish, clear), members in groups.items()
        ]


def _make_mesh(
    members: Sequence[tuple[ShapeGeometry, Paint]], picture: Path | None, finish: Finish, *, clear: bool, sheet: bool
) -> Any:
    import pygfx as gfx

    firsts = np.cumsum([0, *(len(shape.vertices) for shape, _ in members)])
    colours = [
        np.tile(
            np.array([*decode_srgb(np.array(paint.rgba[:3], dtype=float)), paint.rgba[3]]), (len(shape.vertices), 1)
        )
        for shape, paint in members
    ]
    uvs = np.concatenate([shape.uvs for shape, _ in members])
    geometry = gfx.Geometry(
        positions=np.concatenate([shape.vertices for shape, _ in members]),
        normals=np.concatenate([shape.normals for shape, _ in members]),
        texcoords=uvs * np.array([1.0, -1.0], dtype=np.float32) + np.array([0.0, 1.0], dtype=np.float32),
        colors=np.concatenate(colours).astype(np.float32),
        indices=np.concatenate(
            [shape.faces + first for (shape, _), first in zip(members, firsts, strict=False)]
        ).astype(np.uint32),
    )
    mean = np.mean([paint.rgba[:3] for _, paint in members], axis=0)
    picture_map = None if picture is None else _picture_map(picture)
    material = gfx.MeshStandardMaterial(
        color_mode="auto",
        map=picture_map,
        roughness=finish.roughness,
        metalness=finish.metalness,
        side="front" if sheet else "both",
        emissive=(*mean.tolist(), 1.0) if finish.emission else "#000",
        emissive_map=picture_map if finish.emission else None,
        emissive_intensity=finish.emission / HEADROOM,
    )
    if clear:
        material.alpha_mode = "blend"
    mesh = gfx.Mesh(geometry, material)
    mesh.cast_shadow = not (sheet or clear or finish.emission > 0.0)
    mesh.receive_shadow = True
    use_sloped_bias(mesh)
    mesh.local.state_basis = "matrix"  # else every new pose is split into position, rotation and scale
    return mesh


def _picture_map(path: Path) -> Any:
    status = path.stat()
    return _read_picture_map(path, status.st_mtime_ns, status.st_size)


@lru_cache(maxsize=128)
def _read_picture_map(path: Path, _mtime_ns: int, _size: int) -> Any:
    import pygfx as gfx

    with Image.open(path) as image:
        pixels = np.asarray(image.convert("RGBA"))
    texture = gfx.Texture(np.ascontiguousarray(pixels), dim=2, generate_mipmaps=True)
    return gfx.TextureMap(texture, wrap="repeat", filter="linear", mipmap_filter="linear")
