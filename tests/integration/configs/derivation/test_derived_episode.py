"""What an episode derives once it knows its objects."""

from dataclasses import asdict, replace
from functools import cache, partial

import numpy as np
import pytest

from unlatch.configs.dataclass_reader import read_dataclass
from unlatch.configs.derived_task import (
    derive_layout,
    fill_derived_task,
    fill_skill_setting,
    skill_strategies,
    with_mechanism_steps,
)
from unlatch.objects.annotation import Part
from unlatch.objects.articulated_object import ObjectAsset
from unlatch.objects.config import ObjectCfg
from unlatch.objects.library import load_object
from unlatch.objects.procedural.drawer import drawer
from unlatch.robots.catalog import load_robot
from unlatch.robots.hand_shape import hand_shape
from unlatch.simcore.errors import ConfigError
from unlatch.simcore.registry import CatalogEntry
from unlatch.skills.catalog import SKILLS
from unlatch.skills.config import SkillCfg
from unlatch.skills.strategies.ranking import MAX_DURATION_S, derive_strategies
from unlatch.solver.setting_reader import read_planner_setting
from unlatch.tasks.task import TaskCfg
from unlatch.workflows.cli.run_report import load_configs
from unlatch.workflows.cli.terminal import CommandLine
from unlatch.workflows.episode.asset_checks import check_assets
from unlatch.workflows.runs.runner import EpisodeRunner
from unlatch.workflows.runs.schema import CollectCfg, PreviewCfg

ARM = load_robot("franka_panda").arms[0]


def config(*overrides: str) -> CollectCfg:
    (loaded,) = load_configs("collect", CollectCfg, CommandLine(overrides=list(overrides)))
    return loaded.cfg


@cache
def open_of(category: str) -> tuple[ObjectAsset, Part, SkillCfg]:
    """An object, its part, and an entry that opens it."""
    asset = load_object(ObjectCfg(category, category, instance="3"), rng=np.random.default_rng(0))
    (part,) = asset.articulation.parts.values()
    return asset, part, read_dataclass(SkillCfg, {"name": "open", "objects": [category]}, where="skills[0]")


def test_a_setting_that_is_left_out_is_derived_from_how_things_are():
    asset, part, entry = open_of("drawer")
    assert entry.planner_setting.derived
    fill = partial(fill_skill_setting, entry, asset, part, robot="franka_panda", arm=ARM)
    made = [fill(s=s).planner_setting for s in (0.0, 0.15)]
    assert not any(setting.derived for setting in made)
    assert made[0].success_threshold > made[1].success_threshold  # less is left to open
    assert made[0].approach_width_m < ARM.gripper.max_width_m
    ways = fill_skill_setting(entry, asset, part, robot="franka_panda", arm=ARM, s=0.0).entries_by_strategy()
    assert ways[0].strategy == part.handle.type.value
    assert not ways[0].planner_setting.keypoint_shifts
    assert all(way.planner_setting.keypoint_shifts for way in ways[1:])
    own = replace(entry, planner_setting=made[0])
    assert fill_skill_setting(own, asset, part, robot="franka_panda", arm=ARM, s=0.1) is own


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "seconds"),
    [
        ("skill=rotate", MAX_DURATION_S),
        ("skill=rotate task.max_duration_s=1", 1.0),
        ("skill=open", TaskCfg().max_duration_s),
        ("skill=open openness=0.9", MAX_DURATION_S),  # in several turns
        ("skill=open openness=0.1", TaskCfg().max_duration_s),
    ],
)
def test_turns_have_more_time_and_a_time_limit_that_is_stated_is_kept(words: str, seconds: float):
    cfg = config("object=hand_wheel", *words.split())
    asset = load_object(cfg.object, rng=np.random.default_rng(0))
    assert fill_derived_task(cfg, {asset.name: asset}).task.max_duration_s == seconds


def test_a_recorded_setting_that_was_left_out_reads_again():
    entry = read_dataclass(SkillCfg, {"name": "open", "objects": ["drawer"]}, where="skills[0]")
    again = read_dataclass(SkillCfg, {**asdict(entry)}, where="skills[0]")
    assert again == entry
    with pytest.raises(ConfigError, match=r"planner_setting\.success_threshold has no effect .*derived=true"):
        read_planner_setting({"derived": True, "success_threshold": 0.5}, where="planner_setting")


def test_what_a_task_states_is_kept_and_the_rest_is_derived():
    asset, *_ = open_of("microwave")
    cfg = config("object=microwave", "skill=open", "task.settle_s=0.7")
    made = fill_derived_task(cfg, {"microwave": asset}).task
    assert [len(made.regions), len(made.openness), len(made.goal), made.settle_s] == [1, 1, 1, 0.7]
    assert made.language
    own = replace(cfg.task, regions=made.regions[:1], language=["open it"])
    own.regions[0].yaw_deg = 3.0
    kept = fill_derived_task(replace(cfg, task=own), {"microwave": asset}).task
    assert (kept.regions[0].yaw_deg, len(kept.regions), kept.language) == (3.0, 1, ["open it"])


@pytest.mark.slow
def test_each_episode_of_a_drawn_object_has_its_own_task():
    cfg = config("object=drawer", "skill=open")
    check_assets(cfg)
    thresholds, regions = set(), set()
    with EpisodeRunner(cfg) as runner:
        for number in range(3):
            episode = runner.episode(number)
            episode.reset()
            thresholds.add(episode.planner.strategies(1)[0].planner_setting.approach_width_m)
            regions.add(tuple(episode.cfg.task.regions[0].center_m))
    assert len(thresholds) == len(regions) == 3
    assert cfg.task.regions == []


@pytest.mark.parametrize(("wanted", "threshold"), [(0.0, None), (0.05, None), (0.2, 0.2)])
def test_a_part_is_led_as_far_as_the_goal_wants(wanted: float, threshold: float | None):
    asset, part, entry = open_of("drawer")
    fill = partial(fill_skill_setting, entry, asset, part, robot="franka_panda", arm=ARM, s=0.0)
    by_itself = fill().planner_setting
    setting = fill(wanted=wanted).planner_setting
    if threshold is None:
        assert setting == by_itself
    else:
        assert setting.success_threshold == threshold
        assert setting.follow_joint.to is None  # the skill goes a fifth beyond what is wanted


def test_a_skill_of_another_distribution_is_derived_as_it_says(monkeypatch: pytest.MonkeyPatch):
    class Nudge:
        derived_as = "close"

    monkeypatch.setattr(SKILLS, "_all", {**SKILLS.entries(), "nudge": CatalogEntry("nudge:Nudge", "")})
    monkeypatch.setattr(SKILLS, "load", {"nudge": Nudge}.get)
    asset, part, _ = open_of("drawer")
    hand = hand_shape("franka_panda", ARM)
    start = (0.1, 0.15)
    assert derive_strategies("nudge", asset, part, hand, start) == derive_strategies("close", asset, part, hand, start)
    task, _ = derive_layout("nudge", asset, part, hand)
    assert task["goal"][0]["kind"] == "within_closed"


def test_a_skill_that_cannot_derive_says_so():
    asset, part, entry = open_of("drawer")
    with pytest.raises(ConfigError, match=r"skill 'wave' has no planner_setting, and none can be derived"):
        fill_skill_setting(replace(entry, name="wave"), asset, part, robot="franka_panda", arm=ARM, s=0.0)


def test_a_skill_that_does_not_fit_is_refused_before_a_run():
    with pytest.raises(ConfigError, match=r"skill=rotate does not fit part 'drawer'"):
        check_assets(config("object=drawer", "skill=rotate"))


@pytest.mark.slow
def test_the_start_that_a_task_states_is_what_its_goal_is_derived_for():
    asset, *_ = open_of("drawer")
    goals = []
    for start in ([], ["task.openness=[{object: drawer, part: drawer, range: [0.1, 0.12]}]"]):
        made = fill_derived_task(config("object=drawer", "skill=open", *start), {"drawer": asset}).task
        goals.append(made.goal[0].value)
    assert goals[1] < goals[0]


def test_ways_are_tried_in_the_order_that_an_entry_states():
    asset, part, entry = open_of("microwave")
    s = part.openness.closed + 0.45 * np.sign(part.openness.open - part.openness.closed)
    names = {}
    for order in ([], ["hook", "edge"]):
        made = fill_skill_setting(replace(entry, order=order), asset, part, robot="franka_panda", arm=ARM, s=s)
        names[len(order)] = [way.strategy for way in made.entries_by_strategy()]
    assert names[0][-2:] == ["edge", "hook"]
    assert names[2] == ["hook", "edge", *names[0][:-2]]


def test_an_object_alone_is_previewed_where_it_would_be_opened():
    (loaded,) = load_configs("preview", PreviewCfg, CommandLine(overrides=["object=toilet"]))
    assert [entry.name for entry in loaded.cfg.skills] == ["artpreplan", "open"]
    with pytest.raises(ConfigError, match="object=toilet is given without a skill"):
        config("object=toilet")


def test_a_file_of_an_object_without_a_skill_is_named_as_it_is(tmp_path):
    file = tmp_path / "my drawer.urdf"
    file.write_text(drawer(3).model.to_urdf())
    with pytest.raises(ConfigError, match=r"Add 'object=[^']+my drawer\.urdf' skill=open"):
        config(f"object={file}")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "acts"),
    [
        ("object=box openness=0.9", 2),
        ("object=box openness=0.3", 1),  # one hold leads it as far
        ("object=box", 1),
        ("object=microwave openness=0.9", 1),  # a door is led in one go
        ("object=box openness=0.9 skills.1.order=[edge]", 2),
    ],
)
def test_a_lid_that_one_hold_does_not_lead_far_enough_is_opened_in_two(words: str, acts: int):
    cfg = config("skill=open", *words.split())
    asset = load_object(replace(cfg.object, instance="3"), rng=np.random.default_rng(0))
    assets = {asset.name: asset}
    made = fill_derived_task(cfg, assets)
    assert [entry.name for entry in made.skills] == ["artpreplan", *["open"] * acts]
    assert all(entry == cfg.skills[1] for entry in made.skills[1:])
    assert len(made.task.language) == len(
        fill_derived_task(config("skill=open", words.split()[0]), assets).task.language
    )
    if acts == 1:
        return
    part = next(iter(asset.articulation.parts.values()))
    robot_arm = cfg.robot.arms[0]
    first, second = (
        skill_strategies(made, index, assets, part=part, arm=robot_arm, s=part.openness.position(opening))[0]
        for index, opening in ((1, 0.0), (2, 0.9))
    )
    assert first.planner_setting.success_threshold <= 0.6
    reached = 0.9 + second.planner_setting.success_threshold
    assert reached == pytest.approx(0.9 * part.openness.span, rel=5e-3)


@pytest.mark.parametrize(
    ("skill", "names"), [("open", ["artpreplan", "rotate", "open"]), ("close", ["artpreplan", "close"])]
)
def test_a_named_object_gets_the_steps_that_free_its_part(skill, names):
    cfg = config("object=locked_safe", "object.instance=3", f"skill={skill}", "part=door")
    assets = {cfg.object.name: load_object(cfg.object, rng=np.random.default_rng(0))}
    assert [entry.name for entry in with_mechanism_steps(cfg, assets).skills] == names
