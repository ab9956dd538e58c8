"""Converts any URDF for simulation: convex colliders, masses, drives; and a USD on request."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import dataclass, field, replace
from enum import Enum
from pathlib import Path

import numpy as np

from unlatch.objects.importers.asset_converter_base import AssetConverterBase, AssetConverterBaseCfg
from unlatch.objects.importers.converted_asset import ConvertedAsset, ConvertedLink, write_physics
from unlatch.objects.importers.fixed_joints import MergeLink, kept_joints, merge_fixed
from unlatch.objects.importers.link_inertia import DEFAULT_DENSITY_KG_M3, check_size, inertia_problem, solid_inertial
from unlatch.objects.importers.property_groups import check_number, read_choice
from unlatch.objects.importers.urdf_checks import check_model
from unlatch.objects.importers.urdf_surfaces import LinkSurfaces, read_surfaces
from unlatch.objects.scaled_model import scaled_model
from unlatch.simcore.errors import AssetError, ConfigError
from unlatch.simcore.geometry import Pose
from unlatch.simcore.meshes.decomposition.collision_approximation import CollisionApproximation, make_colliders
from unlatch.simcore.meshes.decomposition.convex_decomposition import ConvexDecompositionCfg
from unlatch.simcore.meshes.mesh_dependencies import model_files
from unlatch.simcore.meshes.mesh_store import MeshStore
from unlatch.simcore.meshes.triangle_mesh import TriangleMesh
from unlatch.simcore.urdf.model import Inertial, Joint, Link, Shape, ShapeKind, UrdfModel
from unlatch.simcore.urdf.reader import model_folder, read_urdf
from unlatch.simcore.urdf.xml import parse_xml

WORLD_LINK = "world"
"""Link that `fix_base` adds above the root."""


class DriveType(str, Enum):
    """What the motor of a joint does."""

    none = "none"
    """Nothing: stiffness and damping are 0."""
    position = "position"
    """Follows a position: stiffness and damping."""
    velocity = "velocity"
    """Follows a velocity: damping only."""


class InertiaFallback(str, Enum):
    """Where mass and inertia come from for a link without `<inertial>`, if there is no `link_density`."""

    volume = "volume"
    """From its volume and the density of water, with a notice."""
    identity = "identity"
    """1 kg and the identity."""


@dataclass
class UrdfConverterCfg(AssetConverterBaseCfg):
    """Options of `UrdfConverter`."""

    fix_base: bool | None = None
    """Whether the root is joined to the world; required."""
    link_density: float = 0.0
    """Density of links without `<inertial>` [kg/m^3]; 0: see `inertia_fallback`."""
    import_inertia_tensor: bool = True
    """Whether inertia tensors are taken from the file; False: computed from shape and mass."""
    convex_decompose_mesh: bool = False
    """Whether collision meshes become several convex parts; False: one hull each."""
    merge_fixed_joints: bool = False
    """Whether links joined by fixed joints become one; joints marked `dont_collapse="true"` stay."""
    self_collision: bool = False
    """Whether links of the object collide with each other."""
    default_drive_type: DriveType = DriveType.none
    """What the motors of the joints do."""
    override_joint_dynamics: bool = False
    """Whether the configured stiffness and damping win over the file's `<dynamics>`."""
    default_drive_stiffness: float = 0.0
    """Stiffness of the drives [N m/rad or N/m]; a URDF states none."""
    default_drive_damping: float = 0.0
    """Damping of the drives [N m s/rad or N s/m], where the file states none or is overridden."""
    inertia_fallback: InertiaFallback = InertiaFallback.volume
    """Where a missing inertial comes from without `link_density`."""
    scale: float = 1.0
    """Factor on all lengths; masses in the file grow with its third power, so densities stay."""
    convex_decomposition: ConvexDecompositionCfg = field(default_factory=ConvexDecompositionCfg)
    """Settings of `convex_decompose_mesh`."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.fix_base, bool):
            raise ConfigError(f"fix_base={self.fix_base} is missing. Expected true or false.", key="fix_base")
        check_number("link_density", self.link_density, least=0.0)
        check_number("default_drive_stiffness", self.default_drive_stiffness, least=0.0)
        check_number("default_drive_damping", self.default_drive_damping, least=0.0)
        check_number("scale", self.scale, above=0.0)
        self.default_drive_type = read_choice("default_drive_type", self.default_drive_type, DriveType)
        self.inertia_fallback = read_choice("inertia_fallback", self.inertia_fallback, InertiaFallback)


class UrdfConverter(AssetConverterBase[UrdfConverterCfg]):
    """Converts a URDF into one whose moving links have convex colliders, masses and valid inertias.

    Every file that the URDF refers to must lie in its folder or below, or in that of the packages that it names. A link
    without colliders gets them from its visuals. Drives and self-collision, which a URDF cannot hold, go into
    `physics.json` beside it.

    Note:
        `<mimic>`, `<transmission>` and `<gazebo>` are not carried over; a notice says so.
    """

    VERSION = 4

    def _source_files(self) -> dict[str, Path]:
        self._source = read_urdf(self._asset)
        check_model(self._asset, self._source)
        folder = self._folder = model_folder(self._asset, self._source)
        return {self._asset.relative_to(folder).as_posix(): self._asset, **model_files(self._source, folder)}

    def _convert_asset(self, folder: Path) -> ConvertedAsset:
        cfg, where = self.cfg, str(self._asset)
        root = parse_xml(self._asset)
        model = scaled_model(self._source, cfg.scale)
        notices = _list_left_out(root)
        surfaces = read_surfaces(model, self._folder, where=where)
        size_m = self._measure_size(model, surfaces)
        store = MeshStore(folder, self._folder, shared=cfg.make_instanceable)
        declared = {
            str(link.get("name")): mass
            for link in root.findall("link")
            if (mass := _mass_without_inertia(link)) is not None
        }
        links: dict[str, MergeLink] = {}
        without: list[str] = []
        for name, link in model.links.items():
            made, collisions = self._make_colliders(link, surfaces[name], store, size_m=size_m)
            inertial = self._make_inertial(link, made, declared.get(name), notices, without)
            visuals = tuple(self._make_visual(shape, surfaces[name], store) for shape in link.visuals)
            links[name] = MergeLink(Link(name, visuals, collisions, inertial), made)
        if without:
            notices.append(
                f"no inertial on {', '.join(without)}: computed from volume at {DEFAULT_DENSITY_KG_M3:g} kg/m^3; "
                "set link_density"
            )
        joints = {joint.name: self._make_joint(joint, notices) for joint in model.joints.values()}
        if cfg.merge_fixed_joints:
            links, joints = merge_fixed(links, joints, kept=kept_joints(root))
        links = {
            name: item if item.link.inertial is not None else _with_token_mass(item) for name, item in links.items()
        }
        if not any(joint.moves for joint in joints.values()):
            notices.append("no joint moves: this is a rigid object")
        written = {name: item.link for name, item in links.items()}
        geometry = {name: item.made for name, item in links.items()}
        if cfg.fix_base:
            written, joints, geometry = self._fix_base(written, joints, geometry)
        result = UrdfModel(model.name, written, joints)
        (folder / self._urdf_name).write_text(result.to_urdf(), encoding="utf-8")
        physics = {
            "self_collision": cfg.self_collision,
            "drives": {joint.name: self._make_drive(joint) for joint in joints.values() if joint.moves},
            "mass": {},
            "rigid": {},
            "collision": {},
        }
        write_physics(physics, folder)
        return ConvertedAsset(
            result, geometry, physics, fix_base=bool(cfg.fix_base), notices=tuple(dict.fromkeys(notices))
        )

    def _measure_size(self, model: UrdfModel, surfaces: dict[str, LinkSurfaces]) -> float:
        placed = [
            TriangleMesh(model.link_pose(name) @ mesh.vertices, mesh.faces)
            for name, found in surfaces.items()
            for mesh in (*found.seen, *found.touched)
        ]
        if not placed:
            raise AssetError(
                f"{self._asset}: no link has a shape. Expected visual or collision geometry.", path=str(self._asset)
            )
        return check_size(placed, where=str(self._asset))

    def _make_colliders(
        self, link: Link, surfaces: LinkSurfaces, store: MeshStore, *, size_m: float
    ) -> tuple[ConvertedLink, tuple[Shape, ...]]:
        """Returns the colliders of a link: primitives stay primitives, meshes become convex."""
        where = f"{self._asset}: link '{link.name}'"
        shapes = link.collisions or link.visuals
        meshes = surfaces.touched or surfaces.seen
        kept = tuple(shape for shape in shapes if shape.kind is not ShapeKind.mesh)
        parts = [mesh for shape, mesh in zip(shapes, meshes, strict=True) if shape.kind is not ShapeKind.mesh]
        concave = [mesh for shape, mesh in zip(shapes, meshes, strict=True) if shape.kind is ShapeKind.mesh]
        methods: dict[str, int] = {"primitive": len(kept)} if kept else {}
        if self.cfg.convex_decompose_mesh:
            groups = [(concave, CollisionApproximation.convexDecomposition)] if concave else []
        else:
            groups = [([mesh], CollisionApproximation.convexHull) for mesh in concave]
        hulls: list[TriangleMesh] = []
        for group, approximation in groups:
            found = make_colliders(
                group, approximation, size_m=size_m, where=where, settings=self.cfg.convex_decomposition
            )
            hulls += found.convex
            for method, count in (found.methods or {}).items():
                methods[method] = methods.get(method, 0) + count
        collisions = tuple(Shape(s.kind, s.size, s.T_link_shape, s.name) for s in kept)
        if hulls:
            file = store.add_parts(tuple(hulls), f"collision_{_plain_name(link.name)}.obj")
            one = (1.0, 1.0, 1.0)
            collisions += (Shape(ShapeKind.mesh, one, Pose.identity(), "hulls", mesh=file, path=store.folder / file),)
        made = ConvertedLink(surfaces.visuals, (*parts, *hulls), None, tuple(meshes), methods)
        return made, collisions

    def _make_visual(self, shape: Shape, surfaces: LinkSurfaces, store: MeshStore) -> Shape:
        if shape.kind is not ShapeKind.mesh or shape.path is None:
            return shape
        file = store.add(shape.path, surfaces.sources[shape.path].mesh)
        rgba = surfaces.colour(shape, self._folder)
        return Shape(shape.kind, shape.size, shape.T_link_shape, shape.name, rgba, mesh=file, path=store.folder / file)

    def _make_inertial(
        self,
        link: Link,
        made: ConvertedLink,
        declared_kg: float | None,
        notices: list[str],
        without: list[str],
    ) -> Inertial | None:
        cfg = self.cfg
        if link.inertial is not None and link.inertial.mass_kg > 0.0:
            if not cfg.import_inertia_tensor:
                return solid_inertial(made.surface, made.parts, mass_kg=link.inertial.mass_kg, density=None)
            problem = inertia_problem(link.inertial)
            if problem is None:
                return link.inertial
            notices.append(f"link '{link.name}': {problem}; its inertia is computed from shape and mass")
            return solid_inertial(made.surface, made.parts, mass_kg=link.inertial.mass_kg, density=None)
        if declared_kg is not None:
            mass_kg = declared_kg * cfg.scale**3
            notices.append(f"link '{link.name}' has a mass but no inertia, which is computed from its shape")
            return solid_inertial(made.surface, made.parts, mass_kg=mass_kg, density=None)
        if cfg.link_density > 0.0 and made.parts:
            return solid_inertial(made.surface, made.parts, mass_kg=None, density=cfg.link_density)
        if cfg.inertia_fallback is InertiaFallback.identity:
            return Inertial(1.0, np.zeros(3), np.eye(3))
        if not made.parts:
            return None
        without.append(link.name)
        return solid_inertial(made.surface, made.parts, mass_kg=None, density=None)

    def _make_joint(self, joint: Joint, notices: list[str]) -> Joint:
        if not joint.moves:
            return joint
        if joint.kind != "continuous" and joint.lower == joint.upper:
            notices.append(f"joint '{joint.name}' has no range: both limits are {joint.lower:g}")
        damping = self.cfg.default_drive_damping if self.cfg.override_joint_dynamics else joint.damping
        axis = joint.axis / np.linalg.norm(joint.axis)
        return Joint(**{**vars(joint), "axis": axis, "damping": damping})

    def _make_drive(self, joint: Joint) -> dict[str, float | str]:
        """Returns the drive of a joint; `joint.damping` is already the chosen one."""
        cfg = self.cfg
        damping = joint.damping if cfg.override_joint_dynamics or joint.damping > 0.0 else cfg.default_drive_damping
        stiffness = cfg.default_drive_stiffness
        if cfg.default_drive_type is DriveType.none:
            stiffness = damping = 0.0
        elif cfg.default_drive_type is DriveType.velocity:
            stiffness = 0.0
        return {
            "type": cfg.default_drive_type.value,
            "stiffness": stiffness,
            "damping": damping,
            "max_effort": joint.effort,
            "max_velocity": joint.velocity,
        }

    def _fix_base(
        self, links: dict[str, Link], joints: dict[str, Joint], geometry: dict[str, ConvertedLink]
    ) -> tuple[dict[str, Link], dict[str, Joint], dict[str, ConvertedLink]]:
        root = UrdfModel("", links, joints).root
        if root == WORLD_LINK:
            return links, joints, geometry
        if WORLD_LINK in links or "fixed_base" in joints:
            raise AssetError(
                f"{self._asset}: fix_base adds the link '{WORLD_LINK}' and the joint 'fixed_base', and the file uses "
                "one of these names otherwise. Rename it, or set fix_base=false.",
                path=str(self._asset),
            )
        # Bullet holds a root without mass in place
        world = Link(WORLD_LINK, inertial=Inertial(0.0, np.zeros(3), np.zeros((3, 3))))
        fixed = Joint("fixed_base", "fixed", WORLD_LINK, root, Pose.identity())
        return (
            {WORLD_LINK: world, **links},
            {"fixed_base": fixed, **joints},
            {WORLD_LINK: ConvertedLink(), **geometry},
        )


def _with_token_mass(item: MergeLink) -> MergeLink:
    """Gives a link without shape and mass a gram: engines would give it a kilogram, or refuse it."""
    return replace(item, link=replace(item.link, inertial=solid_inertial((), (), mass_kg=None, density=None)))


def _list_left_out(root: ET.Element) -> list[str]:
    """Returns what of a file has no counterpart in the output, one line each."""
    followers = [str(joint.get("name")) for joint in root.findall("joint") if joint.find("mimic") is not None]
    notices = [f"<mimic> is not carried over: {', '.join(followers)} moves by itself"] if followers else []
    return notices + [
        f"<{tag}> is not carried over" for tag in ("transmission", "gazebo") if next(root.iter(tag), None) is not None
    ]


def _mass_without_inertia(link: object) -> float | None:
    inertial = link.find("inertial")  # type: ignore[attr-defined]
    mass = inertial.find("mass") if inertial is not None else None
    if mass is None or inertial.find("inertia") is not None:
        return None
    return float(mass.get("value", "0")) or None


def _plain_name(name: str) -> str:
    """Returns a name that can be a file name on every system."""
    return "".join(c if c.isascii() and (c.isalnum() or c in "-_") else "_" for c in name)
