"""A sweep, and the Python functions: progress, mistakes, and an environment."""

import json
from pathlib import Path

import pytest

import unlatch
from tests.e2e.running import Commands

pytestmark = [pytest.mark.e2e, pytest.mark.slow]


def test_progress_is_reported_to_a_function(tmp_path: Path):
    seen = []
    cfg = unlatch.load("close_drawer", "executor=serial", "pictures=0")
    data = unlatch.collect(
        cfg, episodes=2, out=tmp_path / "set", progress=lambda progress: seen.append((progress.done, progress.total))
    )
    assert "command" not in data.info  # the script's own arguments are no command of `unlatch`
    assert seen == [(1, 2), (2, 2)]
    assert [summary.number for summary in data.summaries()] == [0, 1]


def test_a_mistake_is_an_exception_and_nothing_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    cfg = unlatch.load("close_drawer")
    for call, message in (
        (lambda: unlatch.load("close_drawer", "robot=nobody"), r"robot"),
        (lambda: unlatch.collect(cfg, episodes=0), r"episodes=0 is out of range"),
        (lambda: unlatch.evaluate(cfg, 3), r"policy='3' is of type int\. Expected a function"),
        (lambda: unlatch.evaluate(cfg, (number for number in range(3)).send), r"cannot be sent to a worker"),
    ):
        with pytest.raises(unlatch.ConfigError, match=message):
            call()
    with pytest.raises(unlatch.RecordingError, match="is not a data set"):
        unlatch.open_dataset("nowhere")
    assert list(tmp_path.iterdir()) == []


def test_an_environment_of_a_configuration():
    env = unlatch.make_env(unlatch.load("close_drawer"), action=unlatch.ActionCfg(max_joint_delta_rad=0.02))
    observation, info = env.reset(seed=0)
    assert observation["robots.franka_panda.left.joint_positions"].shape == (7,)
    assert info["episode"] == 0
    env.close()


def test_a_sweep_makes_one_data_set_for_each_job_and_ends_with_a_table(tmp_path: Path, commands: Commands):
    sweep = ("collect", "-m", "task=open_microwave,close_drawer", "episodes=1", "executor=serial", "pictures=0")
    done = commands.run(["unlatch", *sweep], tmp_path)
    told = ["unlatch: job 1 of 2: task=open_microwave", "unlatch: job 2 of 2: task=close_drawer"]
    assert (done.returncode, done.stderr.splitlines()) == (0, told)
    table = done.stdout[done.stdout.index(" job ") :]
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
