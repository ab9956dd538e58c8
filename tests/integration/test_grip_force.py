"""The force of the grip is chosen for the part when the scene is built, set at the motors, and recorded."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from unlatch.simcore.recording.check import check_record
from unlatch.simcore.sim.bodies import Body
from unlatch.simcore.sim.collision import BulletCollisionChecker
from unlatch.simcore.sim.world import World
from unlatch.workflows.episode.episode import Episode
from unlatch.workflows.runs.loading import load
from unlatch.workflows.runs.replay import largest_deviation
from unlatch.workflows.runs.runner import EpisodeRunner

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def checker() -> Iterator[BulletCollisionChecker]:
    with BulletCollisionChecker() as opened:
        yield opened


def built(checker: BulletCollisionChecker, task: str, *overrides: str) -> Episode:
    """Returns an episode whose scene is built; its world is closed."""
    cfg = load(task, *overrides)
    with World(cfg.world) as world:
        episode = Episode(cfg, 0, world, checker)
        episode.reset()
    return episode


def efforts(episode: Episode, arm: str = "left") -> list[float]:
    """Largest efforts of the finger motors [N]."""
    found = episode.scene.robot.arm(arm)
    return [found.drives.drives[joint].max_effort for joint in found.cfg.gripper.joints]


@pytest.mark.slow
def test_a_light_drawer_is_gripped_with_the_smallest_force_and_its_record_says_so() -> None:
    with EpisodeRunner(load("open_drawer")) as runner:
        record = runner.run(0)
        assert record.success
        assert record.skills[0]["grip_force_n"] == runner.cfg.robot.arms[0].gripper.least_force_n == 30.0
        assert check_record(record) == []
        _, state = runner.replay_actions(record)
    ends = {key: array[-1:] for key, array in record.arrays.items()}
    deviation = largest_deviation({key: value[None] for key, value in state.items()}, ends)
    assert (deviation.value, deviation.arrays > 5) == (0.0, True), deviation


@pytest.mark.slow
def test_a_door_with_a_catch_is_gripped_harder_but_not_beyond_the_configured_force(
    checker: BulletCollisionChecker,
) -> None:
    door = ("open_microwave", "object.instance=2")
    held, _ = efforts(built(checker, *door))
    assert 30.0 < held < 50.0
    assert efforts(built(checker, *door, "robot.arms.0.gripper.grip_force_n=33")) == [33.0, 33.0]


def test_the_smallest_force_may_be_raised_on_the_command_line(checker: BulletCollisionChecker) -> None:
    assert efforts(built(checker, "open_drawer", "robot.arms.0.gripper.least_force_n=45")) == [45.0, 45.0]


@pytest.mark.slow
def test_both_hands_of_a_robot_grip_for_the_same_part(checker: BulletCollisionChecker) -> None:
    episode = built(checker, "open_microwave", "object.instance=2", "robot=dual_panda")
    (force_n, _) = efforts(episode, "left")
    assert 30.0 < force_n < 50.0
    assert efforts(episode, "right") == efforts(episode, "left")


@pytest.mark.parametrize("anchored", [True, False])
def test_friction_anchors_of_the_pads_can_be_switched_off(
    checker: BulletCollisionChecker, monkeypatch: pytest.MonkeyPatch, *, anchored: bool
) -> None:
    seen: dict[str, object] = {}
    original = Body.set_contact_material

    def note(self: Body, link: str, **values: object) -> None:
        seen[link] = values["friction_anchor"]
        original(self, link, **values)  # type: ignore[arg-type]

    monkeypatch.setattr(Body, "set_contact_material", note)
    built(checker, "open_drawer", f"robot.arms.0.gripper.friction_anchor={str(anchored).lower()}")
    assert seen == {"panda_leftfinger": anchored, "panda_rightfinger": anchored}
