"""Data sets joined: byte by byte, each episode once, and nothing of another configuration."""

import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from rich.console import Console

from tests.workflows.builders import data_set_of
from unlatch import command_table
from unlatch.simcore.recording.check import check_dataset
from unlatch.simcore.recording.data_set import DataSet
from unlatch.simcore.recording.episode import EPISODE_FILE, STATE_FILE
from unlatch.simcore.recording.index import EpisodeSummary, read_lines
from unlatch.workflows.cli.terminal import BAD_INPUT, FAILED, OK
from unlatch.workflows.commands import data_sets as watch


def make_set(folder: Path, numbers: Sequence[int], *, seed: int = 0, plan_ms: float = 1.0) -> DataSet:
    header = {"config": {"task": {"name": "t"}, "seed": seed}}
    codes = dict.fromkeys(numbers, "invalid_layout")
    return data_set_of(folder, codes, header=header, timings_ms={"plan": plan_ms})


@pytest.fixture
def merge(tmp_path, run_command) -> Callable[..., tuple[int, str, str]]:
    """Runs `unlatch merge` into `out` of the folder of the test, from data sets there; or into another one."""

    def run(*names: str, out: str = "out", options: Sequence[str] = ()) -> tuple[int, str, str]:
        return run_command("merge", tmp_path / out, *(tmp_path / name for name in names), *options)

    return run


@pytest.mark.parametrize("link", [False, True])
def test_every_merged_episode_exists_once_and_is_equal_to_the_byte(tmp_path, merge, link):
    sources = [make_set(tmp_path / "a", [0, 2, 1001]), make_set(tmp_path / "b", [1, 3])]
    assert merge("a", "b", options=[f"link={str(link).lower()}"])[0] == OK
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


def test_a_set_of_another_configuration_is_refused_with_the_key_that_differs(tmp_path, merge):
    make_set(tmp_path / "a", [0])
    make_set(tmp_path / "b", [1], seed=7)
    code, _, err = merge("a", "b")
    assert code == BAD_INPUT
    assert "config.seed: there 0, now 7" in err
    assert f"Expected the same values as in '{tmp_path / 'b'}'. Merge sets of one configuration only." in err
    assert "resume" not in err
    assert not (tmp_path / "out").exists()


def test_a_stopped_merge_can_be_resumed(tmp_path, merge, monkeypatch):
    make_set(tmp_path / "a", range(6))
    whole = DataSet.copy_episode

    def dies_at_the_fourth(self: DataSet, source: Path, summary: EpisodeSummary, *, link: bool = False) -> bool:
        if summary.number == 3:
            raise KeyboardInterrupt
        return whole(self, source, summary, link=link)

    monkeypatch.setattr(DataSet, "copy_episode", dies_at_the_fourth)
    merge("a")
    assert len(DataSet.open(tmp_path / "out")) == 3
    monkeypatch.setattr(DataSet, "copy_episode", whole)
    assert merge("a")[0] == OK
    assert DataSet.open(tmp_path / "out").numbers() == list(range(6))
    assert not list((tmp_path / "out" / ".tmp").iterdir())


def test_an_episode_made_twice_is_taken_once(tmp_path, merge):
    make_set(tmp_path / "a", [0, 1])
    make_set(tmp_path / "b", [1, 2], plan_ms=5.0)  # wall times differ, the episode does not
    assert merge("a", "b")[0] == OK
    joined = DataSet.open(tmp_path / "out")
    assert joined.numbers() == [0, 1, 2]
    assert joined.read(1).timings_ms["plan"] == 1.0


def test_a_damaged_episode_is_left_out_and_named(tmp_path, merge):
    source = make_set(tmp_path / "a", [0, 1])
    (source.folder_of(0) / STATE_FILE).write_bytes(b"cut")
    code, _, err = merge("a")
    assert (code, "is damaged" in err) == (FAILED, True)
    assert DataSet.open(tmp_path / "out").numbers() == [1]


@pytest.mark.parametrize("names", ["ab", "ba"])
def test_another_outcome_is_taken_in_place_of_an_error_in_any_order(names, tmp_path, merge):
    data_set_of(tmp_path / "a", {0: "error", 1: None, 2: "error", 3: "error"})
    data_set_of(tmp_path / "b", {0: None, 1: "error", 2: "error", 4: "error"})
    assert merge(*names)[0] == OK
    joined = DataSet.open(tmp_path / "out")
    assert [item.code for item in joined.summaries()] == [None, None, "error", "error", "error"]


def test_an_error_in_the_joined_set_is_replaced_by_the_episode_that_was_made_again(tmp_path, merge):
    data_set_of(tmp_path / "a", {0: "error", 1: None, 2: "error"})
    assert merge("a")[0] == OK
    for name in "bc":
        data_set_of(tmp_path / name, {0: None, 1: None, 2: "error"})
    code, out, _ = merge("b", "c")
    assert (code, "3 episodes, 1 taken" in out) == (OK, True)
    joined = DataSet.open(tmp_path / "out")
    assert [item.code for item in joined.summaries()] == [None, None, "error"]
    assert joined.read(0).code is None
    assert [item.code for item in read_lines(joined.path) if item.number == 0] == [None]


def test_merging_a_set_into_itself_raises_an_error(tmp_path, merge):
    for number, name in enumerate("ab"):
        make_set(tmp_path / name, [number])
    code, _, err = merge("a", "b", out="a")
    assert (code, "one of the data sets" in err) == (BAD_INPUT, True)


def test_without_a_terminal_a_folder_of_sets_is_printed_once(tmp_path, run_command):
    data_set_of(tmp_path / "one", {0: None, 1: "slipped", 2: None})
    data_set_of(tmp_path / "two", {0: "collision"})
    now = time.time()
    (tmp_path / "one" / "runs").mkdir()
    times = {"startup_s": 5.0, "began": now - 100.0, "ended": now - 10.0, "episodes": 3}
    (tmp_path / "one" / "runs" / "host-run-1.json").write_text(json.dumps(times), encoding="utf-8")
    code, out, _ = run_command("watch", tmp_path)
    _, _, one, two, *_ = [line for line in out.splitlines() if line.strip()]
    assert code == OK
    for said in ("2/3 (21 to 94 %)", "slipped 1", "120 ", "s ago"):  # three in 90 s
        assert said in one
    for said in ("0/1 (0 to 79 %)", "collision 1"):
        assert said in two
    assert "ago" not in two


def test_a_terminal_of_80_columns_shows_one_line_for_each_set(tmp_path, capsys):
    timings = {"plan": 170.0, "reset": 107.0, "execute": 820.0}
    data_set_of(tmp_path / "close_drawer", [None] * 100, timings_ms=timings)
    Console(width=80).print(watch.growth_table([str(tmp_path)], 80))
    lines = [line for line in capsys.readouterr().out.splitlines() if line.strip()]
    assert len(lines) == 3
    assert lines[2].split()[:6] == ["close_drawer", "100/100", "(96", "to", "100", "%)"]
    *_, median_s, unit = lines[2].split()
    assert float(median_s) >= 1.10  # and what writing took
    assert unit == "s"


def test_long_names_are_shown_whole_on_a_narrow_terminal(tmp_path, capsys):
    name = "open_refrigerator-franka_panda-s1"
    data_set_of(tmp_path / name, [])
    Console(width=80).print(watch.growth_table([str(tmp_path)], 80))
    lines = capsys.readouterr().out.splitlines()
    assert name in "".join(line.split("  ")[0].strip() for line in lines)
    assert max(map(len, lines)) <= 80


def test_a_terminal_shows_how_to_end_watch(tmp_path, capsys, monkeypatch):
    data_set_of(tmp_path / "one", [])

    def interrupted(seconds: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(watch, "result_console", lambda: Console(force_terminal=True, width=80))
    monkeypatch.setattr(watch.time, "sleep", interrupted)
    assert command_table.main(["watch", str(tmp_path)]) == OK
    assert "until Ctrl-C" in capsys.readouterr().out
