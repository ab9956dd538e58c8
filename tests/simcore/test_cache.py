"""The cache: whole folders, kept arrays, files read once, and programs that nobody else can have written."""

from __future__ import annotations

import os
import stat
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from tests.simcore.refusals import refused
from unlatch.simcore import cache
from unlatch.simcore.cache import (
    CACHE_VARIABLE,
    FileCache,
    arrays_key,
    cache_root,
    cached_folder,
    content_hash,
    foreign_access,
    intact_hash,
    is_own,
    kept_arrays,
    make_cache_folder,
    replaced_folder,
    write_kept,
    write_manifest,
)
from unlatch.simcore.errors import AssetError, UnlatchError


def test_the_argument_wins_over_the_variable(monkeypatch, tmp_path):
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "a"))
    assert cache_root() == tmp_path / "a"
    assert cache_root(str(tmp_path / "b")) == tmp_path / "b"
    monkeypatch.delenv(CACHE_VARIABLE)
    assert cache_root() == Path.home() / ".cache" / "unlatch"


def test_the_hash_depends_on_names_and_contents():
    hashes = {
        content_hash(files) for files in ({"a": b"12"}, {"a": b"1", "b": b"2"}, {"b": b"12"}, {"a": b"13"}, {"a": b"1"})
    }
    assert len(hashes) == 5
    assert content_hash({"a": b"1", "b": b"2"}) == content_hash({"b": b"2", "a": b"1"})


def test_a_failed_block_leaves_no_folder(tmp_path):
    def stop(folder: Path) -> None:
        (folder / "a").write_text("1")
        raise RuntimeError("half way")

    with pytest.raises(RuntimeError, match="half way"), replaced_folder(tmp_path / "out") as temporary:
        stop(temporary)
    assert list(tmp_path.iterdir()) == []


def test_a_valid_folder_of_another_process_stays(tmp_path):
    folder = tmp_path / "out"
    for good, expected in ((True, "theirs"), (False, "mine")):
        with replaced_folder(folder, is_good=lambda _, good=good: good) as temporary:
            (temporary / "a").write_text("mine")
            folder.mkdir(exist_ok=True)
            (folder / "a").write_text("theirs")
        assert (folder / "a").read_text() == expected
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


def test_many_writers_end_with_one_good_folder(tmp_path):
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
def test_many_writers_carry_over_the_files_of_others(tmp_path):
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


def test_the_manifest_notices_every_change(tmp_path):
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


def test_an_unwritable_cache_and_a_missing_source_are_told_apart(tmp_path):
    (tmp_path / "file").write_text("")
    message = (
        f"The asset cache at {tmp_path / 'file'} cannot be written (File exists). "
        "Set object.cache_dir or UNLATCH_CACHE_DIR to a folder that this user can write to."
    )
    with refused(AssetError, message), replaced_folder(tmp_path / "file" / "x"):
        pass
    nobody = Path("/proc/nobody/cache")
    with pytest.raises(AssetError, match=f"The asset cache at {nobody} cannot be"), replaced_folder(nobody / "x"):
        pass
    source = tmp_path / "model.urdf"
    message = (
        f"{source} is missing. {tmp_path / 'cache' / 'x'} is made from it. "
        "If it belongs to a Python package, install that again."
    )
    with refused(AssetError, message), replaced_folder(tmp_path / "cache" / "x"):
        source.read_text()


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


class Reader:
    """Reads a text file and counts how often."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "value.txt"
        self.note = folder / "note.txt"
        self.folder = folder
        self.count = 0
        self.cache: FileCache[str] = FileCache(2)
        self.path.write_text("one")

    def read(self) -> str:
        self.count += 1
        return self.path.read_text()

    def get(self, key: str = "key") -> str:
        return self.cache.get(key, self.read, files_of=lambda _: [self.folder, self.path, self.note])


@pytest.fixture
def reader(tmp_path):
    return Reader(tmp_path)


@pytest.fixture
def _an_hour_later(monkeypatch):
    """No file has changed lately: the time of the last change of metadata cannot be set on a file."""
    later_ns = time.time_ns() + 3_600_000_000_000
    monkeypatch.setattr(time, "time_ns", lambda: later_ns)


@pytest.mark.usefixtures("_an_hour_later")
def test_a_value_is_read_once_until_a_file_changes_or_comes_to_exist(reader):
    assert [reader.get(), reader.get()] == ["one", "one"]
    assert reader.count == 1
    before = reader.path.stat()
    reader.path.write_text("two")  # of the same size, and at the same time
    os.utime(reader.path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert reader.get() == "two"
    reader.note.write_text("new")
    reader.get()
    assert reader.count == 3


def test_a_file_that_changed_just_now_is_not_kept_and_nothing_without_files(reader):
    reader.path.write_text("two")
    assert [reader.get(), reader.get()] == ["two", "two"]
    assert reader.count == 2
    for _ in range(2):
        reader.cache.get("other", reader.read, files_of=lambda _: [])
    assert reader.count == 4


@pytest.mark.usefixtures("_an_hour_later")
def test_the_value_that_was_not_used_for_longest_is_dropped(reader):
    for key in ("a", "b", "a", "c", "a", "b"):
        reader.get(key)
    assert reader.count == 4  # a, b, c, and b again


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("UNLATCH_CACHE_DIR", str(tmp_path))
    return tmp_path / "things"


def make():
    return {"a": np.arange(6.0).reshape(2, 3), "name": np.array("red.mtl")}


def never():
    raise AssertionError("the arrays were made although the cache holds them")


def test_kept_arrays_are_not_made_again(folder):
    kept_arrays("things", "key", make)
    again = kept_arrays("things", "key", never)
    assert again["a"].tolist() == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]
    assert str(again["name"]) == "red.mtl"
    kept_arrays("things", "none", dict)
    assert kept_arrays("things", "none", never) == {}


@pytest.mark.parametrize("damage", [lambda content: content[:-9], lambda content: content[:80] + b"!!!" + content[83:]])
def test_damaged_arrays_are_made_again(folder, damage):
    kept_arrays("things", "key", lambda: {"a": np.arange(100.0)})
    path = folder / "key.npz"
    whole = path.read_bytes()
    path.write_bytes(damage(whole))
    assert kept_arrays("things", "key", lambda: {"a": np.arange(100.0)})["a"].tolist() == list(range(100))
    assert kept_arrays("things", "key", never)["a"].tolist() == list(range(100))


def test_a_cache_that_cannot_be_written_costs_nothing_but_time(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("UNLATCH_CACHE_DIR", str(tmp_path / "file"))
    assert kept_arrays("things", "key", make)["a"].shape == (2, 3)


def test_arrays_that_were_not_used_for_longest_are_removed(folder, monkeypatch):
    monkeypatch.setattr(cache, "MOST_FILES", 2)
    for k in range(3):
        kept_arrays("things", str(k), make)
        os.utime(folder / f"{k}.npz", (k, k))
    kept_arrays("things", "1", never)
    kept_arrays("things", "3", make)
    assert sorted(path.stem for path in folder.glob("*.npz")) == ["1", "3"]


def test_the_key_states_code_and_input(tmp_path):
    code, other = tmp_path / "a.py", tmp_path / "b.py"
    code.write_text("x = 1")
    other.write_text("x = 2")
    a = np.arange(6.0)
    keys = {
        arrays_key(str(file), *parts) for file in (code, other) for parts in ((a,), (a.reshape(2, 3),), (a, 1), (b"a",))
    }
    assert len(keys) == 8
    assert arrays_key(str(code), a, "text") == arrays_key(str(code), a.copy(), "text")


@pytest.fixture
def root(tmp_path, monkeypatch):
    root = tmp_path / "cache"
    monkeypatch.setenv("UNLATCH_CACHE_DIR", str(root))
    monkeypatch.setattr(cache, "_warned", [])
    return root


@pytest.fixture
def program(root):
    path = root / "programs" / "arm.so"
    write_kept(path, b"code", most=9)
    return path


@pytest.fixture
def belongs_to_another(monkeypatch):
    """Makes a path belong to another user: truly for root, else in what the system says of it."""

    def give(path):
        if os.geteuid() == 0:
            os.chown(path, 65534, 65534)
            return
        stat_of = Path.stat

        def changed(self, **settings):
            found = stat_of(self, **settings)
            return SimpleNamespace(st_uid=os.geteuid() + 1, st_mode=found.st_mode) if self == path else found

        monkeypatch.setattr(Path, "stat", changed)

    return give


PLACES = {"file": 0, "folder": 1, "cache directory": 2}
place = pytest.mark.parametrize("level", PLACES.values(), ids=PLACES)


def at(program, level):
    return (program, *program.parents)[level]


def test_what_this_user_wrote_and_what_is_missing_are_its_own(program):
    assert is_own(program)
    assert is_own(program.with_name("missing.so"))
    assert is_own(program.parent / "missing" / "one.so")


@place
@pytest.mark.parametrize(
    ("bit", "who"), [(stat.S_IWOTH, "every user of this computer"), (stat.S_IWGRP, "its group")], ids=["all", "group"]
)
def test_what_others_may_write_is_not(program, level, bit, who):
    changed = at(program, level)
    changed.chmod(changed.stat().st_mode | bit)
    assert foreign_access(program) == f"{who} may write to {changed}. Run chmod go-w {changed}"
    os.system(f"chmod go-w {changed}")
    assert foreign_access(program) is None


@place
def test_what_belongs_to_another_user_is_not(program, belongs_to_another, level):
    changed = at(program, level)
    belongs_to_another(changed)
    assert (foreign_access(program) or "").startswith(f"{changed} belongs to user ")


def test_a_sticky_cache_directory_may_be_shared_but_no_folder_in_it(program, root, belongs_to_another):
    root.chmod(0o1777)  # as in our container: anybody can add files, nobody can replace those of others
    assert is_own(program)
    program.parent.chmod(0o1777)
    assert not is_own(program)
    program.parent.chmod(0o755)
    belongs_to_another(program.parent)
    assert not is_own(program)


def test_a_link_out_of_the_cache_or_to_another_folder_of_it_is_not(program, root, tmp_path, monkeypatch):
    (tmp_path / "elsewhere.so").write_bytes(b"code")
    (root / "programs" / "link.so").symlink_to(tmp_path / "elsewhere.so")
    (root / "others").symlink_to(program.parent)
    for path in (root / "programs" / "link.so", root / "others" / program.name):
        assert "by a link" in (foreign_access(path) or "")
    (tmp_path / "whole").symlink_to(root)  # a link to the whole cache is allowed
    monkeypatch.setenv("UNLATCH_CACHE_DIR", str(tmp_path / "whole"))
    assert is_own(tmp_path / "whole" / "programs" / "arm.so")


def test_one_line_says_why_and_what_to_do(program, caplog):
    program.parent.chmod(0o777)
    assert not is_own(program)
    assert not is_own(program.with_name("other.so"))
    (line,) = caplog.messages
    assert line == (
        "A compiled program of the cache is not used, which is slower: every user of this computer may write to "
        f"{program.parent}. Run chmod go-w {program.parent}, or set UNLATCH_CACHE_DIR to a folder of your own."
    )


@pytest.mark.parametrize("mask", [0o002, 0o077])
@pytest.mark.parametrize("first", ["a program", "another folder"])
def test_a_umask_that_lets_the_group_write_changes_nothing_and_one_that_shares_nothing_is_kept(root, mask, first):
    before = os.umask(mask)
    try:
        if first == "another folder":
            cached_folder(root / "urdf" / "one", key="k", make=lambda folder: None)
        make_cache_folder(root / "meshes")
        write_kept(root / "programs" / "arm.so", b"code", most=9)
    finally:
        os.umask(before)
    assert is_own(root / "programs" / "arm.so")
    for path in (root, root / "meshes", root / "programs", root / "programs" / "arm.so"):
        assert mask != 0o077 or path.stat().st_mode & 0o077 == 0
