"""The example plugin, built and installed beside the wheel, and one begun by `unlatch new`, run as their pages say."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.quick_pip import pip_environment
from tests.e2e.running import ROOT, Commands

pytestmark = [pytest.mark.e2e, pytest.mark.slow]


@pytest.fixture
def run(environment: Path, commands: Commands, tmp_path: Path) -> Callable[..., str]:
    """Runs a line of a page with what an environment of its own has: pip by its Python, others in this process."""
    (site,) = (environment.parents[1] / "lib").glob("python*/site-packages")

    def run_line(line: str) -> str:
        argv = shlex.split(line)
        if argv[0] == "pip" or "workers=2" in argv:  # workers must see the environment, too
            command = [environment, "-m", *argv]
            done = subprocess.run(
                command, cwd=tmp_path, env=pip_environment(), capture_output=True, text=True, check=False
            )
        else:
            done = commands.run(argv, tmp_path, packages=site)
        assert done.returncode == 0, f"{line}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    return run_line


def test_from_nothing_to_a_recorded_episode_by_four_commands(run: Callable[..., str], tmp_path: Path):
    page = (ROOT / "docs" / "skills.md").read_text(encoding="utf-8")
    lines = re.search(r"^```bash\n(unlatch new skill nudge\n.*?)^```$", page, re.MULTILINE | re.DOTALL)[1].splitlines()
    assert len(lines) == 4
    said = [run(f"{line} pictures=0 workers=2" if " collect " in line else line) for line in lines]
    assert "1 of 1 episodes done" in said[2]
    assert "nudge" in run("unlatch list skills")
    assert (tmp_path / "data" / "nudge").is_dir()
    run("pytest -q -p no:cacheprovider nudge/tests")


@pytest.mark.heavy
def test_the_example_is_built_installed_and_collects(run: Callable[..., str], tmp_path: Path):
    shutil.copytree(ROOT / "examples" / "unlatch_plugin", tmp_path / "source")
    run("pip wheel --quiet --no-deps --wheel-dir dist ./source")
    (wheel,) = (tmp_path / "dist").glob("unlatch_press-*.whl")
    run(f"pip install --quiet --no-deps {wheel}")
    assert "press " in run("unlatch list skills")
    tasks = run("unlatch list tasks")
    assert {"press_stapler", "press_toaster_long"} <= {line.split()[0] for line in tasks.splitlines()}
    assert "stapler" in run("unlatch list objects")
    # its own tests collect both tasks, `test_wheel.py` one of them with workers
    run("unlatch collect object=toaster skill=press episodes=1 executor=serial pictures=0 out=derived")
    run("pytest -q -p no:cacheprovider source/tests")
