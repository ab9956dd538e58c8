"""Derives a robot's YAML from its URDF or MJCF file, with a picture to check it, and tries a robot in physics."""

from __future__ import annotations

import json
import os
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from importlib import metadata
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import yaml

from unlatch.configs.derived_task import REACH_CENTER_M, REACH_HALF_M
from unlatch.objects.friction import OBJECT_FRICTION
from unlatch.robots.arm_control import Action, ArmAction
from unlatch.robots.changed_models import DISTRIBUTION, copy_meshes, localise_meshes
from unlatch.robots.checks import check_robot
from unlatch.robots.description import ArmCfg, RobotCfg, base_pose
from unlatch.robots.foreign_models import MENAGERIE, convert_mjcf, load_mjcf, menagerie_file
from unlatch.robots.hand_mending import free_telescopes, hold_base, mend_hands, mend_lengths, mend_limits
from unlatch.robots.hand_shape import tool_frame
from unlatch.robots.hands import read_mimics
from unlatch.robots.models import model_path, to_text
from unlatch.robots.mounted_gripper import GRIPPERS, GripperMount, with_data_sheet, with_gripper
from unlatch.robots.reach import ReachModel, ReachRegion
from unlatch.robots.robot import Arm, Robot
from unlatch.robots.robot_from_urdf import WEAKEST_N, read_srdf, robot_from_urdf, stated_grip_n
from unlatch.simcore.cache import cache_root, json_hash
from unlatch.simcore.errors import AssetError, ConfigError, unknown_entry
from unlatch.simcore.files import user_path
from unlatch.simcore.geometry import Pose
from unlatch.simcore.meshes.mjcf import is_mjcf
from unlatch.simcore.meshes.solids import shape_inertials
from unlatch.simcore.sim.contacts import ContactMonitor, FingerLoads, touching_pairs
from unlatch.simcore.sim.visuals.pictures import framing_camera, take_picture
from unlatch.simcore.sim.world import World, WorldCfg
from unlatch.simcore.urdf.reader import parse_xml, read_urdf
from unlatch.solver.kinematics import Kinematics
from unlatch.workflows.episode.scene import TABLE_CENTER_M, TABLE_SIZE_M
from unlatch.workflows.episode.visual_views import find_stands
from unlatch.workflows.viewing.picture import Overlay, SheetRow, compose_sheet, write_own_text, write_picture

Array = np.ndarray

REACH = ReachModel(ReachRegion(REACH_CENTER_M, (*REACH_HALF_M, 0.12)), Kinematics.from_urdf)
"""The region of derived tasks, extended in height: knobs and lids lie above or below its middle."""
_TILE = (420, 420)
VALUE_REMARKS = {
    "max_acceleration": "look up: no URDF states it",
    "armature": "look up: inertia of each motor's rotor behind its gear; 0.005 of its effort is assumed",
    "stiffness": "yields by 0.1 rad or m under max_effort; our own",
    "max_force_n": "look up: the data sheet of the gripper",
    "grip_force_n": "at most max_force_n",
    "max_speed_m_s": "look up: speed of one finger",
    "finger_force_limit_n": "twice max_force_n; look up: force that one finger may bear",
    "armature_kg_m2": "inertia of motor and gears at the joints; our own",
}
"""Remarks for the YAML about values that no URDF states, by key."""
_OF_GRIPPER = ("max_force_n", "grip_force_n", "max_speed_m_s", "finger_force_limit_n", "armature_kg_m2")
"""Keys among them that are those of the data sheet if Unlatch puts the gripper on."""


@dataclass
class NewRobotCfg:
    """Options of `unlatch new robot`."""

    name: str | None = None
    """Name of the robot."""
    out: str = "configs"
    """Folder of YAML files."""
    force: bool = False
    """Whether to replace existing files."""
    gripper: str | None = None
    """Gripper that is put on an arm without one, by its name or its URDF or MJCF file; None: the URDF has one. Of a
    file, sensors, transmissions and Gazebo tags are left out, and names that the arm has get the prefix `gripper_`."""
    flange: str | None = None
    """Link whose frame is the mounting face, z out of it; None: it is found."""

    def __post_init__(self) -> None:
        if self.gripper is not None and not self.has_known_gripper and not user_path(self.gripper).is_file():
            said = f"gripper='{self.gripper}' is unknown, and no file."
            advice = "Name one of them, or the URDF or MJCF file of a gripper."
            raise unknown_entry(said, self.gripper, GRIPPERS, error=ConfigError, advice=advice, key="gripper")
        if self.flange is not None and self.gripper is None:
            raise ConfigError(
                "flange= says where a gripper is put, and there is no gripper=. Expected both. Add "
                f"gripper={GRIPPERS[0]}.",
                key="gripper",
            )
        if self.name is not None and not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", self.name):
            raise ConfigError(
                f"name='{self.name}' cannot name a robot. Expected letters, digits and '_'. Change it.", key="name"
            )

    @property
    def has_known_gripper(self) -> bool:
        """Whether a gripper is put on the arm whose data sheet is known."""
        return self.gripper in GRIPPERS


@dataclass(frozen=True)
class NewRobot:
    """A derived robot and its files."""

    robot: RobotCfg
    yaml_file: Path
    picture: Path
    reach_shares: list[float]
    """For each arm, the share of hand poses in the region of derived tasks that it reaches."""
    still: list[str]
    """Moving joints of the model that belong to no arm, such as wheels, or a lift below two arms."""
    remarks: dict[str, str]
    """Remarks about values that must be looked up, by key."""
    mount: GripperMount | None = None
    """Where a gripper was put; None: the URDF has its own."""
    copied_urdf: Path | None = None
    """The changed copy of the URDF that the robot has; None: the user's file itself."""
    lines: list[str] = field(default_factory=list)
    """What the file lacks, and what was taken instead."""


def new_robot(urdf: Path, cfg: NewRobotCfg) -> NewRobot:
    """Derives a robot from its URDF and writes its YAML and its picture.

    Raises:
        ConfigError: Files exist already, or cannot be written.
        AssetError: The URDF cannot be used, or has no arm with a gripper of two fingers.
    """
    with TemporaryDirectory() as scratch, _naming_source(scratch, urdf):
        source = _prepare_model(urdf.absolute(), cfg, Path(scratch))
        model = read_urdf(source.file, meshes_anywhere=True)
        name = cfg.name or re.sub(r"[^A-Za-z0-9_]", "_", model.name) or urdf.stem
        folder = user_path(cfg.out).absolute() / "robot"
        yaml_file, picture, made = (folder / f"{name}{suffix}" for suffix in (".yaml", ".png", ".urdf"))
        _check_free((yaml_file, picture, *([made] if source.is_made else [])), urdf, force=cfg.force)
        may_touch = read_srdf(urdf)
        robot = robot_from_urdf(
            source.file, name=name, stated=urdf_reference(source.file), reach=REACH, may_touch=may_touch
        )
        robot = with_data_sheet(robot) if cfg.has_known_gripper else robot
        robot = _with_armature(robot, source.armature)
        check_robot(robot, object_friction=OBJECT_FRICTION)
        lines = _lines_of_srdf(urdf.with_suffix(".srdf").name, may_touch, robot)
        lines += [*source.lines, *massless_links(source.file), *unstated_limits(source.file, robot)]
        lines += [] if cfg.has_known_gripper else [*weak_hands(source.file, robot), *open_hands(robot)]
        shares = list(REACH.scaled(robot.scale).shares(robot))
        sheet = compose_sheet(_draw_rows(robot))
        if source.is_made:
            _write_made(parse_xml(source.file), source.file, folder, name)
            robot = replace(robot, urdf=str(made))
    remarks = {key: text for key, text in VALUE_REMARKS.items() if not (cfg.has_known_gripper and key in _OF_GRIPPER)}
    text = yaml_text(replace(robot, urdf=_relative_to(robot.urdf, folder)), remarks)
    write_own_text(yaml_file, text)
    write_picture(sheet, picture)
    used = {joint for arm in robot.arms for joint in (*arm.joints, *arm.gripper.joints)}
    still = [joint.name for joint in model.joints.values() if joint.moves and joint.name not in used]
    copied = made if source.is_made else None
    return NewRobot(robot, yaml_file, picture, shares, still, remarks, source.mount, copied, lines)


@contextmanager
def _naming_source(scratch: str, urdf: Path) -> Iterator[None]:
    """Lets errors about a URDF that was made in the folder `scratch` name the user's file from which it was made."""
    try:
        yield
    except AssetError as exc:
        made = re.compile(rf"{re.escape(scratch)}/[^/\s:']*\.urdf")
        if not made.search(exc.message):
            raise
        raise AssetError(made.sub(lambda _: str(urdf), exc.message), **{**exc.values, "path": str(urdf)}) from exc


@dataclass(frozen=True)
class _SourceModel:
    """The URDF that a robot is derived from."""

    file: Path
    is_made: bool
    """Whether it is another file than the user's, and is written beside the YAML."""
    mount: GripperMount | None
    lines: list[str]
    """What was changed."""
    armature: Mapping[str, float] = field(default_factory=dict)
    """Inertia of the rotor by joint, as far as the file states it [kg m^2]."""


def _prepare_model(urdf: Path, cfg: NewRobotCfg, scratch: Path) -> _SourceModel:
    """Returns the model of a file: an MJCF file as a URDF, with a gripper put on, and with what its hands lack."""
    file, mount = urdf, None
    converted = None
    if is_mjcf(urdf):
        converted = convert_mjcf(load_mjcf(urdf), scratch, re.sub(r"\W", "_", urdf.stem), where=str(urdf))
        file = converted.urdf
    read_urdf(file, meshes_anywhere=True)  # it names what is no number
    robot = parse_xml(file, root_tag="robot")
    lines = mend_lengths(robot, file)
    if lines:
        file = _write_model(robot, file, scratch, "lengths")
    if cfg.gripper is not None:
        hand = None
        if not cfg.has_known_gripper:
            hand, said = _gripper_urdf(user_path(cfg.gripper).absolute(), scratch)
            lines += said
        text, mount = with_gripper(file, cfg.flange, hand)
        file = scratch / "gripper.urdf"
        file.write_text(text, encoding="utf-8")
        read_urdf(file, meshes_anywhere=True)
    robot = parse_xml(file, root_tag="robot")
    freed = free_telescopes(robot, file)
    if freed:  # `hold_base` reads the file: freed stages belong to the arm
        file = _write_model(robot, file, scratch, "telescopes")
    stated = ET.tostring(robot)
    lines += [*freed, *hold_base(robot, file), *mend_limits(robot)]
    if ET.tostring(robot) != stated:
        file = _write_model(robot, file, scratch, "limits")
    stated = ET.tostring(robot)
    lines += mend_hands(robot, file)
    if ET.tostring(robot) != stated:
        file = _write_model(robot, file, scratch, "mended")
    if converted is None:
        return _SourceModel(file, file != urdf, mount, lines)
    return _SourceModel(file, True, mount, [*converted.lines, *lines], converted.armature)


def _gripper_urdf(file: Path, scratch: Path) -> tuple[Path, list[str]]:
    """Returns the URDF of a gripper, in metres, from its URDF or MJCF file, and what was changed."""
    urdf, lines = file, []
    if is_mjcf(file):
        name = "hand_" + re.sub(r"\W", "_", file.stem)
        made = convert_mjcf(load_mjcf(file), scratch, name, where=str(file), is_gripper=True)
        urdf, lines = made.urdf, made.lines
    robot = parse_xml(urdf, root_tag="robot")
    mended = mend_lengths(robot, urdf)
    if mended:
        urdf = _write_model(robot, urdf, scratch, "hand_lengths")
    return urdf, [*lines, *(f"{file.name}: {line}" for line in mended)]


def _with_armature(robot: RobotCfg, armature: Mapping[str, float]) -> RobotCfg:
    arms = [
        replace(arm, armature=[armature.get(j, a) for j, a in zip(arm.joints, arm.armature, strict=True)])
        for arm in robot.arms
    ]
    return replace(robot, arms=arms)


def with_menagerie_robot(
    overrides: Sequence[str], config_dirs: Sequence[str | Path]
) -> tuple[list[str], list[str | Path]]:
    """Returns overrides and folders in which `robot=menagerie:NAME` names a robot that is derived into the cache.

    Raises:
        ConfigError, AssetError: MuJoCo Menagerie is not there, or the robot cannot be derived.
    """
    word = f"robot={MENAGERIE}"
    asked = [text for text in overrides if text.startswith(word)]
    if not asked:
        return list(overrides), list(config_dirs)
    stated = asked[-1].removeprefix("robot=")
    file = menagerie_file(stated.removeprefix(MENAGERIE)).absolute()
    files = sorted(path for path in file.parent.rglob("*") if path.is_file())
    key = json_hash([_DERIVED_VERSION, str(file), [[str(path), path.stat().st_mtime_ns] for path in files]])
    name = "menagerie_" + re.sub(r"[^A-Za-z0-9_]", "_", stated.removeprefix(MENAGERIE))
    folder = cache_root() / "menagerie" / f"{name}-{key[:16]}"
    if not (folder / "robot" / f"{name}.yaml").is_file():
        new_robot(file, NewRobotCfg(name=name, out=str(folder), force=True))
    others = [text for text in overrides if text not in asked]
    return [*others, f"robot={name}"], [*config_dirs, folder]


_DERIVED_VERSION = 10
"""Raise it with every change of what is derived from a model."""


def _write_model(robot: ET.Element, source: Path, folder: Path, name: str) -> Path:
    """Writes a URDF to `NAME.urdf` in a folder, with copies of its meshes beside it, and returns its path.

    `source` is the file to which the paths of the meshes are relative.

    Raises:
        AssetError: A mesh is missing, or cannot be read.
        OSError: The folder cannot be written.
    """
    copy_meshes(robot, localise_meshes(robot, source, f"{name}_meshes"), folder)
    file = folder / f"{name}.urdf"
    file.write_text(to_text(robot), encoding="utf-8")
    return file


def unstated_limits(urdf: Path, robot: RobotCfg) -> list[str]:
    """Returns a line for each speed or effort that some joints of a file do not state, or state as 0."""
    model = read_urdf(urdf, meshes_anywhere=True)
    taken: dict[tuple[str, str], list[str]] = {}
    for arm in robot.arms:
        for name, speed, effort in zip(arm.joints, arm.max_velocity, arm.max_effort, strict=True):
            joint = model.joints[name]
            slides = joint.kind == "prismatic"
            if joint.velocity <= 0.0:
                taken.setdefault(("velocity", f"{speed:g} {'m/s' if slides else 'rad/s'}"), []).append(name)
            if joint.effort <= 0.0:
                taken.setdefault(("effort", f"{effort:.3g} {'N' if slides else 'N m'}"), []).append(name)
    return [
        f"{', '.join(joints)}: the file states no {what}, or 0; {value} is assumed"
        for (what, value), joints in taken.items()
    ]


def _lines_of_srdf(name: str, may_touch: Set[frozenset[str]], robot: RobotCfg) -> list[str]:
    """Returns a line that says how many pairs of links of an SRDF a robot has; empty without such pairs."""
    if not may_touch:
        return []
    count = len(may_touch & {frozenset(pair) for pair in robot.self_collision_ignored})
    if count:
        return [f"links that may touch each other: {count} of {len(may_touch)} pairs of {name}"]
    return [
        f"warning: of the {len(may_touch)} pairs of links that may touch each other in {name}, the robot has none with "
        "colliders; compare the names of its links"
    ]


def massless_links(urdf: Path) -> list[str]:
    """Returns a line that names the links whose mass is that of their shapes; empty if all state one."""
    found = shape_inertials(read_urdf(urdf, meshes_anywhere=True))
    named = ", ".join(f"{name} {1e3 * inertial.mass_kg:.0f} g" for name, inertial in found.items())
    return [f"masses from shapes and the density of water, the file states none: {named}"] if found else []


def weak_hands(urdf: Path, robot: RobotCfg) -> list[str]:
    """Returns a line for each hand that gets more force than the efforts of its file allow."""
    model, mimics = read_urdf(urdf, meshes_anywhere=True), read_mimics(urdf)
    lines = []
    for arm in robot.arms:
        hand = arm.gripper
        motors = [name for name in hand.joints if name not in mimics]
        travel = abs(hand.opened[0] - hand.closed[0]) / (hand.max_width_m - _closed_gap_m(arm))
        stated_n = stated_grip_n(model, hand.joints[0], travel, motors=len(motors))
        if float(f"{stated_n:.2g}") < WEAKEST_N:  # as it is shown: 19.8 N are 20 N
            lines.append(
                f"{', '.join(motors)}: the file's effort grips with {stated_n:.2g} N; {hand.grip_force_n:g} N is "
                "assumed, that of the weakest gripper of the catalog"
            )
    return lines


def open_hands(robot: RobotCfg) -> list[str]:
    """Returns a line for each hand whose fingers stay apart when it is closed."""
    gaps = [(arm.name, _closed_gap_m(arm), ", ".join(arm.gripper.joints)) for arm in robot.arms]
    return [
        f"warning: arm {name}: closed, the fingers are {1e3 * gap:.0f} mm apart and hold thicker parts alone. If they "
        f"close further, correct the limits of {joints}"
        for name, gap, joints in gaps
        if gap > _STAYS_OPEN_M
    ]


_STAYS_OPEN_M = 5e-3
"""Fingers that are further apart than this when closed do not hold the thin handles of common furniture [m]."""


def _closed_gap_m(arm: ArmCfg) -> float:
    """Returns the gap between the fingers of a closed hand [m]."""
    return min(arm.gripper.widths_m, default=0.0)


def _check_free(files: Iterable[Path], urdf: Path, *, force: bool) -> None:
    """Raises an error if a file that is to be written is there, or is the file that is read."""
    for file in files:
        if file.resolve() == urdf.resolve():
            raise ConfigError(
                f"{file} is the URDF of the arm itself. Expected another file. Choose another name= or out=.",
                key="name",
            )
        if file.exists() and not force:
            raise ConfigError(
                f"{file} exists already. Expected a new file. Choose another name=, or add force=true.", key="force"
            )


def _write_made(robot: ET.Element, source: Path, folder: Path, name: str) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _write_model(robot, source, folder, name)
    except OSError as exc:
        raise ConfigError(f"{folder} cannot be written: {exc.strerror}. Choose another out=.", key="out") from exc


def _relative_to(stated: str | None, folder: Path) -> str:
    """Returns the URDF as a YAML file in a folder states it: relative to it, so that both can move together."""
    path = str(stated)
    return path if path.startswith(DISTRIBUTION) else Path(os.path.relpath(path, folder)).as_posix()


def urdf_reference(urdf: Path) -> str:
    """Returns the URDF as a robot's YAML states it: relative to the distribution that installs it, or else its path."""
    resolved = urdf.resolve()
    for distribution in metadata.distributions():
        root = Path(str(distribution.locate_file(""))).resolve()
        if not resolved.is_relative_to(root):
            continue
        inside = resolved.relative_to(root).as_posix()
        if any(str(file) == inside for file in distribution.files or ()):
            return f"{DISTRIBUTION}{distribution.metadata['Name']}/{inside}"
    return str(urdf)


def yaml_text(robot: RobotCfg, remarks: Mapping[str, str] = VALUE_REMARKS) -> str:
    """Returns the YAML of a robot, with a remark at each value that no URDF states."""
    # through JSON, tuples become lists, which YAML can write, and one function rounds every float
    plain = json.loads(json.dumps(asdict(robot)), parse_float=lambda text: round(float(text), 6))
    text = yaml.safe_dump(plain, sort_keys=False, width=116, default_flow_style=None)
    lines = [f"# {robot.name}: from its URDF by `unlatch new robot`; see docs/robots.md"]
    for line in text.splitlines():
        key = line.strip().lstrip("- ").partition(":")[0]
        if key in remarks:
            indent = " " * (len(line) - len(line.lstrip()))
            lines.append(f"{indent}# {remarks[key]}")
        lines.append(line)
    return "\n".join(lines) + "\n"


def _draw_rows(robot: RobotCfg) -> list[SheetRow]:
    """Draws the robot at home from two sides, and every hand with closed and open fingers and its keypoints."""
    with World(WorldCfg(), visuals=True) as world:
        world.add_box("table", size_m=TABLE_SIZE_M, T_world_box=Pose.from_translation(TABLE_CENTER_M))
        loaded = Robot(world, robot, model_path(robot), T_world_root=base_pose(robot))
        for arm in loaded.arms.values():
            arm.reset(arm.cfg.home, gripper_m=arm.cfg.gripper.max_width_m)
        for low, high in find_stands(loaded):
            world.add_box("stand", size_m=high - low, T_world_box=Pose.from_translation(0.5 * (low + high)))
        corners = np.array([loaded.body.link_aabb(link) for arm in robot.arms for link in arm.forbidden_links])
        views = [
            framing_camera(corners.reshape(-1, 3), side, fov_deg=40.0, margin=1.3)
            for side in ((1.0, -1.2, 0.5), (-0.3, -1.0, 0.9))
        ]
        pictures = [take_picture(world, view, width=_TILE[0], height=_TILE[1]) for view in views]
        rows = [SheetRow(f"{robot.name} at home, from the front and from the right", pictures)]
        for arm in loaded.arms.values():
            hands = [_draw_hand(world, loaded, arm, width) for width in (0.0, arm.cfg.gripper.max_width_m)]
            rows.append(SheetRow(f"hand {arm.cfg.name}, closed and open; keypoints of the tool", hands))
    return rows


def _draw_hand(world: World, robot: Robot, arm: Arm, width_m: float) -> np.ndarray:
    """Draws a hand with its keypoints, from the side that shows approach and opening."""
    arm.reset(arm.cfg.home, gripper_m=width_m)
    T_world_ee = robot.body.link_pose(arm.cfg.ee_link)
    points = {name: T_world_ee @ np.array(xyz) for name, xyz in arm.cfg.keypoints.items()}
    head, tail, side = (points[name] for name in ("tool_head", "tool_tail", "tool_side"))
    across = np.cross(head - tail, side - head)  # perpendicular to approach and opening
    looks_from = across / np.linalg.norm(across) + np.array([0.0, 0.0, 0.2])
    view = framing_camera(np.array([*points.values(), T_world_ee.p]), looks_from, fov_deg=40.0, margin=2.2)
    overlay = Overlay(take_picture(world, view, width=_TILE[0], height=_TILE[1]), view)
    overlay.labels(points)
    return overlay.picture()


_BAR_M, _BAR_SHARE = 0.02, 0.4
"""Thickness of the bar, at most this share of the opening."""
_GRIPPED_M = 2e-3
"""The bar is at least this much thicker than the gap between closed fingers [m]."""
_BAR_LENGTH_M = 0.06
_WEIGHT_KG, _LIFT_M = 0.5, 0.1
"""Mass that is lifted and how far; a small arm has a share of both."""
_LEAST_SHARE = 0.5
"""A hand that delivers less than this share of the force that it was told is of no use."""
_SWING_RAD, _SWING_M = 0.2, 0.02
_OFF_PATH_M = 0.01
_CLOSE_FRAMES, _MOVE_FRAMES, _HOLD_FRAMES = 60, 60, 30


@dataclass(frozen=True)
class TrialResult:
    """What came of one test of one arm."""

    arm: str
    text: str
    passed: bool

    @property
    def line(self) -> str:
        """One line for a terminal."""
        return f"arm {self.arm}: {self.text}" if self.passed else f"arm {self.arm}: FAILED: {self.text}"


def try_robot(robot: RobotCfg) -> list[TrialResult]:
    """Returns the results of three tests for each arm, from its home: grip, lift and path.

    Raises:
        AssetError: The model is missing or damaged.
    """
    return [result for arm in robot.arms for test in (_grip, _lift, _follow) for result in test(robot, arm)]


class _Bench:
    """One arm of a robot at home in an empty world."""

    def __init__(self, world: World, robot: RobotCfg, arm: ArmCfg) -> None:
        self.world = world
        self.robot = Robot(world, robot, model_path(robot), T_world_root=base_pose(robot))
        for each in self.robot.arms.values():
            each.reset(each.cfg.home, gripper_m=each.cfg.gripper.max_width_m)
        self.arm: Arm = self.robot.arm(arm.name)
        own = frozenset(arm.gripper.finger_links)
        fingers = [group & own for group in self.robot.body.rigid_groups if group & own]
        self.loads = FingerLoads("fingers", fingers, physics_hz=world.cfg.physics_hz)
        self._monitor: ContactMonitor | None = None

    def place_bar(self, mass_kg: float) -> None:
        """Puts a bar between the pads, fixed if it has no mass."""
        cfg = self.arm.cfg
        narrowest, widest = _closed_gap_m(cfg), cfg.gripper.max_width_m
        thickness_m = min(_BAR_M, _BAR_SHARE * widest)
        if thickness_m < narrowest + _GRIPPED_M:
            thickness_m = narrowest + _BAR_SHARE * (widest - narrowest)
        T_world_tool = self.robot.body.link_pose(cfg.ee_link) @ tool_frame(cfg.keypoints)
        size = (0.5 * _BAR_M, thickness_m, _BAR_LENGTH_M)
        self.bar = self.world.add_box(
            "bar", size_m=size, T_world_box=T_world_tool, friction=OBJECT_FRICTION, mass_kg=mass_kg
        )
        self.thickness_m = thickness_m
        self._monitor = ContactMonitor(self.world, self.robot.body)
        self._monitor.add_loads(self.loads)

    def move(self, q: Array, width_m: float) -> None:
        """Simulates a frame towards joint positions (n,) and an opening [m]."""
        self.robot.apply(Action({self.arm.name: ArmAction(q, width_m, Pose.identity())}))
        self.robot.simulate_frame()
        if self._monitor is not None:
            self._monitor.sample()
            self._monitor.end_frame()

    def close(self) -> float:
        """Closes the hand, and returns the mean force of the finger that presses harder in the last frames [N]."""
        q, forces = self.arm.q, []
        for frame in range(_CLOSE_FRAMES):
            self.move(q, 0.0)
            if frame >= _CLOSE_FRAMES - 10:
                forces.append(float(np.asarray(self.loads.force_mean_n.get_value())))
        return float(np.mean(forces))

    @property
    def head(self) -> Array:
        """(3,) place of `tool_head` in the world [m]."""
        cfg = self.arm.cfg
        return self.robot.body.link_pose(cfg.ee_link) @ np.array(cfg.keypoints["tool_head"])


def _grip(robot: RobotCfg, arm: ArmCfg) -> Iterator[TrialResult]:
    with World(WorldCfg()) as world:
        bench = _Bench(world, robot, arm)
        bench.place_bar(0.0)
        force_n, told_n = bench.close(), arm.gripper.grip_force_n
    text = f"closes on a bar of {1e3 * bench.thickness_m:.0f} mm with {force_n:.1f} N (told {told_n:g} N)"
    passed = force_n >= _LEAST_SHARE * told_n
    mend = "" if passed else ". Compare keypoints, closed and opened, and the masses of the fingers with the data sheet"
    yield TrialResult(arm.name, text + mend, passed)


def _lift(robot: RobotCfg, arm: ArmCfg) -> Iterator[TrialResult]:
    weight_kg, lift_m = (round(min(1.0, robot.scale) * value, 3) for value in (_WEIGHT_KG, _LIFT_M))
    kinematics = Kinematics.from_urdf(model_path(robot), base_link=arm.base_link, tip_link=arm.ee_link)
    with World(WorldCfg()) as world:
        bench = _Bench(world, robot, arm)
        gravity = np.array(world.gravity_m_s2)
        world.set_gravity(np.zeros(3))  # the bar floats until it is held
        bench.place_bar(weight_kg)
        bench.close()
        world.set_gravity(gravity)
        q, start, up = bench.arm.q, bench.bar.root_pose().p[2], bench.arm.T_world_base.R[2]
        head_start, told_start = bench.head[2], kinematics.pose(q) @ np.array(arm.keypoints["tool_head"])
        for _ in range(_MOVE_FRAMES):
            q = q + _step_up(kinematics, arm, q, up * lift_m / _MOVE_FRAMES)
            bench.move(q, 0.0)
        for _ in range(_HOLD_FRAMES):
            bench.move(q, 0.0)
        told_m = float((kinematics.pose(q) @ np.array(arm.keypoints["tool_head"]) - told_start) @ up)
        risen_m, moved_m = float(bench.bar.root_pose().p[2] - start), float(bench.head[2] - head_start)
    if risen_m >= 0.8 * lift_m:
        yield TrialResult(arm.name, f"lifts {weight_kg:g} kg by {1e3 * risen_m:.0f} mm", passed=True)
        return
    if told_m < 0.8 * lift_m:
        why, key = "its joints lead the hand no higher from home", "the limits, and home,"
    elif moved_m < 0.8 * lift_m:
        why, key = "the arm is too weak", "max_effort"
    else:
        why, key = "it slips out of the hand", "grip_force_n"
    text = f"lifts {weight_kg:g} kg by {max(0.0, 1e3 * risen_m):.0f} of {1e3 * lift_m:.0f} mm: {why}"
    yield TrialResult(arm.name, f"{text}. Compare {key} with the data sheet", passed=False)


def _step_up(kinematics: Kinematics, arm: ArmCfg, q: Array, shift: Array) -> Array:
    """Returns the (n,) change of the joints that moves `tool_head` by (3,) `shift`, base frame, and turns it least.

    Joints at their limits leave the motion to the others.
    """
    from scipy.optimize import lsq_linear

    J = kinematics.jacobian(q)
    lever = kinematics.pose(q).R @ np.array(arm.keypoints["tool_head"])
    linear = J[:3] + np.cross(J[3:].T, lever).T
    rows = np.vstack([linear, 0.05 * J[3:], 0.01 * np.eye(kinematics.n_q)])
    room = np.array([arm.lower, arm.upper]) - q + np.array([[-1e-9], [1e-9]])  # SciPy wants the bounds apart
    change: Array = lsq_linear(rows, np.concatenate([shift, np.zeros(3 + kinematics.n_q)]), np.sort(room, axis=0)).x
    return np.clip(q + change, arm.lower, arm.upper) - q


def free_swing(bench: _Bench, home: Array, swing: Array) -> Array:
    """Returns a swing (n,) of the joints to either side of home, or a half or quarter of it, without contact."""
    open_m = bench.arm.cfg.gripper.max_width_m
    for share in (1.0, 0.5, 0.25):
        touching = False
        for end in (home + share * swing, home - share * swing):
            bench.arm.reset(end, gripper_m=open_m)
            touching |= bool(touching_pairs(bench.world, bench.robot.body))
        if not touching:
            break
    bench.arm.reset(home, gripper_m=open_m)
    return share * swing


def _follow(robot: RobotCfg, arm: ArmCfg) -> Iterator[TrialResult]:
    kinematics = Kinematics.from_urdf(model_path(robot), base_link=arm.base_link, tip_link=arm.ee_link)
    head = np.array(arm.keypoints["tool_head"])
    home, low, high = (np.array(values) for values in (arm.home, arm.lower, arm.upper))
    swing = np.array([_SWING_M if joint.prismatic else _SWING_RAD for joint in kinematics.joints])
    swing = np.minimum(swing, 0.5 * np.minimum(home - low, high - home)) * np.where(np.arange(len(home)) % 2, 1.0, -1.0)
    with World(WorldCfg()) as world:
        bench = _Bench(world, robot, arm)
        swing = free_swing(bench, home, swing)
        first = second = home
        off, length, last = 0.0, 0.0, kinematics.pose(home) @ head
        for frame in range(2 * _MOVE_FRAMES):
            q = home + swing * np.sin(np.pi * frame / _MOVE_FRAMES) ** 2 * np.sign(np.sin(np.pi * frame / _MOVE_FRAMES))
            bench.move(q, arm.gripper.max_width_m)
            told = kinematics.pose((first + 4.0 * second + q) / 6.0) @ head  # where the B-spline is as a frame ends
            off = max(off, float(np.linalg.norm(bench.arm.T_base_ee @ head - told)))
            length += float(np.linalg.norm(told - last))
            first, second, last = second, q, told
    text = f"follows a path of {1e3 * length:.0f} mm to within {1e3 * off:.1f} mm"
    passed = off <= _OFF_PATH_M
    yield TrialResult(
        arm.name, text + ("" if passed else ". Compare max_effort and stiffness with the data sheet"), passed
    )
