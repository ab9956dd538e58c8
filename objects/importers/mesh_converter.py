"""Converts one mesh file into a rigid object."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from unlatch.objects.importers.asset_converter_base import AssetConverterBase, AssetConverterBaseCfg
from unlatch.objects.importers.converted_asset import ConvertedAsset, ConvertedLink, PlacedMesh, mesh_collider
from unlatch.objects.importers.link_inertia import check_size
from unlatch.objects.importers.property_groups import (
    CollisionPropertiesCfg,
    MassPropertiesCfg,
    RigidBodyPropertiesCfg,
    check_number,
    given_values,
    read_choice,
)
from unlatch.simcore.errors import ConfigError
from unlatch.simcore.geometry import Pose, quat_xyzw_from_wxyz
from unlatch.simcore.meshes.convex_hull import hulls_inertial, mesh_hull
from unlatch.simcore.meshes.decomposition.collision_approximation import (
    Colliders,
    CollisionApproximation,
    make_colliders,
)
from unlatch.simcore.meshes.decomposition.convex_decomposition import ConvexDecompositionCfg
from unlatch.simcore.meshes.mesh_dependencies import mesh_dependencies
from unlatch.simcore.meshes.mesh_reader import read_mesh
from unlatch.simcore.meshes.mesh_store import MeshStore
from unlatch.simcore.meshes.obj_materials import mesh_colour
from unlatch.simcore.meshes.triangle_mesh import TriangleMesh, closed_volume
from unlatch.simcore.sums import sum_in_order
from unlatch.simcore.urdf.model import Inertial, Link, Shape, ShapeKind

LINK = "base_link"
"""Name of the only link."""


@dataclass
class MeshConverterCfg(AssetConverterBaseCfg):
    """Options of `MeshConverter`."""

    mass_props: MassPropertiesCfg | None = None
    """Mass properties to add. None: none are added, and the engine decides."""
    rigid_props: RigidBodyPropertiesCfg | None = None
    """Rigid body properties to add. None: none are added."""
    collision_props: CollisionPropertiesCfg | None = None
    """Properties of the colliders. None: the colliders have no such properties."""
    collision_approximation: CollisionApproximation = CollisionApproximation.convexDecomposition
    """Kind of the colliders; `none` makes no colliders."""
    translation: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """Position of the mesh's origin in the object's frame [m]."""
    rotation: tuple[float, float, float, float] = (1.0, 0.0, 0.0, 0.0)
    """Rotation of the mesh in the object's frame: a quaternion (w, x, y, z)."""
    scale: tuple[float, float, float] = (1.0, 1.0, 1.0)
    """Factors along the mesh's axes, applied first; negative ones mirror."""
    convex_decomposition: ConvexDecompositionCfg = field(default_factory=ConvexDecompositionCfg)
    """Settings of `convexDecomposition`."""

    def __post_init__(self) -> None:
        super().__post_init__()
        approximation = read_choice("collision_approximation", self.collision_approximation, CollisionApproximation)
        self.collision_approximation = approximation
        for name, count in (("translation", 3), ("rotation", 4), ("scale", 3)):
            values = getattr(self, name)
            if isinstance(values, str) or not hasattr(values, "__len__") or len(values) != count:
                raise ConfigError(f"{name}={values} has the wrong length. Expected {count} numbers.", key=name)
            for value in values:
                check_number(name, value)
            setattr(self, name, tuple(float(value) for value in values))
        if abs(float(np.linalg.norm(self.rotation)) - 1.0) > 1e-3:
            raise ConfigError(
                f"rotation={list(self.rotation)} is not a unit quaternion (w, x, y, z). Expected length 1.",
                key="rotation",
            )
        if not all(abs(value) >= 1e-9 for value in self.scale):
            raise ConfigError(f"scale={list(self.scale)} has a 0, which makes the body flat. Change it.", key="scale")


class MeshConverter(AssetConverterBase[MeshConverterCfg]):
    """Converts a mesh in OBJ, STL, FBX, GLB, glTF, DAE or PLY into a URDF of one link, and a USD on request.

    The frame is z up, metres. A file that declares y up is turned; OBJ, STL and PLY declare nothing and count as z up.
    `translation`, `rotation` and `scale` apply to that frame.
    """

    VERSION = 3

    def _source_files(self) -> dict[str, Path]:
        return {self._asset.name: self._asset, **mesh_dependencies(self._asset, self._asset.parent)}

    def _convert_asset(self, folder: Path) -> ConvertedAsset:
        cfg, where = self.cfg, str(self._asset)
        source = read_mesh(self._asset, turn_to_z_up=True)
        pose = Pose.from_quat_xyzw(cfg.translation, quat_xyzw_from_wxyz(np.array(cfg.rotation)))
        visual_mesh = PlacedMesh(source.mesh, cfg.scale, pose)
        surface = visual_mesh.in_link()
        size_m = check_size([surface], where=where)
        colliders = make_colliders(
            [surface], cfg.collision_approximation, size_m=size_m, where=where, settings=cfg.convex_decomposition
        )
        open_notice = "the surface is not closed; its volume is that of its colliders"
        store = MeshStore(folder, self._asset.parent, shared=cfg.make_instanceable)
        file = store.add(self._asset, source.mesh)
        shape = Shape(ShapeKind.mesh, cfg.scale, pose, "geometry", source.rgba, mesh=file, path=self._asset)
        rgba = mesh_colour(shape, self._asset.parent) if self._asset.suffix.lower() == ".obj" else source.rgba
        visual = replace(shape, rgba=rgba, path=folder / file)
        enabled = cfg.collision_props is None or cfg.collision_props.collision_enabled is not False
        collisions = collision_shapes(colliders, store, "collision.obj") if enabled else ()
        link = Link(LINK, (visual,), collisions, self._make_inertial(surface, colliders, where))
        physics = {
            "self_collision": False,
            "drives": {},
            "mass": given_values(cfg.mass_props),
            "rigid": given_values(cfg.rigid_props),
            "collision": given_values(cfg.collision_props),
        }
        made = ConvertedLink(link, (replace(visual_mesh, rgba=rgba),), tuple(colliders.convex))
        return ConvertedAsset(
            self._asset.stem,
            {LINK: made},
            {},
            physics,
            approximation=cfg.collision_approximation.value,
            notices=(open_notice,) if closed_volume(surface) is None else (),
        )

    def _make_inertial(self, surface: TriangleMesh, colliders: Colliders, where: str) -> Inertial | None:
        props = self.cfg.mass_props
        if props is None or (props.mass is None and props.density is None):
            return None
        solid = [surface] if closed_volume(surface) is not None else colliders.convex
        solid = solid or [mesh_hull(surface, least_m=0.002, where=where)]
        mass_kg = (
            props.mass
            if props.mass is not None
            else (props.density or 0.0) * sum_in_order(mesh.volume for mesh in solid)
        )
        return hulls_inertial(solid, mass_kg)


def collision_shapes(colliders: Colliders, store: MeshStore, name: str) -> tuple[Shape, ...]:
    """Returns the shapes of colliders, in the link frame, for a URDF, and writes their meshes to the store."""
    if colliders.primitive is not None:
        return (colliders.primitive,)
    if colliders.triangles is not None:
        return (mesh_collider(store.folder, store.add_surface(colliders.triangles, kind="collision"), concave=True),)
    if not colliders.convex:
        return ()
    return (mesh_collider(store.folder, store.add_parts(tuple(colliders.convex), name)),)
