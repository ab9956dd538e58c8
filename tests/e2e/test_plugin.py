"""The example plugin, built and installed beside the wheel, and one begun by `unlatch new`, run as their pages say."""

import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.e2e.warm_process import WarmProcess

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

ROOT = Path(__file__).resolve().parents[2]


class Environment:
    """Runs commands with what an environment of its own has: pip by its Python, others in a warm process."""

    def __init__(self, python: Path, commands: WarmProcess) -> None:
        self._python, self._commands = python, commands
        (self._site,) = (python.parents[1] / "lib").glob("python*/site-packages")

    def run(self, line: str, cwd: Path) -> str:
        program, *arguments = shlex.split(line)
        if program == "pip":
            command = [self._python, "-m", program, *arguments]
            done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
        else:
            done = self._commands.run([program, *arguments], cwd, site=self._site)
        assert done.returncode == 0, f"{line}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def start(self, line: str, cwd: Path) -> str:
        """Runs `unlatch` as a process of its own, whose workers see the environment too."""
        command = [self._python, "-m", *shlex.split(line)]
        done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{line}\n{done.stdout}\n{done.stderr}"
        return done.stdout


@pytest.fixture
def plugins(environment: Path, commands: WarmProcess) -> Environment:
    return Environment(environment, commands)


def lines_of(page: Path) -> list[str]:
    """The lines of the page's first `sh` block."""
    found = re.search(r"^```sh\n(.*?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert found is not None, page
    return found[1].strip().splitlines()


def test_from_nothing_to_a_recorded_episode_by_five_commands(plugins: Environment, tmp_path: Path):
    lines = lines_of(ROOT / "docs" / "plugins.md")
    assert len(lines) == 5
    # episodes are collected by workers, which must see the environment; the last command draws one of them
    said = [
        plugins.start(f"{line} pictures=0", tmp_path) if " collect " in line else plugins.run(line, tmp_path)
        for line in lines
    ]
    assert "wiggle" in said[2]
    assert "2 of 2 episodes done" in said[3]
    assert (tmp_path / "data" / "wiggle").is_dir()
    plugins.run("pytest -q -p no:cacheprovider wiggle/tests", tmp_path)


def test_the_example_is_built_installed_and_collects(plugins: Environment, tmp_path: Path):
    shutil.copytree(ROOT / "examples" / "unlatch_plugin", tmp_path / "source")
    plugins.run("pip wheel --quiet --no-deps --wheel-dir dist ./source", tmp_path)
    (wheel,) = (tmp_path / "dist").glob("unlatch_press-*.whl")
    plugins.run(f"pip install --quiet --no-deps {wheel}", tmp_path)
    assert "press " in plugins.run("unlatch list skills", tmp_path)
    tasks = plugins.run("unlatch list tasks", tmp_path)
    assert "press_stapler" in tasks
    assert "press_toaster_long" in tasks
    assert "stapler" in plugins.run("unlatch list objects", tmp_path)
    # by workers with pictures, and in one process without
    for task, how, run in (
        ("press_toaster", "workers=2 pictures=1", plugins.start),
        ("press_stapler", "executor=serial pictures=0", plugins.run),
    ):
        said = run(f"unlatch collect task={task} episodes=2 {how} out={task}", tmp_path)
        assert "success 2/2" in " ".join(said.split())
        assert "every verdict agrees" in plugins.run(f"unlatch check {task}", tmp_path)
    derived = "unlatch collect object=toaster skill=press episodes=1 executor=serial pictures=0 out=derived"
    plugins.run(derived, tmp_path)
    plugins.run("pytest -q -p no:cacheprovider source/tests", tmp_path)
