"""The report of data sets: its numbers are those of the records, and it needs no other file."""

import json
import re
import shlex
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest

from tests.workflows.viewing.report_page import ReportPage
from unlatch import command_table
from unlatch.simcore.recording.data_set import DataSet
from unlatch.simcore.recording.episode import EPISODE_FILE, STATE_FILE, EpisodeRecord
from unlatch.workflows.cli.terminal import BAD_INPUT, OK
from unlatch.workflows.runs.progress import RUNS, RunTime
from unlatch.workflows.runs.statistics import wilson_interval
from unlatch.workflows.viewing import phase_sheet as phase_pictures
from unlatch.workflows.viewing import report as content_module
from unlatch.workflows.viewing import report_counts as tally_module
from unlatch.workflows.viewing.episode_files import commands_of
from unlatch.workflows.viewing.report_counts import MapPoint, tally
from unlatch.workflows.viewing.report_examples import MOST_POINTS, describe_forces, table_map

CODES = ["slipped", None, "collision", None, "slipped", None, None, "plan_infeasible"]


def attempt(number: int, code: str | None, *, instance: str = "7") -> EpisodeRecord:
    return EpisodeRecord(
        number=number,
        seed=number,
        success=code is None,
        code=code,
        evidence={} if code is None else {"message": "It <failed> & stopped"},
        layout={
            "instances": {"box": {"category": "carton", "instance": instance}},
            "objects": {"box": {"drawn": {"x_m": 0.5 + 0.01 * number, "y_m": 0.1, "yaw_rad": 0.2, "opening.lid": 0.0}}},
        },
        timings_ms={"plan": 10.0 + number, "reset": 5.0, "execute": 400.0},
    )


def make_set(folder: Path, codes: list[str | None] = CODES, **header: object) -> DataSet:
    config = {
        "task": {"name": "open_box"},
        "robot": {"name": "panda"},
        "randomization": {"name": "none"},
        "skills": [{"objects": ["box"]}],
        **header,
    }
    info = {"command": ["unlatch", "collect", "task=open_box", "episodes=8", "workers=2", "seed=3", "out=x"]}
    with DataSet.create_or_resume(folder, header={"config": config}, info=info) as data_set:
        for number, code in enumerate(codes):
            data_set.write(attempt(number, code, instance=str(number % 2)))
    return data_set


def report(*arguments: object) -> int:
    return command_table.main(["report", *map(str, arguments)])


def page_of(*folders: Path, out: Path) -> ReportPage:
    """Makes the report of data sets without pictures; returns its page."""
    assert report(*folders, "pictures=0", f"out={out}") == OK
    return ReportPage(out)


def numbers_of(page: ReportPage) -> dict:
    return json.loads(page.path.with_suffix(".json").read_text())


def make_policy_set(folder: Path) -> None:
    with DataSet.create_or_resume(folder, header={"config": {"task": {"name": "t"}}}) as data_set:
        for number in range(4):
            record = attempt(number, "collision" if number else None)
            reached = number < 2
            record.goal = {"conditions": [], "reached": reached, "reached_frame": 60 if reached else None}
            record.goal |= {"chain_length": 1, "chain_motions": 1}
            record.arrays = {"time": np.arange(61) / 30}
            record.settle = {"frame_start": 45, "frame_end": 60}
            data_set.write(record)


@pytest.mark.slow
def test_a_policy_is_counted_by_goal_and_by_clean_and_by_the_stage_it_reached(tmp_path):
    make_policy_set(tmp_path / "policy")
    text = " ".join(page_of(tmp_path / "policy", out=tmp_path / "page.html").text.split())
    assert "goal 2/4 = 50.0 % (95 % interval 15.0 to 85.0 %), median time to success 2.0 s" in text
    assert "clean 1/4 = 25.0 %" in text
    assert "share mean 0.0 % (95 % interval 0.0 to 49.0 %)" in text  # no skill moved a part


def test_a_sweep_of_policies_has_their_goals_and_a_set_without_an_attempt_has_no_command(tmp_path):
    for name in "ab":
        make_policy_set(tmp_path / "sweep" / name)
    make_set(tmp_path / "sweep" / "c", [])
    ((head, *rows),) = page_of(tmp_path / "sweep", out=tmp_path / "r.html").tables
    goals = [row[head.index("goal")].split(" (")[0] for row in rows]
    assert goals == ["2/4 = 50.0 %", "2/4 = 50.0 %", "-"]
    assert [bool(row[-1].strip()) for row in rows] == [True, True, False]


@pytest.fixture(scope="module")
def alone(tmp_path_factory) -> ReportPage:
    """The page of one data set, whose robot is named by a script."""
    folder = tmp_path_factory.mktemp("alone") / "a"
    make_set(folder, robot={"name": "<script>alert(1)</script>"})
    return page_of(folder, out=folder / "report.html")


def test_the_json_has_the_counts_and_intervals_of_the_records(alone):
    numbers = numbers_of(alone)
    assert numbers["total"]["a"]["n"] == 8
    assert numbers["total"]["a"]["successes"] == 4
    assert numbers["total"]["a"]["interval_95"] == list(wilson_interval(4, 8))
    assert numbers["total"]["a"]["codes"] == {"slipped": 2, "collision": 1, "plan_infeasible": 1}
    success = numbers["success"]
    assert "rests on" not in success
    names = {key: list(success[key]) for key in ("task", "randomization", "category")}
    assert names == {"task": ["open_box"], "randomization": ["none"], "category": ["carton"]}
    by_instance = {name: columns["a"]["successes"] for name, columns in success["instance"].items()}
    assert by_instance == {"carton 0": 1, "carton 1": 3}
    assert [place["number"] for place in numbers["places"]["a"]] == list(range(8))


def test_the_page_needs_no_other_file_and_no_network_and_its_texts_are_escaped(alone):
    assert all(address.startswith(("#", "data:")) for address in alone.addresses), alone.addresses
    assert "http" not in alone.source
    assert not re.search(r"@import|url\((?!#)", alone.source)
    assert not re.search(r"#0a0b[0-9a-f]{2}", alone.source)  # every placeholder colour has become a CSS variable
    assert "50.0 %" in alone.text
    assert "slipped 2" in alone.text
    assert "<script>alert" not in alone.source
    assert "<script>alert" in alone.text
    for said in ("cannot be read", "Left out"):
        assert said not in alone.text, "all of its episodes are whole"


def cut_state(folder: Path) -> None:
    path = folder / STATE_FILE
    path.write_bytes(path.read_bytes()[:-5])


def change_state(folder: Path) -> None:
    path = folder / STATE_FILE
    data = path.read_bytes()
    path.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))


def change_verdict(folder: Path) -> None:
    path = folder / EPISODE_FILE
    path.write_text(path.read_text().replace('"code": "slipped"', '"code": "overload"'))


DAMAGES: dict[str, tuple[Callable[[Path], None], str]] = {
    "cut": (cut_state, "state.npz' is damaged: its SHA-256 is "),
    "changed": (change_state, "state.npz' is damaged: its SHA-256 is "),
    "changed verdict": (change_verdict, "episode.json' was changed since it was written"),
    "no arrays": (lambda folder: (folder / STATE_FILE).unlink(), "state.npz' is missing"),
    "no record": (lambda folder: (folder / EPISODE_FILE).unlink(), "episode.json' is missing"),
}


@pytest.mark.slow
@pytest.mark.parametrize("damage", DAMAGES)
def test_an_episode_that_cannot_be_read_is_named_with_the_reason_and_is_not_counted(damage, tmp_path, capsys):
    data_set = make_set(tmp_path / "a")
    break_it, reason = DAMAGES[damage]
    break_it(data_set.folder_of(4))
    assert report(data_set.path) == OK
    said = capsys.readouterr().err
    assert re.search(rf"a: episode 4 is damaged: File '.*{re.escape(reason)}", said), said
    assert "1 damaged, not counted; the page names them. The command that made a data set makes its damaged" in said
    numbers = json.loads((data_set.path / "report.json").read_text())
    assert numbers["total"]["a"] | {"interval_95": 0, "rate": 0} == {
        "n": 7,
        "successes": 4,
        "rate": 0,
        "interval_95": 0,
        "codes": {"slipped": 1, "collision": 1, "plan_infeasible": 1},
    }
    assert 4 not in [place["number"] for place in numbers["places"]["a"]]
    text = ReportPage(data_set.path / "report.html").text
    assert "1 episode cannot be read and is not counted" in text
    assert "a: episode 4 is damaged" in text
    assert reason in text


@pytest.mark.slow
def test_a_page_names_every_episode_that_cannot_be_read_and_the_terminal_the_first_ones(tmp_path, capsys):
    data_set = make_set(tmp_path / "a")
    for number in range(1, 8):
        cut_state(data_set.folder_of(number))
    assert report(data_set.path, "pictures=0") == OK
    said = capsys.readouterr().err
    assert [f"episode {number} is damaged" in said for number in range(8)] == [False, *[True] * 5, False, False]
    assert "2 more episodes are damaged" in said
    text = ReportPage(data_set.path / "report.html").text
    assert [f"episode {number} is damaged" in text for number in range(8)] == [False, *[True] * 7]


def test_a_set_without_a_readable_episode_gives_an_error_with_the_reason(tmp_path, capsys):
    data_set = make_set(tmp_path / "a", [None])
    cut_state(data_set.folder_of(0))
    assert report(data_set.path, "pictures=0") == BAD_INPUT
    said = capsys.readouterr().err
    assert "There is no episode that can be read in" in said
    assert "episode 0 is damaged: File '" in said
    assert not (data_set.path / "report.html").exists()


@pytest.mark.slow
def test_of_a_large_set_only_some_episodes_are_verified_and_the_page_says_so(tmp_path, monkeypatch):
    data_set = make_set(tmp_path / "a")
    for number in range(8):
        cut_state(data_set.folder_of(number))
    monkeypatch.setattr(tally_module, "MOST_VERIFIED", 3)
    counted = tally(data_set, name="a")
    assert (counted.damaged.numbers, counted.total.n) == ([0, 3, 6], 5)
    assert report(data_set.path, "pictures=0") == OK
    assert "only one in 3 episodes was read to find damaged ones" in ReportPage(data_set.path / "report.html").text


@pytest.mark.slow
def test_two_sets_are_side_by_side_with_what_differs(tmp_path):
    make_set(tmp_path / "a")
    make_set(tmp_path / "b", [None] * 4, robot={"name": "other"})
    page = page_of(tmp_path / "a", tmp_path / "b", out=tmp_path / "r.html")
    numbers = numbers_of(page)
    assert [numbers["total"][name]["n"] for name in ("a", "b")] == [8, 4]
    assert numbers["success"]["robot"]["other"]["a"]["n"] == 0
    assert {"key": "config.robot.name", "values": ['"panda"', '"other"']} in numbers["differences"]
    assert "config.robot.name" in page.text


@pytest.fixture(scope="module")
def sweep(tmp_path_factory) -> ReportPage:
    """The page of three data sets, one of which has only successes."""
    folder = tmp_path_factory.mktemp("sweep")
    for name, task in (("a", "open_box"), ("b", "close_box"), ("c", "turn_box")):
        make_set(folder / "sweep" / name, [None] * 5 if name == "b" else CODES, task={"name": task})
    return page_of(folder / "sweep", out=folder / "r.html")


def test_a_sweep_is_counted_together_and_is_one_table_and_one_plot(sweep):
    numbers = numbers_of(sweep)
    assert numbers["total"]["3 data sets"]["n"] == 21
    assert numbers["success"]["data set"].keys() == {"a", "b", "c"}
    ((head, *rows),) = sweep.tables
    assert head == ["data set", "task", "success", "failures", "median time", "look at an episode"]
    assert [row[:2] for row in rows] == [["a", "open_box"], ["b", "close_box"], ["c", "turn_box"]]
    assert [row[3] for row in rows[:2]] == ["slipped 2, collision 1, plan_infeasible 1", "none"]
    assert list(sweep.sections) == ["Success by data set", "Data sets", "Each data set"]
    assert "[svg]" not in sweep.sections["Success by data set"] + sweep.sections["Data sets"]
    plot = sweep.source[sweep.source.index('class="card outcomes"') :].partition("</section>")[0]
    assert plot.count('class="outcome"') == 3


@pytest.mark.slow
def test_the_pace_of_a_sweep_counts_its_sets_without_a_success(tmp_path):
    for name, codes, seconds in (("a", [None] * 6, 10.0), ("b", ["slipped"] * 6, 60.0), ("c", [None], 2.0)):
        make_set(tmp_path / name, codes)
        runs = tmp_path / name / RUNS
        runs.mkdir()
        (runs / "one.json").write_text(json.dumps(asdict(RunTime(1.0, 100.0, 100.0 + seconds, len(codes)))))
    assert "650episodes an hour over all runs" in page_of(tmp_path, out=tmp_path / "page.html").text  # 13 in 72 s


@pytest.mark.slow
def test_one_attempt_without_a_pace_has_no_tile_for_it(tmp_path):
    make_set(tmp_path / "box", ["slipped"])
    page = page_of(tmp_path / "box", out=tmp_path / "page.html")
    assert "1 attempt in box" in page.text
    assert "episodes an hour" not in page.text
    assert "median time of an episode" in page.text


def test_the_command_of_each_row_shows_an_episode_that_exists(sweep):
    for name, code, row in zip("abc", ("slipped", None, "slipped"), sweep.tables[0][1:], strict=True):
        command, view, path, key = shlex.split(row[-1].strip().removesuffix("copy"))
        number = int(key.removeprefix("episode="))
        assert (command, view, Path(path).name) == ("unlatch", "view", name)
        assert DataSet.open(path).read(number).code == code


@pytest.mark.slow
def test_the_sets_of_a_sweep_have_charts_that_are_folded_and_the_first_ones_only(tmp_path, monkeypatch):
    monkeypatch.setattr(content_module, "MOST_CHARTED", 1)
    for name in "abc":
        make_set(tmp_path / "sweep" / name)
    page = page_of(tmp_path / "sweep", out=tmp_path / "r.html")
    assert page.source.count("<details") >= 3
    assert sum(text.count("[svg]") for text in page.sections.values()) == 2  # the maps of the first data set
    assert "Only the first 1 have charts here." in page.text


def test_counted_values_come_from_the_index_if_it_suffices(tmp_path, monkeypatch):
    data_set = make_set(tmp_path / "a")
    monkeypatch.setattr(DataSet, "read", lambda *args, **options: pytest.fail("an episode was read"))
    counted = tally(data_set, name="a")
    assert (counted.total.n, counted.total.successes) == (8, 4)
    assert [place.x_m for place in counted.places.items] == pytest.approx([0.5 + 0.01 * number for number in range(8)])


@pytest.mark.slow
def test_successes_are_counted_by_the_side_that_is_down_if_objects_lie(tmp_path):
    header = {"config": {"skills": [{"objects": ["box"]}]}}
    with DataSet.create_or_resume(tmp_path / "a", header=header, info={"command": ["unlatch", "collect"]}) as a:
        for number, code in enumerate(CODES):
            record = attempt(number, code)
            if number < 5:
                record.layout["instances"]["box"]["rests_on"] = "back"
            a.write(record)
    sides = numbers_of(page_of(tmp_path / "a", out=tmp_path / "r.html"))["success"]["rests on"]
    counts = {side: (columns["a"]["successes"], columns["a"]["n"]) for side, columns in sides.items()}
    assert counts == {"back": (2, 5), "bottom": (2, 3)}


def test_missing_objects_of_index_lines_are_read_from_the_folders(tmp_path):
    data_set = make_set(tmp_path / "a")
    (index,) = (tmp_path / "a" / "index").glob("*.jsonl")
    lines = [json.loads(line) for line in index.read_text().splitlines()]
    for line in lines:
        del line["objects"]
    index.write_text("".join(json.dumps(line, sort_keys=True) + "\n" for line in lines))
    counted = tally(data_set, name="a")
    assert counted.by_category["carton"].n == 8
    assert len(counted.places.items) == 8


def test_large_sets_are_counted_completely_and_sampled_evenly(tmp_path, monkeypatch):
    most = 100
    monkeypatch.setattr(tally_module, "SAMPLE", most)
    data_set = make_set(tmp_path / "a", [None])
    counted = tally(data_set, name="a")
    (summary,) = data_set.summaries()
    for _ in range(3 * most):
        counted.add(summary)
    assert counted.total.n == 3 * most + 1
    assert most // 2 <= len(counted.places.items) < most


def test_many_attempts_are_drawn_as_rates():
    places = [
        MapPoint(i, None if i % 3 else "slipped", 0.001 * i, 0.0005 * i, 0.0, 0.0) for i in range(MOST_POINTS + 1)
    ]
    assert "success rate" in table_map(places)
    assert "success rate" not in table_map(places[:-1])


def test_the_reproduction_command_keeps_the_keys_of_the_episode(tmp_path):
    data_set = make_set(tmp_path / "a")
    command = commands_of(data_set)["make it again"]
    assert command == "unlatch collect task=open_box seed=3 'only=[NUMBER]' out=data/again"


@pytest.mark.slow
def test_a_set_without_failures_has_no_empty_section_or_chart(tmp_path):
    make_set(tmp_path / "a", [None] * 3)
    page = page_of(tmp_path / "a", out=tmp_path / "r.html")
    assert list(page.sections) == ["Success", "Times", "Reproduce an episode"]
    assert "None." not in page.text
    for title, content in page.sections.items():
        assert re.search(r"\[(svg|i)\]|unlatch view", content), title


@pytest.mark.slow
@pytest.mark.integration
def test_successes_and_failures_have_pictures_without_clips_and_the_force_on_the_fingers(tmp_path, monkeypatch):
    monkeypatch.setattr(phase_pictures, "OVERSAMPLED", 1)  # what they show is tested in `test_failure_pictures.py`
    common = ["task=close_drawer", "executor=serial", "episodes=2", "pictures=0", f"out={tmp_path / 'a'}"]
    # the first drawer stands where no arm reaches it
    assert command_table.main(["collect", *common, "task.regions.0.half_extent_m=[1.0, 0.0]"]) == OK
    assert report(tmp_path / "a", "clips=0") == OK
    numbers = json.loads((tmp_path / "a" / "report.json").read_text())
    codes = set(numbers["total"]["a"]["codes"])
    assert len(codes) == 1
    assert {strip["code"] for strip in numbers["strips"]} == {None, *codes}
    page = ReportPage(tmp_path / "a" / "report.html")
    assert sum(address.startswith("data:image/jpeg") for address in page.addresses) >= len(numbers["strips"])
    assert page.videos == []
    (curves,) = numbers["curves"]["a"]
    record = DataSet.open(str(tmp_path / "a"))[curves["episode"]]
    (force,) = (array for key, array in record.arrays.items() if key.endswith("fingers.force_sustained_n"))
    (skill,) = record.skills
    assert curves["finger_force_n"] == pytest.approx(force[: len(curves["finger_force_n"])], abs=1e-3)
    assert curves["finger_force_limit_n"] == skill["finger_force_limit_n"]
    stated = f"20 ms: {force.max():.0f} N (allowed {skill['finger_force_limit_n']:.0f} N)"
    assert f"grip force {skill['grip_force_n']:.0f} N; largest force on a finger for longer than {stated}" in page.text


def test_a_skill_that_drags_has_the_press_of_its_fingertips_not_their_grip():
    opened, dragged = {"grip_force_n": 42.0}, {"grip_force_n": 30.0, "press_force_n": 23.6}
    described = [
        describe_forces(EpisodeRecord(0, 1, True, skills=skills)) for skills in ([opened], [dragged], [opened, dragged])
    ]
    press = "force of the fingertips on a dragged part 24 N"
    assert described == ["grip force 42 N", press, f"grip force 42 N; {press}"]
