"""Reads a USD with joints as a URDF: its tree of bodies, the values of its joints, its masses and surfaces."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from unlatch.objects.importers.converted_asset import solid_inertial
from unlatch.objects.importers.urdf_parts import (
    WORLD,
    BodyJoint,
    BodyTree,
    FileBody,
    MeshFiles,
    build_tree,
    rigid_part,
    unused_name,
    write_model,
)
from unlatch.objects.importers.usd_stage import (
    Look,
    LookedSurface,
    OpenedStage,
    PrimSurface,
    placed_primitive,
    read_surface,
    rotation_of,
    surfaces_by_look,
)
from unlatch.simcore.errors import AssetError
from unlatch.simcore.geometry import Pose
from unlatch.simcore.meshes.obj_file import MAX_PICTURE_BYTES
from unlatch.simcore.meshes.solids import mesh_hull
from unlatch.simcore.meshes.triangle_mesh import TriangleMesh
from unlatch.simcore.rng import sum_in_order
from unlatch.simcore.urdf.model import Follows, Inertial, Joint, Link, Shape, ShapeKind

_KINDS = {"PhysicsRevoluteJoint": "revolute", "PhysicsPrismaticJoint": "prismatic", "PhysicsFixedJoint": "fixed"}
_AXES = {"X": np.array([1.0, 0.0, 0.0]), "Y": np.array([0.0, 1.0, 0.0]), "Z": np.array([0.0, 0.0, 1.0])}


@dataclass(frozen=True)
class UsdBody(FileBody):
    """A rigid body of a USD; its key is the path of its prim."""

    prim: Any


@dataclass(frozen=True)
class UsdJoint(BodyJoint):
    """A joint of a USD."""

    prim: Any


def owner_of(stage: OpenedStage, prim: Any) -> str:
    """Returns the key of the body that a prim is part of."""
    while prim and not prim.IsPseudoRoot():
        if _is_body(stage, prim):
            return str(prim.GetPath())
        prim = prim.GetParent()
    return WORLD


def find_bodies(stage: OpenedStage, prims: Sequence[Any]) -> dict[str, UsdBody]:
    """Returns the bodies by key; `WORLD` comes first."""
    bodies = {WORLD: UsdBody(WORLD, "world", Pose.identity(), None)}
    taken = {"world"}
    for prim in prims:
        if _is_body(stage, prim):
            key = str(prim.GetPath())
            is_marked = prim.HasAPI(stage.pxr.UsdPhysics.ArticulationRootAPI)
            name = unused_name(prim.GetName(), taken)
            bodies[key] = UsdBody(key, name, rigid_part(stage.place(prim)), prim, is_marked=is_marked)
    return bodies


def find_joints(stage: OpenedStage, prims: Sequence[Any], bodies: Mapping[str, UsdBody]) -> list[UsdJoint]:
    """Returns the joints between two bodies.

    Raises:
        AssetError: A joint is of a kind that no URDF has, or names a prim that does not exist.
    """
    found = []
    taken: set[str] = set()
    for prim in prims:
        if not prim.IsA(stage.pxr.UsdPhysics.Joint):
            continue
        if _value(prim, "physics:jointEnabled") is False:
            stage.notices.append(f"{prim.GetPath()} is left out: it is switched off")
            continue
        joint = _read_joint(stage, prim, bodies, unused_name(prim.GetName(), taken))
        if joint.first == joint.second:
            stage.notices.append(f"{prim.GetPath()} is left out: it joins a body to itself")
            continue
        found.append(joint)
    by_path = {joint.place: joint for joint in found}
    return [replace(joint, follows=_read_follows(stage, joint, by_path)) for joint in found]


def _read_follows(stage: OpenedStage, joint: UsdJoint, by_path: Mapping[str, UsdJoint]) -> Follows | None:
    """Returns how a joint follows another one, as `PhysxMimicJointAPI` or `NewtonMimicAPI` states it; None: not at all.

    The first states `q + gearing * q_reference + offset = 0`, the second `q = coef0 + coef1 * q_leader`.
    """
    prim = joint.prim
    for relation in prim.GetRelationships():
        key, _, last = relation.GetName().rpartition(":")
        if key.startswith("physxMimicJoint:") and last == "referenceJoint":
            ratio, offset = -_number(stage, prim, f"{key}:gearing", 1.0), -_number(stage, prim, f"{key}:offset", 0.0)
        elif relation.GetName() == "newton:mimicJoint" and _value(prim, "newton:mimicEnabled") is not False:
            ratio = _number(stage, prim, "newton:mimicCoef1", 1.0)
            offset = _number(stage, prim, "newton:mimicCoef0", 0.0)
        else:
            continue
        targets = relation.GetForwardedTargets()
        leader = by_path.get(str(targets[0])) if len(targets) == 1 else None
        if leader is None or leader.kind != joint.kind:
            what = "no joint of the asset" if leader is None else f"<{leader.place}>, which is {leader.kind}"
            stage.notices.append(f"{joint.place} moves by itself: {relation.GetName()} names {what}")
            return None
        unit = stage.units.length_m if joint.kind == "prismatic" else float(np.radians(1.0))
        return Follows(leader.name, ratio, offset * unit)
    return None


def _is_body(stage: OpenedStage, prim: Any) -> bool:
    """Whether a prim is a rigid body that moves; a kinematic one stays where it is."""
    if not prim.HasAPI(stage.pxr.UsdPhysics.RigidBodyAPI):
        return False
    return (
        _value(prim, "physics:rigidBodyEnabled") is not False and _value(prim, "physics:kinematicEnabled") is not True
    )


def _value(prim: Any, name: str) -> Any:
    attribute = prim.GetAttribute(name)
    return attribute.Get() if attribute else None


def _read_joint(stage: OpenedStage, prim: Any, bodies: Mapping[str, UsdBody], name: str) -> UsdJoint:
    kind = str(prim.GetTypeName())
    if kind not in _KINDS:
        raise stage.error(
            prim,
            f"is a {kind}. Expected {', '.join(_KINDS)}: a joint that moves in one direction or not at all. Replace it "
            "by one of these, or deactivate it.",
        )
    api = stage.pxr.UsdPhysics.Joint(prim)
    ends = []
    for number, relation in enumerate((api.GetBody0Rel(), api.GetBody1Rel())):
        targets = relation.GetTargets()
        if len(targets) > 1:
            raise stage.error(prim, f"has {len(targets)} targets of physics:body{number}. Expected at most one.")
        target = stage.stage.GetPrimAtPath(targets[0]) if targets else None
        if targets and not target:
            raise stage.error(
                prim, f"names physics:body{number} <{targets[0]}>, which does not exist. Correct the path."
            )
        key = owner_of(stage, target) if target else WORLD
        if key not in bodies:
            raise stage.error(prim, f"names <{key}>, which is not below the default prim. Move both below it.")
        ends.append((key, bodies[key].T_file_body.inverse() @ _joint_frame(stage, prim, target, number)))
    (first, T_first), (second, T_second) = ends
    axis = _AXES[str(_value(prim, "physics:axis") or "X")] if kind != "PhysicsFixedJoint" else _AXES["X"]
    is_extra = bool(_value(prim, "physics:excludeFromArticulation"))
    ends_at = (first, second, T_first, T_second)
    return UsdJoint(name, str(prim.GetPath()), _KINDS[kind], *ends_at, axis, prim, is_extra=is_extra)


def _joint_frame(stage: OpenedStage, prim: Any, target: Any, number: int) -> Pose:
    """Returns the frame of a joint as one of its ends states it, in the stage [m].

    `target` is the prim of that end; a position in it is scaled with it, as its geometry is.
    """
    position, turn = _value(prim, f"physics:localPos{number}"), _value(prim, f"physics:localRot{number}")
    local = np.array(position, dtype=float) if position is not None else np.zeros(3)
    R = rotation_of(turn) if turn is not None else np.eye(3)
    affine = stage.place(target if target else stage.stage.GetPseudoRoot())
    if not np.all(np.isfinite(local)) or not np.all(np.isfinite(R)):
        raise stage.error(prim, f"has a frame in physics:body{number} that is not finite. Correct it.")
    return Pose(rigid_part(affine).R @ R, affine[:3, :3] @ local + affine[:3, 3])


_TURN_RAD = 2 * np.pi
"""Range of a revolute joint with one limit beyond it."""


def _with_values(stage: OpenedStage, found: UsdJoint, joint: Joint) -> Joint:
    if joint.kind == "fixed":
        return joint
    return _with_dynamics(stage, found, _with_limits(stage, found, replace(joint, kind=found.kind, has_range=True)))


def _with_limits(stage: OpenedStage, found: UsdJoint, joint: Joint) -> Joint:
    slides = joint.kind == "prismatic"
    unit = stage.units.length_m if slides else float(np.radians(1.0))
    lower = _number(stage, found.prim, "physics:lowerLimit", -np.inf)
    upper = _number(stage, found.prim, "physics:upperLimit", np.inf)
    if lower > upper:
        raise stage.error(
            found.prim, f"has physics:lowerLimit {lower:g} above physics:upperLimit {upper:g}. Exchange them."
        )
    if slides and not np.all(np.isfinite([lower, upper])):
        raise stage.error(
            found.prim,
            f"slides without end: limits {lower:g} to {upper:g}. Expected physics:lowerLimit and physics:upperLimit. "
            "Add them.",
        )
    if not np.isfinite(lower) and not np.isfinite(upper):
        return replace(joint, kind="continuous", has_range=False)
    low, high = lower * unit, upper * unit
    if not np.isfinite(low) or not np.isfinite(high):
        low, high = (high - _TURN_RAD, high) if not np.isfinite(low) else (low, low + _TURN_RAD)
        stage.notices.append(f"{found.prim.GetPath()} has one limit: it turns by at most 360 degrees")
    return replace(joint, lower=float(low), upper=float(high))


def _with_dynamics(stage: OpenedStage, found: UsdJoint, joint: Joint) -> Joint:
    slides = joint.kind == "prismatic"
    length, mass = stage.units.length_m, stage.units.mass_kg
    force = mass * length if slides else mass * length**2  # newtons, or newton metres
    turn = 1.0 if slides else float(np.degrees(1.0))
    speed = length if slides else float(np.radians(1.0))
    damping, effort = 0.0, joint.effort
    name = "linear" if slides else "angular"
    if found.prim.HasAPI(stage.pxr.UsdPhysics.DriveAPI, name):
        drive_key = f"drive:{name}:physics"
        if str(_value(found.prim, f"{drive_key}:type")) == "acceleration":
            stage.notices.append(f"{found.prim.GetPath()}: its drive is left out, it is of the type acceleration")
        else:
            damping = _number(stage, found.prim, f"{drive_key}:damping", 0.0) * turn * (mass if slides else force)
            most = _number(stage, found.prim, f"{drive_key}:maxForce", np.inf)
            effort = most * force if 0.0 < most < 1e9 else effort
            if _number(stage, found.prim, f"{drive_key}:stiffness", 0.0) > 0.0:
                stage.notices.append(f"{found.prim.GetPath()}: the stiffness of its drive is left out")
    friction = _number(stage, found.prim, "physxJoint:jointFriction", 0.0) * force
    velocity = _number(stage, found.prim, "physxJoint:maxJointVelocity", np.inf) * speed
    return replace(
        joint,
        damping=max(damping, 0.0),
        effort=effort,
        friction=max(friction, 0.0),
        velocity=velocity if 0.0 < velocity < 1e6 else joint.velocity,
    )


def _number(stage: OpenedStage, prim: Any, name: str, missing: float) -> float:
    """Returns a number of a prim; without the attribute `missing`."""
    attribute = prim.GetAttribute(name)
    value = attribute.Get() if attribute else None
    if value is None:
        return missing
    if np.isnan(value):
        raise stage.error(prim, f"has {name}=nan. Expected a number. Correct it.")
    return float(value)


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
    reader = _UsdReader(stage, folder)
    links, joints = reader.read()
    (folder / "frames.json").write_text(json.dumps(reader.frames, indent=1) + "\n", encoding="utf-8")
    default = stage.stage.GetDefaultPrim()
    return write_model(stage, folder / name, default.GetName() if default else path.stem, links, joints)


class _UsdReader:
    def __init__(self, stage: OpenedStage, folder: Path) -> None:
        self.stage = stage
        self.folder = folder
        self.pxr = stage.pxr
        self._surfaces: dict[str, PrimSurface | None] = {}
        self._files = MeshFiles(folder)
        self._pictures: dict[str, str | None] = {}
        self.frames: dict[str, list[list[float]]] = {}
        """(4, 4) by link: the map from the coordinates of its prim, with their unit and scale, to the link [m]."""

    def read(self) -> tuple[dict[str, Link], list[Joint]]:
        """Returns links and joints; their meshes are files in the folder."""
        prims = list(self.stage.prims())
        bodies = find_bodies(self.stage, prims)
        joints = find_joints(self.stage, prims, bodies)
        geometry = self._find_geometry(prims)
        if all(joint.kind == "fixed" for joint in joints):
            raise self.stage.error(
                "/",
                f"has no joint that moves ({len(bodies) - 1} rigid bodies and {len(joints)} fixed joints). Expected a "
                "PhysicsRevoluteJoint or PhysicsPrismaticJoint between a body and its moving part. Add UsdPhysics "
                "joints to the asset, or use its URDF.",
            )
        tree = build_tree(
            self.stage,
            bodies,
            joints,
            has_static_shape=WORLD in geometry,
            alone="Export each alone, or make one the default prim.",
            remedy="Leave one joint of the loop out, or set physics:excludeFromArticulation.",
        )
        if tree.root != WORLD and WORLD in geometry:
            self.stage.notices.append("geometry that belongs to no rigid body is left out: no joint connects it")
        links = {
            bodies[key].name: self._read_link(bodies[key], tree, geometry.get(key, _Geometry()))
            for key in bodies
            if key in tree.T_body_link
        }
        self.frames = {
            bodies[key].name: self._affine(bodies[key].prim, (bodies[key].T_file_body @ T).inverse()).tolist()
            for key, T in tree.T_body_link.items()
            if bodies[key].prim is not None
        }
        found = {joint.name: joint for joint in joints}
        return links, [_with_values(self.stage, found[joint.name], joint) for joint in tree.joints]

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

    def _read_link(self, body: UsdBody, tree: BodyTree, own: _Geometry) -> Link:
        T_link_stage = (body.T_file_body @ tree.T_body_link[body.key]).inverse()
        colliders = [self._read_collider(prim, T_link_stage) for prim in own.colliders]
        visuals = [shape for prim in own.visuals for shape in self._read_visuals(prim, T_link_stage)]
        hit = [mesh for _, mesh in colliders]
        if not hit:
            hit = [self._mesh(prim).mapped(self._affine(prim, T_link_stage)) for prim in own.visuals]
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
        mesh = self._mesh(prim).mapped(affine)
        primitive = surface.primitive if surface is not None else None
        approximation = self._approximation(prim) if primitive is None else ""
        if approximation in ("boundingCube", "boundingSphere"):
            primitive = _bounding_primitive(self._mesh(prim), approximation)
        placed = placed_primitive(primitive, affine) if primitive is not None else None
        if placed is not None:
            return replace(placed, name=prim.GetName()), mesh
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
                shapes.append(replace(placed, name=prim.GetName(), rgba=rgba))
            else:
                file = self._write_visual(part, affine)
                shapes.append(replace(self._files.shape_of(file, prim.GetName()), rgba=rgba))
        return shapes

    def _write_visual(self, part: LookedSurface, affine: np.ndarray) -> str:
        mesh = part.mesh.mapped(affine)
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
        self, body: UsdBody, tree: BodyTree, own: _Geometry, meshes: Sequence[TriangleMesh]
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


def _bounding_primitive(mesh: TriangleMesh, approximation: str) -> Shape:
    """Returns the box along the axes of a mesh, or the sphere around it."""
    points = mesh.vertices[np.unique(mesh.faces)]
    low, high = points.min(axis=0), points.max(axis=0)
    middle = (low + high) / 2
    if approximation == "boundingCube":
        size = tuple(float(max(v, 1e-9)) for v in high - low)
        return Shape(ShapeKind.box, size, Pose.from_translation(middle))
    radius = float(np.linalg.norm(points - middle, axis=1).max())
    return Shape(ShapeKind.sphere, (radius,), Pose.from_translation(middle))
