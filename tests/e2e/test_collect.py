"""The collector as a user runs it: in a process of its own, in a folder of its own."""

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from PIL import Image

from tests.e2e.warm_process import WarmProcess
from unlatch import command_table
from unlatch.simcore.recording.check import check_dataset
from unlatch.simcore.recording.data_set import DataSet
from unlatch.workflows.runs.progress import pace_of, read_run_times

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

ROOT = Path(__file__).resolve().parents[2]


def start(arguments: list[str], cwd: Path) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    program = [sys.executable, "-m", "unlatch", *arguments]
    return subprocess.Popen(
        program,
        cwd=cwd,
        env=environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        # as in a terminal: Ctrl-C is ignored by what a script starts in the background, and by what that starts
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def run(arguments: list[str], cwd: Path) -> tuple[int, str, str]:
    process = start(arguments, cwd)
    out, err = process.communicate(timeout=300)
    return process.returncode, out, err


RunHere = Callable[[list[str]], tuple[int, str, str]]


@pytest.fixture
def run_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> RunHere:
    """Runs a command in this process, which has imported what it needs; returns exit code, output and errors."""
    monkeypatch.chdir(tmp_path)

    def run_command(arguments: list[str]) -> tuple[int, str, str]:
        capsys.readouterr()
        return command_table.main(arguments), *capsys.readouterr()

    return run_command


def digests(data_set: Path) -> dict[int, str]:
    found = DataSet.open(data_set)
    return {n: hashlib.sha256((found.folder_of(n) / "state.npz").read_bytes()).hexdigest() for n in found.numbers()}


DRAWERS = ["collect", "task=close_drawer", "seed=4", "pictures=0"]


@pytest.fixture(scope="module")
def drawers(tmp_path_factory: pytest.TempPathFactory, commands: WarmProcess) -> dict[int, str]:
    """The digests of eight episodes of `DRAWERS` that nothing disturbed, one after the other in one process."""
    folder = tmp_path_factory.mktemp("drawers")
    words = ["unlatch", *DRAWERS, "episodes=8", "executor=serial", "out=whole"]
    assert commands.run(words, folder).returncode == 0
    return digests(folder / "whole")


@pytest.fixture(scope="module")
def microwaves(tmp_path_factory: pytest.TempPathFactory, commands: WarmProcess) -> dict[int, str]:
    """The digests of two episodes with microwaves, likewise."""
    folder = tmp_path_factory.mktemp("microwaves")
    words = ["unlatch", "collect", "task=open_microwave", "episodes=2", "executor=serial", "pictures=0", "out=whole"]
    assert commands.run(words, folder).returncode == 0
    return digests(folder / "whole")


def test_a_run_leaves_a_whole_data_set_and_nothing_else(tmp_path: Path, run_here: RunHere):
    code, out, err = run(["collect", "task=close_drawer", "episodes=2", "workers=2"], tmp_path)
    assert (code, err) == (0, "")
    folder = tmp_path / "data" / "close_drawer-franka_panda-s0"
    assert [path.name for path in tmp_path.iterdir()] == ["data"]
    assert check_dataset(folder) == []
    assert DataSet.open(folder).numbers() == [0, 1]
    assert "2 of 2 episodes done, 2 made" in out
    assert "95 % interval" in out
    assert "picture: data/close_drawer-franka_panda-s0/preview.png" in out
    with Image.open(folder / "preview.png") as picture:
        assert picture.width == 960

    code, out, err = run_here(["collect", "task=close_drawer", "episodes=3", "executor=serial", "pictures=0"])
    assert (code, err) == (0, "")
    assert "3 of 3 episodes done, 1 made" in out
    code, out, err = run_here(["check", str(folder)])
    assert (code, err) == (0, "")
    assert "3 episodes, all whole, every verdict agrees" in out


@pytest.mark.parametrize(
    ("words", "numbers"),
    [
        (["workers=2", "episodes=4"], range(4)),
        pytest.param(["workers=1", "episodes=4"], range(4), marks=pytest.mark.heavy),
        pytest.param(["executor=serial", "only=[3]"], [3], marks=pytest.mark.heavy),
        (["executor=serial", "only=[2,3]"], [2, 3]),
    ],
)
def test_an_episode_depends_on_configuration_and_number_only(
    tmp_path: Path, drawers: dict[int, str], words: list[str], numbers: list[int]
):
    code, _, err = run([*DRAWERS, *words, "out=set"], tmp_path)
    assert (code, err) == (0, "")
    assert digests(tmp_path / "set") == {n: drawers[n] for n in numbers}


@pytest.mark.parametrize("executor", ["process", "serial"])
def test_a_killed_run_leaves_nothing_half_written_and_the_rerun_completes_it(tmp_path: Path, executor: str):
    arguments = [
        "collect",
        "task=close_drawer",
        "episodes=5",
        "workers=1",
        f"executor={executor}",
        "pictures=0",
        "out=set",
    ]
    process = start(arguments, tmp_path)
    deadline = time.monotonic() + 120
    while not list(tmp_path.glob("set/episodes/*/*")) and time.monotonic() < deadline:
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    there = DataSet.open(tmp_path / "set").numbers()
    assert 0 < len(there) < 5
    assert check_dataset(tmp_path / "set") == []
    code, _, err = run(arguments, tmp_path)
    assert (code, err) == (0, "")
    assert DataSet.open(tmp_path / "set").numbers() == [0, 1, 2, 3, 4]
    assert check_dataset(tmp_path / "set") == []


def test_three_shards_that_start_at_once_make_the_whole_set(tmp_path: Path, drawers: dict[int, str]):
    words = [*DRAWERS, "episodes=6", "executor=serial", "out=shared"]
    shards = [start([*words, f"shard={i}/3"], tmp_path) for i in range(1, 4)]
    for shard in shards:
        _, err = shard.communicate(timeout=300)
        assert shard.returncode == 0, err
    assert digests(tmp_path / "shared") == {n: drawers[n] for n in range(6)}
    assert check_dataset(tmp_path / "shared") == []
    assert len(DataSet.open(tmp_path / "shared").summaries()) == 6


def test_of_two_equal_commands_at_once_one_is_refused_and_the_other_is_as_if_alone(
    tmp_path: Path, drawers: dict[int, str]
):
    words = [*DRAWERS, "episodes=8", "executor=serial", "out=twice"]
    runs = [start(words, tmp_path) for _ in range(2)]
    ended = {run.returncode: err for run in runs for _, err in [run.communicate(timeout=300)]}
    assert sorted(ended) == [0, 2], ended
    assert "Another run has claimed episode 0 of" in ended[2]
    assert ended[2].count("\n") == 1
    assert digests(tmp_path / "twice") == drawers
    assert len(list((tmp_path / "twice" / "runs").glob("*.json"))) == 1


def test_workers_that_are_killed_cost_no_episode(tmp_path: Path, drawers: dict[int, str]):
    words = [*DRAWERS, "episodes=8", "workers=2", "executor.max_retries=20", "out=killed"]
    process = start(words, tmp_path)
    driver, killed, seen = psutil.Process(process.pid), set(), 0
    while process.poll() is None and len(killed) < 3:
        time.sleep(0.05)
        there = len(list(tmp_path.glob("killed/episodes/*/*")))
        if there == seen:
            continue
        with suppress(psutil.Error):  # a worker that was killed before is not gone yet, or is gone just now
            workers = [child for child in driver.children() if child.status() != psutil.STATUS_ZOMBIE]
            workers = [child for child in workers if "loky" in " ".join(child.cmdline())]
            if workers:  # the oldest has been set up, and works
                oldest = max(workers, key=lambda child: child.cpu_times().user)
                oldest.kill()
                killed.add(oldest.pid)
                seen = there
    _, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    assert killed
    assert digests(tmp_path / "killed") == drawers


def interrupted(arguments: list[str], cwd: Path, *, times: int) -> tuple[subprocess.Popen[str], str, str]:
    """Runs a command, with Ctrl-C pressed so often once there is an episode; the ended process and what it said."""
    process = start(["collect", "task=close_drawer", "episodes=50", "pictures=0", "out=set", *arguments], cwd)
    deadline = time.monotonic() + 120
    while not list(cwd.glob("set/episodes/*/*")) and time.monotonic() < deadline:
        time.sleep(0.02)
    for _ in range(times):
        os.killpg(process.pid, signal.SIGINT)
        time.sleep(0.2)
    out, err = process.communicate(timeout=60)
    return process, out, without_waiting(err)


def without_waiting(err: str) -> str:
    """Returns what a command said, without the lines of a slow start."""
    return "".join(line for line in err.splitlines(keepends=True) if " episodes after " not in line)


@pytest.mark.parametrize(("executor", "times"), [("process", 1), ("process", 2), ("ray", 1), ("serial", 2)])
def test_ctrl_c_keeps_finished_episodes_and_says_how_to_resume(tmp_path: Path, executor: str, times: int):
    if executor == "ray":
        pytest.importorskip("ray")
    process, out, err = interrupted([f"executor={executor}", "workers=2"], tmp_path, times=times)
    there = len(DataSet.open(tmp_path / "set"))
    assert process.returncode == 130
    assert err == "unlatch: interrupted; the same command makes what is missing\n"
    assert f"{there} of 50 episodes done" in out
    assert 1 <= there <= 5  # what was being made when the first came, and what ended before it
    assert check_dataset(tmp_path / "set") == []
    if times == 1:  # nobody was killed
        assert not list((tmp_path / "set" / ".tmp").iterdir())


def press_ctrl_c(arguments: list[str], cwd: Path, *, at: str, alone: bool) -> tuple[int, str]:
    """Presses Ctrl-C in a command once a file below `cwd` matches a pattern; returns exit code and stderr.

    The terminal sends the signal to the whole group of processes, `kill -INT` to the command alone.
    """
    process = start(arguments, cwd)
    deadline = time.monotonic() + 120
    while not list(cwd.glob(at)) and time.monotonic() < deadline:
        time.sleep(0.02)
    (os.kill if alone else os.killpg)(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=120)
    return process.returncode, without_waiting(err)


@pytest.mark.parametrize(
    ("executor", "at", "alone"),
    [
        ("process", "data/*/dataset.json", False),
        ("process", "data/*/episodes/*/*", True),
        ("serial", "data/*/episodes/*/*", False),
    ],
)
def test_ctrl_c_ends_a_sweep_though_every_episode_of_its_job_is_in_flight(
    tmp_path: Path, microwaves: dict[int, str], run_here: RunHere, executor: str, at: str, alone: bool
):
    sweep = ["collect", "-m", "task=open_microwave,close_drawer", "workers=2", "pictures=0", "episodes=2"]
    code, err = press_ctrl_c([*sweep, f"executor={executor}"], tmp_path, at=at, alone=alone)
    job = "unlatch: job 1 of 2: task=open_microwave\n"
    assert (code, err) == (130, f"{job}unlatch: interrupted in job 1 of 2; the same command makes what is missing\n")
    assert [path.name for path in (tmp_path / "data").iterdir()] == ["open_microwave-franka_panda-s0"]
    assert run_here([*sweep, "executor=serial"])[0] == 0
    resumed = tmp_path / "data" / "open_microwave-franka_panda-s0"
    assert check_dataset(resumed) == []
    assert digests(resumed) == microwaves
    assert DataSet.open(tmp_path / "data" / "close_drawer-franka_panda-s0").numbers() == [0, 1]


def test_ctrl_c_begins_no_further_episode(tmp_path: Path):
    words = ["collect", "task=close_drawer", "episodes=9", "workers=1", "pictures=0", "out=set"]
    code, _ = press_ctrl_c(words, tmp_path, at="set/episodes/*/*", alone=False)
    assert code == 130
    assert len(DataSet.open(tmp_path / "set")) <= 2  # the one that was there and the one that was in flight


def test_ctrl_c_while_the_command_is_loaded_says_so_without_a_traceback(tmp_path: Path):
    process = start(["collect", "task=close_drawer", "episodes=1"], tmp_path)
    maps = Path(f"/proc/{process.pid}/maps")
    while "numpy" not in maps.read_text(encoding="utf-8"):  # the imports of the command have begun
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=120)
    assert "Traceback" not in err
    assert err.startswith("unlatch: interrupted")
    assert process.returncode == 130
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "after_s",
    [0.3, 1.0, 2.0, 3.0, *(pytest.param(more, marks=pytest.mark.heavy) for more in (0.6, 1.5, 2.5, 2.7, 4.0))],
)
def test_ctrl_c_at_any_moment_ends_with_one_line_and_130(tmp_path: Path, after_s: float):
    process = start(["collect", "task=close_drawer", "episodes=50", "workers=2", "pictures=0"], tmp_path)
    time.sleep(after_s)  # whatever the command does then: it composes, starts workers, or makes episodes
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=120)
    assert "Traceback" not in out + err
    assert err.startswith("unlatch: interrupted")
    assert (process.returncode, err.count("\n")) == (130, 1)


def test_a_sweep_makes_one_data_set_for_each_job_and_ends_with_a_table(tmp_path: Path, run_here: RunHere):
    arguments = ["collect", "-m", "task=open_microwave,close_drawer", "episodes=1", "executor=serial", "pictures=0"]
    code, out, err = run_here(arguments)
    told = ["unlatch: job 1 of 2: task=open_microwave", "unlatch: job 2 of 2: task=close_drawer"]
    assert (code, err.splitlines()) == (0, told)
    table = out[out.index(" job ") :]
    for task in ("open_microwave", "close_drawer"):
        (row,) = [line.split() for line in table.splitlines() if f"task={task}" in line]
        assert row[:5] == [f"task={task}", "0", "1/1", "=", "100.0"]
        assert row[-1] == f"data/{task}-franka_panda-s0"
    names = sorted(path.name for path in (tmp_path / "data").iterdir())
    assert names == ["close_drawer-franka_panda-s0", "open_microwave-franka_panda-s0"]


def test_plan_prints_keyframes_residuals_and_timings_and_draws_them(tmp_path: Path, run_here: RunHere):
    code, out, err = run_here(["plan", "task=open_microwave", "episode=3", "picture=true", "out=plan.png"])
    assert (code, err) == (0, "")
    for words in (
        "KeyframePlan(found=True",
        "goal",
        "residuals at the goal:",
        "point2point_constraint",
        "timings [ms]:",
    ):
        assert words in out
    assert [path.name for path in tmp_path.iterdir()] == ["plan.png"]


def test_plan_prints_why_there_is_no_plan(tmp_path: Path, run_here: RunHere):
    code, out, err = run_here(["plan", "task=open_microwave", "task.regions.0.center_m=[2.0,0.0]"])
    assert (code, err) == (1, "")
    assert "no plan\n  plan_infeasible: No arm configuration was found that meets all constraints" in out
    assert out.count("plan_infeasible") == 1
    assert "best compromise (value of tolerance):\n    point2point_constraint" in out
    assert "timings [ms]: goal" in out
    assert list(tmp_path.iterdir()) == []


def test_preview_draws_the_scene_without_planning(tmp_path: Path, run_here: RunHere):
    code, out, err = run_here(["preview", "task=close_drawer", "out=scene.png"])
    assert (code, err) == (0, "")
    assert "drawer: procedural drawer" in out
    with Image.open(tmp_path / "scene.png") as picture:
        assert len(picture.getcolors(1 << 24)) > 100


def test_a_data_set_records_what_made_it(tmp_path: Path, commands: WarmProcess):
    words = ["unlatch", "collect", "task=open_drawer", "only=[7]", "executor=serial", "pictures=0", "out=set"]
    assert commands.run(words, tmp_path).returncode == 0
    content = json.loads((tmp_path / "set" / "dataset.json").read_text())
    assert content["header"]["config"]["task"]["name"] == "open_drawer"
    assert set(content["header"]["versions"]) == {"unlatch", "pybullet", "casadi"}
    assert "executor" not in content["header"]["config"]
    assert content["info"]["command"][0] == "unlatch"


def test_command_report_and_merged_set_say_the_same_pace(tmp_path: Path, run_here: RunHere):
    common = ["collect", "task=close_drawer", "episodes=2", "workers=2", "pictures=0"]
    code, out, _ = run([*common, "out=one"], tmp_path)
    assert code == 0
    said = out.split("start-up), ")[1].split(" an hour")[0]
    assert run_here(["merge", "merged", "one"])[0] == 0
    for name in ("one", "merged"):
        shown = run_here(["watch", name])[1]
        assert f" {said} " in shown, (said, shown)
        pace = pace_of(read_run_times(tmp_path / name))
        assert f"{pace.per_hour:,.0f}" == said
