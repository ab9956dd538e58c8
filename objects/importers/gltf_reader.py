"""Reads a glTF whose nodes have joints as a URDF: the file, its bodies and joints in two extensions, its surfaces."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from unlatch.objects.importers.converted_asset import solid_inertial
from unlatch.objects.importers.urdf_parts import (
    WORLD,
    AssetFile,
    BodyJoint,
    FileBody,
    MeshFiles,
    build_tree,
    rigid_part,
    unused_name,
    write_model,
)
from unlatch.simcore.errors import AssetError, close_matches
from unlatch.simcore.files import path_word
from unlatch.simcore.geometry import Pose
from unlatch.simcore.meshes.mesh_reader import (
    GLTF_SUFFIXES,
    READER_ERRORS,
    TO_Z_UP,
    MeshPiece,
    check_file,
    read_pieces,
    unreadable_mesh,
)
from unlatch.simcore.meshes.mesh_store import mesh_dependencies
from unlatch.simcore.meshes.solids import mesh_hull
from unlatch.simcore.meshes.triangle_mesh import TriangleMesh
from unlatch.simcore.urdf.model import Inertial, Link

AGI = "AGI_articulations"
"""Extension whose articulations turn and shift nodes."""
KHR = "KHR_physics_rigid_bodies"
"""Extension with rigid bodies and joints between them."""

_GLB = b"glTF"
_HEADER = 12
_MOST_NODES = 100_000


def is_gltf(path: Path | str) -> bool:
    """Returns whether the name of a file ends like that of a glTF."""
    return Path(path).suffix.lower() in GLTF_SUFFIXES


def has_joints(path: Path) -> bool:
    """Returns whether a glTF names an extension that has joints; false for a file that cannot be read."""
    try:
        used = _read_parts(path)[0].get("extensionsUsed", [])
    except READER_ERRORS:
        return False
    return isinstance(used, list) and bool({AGI, KHR} & {str(name) for name in used})


def gltf_files(path: Path) -> dict[str, Path]:
    """Returns every file that a glTF consists of, by its name relative to its folder.

    Raises:
        AssetError: The file cannot be read, or a name leads out of its folder.
    """
    check_file(path, str(path))
    return {path.name: path, **mesh_dependencies(path, path.parent.resolve())}


class GltfFile(AssetFile):
    """An opened glTF; nodes are known by their number in the file."""

    def __init__(self, path: Path) -> None:
        """Opens the file.

        Raises:
            AssetError: It is no glTF 2, or damaged.
        """
        super().__init__(path)
        check_file(path, str(path))
        try:
            self.content, self._rest = _read_parts(path)
            self.nodes: list[dict[str, Any]] = [dict(node) for node in self.content.get("nodes", [])]
            self._parents = self._find_parents()
            self._places: dict[int, np.ndarray] = {}
            for number in self.numbers():
                self.affine(number)
        except READER_ERRORS as exc:
            raise unreadable_mesh(path, exc, where=str(path)) from exc

    def error(self, where: Any, problem: str) -> AssetError:
        """Returns an error about a node, by its number or name."""
        return super().error(self.place(where) if isinstance(where, int) else where, problem)

    def numbers(self) -> range:
        """Returns the numbers of all nodes."""
        return range(len(self.nodes))

    def name(self, node: int) -> str:
        """Returns the name of a node, or `node_` with its number."""
        return str(self.nodes[node].get("name") or f"node_{node}")

    def place(self, node: int) -> str:
        """Returns how errors and notices name a node."""
        return f"node {node} ({self.name(node)})"

    def above(self, node: int) -> Iterator[int]:
        """Yields a node, then those that it hangs below, the nearest first."""
        at: int | None = node
        while at is not None:
            yield at
            at = self._parents.get(at)

    def extension(self, node: int, name: str) -> dict[str, Any]:
        """Returns the values of an extension of a node; empty without any."""
        return _extension(self.nodes[node], name)

    def root_extension(self, name: str) -> dict[str, Any]:
        """Returns the values of an extension of the whole file; empty without any."""
        return _extension(self.content, name)

    def affine(self, node: int) -> np.ndarray:
        """Returns (4, 4) the map from the coordinates of a node to those of the file, in metres with z up."""
        if node not in self._places:
            parent = self._parents.get(node)
            if parent is not None:
                above = self.affine(parent)
            else:
                above = np.eye(4)
                above[:3, :3] = TO_Z_UP["y"]
            self._places[node] = above @ _local_affine(self.nodes[node])
        return self._places[node]

    def pose(self, node: int) -> Pose:
        """Returns the pose of a node without its scale.

        Raises:
            AssetError: Its transform is not finite, makes it flat, or mirrors it.
        """
        affine = self.affine(node)
        if not np.all(np.isfinite(affine)) or np.linalg.det(affine[:3, :3]) < 1e-30:
            raise self.error(
                node,
                "has a joint and a transform that is not finite, makes it flat, or mirrors it. Apply its scale in the "
                "modeller.",
            )
        return rigid_part(affine)

    def read_pieces(self) -> dict[int, list[MeshPiece]]:
        """Returns what is seen of each node that has a mesh, in the axes of the file with z up [m].

        Raises:
            AssetError: The file cannot be read, or has no triangle.
        """
        # names of nodes may be missing or occur twice: for the reader, each node has its number as its name
        numbered = {**self.content, "nodes": [{**node, "name": str(k)} for k, node in enumerate(self.nodes)]}
        found: dict[int, list[MeshPiece]] = {}
        for piece in read_pieces(self.path, content=_write_parts(self.path, numbered, self._rest), split_one=False):
            owner = next(int(name) for name in (piece.name, *piece.above) if name.isdigit())
            found.setdefault(owner, []).append(piece)
        return found

    def _find_parents(self) -> dict[int, int]:
        if len(self.nodes) > _MOST_NODES:
            raise ValueError(f"{len(self.nodes)} nodes, at most {_MOST_NODES} are read")
        parents: dict[int, int] = {}
        for number, node in enumerate(self.nodes):
            for child in node.get("children", []):
                if not 0 <= child < len(self.nodes) or child in parents:
                    raise ValueError(f"node {number} has the child {child}, which is missing or has another parent")
                parents[child] = number
        for number in self.numbers():
            at, steps = parents.get(number), 0
            while at is not None:
                at, steps = parents.get(at), steps + 1
                if steps > len(self.nodes):
                    raise ValueError(f"node {number} hangs below itself")
        return parents


def _extension(values: Any, name: str) -> dict[str, Any]:
    found = values.get("extensions", {}).get(name, {})
    return found if isinstance(found, dict) else {}


def _local_affine(node: dict[str, Any]) -> np.ndarray:
    if "matrix" in node:
        return np.array(node["matrix"], dtype=float).reshape(4, 4).T
    affine = np.eye(4)
    rotation = np.array(node.get("rotation", [0.0, 0.0, 0.0, 1.0]), dtype=float).reshape(4)
    R = Pose.from_quat_xyzw(np.zeros(3), rotation / np.linalg.norm(rotation)).R
    affine[:3, :3] = R * np.array(node.get("scale", [1.0, 1.0, 1.0]), dtype=float).reshape(3)
    affine[:3, 3] = np.array(node.get("translation", [0.0, 0.0, 0.0]), dtype=float).reshape(3)
    return affine


def _read_parts(path: Path) -> tuple[dict[str, Any], bytes]:
    """Returns the JSON of a glTF, and the chunks behind it in a GLB."""
    data = path.read_bytes()
    if data[:4] != _GLB:
        return _as_object(json.loads(data)), b""
    length, kind = struct.unpack("<I4s", data[_HEADER : _HEADER + 8])
    if kind != b"JSON":
        raise ValueError("its first chunk is not JSON")
    end = _HEADER + 8 + length
    return _as_object(json.loads(data[_HEADER + 8 : end])), data[end:]


def _as_object(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError(f"expected a JSON object, got {type(value).__name__}")
    return value


def _write_parts(path: Path, content: dict[str, Any], rest: bytes) -> bytes:
    """Returns the bytes of a file of the same format with another JSON."""
    text = json.dumps(content).encode()
    if path.suffix.lower() == ".gltf":
        return text
    text += b" " * (-len(text) % 4)
    size = _HEADER + 8 + len(text) + len(rest)
    return _GLB + struct.pack("<II", 2, size) + struct.pack("<I4s", len(text), b"JSON") + text + rest


_AXES = "xyz"
_MOVING_STAGES = ("xRotate", "yRotate", "zRotate", "xTranslate", "yTranslate", "zTranslate")
"""Types of the stages of `AGI_articulations` that are joints."""
_SCALING_STAGES = ("xScale", "yScale", "zScale", "uniformScale")
"""The others, which are no joints."""
_FULL_TURN_RAD = 2 * np.pi


def find_bodies(file: GltfFile) -> dict[str, FileBody]:
    """Returns the bodies by key, which is the number of their node; `WORLD` comes first."""
    bodies = {WORLD: FileBody(WORLD, "world", Pose.identity())}
    taken = {"world"}
    for node in file.numbers():
        if _is_body(file, node):
            bodies[str(node)] = FileBody(str(node), unused_name(file.name(node), taken), file.pose(node))
    return bodies


def body_of(file: GltfFile, node: int) -> str:
    """Returns the key of the body that a node is part of."""
    return next((str(at) for at in file.above(node) if _is_body(file, at)), WORLD)


def find_joints(file: GltfFile, bodies: dict[str, FileBody]) -> list[BodyJoint]:
    """Returns the joints between two bodies.

    Raises:
        AssetError: A joint moves in more than one direction, or names something that does not exist.
    """
    taken: set[str] = set()
    return [*_articulations(file, bodies, taken), *_physics_joints(file, bodies, taken)]


def _is_body(file: GltfFile, node: int) -> bool:
    motion = file.extension(node, KHR).get("motion")
    if isinstance(motion, dict) and not motion.get("isKinematic", False):
        return True
    return _articulation_name(file, node) is not None


def _articulation_name(file: GltfFile, node: int) -> str | None:
    name = file.extension(node, AGI).get("articulationName")
    return name if isinstance(name, str) else None


def _articulations(file: GltfFile, bodies: dict[str, FileBody], taken: set[str]) -> Iterator[BodyJoint]:
    listed = file.root_extension(AGI).get("articulations", [])
    known = {item.get("name"): item for item in listed if isinstance(item, dict)}
    for node in file.numbers():
        name = _articulation_name(file, node)
        if name is None:
            continue
        if name not in known:
            raise file.error(node, f"names the articulation '{name}'. Known: {', '.join(map(str, known))}. Correct it.")
        stages = [stage for stage in known[name].get("stages", []) if isinstance(stage, dict)]
        moving = [stage for stage in stages if stage.get("type") in _MOVING_STAGES]
        for stage in () if moving else stages:
            word = str(stage.get("type", ""))
            if word not in (*_MOVING_STAGES, *_SCALING_STAGES):
                raise file.error(
                    node,
                    f"has a stage of the unknown type '{word}'.{close_matches(word, _MOVING_STAGES)} Expected one of "
                    f"{', '.join(_MOVING_STAGES)}. Correct it.",
                )
        if len(moving) != 1:
            raise file.error(
                node,
                f"moves in {len(moving)} ways by the articulation '{name}'. Expected one stage that rotates or "
                "translates. Give each way a node of its own.",
            )
        yield _stage_joint(file, bodies, node, moving[0], unused_name(name, taken))


def _stage_joint(file: GltfFile, bodies: dict[str, FileBody], node: int, stage: dict[str, Any], name: str) -> BodyJoint:
    word = stage["type"]
    axis = np.eye(3)[_AXES.index(word[0])]
    turns = word.endswith("Rotate")
    unit = float(np.radians(1.0)) if turns else float(np.linalg.norm(file.affine(node)[:3, :3] @ axis))
    lower, upper = (_number(file, node, stage, key) * unit for key in ("minimumValue", "maximumValue"))
    parent = next((body_of(file, at) for at in list(file.above(node))[1:2]), WORLD)
    T_node = file.pose(node)
    return BodyJoint(
        name=name,
        place=file.place(node),
        kind=_kind(turns, lower, upper),
        first=parent,
        second=str(node),
        T_first=bodies[parent].T_file_body.inverse() @ T_node,
        T_second=Pose.identity(),
        axis=axis,
        lower=lower,
        upper=upper,
    )


def _physics_joints(file: GltfFile, bodies: dict[str, FileBody], taken: set[str]) -> Iterator[BodyJoint]:
    described = file.root_extension(KHR).get("physicsJoints", [])
    for node in file.numbers():
        joint = file.extension(node, KHR).get("joint")
        if not isinstance(joint, dict):
            continue
        other, index = joint.get("connectedNode"), joint.get("joint")
        if not isinstance(other, int) or other not in file.numbers():
            raise file.error(node, f"has a joint with connectedNode {other}, which does not exist. Correct it.")
        if not isinstance(index, int) or not 0 <= index < len(described):
            raise file.error(node, f"has the joint {index} of {len(described)} physicsJoints. Correct it.")
        first, second = body_of(file, node), body_of(file, other)
        if first == second:
            file.notices.append(f"{file.place(node)}: its joint is left out, it joins a body to itself")
            continue
        turns, axis, lower, upper = _free_direction(file, node, described[index])
        if not turns and not np.all(np.isfinite([lower, upper])):
            raise file.error(
                node, f"slides without end: {lower:g} to {upper:g}. Expected a limit with min and max. Add them."
            )
        yield BodyJoint(
            name=unused_name(file.name(node), taken),
            place=file.place(node),
            kind=_kind(turns, lower, upper),
            first=first,
            second=second,
            T_first=bodies[first].T_file_body.inverse() @ file.pose(node),
            T_second=bodies[second].T_file_body.inverse() @ file.pose(other),
            axis=axis,
            lower=lower,
            upper=upper,
        )


def _free_direction(file: GltfFile, node: int, described: Any) -> tuple[bool, np.ndarray, float, float]:
    """Returns whether a joint turns, its axis, and its range, from the limits of each direction.

    A joint that keeps all directions has an empty range.
    """
    ranges = {(turns, k): (-np.inf, np.inf) for turns in (False, True) for k in range(3)}
    for limit in described.get("limits", []):
        low = float(limit.get("min", -np.inf))
        high = float(limit.get("max", np.inf))
        for turns, key in ((False, "linearAxes"), (True, "angularAxes")):
            axes = limit.get(key, [])
            for k in axes:  # a limit of several axes is a distance from 0, or an angle from it
                ranges[turns, int(k)] = (-high if len(axes) > 1 else low, high)
    free = [(key, (low, high)) for key, (low, high) in ranges.items() if high - low > 1e-9]
    if len(free) > 1:
        words = ", ".join(f"{'turns about' if turns else 'slides along'} {_AXES[k]}" for (turns, k), _ in free)
        raise file.error(
            node, f"has a joint that moves in {len(free)} ways: {words}. Expected one. Limit the others to 0."
        )
    if not free:
        return False, np.eye(3)[0], 0.0, 0.0
    ((turns, k), (low, high)) = free[0]
    return turns, np.eye(3)[k], low, high


def _kind(turns: bool, lower: float, upper: float) -> str:
    if upper - lower <= 1e-9:
        return "fixed"
    if not turns:
        return "prismatic"
    return "continuous" if upper - lower >= _FULL_TURN_RAD - 1e-6 else "revolute"


def _number(file: GltfFile, node: int, values: dict[str, Any], key: str) -> float:
    value = values.get(key)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not np.isfinite(value):
        raise file.error(node, f"has a stage with {key}={value}. Expected a number. Correct it.")
    return float(value)


_FLAT_M = 1e-3
"""Least thickness of the hull of a piece, of which the inertia is computed."""


def write_urdf(path: Path, folder: Path, name: str) -> list[str]:
    """Reads a glTF and writes a URDF with its meshes into a folder.

    Lengths are metres, z points up. A node with an articulation of AGI_articulations or a motion of
    KHR_physics_rigid_bodies that is not kinematic becomes a link with what hangs below it, everything else the link
    `world`. Colliders are made from what is seen.

    Args:
        path: The glTF.
        folder: Where to write.
        name: File name of the URDF.

    Returns:
        One line for each thing that is left out.

    Raises:
        AssetError: The file cannot be read, has no joint that moves, or one that no URDF has.
    """
    file = GltfFile(path)
    try:
        bodies = find_bodies(file)
        joints = find_joints(file, bodies)
    except READER_ERRORS as exc:  # values of another type than the extension has
        raise unreadable_mesh(path, exc, where=str(path)) from exc
    if all(joint.kind == "fixed" for joint in joints):
        raise file.error(
            "the file",
            f"has no joint that moves ({AGI} and {KHR} are read). Say which part moves: unlatch annotate "
            f"{path_word(path)} joint=hinge moving=NODE axis=z at=+x",
        )
    pieces: dict[str, list[MeshPiece]] = {}
    for node, found in file.read_pieces().items():
        named = [replace(piece, name=file.name(node)) for piece in found]
        pieces.setdefault(body_of(file, node), []).extend(named)
    tree = build_tree(
        file,
        bodies,
        joints,
        has_static_shape=WORLD in pieces,
        alone="Export each alone.",
        remedy="Leave one joint of the loop out.",
    )
    if tree.root != WORLD and WORLD in pieces:
        file.notices.append("geometry that belongs to no body is left out: no joint connects it")
    if any("collider" in file.extension(node, KHR) for node in file.numbers()):
        file.notices.append("its colliders are left out: they are made from what is seen")
    files = MeshFiles(folder)
    links: dict[str, Link] = {}
    for key, T_body_link in tree.T_body_link.items():
        T_link_file = (bodies[key].T_file_body @ T_body_link).inverse()
        shapes = tuple(files.piece_shape(piece, T_link_file) for piece in pieces.get(key, ()))
        colliders = tuple(replace(shape, rgba=None) for shape in shapes)
        inertial = _read_inertial(file, key, pieces.get(key, []), T_link_file)
        links[bodies[key].name] = Link(bodies[key].name, shapes, colliders, inertial)
    return write_model(file, folder / name, path.stem, links, tree.joints)


def _read_inertial(file: GltfFile, key: str, pieces: list[MeshPiece], T_link_file: Pose) -> Inertial | None:
    """Returns the inertia of a body whose motion states a mass; None otherwise: it is estimated later."""
    motion = file.extension(int(key), KHR).get("motion", {}) if key != WORLD else {}
    mass_kg = motion.get("mass", 0.0) if isinstance(motion, dict) else 0.0
    if not isinstance(mass_kg, (int, float)) or not 0.0 < mass_kg < np.inf or not pieces:
        return None
    placed = [TriangleMesh(p.mesh.vertices @ T_link_file.R.T + T_link_file.p, p.mesh.faces) for p in pieces]
    hulls = [mesh_hull(mesh, least_m=_FLAT_M, where=f"{file.path}: {file.place(int(key))}") for mesh in placed]
    return solid_inertial(placed, hulls, mass_kg=float(mass_kg))
