"""A bug in the code of a user: its place, what the episode shows, the debugger, and the same command after the fix."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.quick_pip import pip_environment
from tests.e2e.warm_process import WarmProcess

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

Run = Callable[..., subprocess.CompletedProcess]


@pytest.fixture
def start(environment: Path, tmp_path: Path) -> Run:
    """Runs a module as a process of its own."""

    def start_command(*arguments: str, typed: str = "") -> subprocess.CompletedProcess:
        line = [environment, "-m", *arguments]
        variables = pip_environment()
        return subprocess.run(
            line, cwd=tmp_path, env=variables, capture_output=True, text=True, check=False, input=typed
        )

    return start_command


@pytest.fixture
def run(environment: Path, commands: WarmProcess, tmp_path: Path) -> Run:
    """Runs `unlatch` in a warm process, which sees what is installed in the environment."""
    (site,) = (environment.parents[1] / "lib").glob("python*/site-packages")

    def run_command(*arguments: str, typed: str = "") -> subprocess.CompletedProcess:
        return commands.run(arguments, tmp_path, site=site, typed=typed)

    return run_command


def break_line(file: Path, good: str, bad: str) -> int:
    """Replaces a word of a file that it has once; returns the number of the line."""
    text = file.read_text(encoding="utf-8")
    before, found, after = text.partition(good)
    assert found
    assert good not in after
    file.write_text(before + bad + after, encoding="utf-8")
    return before.count("\n") + 1


def test_a_skill_with_a_bug(run: Run, start: Run, tmp_path: Path):
    assert run("unlatch", "new", "skill", "nudge").returncode == 0
    assert start("pip", "install", "--quiet", "--no-deps", "-e", "nudge").returncode == 0
    file = tmp_path / "nudge" / "unlatch_nudge" / "skill.py"
    number = break_line(file, "super().make_commands(plan)", "super().make_commandz(plan)")
    collect = ("unlatch", "collect", "task=nudge_drawer", "executor=serial", "only=[0]", "pictures=0", "out=set")

    first = run(*collect)
    assert first.returncode == 1, first
    assert "first error, episode 0: AttributeError: 'super' object has no attribute 'make_commandz'\n" in first.stdout
    assert f'  File "{file}", line {number}, in make_commands\n    commands = super().make_commandz(' in first.stdout
    assert "articulation.py" not in first.stdout
    assert "articulation.py" in run(*collect, "--debug").stdout

    shown = run("unlatch", "phases", "set", "episode=0")
    assert shown.returncode == 0, shown
    assert (tmp_path / "set" / "phases-0.png").stat().st_size > 10_000

    debugged = start(*collect, "--pdb", typed="p plan.found\nq\n")
    assert debugged.returncode == 130, debugged
    assert f"> {file}({number})make_commands()" in debugged.stdout
    assert "(Pdb) True\n" in debugged.stdout

    break_line(file, "make_commandz", "make_commands")
    mended = run(*collect)
    assert mended.returncode == 0, mended
    assert "1 episode ended as `error`; made again now: the code of unlatch_nudge has changed" in mended.stderr
    assert "success 1/1" in " ".join(mended.stdout.split())


def test_a_skill_with_a_bug_while_the_arm_moves(run: Run, start: Run, tmp_path: Path):
    assert run("unlatch", "new", "skill", "poke").returncode == 0
    assert start("pip", "install", "--quiet", "--no-deps", "-e", "poke").returncode == 0
    file = tmp_path / "poke" / "unlatch_poke" / "skill.py"
    late = "\n    def update(self) -> None:\n        super().update()\n        self.phase.name == 'retreat' and 1 / 0\n"
    file.write_text(file.read_text(encoding="utf-8") + late, encoding="utf-8")
    assert start("unlatch", "collect", "task=poke_drawer", "only=[0]", "pictures=0", "out=set").returncode == 1
    checked = run("unlatch", "check", "set")
    assert checked.returncode == 0, checked
    shown = run("unlatch", "phases", "set", "episode=0", "out=late.png")
    assert shown.returncode == 0, shown
    moments = int(shown.stdout.partition("(")[2].split()[0])
    assert moments >= 5  # of transit, approach and follow, and the error


@pytest.mark.parametrize("batched", [False, True])
def test_a_policy_with_a_bug(start: Run, run: Run, tmp_path: Path, batched: bool):
    pytest.importorskip("gymnasium", reason="the extra gym is not installed")
    method = "act_batch(self, observations, slots)" if batched else "act(self, observation)"
    text = f"class Wait:\n    def __init__(self, *spaces):\n        self.left = 2\n\n    def {method}:\n        BUG\n"
    file = tmp_path / "wait_here.py"
    file.write_text(text.replace("BUG", "return self.lefd"))
    # in a worker, and in one process
    evaluate_by, how = (run, "executor=serial") if batched else (start, "workers=1")
    words = ("task=close_drawer", "policy=wait_here:Wait", "episodes=1", how, "pictures=0", "out=set")
    evaluate = ("unlatch", "evaluate", *words)

    first = evaluate_by(*evaluate)
    assert first.returncode == 1, first
    name = method.partition("(")[0]
    assert "AttributeError: 'Wait' object has no attribute 'lefd'" in first.stdout
    assert f'  File "{file}", line 6, in {name}\n    return self.lefd\n' in first.stdout
    assert "unlatch/workflows" not in first.stdout

    debugged = evaluate_by(*evaluate, "--pdb", typed="p self.left\nq\n")
    assert debugged.returncode == 130, debugged
    assert "(Pdb) 2\n" in debugged.stdout

    file.write_text(text.replace("BUG", "return [None]" if batched else "return None"))
    mended = evaluate_by(*evaluate)
    assert mended.returncode == 0, mended
    assert "1 episode ended as `error`; made again now: the code of wait_here has changed" in mended.stderr
