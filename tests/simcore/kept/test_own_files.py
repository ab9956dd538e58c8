"""Programs of the cache are used only if nobody but this user can have written them."""

import os
import stat
from pathlib import Path
from types import SimpleNamespace

import pytest

from unlatch.simcore import cache as own_files
from unlatch.simcore.cache import cached_folder, foreign_access, is_own, make_cache_folder, write_kept


@pytest.fixture
def root(tmp_path, monkeypatch):
    root = tmp_path / "cache"
    monkeypatch.setenv("UNLATCH_CACHE_DIR", str(root))
    monkeypatch.setattr(own_files, "_warned", [])
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
    found = foreign_access(program)
    assert found is not None
    assert found.startswith(f"{changed} belongs to user ")


def test_a_sticky_cache_directory_may_be_shared_but_no_folder_in_it(program, root, belongs_to_another):
    root.chmod(0o1777)  # as in our container: anybody can add files, nobody can replace those of others
    assert is_own(program)
    program.parent.chmod(0o1777)
    assert not is_own(program)
    program.parent.chmod(0o755)
    belongs_to_another(program.parent)
    assert not is_own(program)


def test_a_link_out_of_the_cache_is_not(program, tmp_path):
    (tmp_path / "elsewhere.so").write_bytes(b"code")
    link = program.with_name("link.so")
    link.symlink_to(tmp_path / "elsewhere.so")
    assert "by a link" in (foreign_access(link) or "")


def test_a_link_to_another_folder_of_the_cache_is_not(program, root):
    (root / "others").symlink_to(program.parent)
    assert "by a link" in (foreign_access(root / "others" / program.name) or "")


def test_a_link_to_the_whole_cache_is(program, root, monkeypatch):
    link = root.parent / "link"
    link.symlink_to(root)
    monkeypatch.setenv("UNLATCH_CACHE_DIR", str(link))
    assert is_own(link / "programs" / "arm.so")


def test_one_line_says_why_and_what_to_do(program, caplog):
    program.parent.chmod(0o777)
    assert not is_own(program)
    assert not is_own(program.with_name("other.so"))
    (line,) = caplog.messages
    assert line == (
        "A compiled program of the cache is not used, which is slower: every user of this computer may write to "
        f"{program.parent}. Run chmod go-w {program.parent}, or set UNLATCH_CACHE_DIR to a folder of your own."
    )


@pytest.mark.parametrize("first", ["a program", "another folder"])
def test_a_umask_that_lets_the_group_write_changes_nothing(root, first):
    before = os.umask(0o002)
    try:
        if first == "another folder":
            cached_folder(root / "urdf" / "one", key="k", make=lambda folder: None)
        write_kept(root / "programs" / "arm.so", b"code", most=9)
    finally:
        os.umask(before)
    assert is_own(root / "programs" / "arm.so")


def test_a_umask_that_shares_nothing_is_kept(root):
    before = os.umask(0o077)
    try:
        make_cache_folder(root / "urdf")
        write_kept(root / "programs" / "arm.so", b"code", most=9)
    finally:
        os.umask(before)
    for path in (root, root / "urdf", root / "programs", root / "programs" / "arm.so"):
        assert path.stat().st_mode & 0o077 == 0
