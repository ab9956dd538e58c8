"""`unlatch new robot`: writes a robot's YAML from its URDF, and a picture to check it."""

from __future__ import annotations

from pathlib import Path

from unlatch.simcore.errors import ConfigError
from unlatch.workflows.assets.new_robot import LOOK_UP, NewRobotCfg, new_robot
from unlatch.workflows.cli.arguments import read_pairs
from unlatch.workflows.cli.command import command
from unlatch.workflows.cli.console import OK, print_line


@command
def main(arguments: list[str]) -> int:
    """Runs the command; returns its exit code."""
    words = [argument for argument in arguments if "=" not in argument and not argument.startswith("-")]
    if len(words) != 2 or words[0] != "robot":
        raise ConfigError(
            f"new got '{' '.join(words)}', expected `robot` and a URDF, then key=value. `unlatch new --help` shows it."
        )
    cfg = read_pairs(NewRobotCfg, [argument for argument in arguments if argument not in words])
    made = new_robot(Path(words[1]).expanduser(), cfg)
    robot, name = made.robot, made.robot.name
    for arm, share in zip(robot.arms, made.reach_shares, strict=True):
        gripper = arm.gripper
        print_line(f"arm {arm.name}: {arm.base_link} to {arm.ee_link}, {len(arm.joints)} joints")
        print_line(
            f"  gripper {1e3 * gripper.max_width_m:.0f} mm, {len(gripper.joints)} joints, {gripper.grip_force_n:g} N"
        )
        print_line(f"  reaches {100 * share:.0f} % of hand poses over the region of derived tasks")
    print_line(f"base at x = {robot.base_x_m:g} m, {robot.base_height_m:g} m above the table")
    print_line(f"look up in the data sheet: {', '.join(LOOK_UP)}")
    print_line(f"wrote {made.yaml_file} and {made.picture}; check the picture, then:")
    print_line(f"  unlatch collect task=open_drawer robot={name} --config-dir {cfg.out} episodes=10 out=data/{name}")
    return OK
