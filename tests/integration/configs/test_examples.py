"""The YAML of the examples says what it does: the smallest grip force, half as far, everything else as built in."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from unlatch.robots.catalog import ROBOTS
from unlatch.workflows.runs.loading import load
from unlatch.workflows.runs.schema import CollectCfg

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
