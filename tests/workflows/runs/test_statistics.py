"""Counts, intervals and medians."""

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unlatch.simcore.recording.index import EpisodeSummary
from unlatch.simcore.recording.policy_outcome import PolicyOutcome
from unlatch.workflows.runs.statistics import SAMPLE, DecimatingSampler, MeanShare, RunStatistics, wilson_interval


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
    found = RunStatistics.of([*items, summary(3, "slipped")])
    assert found.strict is not None
    assert (found.strict.n, found.strict.successes) == (4, 2)


def test_strict_is_unknown_if_a_success_does_not_say_where_its_part_ends():
    assert RunStatistics.of([replace(summary(0, None), range_share=1.0), summary(1, None)]).strict is None


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


@pytest.mark.parametrize("share", [0.0, 1e-5, 0.1, 1.0])
@pytest.mark.parametrize("n", [1, 3, 1000])
def test_equal_shares_have_the_interval_of_a_proportion_and_not_a_point(share, n):
    found = RunStatistics.of(of_policy(number, share) for number in range(n)).share
    assert found is not None
    assert found.interval == pytest.approx(wilson_interval(share * n, n))


def test_an_attempt_that_was_lost_counts_as_0_in_the_mean_share():
    found = RunStatistics.of([of_policy(0, 1.0), summary(1, "error")]).share
    assert found is not None
    assert (found.n, found.mean) == (2, 0.5)


def test_the_mean_share_is_not_known_if_that_of_one_episode_is_not():
    assert RunStatistics.of([of_policy(0, 1.0), of_policy(1, None)]).share is None
    assert RunStatistics.of([summary(0, None)]).share is None


def test_an_interval_of_a_mean_stays_within_0_and_1():
    low, high = MeanShare(2, 1.0).interval
    assert 0.0 < low < 0.5
    assert high == 1.0
