"""Open: what it tells the arm, how far it goes, and when it gives up."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from simcore.sim.rates import WorldCfg
from skills.command import Phase
from skills.open import Open
from workflows.attempt import Attempt
from workflows.runner import EpisodeRunner
from workflows.schema import CollectCfg

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def planned(config: Callable[..., CollectCfg]) -> Iterator[Open]:
    """A planned skill at the start of an episode; its scene lives as long as this module."""
    with EpisodeRunner(config("open_microwave")) as runner:
        episode = runner.episode(0)
        episode.begin()
        skill = Attempt(episode).plan()
        assert isinstance(skill, Open)
        yield skill


def at_rate(skill: Open, record_hz: int) -> Open:
    """The same skill with the same plan, in a world of another record rate."""
    other = Open(skill.cfg, replace(skill.context, rates=WorldCfg(record_hz=record_hz)))
    other.keyframe_plan = skill.keyframe_plan
    return other


@pytest.mark.parametrize(("record_hz", "grasp", "release"), [(20, 17, 8), (30, 26, 12), (60, 51, 24)])
def test_fingers_have_the_same_time_at_every_record_rate(
    planned: Open, record_hz: int, grasp: int, release: int
) -> None:
    commands = at_rate(planned, record_hz)._commands_of(planned.keyframe_plan)
    dwells = {command.phase: command.dwell_frames for command in commands if command.dwell_frames}
    assert dwells == {Phase.grasp: grasp, Phase.release: release}


@pytest.mark.slow
@pytest.mark.parametrize("task", ["open_microwave", "open_drawer"])
@pytest.mark.parametrize("record_hz", [20, 60])
def test_a_part_opens_at_other_record_rates(config: Callable[..., CollectCfg], task: str, record_hz: int) -> None:
    with EpisodeRunner(config(task, f"world.record_hz={record_hz}")) as runner:
        record = runner.run(0)
    assert record.success, record.evidence
