"""Derives a robot's YAML from its URDF, with a picture to check it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path

import numpy as np
import yaml

from unlatch.configs.derived_task import REACH_CENTER_M, REACH_HALF_M
from unlatch.objects.friction import OBJECT_FRICTION
from unlatch.robots.checks import check_robot
from unlatch.robots.description import RobotCfg, base_pose
from unlatch.robots.hands import GRIPPERS, GripperMount, with_data_sheet, with_gripper
from unlatch.robots.models import DISTRIBUTION, model_path
from unlatch.robots.robot import Arm, Robot
from unlatch.robots.robot_from_urdf import ReachModel, ReachRegion, robot_from_urdf
from unlatch.simcore.errors import ConfigError
from unlatch.simcore.files import user_path
from unlatch.simcore.geometry import Pose
from unlatch.simcore.sim.visuals.pictures import framing_camera, take_picture
from unlatch.simcore.sim.world import World, WorldCfg
from unlatch.simcore.urdf.reader import read_urdf
from unlatch.solver.kinematics import Kinematics
from unlatch.workflows.episode.scene import TABLE_CENTER_M, TABLE_SIZE_M
from unlatch.workflows.viewing.picture import Overlay, SheetRow, compose_sheet, write_own_text, write_picture

REACH = ReachModel(ReachRegion(REACH_CENTER_M, (*REACH_HALF_M, 0.12)), Kinematics.from_urdf)
"""The region of derived tasks, extended in height: knobs and lids lie above or below its middle."""
_TILE = (420, 420)
VALUE_REMARKS = {
    "max_acceleration": "look up: no URDF states it",
    "armature": "look up: inertia of each motor's rotor behind its gear; no URDF states it",
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
    """Gripper that is put on an arm without one; None: the URDF has one."""
    flange: str | None = None
    """Link whose frame is the mounting face, z out of it; None: it is found."""

    def __post_init__(self) -> None:
        if self.gripper is not None and self.gripper not in GRIPPERS:
            raise ConfigError(
                f"gripper='{self.gripper}' is unknown. Known: {', '.join(GRIPPERS)}. Name one of them, or use a URDF "
                "that has its gripper.",
                key="gripper",
            )
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
    mount: GripperMount | None = None
    """Where a gripper was put; None: the URDF has its own."""

    @property
    def remarks(self) -> dict[str, str]:
        """Remarks about values that must be looked up, by key."""
        return _remarks(has_data_sheet=self.mount is not None)


def new_robot(urdf: Path, cfg: NewRobotCfg) -> NewRobot:
    """Derives a robot from its URDF and writes its YAML and its picture.

    Raises:
        ConfigError: Files exist already, or cannot be written.
        AssetError: The URDF cannot be used, or has no arm with a gripper of two fingers.
    """
    model = read_urdf(urdf, meshes_anywhere=True)
    name = cfg.name or re.sub(r"[^A-Za-z0-9_]", "_", model.name) or urdf.stem
    folder = user_path(cfg.out) / "robot"
    yaml_file, picture = folder / f"{name}.yaml", folder / f"{name}.png"
    for file in (yaml_file, picture, *([folder / f"{name}.urdf"] if cfg.gripper is not None else [])):
        if file.exists() and not cfg.force:
            raise ConfigError(
                f"{file} exists already. Expected a new file. Choose another name=, or add force=true.", key="force"
            )
    made = folder.absolute() / f"{name}.urdf"
    mount = None
    with _restored_after_an_error(made) if cfg.gripper is not None else nullcontext():
        if cfg.gripper is None:
            robot = robot_from_urdf(urdf.absolute(), name=name, stated=urdf_reference(urdf.absolute()), reach=REACH)
        else:
            if made.resolve() == urdf.resolve():
                raise ConfigError(
                    f"{made} is the URDF of the arm itself. Expected another file. Choose another name= or out=.",
                    key="name",
                )
            text, mount = with_gripper(urdf.absolute(), cfg.flange)
            write_own_text(made, text)
            robot = with_data_sheet(robot_from_urdf(made, name=name, stated=str(made), reach=REACH))
        check_robot(robot, object_friction=OBJECT_FRICTION)
        shares = list(REACH.shares(robot))
        sheet = compose_sheet(_draw_rows(robot))
        write_own_text(yaml_file, yaml_text(robot, _remarks(has_data_sheet=mount is not None)))
        write_picture(sheet, picture)
    used = {joint for arm in robot.arms for joint in (*arm.joints, *arm.gripper.joints)}
    still = [joint.name for joint in model.joints.values() if joint.moves and joint.name not in used]
    return NewRobot(robot, yaml_file, picture, shares, still, mount)


@contextmanager
def _restored_after_an_error(file: Path) -> Iterator[None]:
    """After an error, a file is as it was before, or gone if it was not there."""
    before = file.read_bytes() if file.exists() else None
    try:
        yield
    except BaseException:
        if before is None:
            file.unlink(missing_ok=True)
        else:
            file.write_bytes(before)
        raise


def _remarks(*, has_data_sheet: bool) -> dict[str, str]:
    return {key: text for key, text in VALUE_REMARKS.items() if not (has_data_sheet and key in _OF_GRIPPER)}


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
