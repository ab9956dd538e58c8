"""Writes the robot in an MJCF file as a URDF, through MuJoCo's compiler.

Every body becomes a link whose frame is at its joint. What a URDF cannot say is left out: tendons, sites, contact
settings, damping and textures. Equalities between two joints become `<mimic>`.
"""

from __future__ import annotations

import os
import xml.etree.ElementTree as ET
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from unlatch.robots.models import to_text
from unlatch.simcore.errors import AssetError, ConfigError
from unlatch.simcore.geometry import Pose
from unlatch.simcore.meshes.obj_file import format_obj
from unlatch.simcore.meshes.triangle_mesh import TriangleMesh
from unlatch.simcore.urdf.model import Inertial, Joint, Link, Shape, ShapeKind, UrdfModel

Array = np.ndarray

MENAGERIE = "menagerie:"
"""Beginning of a name of MuJoCo Menagerie: `menagerie:NAME`."""
MENAGERIE_VARIABLE = "MENAGERIE_ROOT"
"""Environment variable with the folder of a checkout of MuJoCo Menagerie."""
_ROOT = "mjcf_root"
_NOT_A_ROBOT = ("scene", "hand", "keyframes")
_KINDS = {2: "prismatic", 3: "revolute"}
_LEAST_JOINTS = 5


@dataclass(frozen=True)
class ConvertedModel:
    """A URDF made from an MJCF file."""

    urdf: Path
    armature: dict[str, float]
    """Inertia of the rotor by turning joint, as far as the file states one [kg m^2]."""
    lines: list[str]
    """What was left out."""


def is_mjcf(file: Path) -> bool:
    """Returns whether a file is an MJCF file."""
    if file.suffix.lower() != ".xml" or not file.is_file():
        return False
    with file.open("rb") as stream:
        return b"<mujoco" in stream.read(65536)


def menagerie_file(name: str) -> Path:
    """Returns the MJCF file of a robot of MuJoCo Menagerie, in the folder that `MENAGERIE_ROOT` names.

    Without that variable, the package `mujoco-menagerie` fetches the robot if it is installed.

    Raises:
        ConfigError: There is no such folder or robot, or it cannot be fetched.
    """
    root = os.environ.get(MENAGERIE_VARIABLE)
    folder = _fetched_folder(name) if root is None else Path(root).expanduser() / name
    if not folder.is_dir():
        known = sorted(path.name for path in folder.parent.iterdir() if path.is_dir()) if folder.parent.is_dir() else []
        raise ConfigError(
            f"'{name}' is not a folder of {folder.parent} ({MENAGERIE_VARIABLE}). "
            f"{'There are ' + ', '.join(known) if known else 'It is no folder'}. Name one of a checkout of MuJoCo "
            "Menagerie.",
            key=MENAGERIE_VARIABLE,
        )
    files = [file for file in sorted(folder.glob("*.xml")) if not file.stem.startswith(_NOT_A_ROBOT)]
    named = [file for file in files if is_mjcf(file)]
    if not named:
        raise ConfigError(f"{folder} has no MJCF file of a robot, expected NAME.xml. Check it out again.", key=name)
    # the file of the folder's name, else the one that says most: variants include it
    return min(named, key=lambda file: (file.stem not in name, -file.stat().st_size))


def _fetched_folder(name: str) -> Path:
    try:
        import mujoco_menagerie
    except ImportError as exc:
        raise ConfigError(
            f"{MENAGERIE}{name} needs MuJoCo Menagerie: {MENAGERIE_VARIABLE} is not set, and the package "
            f"mujoco-menagerie is not installed. Clone github.com/google-deepmind/mujoco_menagerie and set "
            f"{MENAGERIE_VARIABLE}=FOLDER, or install that package where the network allows it to fetch robots.",
            key=MENAGERIE_VARIABLE,
        ) from exc
    try:
        return Path(mujoco_menagerie.get_path(name))
    except Exception as exc:
        raise ConfigError(
            f"mujoco-menagerie cannot fetch '{name}': {exc}. Without a network, set {MENAGERIE_VARIABLE} to a checkout "
            "of MuJoCo Menagerie.",
            key=MENAGERIE_VARIABLE,
        ) from exc


def load_mjcf(file: Path) -> Any:
    """Returns the specification (`mujoco.MjSpec`) of an MJCF file.

    Raises:
        AssetError: The extra `robots` is not installed, or MuJoCo cannot read the file.
    """
    mujoco = _mujoco(str(file))
    try:
        return mujoco.MjSpec.from_file(str(file))
    except (ValueError, OSError) as exc:
        raise AssetError(f"{file}: MuJoCo cannot read this file: {exc}. Correct it.", path=str(file)) from exc


def _mujoco(where: str) -> Any:
    try:
        import mujoco
    except ImportError as exc:
        from unlatch.simcore.registry import install_command

        raise AssetError(
            f"{where} is an MJCF file, which MuJoCo reads, and it is not installed. Install it: "
            f"{install_command('robots')}",
            path=where,
        ) from exc
    return mujoco


def convert_mjcf(spec: Any, folder: Path, name: str, *, where: str) -> ConvertedModel:
    """Writes `NAME.urdf` and meshes for the robots in an MJCF specification (`mujoco.MjSpec`) to a folder.

    Bodies that stand in the world without an arm below them, such as a table, are left out.

    Raises:
        AssetError: MuJoCo cannot compile it, or it has no arm, or a joint that a URDF cannot have.
        OSError: The folder cannot be written.
    """
    try:
        compiled = spec.compile()
    except ValueError as exc:
        raise AssetError(f"{where}: MuJoCo cannot compile this file: {exc}. Correct it.", path=where) from exc
    return _Converter(compiled, folder, where).convert(name)


class _Converter:
    """Makes links and joints from a compiled model."""

    def __init__(self, model: Any, folder: Path, where: str) -> None:
        self._mujoco = _mujoco(where)
        self._model = model
        self._folder = folder
        self._meshes = "meshes"
        self._where = where
        self._links: dict[str, Link] = {}
        self._joints: dict[str, Joint] = {}
        self._frames: dict[int, tuple[str, Array]] = {}
        """Link of each body, and the place of its frame in the body's frame."""
        self._left_out: set[str] = set()

    def convert(self, name: str) -> ConvertedModel:
        """Writes the files."""
        m = self._model
        self._meshes = f"{name}_meshes"
        kept = self._robot_bodies()
        roots = [body for body in kept if m.body_parentid[body] == 0]
        if not roots:
            raise AssetError(
                f"{self._where} has no robot: no body has at least {_LEAST_JOINTS} joints below it. Name the MJCF "
                "file of an arm.",
                path=self._where,
            )
        if len(roots) > 1:
            self._links[_ROOT] = Link(_ROOT)
        self._frames[0] = (_ROOT, np.zeros(3))
        for body in kept:
            self._add_body(body, is_root=len(roots) == 1 and body == roots[0])
        urdf = ET.fromstring(UrdfModel(name, self._links, self._joints).to_urdf())
        self._add_mimics(urdf)
        file = self._folder / f"{name}.urdf"
        file.write_text(to_text(urdf), encoding="utf-8")
        armature = {
            self._name("joint", joint): float(m.dof_armature[m.jnt_dofadr[joint]])
            for joint in range(m.njnt)
            if self._name("joint", joint) in self._joints and m.jnt_type[joint] == 3
        }
        lines = [f"left out of {Path(self._where).name}: {', '.join(sorted(self._left_out))}"] if self._left_out else []
        return ConvertedModel(file, {joint: value for joint, value in armature.items() if value > 0.0}, lines)

    def _robot_bodies(self) -> list[int]:
        """Returns the bodies of the trees that hold an arm, parents first."""
        m = self._model
        count: dict[int, int] = {}
        for joint in range(m.njnt):
            if m.jnt_type[joint] in _KINDS:
                root = int(m.body_rootid[m.jnt_bodyid[joint]])
                count[root] = count.get(root, 0) + 1
        return [body for body in range(1, m.nbody) if count.get(int(m.body_rootid[body]), 0) >= _LEAST_JOINTS]

    def _name(self, kind: str, index: int) -> str:
        types = {"body": self._mujoco.mjtObj.mjOBJ_BODY, "joint": self._mujoco.mjtObj.mjOBJ_JOINT}
        found: str | None = self._mujoco.mj_id2name(self._model, types[kind], int(index))
        return found or f"{kind}_{index}"

    def _add_body(self, body: int, *, is_root: bool) -> None:
        m = self._model
        name = self._name("body", body)
        first, count = int(m.body_jntadr[body]), int(m.body_jntnum[body])
        joints = [j for j in range(first, first + count) if m.jnt_type[j] != 0]  # a free base is held
        anchor = np.array(m.jnt_pos[joints[-1]], dtype=float) if joints else np.zeros(3)
        self._frames[body] = (name, anchor)
        self._links[name] = self._make_link(body, name, anchor)
        if is_root and not joints:
            return
        parent, parent_anchor = self._frames[int(m.body_parentid[body])]
        if is_root:
            self._links = {_ROOT: Link(_ROOT), **self._links}
        T_parent_body = _pose(m.body_pos[body], m.body_quat[body])
        T = Pose.from_translation(-parent_anchor) @ T_parent_body
        if not joints:
            self._joints[f"{name}_fixed"] = Joint(f"{name}_fixed", "fixed", parent, name, T)
            return
        before = np.zeros(3)
        for number, joint in enumerate(joints):
            place = np.array(m.jnt_pos[joint], dtype=float)
            is_last = number == len(joints) - 1
            child = name if is_last else f"{name}_{self._name('joint', joint)}"
            if not is_last:
                self._links[child] = Link(child)
            self._add_joint(joint, parent, child, T @ Pose.from_translation(place - before))
            parent, T, before = child, Pose.identity(), place

    def _add_joint(self, index: int, parent: str, child: str, T: Pose) -> None:
        m, name = self._model, self._name("joint", index)
        kind = _KINDS.get(int(m.jnt_type[index]))
        if kind is None:
            raise AssetError(
                f"{self._where}: joint '{name}' is a ball joint, which a URDF cannot have. Expected hinges and slides.",
                path=self._where,
                joint=name,
            )
        limited = bool(m.jnt_limited[index])
        lower, upper = (float(value) for value in m.jnt_range[index]) if limited else (0.0, 0.0)
        if not limited and kind == "revolute":
            kind = "continuous"
        axis = np.array(m.jnt_axis[index], dtype=float)
        effort = self._effort(index)
        self._joints[name] = Joint(
            name, kind, parent, child, T, axis, lower=lower, upper=upper, effort=effort, velocity=0.0
        )

    def _effort(self, joint: int) -> float:
        """Returns the largest effort of the motors of a joint; 0 if the file states none [N m or N]."""
        m = self._model
        if m.jnt_actfrclimited[joint]:
            return float(np.abs(m.jnt_actfrcrange[joint]).max())
        total = 0.0
        for actuator in range(m.nu):
            share = self._share_of_actuator(actuator, joint)
            if m.actuator_forcelimited[actuator]:
                total += share * float(np.abs(m.actuator_forcerange[actuator]).max())
            elif m.actuator_biastype[actuator] == 0 and m.actuator_ctrllimited[actuator]:
                gain = abs(float(m.actuator_gainprm[actuator, 0]))
                total += share * gain * float(np.abs(m.actuator_ctrlrange[actuator]).max())
        return total

    def _share_of_actuator(self, actuator: int, joint: int) -> float:
        """Returns the effort on a joint per unit of an actuator's force, directly or by a tendon."""
        m = self._model
        gear, target = abs(float(m.actuator_gear[actuator, 0])), int(m.actuator_trnid[actuator, 0])
        transmission = int(m.actuator_trntype[actuator])
        if transmission == int(self._mujoco.mjtTrn.mjTRN_JOINT):
            return gear if target == joint else 0.0
        if transmission == int(self._mujoco.mjtTrn.mjTRN_TENDON):
            first, count = int(m.tendon_adr[target]), int(m.tendon_num[target])
            wraps = range(first, first + count)
            return sum(gear * abs(float(m.wrap_prm[w])) for w in wraps if m.wrap_objid[w] == joint)
        return 0.0

    def _make_link(self, body: int, name: str, anchor: Array) -> Link:
        m = self._model
        shift = Pose.from_translation(-anchor)
        visuals: list[Shape] = []
        collisions: list[Shape] = []
        for geom in range(int(m.body_geomadr[body]), int(m.body_geomadr[body]) + int(m.body_geomnum[body])):
            shapes = [replace(shape, T_link_shape=shift @ shape.T_link_shape) for shape in self._shapes(geom)]
            touches = bool(m.geom_contype[geom] or m.geom_conaffinity[geom])
            (collisions if touches else visuals).extend(shapes)
        inertial = None
        mass = float(m.body_mass[body])
        if mass > 0.0:
            T = shift @ _pose(m.body_ipos[body], m.body_iquat[body])
            inertial = Inertial(mass, T.p, T.R @ np.diag(m.body_inertia[body]) @ T.R.T)
        return Link(name, tuple(visuals), tuple(collisions), inertial)

    def _shapes(self, geom: int) -> list[Shape]:
        """Returns a geometry as shapes in its body's frame; a capsule is a cylinder and two spheres."""
        m, kinds = self._model, self._mujoco.mjtGeom
        T, size, kind = _pose(m.geom_pos[geom], m.geom_quat[geom]), m.geom_size[geom], int(m.geom_type[geom])
        material = int(m.geom_matid[geom])
        rgba = m.geom_rgba[geom] if material < 0 else m.mat_rgba[material]
        colour = (float(rgba[0]), float(rgba[1]), float(rgba[2]), float(rgba[3]))

        def shape(kind: ShapeKind, *values: float, at: Pose = T) -> Shape:
            return Shape(kind, tuple(float(value) for value in values), at, rgba=colour)

        if kind == kinds.mjGEOM_BOX:
            return [shape(ShapeKind.box, *(2.0 * size))]
        if kind == kinds.mjGEOM_SPHERE:
            return [shape(ShapeKind.sphere, size[0])]
        if kind in (kinds.mjGEOM_CYLINDER, kinds.mjGEOM_CAPSULE):
            ends = [T @ Pose.from_translation((0.0, 0.0, z)) for z in (-size[1], size[1])]
            caps = [shape(ShapeKind.sphere, size[0], at=end) for end in ends] if kind == kinds.mjGEOM_CAPSULE else []
            return [shape(ShapeKind.cylinder, size[0], 2.0 * size[1]), *caps]
        if kind == kinds.mjGEOM_MESH:
            return [replace(shape(ShapeKind.mesh, 1.0, 1.0, 1.0), mesh=self._write_mesh(int(m.geom_dataid[geom])))]
        self._left_out.add(f"a {kinds(kind).name.removeprefix('mjGEOM_').lower()}")
        return []

    def _write_mesh(self, index: int) -> str:
        m = self._model
        name = f"{self._meshes}/{index:03d}.obj"
        file = self._folder / name
        if not file.exists():
            file.parent.mkdir(parents=True, exist_ok=True)
            first, count = int(m.mesh_vertadr[index]), int(m.mesh_vertnum[index])
            face, faces = int(m.mesh_faceadr[index]), int(m.mesh_facenum[index])
            vertices = np.array(m.mesh_vert[first : first + count], dtype=float)
            mesh = TriangleMesh(vertices, np.array(m.mesh_face[face : face + faces], dtype=int))
            file.write_text(format_obj([mesh], decimals=7), encoding="utf-8")
        return name

    def _add_mimics(self, urdf: ET.Element) -> None:
        """Adds `<mimic>` for each equality between two joints, in place."""
        m = self._model
        elements = {element.get("name"): element for element in urdf.iter("joint")}
        for equality in range(m.neq):
            if m.eq_type[equality] != self._mujoco.mjtEq.mjEQ_JOINT or m.eq_obj2id[equality] < 0:
                if m.eq_type[equality] != self._mujoco.mjtEq.mjEQ_JOINT:
                    self._left_out.add("an equality of bodies")
                continue
            follower, leader = (self._name("joint", j[equality]) for j in (m.eq_obj1id, m.eq_obj2id))
            if follower in elements and leader in elements and elements[follower].find("mimic") is None:
                offset, multiplier = (f"{value:.9g}" for value in m.eq_data[equality][:2])
                values = {"joint": leader, "multiplier": multiplier, "offset": offset}
                ET.SubElement(elements[follower], "mimic", values)


def _pose(position: Array, quat_wxyz: Array) -> Pose:
    w, x, y, z = (float(value) for value in quat_wxyz)
    return Pose.from_quat_xyzw(np.array(position, dtype=float), [x, y, z, w])
