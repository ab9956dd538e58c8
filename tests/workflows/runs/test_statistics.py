"""Counts, intervals and medians."""

import json
import shutil
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.workflows.builders import data_set_of
from unlatch.simcore.errors import RecordingError
from unlatch.simcore.recording.data_set import DataSet
from unlatch.simcore.recording.episode import EPISODE_FILE
from unlatch.simcore.recording.index import EpisodeSummary
from unlatch.simcore.recording.policy_outcome import PolicyOutcome
from unlatch.workflows.cli.terminal import FAILED, OK, result_console
from unlatch.workflows.runs.statistics import (
    MOST_NAMED,
    SAMPLE,
    CorruptEpisodes,
    DecimatingSampler,
    RunStatistics,
    wilson_interval,
)
from unlatch.workflows.runs.success_bench import TaskMeasurement, cost_table, success_table


@pytest.mark.parametrize(
    ("successes", "n", "low", "high"),
    [
        # Newcombe 1998, table I, method 3 (score, no continuity correction)
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_wilson_interval_is_the_published_one(successes, n, low, high):
    assert wilson_interval(successes, n) == pytest.approx((low, high), abs=6e-5)


@pytest.mark.property
@given(st.integers(0, 500), st.integers(0, 500))
def test_wilson_interval_contains_the_share_and_is_symmetric(successes, failures):
    n = successes + failures
    low, high = wilson_interval(successes, n)
    assert 0.0 <= low <= high <= 1.0
    if n:
        assert low - 1e-12 <= successes / n <= high + 1e-12
    mirrored = wilson_interval(failures, n)
    assert mirrored == pytest.approx((1.0 - high, 1.0 - low), abs=1e-12)


def summary(number: int, code: str | None, **timings_ms: float) -> EpisodeSummary:
    return EpisodeSummary(number, 0, code is None, code, 10, "", timings_ms, {})


def test_refused_layouts_count_and_codes_come_most_frequent_first():
    items = [summary(0, None, plan=10.0), summary(1, "slipped", plan=30.0)]
    items += [summary(n, "invalid_layout", plan=0.0) for n in (2, 3)]
    found = RunStatistics.of(items)
    assert (found.n, found.successes) == (4, 1)
    assert found.codes_text() == "invalid_layout 2, slipped 1"
    assert found.success_text() == "1/4 = 25.0 % (95 % interval 4.6 to 69.9 %)"
    assert found.medians_ms == {"plan": 20.0}  # a stage that an episode never came to does not pull the median down


def test_the_median_time_of_an_episode_is_that_of_all_its_stages_where_something_was_executed():
    times = {"plan": 100.0, "reset": 100.0, "write": 20.0}
    items = [summary(n, None, **times, execute=value) for n, value in enumerate((1000.0, 2000.0, 9000.0))]
    refused = summary(3, "plan_infeasible", plan=5000.0, write=10.0)
    found = RunStatistics.of([*items, refused])
    assert found.median_episode_ms == 2220.0
    assert found.times_text() == "2.22 s (plan 100, reset 100, execute 2000, write 20 ms)"
    only_refused = RunStatistics.of([refused])
    assert (only_refused.median_episode_ms, only_refused.times_text()) == (None, "plan 5000, write 10 ms")
    assert RunStatistics.of([]).times_text() == "-"


def test_the_first_episode_of_each_code_does_not_depend_on_the_order():
    items = [summary(n, code) for n, code in ((7, "slipped"), (3, "slipped"), (5, "collision"), (1, None))]
    assert RunStatistics.of(items).first == {"slipped": 3, "collision": 5}


def test_strict_counts_successes_in_the_last_tenth_of_the_range():
    items = [replace(summary(n, None), range_share=share) for n, share in enumerate((0.95, 0.9, 0.5))]
    strict = RunStatistics.of([*items, summary(3, "slipped")]).strict
    assert (strict.n, strict.successes) == (4, 2)
    assert RunStatistics.of([*items, summary(3, None)]).strict is None, "one does not say where its part ends"


def test_medians_of_many_come_from_an_even_sample():
    n = 10 * SAMPLE
    found = RunStatistics.of(summary(number, None, plan=float(number + 1)) for number in range(n))
    assert found.n == n
    assert found.medians_ms["plan"] == pytest.approx(n / 2, rel=2e-3)


@pytest.mark.parametrize("n", [0, 1, 5, 6, 1000])
def test_a_sample_is_evenly_spaced_and_within_its_limit(n):
    sample: DecimatingSampler[int] = DecimatingSampler(5)
    for item in range(n):
        sample.add(item)
    assert sample.seen == n
    assert min(n, 3) <= len(sample.items) <= 5
    assert len({b - a for a, b in pairwise(sample.items)}) <= 1
    assert not n or sample.items[0] == 0


def test_no_episodes_is_not_an_error():
    assert RunStatistics.of([]).success_text() == "0/0 = 0.0 % (95 % interval 0.0 to 100.0 %)"


def test_successes_after_a_replan_are_counted_apart():
    items = [summary(0, None), replace(summary(1, None), replans=2), replace(summary(2, "slipped"), replans=1)]
    found = RunStatistics.of(items)
    assert found.successes == 2
    assert found.first_attempt_text().startswith("1/3 = 33.3 %")
    assert found.replans_text() == "1 of 2 attempts with a skill planned anew succeeded"


def of_policy(number: int, share: float | None) -> EpisodeSummary:
    outcome = PolicyOutcome(share == 1.0, None, None, "moved", None, share)
    return replace(summary(number, "timeout"), policy=outcome)


def test_the_mean_share_has_the_interval_of_a_proportion():
    found = RunStatistics.of(of_policy(n, share) for n, share in enumerate((0.0, 0.25, 0.75, 1.0))).share
    assert found is not None
    assert (found.n, found.mean) == (4, 0.5)
    assert found.interval == pytest.approx(wilson_interval(2, 4))
    assert str(found) == "mean 50.0 % (95 % interval 15.0 to 85.0 %)"


@pytest.mark.parametrize(("share", "n"), [(0.0, 1), (1e-5, 3), (0.1, 1000), (1.0, 3)])
def test_equal_shares_have_the_interval_of_a_proportion_and_not_a_point(share, n):
    found = RunStatistics.of(of_policy(number, share) for number in range(n)).share
    assert found is not None
    assert found.interval == pytest.approx(wilson_interval(share * n, n))
    assert 0.0 <= found.interval[0] < found.interval[1] <= 1.0


@pytest.mark.parametrize(
    ("items", "n_and_mean"),
    [
        ([of_policy(0, 1.0), summary(1, "error")], (2, 0.5)),  # an attempt that was lost counts as 0
        ([of_policy(0, 1.0), of_policy(1, None)], None),
        ([summary(0, None)], None),
    ],
)
def test_the_mean_share_is_known_if_that_of_each_episode_is(items, n_and_mean):
    found = RunStatistics.of(items).share
    assert (found and (found.n, found.mean)) == n_and_mean


@pytest.fixture
def data_set(tmp_path) -> DataSet:
    """Four episodes; of number 2 there is neither a line in the index nor a file that can be read."""
    made = data_set_of(tmp_path / "set", ["slipped", None, None, None])
    shutil.rmtree(made.path / "index")
    (made.folder_of(2) / EPISODE_FILE).write_text("{")
    return made


def test_watch_and_list_count_corrupt_episodes(data_set, run_command):
    code, out, _ = run_command("watch", data_set.path)
    assert (code, [said in out for said in ("2/3 (21 to 94 %)", "damaged 1", "episode 2)")]) == (OK, [True] * 3)
    code, out, _ = run_command("list", "data", data_set.path)
    assert (code, [said in out for said in ("2/3", "damaged 1 (episode 2)")]) == (OK, [True] * 2)


def test_a_corrupt_episode_raises_an_error_by_default_and_a_report_names_it(data_set, run_command):
    with pytest.raises(RecordingError, match=EPISODE_FILE):
        data_set.summaries()
    assert run_command("report", data_set.path, "pictures=0")[0] == OK
    content = json.loads((data_set.path / "report.json").read_text())
    assert content["total"]["set"]["n"] == 3
    assert [line for line in content["left_out"] if "episode 2 is damaged" in line]


def test_merge_takes_the_readable_episodes_and_replaces_a_corrupt_one(data_set, tmp_path, run_command):
    code, _, err = run_command("merge", tmp_path / "out", data_set.path)
    assert (code, "episode 2 is damaged" in err) == (FAILED, True)
    assert DataSet.open(tmp_path / "out").numbers() == [0, 1, 3]
    data_set_of(tmp_path / "whole", {2: None})
    assert run_command("merge", data_set.path, tmp_path / "whole")[0] == OK
    assert [summary.number for summary in data_set.summaries()] == [0, 1, 2, 3]


def test_only_the_first_few_corrupt_episodes_are_named():
    damaged = CorruptEpisodes()
    for number in range(20):
        damaged.add(number, RecordingError("it is cut off"))
    assert len(damaged.lines()) == MOST_NAMED + 1
    assert damaged.lines()[-1].startswith("15 more")
    assert damaged.count_text() == ["damaged 20 (episodes 0, 1, 2, 3, 4, ...)"]
    assert len(damaged.lines(most=1000)) == 20


def test_the_tables_of_a_benchmark_show_counts_agreement_failures_and_the_time_of_every_stage():
    name, codes = "open partnet_refrigerator", {"motion_blocked": 2, "path_infeasible": 2}
    medians = {"plan": 61.2, "reset": 30.8, "execute": 294.0}
    made = TaskMeasurement(
        name, RunStatistics(400, 396, codes=codes, medians_ms=medians), agreeing=399, sensor_ratio=2.126
    )
    console = result_console()
    with console.capture() as capture:
        console.print(success_table([made]), cost_table([made]))
    rows = [[cell.strip() for cell in line.split("|")] for line in capture.get().splitlines()]
    counted = [name, "396/400 = 99.0 %", "97.5 to 99.6 %", "399/400", "motion_blocked 2, path_infeasible 2"]
    assert any([cell for cell in row if cell] == counted for row in rows), rows
    assert ["", name, "61", "31", "294", "-", "2.13", ""] in rows
