"""The calls of an episode happen in the order that docs/concepts.md states, whoever moves the arms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from unlatch.objects.scene_object import SceneObject
from unlatch.robots.robot import Robot
from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.simcore.recording.state_file import EpisodeRecorder
from unlatch.simcore.recording.success_rules import INITIAL_S
from unlatch.simcore.sim.contacts import ContactMonitor
from unlatch.simcore.sim.scene import Scene
from unlatch.simcore.sim.world import World
from unlatch.skills.close import Close
from unlatch.skills.skill import Skill
from unlatch.workflows.episode import episode as episode_module
from unlatch.workflows.episode.judge import Judge
from unlatch.workflows.runs.loading import load
from unlatch.workflows.runs.replay import replay_record
from unlatch.workflows.runs.runner import EpisodeRunner

pytestmark = pytest.mark.integration

TRACKED: list[tuple[Any, str]] = [
    (EpisodeRecorder, "add_action"),
    (EpisodeRecorder, "add_frame"),
    (Robot, "apply"),
    (Robot, "simulate_frame"),
    (SceneObject, "hold"),
    (World, "step"),
    (ContactMonitor, "sample"),
    (ContactMonitor, "end_frame"),
    (Scene, "update_state"),
    (Judge, "begin_skill"),
    (Judge, "observe"),
    (Judge, "end_skill"),
    (Close, "plan"),
    (Skill, "start"),
    (Skill, "next_action"),
    (Skill, "update"),
    (Skill, "is_done"),
]
PHYSICS = ["simulate_frame", "step", "sample", "end_frame"]
FRAME = ["add_action", "apply", "hold", *PHYSICS, "update_state", "observe"]
SKILL_FRAME = ["next_action", *FRAME, "update", "add_frame", "is_done"]


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    seen: list[str] = []

    def tracked(name: str, original: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            seen.append(name)
            return original(*args, **kwargs)

        return call

    for owner, name in TRACKED:
        monkeypatch.setattr(owner, name, tracked(name, getattr(owner, name)))
    for name in ("sample_layout", "build_scene"):
        monkeypatch.setattr(episode_module, name, tracked(name, getattr(episode_module, name)))
    return seen


@pytest.mark.slow
def test_a_demonstration_calls_in_the_documented_order(calls: list[str]):
    with EpisodeRunner(load("close_drawer")) as runner:
        record = runner.run(0)
    assert record.success
    begin = ["sample_layout", "build_scene", "update_state", "add_frame"]
    rest = [*FRAME, "add_frame"]
    expected = [*begin, *rest * runner.cfg.world.frames(INITIAL_S), "begin_skill", "plan", "start", "is_done"]
    skill = record.skills[0]
    expected += SKILL_FRAME * (skill["frame_end"] - skill["frame_start"])
    expected += ["end_skill", *rest * (record.n_actions - skill["frame_end"])]
    assert calls == expected


@pytest.mark.slow
def test_a_replay_moves_the_robot_by_the_same_calls(episode: Callable[..., EpisodeRecord], calls: list[str]):
    record = episode("close_drawer")
    calls.clear()
    with EpisodeRunner(load("close_drawer")) as runner:
        replay_record(runner, record)
    assert calls == ["build_scene", "update_state", "add_frame", *[*FRAME, "add_frame"] * record.n_actions]


def test_the_environment_moves_the_robot_by_the_same_calls(calls: list[str]):
    from unlatch.workflows.gym.env import UnlatchEnv

    env = UnlatchEnv("close_drawer")
    env.reset(seed=0)
    calls.clear()
    for _ in range(3):
        env.step(np.append(env.episode.scene.robot.arm(None).q_target, 0.04))
    env.close()
    assert calls == [*FRAME, "add_frame"] * 3


def test_the_randomization_hook_comes_before_the_physics_of_every_control_step(calls: list[str]):
    with EpisodeRunner(load("close_drawer")) as runner:
        episode = runner.episode(0)
        episode.reset()
        calls.clear()
        episode.scene.advance_frame(before_control_step=lambda: calls.append("hook"))
    assert [call for call in calls if call in ("hook", "step")] == ["hook", "step"] * 2
