"""Refuses a region in which no arm reaches the object, before an episode is made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from unlatch.configs.schema import EpisodeCfg
from unlatch.objects.articulated_object import ObjectAsset
from unlatch.robots.description import ArmCfg, RobotCfg, base_pose
from unlatch.robots.model import model_path
from unlatch.simcore.errors import ConfigError
from unlatch.simcore.urdf.reader import read_urdf
from unlatch.skills.contract.config import SkillCfg
from unlatch.skills.layout_search import LayoutSearchCfg
from unlatch.solver.kinematics import Kinematics
from unlatch.tasks.task import RegionCfg

_SIZE_FACTOR = 1.5
"""Other objects of a category may be larger than the one that is looked at."""


def check_regions(cfg: EpisodeCfg, assets: Mapping[str, ObjectAsset]) -> None:
    """Checks that some arm may reach each object that a skill acts on, somewhere in its region.

    The bound is generous: all links of an arm in one line, the nearest point of the region, and any point of the object
    however it is turned. So what it refuses has no plan in any episode.

    Raises:
        ConfigError: No arm reaches that far; the message says how far off the region is.
    """
    for index, region in enumerate(cfg.task.regions):
        skills = [
            skill
            for skill in cfg.skills
            if not isinstance(skill, LayoutSearchCfg) and skill.objects[0] == region.object
        ]
        if skills and not assets[region.object].free:
            begins_open = any(item.object == region.object and item.range[1] > 0.0 for item in cfg.task.openness)
            extent_m = _extent_m(assets[region.object], begins_open=begins_open)
            _check_region(cfg.robot, _arms_of(cfg.robot, skills), region, index, extent_m)


def _arms_of(robot: RobotCfg, skills: Sequence[SkillCfg]) -> list[ArmCfg]:
    """Returns the arms that may carry out one of some skills."""
    named = {skill.arm for skill in skills}
    return [arm for arm in robot.arms if None in named or arm.name in named]


def _check_region(robot: RobotCfg, arms: Sequence[ArmCfg], region: RegionCfg, index: int, extent_m: float) -> None:
    found = []
    for arm in arms:
        shoulder, reach_m = _shoulder_and_reach(robot, arm)
        offset = np.abs(np.array(region.center_m) - shoulder[:2]) - np.array(region.half_extent_m)
        distance_m = float(np.linalg.norm(np.maximum(offset, 0.0)))
        found.append((distance_m - extent_m - reach_m, distance_m, reach_m))
    if not found or min(found)[0] <= 0.0:
        return
    out_m, distance_m, reach_m = min(found)
    key = f"task.regions[{index}].center_m"
    raise ConfigError(
        f"{key}={list(region.center_m)} puts '{region.object}' out of reach of {robot.name}. Move the region at least "
        f"{out_m:.2f} m nearer. It begins {distance_m:.2f} m from the arm, the arm is at most {reach_m:.2f} m long, "
        f"and the object extends {extent_m:.2f} m at most.",
        key=key,
    )


def _extent_m(asset: ObjectAsset, *, begins_open: bool) -> float:
    """Returns how far, horizontally, a point of an object is from the middle of its front at most [m].

    Its parts are as at the start of an episode: closed, or open by any amount.
    """
    depth_m, width_m, _ = asset.size_m
    extent_m = float(np.hypot(depth_m, 0.5 * width_m))
    if begins_open:
        slides = [abs(joint.upper - joint.lower) for joint in asset.model.joints.values() if joint.kind == "prismatic"]
        extent_m += float(np.linalg.norm(asset.size_m)) + sum(slides)
    return _SIZE_FACTOR * extent_m


def _shoulder_and_reach(robot: RobotCfg, arm: ArmCfg) -> tuple[np.ndarray, float]:
    """Returns where the first joint of an arm is in the world (3,), and an upper bound of the arm's length from it [m].

    Joints of a robot before those of the arm count as well.
    """
    path = model_path(robot)
    chain = Kinematics.from_urdf(path, base_link=read_urdf(path).root, tip_link=arm.ee_link)
    shoulder = base_pose(robot) @ chain.joints[0].T_previous_joint[:3, 3]
    tool_m = max(float(np.linalg.norm(point)) for point in arm.keypoints.values())
    return shoulder, chain.length_m + tool_m
