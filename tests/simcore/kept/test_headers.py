"""Syntax trees that are kept: cffi makes the same types of them, without parsing."""

import pytest

cffi = pytest.importorskip("cffi")

from unlatch.simcore.kept import headers as parsed_headers  # noqa: E402 - after the check for cffi
from unlatch.simcore.kept.headers import keeping_parsed_headers  # noqa: E402

HEADER = (
    "typedef struct { int count; struct { float x, y; } at[3]; } Thing; typedef void (*Call)(Thing *, char const *);"
)


def read_types():
    ffi = cffi.FFI()
    ffi.cdef(HEADER)
    thing = ffi.typeof("Thing")
    return (
        ffi.sizeof("Thing"),
        [name for name, _ in thing.fields],
        str(ffi.typeof("Call")),
        str(ffi.typeof("Thing *[2]")),
    )


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("UNLATCH_CACHE_DIR", str(tmp_path))
    return tmp_path / "headers"


def test_kept_trees_give_the_same_types_without_a_parser(folder, monkeypatch):
    known = read_types()
    with keeping_parsed_headers():
        assert read_types() == known
    assert list(folder.glob("*.pickle"))
    parser = cffi.cparser._get_parser()
    monkeypatch.setattr(type(parser), "parse", lambda *_: pytest.fail("a kept header was parsed"))
    with keeping_parsed_headers():
        assert read_types() == known


def test_a_damaged_tree_is_parsed_again(folder):
    with keeping_parsed_headers():
        known = read_types()
    for path in folder.glob("*.pickle"):
        path.write_bytes(path.read_bytes()[:-5])
    with keeping_parsed_headers():
        assert read_types() == known


def test_afterwards_cffi_has_its_own_parser_again(folder):
    before = cffi.cparser._get_parser()
    with keeping_parsed_headers():
        assert cffi.cparser._get_parser() is not before
    assert cffi.cparser._get_parser() is before


def test_a_cache_that_cannot_be_written_costs_nothing_but_time(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("UNLATCH_CACHE_DIR", str(tmp_path / "file"))
    with keeping_parsed_headers():
        assert read_types()[0] == 28


def test_too_many_trees_are_removed(folder, monkeypatch):
    monkeypatch.setattr(parsed_headers, "MOST_FILES", 1)
    with keeping_parsed_headers():
        read_types()
    assert len(list(folder.glob("*.pickle"))) == 1
