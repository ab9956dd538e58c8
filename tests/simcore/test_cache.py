"""Folders are complete or absent, and damage is noticed."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from unlatch.simcore import cache
from unlatch.simcore.cache import CACHE_VARIABLE, cache_root, content_hash, intact_hash, replaced_folder, write_manifest
from unlatch.simcore.errors import AssetError, UnlatchError


def test_the_argument_wins_over_the_variable(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "a"))
    assert cache_root() == tmp_path / "a"
    assert cache_root(str(tmp_path / "b")) == tmp_path / "b"
    monkeypatch.delenv(CACHE_VARIABLE)
    assert cache_root() == Path.home() / ".cache" / "unlatch"


def test_the_hash_depends_on_names_and_contents() -> None:
    hashes = {
        content_hash(files) for files in ({"a": b"12"}, {"a": b"1", "b": b"2"}, {"b": b"12"}, {"a": b"13"}, {"a": b"1"})
    }
    assert len(hashes) == 5
    assert content_hash({"a": b"1", "b": b"2"}) == content_hash({"b": b"2", "a": b"1"})


def test_a_failed_block_leaves_no_folder(tmp_path: Path) -> None:
    def stop(folder: Path) -> None:
        (folder / "a").write_text("1")
        raise RuntimeError("half way")

    with pytest.raises(RuntimeError, match="half way"), replaced_folder(tmp_path / "out") as temporary:
        stop(temporary)
    assert list(tmp_path.iterdir()) == []


def test_a_valid_folder_of_another_process_stays(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    for good, expected in ((True, "theirs"), (False, "mine")):
        with replaced_folder(folder, is_good=lambda _, good=good: good) as temporary:
            (temporary / "a").write_text("mine")
            folder.mkdir(exist_ok=True)
            (folder / "a").write_text("theirs")
        assert (folder / "a").read_text() == expected
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


def test_many_writers_end_with_one_good_folder(tmp_path: Path) -> None:
    files = {f"{n}.txt": bytes([n]) * 1000 for n in range(5)}

    def write(_: int) -> None:
        with replaced_folder(tmp_path / "out") as temporary:
            for name, data in files.items():
                (temporary / name).write_bytes(data)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(32)))
    assert {p.name: p.read_bytes() for p in (tmp_path / "out").iterdir()} == files
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


@pytest.mark.slow
def test_many_writers_carry_over_the_files_of_others(tmp_path: Path) -> None:
    """Without a lock around carrying over and moving, most runs of this lost the note or found the folder away."""

    def keep(old: Path, new: Path) -> None:
        for path in old.iterdir():
            if not (new / path.name).exists():
                (new / path.name).write_bytes(path.read_bytes())

    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "note.txt").write_text("of somebody else")

    def write(number: int) -> None:
        with replaced_folder(tmp_path / "out", carry_over=keep) as temporary:
            (temporary / f"{number}.txt").write_text("mine")

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(64)))
    expected = {"note.txt", *(f"{number}.txt" for number in range(64))}
    assert {p.name for p in (tmp_path / "out").iterdir()} == expected
    assert (tmp_path / "out" / "note.txt").read_text() == "of somebody else"


def test_the_manifest_notices_every_change(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    (folder / "sub").mkdir(parents=True)
    (folder / "a").write_text("1")
    (folder / "sub" / "b").write_text("2")
    assert intact_hash(folder, key="k") is None, "no manifest, no folder"
    digest = write_manifest(folder, key="k")
    assert intact_hash(folder, key="k") == digest
    assert intact_hash(folder, key="other") is None
    (folder / "c").write_text("3")
    assert intact_hash(folder, key="k") is None, "a file too many"
    (folder / "c").unlink()
    (folder / "sub" / "b").write_text("x")
    assert intact_hash(folder, key="k") is None, "a changed file"
    (folder / "sub" / "b").unlink()
    assert intact_hash(folder, key="k") is None, "a missing file"
    (folder / "manifest.json").write_text('{"files": 3, "key": "k"')
    assert intact_hash(folder, key="k") is None, "a cut manifest"


def test_an_unwritable_cache_is_an_error_that_names_the_setting(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(AssetError) as caught, replaced_folder(tmp_path / "file" / "x"):
        pass
    assert str(caught.value) == (
        f"The asset cache at {tmp_path / 'file'} cannot be written (File exists). "
        "Set object.cache_dir or UNLATCH_CACHE_DIR to a folder that this user can write to."
    )


def test_a_cache_that_cannot_be_made_is_not_called_a_missing_source() -> None:
    folder = Path("/proc/nobody/cache/x")
    with pytest.raises(AssetError, match=f"The asset cache at {folder.parent} cannot be"), replaced_folder(folder):
        pass


def test_a_missing_source_is_an_error_that_names_it_not_the_cache(tmp_path: Path) -> None:
    source = tmp_path / "model.urdf"
    with pytest.raises(AssetError) as caught, replaced_folder(tmp_path / "cache" / "x"):
        source.read_text()
    assert str(caught.value) == (
        f"{source} is missing. {tmp_path / 'cache' / 'x'} is made from it. "
        "If it belongs to a Python package, install that again."
    )


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """The system's temporary folder; the cache is named by no variable."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.delenv("UNLATCH_CACHE_DIR", raising=False)
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(folder))
    cache._temporary_root.cache_clear()
    yield folder
    cache._temporary_root.cache_clear()


def has_no_home(monkeypatch, tmp_path):
    monkeypatch.setattr(cache, "home_folder", lambda: None)
    return "This user has no home directory"


def has_a_home_that_cannot_be_written(monkeypatch, tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setattr(cache, "home_folder", lambda: home)
    monkeypatch.setattr("os.access", lambda path, mode: path != home)
    return f"{home} cannot be written"


@pytest.mark.parametrize("user", [has_no_home, has_a_home_that_cannot_be_written])
def test_without_a_home_the_cache_is_a_private_temporary_folder_and_one_line_says_so(
    user, temporary, tmp_path, monkeypatch, caplog
):
    reason = user(monkeypatch, tmp_path)
    root = cache_root()
    assert cache_root() == root == temporary / f"unlatch-cache-{os.getuid()}"
    assert root.stat().st_mode & 0o077 == 0
    assert caplog.messages == [f"{reason}: the cache is {root}. Set UNLATCH_CACHE_DIR to a folder that lasts."]


@pytest.mark.parametrize("what", ["a link", "a file"])
def test_a_temporary_folder_that_somebody_else_put_there_is_refused(what, temporary, tmp_path, monkeypatch):
    has_no_home(monkeypatch, tmp_path)
    place = temporary / f"unlatch-cache-{os.getuid()}"
    if what == "a link":
        (tmp_path / "elsewhere").mkdir()
        place.symlink_to(tmp_path / "elsewhere")
    else:
        place.write_text("")
    with pytest.raises(UnlatchError, match="UNLATCH_CACHE_DIR to"):
        cache_root()
    monkeypatch.setenv("UNLATCH_CACHE_DIR", str(tmp_path / "own"))
    assert cache_root() == tmp_path / "own"
