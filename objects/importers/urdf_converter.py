"""Converts a URDF into one whose moving links have convex colliders, masses and valid inertias."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from pathlib import Path
from typing import ClassVar

import numpy as np

from unlatch.objects.importers.asset_converter import (
    AssetConverterBase,
    AssetConverterBaseCfg,
    check_number,
    read_choice,
)
from unlatch.objects.importers.converted_asset import (
    DEFAULT_DENSITY_KG_M3,
    ConvertedAsset,
    ConvertedLink,
    LinkSurfaces,
    PlacedMesh,
    check_size,
    combined_inertial,
    inertia_problem,
    mesh_collider,
    read_surfaces,
    solid_inertial,
    without_empty_meshes,
)
from unlatch.objects.turned_object import moved_link, scaled_model
from unlatch.simcore.errors import AssetError, ConfigError, unknown_name
from unlatch.simcore.files import plain_name
from unlatch.simcore.geometry import Pose
from unlatch.simcore.meshes.convex_decomposition import CollisionApproximation, ConvexDecompositionCfg, make_colliders
from unlatch.simcore.meshes.mesh_store import MeshStore, model_files
from unlatch.simcore.meshes.triangle_mesh import TriangleMesh
from unlatch.simcore.urdf.model import Inertial, Joint, Link, Shape, ShapeKind, UrdfModel
from unlatch.simcore.urdf.reader import model_folder, parse_xml, read_urdf

_KINDS = ("continuous", "fixed", "prismatic", "revolute")
_MOST_LINKS = 2000


def check_model(path: Path, model: UrdfModel) -> None:
    """Refuses values that no simulation can use: negative masses, sizes of 0, inverted limits, unknown joints.

    Raises:
        AssetError: The URDF has such a value; the message states the first one and its element.
    """
    problem = next(_find_problems(path, model), None)
    if problem is not None:
        raise AssetError(f"{path}: {problem}", path=str(path))


def _find_problems(path: Path, model: UrdfModel) -> Iterator[str]:
    if len(model.links) > _MOST_LINKS:
        yield f"{len(model.links)} links, at most {_MOST_LINKS} are converted."
    for element in parse_xml(path).findall("link"):
        mass = element.find("inertial/mass")
        text = mass.get("value", "0") if mass is not None else "0"
        try:
            value = float(text)
        except ValueError:
            value = float("nan")
        if not 0.0 <= value < 1e9:
            yield f"link '{element.get('name')}' has a mass of {text} kg. Expected 0 or more. Correct the file."
    for link in model.links.values():
        for shape in (*link.visuals, *link.collisions):
            size = " ".join(f"{value:g}" for value in shape.size)
            if shape.kind is not ShapeKind.mesh and any(value <= 0.0 for value in shape.size):
                yield f"a {shape.kind.value} of link '{link.name}' has size {size}, expected numbers above 0."
            if shape.kind is ShapeKind.mesh and any(abs(value) < 1e-9 for value in shape.size):
                yield f"a mesh of link '{link.name}' has scale {size}, and a 0 makes it flat."
    for joint in model.joints.values():
        if joint.kind not in _KINDS:
            yield f"joint '{joint.name}' is of type '{joint.kind}'. Expected {', '.join(_KINDS)}."
        if joint.moves and joint.kind != "continuous" and joint.lower > joint.upper:
            yield (
                f"joint '{joint.name}' has the lower limit {joint.lower:g} above the upper one {joint.upper:g}. "
                "Swap them."
            )
        for name in ("damping", "friction", "effort", "velocity"):
            if joint.moves and getattr(joint, name) < 0.0:
                yield f"joint '{joint.name}' has {name}={getattr(joint, name):g}. Expected 0 or more."


def kept_joints(root: ET.Element) -> set[str]:
    """Returns the names of joints of a `<robot>` element marked `dont_collapse`, by attribute or by element."""
    return {str(joint.get("name")) for joint in root.findall("joint") if _is_marked_to_stay(joint)}


def merge_fixed(
    links: dict[str, ConvertedLink], joints: dict[str, Joint], *, kept: set[str]
) -> tuple[dict[str, ConvertedLink], dict[str, Joint]]:
    """Merges the child of each fixed joint into its parent: shapes, mass, and the joints below it.

    Returns:
        The remaining links and joints. Joints whose names are in `kept` remain.
    """
    links, joints = dict(links), dict(joints)
    while (joint := next((j for j in joints.values() if j.kind == "fixed" and j.name not in kept), None)) is not None:
        child = links.pop(joint.child)
        links[joint.parent] = _absorb_child(links[joint.parent], child, joint.T_parent_joint)
        del joints[joint.name]
        for name, other in joints.items():
            if other.parent == joint.child:
                joints[name] = replace(
                    other, parent=joint.parent, T_parent_joint=joint.T_parent_joint @ other.T_parent_joint
                )
    return links, joints


def _absorb_child(parent: ConvertedLink, child: ConvertedLink, T_parent_child: Pose) -> ConvertedLink:
    old, added = parent.link, moved_link(child.link, T_parent_child)
    inertial = old.inertial or added.inertial
    if old.inertial is not None and added.inertial is not None:
        inertial = combined_inertial(old.inertial, added.inertial)
    return ConvertedLink(
        Link(old.name, (*old.visuals, *added.visuals), (*old.collisions, *added.collisions), inertial),
        (*parent.visuals, *(replace(v, T_link_mesh=T_parent_child @ v.T_link_mesh) for v in child.visuals)),
        (*parent.parts, *(part.moved(T_parent_child) for part in child.parts)),
    )


def _is_marked_to_stay(joint: ET.Element) -> bool:
    element = joint.find("dont_collapse")
    mark = joint.get("dont_collapse")
    if mark is None and element is not None:
        mark = element.get("value", element.text or "true")
    return (mark or "").strip().lower() in ("true", "1")


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
class PDGainsCfg:
    """Gains of a drive, as Isaac Lab states them."""

    stiffness: float | None = None
    """[N m/rad or N/m]; None: 0."""
    damping: float | None = None
    """[N m s/rad or N s/m]; None: that of the file."""


@dataclass
class NaturalFrequencyGainsCfg:
    """Gains by frequency, as Isaac Lab states them; `JointDriveCfg` refuses them by name."""

    natural_frequency: float | None = None
    damping_ratio: float = 0.005


_PDGains = PDGainsCfg


@dataclass
class JointDriveCfg:
    """The drives of the joints, as Isaac Lab states them at present: `default_drive_type` and its gains in one."""

    PDGainsCfg: ClassVar[type] = PDGainsCfg
    NaturalFrequencyGainsCfg: ClassVar[type] = NaturalFrequencyGainsCfg
    drive_type: str = "force"
    """`force`; a drive by acceleration has no counterpart."""
    target_type: str = "position"
    """`none`, `position` or `velocity`."""
    gains: _PDGains = field(default_factory=_PDGains)
    """One value for all joints."""

    def __post_init__(self) -> None:
        if self.drive_type != "force":
            raise ConfigError(
                f"joint_drive.drive_type='{self.drive_type}' has no counterpart. Expected force. Change it.",
                key="joint_drive.drive_type",
            )
        if not isinstance(self.gains, _PDGains):
            raise ConfigError(
                f"joint_drive.gains is {type(self.gains).__name__}, which has no counterpart. Expected PDGainsCfg.",
                key="joint_drive.gains",
            )
        for name in ("stiffness", "damping"):
            check_number(f"joint_drive.gains.{name}", getattr(self.gains, name), 0.0)


_COLLIDER_TYPES = {"convex_hull": False, "convex_decomposition": True}
"""`convex_decompose_mesh` by the present name in Isaac Lab."""


_JointDrive = JointDriveCfg


@dataclass
class UrdfConverterCfg(AssetConverterBaseCfg):
    """Options of `UrdfConverter`."""

    JointDriveCfg: ClassVar[type] = JointDriveCfg
    fix_base: bool | None = None
    """Whether the root is joined to the world; required."""
    link_density: float = 0.0
    """Density of links without `<inertial>` [kg/m^3]; 0: see `inertia_fallback`."""
    link_face_density: float = 0.0
    """With `link_density`: least mass of such a link for each square metre of its face [kg/m^2]. A thin or hollow mesh
    has hardly any volume; half of its surface is its face."""
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
    """Whether the configured stiffness and damping replace the file's `<dynamics>`."""
    default_drive_stiffness: float = 0.0
    """Stiffness of the drives [N m/rad or N/m]; a URDF states none."""
    default_drive_damping: float = 0.0
    """Damping of the drives [N m s/rad or N s/m], where the file states none or is overridden."""
    inertia_fallback: InertiaFallback = InertiaFallback.volume
    """How a missing inertial is computed if `link_density` is 0."""
    scale: float = 1.0
    """Factor on all lengths; masses in the file grow with its third power, so densities stay."""
    convex_decomposition: ConvexDecompositionCfg = field(default_factory=ConvexDecompositionCfg)
    """Settings of `convex_decompose_mesh`."""
    joint_drive: _JointDrive | None = None
    """The present form of the three drive fields in Isaac Lab; None: those count."""
    collider_type: str | None = None
    """The present form of `convex_decompose_mesh` in Isaac Lab: `convex_hull` or `convex_decomposition`."""
    collision_from_visuals: bool | None = None
    """Whether a link without colliders gets them from its visuals: it always does, so that false is refused."""
    root_link_name: str | None = None
    """The root link, as a check; None: none."""
    convert_mimic_joints_to_normal_joints: bool = False
    """Whether a joint with `<mimic>` moves by itself in the output, which then has no `<mimic>`."""
    replace_cylinders_with_capsules: bool | None = None
    """Cylinders stay cylinders: true is refused."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._read_present_names()
        if not isinstance(self.fix_base, bool):
            raise ConfigError(f"fix_base={self.fix_base} is missing. Expected true or false.", key="fix_base")
        for key in ("link_density", "link_face_density", "default_drive_stiffness", "default_drive_damping"):
            check_number(key, getattr(self, key), 0.0)
        check_number("scale", self.scale, 0.0, above=True)
        self.default_drive_type = read_choice("default_drive_type", self.default_drive_type, DriveType)
        self.inertia_fallback = read_choice("inertia_fallback", self.inertia_fallback, InertiaFallback)

    def _read_present_names(self) -> None:
        """Takes the values of fields as Isaac Lab calls them at present over to ours, or refuses them by name."""
        if self.collision_from_visuals is False:
            raise ConfigError(
                "collision_from_visuals=false has no counterpart: a link without colliders always gets them from its "
                "visuals. Remove it.",
                key="collision_from_visuals",
            )
        if self.replace_cylinders_with_capsules:
            raise ConfigError(
                "replace_cylinders_with_capsules=true has no counterpart: cylinders stay cylinders. Remove it.",
                key="replace_cylinders_with_capsules",
            )
        if self.collider_type is not None:
            if self.collider_type not in _COLLIDER_TYPES:
                raise unknown_name(
                    self.collider_type, "a type of colliders", where="collider_type", known=_COLLIDER_TYPES
                )
            self.convex_decompose_mesh = _COLLIDER_TYPES[self.collider_type]
        if self.joint_drive is not None:
            gains = self.joint_drive.gains
            self.default_drive_type = read_choice("joint_drive.target_type", self.joint_drive.target_type, DriveType)
            self.default_drive_stiffness = gains.stiffness or 0.0
            if gains.damping is not None:
                self.default_drive_damping, self.override_joint_dynamics = gains.damping, True


class UrdfConverter(AssetConverterBase[UrdfConverterCfg]):
    """Converts a URDF into one whose moving links have convex colliders, masses and valid inertias.

    Every file that the URDF refers to must lie in its folder or below, or in that of the packages that it names. A link
    without colliders gets them from its visuals. Drives and self-collision, which a URDF cannot hold, go into
    `physics.json` beside it.

    Note:
        `<transmission>` and `<gazebo>` are not carried over; a notice says so.
    """

    VERSION = 7

    def _source_files(self) -> dict[str, Path]:
        self._source = read_urdf(self._asset)
        check_model(self._asset, self._source)
        folder = self._folder = model_folder(self._asset, self._source)
        return {self._asset.relative_to(folder).as_posix(): self._asset, **model_files(self._source, folder)}

    def _convert_asset(self, folder: Path) -> ConvertedAsset:
        cfg, where = self.cfg, str(self._asset)
        root = parse_xml(self._asset)
        model = scaled_model(self._source, cfg.scale)
        if cfg.root_link_name not in (None, model.root):
            raise ConfigError(
                f"root_link_name='{cfg.root_link_name}' is not the root of {where}, which is '{model.root}'. Name "
                "it, or leave the key out.",
                key="root_link_name",
            )
        notices = _list_left_out(root)
        surfaces = read_surfaces(model, self._folder, where=where, allow_empty=True)
        model, surfaces, empty = without_empty_meshes(model, surfaces, where=where)
        notices += empty
        placed = [
            mesh.moved(model.link_pose(name))
            for name, found in surfaces.items()
            for mesh in (*found.visual_meshes, *found.collision_meshes)
        ]
        if not placed:
            raise AssetError(f"{where}: no link has a shape. Expected visual or collision geometry.", path=where)
        size_m = check_size(placed, where=where)
        store = MeshStore(folder, self._folder, shared=cfg.make_instanceable)
        declared = {
            str(link.get("name")): mass
            for link in root.findall("link")
            if (mass := _mass_without_inertia(link)) is not None
        }
        links: dict[str, ConvertedLink] = {}
        guessed: list[str] = []
        for name, link in model.links.items():
            found = surfaces[name]
            parts, collisions = self._make_colliders(link, found, store, size_m=size_m)
            surface = found.collision_meshes or found.visual_meshes
            inertial = self._make_inertial(link, surface, parts, declared.get(name), notices, guessed)
            pairs = zip(link.visuals, found.visuals, strict=True)
            visuals = tuple(_store_visual(shape, mesh, store) for shape, mesh in pairs)
            links[name] = ConvertedLink(Link(name, visuals, collisions, inertial), found.visuals, parts)
        if guessed:
            notices.append(
                f"no inertial on {', '.join(guessed)}: computed from volume at {DEFAULT_DENSITY_KG_M3:g} kg/m^3; "
                "set link_density"
            )
        joints = {joint.name: self._make_joint(joint, notices) for joint in model.joints.values()}
        if cfg.merge_fixed_joints:
            links, joints = merge_fixed(links, joints, kept=kept_joints(root))
        # a gram for a link without shape and mass: engines would give it a kilogram, or refuse it
        token = solid_inertial((), ())
        links = {
            name: replace(item, link=replace(item.link, inertial=item.link.inertial or token))
            for name, item in links.items()
        }
        if not any(joint.moves for joint in joints.values()):
            notices.append("no joint moves: this is a rigid object")
        if cfg.fix_base:
            links, joints = self._fix_base(links, joints)
        physics = {
            "self_collision": cfg.self_collision,
            "drives": {joint.name: self._make_drive(joint) for joint in joints.values() if joint.moves},
            "mass": {},
            "rigid": {},
            "collision": {},
        }
        is_fixed, unique = bool(cfg.fix_base), tuple(dict.fromkeys(notices))
        return ConvertedAsset(model.name, links, joints, physics, fix_base=is_fixed, notices=unique)

    def _make_colliders(
        self, link: Link, surfaces: LinkSurfaces, store: MeshStore, *, size_m: float
    ) -> tuple[tuple[TriangleMesh, ...], tuple[Shape, ...]]:
        """Returns the colliders of a link as meshes and as shapes: primitives stay primitives, meshes become convex."""
        where = f"{self._asset}: link '{link.name}'"
        shapes = link.collisions or link.visuals
        meshes = surfaces.collision_meshes or surfaces.visual_meshes
        kept = tuple(shape for shape in shapes if shape.kind is not ShapeKind.mesh)
        parts = [mesh for shape, mesh in zip(shapes, meshes, strict=True) if shape.kind is not ShapeKind.mesh]
        concave = [mesh for shape, mesh in zip(shapes, meshes, strict=True) if shape.kind is ShapeKind.mesh]
        if self.cfg.convex_decompose_mesh:
            groups = [(concave, CollisionApproximation.convexDecomposition)] if concave else []
        else:
            groups = [([mesh], CollisionApproximation.convexHull) for mesh in concave]
        hulls: list[TriangleMesh] = []
        for group, approximation in groups:
            hulls += make_colliders(
                group, approximation, size_m=size_m, where=where, settings=self.cfg.convex_decomposition
            ).convex
        collisions = tuple(Shape(s.kind, s.size, s.T_link_shape, s.name) for s in kept)
        if hulls:
            file = store.add_parts(tuple(hulls), f"collision_{plain_name(link.name)}.obj")
            collisions += (mesh_collider(store.folder, file),)
        return (*parts, *hulls), collisions

    def _make_inertial(
        self,
        link: Link,
        surface: Sequence[TriangleMesh],
        parts: Sequence[TriangleMesh],
        declared_kg: float | None,
        notices: list[str],
        guessed: list[str],
    ) -> Inertial | None:
        """Returns the inertial of a link: the file's if it is valid, else one of its shape; None without both.

        Args:
            link: The link as read.
            surface: What its colliders are made from.
            parts: Its convex colliders.
            declared_kg: The mass that the file states without an inertia [kg].
            notices: Gets a line if the file's inertial is not used.
            guessed: Gets the name of the link if the file states no mass and the configuration no density.
        """
        cfg = self.cfg
        if link.inertial is not None and link.inertial.mass_kg > 0.0:
            problem = inertia_problem(link.inertial) if cfg.import_inertia_tensor else None
            if cfg.import_inertia_tensor and problem is None:
                return link.inertial
            if problem is not None:
                notices.append(f"link '{link.name}': {problem}; its inertia is computed from shape and mass")
            return solid_inertial(surface, parts, mass_kg=link.inertial.mass_kg)
        if declared_kg is not None:
            notices.append(f"link '{link.name}' has a mass but no inertia, which is computed from its shape")
            return solid_inertial(surface, parts, mass_kg=declared_kg * cfg.scale**3)
        if cfg.link_density > 0.0 and parts:
            return solid_inertial(surface, parts, density=cfg.link_density, least_kg_m2=cfg.link_face_density)
        if cfg.inertia_fallback is InertiaFallback.identity:
            return Inertial(1.0, np.zeros(3), np.eye(3))
        if not parts:
            return None
        guessed.append(link.name)
        return solid_inertial(surface, parts)

    def _make_joint(self, joint: Joint, notices: list[str]) -> Joint:
        if not joint.moves:
            return joint
        if joint.kind != "continuous" and joint.lower == joint.upper:
            notices.append(f"joint '{joint.name}' has no range: both limits are {joint.lower:g}")
        damping = self.cfg.default_drive_damping if self.cfg.override_joint_dynamics else joint.damping
        follows = None if self.cfg.convert_mimic_joints_to_normal_joints else joint.follows
        return replace(joint, axis=joint.axis / np.linalg.norm(joint.axis), damping=damping, follows=follows)

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
        self, links: dict[str, ConvertedLink], joints: dict[str, Joint]
    ) -> tuple[dict[str, ConvertedLink], dict[str, Joint]]:
        children = {joint.child for joint in joints.values()}
        root = next(name for name in links if name not in children)
        if root == WORLD_LINK:
            return links, joints
        if WORLD_LINK in links or "fixed_base" in joints:
            raise AssetError(
                f"{self._asset}: fix_base adds the link '{WORLD_LINK}' and the joint 'fixed_base', and the file uses "
                "one of these names for something else. Rename it, or set fix_base=false.",
                path=str(self._asset),
            )
        # Bullet holds a root without mass in place
        world = Link(WORLD_LINK, inertial=Inertial(0.0, np.zeros(3), np.zeros((3, 3))))
        fixed = Joint("fixed_base", "fixed", WORLD_LINK, root, Pose.identity())
        return {WORLD_LINK: ConvertedLink(world), **links}, {"fixed_base": fixed, **joints}


def _store_visual(shape: Shape, placed: PlacedMesh, store: MeshStore) -> Shape:
    """Returns a visual as written: its mesh is a file of the store; primitives stay as they are."""
    if shape.path is None:
        return shape
    file = store.add(shape.path, placed.mesh)
    return replace(shape, rgba=placed.rgba, mesh=file, path=store.folder / file)


def _list_left_out(root: ET.Element) -> list[str]:
    """Returns a line for each kind of element that the output leaves out."""
    return [
        f"<{tag}> is not carried over" for tag in ("transmission", "gazebo") if next(root.iter(tag), None) is not None
    ]


def _mass_without_inertia(link: ET.Element) -> float | None:
    mass = link.find("inertial/mass")
    if mass is None or link.find("inertial/inertia") is not None:
        return None
    return float(mass.get("value", "0")) or None
