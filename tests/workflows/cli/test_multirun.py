"""The jobs of a multirun in this process: each is named, and a table ends the command."""

from types import SimpleNamespace
from typing import Any

import pytest

from unlatch.simcore.errors import ConfigError
from unlatch.simcore.recording.data_set import DataSet
from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.workflows.cli.multirun import _name_jobs, _run_one_by_one
from unlatch.workflows.cli.terminal import FAILED, OK

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
    with DataSet.create_or_resume(cfg.out, header={}) as data_set:
        data_set.write(EpisodeRecord(number=0, seed=1, success=True))
        data_set.write(EpisodeRecord(number=1, seed=2, success=False, code="slipped"))
    return FAILED if cfg.out == "set1" else OK


def test_jobs_are_named_by_what_differs_and_the_table_has_their_results(jobs, capsys):
    names = _name_jobs(jobs, given=[])
    assert names == ["robot=ur5 seed=1", "robot=ur5 seed=2", "robot=fr3 seed=1"]
    assert _run_one_by_one(jobs, make, names=names, prefix="") == FAILED
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
        _run_one_by_one(jobs, refuse_second, names=["one", "two", "three"], prefix="")
    rows = [line.split() for line in capsys.readouterr().out.splitlines() if line.split()[:1] in (["two"], ["three"])]
    assert rows == [["two", "-", "not", "run"], ["three", "-", "not", "run"]]


def test_a_single_job_has_no_name_and_no_table(jobs, capsys):
    assert _run_one_by_one(jobs[:1], make, names=["one"], prefix="") == OK
    assert capsys.readouterr() == ("", "")
