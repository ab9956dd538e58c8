"""Reads a USD with UsdPhysics joints as a URDF."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from unlatch.objects.importers.body_tree import WORLD, BodyTree
from unlatch.objects.importers.link_inertia import solid_inertial
from unlatch.objects.importers.mesh_files import MeshFiles
from unlatch.objects.importers.usd.colours import Look, LookedSurface, surfaces_by_look
from unlatch.objects.importers.usd.joint_tree import UsdBody, arrange_joints, find_bodies, find_joints, owner_of
from unlatch.objects.importers.usd.joint_values import with_values
from unlatch.objects.importers.usd.stage import OpenedStage, rotation_of
from unlatch.objects.importers.usd.surfaces import (
    Primitive,
    PrimSurface,
    placed_mesh,
    placed_primitive,
    read_surface,
)
from unlatch.simcore.errors import AssetError
from unlatch.simcore.geometry import Pose
from unlatch.simcore.meshes.convex_hull import mesh_hull
from unlatch.simcore.meshes.textured_surface import MAX_PICTURE_BYTES
from unlatch.simcore.meshes.triangle_mesh import TriangleMesh
from unlatch.simcore.sums import sum_in_order
from unlatch.simcore.urdf.model import Inertial, Link, Shape, ShapeKind, UrdfModel

_FLAT_M = 1e-3
"""Least thickness of the hull of a collider."""
_UNSEEN = ("guide", "proxy")
"""Purposes of geometry that is not drawn."""
_PICTURES = (".jpg", ".jpeg", ".png")


@dataclass
class _Geometry:
    """What is part of one body."""

    visuals: list[Any] = field(default_factory=list)
    colliders: list[Any] = field(default_factory=list)


def write_urdf(path: Path, folder: Path, name: str) -> list[str]:
    """Reads a USD and writes a URDF with its meshes into a folder.

    Lengths become metres, z points up. Each rigid body becomes a link, what belongs to none the link `world`.

    Args:
        path: The USD.
        folder: Where to write.
        name: File name of the URDF.

    Returns:
        One line for each thing that is left out or read in a way that its author may not expect.

    Raises:
        AssetError: OpenUSD is not installed, the file or something that it refers to cannot be read, or its joints are
            not those of a URDF.
    """
    stage = OpenedStage(path)
    model = _UsdReader(stage, folder).read()
    (folder / name).write_text(model.to_urdf(), encoding="utf-8")
    return list(dict.fromkeys(stage.notices))


class _UsdReader:
    def __init__(self, stage: OpenedStage, folder: Path) -> None:
        self.stage = stage
        self.folder = folder
        self.pxr = stage.pxr
        self._surfaces: dict[str, PrimSurface | None] = {}
        self._files = MeshFiles(folder)
        self._pictures: dict[str, str | None] = {}

    def read(self) -> UrdfModel:
        """Returns the model; its meshes are files in the folder."""
        prims = list(self.stage.prims())
        bodies = find_bodies(self.stage, prims)
        joints = find_joints(self.stage, prims, bodies)
        geometry = self._find_geometry(prims)
        tree = arrange_joints(self.stage, bodies, joints, has_static_shape=WORLD in geometry)
        if tree.root != WORLD and WORLD in geometry:
            self.stage.notices.append("geometry that belongs to no rigid body is left out: no joint connects it")
        links = {
            bodies[key].name: self._read_link(bodies[key], tree, geometry.get(key, _Geometry()))
            for key in bodies
            if key in tree.T_body_link
        }
        made = [with_values(self.stage, found, joint) for found, joint in tree.joints]
        named = [replace(j, parent=bodies[j.parent].name, child=bodies[j.child].name) for j in made]
        default = self.stage.stage.GetDefaultPrim()
        name = default.GetName() if default else self.stage.path.stem
        return UrdfModel(name, links, {joint.name: joint for joint in named})

    def _find_geometry(self, prims: Sequence[Any]) -> dict[str, _Geometry]:
        """Returns what is seen and what is hit of each body, by its key."""
        found: dict[str, _Geometry] = {}
        others: dict[str, int] = {}
        for prim in prims:
            kind = str(prim.GetTypeName())
            if not prim.IsA(self.pxr.UsdGeom.Gprim) and kind != "PointInstancer":
                continue
            if kind == "PointInstancer" or self._surface(prim) is None:
                others[kind] = others.get(kind, 0) + 1
                continue
            key = owner_of(self.stage, prim)
            image = self.pxr.UsdGeom.Imageable(prim)
            is_seen = str(image.ComputePurpose()) not in _UNSEEN and str(image.ComputeVisibility()) != "invisible"
            collides = self._collider_prim(prim) is not None
            if is_seen or collides:
                own = found.setdefault(key, _Geometry())
                own.visuals += [prim] if is_seen else []
                own.colliders += [prim] if collides else []
        for kind, count in others.items():
            self.stage.notices.append(f"left out, no surface that can be read: {count} of type {kind}")
        return found

    def _surface(self, prim: Any) -> PrimSurface | None:
        key = str(prim.GetPath())
        if key not in self._surfaces:
            found = read_surface(self.stage, prim)
            self._surfaces[key] = found if found is not None and len(found.mesh.faces) else None
        return self._surfaces[key]

    def _collider_prim(self, prim: Any) -> Any:
        """Returns the prim, itself or one above it in its body, that makes it a collider; None without one."""
        while prim and not prim.IsPseudoRoot():
            if prim.HasAPI(self.pxr.UsdPhysics.CollisionAPI):
                enabled = prim.GetAttribute("physics:collisionEnabled")
                return None if enabled and enabled.Get() is False else prim
            if prim.HasAPI(self.pxr.UsdPhysics.RigidBodyAPI):
                return None
            prim = prim.GetParent()
        return None

    def _read_link(self, body: UsdBody, tree: BodyTree[Any], own: _Geometry) -> Link:
        T_link_stage = (body.T_file_body @ tree.T_body_link[body.key]).inverse()
        colliders = [self._read_collider(prim, T_link_stage) for prim in own.colliders]
        visuals = [shape for prim in own.visuals for shape in self._read_visuals(prim, T_link_stage)]
        hit = [mesh for _, mesh in colliders]
        if not hit:
            hit = [placed_mesh(self._mesh(prim), self._affine(prim, T_link_stage)) for prim in own.visuals]
        inertial = None if body.prim is None else self._read_inertial(body, tree, own, hit)
        return Link(body.name, tuple(visuals), tuple(shape for shape, _ in colliders), inertial)

    def _mesh(self, prim: Any) -> TriangleMesh:
        surface = self._surface(prim)
        if surface is None:
            raise self.stage.error(prim, "has no surface.")
        return surface.mesh

    def _affine(self, prim: Any, T_link_stage: Pose) -> np.ndarray:
        """Returns (4, 4) the map from the coordinates of a prim to a link frame [m]."""
        rigid = np.eye(4)
        rigid[:3, :3], rigid[:3, 3] = T_link_stage.R, T_link_stage.p
        return np.asarray(rigid @ self.stage.place(prim))

    def _read_collider(self, prim: Any, T_link_stage: Pose) -> tuple[Shape, TriangleMesh]:
        """Returns a collider, and its triangles in the link frame."""
        surface, affine = self._surface(prim), self._affine(prim, T_link_stage)
        mesh = placed_mesh(self._mesh(prim), affine)
        primitive = surface.primitive if surface is not None else None
        approximation = self._approximation(prim) if primitive is None else ""
        if approximation in ("boundingCube", "boundingSphere"):
            primitive = _bounding_primitive(self._mesh(prim), approximation)
        placed = placed_primitive(primitive, affine) if primitive is not None else None
        if placed is not None:
            return Shape(placed.kind, placed.size, placed.T_prim_shape, prim.GetName()), mesh
        if approximation == "convexHull":
            mesh = mesh_hull(mesh, least_m=_FLAT_M, where=f"{self.stage.path}: {prim.GetPath()}")
        return self._files.shape_of(self._files.write_mesh(mesh), prim.GetName()), mesh

    def _approximation(self, prim: Any) -> str:
        """Returns how engines approximate a mesh as a collider, as stated on it or above it."""
        while prim and not prim.IsPseudoRoot():
            attribute = prim.GetAttribute("physics:approximation")
            if attribute and attribute.HasAuthoredValue():
                return str(attribute.Get())
            if prim.HasAPI(self.pxr.UsdPhysics.CollisionAPI):
                return "none"
            prim = prim.GetParent()
        return "none"

    def _read_visuals(self, prim: Any, T_link_stage: Pose) -> list[Shape]:
        surface, affine = self._surface(prim), self._affine(prim, T_link_stage)
        if surface is None:
            return []
        shapes = []
        for part in surfaces_by_look(self.stage, prim, surface):
            placed = placed_primitive(surface.primitive, affine) if surface.primitive is not None else None
            rgba = part.look.rgba
            if placed is not None:
                shapes.append(Shape(placed.kind, placed.size, placed.T_prim_shape, prim.GetName(), rgba))
            else:
                file = self._write_visual(part, affine)
                shapes.append(replace(self._files.shape_of(file, prim.GetName()), rgba=rgba))
        return shapes

    def _write_visual(self, part: LookedSurface, affine: np.ndarray) -> str:
        mesh = placed_mesh(part.mesh, affine)
        picture = self._copy_picture(part.look) if part.look.picture and part.uvs is not None else None
        if picture is None or part.uvs is None:
            return self._files.write_mesh(mesh)
        uvs = part.uvs[:, ::-1] if np.linalg.det(affine[:3, :3]) < 0 else part.uvs
        return self._files.write_textured(mesh, uvs, picture)

    def _copy_picture(self, look: Look) -> str | None:
        """Returns the name of the copied picture of a look; None if it cannot be used."""
        source = str(look.picture)
        if source not in self._pictures:
            self._pictures[source] = self._read_picture(source)
        return self._pictures[source]

    def _read_picture(self, source: str) -> str | None:
        suffix = Path(source.rstrip("]")).suffix.lower()
        opened = self.pxr.Ar.GetResolver().OpenAsset(self.pxr.Ar.ResolvedPath(source))
        if opened is None or suffix not in _PICTURES or opened.GetSize() > MAX_PICTURE_BYTES:
            self.stage.notices.append(
                f"left out, no PNG or JPEG of at most {MAX_PICTURE_BYTES} bytes: the picture {source}"
            )
            return None
        return self._files.write_picture(bytes(opened.GetBuffer()), suffix)

    def _read_inertial(
        self, body: UsdBody, tree: BodyTree[Any], own: _Geometry, meshes: Sequence[TriangleMesh]
    ) -> Inertial | None:
        """Returns mass, centre and inertia in the link frame; None if the file states no mass and no density."""
        T_link_body = tree.T_body_link[body.key].inverse()
        units = self.stage.units
        mass = self._mass_value(body.prim, "physics:mass") * units.mass_kg
        density = self._mass_value(body.prim, "physics:density")
        if mass <= 0.0 and density <= 0.0:
            parts = [self._mass_value(self._collider_prim(prim), "physics:mass") for prim in own.colliders]
            mass = sum_in_order(parts) * units.mass_kg if parts and min(parts) > 0.0 else 0.0
            density = max(
                (self._mass_value(self._collider_prim(p), "physics:density") for p in own.colliders), default=0
            )
        hulls = _hulls(meshes, where=f"{self.stage.path}: {body.key}")
        if mass <= 0.0:
            if density <= 0.0 or not hulls:
                return None
            return solid_inertial(meshes, hulls, density=density * units.mass_kg / units.length_m**3)
        found = solid_inertial(meshes, hulls, mass_kg=mass)
        com = self._vector(body.prim, "physics:centerOfMass")
        if com is not None:
            affine = self.stage.place(body.prim)
            in_body = body.T_file_body.inverse() @ (affine[:3, :3] @ com + affine[:3, 3])
            found = replace(found, com_link=T_link_body @ in_body)
        moments = self._vector(body.prim, "physics:diagonalInertia")
        if moments is None or not np.all(moments > 0.0):
            return found
        axes = body.prim.GetAttribute("physics:principalAxes")
        turn = axes.Get() if axes else None
        R = T_link_body.R @ (rotation_of(turn) if turn is not None else np.eye(3))
        return replace(found, inertia=R @ np.diag(moments * units.mass_kg * units.length_m**2) @ R.T)

    def _mass_value(self, prim: Any, name: str) -> float:
        attribute = prim.GetAttribute(name) if prim and prim.HasAPI(self.pxr.UsdPhysics.MassAPI) else None
        value = attribute.Get() if attribute else None
        if value is not None and (not np.isfinite(value) or value < 0.0):
            raise self.stage.error(prim, f"has {name}={value:g}. Expected 0 or more. Correct it.")
        return float(value or 0.0)

    def _vector(self, prim: Any, name: str) -> np.ndarray | None:
        """Returns (3,) an authored and finite vector of a prim; None without one."""
        attribute = prim.GetAttribute(name)
        value = attribute.Get() if attribute and attribute.HasAuthoredValue() else None
        found = None if value is None else np.array(value, dtype=float)
        return found if found is not None and np.all(np.isfinite(found)) else None


def _hulls(meshes: Sequence[TriangleMesh], *, where: str) -> list[TriangleMesh]:
    """Returns the hulls of meshes, for the volume of open ones."""
    found = []
    for mesh in meshes:
        try:
            found.append(mesh_hull(mesh, least_m=_FLAT_M, where=where))
        except AssetError:  # a point, which has no volume
            continue
    return found


def _bounding_primitive(mesh: TriangleMesh, approximation: str) -> Primitive:
    """Returns the box along the axes of a mesh, or the sphere around it."""
    points = mesh.vertices[np.unique(mesh.faces)]
    low, high = points.min(axis=0), points.max(axis=0)
    middle = (low + high) / 2
    if approximation == "boundingCube":
        size = tuple(float(max(v, 1e-9)) for v in high - low)
        return Primitive(ShapeKind.box, size, Pose.from_translation(middle))
    radius = float(np.linalg.norm(points - middle, axis=1).max())
    return Primitive(ShapeKind.sphere, (radius,), Pose.from_translation(middle))
