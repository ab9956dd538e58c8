"""Generated objects live as long as their process, and leave nothing behind however it ends."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from tests.simcore.refusals import refused
from unlatch.objects.config import ObjectCfg
from unlatch.objects.library import load_object
from unlatch.simcore import temporary_folders as scratch
from unlatch.simcore.cache import CACHE_VARIABLE
from unlatch.simcore.errors import AssetError
from unlatch.simcore.temporary_folders import PREFIX, LockedArea, ScratchArea, clean_areas, locked_folder, scratch_files

_LOAD_ONE = (
    "import numpy as np\nfrom unlatch.objects import ObjectCfg, load_object\n"
    "asset = load_object(ObjectCfg(name='o', category='drawer'), rng=np.random.default_rng(0))\n"
    "assert asset.urdf_path.is_file()\nprint(asset.urdf_path, flush=True)\n"
)


@pytest.fixture
def temporary(tmp_path, monkeypatch):
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


def test_generated_objects_are_not_put_into_the_cache(temporary, tmp_path, monkeypatch):
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache"))
    rng = np.random.default_rng(0)
    for category in ("drawer", "microwave"):
        asset = load_object(ObjectCfg(name="o", category=category, cache_dir=str(tmp_path / "own")), rng=rng)
        assert asset.urdf_path.is_relative_to(temporary)
    assert not (tmp_path / "cache").exists()
    assert not (tmp_path / "own").exists()


@pytest.mark.slow
def test_an_ended_process_leaves_no_files(temporary, tmp_path):
    child = _child(_LOAD_ONE, tmp_path)
    out, _ = child.communicate(timeout=60)
    assert child.returncode == 0
    assert Path(out.strip()).is_relative_to(temporary)
    assert list(temporary.iterdir()) == []
    assert not (tmp_path / "cache").exists()


@pytest.mark.slow
def test_folders_of_killed_processes_are_removed_and_those_of_living_ones_stay(temporary, tmp_path):
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


def test_a_folder_without_a_lock_is_removed_only_when_it_is_old(temporary):
    folder = temporary / f"{PREFIX}x"
    folder.mkdir()
    assert clean_areas(temporary, prefix=PREFIX) == 0
    old = time.time() - 2 * 24 * 3600
    os.utime(folder, (old, old))
    assert clean_areas(temporary, prefix=PREFIX) == 1
    assert not folder.exists()


def test_only_the_newest_objects_stay(temporary, monkeypatch):
    monkeypatch.setattr(scratch, "_MAX_FOLDERS", 2)
    for name in ("a", "b", "a", "c"):
        folder = scratch_files(name, {"f": name.encode()})
    assert sorted(path.name for path in folder.parent.iterdir()) == ["a", "c"]


def test_files_may_lie_in_folders_of_their_own(temporary):
    folder = scratch_files("object-7", {"source/meshes/door.obj": b"v 0 0 0", "object.urdf": b""})
    assert (folder / "source" / "meshes" / "door.obj").read_bytes() == b"v 0 0 0"


def test_deleted_temporary_files_are_written_again(temporary):
    folder = scratch_files("a", {"f": b"1"})
    (folder / "f").unlink()
    folder.rmdir()
    assert (scratch_files("a", {"f": b"1"}) / "f").read_bytes() == b"1"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_forked_child_makes_its_own_folder(temporary):
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


def test_a_temporary_folder_that_cannot_be_written_is_named(temporary):
    (scratch._get_area(os.getpid()).folder / "a").write_text("a file where the folder would be")
    message = (
        f"The temporary folder {temporary} cannot be written (File exists). "
        "Set TMPDIR to a folder that this user can write to."
    )
    with refused(AssetError, message):
        scratch_files("a", {"f": b"1"})


@pytest.fixture
def without_locks(monkeypatch):
    """Makes the file system one that has none."""

    def refuse(descriptor: int, operation: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    return lambda: monkeypatch.setattr("fcntl.flock", refuse)


def test_a_second_writer_waits_for_the_folder(tmp_path):
    order: list[str] = []
    inside = threading.Event()

    def other() -> None:
        inside.set()
        with locked_folder(tmp_path):
            order.append("other")

    with locked_folder(tmp_path):
        thread = threading.Thread(target=other)
        thread.start()
        assert inside.wait(10.0)
        thread.join(0.2)
        order.append("first")
    thread.join(10.0)
    assert order == ["first", "other"]
    assert list(tmp_path.iterdir()) == []


def test_without_locks_nothing_waits(tmp_path, without_locks, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    (tmp_path / "unlatch-objects-old").mkdir()
    (tmp_path / "unlatch-objects-old.lock").touch()
    without_locks()
    with locked_folder(tmp_path):
        pass
    assert clean_areas(tmp_path, prefix=PREFIX) == 0  # nothing shows whether their processes run
    monkeypatch.setattr("unlatch.simcore.temporary_folders._get_area", lambda pid: ScratchArea())
    with pytest.raises(AssetError, match="No locks available"):
        scratch_files("object", {})
    assert sorted(path.name for path in tmp_path.iterdir()) == ["unlatch-objects-old", "unlatch-objects-old.lock"]


def test_an_area_is_closed_even_if_its_files_cannot_be_removed(tmp_path, monkeypatch):
    area = LockedArea(tmp_path)

    def refuse(self: Path, *, missing_ok: bool = False) -> None:
        raise PermissionError(13, "Permission denied", str(self))

    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", refuse)
        area.close()
    assert clean_areas(tmp_path) == 1
    assert not list(tmp_path.iterdir())
