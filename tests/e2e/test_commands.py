"""Commands as a user runs them, in a folder of its own: what they print, and what they leave there."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import Image

from tests.e2e.running import Commands

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(commands: Commands, tmp_path: Path) -> Run:
    """Runs `unlatch` in the folder of the test; returns exit code, output and errors."""

    def run_command(*words: str) -> tuple[int, str, str]:
        done = commands.run(["unlatch", *words], tmp_path)
        return done.returncode, done.stdout, done.stderr

    return run_command


def test_a_sweep_makes_one_data_set_for_each_job_and_ends_with_a_table(tmp_path: Path, run: Run):
    sweep = ("collect", "-m", "task=open_microwave,close_drawer", "episodes=1", "executor=serial", "pictures=0")
    code, out, err = run(*sweep)
    told = ["unlatch: job 1 of 2: task=open_microwave", "unlatch: job 2 of 2: task=close_drawer"]
    assert (code, err.splitlines()) == (0, told)
    table = out[out.index(" job ") :]
    for task in ("open_microwave", "close_drawer"):
        (row,) = [line.split() for line in table.splitlines() if f"task={task}" in line]
        assert row[:5] == [f"task={task}", "0", "1/1", "=", "100.0"]
        assert row[-1] == f"data/{task}-franka_panda-s0"
        content = json.loads((tmp_path / row[-1] / "dataset.json").read_text())
        assert content["header"]["config"]["task"]["name"] == task
        assert set(content["header"]["versions"]) == {"unlatch", "pybullet", "casadi"}
        assert "executor" not in content["header"]["config"]
        assert content["info"]["command"][0] == "unlatch"
    assert len(list((tmp_path / "data").iterdir())) == 2


def test_plan_prints_keyframes_residuals_and_timings_and_draws_them(tmp_path: Path, run: Run):
    code, out, err = run("plan", "task=open_microwave", "episode=3", "picture=true", "out=plan.png")
    assert (code, err) == (0, "")
    words = ("KeyframePlan(found=True", "goal", "residuals at the goal:", "point2point_constraint", "timings [ms]:")
    assert [word for word in words if word not in out] == []
    assert [path.name for path in tmp_path.iterdir()] == ["plan.png"]


def test_plan_prints_why_there_is_no_plan(tmp_path: Path, run: Run):
    code, out, err = run("plan", "task=open_microwave", "task.regions.0.center_m=[2.0,0.0]")
    assert (code, err) == (1, "")
    assert "no plan\n  plan_infeasible: No arm configuration was found that meets all constraints" in out
    assert out.count("plan_infeasible") == 1
    assert "best compromise (value of tolerance):\n    point2point_constraint" in out
    assert "timings [ms]: goal" in out
    assert list(tmp_path.iterdir()) == []


def test_preview_draws_the_scene_without_planning(tmp_path: Path, run: Run):
    code, out, err = run("preview", "task=close_drawer", "out=scene.png")
    assert (code, err, "drawer: procedural drawer" in out) == (0, "", True)
    with Image.open(tmp_path / "scene.png") as picture:
        assert len(picture.getcolors(1 << 24)) > 100
