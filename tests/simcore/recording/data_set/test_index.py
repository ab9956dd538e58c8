"""The index of a data set: summaries without opening episodes, right whatever happened to it."""

import json
import shutil

import pytest

from unlatch.simcore.recording.data_set import DataSet
from unlatch.simcore.recording.index import erase_lines, read_lines


@pytest.fixture
def data_set(tmp_path):
    with DataSet.create_or_resume(tmp_path / "data", header={"seed": 7}) as made:
        yield made


class TestIndex:
    @pytest.fixture
    def filled(self, data_set, make_record):
        for number in range(4):
            data_set.write(make_record(number))
        data_set.write(make_record(4, success=False, code="slipped"))
        return data_set

    def index(self, data_set):
        return data_set.path / "index" / "main.jsonl"

    def test_the_index_has_one_line_per_episode(self, filled):
        lines = [json.loads(line) for line in self.index(filled).read_text().splitlines()]
        assert [(line["number"], line["code"]) for line in lines] == [(n, None) for n in range(4)] + [(4, "slipped")]
        assert lines[0]["timings_ms"]["plan"] == 80.0

    def test_summaries_are_read_from_the_index_without_opening_episodes(self, filled, monkeypatch):
        monkeypatch.setattr(DataSet, "read", lambda *a, **k: pytest.fail("an episode was opened"))
        assert [(s.number, s.success) for s in filled.summaries()] == [(n, n < 4) for n in range(5)]

    @pytest.mark.parametrize("damage", ["lost", "cut", "garbage", "stale", "contradicting"])
    def test_summaries_are_right_for_any_damage_of_the_index(self, filled, damage):
        true = filled.summaries()
        path = self.index(filled)
        lines = path.read_bytes().splitlines(keepends=True)
        if damage == "lost":
            shutil.rmtree(path.parent)
        elif damage == "cut":
            path.write_bytes(b"".join(lines)[:-30])
        elif damage == "garbage":
            path.write_bytes(b'\xff\n{"number": 1}\n[1]\n' + b"".join(lines[2:]))
        elif damage == "stale":
            path.write_bytes(b"".join(lines) + lines[0].replace(b'"number": 0', b'"number": 77'))
        else:
            path.with_name("other.jsonl").write_bytes(lines[0].replace(b"1000", b"9999"))
        read = filled.summaries()
        assert [(s.number, s.seed, s.code, s.state_sha256) for s in read] == [
            (s.number, s.seed, s.code, s.state_sha256) for s in true
        ]

    def test_a_line_after_a_truncated_line_is_not_lost(self, filled, make_record):
        path = self.index(filled)
        path.write_bytes(path.read_bytes()[:-30])
        filled.write(make_record(5))
        assert json.loads(path.read_bytes().splitlines()[-1])["number"] == 5

    def test_the_index_can_be_rebuilt(self, filled):
        true = [(s.number, s.code, s.state_sha256) for s in filled.summaries()]
        self.index(filled).write_bytes(b"nonsense\n")
        assert filled.rebuild_index() == 5
        assert [path.name for path in (filled.path / "index").iterdir()] == ["rebuilt.jsonl"]
        assert [(s.number, s.code, s.state_sha256) for s in filled.summaries()] == true

    def test_lines_can_be_erased_while_others_are_appended(self, filled, make_record):
        true = [(s.number, s.code) for s in filled.summaries()]
        size = self.index(filled).stat().st_size
        erase_lines(filled.path, {1, 4})
        assert self.index(filled).stat().st_size == size
        assert [s.number for s in read_lines(filled.path)] == [0, 2, 3]
        assert [(s.number, s.code) for s in filled.summaries()] == true
        filled.write(make_record(5))
        assert [s.number for s in read_lines(filled.path)] == [0, 2, 3, 5]

    def test_the_line_of_an_episode_that_is_set_aside_is_erased(self, filled, make_record):
        filled.set_aside(4)
        filled.write(make_record(4))
        assert [(s.number, s.code) for s in read_lines(filled.path) if s.number == 4] == [(4, None)]
