from __future__ import annotations

from unlatch.workflows.cli.terminal import result_console
from unlatch.workflows.runs.statistics import RunStatistics
from unlatch.workflows.runs.success_bench import TaskMeasurement, cost_table, success_table

RESULT = TaskMeasurement(
    name="open partnet_refrigerator",
    statistics=RunStatistics(
        n=400,
        successes=396,
        codes={"motion_blocked": 2, "path_infeasible": 2},
        medians_ms={"plan": 61.2, "reset": 30.8, "execute": 294.0},
    ),
    agreeing=399,
    sensor_ratio=2.126,
)


def printed(table: object) -> str:
    console = result_console()
    with console.capture() as capture:
        console.print(table)
    return capture.get()


def test_the_success_table_shows_counts_interval_agreement_and_failures_whole():
    text = printed(success_table([RESULT]))
    for cell in (
        "open partnet_refrigerator",
        "396/400 = 99.0 %",
        "97.5 to 99.6 %",
        "399/400",
        "motion_blocked 2, path_infeasible 2",
    ):
        assert f" {cell} " in text.replace("|", " ")


def test_the_cost_table_shows_every_stage_and_marks_what_was_not_timed():
    rows = [[cell.strip() for cell in line.split("|")] for line in printed(cost_table([RESULT])).splitlines()]
    assert ["", "open partnet_refrigerator", "61", "31", "294", "-", "2.13", ""] in rows
