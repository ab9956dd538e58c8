"""Writes the meshes and pictures of a URDF into a folder; equal pictures, and equal meshes without one, once."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

import numpy as np

from unlatch.simcore.geometry import Pose
from unlatch.simcore.meshes.mesh_pieces import MeshPiece
from unlatch.simcore.meshes.obj_file import format_obj
from unlatch.simcore.meshes.triangle_mesh import TriangleMesh
from unlatch.simcore.urdf.model import Shape, ShapeKind


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
