"""Two Franka Emika Pandas with the Franka Hand, side by side on one stand; each is the arm of `franka_panda`.

Both look along +x; the left one stands on the +y side.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from unlatch.robots.description import ArmCfg, RobotCfg
from unlatch.robots.dual_panda_model import BASE_Y_M, ROOT_LINK, dual_panda_path
from unlatch.robots.franka_panda import franka_panda


def urdf_path() -> Path:
    """Returns the URDF, made on first use; see `dual_panda_model`."""
    return dual_panda_path()


def dual_panda() -> RobotCfg:
    """Returns the configuration of both arms."""
    single = franka_panda()
    (panda,) = single.arms
    return RobotCfg(
        name="dual_panda",
        arms=[_make_arm(panda, side) for side in BASE_Y_M],
        self_collision_ignored=[
            *([f"{side}_{link}" for link in pair] for side in BASE_Y_M for pair in single.self_collision_ignored),
            *([ROOT_LINK, f"{side}_{panda.base_link}"] for side in BASE_Y_M),
        ],
    )


def _make_arm(arm: ArmCfg, side: str) -> ArmCfg:
    """Returns a copy of an arm whose links and joints have the prefix of its side."""

    def named(names: list[str]) -> list[str]:
        return [f"{side}_{name}" for name in names]

    return replace(
        arm,
        name=side,
        base_link=f"{side}_{arm.base_link}",
        ee_link=f"{side}_{arm.ee_link}",
        joints=named(arm.joints),
        forbidden_links=named(arm.forbidden_links),
        gripper=replace(arm.gripper, joints=named(arm.gripper.joints), finger_links=named(arm.gripper.finger_links)),
    )
