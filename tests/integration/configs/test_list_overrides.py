"""Overrides that name a list entry by a word, or nothing at all: one line that says how to write it."""

from __future__ import annotations

import pytest

from unlatch.simcore.errors import ConfigError
from unlatch.workflows.runs.loading import load


@pytest.mark.parametrize(
    ("override", "message"),
    [
        (
            "skills.open.name=x",
            "skills is a list, and 'open' is not an index. Expected a number, from 0: skills.0",
        ),
        ("robot.arms.left.home_std=0.1", "robot.arms is a list, and 'left' is not an index"),
        ("task.regions.foo.yaw_deg=3", "task.regions is a list, and 'foo' is not an index"),
        ("=5", "'=5' cannot be read. Expected key=value"),
        ("a b=3", "its key 'a b' has ' ', which keys cannot have. Expected key=value"),
        ("seed=[1,", "its value has unmatched brackets, braces or quotes"),
        ("open_microwave", "Expected key=value, such as task=open_microwave"),
        ("task.name=../x", "task.name='../x' names the data set's folder"),
        ("out=''", "out='' is empty"),
        ("task.regions.0.half_extent_m=[-1,0]", "Expected 0 or more"),
    ],
)
def test_a_slip_is_named(override: str, message: str):
    with pytest.raises(ConfigError) as caught:
        load("open_microwave", override)
    assert message in caught.value.message
