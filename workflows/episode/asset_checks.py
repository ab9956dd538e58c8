"""Checks a configuration against its assets before anything is written: parts, thresholds, links, what arms reach."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import chain, combinations

import numpy as np

from unlatch.configs.dataclass_reader import entry_keys
from unlatch.configs.schema import EpisodeCfg
from unlatch.objects.annotation import Part
from unlatch.objects.articulated_object import ObjectAsset
from unlatch.objects.config import ObjectCfg
from unlatch.objects.friction import OBJECT_FRICTION, joint_problems
from unlatch.objects.library import check_candidates, describe_object_set, load_object
from unlatch.robots.checks import check_robot
from unlatch.robots.description import ArmCfg, RobotCfg, base_pose
from unlatch.robots.models import model_path
from unlatch.simcore.errors import AssetError, ConfigError, unknown_name
from unlatch.simcore.rng import EpisodeStreams, episode_seed
from unlatch.simcore.sim.world import World
from unlatch.simcore.urdf.reader import parse_xml, read_urdf
from unlatch.skills.catalog import SKILLS
from unlatch.skills.config import HomeCfg, SkillCfg, part_acted_on
from unlatch.skills.context import describe_reach, is_reachable
from unlatch.skills.layout_search import LayoutSearchCfg
from unlatch.solver.kinematics import Kinematics
from unlatch.solver.setting import PlannerSettingCfg, SuccessMode
from unlatch.solver.setting_reader import check_names
from unlatch.solver.term_kinds import Point2Point
from unlatch.tasks.layout import check_opening, describe_object, sample_layout
from unlatch.tasks.task import RegionCfg
from unlatch.workflows.episode.assets import naming_drawn_object
from unlatch.workflows.episode.scene import build_scene, check_foot, stand_range


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
            f"{where}={follow.to} leads '{part.name}' of {describe_object(asset)} to {target:.3g} {joint.unit}, "
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
            named = {skill.arm for skill in skills}
            arms = [arm for arm in cfg.robot.arms if None in named or arm.name in named]
            _check_region(cfg.robot, arms, region, index, extent_m)


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


def check_assets(cfg: EpisodeCfg, *, number: int = 0) -> None:
    """Loads the robot's model and the objects of one episode, and checks everything that refers to them.

    Raises:
        ConfigError: A name does not exist, or robot, skill or part cannot do what a value asks for; the message has
            the full key.
        AssetError: A named object, or every object that may be drawn, is missing or damaged, or its annotation does not
            fit.
    """
    check_robot(cfg.robot, object_friction=OBJECT_FRICTION)
    if cfg.stand.is_used:
        check_foot(cfg.robot, cfg.stand.kind)
    rng = EpisodeStreams(episode_seed(cfg.seed, number))["layout"]
    assets = {name: _load_example(item, rng, number) for name, item in cfg.all_objects().items()}
    is_derived = cfg.robot.scale != 1.0 or cfg.task.derived is not None
    has_mechanisms = any(asset.articulation.mechanisms for asset in assets.values())
    if is_derived or has_mechanisms:
        from unlatch.configs.derived_task import fill_derived_task, scaled_task, with_mechanism_steps

        if is_derived:
            with naming_drawn_object(cfg.object, assets[cfg.object.name], error=ConfigError):
                cfg = fill_derived_task(scaled_task(cfg, assets), assets)
        if has_mechanisms:
            with_mechanism_steps(cfg, assets)  # raises where the robot lacks an arm
    for problem in chain.from_iterable(joint_problems(asset) for asset in assets.values()):
        raise problem
    for index, opening in enumerate(cfg.task.openness):
        asset = assets[opening.object]
        check_opening(opening, _find_part(asset, opening.part, f"task.openness[{index}].part"), asset, index=index)
    for index, goal in enumerate(cfg.task.goal):
        if goal.condition is None:
            _find_part(assets[goal.object], goal.part or "", f"task.goal[{index}].part")
        else:
            with naming_drawn_object(cfg.all_objects()[goal.object], assets[goal.object], error=ConfigError):
                goal.condition.describe(assets)
    check_regions(cfg, assets)
    arms = {arm.name: arm for arm in cfg.robot.arms}
    for skill, where in zip(cfg.skills, entry_keys(cfg.skills, cfg.robot.name), strict=True):
        if isinstance(skill, LayoutSearchCfg):
            continue  # it acts on no object
        asset = assets[skill.objects[0]]
        if isinstance(skill, HomeCfg):
            if skill.part is not None:
                _find_part(asset, skill.part, f"{where}.part")
            continue
        if SKILLS.load(skill.name).carries:
            _check_carried(skill, assets, where)
            continue
        if skill.part is None and len(asset.articulation.parts) > 1 and cfg.task.derived is None:
            raise ConfigError(
                f"{where}.part is missing. '{asset.name}' has {', '.join(asset.articulation.parts)}. Name one.",
                key=f"{where}.part",
            )
        named = skill.part or part_acted_on(skill.name, None, asset.articulation).name
        part = _find_part(asset, named, f"{where}.part")
        for arm in [arms[skill.arm]] if skill.arm is not None else cfg.robot.arms:
            _check_settings(skill, asset, part, cfg, arm, where)
    _check_mounts(cfg, assets)
    if cfg.randomization.active:
        _check_randomization(cfg, assets, rng)


def _check_randomization(cfg: EpisodeCfg, assets: dict[str, ObjectAsset], rng: np.random.Generator) -> None:
    """Builds the scene of one layout and applies every rule: views, attributes and sizes must fit its bodies."""
    from unlatch.workflows.episode.randomization import make_randomization

    homes = [(arm.name, arm.home, arm.home_std) for arm in cfg.robot.arms]
    layout = sample_layout(cfg.task, assets, homes, rng, stand=stand_range(cfg.stand, cfg.robot))
    with World(cfg.world) as world:
        # the reset may change this world, which is not used again; it also checks that recorded values fit
        make_randomization(build_scene(world, cfg.robot, assets, layout, []), cfg.randomization, 0)


def _check_carried(skill: SkillCfg, assets: Mapping[str, ObjectAsset], where: str) -> None:
    """Checks that a skill carries a free object, to a region that exists."""
    asset = assets[skill.objects[0]]
    if not asset.free:
        free = ", ".join(name for name, each in assets.items() if each.free) or "none"
        raise ConfigError(
            f"{where}.objects[0]='{asset.name}' is fixed in place, and '{skill.name}' carries a free object. Free "
            f"objects: {free}. Name one of them.",
            key=f"{where}.objects",
        )
    if skill.part is not None:
        raise ConfigError(
            f"{where}.part='{skill.part}' has no effect: '{skill.name}' carries the whole object. Remove it.",
            key=f"{where}.part",
        )
    try:
        for condition in SKILLS.load(skill.name).declare_conditions(skill, assets):
            condition.describe(assets)
    except (AssetError, ConfigError) as exc:
        raise ConfigError(f"{where}: {exc.message}", key=where) from exc


def _check_settings(skill: SkillCfg, asset: ObjectAsset, part: Part, cfg: EpisodeCfg, arm: ArmCfg, where: str) -> None:
    """Checks an entry's settings for one of the arms that may carry it out."""
    if skill.planner_setting.derived:
        from unlatch.configs.derived_task import fill_skill_setting

        try:
            with naming_drawn_object(cfg.all_objects()[asset.name], asset):
                fill_skill_setting(skill, asset, part, robot=cfg.robot, arm=arm, s=part.openness.closed)
        except (AssetError, ConfigError) as exc:
            raise ConfigError(f"{where}: {exc.message}", key=where) from exc
        return
    others = {item.name: f"{where}.strategies[{i}].planner_setting" for i, item in enumerate(skill.strategies)}
    keys = {skill.strategy: f"{where}.planner_setting", **others}
    for entry in skill.entries_by_strategy():
        key = keys[entry.strategy]
        check_names(entry.planner_setting, list(arm.keypoints), list(part.keypoints), key, list(part.axes))
        check_skill(entry, part, asset, where=key)
        check_points(entry.planner_setting, arm.keypoints, part, where=key)


def _load_example(cfg: ObjectCfg, rng: np.random.Generator, number: int) -> ObjectAsset:
    """Returns the object that an episode draws or, if it is damaged, the first undamaged one.

    A damaged object fails only the episodes that draw it; any other object serves to check names.
    """
    check_candidates(cfg)
    try:
        return load_object(cfg, rng=rng, number=number)
    except AssetError:
        others = describe_object_set(cfg).get("instances", ()) if cfg.instance is None else ()
        for instance in others:
            with suppress(AssetError):
                return load_object(cfg.with_instance(instance), rng=rng)
        raise


def _check_mounts(cfg: EpisodeCfg, assets: Mapping[str, ObjectAsset]) -> None:
    """Checks the links that sensors are mounted on."""
    for where, sensor in cfg.all_sensors().items():
        mount = sensor.mount
        for key, body, link in (
            ("link", mount.body, mount.link),
            ("look_at_link", mount.look_at_body, mount.look_at_link),
        ):
            if body is None or link is None:
                continue
            path = assets[body].urdf_path if body in assets else model_path(cfg.robot)
            links = [str(item.get("name")) for item in parse_xml(path).iter("link")]
            if link not in links:
                what = f"a link of '{body}'"
                raise unknown_name(link, what, where=f"{where}.mount.{key}", known=links, heading="Links")


def _find_part(asset: ObjectAsset, name: str, where: str) -> Part:
    parts = asset.articulation.parts
    if name not in parts:
        raise unknown_name(name, f"a part of {describe_object(asset)}", where=where, known=parts, heading="Parts")
    return parts[name]
