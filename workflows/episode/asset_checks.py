"""Checks a configuration against its assets before anything is written: parts, keypoints, axes and links."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from itertools import chain

import numpy as np

from unlatch.configs.chain import entry_keys
from unlatch.configs.derivation.derived_episode import fill_derived_task, fill_skill_setting
from unlatch.configs.schema import EpisodeCfg
from unlatch.objects.annotation import Part
from unlatch.objects.articulated_object import ObjectAsset
from unlatch.objects.config import ObjectCfg
from unlatch.objects.friction import OBJECT_FRICTION, joint_problems
from unlatch.objects.library import check_candidates, describe_object_set, load_object
from unlatch.robots.checks import check_robot
from unlatch.robots.description import ArmCfg
from unlatch.robots.model import model_path
from unlatch.simcore.errors import AssetError, ConfigError, unknown_name
from unlatch.simcore.rng import EpisodeStreams, episode_seed
from unlatch.simcore.sim.world import World
from unlatch.simcore.urdf.xml import parse_xml
from unlatch.skills.catalog import SKILLS
from unlatch.skills.contract.config import SkillCfg, part_acted_on
from unlatch.skills.contract.entries import HomeCfg
from unlatch.skills.layout_search import LayoutSearchCfg
from unlatch.solver.settings.reader import check_names
from unlatch.tasks.layout import check_opening, describe_object, sample_layout
from unlatch.workflows.episode.assets import naming_drawn_object
from unlatch.workflows.episode.randomization.recorded_randomization import make_randomization
from unlatch.workflows.episode.region_reach import check_regions
from unlatch.workflows.episode.scene_building import build_scene
from unlatch.workflows.episode.skill_checks import check_points, check_skill


def check_assets(cfg: EpisodeCfg, *, number: int = 0) -> None:
    """Loads the robot's model and the objects of one episode, and checks everything that refers to them.

    Raises:
        ConfigError: A name does not exist, or robot, skill or part cannot do what a value asks for; the message has
            the full key.
        AssetError: A named object, or every object that may be drawn, is missing or damaged, or its annotation does not
            fit.
    """
    check_robot(cfg.robot, object_friction=OBJECT_FRICTION)
    rng = EpisodeStreams(episode_seed(cfg.seed, number))["layout"]
    assets = {name: _load_example(item, rng, number) for name, item in cfg.all_objects().items()}
    with naming_drawn_object(cfg.object, assets[cfg.object.name], error=ConfigError):
        cfg = fill_derived_task(cfg, assets)
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
    homes = [(arm.name, arm.home, arm.home_std) for arm in cfg.robot.arms]
    layout = sample_layout(cfg.task, assets, homes, rng)
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
            if body is not None and link is not None:
                _check_link(cfg, assets, body, link, f"{where}.mount.{key}")


def _check_link(cfg: EpisodeCfg, assets: Mapping[str, ObjectAsset], body: str, link: str, where: str) -> None:
    path = assets[body].urdf_path if body in assets else model_path(cfg.robot)
    links = [str(item.get("name")) for item in parse_xml(path).iter("link")]
    if link not in links:
        raise unknown_name(link, f"a link of '{body}'", where=where, known=links, heading="Links")


def _find_part(asset: ObjectAsset, name: str, where: str) -> Part:
    parts = asset.articulation.parts
    if name not in parts:
        raise unknown_name(name, f"a part of {describe_object(asset)}", where=where, known=parts, heading="Parts")
    return parts[name]
