"""`make corpus` finds each changed, new and missing item, and hashes what does not depend on the moment."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.corpus import make_corpus
from tests.corpus.contents import describe_arrays, describe_file, describe_files, mask_places, plain, without_times
from tests.corpus.jobs import PARTS, Job

HASHES = {"texts/help/all": "aa", "records/open_drawer/own/1/actions": "bb", "shared/UNLATCH_PARTNET_DIR/safe/1": "cc"}
Run = Callable[..., tuple[int, str]]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Compares hashes with those of a file; both are stated, as if two jobs had made them."""
    monkeypatch.setattr(make_corpus, "FILE", tmp_path / "hashes.txt")
    monkeypatch.setattr(make_corpus, "describe_here", lambda: "this machine")
    monkeypatch.setattr(make_corpus, "kept_folder", lambda: tmp_path / "kept")
    for name in make_corpus.SHARED:
        monkeypatch.setitem(make_corpus.SHARED, name, tmp_path)
    parts = {"texts": "help/all", "records": "open_drawer/own/1", "shared": "UNLATCH_PARTNET_DIR/safe/1"}
    jobs = {part: partial(list, [Job(f"{part}/{name}", {"": ""})]) for part, name in parts.items()}
    monkeypatch.setattr(make_corpus, "PARTS", jobs)

    def compare(now: Mapping[str, str], *words: str, machine: str = "") -> tuple[int, str]:
        monkeypatch.setattr(make_corpus, "run_all", lambda jobs, workers: dict(now))
        if machine:
            make_corpus.write_hashes(make_corpus.FILE, machine, HASHES)
        return make_corpus.main(list(words)), capsys.readouterr().out

    return compare


def test_equal_hashes_end_with_0(run: Run):
    code, said = run(HASHES, machine="this machine")
    assert (code, "all 3 items are those of hashes.txt" in said) == (0, True)


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"texts/help/all": "dd"}, "different: 1 items (texts/help 1)\n  texts/help/all\n"),
        ({"texts/help/all": None}, "gone: 1 items (texts/help 1)\n  texts/help/all\n"),
        ({"texts/version": "dd"}, "new: 1 items (texts/version 1)\n  texts/version\n"),
    ],
)
def test_an_item_that_differs_is_named(changes: dict[str, str | None], line: str, run: Run):
    now = {name: value for name, value in (HASHES | changes).items() if value is not None}
    code, said = run(now, machine="this machine")
    assert code == 1
    assert said.endswith(line)


def test_a_part_is_compared_and_written_alone(run: Run):
    part = {"texts/help/all": "dd"}
    code, said = run(part, "only=texts", machine="this machine")
    assert (code, "gone" in said) == (1, False)
    assert run(part, "only=texts", "write=true")[0] == 0
    assert make_corpus.read_hashes(make_corpus.FILE)[1] == HASHES | part


def test_jobs_are_chosen_by_their_names(run: Run):
    code, said = run({}, "match=open_drawer", machine="this machine")
    assert code == 1
    assert said.endswith("gone: 1 items (records/open_drawer 1)\n  records/open_drawer/own/1/actions\n")


def test_on_another_machine_only_texts_are_compared_and_written_alone(run: Run):
    code, said = run(HASHES | {"records/open_drawer/own/1/actions": "dd"}, machine="another processor")
    assert (code, "was made on another machine: another processor" in said) == (0, True)
    assert run(HASHES | {"texts/help/all": "dd"})[0] == 1
    records = {name: value for name, value in HASHES.items() if name.startswith("records")}
    assert run(records, "only=records", "write=true")[0] == 1
    assert run({"texts/help/all": "dd"}, "only=texts", "write=true")[0] == 0
    assert make_corpus.read_hashes(make_corpus.FILE) == ("another processor", HASHES | {"texts/help/all": "dd"})


def test_items_without_their_folder_are_left_out(run: Run, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(make_corpus.SHARED, "UNLATCH_PARTNET_DIR", Path("nowhere"))
    now = {name: value for name, value in HASHES.items() if not name.startswith("shared")}
    code, said = run(now, machine="this machine")
    assert (code, said.startswith("left out: shared/UNLATCH_PARTNET_DIR/")) == (0, True)
    run(now, "write=true")
    assert make_corpus.read_hashes(make_corpus.FILE)[1] == HASHES


@pytest.mark.parametrize("word", ["wirte=true", "only=recrods", "write"])
def test_an_unknown_word_is_refused(word: str, run: Run):
    with pytest.raises(SystemExit, match="Expected"):
        run(HASHES, word)


def test_a_result_is_used_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(make_corpus, "kept_folder", lambda: tmp_path / "code")
    monkeypatch.setattr(make_corpus, "KEPT", tmp_path)
    monkeypatch.setattr(make_corpus, "warm_up", lambda: None)
    monkeypatch.setattr(make_corpus, "run_job", count_runs)
    first, second = (Job("texts/a", {"": line}, {"runs": tmp_path / "runs"}) for line in ("list", "list tasks"))
    hashes = [make_corpus.run_all([job], 1) for job in (first, first, second)]
    assert len((tmp_path / "runs").read_text()) == 2
    assert hashes[0] == hashes[1] != hashes[2]
    assert (tmp_path / "code/content/texts/a.txt").read_text() == "list tasks"


def count_runs(job: Job) -> tuple[dict[str, str], float]:
    with Path(job.files["runs"]).open("a") as file:
        file.write(".")
    return {job.name: job.commands[""]}, 0.0


def test_every_job_has_its_own_name():
    jobs = [job for part in ("exports", "importers", "messages", "policies") for job in PARTS[part]()]
    names = [job.name for job in jobs]
    assert len(set(names)) == len(names) > 500
    assert not any("\n" in name for name in names)


def test_times_and_places_do_not_count():
    first = "made in 3.1 s, 1,818 an hour\n median    time  (plan 253, write 21 ms)"
    assert without_times(first) == without_times("made in 12 s, 9 an hour  \n median  time  (plan 7, write 2 ms)")
    assert without_times("goal in 0.3 m\nunlatch: 0/1 episodes after 9 s; none has ended\n") == "goal in 0.3 m\n"
    failed = 'Traceback (most recent call last):\n  File "/a/b.py", line 3, in act\n    act()\nValueError: /a/c\n'
    assert mask_places({"{a}": "/a"}, failed) == "Traceback (most recent call last):\nValueError: {a}/c\n"
    assert plain({"timings_ms": 3.0, "host": "x", "seed": 1}) == plain({"timings_ms": 4.0, "seed": 1})
    assert plain({"seed": 1}) != plain({"seed": 2})


@pytest.mark.parametrize(
    "changed", [{"a": np.zeros(3, np.float32)}, {"a": np.zeros((3, 1))}, {"b": np.zeros(3)}, {"a": np.full(3, -0.0)}]
)
def test_arrays_differ_by_name_type_shape_and_bits(changed: dict[str, Any]):
    assert describe_arrays(changed) != describe_arrays({"a": np.zeros(3)})


def test_files_are_hashed_by_what_they_hold(tmp_path: Path):
    contents: dict[str, list[str]] = {}
    for folder, indent in (("first", 1), ("second", None)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "a.json").write_text(json.dumps({"seed": 1, "created": folder}, indent=indent))
        np.savez(tmp_path / folder / "b.npz", x=np.arange(3))
        files = sorted((tmp_path / folder).iterdir())
        contents[folder] = [describe_file(path, str) for path in files]
    assert contents["first"] == contents["second"]
    found = describe_files(tmp_path, sorted(tmp_path.glob("*/*")), str, each=False)
    assert [line.split()[0] for line in found["files"].splitlines()] == [
        *("first/a.json", "first/b.npz", "second/a.json", "second/b.npz"),
    ]
