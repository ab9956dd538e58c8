"""What the readers of foreign formats share: bodies and joints of a file as a tree, and its URDF with mesh files."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from unlatch.simcore.errors import AssetError
from unlatch.simcore.geometry import Pose
from unlatch.simcore.meshes.mesh_reader import MeshPiece
from unlatch.simcore.meshes.obj_file import format_obj
from unlatch.simcore.meshes.triangle_mesh import TriangleMesh
from unlatch.simcore.urdf.model import ENDLESS, Follows, Joint, Link, Shape, ShapeKind, UrdfModel

WORLD = ""
"""Key of what does not move: everything without a rigid body."""

_MOST_NAMED = 4


class AssetFile:
    """The file that bodies and joints come from."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.notices: list[str] = []
        """One line for each thing that is left out."""

    def error(self, where: Any, problem: str) -> AssetError:
        """Returns an error about a place in the file."""
        return AssetError(f"{self.path}: {where} {problem}", path=str(self.path), where=str(where))


@dataclass(frozen=True)
class FileBody:
    """A rigid body, or what does not move."""

    key: str
    """Its place in the file; `WORLD` for what does not move."""
    name: str
    T_file_body: Pose
    """Pose of its frame without scale, in metres with z up."""
    _: KW_ONLY
    is_marked: bool = False
    """Whether the file marks it as the root."""


@dataclass(frozen=True)
class BodyJoint:
    """A joint between two bodies, not yet in the order of a tree."""

    name: str
    place: str
    """Its place in the file."""
    kind: str
    """URDF type."""
    first: str
    """Key of the first body."""
    second: str
    T_first: Pose
    """Frame of the joint in the first body."""
    T_second: Pose
    """Frame of the joint in the second body."""
    axis: np.ndarray
    """(3,) in the frame of the joint; the second body moves along or about it."""
    _: KW_ONLY
    is_extra: bool = False
    """Whether it is kept out of the articulation, as a joint that closes a loop must be."""
    lower: float = -np.inf
    """Least position from the one that the file shows [rad or m]; -inf without a limit."""
    upper: float = np.inf
    values: Mapping[str, float] = field(default_factory=dict)
    """What the file states of `damping`, `friction`, `effort` and `velocity`, as in a URDF."""
    follows: Follows | None = None
    """The joint that it follows, by its name in the URDF, from the pose that the file shows."""

    def to_urdf(self, T_parent_joint: Pose, parent: str, child: str) -> Joint:
        """Returns the joint of a URDF between two links; values that no joint can have are left out."""
        axis = self.T_second.R @ self.axis
        joint = Joint(self.name, self.kind, parent, child, T_parent_joint, axis, follows=self.follows)
        if joint.kind == "fixed":
            return joint
        given: dict[str, Any] = {name: value for name, value in self.values.items() if 0.0 < value < ENDLESS}
        if self.kind == "continuous" or max(abs(self.lower), abs(self.upper)) >= ENDLESS:
            kind = "prismatic" if self.kind == "prismatic" else "continuous"
            return replace(joint, kind=kind, has_range=False, **given)
        return replace(joint, lower=self.lower, upper=self.upper, **given)


@dataclass(frozen=True)
class BodyTree:
    """The bodies that joints connect, with the frames of their links."""

    root: str
    """Key of the root."""
    T_body_link: Mapping[str, Pose]
    """Frame of each link in its body. That of a moving body is on the axis of its joint, as URDF wants it; that of the
    root is upright."""
    joints: tuple[Joint, ...]
    """Joints of the URDF, by the names of the bodies."""


def build_tree(
    file: AssetFile,
    bodies: Mapping[str, FileBody],
    joints: Sequence[BodyJoint],
    *,
    has_static_shape: bool,
    alone: str,
    remedy: str,
) -> BodyTree:
    """Arranges the bodies that moving joints connect as a tree.

    Args:
        file: The file, for errors and notices.
        bodies: Its bodies by key, `WORLD` among them.
        joints: Its joints; at least one moves.
        has_static_shape: Whether geometry belongs to no body.
        alone: How the user makes a file of one object.
        remedy: How the user can keep a joint that closes a loop out of the tree.

    Raises:
        AssetError: Joints close a loop, or move several objects that nothing connects.
    """
    moving = [joint for joint in joints if joint.kind != "fixed"]
    group = _connected(moving[0].first, joints)
    apart = [joint for joint in moving if joint.first not in group]
    if apart:
        raise file.error(
            "the file",
            f"holds several objects: nothing connects {_list_places(moving[:1])} and {_list_places(apart)}. Expected "
            f"one object. {alone}",
        )
    left = [key for key in bodies if key not in group and key != WORLD]
    if left:
        file.notices.append(f"left out, no joint holds it: {', '.join(bodies[key].name for key in left[:_MOST_NAMED])}")
    inside = [joint for joint in joints if joint.first in group]
    root = _choose_root(bodies, inside, group, has_static_shape)
    return _hang_below(file, root, inside, bodies, remedy)


def write_model(
    file: AssetFile, urdf: Path, name: str, links: Mapping[str, Link], joints: Sequence[Joint]
) -> list[str]:
    """Writes the URDF of a file; returns one line for each thing that is left out. `name` is that of the model."""
    model = UrdfModel(name, dict(links), {joint.name: joint for joint in joints})
    urdf.write_text(model.to_urdf(), encoding="utf-8")
    return list(dict.fromkeys(file.notices))


def unused_name(name: str, taken: set[str]) -> str:
    """Returns a name that is not taken, and takes it."""
    unique, number = name, 1
    while unique in taken:
        unique, number = f"{name}_{number}", number + 1
    taken.add(unique)
    return unique


def rigid_part(affine: np.ndarray) -> Pose:
    """Returns the pose of a frame without scale and shear: the rotation nearest to that of a (4, 4) affine map."""
    left, _, right = np.linalg.svd(affine[:3, :3])
    left[:, 2] *= np.sign(np.linalg.det(left @ right))
    return Pose(left @ right, affine[:3, 3])


def _connected(start: str, joints: Sequence[BodyJoint]) -> set[str]:
    """Returns the keys of all bodies that joints connect with one, itself included."""
    group = {start}
    while more := {key for j in joints if {j.first, j.second} & group for key in (j.first, j.second)} - group:
        group |= more
    return group


def _choose_root(
    bodies: Mapping[str, FileBody], joints: Sequence[BodyJoint], group: set[str], has_static_shape: bool
) -> str:
    """Returns what the joints hang from: the world if it has a shape or several joints, else the base."""
    at_world = [joint for joint in joints if WORLD in (joint.first, joint.second)]
    if WORLD in group:
        if has_static_shape or len(at_world) > 1 or at_world[0].kind != "fixed":
            return WORLD
        return next(key for key in (at_world[0].first, at_world[0].second) if key != WORLD)
    marked = [key for key in bodies if key in group and bodies[key].is_marked]
    seconds = {joint.second for joint in joints if not joint.is_extra}
    firsts = [joint.first for joint in joints if joint.first not in seconds]
    return (marked or firsts or sorted(group))[0]


def _hang_below(
    file: AssetFile, root: str, joints: Sequence[BodyJoint], bodies: Mapping[str, FileBody], remedy: str
) -> BodyTree:
    # what stands on the table must be upright: the frame of the root is that of the file
    frames = {root: Pose(bodies[root].T_file_body.R.T, np.zeros(3))}
    ordered: list[Joint] = []
    # a fixed joint that only holds the root in place is no joint of the tree
    left = [joint for joint in joints if root == WORLD or WORLD not in (joint.first, joint.second)]
    while left:
        usable = [joint for joint in left if joint.first in frames or joint.second in frames]
        joint = next((joint for joint in usable if not joint.is_extra), usable[0])
        left.remove(joint)
        if joint.first in frames and joint.second in frames:
            if not joint.is_extra:
                raise file.error(joint.place, f"closes a loop of joints. Expected a tree. {remedy}")
            file.notices.append(f"{joint.place} is left out: it closes a loop")
            continue
        turned = joint
        if joint.first not in frames:  # from its second body, the same position moves the first one the other way
            turned = replace(
                joint,
                first=joint.second,
                second=joint.first,
                T_first=joint.T_second,
                T_second=joint.T_first,
                axis=-joint.axis,
            )
        frames[turned.second] = Pose.from_translation(turned.T_second.p) if turned.kind != "fixed" else Pose.identity()
        T_parent_joint = (
            frames[turned.first].inverse() @ turned.T_first @ turned.T_second.inverse() @ frames[turned.second]
        )
        ordered.append(turned.to_urdf(T_parent_joint, bodies[turned.first].name, bodies[turned.second].name))
    return BodyTree(root, frames, tuple(ordered))


def _list_places(joints: Sequence[BodyJoint]) -> str:
    return ", ".join(joint.place for joint in joints[:_MOST_NAMED])


class MeshFiles:
    """The mesh files of one URDF."""

    def __init__(self, folder: Path, *, below: str = "") -> None:
        """Takes the folder of the URDF, and the folder in it for the meshes, such as `meshes/`."""
        self.folder = folder
        self.below = below
        self._names: dict[str, str] = {}

    def write_mesh(self, mesh: TriangleMesh) -> str:
        """Writes a mesh as OBJ; returns its name in the URDF."""
        return self._write(format_obj([mesh.cut()]).encode(), f"mesh_{len(self._names)}.obj")

    def write_picture(self, data: bytes, suffix: str) -> str:
        """Writes a picture; returns its name, which has no folder: it lies beside the meshes."""
        return Path(self._write(data, f"picture_{len(self._names)}{suffix}")).name

    def write_textured(self, mesh: TriangleMesh, corner_uvs: np.ndarray, picture: str) -> str:
        """Writes a mesh with a picture; returns its name in the URDF.

        Args:
            mesh: The mesh.
            corner_uvs: (F, 3, 2) texture coordinates: to the right, and upwards from the lower edge of the picture.
            picture: What `write_picture` returned.
        """
        stem = f"visual_{len(self._names)}"
        lines = [f"mtllib {stem}.mtl"]
        lines += [f"v {x:.9g} {y:.9g} {z:.9g}" for x, y, z in mesh.vertices + 0.0]
        lines += [f"vt {u:.9g} {v:.9g}" for u, v in corner_uvs.reshape(-1, 2) + 0.0]
        lines += ["usemtl look"]
        for row, corners in enumerate(mesh.faces):
            lines.append("f " + " ".join(f"{vertex + 1}/{3 * row + k + 1}" for k, vertex in enumerate(corners)))
        self._place(f"{stem}.mtl").write_text(f"newmtl look\nKd 1 1 1\nmap_Kd {picture}\n", encoding="utf-8")
        return self._write("\n".join([*lines, ""]).encode(), f"{stem}.obj")

    def shape_of(self, file: str, name: str) -> Shape:
        """Returns the shape of a mesh file whose vertices are in the frame of the link."""
        return Shape(ShapeKind.mesh, (1.0, 1.0, 1.0), Pose.identity(), name, mesh=file, path=self.folder / file)

    def piece_shape(self, piece: MeshPiece, T_link_file: Pose) -> Shape:
        """Writes a piece of a mesh file in the frame of a link; returns what is seen of it."""
        vertices = piece.mesh.vertices @ T_link_file.R.T + T_link_file.p
        mesh = TriangleMesh(vertices, piece.mesh.faces)
        if piece.picture is None or piece.corner_uvs is None:
            file = self.write_mesh(mesh)
        else:
            file = self.write_textured(mesh, piece.corner_uvs, self.write_picture(piece.picture, ".png"))
        return replace(self.shape_of(file, piece.name), rgba=piece.rgba)

    def _place(self, name: str) -> Path:
        path = self.folder / self.below / name
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def _write(self, data: bytes, name: str) -> str:
        """Writes a file, or returns the name of an equal one."""
        key = hashlib.sha256(data).hexdigest()
        if key not in self._names:
            self._place(name).write_bytes(data)
            self._names[key] = f"{self.below}{name}"
        return self._names[key]
