"""Data sets joined: byte by byte, each episode once, and nothing of another configuration."""

import json
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from rich.console import Console

from unlatch import command_table
from unlatch.simcore.recording.check import check_dataset
from unlatch.simcore.recording.data_set import DataSet
from unlatch.simcore.recording.episode import EPISODE_FILE, STATE_FILE, EpisodeRecord
from unlatch.simcore.recording.index import EpisodeSummary, read_lines
from unlatch.workflows.cli.terminal import BAD_INPUT, FAILED, OK
from unlatch.workflows.commands import data_sets as watch


def make_set(folder: Path, numbers: Sequence[int], *, seed: int = 0, plan_ms: float = 1.0) -> DataSet:
    header = {"config": {"task": {"name": "t"}, "seed": seed}}
    with DataSet.create_or_resume(folder, header=header) as data_set:
        for number in numbers:
            record = EpisodeRecord(number=number, seed=number, success=False, code="invalid_layout")
            record.timings_ms["plan"] = plan_ms
            data_set.write(record)
    return data_set


def merge(*arguments: object) -> int:
    return command_table.main(["merge", *map(str, arguments)])


@pytest.mark.parametrize("link", [False, True])
def test_every_merged_episode_exists_once_and_is_equal_to_the_byte(tmp_path, link):
    sources = [make_set(tmp_path / "a", [0, 2, 1001]), make_set(tmp_path / "b", [1, 3])]
    assert merge(tmp_path / "out", tmp_path / "a", tmp_path / "b", f"link={str(link).lower()}") == OK
    joined = DataSet.open(tmp_path / "out")
    assert joined.numbers() == [0, 1, 2, 3, 1001]
    for source in sources:
        for number in source.numbers():
            for name in (EPISODE_FILE, STATE_FILE):
                theirs, ours = source.folder_of(number) / name, joined.folder_of(number) / name
                assert ours.read_bytes() == theirs.read_bytes()
                assert ours.samefile(theirs) == link
    assert [summary.number for summary in joined.summaries()] == joined.numbers()
    assert not list(check_dataset(joined.path))


def test_a_set_of_another_configuration_raises_an_error_with_the_keys(tmp_path, capsys):
    make_set(tmp_path / "a", [0])
    make_set(tmp_path / "b", [1], seed=7)
    assert merge(tmp_path / "out", tmp_path / "a", tmp_path / "b") == BAD_INPUT
    assert "config.seed: there 0, now 7" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_stopped_merge_can_be_resumed(tmp_path, monkeypatch):
    make_set(tmp_path / "a", range(6))
    whole = DataSet.copy_episode

    def dies_at_the_fourth(self: DataSet, source: Path, summary: EpisodeSummary, *, link: bool = False) -> bool:
        if summary.number == 3:
            raise KeyboardInterrupt
        return whole(self, source, summary, link=link)

    monkeypatch.setattr(DataSet, "copy_episode", dies_at_the_fourth)
    merge(tmp_path / "out", tmp_path / "a")
    assert len(DataSet.open(tmp_path / "out")) == 3
    monkeypatch.setattr(DataSet, "copy_episode", whole)
    assert merge(tmp_path / "out", tmp_path / "a") == OK
    assert DataSet.open(tmp_path / "out").numbers() == list(range(6))
    assert not list((tmp_path / "out" / ".tmp").iterdir())


def test_an_episode_made_twice_is_taken_once(tmp_path):
    make_set(tmp_path / "a", [0, 1])
    make_set(tmp_path / "b", [1, 2], plan_ms=5.0)  # wall times differ, the episode does not
    assert merge(tmp_path / "out", tmp_path / "a", tmp_path / "b") == OK
    joined = DataSet.open(tmp_path / "out")
    assert joined.numbers() == [0, 1, 2]
    assert joined.read(1).timings_ms["plan"] == 1.0


def test_a_damaged_episode_is_left_out_and_named(tmp_path, capsys):
    source = make_set(tmp_path / "a", [0, 1])
    (source.folder_of(0) / STATE_FILE).write_bytes(b"cut")
    assert merge(tmp_path / "out", tmp_path / "a") == FAILED
    assert "is damaged" in capsys.readouterr().err
    assert DataSet.open(tmp_path / "out").numbers() == [1]


def make_outcomes(folder: Path, outcomes: dict[int, str | None]) -> DataSet:
    with DataSet.create_or_resume(folder, header={"config": {}}) as data_set:
        for number, code in outcomes.items():
            data_set.write(EpisodeRecord(number=number, seed=number, success=code is None, code=code))
    return data_set


@pytest.mark.parametrize("names", ["ab", "ba"])
def test_another_outcome_is_taken_in_place_of_an_error_in_any_order(names, tmp_path):
    make_outcomes(tmp_path / "a", {0: "error", 1: None, 2: "error", 3: "error"})
    make_outcomes(tmp_path / "b", {0: None, 1: "error", 2: "error", 4: "error"})
    assert merge(tmp_path / "out", *(tmp_path / name for name in names)) == OK
    joined = DataSet.open(tmp_path / "out")
    assert [item.code for item in joined.summaries()] == [None, None, "error", "error", "error"]


def test_an_error_in_the_joined_set_is_replaced_by_the_episode_that_was_made_again(tmp_path, capsys):
    made_again = {0: None, 1: None, 2: "error"}
    make_outcomes(tmp_path / "a", {0: "error", 1: None, 2: "error"})
    assert merge(tmp_path / "out", tmp_path / "a") == OK
    make_outcomes(tmp_path / "b", made_again)
    make_outcomes(tmp_path / "c", made_again)
    capsys.readouterr()
    assert merge(tmp_path / "out", tmp_path / "b", tmp_path / "c") == OK
    assert "3 episodes, 1 taken" in capsys.readouterr().out
    joined = DataSet.open(tmp_path / "out")
    assert [item.code for item in joined.summaries()] == [None, None, "error"]
    assert joined.read(0).code is None
    assert [item.code for item in read_lines(joined.path) if item.number == 0] == [None]


def test_unlike_sets_are_refused_with_the_key_that_differs(tmp_path, capsys):
    make_set(tmp_path / "a", [0])
    with DataSet.create_or_resume(tmp_path / "b", header={"config": {"seed": 8}}):
        pass
    assert merge(tmp_path / "out", tmp_path / "a", tmp_path / "b") == BAD_INPUT
    said = capsys.readouterr().err
    assert "config.seed: there " in said
    assert f"Expected the same values as in '{tmp_path / 'b'}'. Merge sets of one configuration only." in said
    assert "resume" not in said


def test_merging_a_set_into_itself_raises_an_error(tmp_path, capsys):
    make_set(tmp_path / "a", [0])
    make_set(tmp_path / "b", [1])
    assert merge(tmp_path / "a", tmp_path / "a", tmp_path / "b") == BAD_INPUT
    assert "one of the data sets" in capsys.readouterr().err


def test_without_a_terminal_a_folder_of_sets_is_printed_once(tmp_path, capsys):
    for name, codes in (("one", [None, "slipped", None]), ("two", ["collision"])):
        with DataSet.create_or_resume(tmp_path / name, header={"config": {}}) as data_set:
            for number, code in enumerate(codes):
                data_set.write(EpisodeRecord(number=number, seed=0, success=code is None, code=code))
    now = time.time()
    (tmp_path / "one" / "runs").mkdir()
    times = {"startup_s": 5.0, "began": now - 100.0, "ended": now - 10.0, "episodes": 3}
    (tmp_path / "one" / "runs" / "host-run-1.json").write_text(json.dumps(times), encoding="utf-8")
    assert command_table.main(["watch", str(tmp_path)]) == OK
    _, _, one, two, *_ = [line for line in capsys.readouterr().out.splitlines() if line.strip()]
    assert "2/3 (21 to 94 %)" in one
    assert "slipped 1" in one
    assert "0/1 (0 to 79 %)" in two
    assert "collision 1" in two
    assert "120 " in one  # three in 90 s
    assert "s ago" in one
    assert "ago" not in two


def test_a_terminal_of_80_columns_shows_one_line_for_each_set(tmp_path, capsys):
    with DataSet.create_or_resume(tmp_path / "close_drawer", header={"config": {}}) as data_set:
        for number in range(100):
            timings = {"plan": 170.0, "reset": 107.0, "execute": 820.0}
            data_set.write(EpisodeRecord(number=number, seed=0, success=True, code=None, timings_ms=timings))
    console = Console(width=80)
    console.print(watch.growth_table([str(tmp_path)], 80))
    lines = [line for line in capsys.readouterr().out.splitlines() if line.strip()]
    assert len(lines) == 3
    assert lines[2].split()[:6] == ["close_drawer", "100/100", "(96", "to", "100", "%)"]
    *_, median_s, unit = lines[2].split()
    assert float(median_s) >= 1.10  # and what writing took
    assert unit == "s"


def test_long_names_are_shown_whole_on_a_narrow_terminal(tmp_path, capsys):
    names = [f"open_refrigerator-franka_panda-s{seed}" for seed in (1, 2)]
    for name in names:
        DataSet.create_or_resume(tmp_path / name, header={"config": {}}).close()
    Console(width=80).print(watch.growth_table([str(tmp_path)], 80))
    out = capsys.readouterr().out
    first_column = "".join(line.split("  ")[0].strip() for line in out.splitlines())
    assert all(name in first_column for name in names)
    assert max(map(len, out.splitlines())) <= 80


def test_a_terminal_shows_how_to_end_watch(tmp_path, capsys, monkeypatch):
    DataSet.create_or_resume(tmp_path / "one", header={"config": {}}).close()

    def interrupted(seconds: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(watch, "result_console", lambda: Console(force_terminal=True, width=80))
    monkeypatch.setattr(watch.time, "sleep", interrupted)
    assert command_table.main(["watch", str(tmp_path)]) == OK
    assert "until Ctrl-C" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "words"), [([], "at least 1"), (["nowhere"], "does not exist"), ([".", "every_s=0"], "0.1")]
)
def test_wrong_input_is_one_line(tmp_path, assert_refused, arguments, words):
    assert_refused("watch", *arguments, text=words, folder=tmp_path)
