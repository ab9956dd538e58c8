"""The summary of a run: its exit code, its pace, and the command that shows the first failure."""

import json
from dataclasses import asdict
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.workflows.builders import data_set_of
from unlatch import command_table
from unlatch.simcore.errors import ConfigError
from unlatch.workflows.cli.run_report import _describe_first, exit_code, print_summary, run_job
from unlatch.workflows.cli.sweep_jobs import name_jobs, run_one_by_one
from unlatch.workflows.cli.terminal import FAILED, OK
from unlatch.workflows.episode.attempt import Attempt
from unlatch.workflows.runs.progress import RunTime
from unlatch.workflows.runs.run import RunResult, StopCondition
from unlatch.workflows.runs.statistics import RunStatistics


@pytest.mark.parametrize(
    ("statistics", "code"),
    [
        (RunStatistics(n=3, successes=0, codes={"error": 3}), FAILED),
        (RunStatistics(n=3, successes=0, codes={"error": 2, "slipped": 1}), FAILED),
        (RunStatistics(n=3, successes=2, codes={"error": 1}), FAILED),
        (RunStatistics(n=3, successes=2, codes={"timeout": 1}), OK),
        (RunStatistics(n=3, successes=0, codes={"plan_infeasible": 3}), OK),
        (RunStatistics(n=0, successes=0), OK),
    ],
)
def test_a_run_in_which_an_attempt_is_an_error_fails(statistics, code):
    assert exit_code(statistics) == code


REFUSED = "plan_infeasible"
INFO = {"command": ["unlatch", "collect", "task=open_drawer", "episodes=9"]}


@pytest.mark.parametrize(
    ("code", "frames", "command", "shown"),
    [
        ("plan_infeasible", 0, "collect", "unlatch plan task=open_drawer episode=0"),
        ("motion_blocked", 0, "collect", "unlatch plan task=open_drawer episode=0"),
        ("motion_blocked", 40, "collect", "unlatch phases set episode=0"),
        ("collision", 0, "collect", "unlatch phases set episode=0"),
        ("plan_infeasible", 0, "evaluate", "unlatch phases set episode=0"),
    ],
)
def test_a_failure_without_a_plan_is_shown_by_plan(code, frames, command, shown, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    info = {"command": ["unlatch", command, "task=open_drawer", "episodes=9"]}
    skills = [{"name": "open", "frame_start": 5, "frame_end": 5 + frames}] if frames else []
    data = data_set_of(tmp_path / "set", [code], info=info, evidence={"message": "no way"}, skills=skills)
    lines = list(_describe_first(code, data, RunStatistics.of(data.summaries()), debug=False))
    assert lines == [f"first {code}, episode 0: no way", f"look: {shown}"]


@pytest.mark.parametrize(("codes", "has_pace"), [(2 * [REFUSED], False), (2 * [None], True), (10 * [REFUSED], True)])
def test_a_few_refused_episodes_have_no_pace(codes, has_pace, tmp_path, capsys):
    data, count = data_set_of(tmp_path / "set", codes, info=INFO), len(codes)
    times = RunTime(1.0, 0.0, 0.1, count)
    print_summary(RunResult(data, list(range(count)), count, 2.0, times, StopCondition(), interrupted=False))
    assert ("an hour" in capsys.readouterr().out) == has_pace


def test_a_run_that_adds_to_earlier_ones_has_its_own_pace_and_that_over_all(tmp_path, capsys):
    data = data_set_of(tmp_path / "set", [None] * 12, info=INFO)
    times = [RunTime(1.0, 0.0, 10.0, 10), RunTime(1.0, 100.0, 101.0, 2)]
    (data.path / "runs").mkdir(exist_ok=True)
    for name, run in zip("ab", times, strict=True):
        (data.path / "runs" / f"{name}.json").write_text(json.dumps(asdict(run)))
    print_summary(RunResult(data, list(range(12)), 2, 3.0, times[1], StopCondition(), interrupted=False))
    said = capsys.readouterr().out.splitlines()[0]
    assert said.endswith("2 made in 3.0 s (1.0 s start-up), 7,200 an hour; over all 2 runs 3,927 an hour")


@pytest.mark.slow
@pytest.mark.integration
def test_collect_exits_with_1_if_an_attempt_is_an_error(tmp_path, monkeypatch, capsys):
    run = Attempt.run

    def broken(self: Attempt) -> None:
        if self.episode.number == 1:
            raise RuntimeError("made on purpose")
        run(self)

    monkeypatch.setattr(Attempt, "run", broken)
    arguments = ["task=open_drawer", "executor=serial", "episodes=2", "pictures=0", f"out={tmp_path / 'set'}"]
    assert command_table.main(["collect", *arguments]) == FAILED
    assert "error 1" in capsys.readouterr().out


WORDS = (["task=a", "robot=ur5", "seed=1"], ["task=a", "robot=ur5", "seed=2"], ["task=a", "robot=fr3", "seed=1"])


@pytest.fixture
def jobs(tmp_path, monkeypatch) -> list[Any]:
    monkeypatch.chdir(tmp_path)
    cfgs = [SimpleNamespace(out=f"set{i}", task=SimpleNamespace(name="a")) for i in range(len(WORDS))]
    return [
        SimpleNamespace(cfg=cfg, overrides=words, notices=["a notice"] if cfg.out == "set1" else [])
        for cfg, words in zip(cfgs, WORDS, strict=True)
    ]


def make(cfg: Any) -> int:
    """Makes a data set with a success and a failure."""
    data_set_of(Path(cfg.out), [None, "slipped"])
    return FAILED if cfg.out == "set1" else OK


def test_jobs_are_named_by_what_differs_and_the_table_has_their_results(jobs, capsys):
    names = name_jobs(jobs, given=[])
    assert names == ["robot=ur5 seed=1", "robot=ur5 seed=2", "robot=fr3 seed=1"]
    assert run_one_by_one(jobs, partial(run_job, run=make), names=names, prefix="") == FAILED
    out, err = capsys.readouterr()
    assert err.splitlines() == [
        "unlatch: job 1 of 3: robot=ur5 seed=1",
        "unlatch: job 2 of 3: robot=ur5 seed=2",
        "a notice",
        "unlatch: job 3 of 3: robot=fr3 seed=1",
    ]
    rows = [line.split() for line in out.splitlines() if "seed=" in line]
    assert [row[:6] for row in rows] == [
        ["robot=ur5", "seed=1", "0", "1/2", "=", "50.0"],
        ["robot=ur5", "seed=2", "1", "1/2", "=", "50.0"],
        ["robot=fr3", "seed=1", "0", "1/2", "=", "50.0"],
    ]
    assert [row[-1] for row in rows] == ["set0", "set1", "set2"]


def test_after_an_error_the_table_says_which_jobs_did_not_run(jobs, capsys):
    def refuse_second(cfg: Any) -> int:
        if cfg.out == "set1":
            raise ConfigError("no")
        return make(cfg)

    with pytest.raises(ConfigError):
        run_one_by_one(jobs, partial(run_job, run=refuse_second), names=["one", "two", "three"], prefix="")
    rows = [line.split() for line in capsys.readouterr().out.splitlines() if line.split()[:1] in (["two"], ["three"])]
    assert rows == [["two", "-", "not", "run"], ["three", "-", "not", "run"]]


def test_a_single_job_has_no_name_and_no_table(jobs, capsys):
    assert run_one_by_one(jobs[:1], partial(run_job, run=make), names=["one"], prefix="") == OK
    assert capsys.readouterr() == ("", "")
