"""Kept arrays: read back unchanged, made again if damaged, and never of other code or input."""

import os

import numpy as np
import pytest

from unlatch.simcore import cache as array_cache
from unlatch.simcore.cache import arrays_key, kept_arrays


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


def test_no_arrays_are_kept_too(folder):
    kept_arrays("things", "key", dict)
    assert kept_arrays("things", "key", never) == {}


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
    monkeypatch.setattr(array_cache, "MOST_FILES", 2)
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
