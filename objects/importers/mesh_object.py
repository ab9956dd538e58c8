"""Makes an object of one mesh file: a rigid one, or one with the joint that the user states."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from unlatch.objects.importers.asset_converter import (
    AssetConverterBase,
    AssetConverterBaseCfg,
    CollisionPropertiesCfg,
    MassPropertiesCfg,
    RigidBodyPropertiesCfg,
    check_number,
    given_values,
    read_choice,
    refuse_fields,
)
from unlatch.objects.importers.converted_asset import (
    ConvertedAsset,
    ConvertedLink,
    PlacedMesh,
    check_size,
    mesh_collider,
)
from unlatch.objects.importers.urdf_parts import MeshFiles
from unlatch.simcore.errors import AssetError, ConfigError, close_matches, unknown_name
from unlatch.simcore.files import plain_name
from unlatch.simcore.geometry import Pose, quat_xyzw_from_wxyz
from unlatch.simcore.meshes.collider_pieces import SolidPieces
from unlatch.simcore.meshes.convex_decomposition import (
    Colliders,
    CollisionApproximation,
    ConvexDecompositionCfg,
    make_colliders,
)
from unlatch.simcore.meshes.mesh_reader import MeshPiece, read_mesh, read_pieces
from unlatch.simcore.meshes.mesh_store import MeshStore, mesh_dependencies
from unlatch.simcore.meshes.obj_file import mesh_colour
from unlatch.simcore.meshes.solids import hulls_inertial, mesh_hull
from unlatch.simcore.meshes.triangle_mesh import (
    TriangleMesh,
    closed_volume,
    draw_surface_points,
    join_meshes,
    sample_surface,
)
from unlatch.simcore.rng import sum_in_order
from unlatch.simcore.urdf.model import Inertial, Joint, Link, Shape, ShapeKind, UrdfModel

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
    mesh_collision_props: Any = None
    """Isaac Lab's present form of `collision_approximation` and its settings: refused."""

    def __post_init__(self) -> None:
        super().__post_init__()
        refuse_fields(self, "", ("mesh_collision_props",), "set collision_approximation and convex_decomposition")
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


KINDS = {"hinge": "revolute", "slider": "prismatic"}
"""URDF types by the names of joints."""
BASE, PART = "base", "part"
"""Names of the link that stands still and of the one that moves."""

_SIDES = ("-x", "+x", "-y", "+y", "-z", "+z")
_CENTRE = "centre"
_AXES = ("x", "y", "z")
_QUARTER_TURN_RAD = np.pi / 2
_PROBE_RAD = np.radians(20.0)
_SLIDE_SHARE, _FLAT_SLIDE_SHARE = 0.8, 0.95
"""Shares of its own length that a slider moves by default: like a drawer, which must not tip out of its cabinet, or
like a flat lid, of which only a small overlap stays."""
_FLAT = 10.0
"""A flat slider is this many times longer, along its motion and across it, than thick."""
_THIN = 3.0
"""A lid or door is this many times longer and wider than thick."""
_SLIDE_STEPS = 40
_LEAST_FREE = 0.1
"""A slider that is free for a smaller share of its default range overlaps the rest from the start."""
_TOUCH = 0.005
"""A slider may be this share of its length deep in the rest: models are not exact."""
_ACROSS = 0.95
"""An axis within this cosine of a direction of the file counts as parallel to it."""
_MOST_LISTED = 12


@dataclass(frozen=True)
class MeshJointCfg:
    """The joint of a mesh, after it was turned to z up; positions are in the unit of the mesh."""

    kind: str
    """`hinge` or `slider`."""
    moving: tuple[str, ...] = ()
    """Names of the nodes or objects that move, with everything below them."""
    axis: str | tuple[float, ...] | None = None
    """Direction of the axis: `x`, `y`, `z` with or without a sign, or three numbers. Without a sign, the part moves
    away from the rest."""
    at: str | tuple[float, ...] | None = None
    """Where the axis of a hinge is: a side of the moving part such as `+x`, `centre`, or three numbers."""
    range: tuple[float, ...] | None = None
    """Least and largest position [rad, or the unit of the mesh]; None: a quarter turn, or as far as the part is
    free, at most 0.8 of its length along the axis, or 0.95 if it is flat."""
    up: str | None = None
    """Which axis of the file points up; None: the one of its format: y in a glTF, z in an OBJ, STL or PLY."""

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise unknown_name(self.kind, "a joint", where="joint", known=KINDS)
        if self.up not in (None, *_AXES):
            raise ConfigError(f"up={self.up} is no axis. Expected x, y or z.", key="up")
        if isinstance(self.axis, str) and self.axis.lstrip("+-") not in _AXES:
            raise ConfigError(f"axis={self.axis} is no direction. Expected x, -y, [0,0,1] or the like.", key="axis")
        if isinstance(self.at, str) and self.at not in (*_SIDES, _CENTRE):
            raise ConfigError(
                f"at={self.at} is no place. Expected one of {', '.join((*_SIDES, _CENTRE))}, or [X,Y,Z] in metres.",
                key="at",
            )
        for key, values, count in (("axis", self.axis, 3), ("at", self.at, 3), ("range", self.range, 2)):
            if values is not None and not isinstance(values, str) and len(values) != count:
                raise ConfigError(f"{key} has {len(values)} numbers. Expected {count}.", key=key)
        if self.range is not None and not self.range[0] < self.range[1]:
            raise ConfigError(f"range={list(self.range)} does not rise. Expected [least,largest].", key="range")
        if self.axis is not None and not isinstance(self.axis, str) and np.linalg.norm(self.axis) < 1e-9:
            raise ConfigError("axis has length 0. Expected a direction.", key="axis")


@dataclass(frozen=True)
class MeshUrdf:
    """The URDF of a mesh."""

    path: Path
    description: str
    """The joint in one line."""
    warnings: tuple[str, ...] = ()
    """What may be wrong with the joint, one line each."""


def write_mesh_urdf(path: Path, cfg: MeshJointCfg, folder: Path, *, force: bool = False) -> MeshUrdf:
    """Writes `NAME.urdf` for the mesh `NAME.glb`, with its meshes in `NAME_meshes/`.

    Args:
        path: The mesh; any format but FBX.
        cfg: Its joint.
        folder: Where to write.
        force: Whether to replace an existing URDF.

    Raises:
        AssetError: The mesh cannot be read, has no piece of that name, or only one piece; or the URDF exists.
        ConfigError: The axis or its place is missing.
    """
    urdf = folder / f"{plain_name(path.stem)}.urdf"
    if urdf.exists() and not force:
        raise AssetError(f"{urdf} exists. Use it, or give force=true to replace it.", path=str(urdf))
    pieces = read_pieces(path, up=cfg.up)
    moving, fixed = _split(path, pieces, cfg)
    joint = _make_joint(moving, fixed, cfg)
    folder.mkdir(parents=True, exist_ok=True)
    files = MeshFiles(folder, below=f"{plain_name(path.stem)}_meshes/")
    links = {
        BASE: _link(BASE, fixed, Pose.identity(), files),
        PART: _link(PART, moving, joint.T_parent_joint.inverse(), files),
    }
    urdf.write_text(UrdfModel(plain_name(path.stem), links, {joint.name: joint}).to_urdf(), encoding="utf-8")
    return MeshUrdf(urdf, _describe(joint, moving), _find_warnings(joint, moving, cfg))


def _link(name: str, pieces: Sequence[MeshPiece], T_link_file: Pose, files: MeshFiles) -> Link:
    shapes = tuple(files.piece_shape(piece, T_link_file) for piece in pieces)
    return Link(name, shapes, tuple(replace(shape, rgba=None) for shape in shapes))


def _split(path: Path, pieces: Sequence[MeshPiece], cfg: MeshJointCfg) -> tuple[list[MeshPiece], list[MeshPiece]]:
    """Returns the pieces that move and those that do not."""
    if len(pieces) == 1:
        raise AssetError(
            f"{path}: the mesh is one piece ({pieces[0].name}), so nothing in it can move against the rest. Make the "
            "moving part an object of its own in a modeller, and export both in one file.",
            path=str(path),
        )
    names = {name for piece in pieces for name in (piece.name, *piece.above[:-1])}
    unknown = [name for name in cfg.moving if name not in names]
    if unknown or not cfg.moving:
        asked = "it is not said which part moves."
        if unknown:
            asked = f"the mesh has no piece '{unknown[0]}'.{close_matches(unknown[0], names)}"
        listed = "; ".join(_describe_piece(piece) for piece in pieces[:_MOST_LISTED])
        more = f"; and {len(pieces) - _MOST_LISTED} more" if len(pieces) > _MOST_LISTED else ""
        raise ConfigError(
            f"{path}: {asked} Give moving=NAME or moving=[NAME,NAME]. Pieces, with size and centre [m]: {listed}{more}",
            key="moving",
            available=sorted(names),
        )
    moves = [any(name in cfg.moving for name in (piece.name, *piece.above)) for piece in pieces]
    moving = [piece for piece, it_moves in zip(pieces, moves, strict=True) if it_moves]
    fixed = [piece for piece, it_moves in zip(pieces, moves, strict=True) if not it_moves]
    if not fixed:
        raise ConfigError(
            f"{path}: moving={','.join(cfg.moving)} is the whole mesh. Name the part that moves.", key="moving"
        )
    return moving, fixed


def _describe_piece(piece: MeshPiece) -> str:
    low, high = _bounds([piece])
    size = " x ".join(f"{v:.3g}" for v in high - low)
    return f"{piece.name} ({size} at {_triple((low + high) / 2)})"


def _make_joint(moving: Sequence[MeshPiece], fixed: Sequence[MeshPiece], cfg: MeshJointCfg) -> Joint:
    low, high = _bounds(moving)
    if cfg.axis is None:
        raise ConfigError(
            f"joint={cfg.kind} needs an axis. Expected axis=x, y, z or [X,Y,Z]; z points up. Add it.", key="axis"
        )
    axis, has_sign = _read_axis(cfg.axis)
    at = (low + high) / 2
    if cfg.kind == "hinge":
        if cfg.at is None:
            raise ConfigError(
                f"joint=hinge needs the place of its axis. Expected at={_SIDES[0]} or another side of the part, "
                f"at={_CENTRE} for a knob, or at=[X,Y,Z] in metres. The part reaches from {_triple(low)} to "
                f"{_triple(high)}. Add it.",
                key="at",
            )
        at = _read_place(cfg.at, low, high)
    if not has_sign:
        axis = _away(axis, at, moving, fixed, turns=cfg.kind == "hinge")
    if cfg.range is not None:
        lower, upper = cfg.range
    else:
        lower, upper = 0.0, _QUARTER_TURN_RAD if cfg.kind == "hinge" else _default_slide(axis, moving, fixed)
    return Joint(
        "joint", KINDS[cfg.kind], BASE, PART, Pose.from_translation(at), axis, lower=float(lower), upper=float(upper)
    )


def _default_slide(axis: np.ndarray, moving: Sequence[MeshPiece], fixed: Sequence[MeshPiece]) -> float:
    """Returns how far a slider moves by default: a share of its length along the axis, but not into the rest."""
    surface = join_meshes(piece.mesh for piece in moving)
    length = float(np.ptp(surface.vertices[np.unique(surface.faces)] @ axis))
    range_ = length * (_FLAT_SLIDE_SHARE if _is_flat(surface, axis, length) else _SLIDE_SHARE)
    solids = SolidPieces(piece.mesh for piece in fixed)
    points = sample_surface(surface, spacing_m=length / _SLIDE_STEPS, max_points=300)
    points = points[solids.depths(points) <= _TOUCH * length]
    positions = np.linspace(0.0, range_, _SLIDE_STEPS + 1)
    for free, position in pairwise(positions):
        if len(points) and solids.depths(points + position * axis).max() > _TOUCH * length:
            return float(free) if free >= _LEAST_FREE * range_ else range_
    return range_


def _is_flat(surface: TriangleMesh, axis: np.ndarray, length: float) -> bool:
    """Whether a slider is a thin panel along its motion; handles and rims, which are small, do not count."""
    points, _ = draw_surface_points(surface, 2000, np.random.default_rng(0))
    across = points - np.outer(points @ axis, axis)
    _, _, directions = np.linalg.svd(across - across.mean(axis=0), full_matrices=False)
    low, high = np.percentile(across @ directions[:2].T, (5, 95), axis=0)
    wide, thin = high - low
    return bool(_FLAT * thin < min(length, wide))


def _find_warnings(joint: Joint, moving: Sequence[MeshPiece], cfg: MeshJointCfg) -> tuple[str, ...]:
    """Returns a warning if a hinge at the edge of a flat part turns it in its own plane, which lifts no lid."""
    low, high = _bounds(moving)
    k = int(np.argmax(np.abs(joint.axis)))
    others = [other for other in range(3) if other != k]
    half = (high - low) / 2
    off_middle = np.abs(joint.T_parent_joint.p - (low + high) / 2)
    is_across = abs(float(joint.axis[k])) > _ACROSS and _THIN * half[k] < min(half[other] for other in others)
    if cfg.kind != "hinge" or not is_across or not any(off_middle[other] > half[other] / 2 for other in others):
        return ()
    along = " or ".join(f"axis={_AXES[other]}" for other in others)
    return (
        f"the axis is at right angles to the flat part, which turns in its own plane and is not lifted. For a lid or a "
        f"door, give an axis along an edge: {along}.",
    )


def _read_axis(axis: str | tuple[float, ...]) -> tuple[np.ndarray, bool]:
    """Returns (3,) a unit vector, and whether its sign is stated."""
    if isinstance(axis, str):
        sign = -1.0 if axis.startswith("-") else 1.0
        return sign * np.eye(3)[_AXES.index(axis[-1])], axis[0] in "+-"
    vector = np.array(axis, dtype=float)
    return vector / np.linalg.norm(vector), True


def _read_place(at: str | tuple[float, ...], low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Returns (3,) a point on the axis of a hinge [m]."""
    if not isinstance(at, str):
        return np.array(at, dtype=float)
    point = (low + high) / 2
    if at != _CENTRE:
        k = _AXES.index(at[1])
        point[k] = (low if at[0] == "-" else high)[k]
    return point


def _away(
    axis: np.ndarray, at: np.ndarray, moving: Sequence[MeshPiece], fixed: Sequence[MeshPiece], *, turns: bool
) -> np.ndarray:
    """Returns the axis with the sign by which the part moves away from the middle of the rest."""
    low, high = _bounds(fixed)
    points = np.concatenate([piece.mesh.vertices for piece in moving])
    distances = []
    for sign in (1.0, -1.0):
        if turns:
            half = _PROBE_RAD / 2
            turn = Pose.from_quat_xyzw(np.zeros(3), [*(sign * axis * np.sin(half)), float(np.cos(half))])
            moved = (points - at) @ turn.R.T + at
        else:
            moved = points + sign * axis * float(np.abs(axis) @ np.ptp(points, axis=0)) / 2
        distances.append(float(np.linalg.norm(moved.mean(axis=0) - (low + high) / 2)))
    return -axis if distances[1] > distances[0] + 1e-9 else axis


def _bounds(pieces: Sequence[MeshPiece]) -> tuple[np.ndarray, np.ndarray]:
    points = np.concatenate([piece.mesh.vertices[np.unique(piece.mesh.faces)] for piece in pieces])
    return points.min(axis=0), points.max(axis=0)


def _describe(joint: Joint, moving: Sequence[MeshPiece]) -> str:
    word, unit = ("hinge about", "rad") if joint.kind == "revolute" else ("slider along", "m")
    through = f" through {_triple(joint.T_parent_joint.p)} m" if joint.kind == "revolute" else ""
    names = ", ".join(piece.name for piece in moving[:_MOST_LISTED])
    return f"{names}: {word} {_triple(joint.axis)}{through}, {joint.lower:.3g} to {joint.upper:.3g} {unit}"


def _triple(values: np.ndarray) -> str:
    return "(" + ", ".join(f"{v + 0.0:.3g}" for v in values) + ")"
