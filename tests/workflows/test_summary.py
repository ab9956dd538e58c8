"""What a run exits with."""

import pytest

from workflows.console import FAILED, OK
from workflows.statistics import RunStatistics
from workflows.summary import exit_code


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
def test_a_run_of_nothing_but_errors_fails(statistics: RunStatistics, code: int):
    assert exit_code(statistics) == code
