"""The wheel, made from the source distribution, runs among foreign packages that have the names of our folders."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

from tests.e2e.quick_pip import has_setuptools, pip_environment
from tests.e2e.running import ROOT
from unlatch.configs.group_files import own_option_names

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

FOREIGN = ("configs", "objects", "robots", "simcore", "skills", "solver", "tasks", "workflows")
STAY = """import numpy as np
def act(observation):
    return np.append(observation['robots.franka_panda.left.joint_positions'], 0.04)
"""
GYMNASIUM = """
import {}
import {}
env = gymnasium.make("unlatch/CloseDrawer-v0")
env.reset(seed=0)
env.close()
"""


def run(*command: str | Path, cwd: Path, isolated: bool = False) -> str:
    """Runs a command that must succeed, and say nothing on stderr if it is one of ours; returns its output."""
    environment = dict(os.environ) if isolated else pip_environment()
    environment.pop("PYTHONPATH", None)
    words = [str(part) for part in command]
    done = subprocess.run(words, cwd=cwd, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    if not {"pip", "build", "-c"} & {*words}:
        assert [line for line in done.stderr.splitlines() if " episodes after " not in line] == []
    return done.stdout


def yaml_files() -> set[str]:
    """Our configuration files, as they are named in a distribution."""
    return {f"unlatch/{path.relative_to(ROOT).as_posix()}" for path in (ROOT / "configs").rglob("*.yaml")}


def show_packages_of_the_tests(environment: Path) -> None:
    """Lets an environment import the packages that the tests can import."""
    (site,) = (environment / "lib").glob("python*/site-packages")
    (site / "beside.pth").write_text("\n".join(path for path in sys.path if "site-packages" in path) + "\n")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    source = tmp_path_factory.mktemp("source") / "unlatch"
    kept = shutil.ignore_patterns(".git", ".venv", "data", "build", "dist", "*.egg-info", "__pycache__", ".*_cache")
    shutil.copytree(ROOT, source, ignore=kept)
    beside = ["--no-isolation"] if has_setuptools() else []
    run(sys.executable, "-m", "build", *beside, "--outdir", "dist", ".", cwd=source)
    return source / "dist"


@pytest.fixture(scope="module")
def wheel(built: Path) -> Path:
    (found,) = built.glob("unlatch-*.whl")
    return found


def test_the_source_distribution_holds_what_it_is_built_from_and_its_licence(built: Path):
    (source,) = built.glob("unlatch-*.tar.gz")
    with tarfile.open(source) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    code = {"unlatch/__init__.py", "unlatch/configs/schema.py", *yaml_files()}
    assert {"LICENSE", "README.md", "pyproject.toml", *(f"src/{name}" for name in code)} <= names


def new_environment(folder: Path, *options: str | Path, beside: bool = True) -> Path:
    """Makes an environment and installs into it; returns its Python. To install another pip first takes 6 s."""
    venv.create(folder / "venv")
    python = folder / "venv" / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--disable-pip-version-check"]
    # isolated builds: what our `pyproject.toml` and that of the plugin state suffices
    run(*pip, *(["--no-deps"] if beside else []), *options, cwd=folder, isolated=True)
    if beside:
        show_packages_of_the_tests(folder / "venv")
    return python


@pytest.mark.heavy
def test_an_editable_installation_is_found_in_the_folder_that_holds_the_clone(built: Path, tmp_path: Path):
    clone = built.parent
    assert clone.name == "unlatch"  # without the installed package, Python imports the folder itself
    python = new_environment(tmp_path, "-e", clone)
    assert run(python, "-c", "import unlatch; print(unlatch.load.__module__)", cwd=clone.parent).startswith("unlatch.")


def test_the_wheel_holds_our_packages_with_their_yaml_and_no_tests(wheel: Path):
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.split("/")[0] for name in names if ".dist-info" not in name}
    assert tops == {"unlatch"}
    assert yaml_files() <= set(names)
    assert "unlatch/py.typed" in names


@pytest.mark.parametrize("requirements", ["beside", pytest.param("installed", marks=pytest.mark.heavy)])
def test_the_installed_wheel_runs_among_foreign_packages(wheel: Path, requirements: str, tmp_path: Path):
    """What the wheel requires is installed with it, or found beside the tests: pip takes most of the time."""
    shutil.copytree(ROOT / "examples" / "unlatch_plugin", tmp_path / "plugin")
    python = new_environment(tmp_path, wheel, tmp_path / "plugin", beside=requirements == "beside")
    folder = tmp_path / "elsewhere"
    for name in FOREIGN:
        (folder / name).mkdir(parents=True)
        (folder / name / "__init__.py").write_text("raise SystemExit('foreign code was run')\n")
    (folder / "configs" / "collect.yaml").write_text("task: {name: foreign}\n")
    (folder / "stay.py").write_text(STAY)
    before = sorted(path.relative_to(folder) for path in folder.rglob("*"))

    command = python.with_name("unlatch")
    listed = [line.split()[0] for line in run(command, "list", "tasks", cwd=folder).splitlines()]
    assert {*own_option_names("task"), "press_toaster"} < {*listed}
    of_workers = ("episodes=2", "workers=2", "pictures=0")
    made = run(
        command, "collect", "task=open_microwave", "episodes=2", "workers=2", "pictures=1", "out=../set", cwd=folder
    )
    assert "2 of 2 episodes done" in made
    run(command, "check", "../set", cwd=folder)
    # `python -m` puts the current folder first
    pressed = ("collect", "task=press_toaster", *of_workers, "out=../press")
    assert "success 2/2" in " ".join(run(python, "-m", "unlatch", *pressed, cwd=folder).split())
    if requirements == "beside":  # what follows needs the extra `gym`
        task = ("task=close_drawer", "task.max_duration_s=1", "policy=stay:act", "out=../stay")
        said = run(python, "-m", "unlatch", "evaluate", *task, *of_workers, cwd=folder)
        assert "failures timeout 2" in " ".join(said.split())
        for order in (("unlatch", "gymnasium"), ("gymnasium", "unlatch")):
            run(python, "-c", GYMNASIUM.format(*order), cwd=folder)
        assert run(python, "-c", "import sys, unlatch; print('gymnasium' in sys.modules)", cwd=folder) == "False\n"
    left = (path.relative_to(folder) for path in folder.rglob("*") if "__pycache__" not in path.parts)
    assert sorted(left) == before
