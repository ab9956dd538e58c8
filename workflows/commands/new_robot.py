"""`unlatch new robot`: a robot's YAML from its URDF, and a picture to check it by."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from unlatch.configs.derivation.task import REACH_CENTER_M, REACH_HALF_M
from unlatch.objects.friction import OBJECT_FRICTION
from unlatch.robots.checks import check_robot
from unlatch.robots.description import ArmCfg, RobotCfg, base_pose
from unlatch.robots.from_urdf.reach import ReachModel, ReachRegion
from unlatch.robots.from_urdf.robot_from_urdf import robot_from_urdf
from unlatch.robots.model import DISTRIBUTION, model_path
from unlatch.robots.robot import Robot
from unlatch.simcore.errors import ConfigError
from unlatch.simcore.geometry import Pose
from unlatch.simcore.sim.rates import WorldCfg
from unlatch.simcore.sim.visuals.pictures import framing_view, take_picture
from unlatch.simcore.sim.world import World
from unlatch.simcore.urdf.reader import read_urdf
from unlatch.solver.kinematics import Kinematics
from unlatch.workflows.cli.arguments import read_pairs
from unlatch.workflows.cli.command import run_command
from unlatch.workflows.cli.console import OK, banner_hidden, print_line
from unlatch.workflows.episode.scene import TABLE_CENTER_M, TABLE_SIZE_M
from unlatch.workflows.viewing.picture import Overlay, Row, compose_sheet, write_picture

HELP = """usage: unlatch new robot URDF [key=value ...]

Writes robot/NAME.yaml, the description of a robot, from its URDF: arms, limits, gripper and mimic joints, finger links,
tool keypoints from the fingers' shapes, where its base stands, a home away from singularities; and NAME.png to check it
by. What no URDF says is marked `look up`: accelerations, the grip force of the data sheet.

  name=NAME          default: the name in the URDF
  out=FOLDER         default: configs; the YAML goes to FOLDER/robot/NAME.yaml, the picture beside it
  force=false        replace what is there

  unlatch new robot my_arm.urdf name=my_arm
  unlatch collect task=open_drawer robot=my_arm --config-dir configs episodes=10
"""

REACH = ReachModel(ReachRegion(REACH_CENTER_M, (*REACH_HALF_M, 0.12)), Kinematics.from_urdf)
"""The region of derived tasks. It is higher than theirs: knobs and lids lie above or below the middle."""
_TILE = (420, 420)
_LOOK_UP = {
    "max_acceleration": "look up: no URDF states it",
    "max_force_n": "look up: the data sheet of the gripper",
    "grip_force_n": "at most max_force_n",
    "max_speed_m_s": "look up: speed of one finger",
    "armature_kg_m2": "inertia of motor and gears at the joints; our own",
}


@dataclass
class NewRobotCfg:
    """What `unlatch new robot` takes beside the URDF."""

    name: str | None = None
    """Name of the robot."""
    out: str = "configs"
    """Folder of YAML files."""
    force: bool = False
    """Whether files that are there are replaced."""

    def __post_init__(self) -> None:
        if self.name is not None and not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", self.name):
            raise ConfigError(
                f"name='{self.name}' is no name of a robot. Expected letters, digits and '_'. Change it.", key="name"
            )


def main(argv: Sequence[str]) -> int:
    """Runs the command; returns its exit code."""
    return run_command(argv, HELP, _main)


def _main(arguments: list[str]) -> int:
    words = [argument for argument in arguments if "=" not in argument and not argument.startswith("-")]
    if len(words) != 2 or words[0] != "robot":
        raise ConfigError(
            f"new got '{' '.join(words)}', expected `robot` and a URDF, then key=value. `unlatch new --help` shows it."
        )
    cfg = read_pairs(NewRobotCfg, [argument for argument in arguments if argument not in words])
    return new_robot(Path(words[1]).expanduser(), cfg)


def new_robot(urdf: Path, cfg: NewRobotCfg) -> int:
    """Derives a robot, writes its YAML and its picture, and says what to look at.

    Args:
        urdf: The URDF.
        cfg: Its name, and where to.

    Returns:
        The exit code.

    Raises:
        ConfigError: Files are in the way, or cannot be written.
        AssetError: The URDF cannot be used, or has no arm with a gripper of two fingers.
    """
    model = read_urdf(urdf)
    name = cfg.name or re.sub(r"[^A-Za-z0-9_]", "_", model.name) or urdf.stem
    folder = Path(cfg.out).expanduser() / "robot"
    files = folder / f"{name}.yaml", folder / f"{name}.png"
    for file in files:
        if file.exists() and not cfg.force:
            raise ConfigError(
                f"{file} is there already. Expected a new file. Choose another name=, or add force=true.", key="force"
            )
    with banner_hidden():
        robot = robot_from_urdf(urdf.absolute(), name=name, stated=stated_as(urdf.absolute()), reach=REACH)
        check_robot(robot, object_friction=OBJECT_FRICTION)
        shares = REACH.shares(robot)
        picture = compose_sheet(_rows(robot))
    try:
        folder.mkdir(parents=True, exist_ok=True)
        files[0].write_text(yaml_text(robot), encoding="utf-8")
    except OSError as exc:
        raise ConfigError(f"{files[0]} cannot be written: {exc.strerror}. Choose another out=.", key="out") from exc
    write_picture(picture, files[1])
    for arm, share in zip(robot.arms, shares, strict=True):
        gripper = arm.gripper
        print_line(f"arm {arm.name}: {arm.base_link} to {arm.ee_link}, {len(arm.joints)} joints")
        print_line(
            f"  gripper {1e3 * gripper.max_width_m:.0f} mm, {len(gripper.joints)} joints, {gripper.grip_force_n:g} N"
        )
        print_line(f"  reaches {100 * share:.0f} % of hand poses over the region of derived tasks")
    print_line(f"base at x = {robot.base_x_m:g} m, {robot.base_height_m:g} m above the table")
    print_line(f"look up in the data sheet: {', '.join(_LOOK_UP)}")
    print_line(f"wrote {files[0]} and {files[1]}; look at the picture, then:")
    print_line(f"  unlatch collect task=open_drawer robot={name} --config-dir {cfg.out} episodes=10 out=data/{name}")
    return OK


def stated_as(urdf: Path) -> str:
    """How a description names a URDF: by the distribution that brings it, where one does, else by its path."""
    resolved = urdf.resolve()
    for distribution in metadata.distributions():
        root = Path(str(distribution.locate_file(""))).resolve()
        if not resolved.is_relative_to(root):
            continue
        inside = resolved.relative_to(root).as_posix()
        if any(str(file) == inside for file in distribution.files or ()):
            return f"{DISTRIBUTION}{distribution.metadata['Name']}/{inside}"
    return str(urdf)


def yaml_text(robot: RobotCfg) -> str:
    """The YAML of a robot, with a remark at what no URDF says."""
    plain = _rounded(asdict(robot))
    text = yaml.safe_dump(plain, sort_keys=False, width=116, default_flow_style=None)
    lines = [f"# {robot.name}: from its URDF by `unlatch new robot`; see docs/robots.md"]
    for line in text.splitlines():
        key = line.strip().lstrip("- ").partition(":")[0]
        if key in _LOOK_UP:
            indent = " " * (len(line) - len(line.lstrip()))
            lines.append(f"{indent}# {_LOOK_UP[key]}")
        lines.append(line)
    return "\n".join(lines) + "\n"


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_rounded(item) for item in value]
    return round(value, 6) if isinstance(value, float) else value


def _rows(robot: RobotCfg) -> list[Row]:
    """The robot at home from two sides, and every hand with closed and open fingers and its keypoints."""
    rows = []
    with World(WorldCfg(), visuals=True) as world:
        world.add_box("table", size_m=TABLE_SIZE_M, T_world_box=Pose.from_translation(TABLE_CENTER_M))
        loaded = Robot(world, robot, model_path(robot), T_world_root=base_pose(robot))
        for arm in loaded.arms.values():
            arm.reset(arm.cfg.home, gripper_m=arm.cfg.gripper.max_width_m)
        corners = np.array([loaded.body.link_aabb(link) for arm in robot.arms for link in arm.forbidden_links])
        corners = corners.reshape(-1, 3)
        width, height = _TILE
        whole = [
            framing_view(corners, side, fov_deg=40.0, margin=1.3) for side in ((1.0, -1.2, 0.5), (-0.3, -1.0, 0.9))
        ]
        pictures = [take_picture(world, view, width=width, height=height) for view in whole]
        rows.append(Row(f"{robot.name} at home, from before and from the right", success=True, pictures=pictures))
        for arm in loaded.arms.values():
            hands = []
            for opening in (0.0, arm.cfg.gripper.max_width_m):
                arm.reset(arm.cfg.home, gripper_m=opening)
                T_world_ee = loaded.body.link_pose(arm.cfg.ee_link)
                points = {name: T_world_ee @ np.array(xyz) for name, xyz in arm.cfg.keypoints.items()}
                around = np.array([*points.values(), T_world_ee.p])
                side = T_world_ee.rotate(_side(arm.cfg))
                view = framing_view(around, side + np.array([0.0, 0.0, 0.2]), fov_deg=40.0, margin=2.2)
                overlay = Overlay(take_picture(world, view, width=width, height=height), view)
                overlay.labels(points)
                hands.append(overlay.picture())
            rows.append(
                Row(f"hand {arm.cfg.name}, closed and open; keypoints of the tool", success=True, pictures=hands)
            )
    return rows


def _side(arm: ArmCfg) -> np.ndarray:
    """Direction across approach and opening, ee frame: from where both are seen."""
    head, tail, side = (np.array(arm.keypoints[name]) for name in ("tool_head", "tool_tail", "tool_side"))
    return np.cross(head - tail, side - head) / np.linalg.norm(np.cross(head - tail, side - head))
