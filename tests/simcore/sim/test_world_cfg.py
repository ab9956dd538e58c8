"""Rates divide each other."""

from __future__ import annotations

import pytest

from unlatch.simcore.errors import ConfigError
from unlatch.simcore.sim.world import WorldCfg


def test_steps_per_frame() -> None:
    cfg = WorldCfg()
    assert (cfg.control_steps, cfg.physics_steps) == (2, 4)


@pytest.mark.parametrize(
    ("seconds", "record_hz", "frames"),
    [(0.0, 30, 0), (0.1, 30, 3), (0.4, 30, 12), (0.85, 30, 26), (0.85, 60, 51), (0.85, 20, 17), (1e-3, 30, 1)],
)
def test_a_duration_is_as_many_frames_as_last_so_long(seconds: float, record_hz: int, frames: int) -> None:
    assert WorldCfg(record_hz=record_hz).frames(seconds) == frames


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"control_hz": 70}, r"world\.control_hz=70 does not divide world\.physics_hz=240"),
        ({"record_hz": 25}, r"world\.record_hz=25 does not divide world\.control_hz=60"),
        ({"record_hz": 0}, r"world\.record_hz=0 is out of range\. Expected 1 to 100000"),
        ({"physics_hz": 0}, r"world\.physics_hz=0 is out of range\. Expected 1 to 100000"),
        ({"physics_hz": -240, "control_hz": -60}, r"world\.physics_hz=-240 is out of range"),
        ({"solver_iterations": 0}, r"world\.solver_iterations=0 is out of range\. Expected 1 to 10000"),
    ],
)
def test_rates_that_do_not_divide_are_refused_with_both_values(kwargs: dict[str, int], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        WorldCfg(**kwargs)
