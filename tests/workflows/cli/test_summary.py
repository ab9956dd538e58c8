"""The exit code of a run."""

from pathlib import Path

import pytest

from unlatch import command_table
from unlatch.workflows.cli.console import FAILED, OK
from unlatch.workflows.cli.run_report import exit_code
from unlatch.workflows.episode.attempt import Attempt
from unlatch.workflows.runs.statistics import RunStatistics


@pytest.mark.parametrize(
    ("statistics", "code"),
    [
        (RunStatistics(n=3, successes=0, codes={"error": 3}), FAILED),
        (RunStatistics(n=3, successes=0, codes={"error": 2, "slipped": 1}), OK),
        (RunStatistics(n=3, successes=1, codes={"error": 2}), OK),
        (RunStatistics(n=3, successes=0, codes={"plan_infeasible": 3}), OK),
        (RunStatistics(n=0, successes=0), OK),
    ],
)
def test_a_run_in_which_every_attempt_is_an_error_fails(statistics: RunStatistics, code: int):
    assert exit_code(statistics) == code


@pytest.mark.slow
@pytest.mark.integration
def test_collect_exits_with_1_if_every_attempt_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    def broken(self: Attempt) -> None:
        raise RuntimeError("made on purpose")

    monkeypatch.setattr(Attempt, "run", broken)
    arguments = ["task=open_drawer", "executor=serial", "episodes=2", "pictures=0", f"out={tmp_path / 'set'}"]
    assert command_table.main(["collect", *arguments]) == FAILED
    assert "error 2" in capsys.readouterr().out
