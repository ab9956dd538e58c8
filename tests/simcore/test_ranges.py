"""The range in the type of a field is checked where an object is made, and its message names the key."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any

import pytest

from unlatch.simcore.errors import MISSING, ConfigError
from unlatch.simcore.ranges import Fraction, Positive, Range, check_ranges, find_range


@dataclass
class Base:
    share: Fraction | None = None


@dataclass
class Lamp(Base):
    power_w: Annotated[float, Range(1.0, 60.0, unit="W")] = 5.0
    sizes_m: list[Positive] = field(default_factory=list)
    weights: dict[str, Positive] = field(default_factory=dict)
    needed: Positive = MISSING
    name: str = "lamp"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"power_w": 0.5}, "lamp.power_w=0.5 is out of range. Expected 1 to 60 W."),
        ({"power_w": float("nan")}, "lamp.power_w=nan is out of range."),
        ({"share": 1.5}, "lamp.share=1.5 is out of range. Expected 0 to 1."),
        ({"sizes_m": [1.0, 0.0]}, "lamp.sizes_m[1]=0 is out of range. Expected above 0."),
        ({"weights": {"a": -1.0}}, "lamp.weights.a=-1 is out of range. Expected above 0."),
    ],
)
def test_a_value_out_of_its_range_is_named_with_its_key(changes: dict[str, Any], message: str):
    with pytest.raises(ConfigError) as caught:
        check_ranges(Lamp(**changes), "lamp")
    assert caught.value.message.startswith(message)


def test_values_that_are_left_out_pass():
    check_ranges(Lamp(power_w=60.0, share=None, sizes_m=[0.1]))


def test_a_type_without_a_range_has_none():
    assert find_range(str) is None
    assert find_range(list[int] | None) is None
    assert find_range(list[Fraction] | None) == Range(0.0, 1.0)
