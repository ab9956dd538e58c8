"""Checks an entry of `skills` against its skill and its part, before anything is written."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import combinations

from unlatch.objects.annotation import Part
from unlatch.objects.articulated_object import ObjectAsset
from unlatch.simcore.errors import ConfigError
from unlatch.skills.catalog import SKILLS
from unlatch.skills.contract.config import SkillCfg
from unlatch.skills.contract.joint_reach import describe_reach, is_reachable, joint_unit
from unlatch.solver.settings.setting import PlannerSettingCfg, SuccessMode
from unlatch.solver.terms.point2point import Point2Point
from unlatch.tasks.layout import describe_object


def check_skill(skill: SkillCfg, part: Part, asset: ObjectAsset, *, where: str) -> None:
    """Checks success mode, threshold and target of an entry.

    Raises:
        ConfigError: The skill or the part does not allow one of them.
    """
    _check_mode(skill, f"{where}.success_mode")
    _check_threshold(skill, part, asset, f"{where}.success_threshold")
    _check_follow(skill, part, asset, f"{where}.post_actuation_motions.follow_joint.to")


def _check_mode(skill: SkillCfg, where: str) -> None:
    modes = SKILLS.load(skill.name).success_modes
    mode = skill.planner_setting.success_mode
    if mode is not None and mode not in modes:
        names = [item.value for item in modes]
        raise ConfigError(
            f"{where}={mode.value} is not a mode of skill '{skill.name}'. Expected one of {', '.join(names) or 'none'}."
            " Choose one of them, or leave it out.",
            key=where,
            available=names,
        )


def _check_threshold(skill: SkillCfg, part: Part, asset: ObjectAsset, where: str) -> None:
    """Checks that the joint can reach the threshold, and has not reached it before it moves."""
    modes = SKILLS.load(skill.name).success_modes
    mode = skill.planner_setting.success_mode or (modes[0] if modes else None)
    joint = asset.model.joints[part.joint]
    threshold = skill.planner_setting.success_threshold
    if mode is None or mode is SuccessMode.zero or joint.kind == "continuous":
        return
    span, unit = abs(joint.upper - joint.lower), "m" if joint.kind == "prismatic" else "rad"
    if mode is SuccessMode.fraction:
        span, unit = span / abs(part.openness.open - part.openness.closed), "of the way from closed to open"
    if not 0.0 < threshold <= span:
        raise ConfigError(
            f"{where}={threshold:g} cannot be judged on '{part.name}' of {describe_object(asset)} with success_mode "
            f"{mode.value}: its joint has a range of {span:.3g} {unit}. Expected a value above 0 and at most this "
            "range. Change it.",
            key=where,
        )


def _check_follow(skill: SkillCfg, part: Part, asset: ObjectAsset, where: str) -> None:
    follow = skill.planner_setting.follow_joint
    target = None if follow is None else follow.target(s_closed=part.openness.closed, s_open=part.openness.open)
    joint = asset.model.joints[part.joint]
    if follow is not None and target is not None and not is_reachable(joint, target):
        raise ConfigError(
            f"{where}={follow.to} leads '{part.name}' of {describe_object(asset)} to {target:.3g} {joint_unit(joint)}, "
            f"which its joint cannot reach. Expected {describe_reach(joint)}, or a share such as 80%. Change it.",
            key=where,
        )


def _describe_distance(first: str, second: str, distance_m: float, *, of: str) -> str:
    """Returns how far two keypoints of a part or of the hand are apart, or that both constraints name the same one."""
    if first == second:
        return f"both name '{first}' of the {of}"
    return f"'{first}' and '{second}' of the {of} are {distance_m:.4f} m apart"


def check_points(setting: PlannerSettingCfg, tool: Mapping[str, Sequence[float]], part: Part, *, where: str) -> None:
    """Raises if two point constraints contradict each other: the distance between two points of the hand is fixed.

    Only pairs whose targets have the same frame are checked here; the planner checks the others.

    Args:
        setting: The skill's planner setting.
        tool: Tool keypoints by name, ee frame [m].
        part: The part that is acted on.
        where: Full key of the setting.

    Raises:
        ConfigError: Two constraints contradict each other.
    """
    points = [(i, term) for i, term in enumerate(setting.constraint_list) if isinstance(term, Point2Point)]
    for (i, first), (j, second) in combinations(points, 2):
        a, b = part.keypoints[first.target_keypoint_name], part.keypoints[second.target_keypoint_name]
        if a.frame != b.frame:
            continue
        wanted = math.dist(a.xyz, b.xyz)
        apart = math.dist(tool[first.keypoint_name], tool[second.keypoint_name])
        out = abs(wanted - apart) - math.sqrt(3.0) * (first.tolerance + second.tolerance)
        if out > 1e-9:
            key = f"{where}.constraint_list"
            targets = _describe_distance(first.target_keypoint_name, second.target_keypoint_name, wanted, of="part")
            hand = _describe_distance(first.keypoint_name, second.keypoint_name, apart, of="hand")
            raise ConfigError(
                f"{key}[{i}] '{first.label}' and [{j}] '{second.label}' contradict each other: {targets}, and {hand} "
                f"(out by {out:.4f} m beyond both tolerances). Change or remove one of them.",
                key=key,
            )
