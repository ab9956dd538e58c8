"""The example plugin, built and installed beside the wheel, and one begun by `unlatch new`, run as their pages say."""

import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

ROOT = Path(__file__).resolve().parents[2]


def run(environment: Path, line: str, cwd: Path) -> str:
    program, *arguments = shlex.split(line)
    done = subprocess.run(
        [environment, "-m", program, *arguments], cwd=cwd, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{line}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def commands(page: Path) -> list[str]:
    """The lines of the page's first `sh` block."""
    found = re.search(r"^```sh\n(.*?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert found is not None, page
    return found[1].strip().splitlines()


def test_from_nothing_to_a_recorded_episode_by_five_commands(environment: Path, tmp_path: Path):
    lines = commands(ROOT / "docs" / "plugins.md")
    assert len(lines) == 5
    said = [run(environment, line, tmp_path) for line in lines]
    assert "wiggle" in said[2]
    assert "2 of 2 episodes done" in said[3]
    assert (tmp_path / "data" / "wiggle").is_dir()
    run(environment, "pytest -q -p no:cacheprovider wiggle/tests", tmp_path)


def test_the_example_is_built_installed_and_collects(environment: Path, tmp_path: Path):
    shutil.copytree(ROOT / "examples" / "unlatch_plugin", tmp_path / "source")
    run(environment, "pip wheel --quiet --no-deps --wheel-dir dist ./source", tmp_path)
    (wheel,) = (tmp_path / "dist").glob("unlatch_press-*.whl")
    run(environment, f"pip install --quiet --no-deps {wheel}", tmp_path)
    assert "press " in run(environment, "unlatch list skills", tmp_path)
    tasks = run(environment, "unlatch list tasks", tmp_path)
    assert "press_stapler" in tasks
    assert "press_toaster_long" in tasks
    assert "stapler" in run(environment, "unlatch list objects", tmp_path)
    # by workers with pictures, and in one process without
    for task, how in (("press_toaster", "workers=2 pictures=1"), ("press_stapler", "executor=serial pictures=0")):
        said = run(environment, f"unlatch collect task={task} episodes=2 {how} out={task}", tmp_path)
        assert "success 2/2" in " ".join(said.split())
        assert "every verdict agrees" in run(environment, f"unlatch check {task}", tmp_path)
    run(
        environment,
        "unlatch collect object=toaster skill=press episodes=1 executor=serial pictures=0 out=derived",
        tmp_path,
    )
    run(environment, "pytest -q -p no:cacheprovider source/tests", tmp_path)
