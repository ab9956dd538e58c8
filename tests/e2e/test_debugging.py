"""A bug in the code of a user: its place, what the episode shows, the debugger, and the same command after the fix."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.quick_pip import pip_environment
from tests.e2e.running import Commands

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def run(environment: Path, commands: Commands, tmp_path: Path) -> Run:
    """Runs `unlatch` in the folder of the test, with what is installed in the environment."""
    (site,) = (environment.parents[1] / "lib").glob("python*/site-packages")

    def run_command(*arguments: str, typed: str = "") -> subprocess.CompletedProcess[str]:
        return commands.run(["unlatch", *arguments], tmp_path, packages=site, typed=typed)

    return run_command


def replace_once(file: Path, good: str, bad: str) -> int:
    """Replaces a word of a file that it has once; returns the number of the line."""
    before, found, after = file.read_text(encoding="utf-8").partition(good)
    assert found
    assert good not in after
    file.write_text(before + bad + after, encoding="utf-8")
    return before.count("\n") + 1


def test_a_skill_with_a_bug(run: Run, environment: Path, tmp_path: Path):
    assert run("new", "skill", "nudge").returncode == 0
    install = [environment, "-m", "pip", "install", "--quiet", "--no-deps", "-e", "nudge"]
    subprocess.run(install, cwd=tmp_path, env=pip_environment(), check=True)
    file = tmp_path / "nudge" / "unlatch_nudge" / "skill.py"
    number = replace_once(file, "super().make_commands(plan)", "super().make_commandz(plan)")
    collect = ("collect", "task=nudge_drawer", "executor=serial", "only=[0]", "pictures=0", "out=set")

    first = run(*collect)
    assert first.returncode == 1, first
    assert "first error, episode 0: AttributeError: 'super' object has no attribute 'make_commandz'\n" in first.stdout
    assert f'  File "{file}", line {number}, in make_commands\n    commands = super().make_commandz(' in first.stdout
    assert "articulation.py" not in first.stdout
    assert "articulation.py" in run(*collect, "--debug").stdout

    shown = run("phases", "set", "episode=0")
    assert shown.returncode == 0, shown
    assert (tmp_path / "set" / "phases-0.png").stat().st_size > 10_000

    debugged = run(*collect, "--pdb", typed="p plan.found\nq\n")
    assert debugged.returncode == 130, debugged
    assert f"> {file}({number})make_commands()" in debugged.stdout
    assert "(Pdb) True\n" in debugged.stdout

    replace_once(file, "make_commandz", "make_commands")
    mended = run(*collect)
    assert mended.returncode == 0, mended
    assert "1 episode ended as `error`; made again now: the code of unlatch_nudge has changed" in mended.stderr
    assert "success 1/1" in " ".join(mended.stdout.split())

    # another bug, while the arm moves
    late = "\n    def update(self) -> None:\n        super().update()\n        self.phase.name == 'retreat' and 1 / 0\n"
    file.write_text(file.read_text(encoding="utf-8") + late, encoding="utf-8")
    assert run(*collect[:-1], "out=late").returncode == 1
    assert run("check", "late").returncode == 0
    shown = run("phases", "late", "episode=0", "out=late.png")
    assert shown.returncode == 0, shown
    assert int(shown.stdout.partition("(")[2].split()[0]) >= 5  # moments of transit, approach and follow, and the error


@pytest.mark.parametrize("batched", [False, pytest.param(True, marks=pytest.mark.heavy)])
def test_a_policy_with_a_bug(run: Run, tmp_path: Path, *, batched: bool):
    pytest.importorskip("gymnasium", reason="the extra gym is not installed")
    method = "act_batch(self, observations, slots)" if batched else "act(self, observation)"
    text = f"class Wait:\n    def __init__(self, *spaces):\n        self.left = 2\n\n    def {method}:\n        BUG\n"
    file = tmp_path / "wait_here.py"
    file.write_text(text.replace("BUG", "return self.lefd"))
    how = "executor=serial" if batched else "workers=1"
    words = ("evaluate", "task=close_drawer", "policy=wait_here:Wait", "episodes=1", how, "pictures=0", "out=set")

    first = run(*words)
    assert first.returncode == 1, first
    name = method.partition("(")[0]
    assert "AttributeError: 'Wait' object has no attribute 'lefd'" in first.stdout
    assert f'  File "{file}", line 6, in {name}\n    return self.lefd\n' in first.stdout
    assert "unlatch/workflows" not in first.stdout

    debugged = run(*words, "--pdb", typed="p self.left\nq\n")
    assert debugged.returncode == 130, debugged
    assert "(Pdb) 2\n" in debugged.stdout

    file.write_text(text.replace("BUG", "return [None]" if batched else "return None"))
    mended = run(*words)
    assert mended.returncode == 0, mended
    assert "1 episode ended as `error`; made again now: the code of wait_here has changed" in mended.stderr
