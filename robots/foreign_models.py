"""Models as strangers bring them: MJCF files become URDFs, which get what holding needs (`robots/hand_mending.py`).

An MJCF file is read through MuJoCo's compiler. Every body becomes a link whose frame is at its joint. What a URDF
cannot say is left out: tendons, sites, contact settings, damping and textures. Equalities between two joints, loops and
coupling tendons become `<mimic>`.
"""

from __future__ import annotations

import os
import xml.etree.ElementTree as ET
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from unlatch.robots.catalog import read_description
from unlatch.robots.changed_models import RepairedInertias, changed_model, distribution_file, example_robot_urdf
from unlatch.robots.hand_mending import MendedModel
from unlatch.robots.made_models import two_on_a_stand
from unlatch.robots.mjcf_linkages import Follower, find_followers, told_range
from unlatch.robots.models import arm_joints, cached_model, to_text
from unlatch.simcore.cache import cache_root
from unlatch.simcore.errors import AssetError, ConfigError
from unlatch.simcore.extras import import_extra
from unlatch.simcore.geometry import Pose, matrix_from_axis_angle, unit
from unlatch.simcore.meshes.mjcf import HINGE, SLIDE, CompiledMjcf, is_mjcf, mjcf_pose, states_unit
from unlatch.simcore.meshes.obj_file import format_obj
from unlatch.simcore.urdf.model import Joint, Link, Shape, ShapeKind, UrdfModel

Array = np.ndarray

MENAGERIE = "menagerie:"
"""Beginning of a name of MuJoCo Menagerie: `menagerie:NAME`."""
MENAGERIE_VARIABLE = "MENAGERIE_ROOT"
"""Environment variable with the folder of a checkout of MuJoCo Menagerie."""
_ROOT = "mjcf_root"
_NOT_A_ROBOT = ("scene", "hand", "keyframes")
_KINDS = {SLIDE: "prismatic", HINGE: "revolute"}
_LEAST_JOINTS = 5


@dataclass(frozen=True)
class ConvertedModel:
    """A URDF made from an MJCF file."""

    urdf: Path
    armature: dict[str, float]
    """Inertia of the rotor by turning joint, as far as the file states one [kg m^2]."""
    lines: list[str]
    """What was left out."""


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
    mujoco = import_extra("mujoco", extra="robots", needed_by=f"The MJCF file {file}", error=AssetError)
    try:
        return mujoco.MjSpec.from_file(str(file))
    except (ValueError, OSError) as exc:
        raise AssetError(f"{file}: MuJoCo cannot read this file: {exc}. Correct it.", path=str(file)) from exc


def convert_mjcf(spec: Any, folder: Path, name: str, *, where: str, is_gripper: bool = False) -> ConvertedModel:
    """Writes `NAME.urdf` and meshes for the robots in an MJCF specification (`mujoco.MjSpec`) to a folder.

    Bodies that stand in the world without an arm below them, such as a table, are left out. With `is_gripper`, one
    joint is enough, and the root of the URDF is the world of the file, in which the palm has its place. `where` is the
    path of the file.

    Raises:
        AssetError: MuJoCo cannot compile it, or it has no arm, or a joint that a URDF cannot have.
        OSError: The folder cannot be written.
    """
    lines = [] if states_unit(Path(where)) else _mend_angles(spec)
    try:
        compiled = spec.compile()
    except ValueError as exc:
        raise AssetError(f"{where}: MuJoCo cannot compile this file: {exc}. Correct it.", path=where) from exc
    made = _Converter(compiled, folder, where, is_gripper=is_gripper).convert(name)
    return replace(made, lines=[*lines, *made.lines])


def _mend_angles(spec: Any) -> list[str]:
    """Reads angles without a unit as radians if in degrees the hinges would hardly turn; returns a line that says so.

    MJCF means degrees where a file says nothing. Parts that simulators put together leave out what the whole says.
    """
    hinges = [np.abs(joint.range).max() for joint in spec.joints if int(joint.type) == HINGE and np.any(joint.range)]
    if not spec.compiler.degree or not hinges or float(np.median(hinges)) > 2.0 * np.pi + 0.1:
        return []
    spec.compiler.degree = False
    return [f"angles are read as radians: as degrees, the hinges would turn by at most {max(hinges):.3g} degrees"]


class _Converter(CompiledMjcf):
    """Makes links and joints from a compiled model."""

    def __init__(self, model: Any, folder: Path, where: str, *, is_gripper: bool) -> None:
        super().__init__(import_extra("mujoco", extra="robots", needed_by=where, error=AssetError), model)
        self._folder = folder
        self._meshes = "meshes"
        self._where = where
        self._is_gripper = is_gripper
        self._least_joints = 1 if is_gripper else _LEAST_JOINTS
        self._links: dict[str, Link] = {}
        self._joints: dict[str, Joint] = {}
        self._frames: dict[int, tuple[str, Array]] = {}
        """Link of each body, and the place of its frame in the body's frame."""
        self._left_out: set[str] = set()
        self._followers: dict[str, Follower] = {}

    def convert(self, name: str) -> ConvertedModel:
        """Writes the files."""
        m = self.model
        self._meshes = f"{name}_meshes"
        kept = self._robot_bodies()
        roots = [body for body in kept if m.body_parentid[body] == 0]
        if not roots:
            raise AssetError(
                f"{self._where} has no robot: no body has at least {self._least_joints} joints below it. "
                f"Name the MJCF file of {'a gripper' if self._is_gripper else 'an arm'}.",
                path=self._where,
            )
        in_world = self._is_gripper or len(roots) > 1
        if in_world:
            self._links[_ROOT] = Link(_ROOT)
        self._frames[0] = (_ROOT, np.zeros(3))
        self._followers = {self.name("joint", each.joint): each for each in find_followers(self)}
        for body in kept:
            self._add_body(body, is_root=not in_world and body == roots[0])
        urdf = ET.fromstring(UrdfModel(name, self._links, self._joints).to_urdf())
        self._add_mimics(urdf)
        file = self._folder / f"{name}.urdf"
        file.write_text(to_text(urdf), encoding="utf-8")
        armature = {
            self.name("joint", joint): float(m.dof_armature[m.jnt_dofadr[joint]])
            for joint in range(m.njnt)
            if self.name("joint", joint) in self._joints and m.jnt_type[joint] == 3
        }
        lines = [f"left out of {Path(self._where).name}: {', '.join(sorted(self._left_out))}"] if self._left_out else []
        lines += self._describe_followers()
        return ConvertedModel(file, {joint: value for joint, value in armature.items() if value > 0.0}, lines)

    def _describe_followers(self) -> list[str]:
        """Returns a line for each joint that leads others by loops or tendons, and one for those that are held."""
        led: dict[str, dict[str, Follower]] = {}
        for name, follower in self._followers.items():
            if name in self._joints and follower.factor != 0.0:
                led.setdefault(self.name("joint", follower.leader), {})[name] = follower
        still = [name for name, each in self._followers.items() if name in self._joints and each.factor == 0.0]
        return [
            f"{', '.join(names)}: led by {leader} through loops or tendons, in proportion to within "
            f"{max(follower.off for follower in names.values()):.2g} rad or m"
            for leader, names in led.items()
        ] + ([f"{', '.join(still)}: held, for loops or tendons do not move them"] if still else [])

    def _robot_bodies(self) -> list[int]:
        """Returns the bodies of the trees that hold an arm, parents first."""
        m = self.model
        count: dict[int, int] = {}
        for joint in range(m.njnt):
            if m.jnt_type[joint] in _KINDS:
                root = int(m.body_rootid[m.jnt_bodyid[joint]])
                count[root] = count.get(root, 0) + 1
        return [body for body in range(1, m.nbody) if count.get(int(m.body_rootid[body]), 0) >= self._least_joints]

    def _add_body(self, body: int, *, is_root: bool) -> None:
        m = self.model
        name = self.name("body", body)
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
        T_parent_body = mjcf_pose(m.body_pos[body], m.body_quat[body])
        T = Pose.from_translation(-parent_anchor) @ T_parent_body
        if not joints:
            self._joints[f"{name}_fixed"] = Joint(f"{name}_fixed", "fixed", parent, name, T)
            return
        before = np.zeros(3)
        for number, joint in enumerate(joints):
            place = np.array(m.jnt_pos[joint], dtype=float)
            is_last = number == len(joints) - 1
            child = name if is_last else f"{name}_{self.name('joint', joint)}"
            if not is_last:
                self._links[child] = Link(child)
            self._add_joint(joint, parent, child, T @ Pose.from_translation(place - before))
            parent, T, before = child, Pose.identity(), place

    def _add_joint(self, index: int, parent: str, child: str, T: Pose) -> None:
        m, name = self.model, self.name("joint", index)
        kind = _KINDS.get(int(m.jnt_type[index]))
        if kind is None:
            raise AssetError(
                f"{self._where}: joint '{name}' is a ball joint, which a URDF cannot have. Expected hinges and slides.",
                path=self._where,
                joint=name,
            )
        limited = bool(m.jnt_limited[index])
        lower, upper = told_range(self, index) if limited else (0.0, 0.0)
        if not limited and kind == "revolute":
            kind = "continuous"
        axis = np.array(m.jnt_axis[index], dtype=float)
        follower = self._followers.get(name)
        if follower is not None and follower.factor == 0.0:
            if kind == "prismatic":
                shift = Pose.from_translation(unit(axis) * follower.offset)
            else:
                shift = Pose(matrix_from_axis_angle(axis, follower.offset), np.zeros(3))
            self._joints[name] = Joint(name, "fixed", parent, child, T @ shift)
            return
        effort = self._effort(index)
        self._joints[name] = Joint(
            name, kind, parent, child, T, axis, lower=lower, upper=upper, effort=effort, velocity=0.0
        )

    def _effort(self, joint: int) -> float:
        """Returns the largest effort of the motors of a joint; 0 if the file states none [N m or N]."""
        m = self.model
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
        m = self.model
        gear, target = abs(float(m.actuator_gear[actuator, 0])), int(m.actuator_trnid[actuator, 0])
        transmission = int(m.actuator_trntype[actuator])
        if transmission == int(self.mujoco.mjtTrn.mjTRN_JOINT):
            return gear if target == joint else 0.0
        if transmission == int(self.mujoco.mjtTrn.mjTRN_TENDON):
            first, count = int(m.tendon_adr[target]), int(m.tendon_num[target])
            wraps = range(first, first + count)
            return sum(gear * abs(float(m.wrap_prm[w])) for w in wraps if m.wrap_objid[w] == joint)
        return 0.0

    def _make_link(self, body: int, name: str, anchor: Array) -> Link:
        shift = Pose.from_translation(-anchor)
        visuals: list[Shape] = []
        collisions: list[Shape] = []
        for geom, touches in self.geoms(body):
            shapes = [replace(shape, T_link_shape=shift @ shape.T_link_shape) for shape in self._shapes(geom)]
            (collisions if touches else visuals).extend(shapes)
        return Link(name, tuple(visuals), tuple(collisions), self.inertial(body, shift))

    def _shapes(self, geom: int) -> list[Shape]:
        """Returns a geometry as shapes in its body's frame; a capsule is a cylinder and two spheres."""
        shapes = self.primitive(geom, rgba=self.geom_colour(geom))
        if shapes is None and self.geom_kind(geom) == "mesh":
            path, T = self._write_mesh(int(self.model.geom_dataid[geom])), self.geom_pose(geom)
            return [Shape(ShapeKind.mesh, (1.0, 1.0, 1.0), T, rgba=self.geom_colour(geom), mesh=path)]
        if shapes is None:
            self._left_out.add(f"a {self.geom_kind(geom)}")
        return shapes or []

    def _write_mesh(self, index: int) -> str:
        name = f"{self._meshes}/{index:03d}.obj"
        file = self._folder / name
        if not file.exists():
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(format_obj([self.mesh(index)], decimals=7), encoding="utf-8")
        return name

    def _add_mimics(self, urdf: ET.Element) -> None:
        """Adds `<mimic>` for each joint that follows another one, in place."""
        elements = {element.get("name"): element for element in urdf.iter("joint") if element.get("type") != "fixed"}
        if not self._followers and any(kind != self.mujoco.mjtEq.mjEQ_JOINT for kind in self.model.eq_type):
            self._left_out.add("an equality of bodies")
        self._left_out.update(self.idle_couplings())
        led = [(name, self.name("joint", f.leader), (f.offset, f.factor)) for name, f in self._followers.items()]
        for follower, leader, (offset, factor) in (*self.coupled_joints(), *led):
            if follower in elements and leader in elements and elements[follower].find("mimic") is None:
                values = {"joint": leader, "multiplier": f"{factor:.9g}", "offset": f"{offset:.9g}"}
                ET.SubElement(elements[follower], "mimic", values)


def so100_urdf() -> Path:
    """Returns the SO-100 of the package `example-robot-data` with its fixed jaw as a link."""
    return _mended_example("so100", "so_arm_description/urdf/so100.urdf")


def so101_urdf() -> Path:
    """Returns the SO-101 of the package `example-robot-data` with its fixed jaw as a link."""
    return _mended_example("so101", "so_arm_description/urdf/so101.urdf")


def vx300s_urdf() -> Path:
    """Returns the ViperX 300 of the package `robosuite-models` with the gripper of ALOHA."""
    return _robosuite_urdf("vx300s", {"right": "aloha_gripper"}, _VX300S_KG)


def yumi_urdf() -> Path:
    """Returns the YuMi of the package `robosuite-models` with its grippers."""
    return _robosuite_urdf("yumi", {"right": "yumi_right_gripper", "left": "yumi_left_gripper"}, {})


def arx5_urdf() -> Path:
    """Returns the ARX5 of the package `robosuite-models` with the gripper of UMI, as robosuite has it."""
    return _robosuite_urdf("arx5", {"right": "umi_gripper"}, {})


def aloha_urdf() -> Path:
    """Returns two ViperX 300 with ALOHA's fingers side by side on a stand, as on Mobile ALOHA."""
    return changed_model("aloha", vx300s_urdf(), _double)


def lift2_urdf() -> Path:
    """Returns two ARX5 side by side, as on ARX's Lift-2, whose lift is held."""
    return changed_model("lift2", arx5_urdf(), _double)


_OPENARM = "share/openarm_mujoco/v2/openarm_bimanual.xml"
_OPENARM_COLUMN_M = ((0.08, 0.06, 0.22), (0.0, 0.0, -0.08))
"""Size and middle of the column below the arms; the file has the arms alone."""


def openarm_urdf() -> Path:
    """Returns OpenArm 2.0 of the package `openarm-mujoco`, two arms on a column."""
    source = distribution_file("openarm-mujoco", _OPENARM, where="robot 'openarm'")

    def write(temporary: Path) -> None:
        convert_mjcf(load_mjcf(source), temporary, "openarm_mjcf", where=str(source))

    text = source.read_text(encoding="utf-8")
    converted = cached_model(cache_root(), "openarm_mjcf", text, [], write)
    return changed_model("openarm", converted, _OnColumn("openarm", converted))


def _double(robot: ET.Element) -> None:
    robot[:] = two_on_a_stand(robot, "base")


_VX300S_KG = {
    "shoulder_link": 0.798614,
    "upper_arm_link": 0.792592,
    "upper_forearm_link": 0.322228,
    "lower_forearm_link": 0.414823,
    "wrist_link": 0.115395,
}
"""Masses in the maker's URDF (interbotix_xsarm_descriptions, vx300s.urdf.xacro); those of `robosuite-models` are 1.5 to
2 kg each, with the same inertias."""


def _robosuite_urdf(robot: str, hands: Mapping[str, str], masses_kg: Mapping[str, float]) -> Path:
    """Returns a robot of `robosuite-models`, whose arms and grippers are files of their own.

    Args:
        robot: Name of the robot, there and here.
        hands: File of the gripper by side; it is put on the body `right_hand` or `left_hand`.
        masses_kg: By link, without the side before it [kg].
    """
    folder = "robosuite_models/assets"
    arm = distribution_file("robosuite-models", f"{folder}/robots/{robot}/robot.xml", where=f"robot '{robot}'")
    grippers = {
        side: distribution_file("robosuite-models", f"{folder}/grippers/{name}.xml", where=f"robot '{robot}'")
        for side, name in hands.items()
    }
    texts = [file.read_text(encoding="utf-8") for file in (arm, *grippers.values())]
    content = "\0".join([*texts, repr(sorted(masses_kg.items()))])

    def write(temporary: Path) -> None:
        spec = load_mjcf(arm)
        spec.compiler.degree = False  # one of the files leaves it out
        for body in spec.bodies:
            body.mass = masses_kg.get(body.name.rpartition("/")[2], body.mass)
        for side, file in grippers.items():
            hand = load_mjcf(file).worldbody.first_body()
            spec.body(f"{side}_hand").add_frame().attach_body(hand, f"{side}_", "")
        convert_mjcf(spec, temporary, f"{robot}_mjcf", where=str(arm))

    converted = cached_model(cache_root(), f"{robot}_mjcf", content, [], write)
    return changed_model(robot, converted, _StatedLimits(robot, converted))


@dataclass(frozen=True)
class _StatedLimits:
    """A change of a model from an MJCF file for `changed_model`: `RepairedInertias`, and the limits of its joints."""

    robot: str
    urdf: Path

    def __call__(self, robot: ET.Element) -> None:
        """Changes the model, in place: MJCF files state no speeds, and efforts of a controller.

        They are those that the robot's description states, with their source.
        """
        RepairedInertias(arm_joints(self.robot), self.urdf)(robot)
        joints = {joint.get("name"): joint for joint in robot.iter("joint")}
        for arm in read_description(self.robot)["arms"]:
            for name, speed, effort in zip(arm["joints"], arm["max_velocity"], arm["max_effort"], strict=True):
                if (limit := joints[name].find("limit")) is not None:
                    limit.attrib.update(velocity=f"{speed:g}", effort=f"{effort:g}")


class _OnColumn(_StatedLimits):
    """A change of a model for `changed_model`: `_StatedLimits`, and a column below its root."""

    def __call__(self, robot: ET.Element) -> None:
        """Changes the model, in place."""
        root = next(link for link in robot.iter("link") if link.get("name") == _ROOT)
        size, middle = (" ".join(f"{value:g}" for value in values) for values in _OPENARM_COLUMN_M)
        for tag in ("visual", "collision"):
            shape = ET.SubElement(root, tag)
            ET.SubElement(shape, "origin", {"xyz": middle, "rpy": "0 0 0"})
            ET.SubElement(ET.SubElement(shape, "geometry"), "box", {"size": size})
        super().__call__(robot)


def _mended_example(robot: str, path: str) -> Path:
    source = example_robot_urdf(path, robot=robot)
    return changed_model(robot, source, MendedModel(source, arm_joints(robot)))
