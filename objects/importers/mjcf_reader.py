"""Reads an MJCF model, as MuJoCo has them, as a URDF: MuJoCo's compiler resolves defaults, includes and meshes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from io import BytesIO
from pathlib import Path

import numpy as np
from PIL import Image

from unlatch.objects.importers.urdf_parts import (
    WORLD,
    AssetFile,
    BodyJoint,
    FileBody,
    MeshFiles,
    build_tree,
    unused_name,
    write_model,
)
from unlatch.objects.turned_object import moved_link
from unlatch.simcore.errors import AssetError
from unlatch.simcore.geometry import Pose
from unlatch.simcore.meshes.mjcf import FREE, HINGE, SLIDE, CompiledMjcf, mjcf_pose
from unlatch.simcore.registry import import_extra
from unlatch.simcore.urdf.model import Follows, Link, Shape
from unlatch.simcore.urdf.reader import is_shared_folder


def mjcf_files(path: Path) -> dict[str, Path]:
    """Returns every file of the folder of an MJCF, by its name: which of them it names only MuJoCo knows."""
    folder = path.resolve().parent
    if is_shared_folder(folder):
        return {path.name: path}
    wanted = (".xml", ".mjcf", ".obj", ".stl", ".msh", ".png", ".mtl", ".dae")
    found = sorted(each for each in folder.rglob("*") if each.suffix.lower() in wanted and each.is_file())
    return {each.relative_to(folder).as_posix(): each for each in found}


class MjcfFile(AssetFile, CompiledMjcf):
    """A compiled MJCF; bodies are known by their number."""

    def __init__(self, path: Path) -> None:
        """Compiles the file.

        Raises:
            AssetError: MuJoCo is not installed, or cannot read the file.
        """
        AssetFile.__init__(self, path)
        mujoco = import_extra("mujoco", extra="mjcf", needed_by="An MJCF object", error=AssetError)
        try:
            CompiledMjcf.__init__(self, mujoco, mujoco.MjModel.from_xml_path(str(path)))
        except (ValueError, OSError) as exc:
            raise AssetError(
                f"{path}: MuJoCo cannot read it ({' '.join(str(exc).split())}). Correct the file.", path=str(path)
            ) from exc
        self.data = self.mujoco.MjData(self.model)
        self.data.qpos[:] = self.model.qpos0
        self.mujoco.mj_kinematics(self.model, self.data)

    def pose(self, body: int) -> Pose:
        """Returns the pose of a body as the model is drawn."""
        return mjcf_pose(self.data.xpos[body], self.data.xquat[body])


def write_urdf(path: Path, folder: Path, name: str) -> list[str]:
    """Reads an MJCF and writes a URDF with its meshes and textures into a folder.

    Bodies become links. Geoms without contacts are what is seen; a body without any shows its colliders.

    Args:
        path: The MJCF.
        folder: Where to write.
        name: File name of the URDF.

    Returns:
        One line for each thing that is left out.

    Raises:
        AssetError: MuJoCo is not installed or cannot read the file, or it has no joint that moves, or one that no URDF
            has.
    """
    file = MjcfFile(path)
    bodies = {WORLD: FileBody(WORLD, "world", Pose.identity())}
    taken = {"world"}
    for body in range(1, file.model.nbody):
        bodies[str(body)] = FileBody(str(body), unused_name(file.name("body", body), taken), file.pose(body))
    joints = list(_find_joints(file, bodies, taken))
    if all(joint.kind == "fixed" for joint in joints):
        raise file.error("the model", "has no joint that moves. Expected a hinge or a slide. Add one.")
    files = MeshFiles(folder)
    shapes = {key: _Shapes(file, files).read(int(key or 0)) for key in bodies if key == WORLD or key.isdigit()}
    tree = build_tree(
        file,
        bodies,
        joints,
        has_static_shape=any(shapes[WORLD]),
        alone="Write each to a file.",
        remedy="Leave one of its joints out.",
    )
    links = {}
    for key, T_body_link in tree.T_body_link.items():
        seen, hit = shapes.get(key, ([], []))
        T = T_body_link.inverse()
        # the world has no inertia, nor has what stands between two joints
        inertial = file.inertial(int(key), T) if key.isdigit() else None
        link = moved_link(Link(bodies[key].name, tuple(seen), tuple(hit)), T)
        links[link.name] = replace(link, inertial=inertial)
    file.notices += _couplings(file)
    return write_model(file, folder / name, path.stem, links, tree.joints)


def _find_joints(file: MjcfFile, bodies: dict[str, FileBody], taken: set[str]) -> Iterator[BodyJoint]:
    """Yields the joints; between two joints of one body stands a body of its own."""
    m = file.model
    for body in range(1, m.nbody):
        first = "" if m.body_parentid[body] == 0 else str(m.body_parentid[body])
        own = range(int(m.body_jntadr[body]), int(m.body_jntadr[body]) + int(m.body_jntnum[body]))
        kinds = [int(m.jnt_type[joint]) for joint in own]
        if kinds == [FREE]:
            continue
        if not kinds:
            yield _body_joint(file, bodies, f"{bodies[str(body)].name}_fixed", first, str(body), None)
        for joint in own:
            name = file.name("joint", joint)
            if m.jnt_type[joint] not in (SLIDE, HINGE):
                raise file.error(f"joint '{name}'", "is a ball joint. Expected hinges and slides. Replace it.")
            second = str(body)
            if joint != own[-1]:
                second = f"{body} {joint}"
                bodies[second] = FileBody(second, unused_name(f"{name}_link", taken), file.pose(body))
            yield _body_joint(file, bodies, name, first, second, joint)
            first = second


def _body_joint(
    file: MjcfFile, bodies: dict[str, FileBody], name: str, first: str, second: str, joint: int | None
) -> BodyJoint:
    m, d = file.model, file.data
    T_joint, axis, kind = bodies[second].T_file_body, np.array([1.0, 0.0, 0.0]), "fixed"
    lower, upper, values, follows = -np.inf, np.inf, {}, None
    if joint is not None:
        T_joint = Pose(T_joint.R, np.array(d.xanchor[joint], dtype=float))
        axis = T_joint.R.T @ np.array(d.xaxis[joint], dtype=float)
        kind = "prismatic" if m.jnt_type[joint] == SLIDE else "revolute"
        dof = int(m.jnt_dofadr[joint])
        values = {"damping": float(np.ravel(m.dof_damping[dof])[0]), "friction": float(m.dof_frictionloss[dof])}
        coupled = {follower: (leader, *numbers) for follower, leader, numbers in file.coupled_joints()}
        if name in coupled:
            leader, offset, ratio = coupled[name]
            follows = Follows(leader, ratio, offset)
        if m.jnt_limited[joint]:
            drawn = float(m.qpos0[m.jnt_qposadr[joint]])
            lower, upper = (float(end) - drawn for end in m.jnt_range[joint])
    return BodyJoint(
        name=name,
        place=f"joint '{name}'",
        kind=kind,
        first=first,
        second=second,
        T_first=bodies[first].T_file_body.inverse() @ T_joint,
        T_second=bodies[second].T_file_body.inverse() @ T_joint,
        axis=axis,
        lower=lower,
        upper=upper,
        values=values,
        follows=follows,
    )


def _couplings(file: MjcfFile) -> Iterator[str]:
    if file.model.ntendon:
        yield f"left out: {file.model.ntendon} tendons"


class _Shapes:
    """Reads the geoms of a body."""

    def __init__(self, file: MjcfFile, files: MeshFiles) -> None:
        self._file = file
        self._files = files

    def read(self, body: int) -> tuple[list[Shape], list[Shape]]:
        """Returns what is seen and what is hit of a body, in its frame."""
        seen: list[Shape] = []
        hit: list[Shape] = []
        for geom, touches in self._file.geoms(body):
            (hit if touches else seen).extend(self._read_geom(geom))
        return (seen or hit), [replace(shape, rgba=None) for shape in hit]

    def _read_geom(self, geom: int) -> list[Shape]:
        name, rgba, kind = self._file.name("geom", geom), self._colour(geom), self._file.geom_kind(geom)
        shapes = self._file.primitive(geom, name, rgba)
        if shapes is not None:
            return shapes
        if kind == "mesh":
            return [self._read_mesh(geom, self._file.geom_pose(geom), name, rgba)]
        if kind != "plane":
            self._file.notices.append(f"geom '{name}' is left out: URDFs have no {kind}")
        return []

    def _colour(self, geom: int) -> tuple[float, float, float, float]:
        r, g, b, a = self._file.geom_colour(geom)
        picture = self._picture(geom)
        if picture is not None:
            r, g, b = (np.array([r, g, b]) * picture.reshape(-1, 3).mean(axis=0) / 255.0).tolist()
        return r, g, b, a

    def _picture(self, geom: int) -> np.ndarray | None:
        """Returns (H, W, 3) the texture of a geom; None without a flat one."""
        m = self._file.model
        material = int(m.geom_matid[geom])
        roles = np.ravel(m.mat_texid[material]) if material >= 0 else np.array([-1])
        texture = next((int(number) for number in roles if number >= 0), -1)
        if texture < 0 or m.tex_type[texture] != self._file.mujoco.mjtTexture.mjTEXTURE_2D:
            return None
        height, width, channels = (int(v[texture]) for v in (m.tex_height, m.tex_width, m.tex_nchannel))
        start = int(m.tex_adr[texture])
        values = np.array(m.tex_data[start : start + height * width * channels], dtype=np.uint8)
        return values.reshape(height, width, channels)[:, :, [0, 0, 0] if channels < 3 else [0, 1, 2]]

    def _read_mesh(self, geom: int, T: Pose, name: str, rgba: tuple[float, float, float, float]) -> Shape:
        m, number = self._file.model, int(self._file.model.geom_dataid[geom])
        first, faces = int(m.mesh_faceadr[number]), int(m.mesh_facenum[number])
        mesh = self._file.mesh(number)
        picture, uvs = self._picture(geom), int(m.mesh_texcoordadr[number])
        if picture is None or uvs < 0:
            return replace(self._files.shape_of(self._files.write_mesh(mesh), name), T_link_shape=T, rgba=rgba)
        corners = np.array(m.mesh_facetexcoord[first : first + faces], dtype=int)
        corner_uvs = np.array(m.mesh_texcoord[uvs:], dtype=float)[corners]  # (F, 3, 2)
        stream = BytesIO()
        Image.fromarray(np.flipud(picture)).save(stream, format="PNG")  # MuJoCo has the lowest row first
        written = self._files.write_textured(mesh, corner_uvs, self._files.write_picture(stream.getvalue(), ".png"))
        return replace(self._files.shape_of(written, name), T_link_shape=T)
