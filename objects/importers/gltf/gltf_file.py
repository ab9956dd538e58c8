"""Opens a glTF file: its nodes with their places, and what is seen of each."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from unlatch.objects.importers.body_tree import rigid_part
from unlatch.simcore.errors import AssetError
from unlatch.simcore.geometry import Pose
from unlatch.simcore.meshes.mesh_dependencies import mesh_dependencies
from unlatch.simcore.meshes.mesh_pieces import MeshPiece, read_pieces
from unlatch.simcore.meshes.mesh_reader import GLTF_SUFFIXES, READER_ERRORS, TO_Z_UP, check_file, unreadable_mesh

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


class GltfFile:
    """An opened glTF; nodes are known by their number in the file."""

    def __init__(self, path: Path) -> None:
        """Opens the file.

        Raises:
            AssetError: It is no glTF 2, or damaged.
        """
        self.path = path
        self.notices: list[str] = []
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
        place = self.place(where) if isinstance(where, int) else str(where)
        return AssetError(f"{self.path}: {place} {problem}", path=str(self.path), where=place)

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
