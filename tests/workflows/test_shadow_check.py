"""Foreign packages of our names are found before anything of ours is imported."""

import subprocess
import sys
from pathlib import Path

import pytest

import unlatch

ROOT = Path(__file__).resolve().parents[2]


def test_our_own_packages_are_not_shadowed():
    assert unlatch.find_shadowed_packages() == {}


def test_packages_of_another_place_are_named(tmp_path: Path):
    found = unlatch.find_shadowed_packages(tmp_path)
    assert set(found) == set(unlatch.PACKAGES)
    assert found["tasks"] == f"'{ROOT / 'tasks' / '__init__.py'}'"


@pytest.mark.e2e
@pytest.mark.parametrize("with_init", [True, False])
def test_a_folder_in_the_way_is_named_in_one_line(tmp_path: Path, with_init: bool):
    (tmp_path / "tasks").mkdir()
    foreign = tmp_path / "tasks"
    if with_init:
        foreign /= "__init__.py"
        foreign.write_text("raise SystemExit('foreign code was run')\n")
    code = f"import sys; sys.path.append({str(ROOT)!r}); import unlatch; sys.exit(unlatch.main(['list', 'tasks']))"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    if not with_init:
        # a folder without __init__.py loses against a package anywhere on the path
        assert (done.returncode, done.stderr) == (0, "")
        return
    assert done.stdout == ""
    assert done.stderr == (
        f"unlatch: Package 'tasks' of unlatch ({ROOT / 'tasks'}) is shadowed by '{foreign}'. Run from another "
        "directory, take that place out of PYTHONPATH, or uninstall what brought it.\n"
    )
    assert done.returncode == 2
