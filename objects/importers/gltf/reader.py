"""Reads a glTF with joints as a URDF."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from unlatch.objects.importers.body_tree import WORLD, build_tree
from unlatch.objects.importers.gltf.gltf_file import AGI, KHR, GltfFile
from unlatch.objects.importers.gltf.joints import GltfJoint, body_of, find_bodies, find_joints
from unlatch.objects.importers.link_inertia import solid_inertial
from unlatch.objects.importers.mesh_files import MeshFiles
from unlatch.simcore.files import path_word
from unlatch.simcore.geometry import Pose
from unlatch.simcore.meshes.convex_hull import mesh_hull
from unlatch.simcore.meshes.mesh_pieces import MeshPiece
from unlatch.simcore.meshes.mesh_reader import READER_ERRORS, unreadable_mesh
from unlatch.simcore.meshes.triangle_mesh import TriangleMesh
from unlatch.simcore.urdf.model import Inertial, Joint, Link, UrdfModel

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
    made = [_with_range(joint, found) for found, joint in tree.joints]
    named_joints = [replace(j, parent=bodies[j.parent].name, child=bodies[j.child].name) for j in made]
    model = UrdfModel(path.stem, links, {joint.name: joint for joint in named_joints})
    (folder / name).write_text(model.to_urdf(), encoding="utf-8")
    return list(dict.fromkeys(file.notices))


def _with_range(joint: Joint, found: GltfJoint) -> Joint:
    if joint.kind == "continuous":
        return replace(joint, has_range=False)
    return replace(joint, lower=found.lower, upper=found.upper)


def _read_inertial(file: GltfFile, key: str, pieces: list[MeshPiece], T_link_file: Pose) -> Inertial | None:
    """Returns the inertia of a body whose motion states a mass; None otherwise: it is estimated later."""
    motion = file.extension(int(key), KHR).get("motion", {}) if key != WORLD else {}
    mass_kg = motion.get("mass", 0.0) if isinstance(motion, dict) else 0.0
    if not isinstance(mass_kg, (int, float)) or not 0.0 < mass_kg < np.inf or not pieces:
        return None
    placed = [TriangleMesh(p.mesh.vertices @ T_link_file.R.T + T_link_file.p, p.mesh.faces) for p in pieces]
    hulls = [mesh_hull(mesh, least_m=_FLAT_M, where=f"{file.path}: {file.place(int(key))}") for mesh in placed]
    return solid_inertial(placed, hulls, mass_kg=float(mass_kg))
