"""Generated objects live as long as their process, and leave nothing behind however it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from unlatch.objects.config import ObjectCfg
from unlatch.objects.library import load_object
from unlatch.simcore import temporary_folders as scratch
from unlatch.simcore.cache import CACHE_VARIABLE
from unlatch.simcore.errors import AssetError
from unlatch.simcore.temporary_folders import PREFIX, clean_areas, scratch_files

_LOAD_ONE = (
    "import numpy as np\nfrom unlatch.objects import ObjectCfg, load_object\n"
    "asset = load_object(ObjectCfg(name='o', category='drawer'), rng=np.random.default_rng(0))\n"
    "assert asset.urdf_path.is_file()\nprint(asset.urdf_path, flush=True)\n"
)


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A temporary folder of the system that only this test uses."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    scratch._get_area.cache_clear()
    yield folder
    scratch._get_area(os.getpid()).close()
    scratch._get_area.cache_clear()


def _child(program: str, tmp_path: Path) -> subprocess.Popen[str]:
    root = Path(__file__).resolve().parents[2]
    environment = {**os.environ, "PYTHONPATH": str(root), CACHE_VARIABLE: str(tmp_path / "cache")}
    return subprocess.Popen([sys.executable, "-c", program], env=environment, stdout=subprocess.PIPE, text=True)


def test_generated_objects_are_not_put_into_the_cache(
    temporary: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache"))
    rng = np.random.default_rng(0)
    for category in ("drawer", "microwave"):
        asset = load_object(ObjectCfg(name="o", category=category, cache_dir=str(tmp_path / "own")), rng=rng)
        assert asset.urdf_path.is_relative_to(temporary)
    assert not (tmp_path / "cache").exists()
    assert not (tmp_path / "own").exists()


@pytest.mark.slow
def test_an_ended_process_leaves_no_files(temporary: Path, tmp_path: Path) -> None:
    child = _child(_LOAD_ONE, tmp_path)
    out, _ = child.communicate(timeout=60)
    assert child.returncode == 0
    assert Path(out.strip()).is_relative_to(temporary)
    assert list(temporary.iterdir()) == []
    assert not (tmp_path / "cache").exists()


@pytest.mark.slow
def test_folders_of_killed_processes_are_removed_and_those_of_living_ones_stay(temporary: Path, tmp_path: Path) -> None:
    child = _child(_LOAD_ONE + "import time\ntime.sleep(60)\n", tmp_path)
    assert child.stdout is not None
    urdf = Path(child.stdout.readline().strip())
    scratch_files("a", {"a": b"1"})
    assert urdf.is_file(), "its process lives"
    child.send_signal(signal.SIGKILL)
    child.communicate()
    assert urdf.is_file()
    assert clean_areas(temporary, prefix=PREFIX) == 1
    assert len(list(temporary.iterdir())) == 2, "our own folder and its lock"


def test_a_folder_without_a_lock_is_removed_only_when_it_is_old(temporary: Path) -> None:
    folder = temporary / f"{PREFIX}x"
    folder.mkdir()
    assert clean_areas(temporary, prefix=PREFIX) == 0
    old = time.time() - 2 * 24 * 3600
    os.utime(folder, (old, old))
    assert clean_areas(temporary, prefix=PREFIX) == 1
    assert not folder.exists()


def test_only_the_newest_objects_stay(temporary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scratch, "_MAX_FOLDERS", 2)
    for name in ("a", "b", "a", "c"):
        folder = scratch_files(name, {"f": name.encode()})
    assert sorted(path.name for path in folder.parent.iterdir()) == ["a", "c"]


def test_deleted_temporary_files_are_written_again(temporary: Path) -> None:
    folder = scratch_files("a", {"f": b"1"})
    (folder / "f").unlink()
    folder.rmdir()
    assert (scratch_files("a", {"f": b"1"}) / "f").read_bytes() == b"1"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_forked_child_makes_its_own_folder(temporary: Path) -> None:
    ours = scratch_files("a", {"f": b"1"})
    area = scratch._get_area(os.getpid())
    pid = os.fork()
    if pid == 0:
        theirs = scratch_files("a", {"f": b"2"})
        area.close()
        scratch._get_area(os.getpid()).close()
        os._exit(0 if theirs != ours and not theirs.exists() else 1)
    assert os.waitpid(pid, 0)[1] == 0
    assert (ours / "f").read_bytes() == b"1"


def test_a_temporary_folder_that_cannot_be_written_is_named(temporary: Path) -> None:
    (scratch._get_area(os.getpid()).folder / "a").write_text("a file where the folder would be")
    with pytest.raises(AssetError) as caught:
        scratch_files("a", {"f": b"1"})
    assert str(caught.value) == (
        f"The temporary folder {temporary} cannot be written (File exists). "
        "Set TMPDIR to a folder that this user can write to."
    )
