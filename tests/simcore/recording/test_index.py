"""The index of a data set: summaries without opening episodes, right whatever happened to it."""

import json
import shutil

import pytest

from tests.simcore.recording.builders import make_record
from unlatch.simcore.recording.data_set import DataSet
from unlatch.simcore.recording.index import erase_lines, read_lines


@pytest.fixture
def filled(tmp_path):
    with DataSet.create_or_resume(tmp_path / "data", header={"seed": 7}) as made:
        for number in range(4):
            made.write(make_record(number))
        made.write(make_record(4, success=False, code="slipped"))
        yield made


def index(data_set):
    return data_set.path / "index" / "main.jsonl"


def stated(data_set):
    return [(s.number, s.seed, s.code, s.state_sha256) for s in data_set.summaries()]


def lines_of(data_set):
    return [(line.number, line.code) for line in read_lines(data_set.path)]


def test_the_index_has_one_line_per_episode_which_is_read_without_opening_episodes(filled, monkeypatch):
    lines = [json.loads(line) for line in index(filled).read_text().splitlines()]
    assert [(line["number"], line["code"]) for line in lines] == [(n, None) for n in range(4)] + [(4, "slipped")]
    assert lines[0]["timings_ms"]["plan"] == 80.0
    monkeypatch.setattr(DataSet, "read", lambda *a, **k: pytest.fail("an episode was opened"))
    assert [(s.number, s.success) for s in filled.summaries()] == [(n, n < 4) for n in range(5)]


@pytest.mark.parametrize("damage", ["lost", "cut", "garbage", "stale", "contradicting"])
def test_summaries_are_right_for_any_damage_of_the_index(filled, damage):
    true, path = stated(filled), index(filled)
    lines = path.read_bytes().splitlines(keepends=True)
    if damage == "lost":
        shutil.rmtree(path.parent)
    elif damage == "contradicting":
        path.with_name("other.jsonl").write_bytes(lines[0].replace(b"1000", b"9999"))
    else:
        damaged = {
            "cut": b"".join(lines)[:-30],
            "garbage": b'\xff\n{"number": 1}\n[1]\n' + b"".join(lines[2:]),
            "stale": b"".join(lines) + lines[0].replace(b'"number": 0', b'"number": 77'),
        }
        path.write_bytes(damaged[damage])
    assert stated(filled) == true


def test_a_line_after_a_truncated_line_is_not_lost(filled):
    path = index(filled)
    path.write_bytes(path.read_bytes()[:-30])
    filled.write(make_record(5))
    assert json.loads(path.read_bytes().splitlines()[-1])["number"] == 5


def test_the_index_can_be_rebuilt(filled):
    true = stated(filled)
    index(filled).write_bytes(b"nonsense\n")
    assert filled.rebuild_index() == 5
    assert [path.name for path in (filled.path / "index").iterdir()] == ["rebuilt.jsonl"]
    assert stated(filled) == true


def test_lines_can_be_erased_while_others_are_appended_and_that_of_an_episode_set_aside_is(filled):
    true, size = stated(filled), index(filled).stat().st_size
    erase_lines(filled.path, {1, 4})
    assert index(filled).stat().st_size == size
    assert lines_of(filled) == [(0, None), (2, None), (3, None)]
    assert stated(filled) == true
    filled.write(make_record(5))
    filled.set_aside(2)
    filled.write(make_record(2, success=False, code="slipped"))
    assert sorted(lines_of(filled)) == [(0, None), (2, "slipped"), (3, None), (5, None)]
