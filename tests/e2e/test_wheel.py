"""The wheel, made from the source distribution, runs in a clean environment among foreign `configs/` and `tasks/`."""

import os
import shutil
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

from tests.e2e.quick_pip import has_setuptools
from unlatch.configs.config_files import own_option_names

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

ROOT = Path(__file__).resolve().parents[2]


def run(*command: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(part) for part in command], cwd=cwd, capture_output=True, text=True, check=False)


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
    # that `pyproject.toml` states what builds it is tested with the editable installation
    beside = ["--no-isolation"] if has_setuptools() else []
    done = run(sys.executable, "-m", "build", *beside, "--outdir", "dist", ".", cwd=source)
    assert done.returncode == 0, done.stderr
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


def test_an_editable_installation_is_found_in_the_folder_that_holds_the_clone(built: Path, tmp_path: Path):
    clone = built.parent
    assert clone.name == "unlatch"  # without the installed package, Python imports the folder itself
    venv.create(tmp_path / "venv")
    python = tmp_path / "venv" / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--disable-pip-version-check"]
    installed = run(*pip, "--no-deps", "-e", clone, cwd=tmp_path)
    assert installed.returncode == 0, installed.stderr
    show_packages_of_the_tests(tmp_path / "venv")
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [python, "-c", "import unlatch; print(unlatch.load.__module__)"],
        cwd=clone.parent,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stderr, done.stdout.startswith("unlatch.")) == ("", True)


def test_the_wheel_holds_our_packages_with_their_yaml_and_no_tests(wheel: Path):
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.split("/")[0] for name in names if ".dist-info" not in name}
    assert tops == {"unlatch"}
    assert yaml_files() <= set(names)
    assert "unlatch/py.typed" in names


@pytest.mark.parametrize("requirements", ["beside", pytest.param("installed", marks=pytest.mark.heavy)])
def test_the_installed_wheel_runs_among_foreign_packages(wheel: Path, requirements: str, tmp_path: Path):
    """What the wheel requires is installed with it, or found beside the tests: pip takes most of the time."""
    venv.create(tmp_path / "venv")
    python = tmp_path / "venv" / "bin" / "python"
    options = ["--quiet", "--disable-pip-version-check", *(["--no-deps"] if requirements == "beside" else [])]
    pip = [sys.executable, "-m", "pip", "--python", python]  # to install another pip first takes 6 s
    installed = run(*pip, "install", *options, wheel, cwd=tmp_path)
    assert installed.returncode == 0, installed.stderr
    if requirements == "beside":
        show_packages_of_the_tests(tmp_path / "venv")

    folder = tmp_path / "elsewhere"
    for name in ("configs", "tasks"):
        (folder / name).mkdir(parents=True)
        (folder / name / "__init__.py").write_text("raise SystemExit('foreign code was run')\n")
    (folder / "configs" / "collect.yaml").write_text("task: {name: foreign}\n")
    before = sorted(path.relative_to(folder) for path in folder.rglob("*"))

    command = tmp_path / "venv" / "bin" / "unlatch"
    listed = run(command, "list", "tasks", cwd=folder)
    assert listed.returncode == 0, listed.stderr
    assert [line.split()[0] for line in listed.stdout.splitlines()] == own_option_names("task")
    made = run(
        command, "collect", "task=open_microwave", "episodes=2", "workers=2", "pictures=1", "out=../set", cwd=folder
    )
    assert (made.returncode, made.stderr) == (0, "")
    assert "2 of 2 episodes done" in made.stdout
    checked = run(command, "check", "../set", cwd=folder)
    assert checked.returncode == 0, checked.stdout
    assert sorted(path.relative_to(folder) for path in folder.rglob("*")) == before

    # `python -m` puts the current folder first
    listed = run(python, "-m", "unlatch", "list", "tasks", cwd=folder)
    assert (listed.returncode, listed.stderr) == (0, "")
