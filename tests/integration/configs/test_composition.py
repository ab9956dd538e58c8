"""Configurations compose from any directory, and every YAML file composes."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from unlatch.configs.composition import Request, compose_config, to_plain
from unlatch.configs.dataclass_reader import read_dataclass
from unlatch.configs.group_files import option_names
from unlatch.configs.overrides import expand_sweep
from unlatch.configs.schema import check_episode
from unlatch.objects.config import ObjectSource
from unlatch.robots.catalog import ROBOTS
from unlatch.simcore.errors import ConfigError
from unlatch.workflows.runs.loading import load
from unlatch.workflows.runs.schema import CollectCfg, PlanCfg, PreviewCfg

PRIMARIES = {"collect": CollectCfg, "plan": PlanCfg, "preview": PreviewCfg}


@pytest.mark.parametrize("primary", PRIMARIES)
def test_every_command_composes(primary: str):
    """`test_phrasings.py` composes every task."""
    schema = PRIMARIES[primary]
    plain = to_plain(compose_config(primary, schema, Request(["task=open_microwave"])))
    cfg = read_dataclass(schema, plain, where="")
    check_episode(cfg)
    assert cfg.task.name == "open_microwave"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("group", "name"),
    [
        (group, name)
        for group in ("object", "robot", "randomization", "executor", "planner")
        for name in option_names(group)
    ],
)
def test_every_option_composes(group: str, name: str):
    load("task=open_microwave", f"{group}={name}")


def test_composition_works_from_any_directory_and_leaves_nothing_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "configs").mkdir()
    (tmp_path / "configs" / "collect.yaml").write_text("task: {name: foreign}\n")
    monkeypatch.chdir(tmp_path)
    assert load("task=open_drawer").task.name == "open_drawer"
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["collect.yaml", "configs"]


def test_the_task_follows_the_name_of_its_object():
    cfg = load("task=open_microwave", "object=partnet_safe")
    assert cfg.object.source is ObjectSource.partnet_mobility
    assert {cfg.task.regions[0].object, cfg.task.goal[0].object, cfg.skills[0].objects[0]} == {"safe"}


@pytest.mark.parametrize("key", ["task.regions.0.yaw_deg", "task.regions[0].yaw_deg", "+task.regions.0.yaw_deg"])
def test_an_override_reaches_into_a_list(key: str):
    assert load("task=open_microwave", f"{key}=10").task.regions[0].yaw_deg == 10.0


def test_an_override_may_set_a_key_that_the_yaml_of_a_list_entry_leaves_out():
    cfg = load(
        "task=open_microwave", "skills.0.planner_setting.update_art_joint=true", "skills.0.contact_force_threshold_n=2"
    )
    assert cfg.skills[0].planner_setting.update_art_joint is True
    assert cfg.skills[0].contact_force_threshold_n == 2.0


def test_an_override_may_remove_a_list_entry():
    assert len(load("task=open_drawer", "~task.goal.0").task.goal) == 1


def test_robot_values_come_from_the_package_and_can_be_overridden():
    cfg = load("task=open_microwave", "robot.arms.0.gripper.grip_force_n=40", "robot.arms.0.home.3=-2")
    assert cfg.robot.arms[0].gripper.grip_force_n == 40.0
    assert cfg.robot.arms[0].home[3] == -2.0
    assert len(cfg.robot.arms[0].joints) == 7


def test_a_touch_of_more_than_a_newton_is_a_collision_by_default():
    (entry,) = load("task=open_drawer").skills
    assert (entry.contact_force_threshold_n, entry.scene_force_threshold_n) == (1.0, 30.0)


def test_a_folder_of_the_user_adds_tasks(tmp_path: Path):
    (tmp_path / "task").mkdir()
    (tmp_path / "task" / "gently.yaml").write_text(
        "# @package _global_\ndefaults:\n  - open_microwave\n  - _self_\n"
        "task: {name: gently}\nrobot: {base_height_m: 0.05}\n"
    )
    cfg = load("task=gently", config_dirs=[tmp_path])
    assert cfg.task.name == "gently"
    assert cfg.robot.base_height_m == 0.05
    assert cfg.skills[0].name == "open"


def test_a_sweep_is_every_combination_in_order():
    jobs = expand_sweep(["task=a,b", "seed=1", "episodes=2,3"])
    assert jobs == [[f"task={task}", "seed=1", f"episodes={n}"] for task in "ab" for n in (2, 3)]


def test_a_reference_is_resolved_and_nothing_in_a_yaml_is_code():
    assert load("task=open_microwave", "task.summary=${task.name}").task.summary == "open_microwave"
    with pytest.raises(ConfigError, match="calls a resolver"):
        load("task=open_microwave", "task.summary=${oc.env:HOME}")
    with pytest.raises(ConfigError, match="_target_ is not allowed"):
        load("task=open_microwave", "+task._target_=os.system")


@pytest.mark.parametrize(
    ("override", "where"),
    [
        ("object.where={doors: 1, width_m: {min: 0.4}}", {"doors": 1, "width_m": {"min": 0.4}}),
        ("object.where.doors=1", {"doors": 1}),
        ("+object.where.doors=[1,2]", {"doors": [1, 2]}),
    ],
)
def test_where_takes_any_key(override: str, where: dict):
    assert load("object=cabinet", "task=open_drawer", override).object.where == where


EXAMPLES = Path(__file__).resolve().parents[3] / "examples" / "configs"


def read(task: str) -> CollectCfg:
    return load(task, config_dirs=[EXAMPLES])


def differences(a: Any, b: Any, where: str = "") -> dict[str, tuple[Any, Any]]:
    if isinstance(a, dict):
        assert a.keys() == b.keys()
        pairs = [(f"{where}.{key}", a[key], b[key]) for key in a]
    elif isinstance(a, list) and len(a) == len(b):
        pairs = [(f"{where}[{index}]", *pair) for index, pair in enumerate(zip(a, b, strict=True))]
    else:
        return {} if a == b else {where: (a, b)}
    return {key: value for place, x, y in pairs for key, value in differences(x, y, place).items()}


@pytest.mark.slow
def test_gently_is_half_as_far_with_the_smallest_grip_force() -> None:
    usual, gentle = read("open_microwave"), read("open_microwave_gently")
    found = differences(asdict(usual), asdict(gentle))
    words = {key for key in found if "language" in key or key in (".task.name", ".task.summary")}
    assert {key: value for key, value in found.items() if key not in words} == {
        ".robot.arms[0].gripper.grip_force_n": (50.0, 30.0),
        ".task.goal[0].value": (0.7, 0.35),
        ".skills[0].planner_setting.success_threshold": (0.7, 0.35),
    }
    assert gentle.task.language != usual.task.language
    assert gentle.skills[0].language != usual.skills[0].language


def test_the_robot_of_the_example_is_the_catalogs() -> None:
    assert differences(asdict(ROBOTS.load("franka_panda")()), asdict(read("open_microwave_gently").robot)) == {
        ".arms[0].gripper.grip_force_n": (50.0, 30.0)
    }
