"""`unlatch watch`: the progress of data sets while they grow."""

from __future__ import annotations

import json
import time

import pytest
from rich.console import Console

from unlatch import command_table
from unlatch.simcore.recording.data_set import DataSet
from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.workflows.cli.terminal import OK
from unlatch.workflows.commands import data_sets as watch


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
