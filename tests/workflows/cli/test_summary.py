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
        (RunStatistics(n=3, successes=0, codes={"error": 2, "slipped": 1}), FAILED),
        (RunStatistics(n=3, successes=2, codes={"error": 1}), FAILED),
        (RunStatistics(n=3, successes=2, codes={"timeout": 1}), OK),
        (RunStatistics(n=3, successes=0, codes={"plan_infeasible": 3}), OK),
        (RunStatistics(n=0, successes=0), OK),
    ],
)
def test_a_run_in_which_an_attempt_is_an_error_fails(statistics: RunStatistics, code: int):
    assert exit_code(statistics) == code


@pytest.mark.slow
@pytest.mark.integration
def test_collect_exits_with_1_if_an_attempt_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    run = Attempt.run

    def broken(self: Attempt) -> None:
        if self.episode.number == 1:
            raise RuntimeError("made on purpose")
        run(self)

    monkeypatch.setattr(Attempt, "run", broken)
    arguments = ["task=open_drawer", "executor=serial", "episodes=2", "pictures=0", f"out={tmp_path / 'set'}"]
    assert command_table.main(["collect", *arguments]) == FAILED
    assert "error 1" in capsys.readouterr().out
