"""Distributions draw what they say, component by component, and refuse parameters that mean nothing."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from scipy import stats

from unlatch import randomization as dr
from unlatch.simcore.errors import ConfigError
from unlatch.simcore.randomization.distribution import DISTRIBUTIONS, Distribution, as_distribution

N = 3000


def draws(distribution: Distribution, width: int) -> np.ndarray:
    return distribution.sample(np.random.default_rng(0), np.arange(N), width)


@pytest.mark.parametrize(
    ("distribution", "laws"),
    [
        (dr.distribution.uniform((1.0, -2.0), (3.0, 0.0)), [stats.uniform(1, 2), stats.uniform(-2, 2)]),
        (dr.distribution.uniform(1.0, 3.0), [stats.uniform(1, 2)] * 2),
        (dr.distribution.normal((1.0, 0.0), (0.5, 2.0)), [stats.norm(1, 0.5), stats.norm(0, 2)]),
        (dr.distribution.log_uniform((0.1, 1.0), (10.0, 2.0)), [stats.loguniform(0.1, 10), stats.loguniform(1, 2)]),
        (
            dr.distribution.combine([dr.distribution.uniform(0.0, 1.0), dr.distribution.normal(0.0, 1.0)]),
            [stats.uniform(), stats.norm()],
        ),
    ],
)
def test_components_follow_their_law_and_are_independent(distribution, laws):
    values = draws(distribution, 2)
    assert values.shape == (N, 2)
    for column, law in zip(values.T, laws, strict=True):
        assert stats.kstest(column, law.cdf).pvalue > 1e-3
    assert stats.spearmanr(*values.T).pvalue > 1e-3


def test_choice_follows_its_weights():
    values = draws(dr.distribution.choice([1.0, 2.0, 4.0], weights=[1, 2, 1]), 1)
    counts = [int(np.sum(values == value)) for value in (1.0, 2.0, 4.0)]
    assert stats.chisquare(counts, [N / 4, N / 2, N / 4]).pvalue > 1e-3


def test_rows_are_drawn_whole_items_in_turn_and_constants_unchanged():
    values = draws(dr.distribution.choice([(0.0, 1.0), (2.0, 3.0)]), 2)
    assert {tuple(row) for row in values.tolist()} == {(0.0, 1.0), (2.0, 3.0)}
    items = dr.distribution.sequence([5.0, 6.0, 7.0])  # for each environment by itself
    assert items.sample(np.random.default_rng(0), np.array([0, 1, 4, 0]), 1)[:, 0].tolist() == [5.0, 6.0, 6.0, 5.0]
    assert np.all(draws(as_distribution([1.0, 2.0]), 2) == [1.0, 2.0])
    assert np.all(draws(as_distribution(3), 2) == 3.0)


@pytest.mark.parametrize("buckets", [1, 2, 5])
def test_buckets_are_even_values_over_the_range_and_the_nearest_one_is_taken(buckets):
    for distribution, lower, upper in (
        (dr.distribution.uniform((0.2, 1.0), (0.8, 1.0)), 0.2, 0.8),
        (dr.distribution.normal((0.5, 1.0), (0.1, 0.0)), 0.3, 0.7),
    ):
        values = distribution.bucketed(draws(distribution, 2), buckets)
        expected = np.linspace(lower, upper, buckets) if buckets > 1 else [0.5 * (lower + upper)]
        assert np.unique(values[:, 0].round(9)) == pytest.approx(expected)
        assert np.all(values[:, 1] == 1.0)
    drawn = draws(dr.distribution.uniform(0.0, 1.0), 1)
    nearest = dr.distribution.uniform(0.0, 1.0).bucketed(drawn, buckets)
    assert np.abs(nearest - drawn).max() <= 0.5 / max(buckets - 1, 1) + 1e-12


def test_parameters_are_read_and_changed_by_name():
    live = dr.distribution.uniform((0.0, 0.0), (1.0, 1.0))
    lower, upper = dr.utils.get_distribution_params(live, ["lower", "upper"])
    assert lower.tolist() == [0.0, 0.0]
    dr.utils.set_distribution_params(live, {"lower": (5.0, 5.0), "upper": (6.0, 6.0)})
    assert upper.tolist() == [1.0, 1.0]  # what was handed out stays
    assert np.all(draws(live, 2) >= 5.0)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: dr.distribution.uniform(2.0, 1.0), r"uniform: lower=2\.0 is above upper=1\.0"),
        (lambda: dr.distribution.uniform((1, 2), (3, 4, 5)), r"uniform has parameters of 2 and 3 components"),
        (lambda: dr.distribution.uniform(float("nan"), 1.0), r"uniform\.lower=nan is not a number"),
        (lambda: dr.distribution.uniform("a", 1.0), r"uniform\.lower='a' is not a number"),
        (lambda: dr.distribution.uniform([], 1.0), r"uniform\.lower=\[\] is not a number"),
        (lambda: dr.distribution.normal(0.0, -1.0), r"normal\.std=-1 is out of range"),
        (lambda: dr.distribution.log_uniform(0.0, 1.0), r"log_uniform\.lower=0 is out of range"),
        (lambda: dr.distribution.choice([]), r"choice\.choices has 0 entries"),
        (lambda: dr.distribution.choice([1.0, (1.0, 2.0)]), r"choice\.choices has 2 entries of 2 different lengths"),
        (lambda: dr.distribution.choice([1, 2], weights=[1]), r"choice\.weights=\[1\.0\] do not fit"),
        (lambda: dr.distribution.sequence([]), r"sequence\.items has 0 entries"),
        (lambda: dr.distribution.combine([]), r"combine\.distributions is empty"),
        (
            lambda: dr.utils.set_distribution_params(dr.distribution.uniform(0, 1), {"lover": 2}),
            r"uniform has no parameter 'lover'\. Did you mean 'lower'\?",
        ),
        (
            lambda: dr.utils.set_distribution_params(dr.distribution.uniform((0, 0), (1, 1)), {"lower": [0, 0, 0]}),
            r"uniform has parameters of 2 and 3 components",
        ),
        (
            lambda: dr.utils.set_distribution_params(dr.distribution.uniform(0, 1), {"lower": [0, 0]}),
            r"uniform: lower would change the number of components to 2 from one for all",
        ),
        (
            lambda: dr.utils.get_distribution_params(dr.distribution.uniform(0, 1), ["mean"]),
            r"uniform has no parameter 'mean'",
        ),
    ],
)
def test_meaningless_parameters_are_refused(make, message):
    with pytest.raises(ConfigError, match=message):
        make()


def test_a_refused_change_changes_nothing_and_parameters_are_returned_in_the_requested_order():
    live = dr.distribution.uniform(0.0, 1.0)
    with pytest.raises(ConfigError):
        dr.utils.set_distribution_params(live, {"lower": 5.0})
    assert [float(v) for v in dr.utils.get_distribution_params(live, ["upper", "lower"])] == [1.0, 0.0]
    assert dr.utils.get_distribution_params(live, []) == []


def test_every_distribution_is_found_by_its_yaml_name():
    assert sorted(DISTRIBUTIONS) == list(DISTRIBUTIONS)
    limits = {"lower": 1, "upper": 2}
    parameters = {"choice": {"choices": [1, 2]}, "combine": {"distributions": [1, 2]}, "constant": {"value": 1}}
    parameters |= {"normal": {"mean": 1, "std": 2}, "sequence": {"items": [1, 2]}}
    for name, make in DISTRIBUTIONS.items():
        assert make(**parameters.get(name, limits)).type == name


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda whole: pickle.loads(pickle.dumps(whole))])
def test_a_copy_is_independent_and_checks_its_parts(copied):
    whole = dr.distribution.combine([dr.distribution.uniform(0.0, 1.0), 2.0])
    own = copied(whole)
    asked: list[str] = []

    class Rule:
        def __init__(self, name: str, drawn: Distribution) -> None:
            self.name = name
            drawn.watch(self)

        def check_distribution(self) -> None:
            asked.append(self.name)

    rules = [Rule("of the first", whole), Rule("of the copy", own)]
    own.get("distributions")[0].set({"upper": 5.0})
    assert asked == [rules[1].name]
    assert (own.range()[1].tolist(), whole.range()[1].tolist()) == ([5.0, 2.0], [1.0, 2.0])
