"""The Python functions, with workers in a script without a `__main__` guard, on standard input and in a notebook."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import unlatch

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

ROOT = Path(__file__).resolve().parents[2]
BEGINNING = """
import numpy as np
import unlatch

print("the main module runs")

class Stay:
    def __init__(self, observation_space, action_space):
        self.size = action_space.shape[0]
    def act(self, observation):
        return still(observation)

def still(observation):
    return np.append(observation["robots.franka_panda.left.joint_positions"], 0.04)

cfg = unlatch.load("close_drawer", "pictures=1", seed=7)
data = unlatch.collect(cfg, episodes=2, workers=2, out="data/drawer")
print("collected", len(data), [record.success for record in data])
print("replayed", unlatch.replay(data[0]).deviation.value)
short = unlatch.load("close_drawer", "task.max_duration_s=1", "pictures=0", seed=7)
"""
EVALUATION = """
result = unlatch.evaluate(short, POLICY, episodes=2, workers=2)
print("evaluated", result.successes, result.n, result.failures)
"""
OF_FUNCTION, OF_CLASS = (EVALUATION.replace("POLICY", policy) for policy in ("still", "Stay"))
PRINTED = """the main module runs
collected 2 [True, True]
replayed 0.0
"""
EVALUATED = "evaluated 0 2 {'timeout': 2}\n"


def run_python(arguments: list[str], cwd: Path, **options: object) -> tuple[int, str, str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    program = [sys.executable, *arguments]
    done = subprocess.run(program, cwd=cwd, env=environment, capture_output=True, text=True, check=False, **options)
    return done.returncode, done.stdout, done.stderr


def test_a_script_without_a_main_guard(tmp_path: Path):
    (tmp_path / "script.py").write_text(BEGINNING + OF_FUNCTION + OF_CLASS)
    assert run_python(["script.py"], tmp_path) == (0, PRINTED + 2 * EVALUATED, "")


@pytest.mark.heavy  # its main module has no file, like that of a notebook
def test_code_on_standard_input(tmp_path: Path):
    assert run_python(["-"], tmp_path, input=BEGINNING + OF_FUNCTION) == (0, PRINTED + EVALUATED, "")


def test_a_notebook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    cells = [nbformat.v4.new_code_cell(part) for part in (BEGINNING + OF_CLASS).split("\n\n")]
    notebook = nbformat.v4.new_notebook(cells=cells)
    nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    outputs = [output for cell in notebook.cells for output in cell.outputs]
    assert {output.get("name") for output in outputs} == {"stdout"}, outputs
    assert "".join(output["text"] for output in outputs) == PRINTED + EVALUATED


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
    with pytest.raises(unlatch.ConfigError, match=r"robot"):
        unlatch.load("close_drawer", "robot=nobody")
    cfg = unlatch.load("close_drawer")
    with pytest.raises(unlatch.ConfigError, match=r"episodes=0 is out of range"):
        unlatch.collect(cfg, episodes=0)
    with pytest.raises(unlatch.ConfigError, match=r"policy='3' is of type int\. Expected a function"):
        unlatch.evaluate(cfg, 3)
    with pytest.raises(unlatch.ConfigError, match=r"cannot be sent to a worker"):
        unlatch.evaluate(cfg, (number for number in range(3)).send)
    with pytest.raises(unlatch.RecordingError, match="is not a data set"):
        unlatch.open_dataset("nowhere")
    assert list(tmp_path.iterdir()) == []


def test_python_without_the_packages_says_how_to_get_them(tmp_path: Path):
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-S", "-m", "unlatch", "list", "tasks"]  # -S: no installed packages
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    last = done.stderr.strip().splitlines()[-1]
    assert "Unlatch is not installed in this Python" in last
    assert ". .venv/bin/activate" in last
    assert "pip install -e ." in last


def test_a_diagnosis_is_a_value():
    cfg = unlatch.load("open_microwave", "task.regions.0.center_m=[2.0,0.0]")
    plan = unlatch.plan(cfg)
    assert not plan.found
    assert plan.diagnosis is not None
    assert "plan_infeasible" in str(plan)


def test_an_environment_of_a_configuration():
    env = unlatch.make_env(unlatch.load("close_drawer"), action=unlatch.ActionCfg(max_joint_delta_rad=0.02))
    observation, info = env.reset(seed=0)
    assert observation["robots.franka_panda.left.joint_positions"].shape == (7,)
    assert info["episode"] == 0
    env.close()
