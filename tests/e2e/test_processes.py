"""What only a process of its own can show: signals, workers, exit codes, what an interpreter imports, two at once.

All other tests run commands in the process of pytest. Rows that take long and resemble another one are heavy.
"""

from __future__ import annotations

import hashlib
import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from PIL import Image

from tests.e2e.running import Commands, finish, run_process, start, wait_for
from unlatch.simcore.recording.check import check_dataset
from unlatch.simcore.recording.data_set import DataSet
from unlatch.workflows.runs.progress import pace_of, read_run_times

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

UNLATCH = ("-m", "unlatch")
DRAWERS = (*UNLATCH, "collect", "task=close_drawer", "seed=4", "pictures=0")
INTERRUPTED = "unlatch: interrupted; the same command makes what is missing\n"
heavy = pytest.mark.heavy


def digests(data_set: Path) -> dict[int, str]:
    found = DataSet.open(data_set)
    return {n: hashlib.sha256((found.folder_of(n) / "state.npz").read_bytes()).hexdigest() for n in found.numbers()}


def press_ctrl_c(
    words: tuple[str, ...], folder: Path, *, when: Callable[[], object], times: int = 1, alone: bool = False
) -> tuple[int, str, str]:
    """Presses Ctrl-C in a command once a condition holds; returns exit code, output and errors.

    The terminal sends the signal to the whole group of processes, `kill -INT` to the command `alone`.
    """
    process = start(words, folder)
    wait_for(lambda: when() or process.poll() is not None)
    for _ in range(times):
        (os.kill if alone else os.killpg)(process.pid, signal.SIGINT)
        time.sleep(0.2 * (times > 1))
    return finish(process, limit_s=120)


@pytest.fixture(scope="module")
def drawers(collected: Callable[..., Path]) -> dict[int, str]:
    """The digests of eight episodes of `DRAWERS` that nothing disturbed, one after the other in this process."""
    return digests(collected("close_drawer", seed=4, episodes=8))


@pytest.fixture(scope="module")
def microwaves(collected: Callable[..., Path]) -> dict[int, str]:
    """The digests of two episodes with microwaves, likewise."""
    return digests(collected("open_microwave", episodes=2))


def test_two_workers_leave_a_whole_data_set_and_nothing_else(
    tmp_path: Path, drawers: dict[int, str], commands: Commands
):
    words = ["collect", "task=close_drawer", "seed=4"]
    code, out, err = run_process([*UNLATCH, *words, "episodes=4", "workers=2"], tmp_path)
    assert (code, err) == (0, "")
    folder = tmp_path / "data" / "close_drawer-franka_panda-s4"
    assert [path.name for path in tmp_path.iterdir()] == ["data"]
    assert digests(folder) == {n: drawers[n] for n in range(4)}
    for text in ("4 of 4 episodes done, 4 made", "95 % interval", f"picture: data/{folder.name}/preview.png"):
        assert text in out
    with Image.open(folder / "preview.png") as picture:
        assert picture.width == 960

    # the command, `watch` of the set and of a merged one say the same pace
    pace = out.split("start-up), ")[1].split(" an hour")[0]
    assert commands.run(["unlatch", "merge", "merged", str(folder)], tmp_path).returncode == 0
    for path in (folder, tmp_path / "merged"):
        assert f" {pace} " in commands.run(["unlatch", "watch", str(path)], tmp_path).stdout
        assert f"{pace_of(read_run_times(path)).per_hour:,.0f}" == pace

    more = commands.run(["unlatch", *words, "episodes=5", "executor=serial", "pictures=0"], tmp_path)
    assert (more.returncode, more.stderr, "5 of 5 episodes done, 1 made" in more.stdout) == (0, "", True)
    checked = commands.run(["unlatch", "check", str(folder)], tmp_path)
    assert (checked.returncode, "5 episodes, all whole, every verdict agrees" in checked.stdout) == (0, True)


@pytest.mark.parametrize(
    ("words", "numbers"),
    [
        (["executor=serial", "only=[2,3]"], [2, 3]),
        pytest.param(["workers=1", "episodes=4"], range(4), marks=heavy),
        pytest.param(["executor=serial", "only=[3]"], [3], marks=heavy),
    ],
)
def test_an_episode_depends_on_configuration_and_number_only(
    tmp_path: Path, drawers: dict[int, str], commands: Commands, words: list[str], numbers: list[int]
):
    assert commands.run(["unlatch", *DRAWERS[2:], *words, "out=set"], tmp_path).returncode == 0
    assert digests(tmp_path / "set") == {n: drawers[n] for n in numbers}


@pytest.mark.parametrize("executor", ["process", pytest.param("serial", marks=heavy)])
def test_a_killed_run_leaves_nothing_half_written_and_the_rerun_completes_it(
    tmp_path: Path, drawers: dict[int, str], commands: Commands, executor: str
):
    words = (*DRAWERS, "episodes=5", "out=set")
    process = start([*words, "workers=1", f"executor={executor}"], tmp_path)
    wait_for(lambda: list(tmp_path.glob("set/episodes/*/*")))
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    assert 0 < len(DataSet.open(tmp_path / "set")) < 5
    assert check_dataset(tmp_path / "set") == []
    done = commands.run(["unlatch", *words[2:], "executor=serial"], tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert digests(tmp_path / "set") == {n: drawers[n] for n in range(5)}


def test_shards_at_once_make_the_whole_set_and_of_two_equal_commands_one_is_refused(
    tmp_path: Path, drawers: dict[int, str]
):
    words = (*DRAWERS, "episodes=6", "executor=serial", "out=shared")
    runs = [start([*words, f"shard={shard}/2"], tmp_path) for shard in (1, 2, 2)]
    (first, *_), *second = [finish(run) for run in runs]
    (_, _, accepted), (refused, _, message) = sorted(second)
    assert (first, accepted, refused) == (0, "", 2)
    assert "Another run has claimed episode " in message
    assert message.count("\n") == 1
    assert digests(tmp_path / "shared") == {n: drawers[n] for n in range(6)}
    assert check_dataset(tmp_path / "shared") == []
    assert len(DataSet.open(tmp_path / "shared").summaries()) == 6
    assert len(list((tmp_path / "shared" / "runs").glob("*.json"))) == 2


@heavy
def test_workers_that_are_killed_cost_no_episode(tmp_path: Path, drawers: dict[int, str]):
    process = start([*DRAWERS, "episodes=8", "workers=2", "executor.max_retries=20", "out=killed"], tmp_path)
    driver, killed, seen = psutil.Process(process.pid), set(), 0
    while process.poll() is None and len(killed) < 3:
        time.sleep(0.05)
        if (there := len(list(tmp_path.glob("killed/episodes/*/*")))) == seen:
            continue
        with suppress(psutil.Error):  # a worker that was killed before is not gone yet, or is gone just now
            workers = [child for child in driver.children() if child.status() != psutil.STATUS_ZOMBIE]
            workers = [child for child in workers if "loky" in " ".join(child.cmdline())]
            if workers:  # the oldest has been set up, and works
                oldest = max(workers, key=lambda child: child.cpu_times().user)
                oldest.kill()
                killed.add(oldest.pid)
                seen = there
    code, _, err = finish(process)
    assert (code, len(killed) > 0) == (0, True), err
    assert digests(tmp_path / "killed") == drawers


@pytest.mark.parametrize(
    ("executor", "workers", "times", "most"),
    [
        ("process", 1, 1, 2),  # the episode that was there, and the one in flight
        pytest.param("process", 2, 2, 5, marks=heavy),
        pytest.param("ray", 2, 1, 5, marks=heavy),
        pytest.param("serial", 1, 2, 5, marks=heavy),
    ],
)
def test_ctrl_c_keeps_finished_episodes_and_says_how_to_resume(
    tmp_path: Path, executor: str, workers: int, times: int, most: int
):
    if executor == "ray":
        pytest.importorskip("ray")
    words = (*DRAWERS, "episodes=50", "out=set", f"executor={executor}", f"workers={workers}")
    code, out, err = press_ctrl_c(words, tmp_path, when=lambda: list(tmp_path.glob("set/episodes/*/*")), times=times)
    there = len(DataSet.open(tmp_path / "set"))
    assert (code, err) == (130, INTERRUPTED)
    assert f"{there} of 50 episodes done" in out
    assert 1 <= there <= most  # what was being made when the first came, and what ended before it
    assert check_dataset(tmp_path / "set") == []
    if times == 1:  # nobody was killed
        assert not list((tmp_path / "set" / ".tmp").iterdir())


@pytest.mark.parametrize(
    ("executor", "at", "alone"),
    [
        pytest.param("process", "data/*/episodes/*/*", True, marks=heavy),
        pytest.param("process", "data/*/dataset.json", False, marks=heavy),
        pytest.param("serial", "data/*/episodes/*/*", False, marks=heavy),
    ],
)
def test_ctrl_c_ends_a_sweep_though_every_episode_of_its_job_is_in_flight(
    tmp_path: Path, microwaves: dict[int, str], commands: Commands, executor: str, at: str, alone: bool
):
    sweep = ("collect", "-m", "task=open_microwave,close_drawer", "workers=2", "pictures=0", "episodes=2")
    words = (*UNLATCH, *sweep, f"executor={executor}")
    code, _, err = press_ctrl_c(words, tmp_path, when=lambda: list(tmp_path.glob(at)), alone=alone)
    job = "unlatch: job 1 of 2: task=open_microwave\n"
    assert (code, err) == (130, f"{job}unlatch: interrupted in job 1 of 2; the same command makes what is missing\n")
    assert [path.name for path in (tmp_path / "data").iterdir()] == ["open_microwave-franka_panda-s0"]
    assert commands.run(["unlatch", *sweep, "executor=serial"], tmp_path).returncode == 0
    resumed = tmp_path / "data" / "open_microwave-franka_panda-s0"
    assert check_dataset(resumed) == []
    assert digests(resumed) == microwaves
    assert DataSet.open(tmp_path / "data" / "close_drawer-franka_panda-s0").numbers() == [0, 1]


def test_ctrl_c_while_the_command_is_loaded_says_so_without_a_traceback(tmp_path: Path):
    process = start([*UNLATCH, "collect", "task=close_drawer", "episodes=1"], tmp_path)
    wait_for(lambda: "numpy" in Path(f"/proc/{process.pid}/maps").read_text(encoding="utf-8"))  # its imports have begun
    os.killpg(process.pid, signal.SIGINT)
    code, _, err = finish(process)
    assert (code, err.startswith("unlatch: interrupted"), "Traceback" in err) == (130, True, False)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "after_s", [2.0, *(pytest.param(more, marks=heavy) for more in (0.3, 0.6, 1.0, 1.5, 2.5, 2.7, 3.0, 4.0))]
)
def test_ctrl_c_at_any_moment_ends_with_one_line_and_130(tmp_path: Path, after_s: float):
    began = time.monotonic()  # whatever the command does then: it composes, starts workers, or makes episodes
    words = (*DRAWERS, "episodes=50", "workers=2")
    code, out, err = press_ctrl_c(words, tmp_path, when=lambda: time.monotonic() > began + after_s)
    assert "Traceback" not in out + err
    assert err.startswith("unlatch: interrupted")
    assert (code, err.count("\n")) == (130, 1)


def test_a_closed_pipe_ends_a_command_without_a_traceback(tmp_path: Path):
    process = start([*UNLATCH, "list", "tasks"], tmp_path)
    process.stdout.close()
    assert "Traceback" not in process.stderr.read()
    process.wait(timeout=60)


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

cfg = unlatch.load("close_drawer", "pictures=0", seed=7)
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
PRINTED = "the main module runs\ncollected 2 [True, True]\nreplayed 0.0\n"
EVALUATED = "evaluated 0 2 {'timeout': 2}\n"


def test_a_script_without_a_main_guard_has_workers(tmp_path: Path):
    (tmp_path / "script.py").write_text(BEGINNING + OF_CLASS)
    assert run_process(["script.py"], tmp_path) == (0, PRINTED + EVALUATED, "")


@heavy  # its main module has no file, like that of a notebook
def test_code_on_standard_input_has_workers(tmp_path: Path):
    assert run_process(["-"], tmp_path, BEGINNING + OF_FUNCTION) == (0, PRINTED + EVALUATED, "")


@heavy
def test_a_notebook_has_workers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    cells = [nbformat.v4.new_code_cell(part) for part in (BEGINNING + OF_CLASS).split("\n\n")]
    notebook = nbformat.v4.new_notebook(cells=cells)
    nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    outputs = [output for cell in notebook.cells for output in cell.outputs]
    assert {output.get("name") for output in outputs} == {"stdout"}, outputs
    assert "".join(output["text"] for output in outputs) == PRINTED + EVALUATED


def test_python_without_the_packages_says_how_to_get_them(tmp_path: Path):
    code, _, err = run_process(["-S", *UNLATCH, "list", "tasks"], tmp_path)  # -S: no installed packages
    last = err.strip().splitlines()[-1]
    assert (code, "Unlatch is not installed in this Python" in last) == (1, True)
    assert ". .venv/bin/activate" in last
    assert "pip install -e ." in last


def test_importing_unlatch_takes_less_than_a_tenth_of_a_second_and_no_heavy_package(tmp_path: Path):
    code = (
        "import sys, time; start = time.process_time(); import unlatch; spent = time.process_time() - start; "
        "print(spent); print(*sorted({'pybullet', 'casadi', 'numpy', 'gymnasium', 'hydra'} & set(sys.modules)))"
    )
    spent, heavy_packages = run_process(["-c", code], tmp_path)[1].splitlines()
    assert (float(spent) < 0.1, heavy_packages) == (True, "")


@pytest.mark.parametrize(
    "path", ["unlatch.skills.contract.command", pytest.param("unlatch.simcore.state.module", marks=heavy)]
)
def test_finding_an_old_path_imports_nothing_but_its_package(path: str, tmp_path: Path):
    package = path.removesuffix(".command").removesuffix(".contract").removesuffix(".module")
    command = "import importlib, sys; importlib.import_module(sys.argv[1]); print(*sorted(sys.modules))"
    old, new = (set(run_process(["-c", command, name], tmp_path)[1].split()) for name in (path, package))
    assert old - new <= {path, "unlatch.skills.contract", "unlatch.old_path_table"}
