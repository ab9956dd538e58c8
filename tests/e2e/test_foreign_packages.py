"""A project whose own packages have the names of our folders: nothing of ours imports them."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.quick_pip import pip_environment

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

ROOT = Path(__file__).resolve().parents[2]
FOREIGN = ("configs", "objects", "robots", "simcore", "skills", "solver", "tasks", "workflows")
COLLECT = ["collect", "task=close_drawer", "episodes=2", "workers=2", "pictures=0"]
EVALUATE = ["evaluate", "task=close_drawer", "task.max_duration_s=1", "episodes=2", "workers=2", "pictures=0"]
GYMNASIUM = """
import {first}
import {second}
env = gymnasium.make("unlatch/CloseDrawer-v0")
env.reset(seed=0)
env.close()
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of installed packages that holds the example plugin."""
    folder = tmp_path_factory.mktemp("plugin")
    shutil.copytree(ROOT / "examples" / "unlatch_plugin", folder / "source")
    install = ["-m", "pip", "install", "--quiet", "--no-deps", "--target", "site", "./source"]
    subprocess.run([sys.executable, *install], cwd=folder, env=pip_environment(), check=True)
    return folder / "site"


@pytest.fixture
def project(tmp_path: Path, site: Path) -> Path:
    """A folder with foreign packages and a policy; the folder of installed packages is linked beside it."""
    folder = tmp_path / "project"
    for name in FOREIGN:
        (folder / name).mkdir(parents=True)
        (folder / name / "__init__.py").write_text(f"raise RuntimeError('the foreign package {name} was imported')\n")
    (folder / "stay.py").write_text(
        "import numpy as np\n"
        "def act(observation):\n"
        "    return np.append(observation['robots.franka_panda.left.joint_positions'], 0.04)\n"
    )
    (tmp_path / "site").symlink_to(site)
    return folder


def run(arguments: list[str], project: Path) -> str:
    path = os.pathsep.join([str(ROOT), str(project.parent / "site")])
    environment = {**os.environ, "PYTHONPATH": path}
    done = subprocess.run(arguments, cwd=project, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


SCRIPT = Path(sys.executable).with_name("unlatch")


@pytest.mark.parametrize(
    "program",
    [
        # looks for modules in the current folder first
        pytest.param([sys.executable, "-m", "unlatch"], id="python -m"),
        pytest.param(
            [str(SCRIPT)],
            id="console script",  # test_wheel.py runs it too
            marks=[pytest.mark.heavy, pytest.mark.skipif(not SCRIPT.exists(), reason="Unlatch is not installed")],
        ),
    ],
)
def test_commands_with_workers_a_policy_and_a_plugin(program: list[str], project: Path):
    assert "2 of 2 episodes done" in run([*program, *COLLECT, "out=data/collected"], project)
    evaluated = run([*program, *EVALUATE, "policy=stay:act", "out=data/evaluated"], project)
    assert "failures timeout 2" in " ".join(evaluated.split())
    pressed = run([*program, "collect", "task=press_toaster", "episodes=1", "pictures=0", "out=data/pressed"], project)
    assert "1 of 1 episodes done" in pressed


@pytest.mark.parametrize("order", [("unlatch", "gymnasium"), ("gymnasium", "unlatch")])
def test_environments_in_any_order_of_imports(order: tuple[str, str], project: Path):
    run([sys.executable, "-c", GYMNASIUM.format(first=order[0], second=order[1])], project)


def test_importing_unlatch_does_not_import_gymnasium(project: Path):
    code = "import sys, unlatch; print('gymnasium' in sys.modules)"
    assert run([sys.executable, "-c", code], project) == "False\n"
