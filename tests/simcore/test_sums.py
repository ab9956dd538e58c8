"""Floating-point numbers are added in their order, without compensation."""

from unlatch.simcore.rng import sum_in_order


def test_rounding_errors_are_kept_as_in_a_loop():
    total = 0.0
    for _ in range(10):
        total += 0.1
    assert sum_in_order([0.1] * 10) == total == 0.9999999999999999


def test_the_sum_of_nothing_is_zero():
    assert sum_in_order([]) == 0.0
