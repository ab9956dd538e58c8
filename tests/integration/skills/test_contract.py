"""Methods of every skill are called in the order of the contract; other orders are refused."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.integration.episodes import assert_success, run_task
from unlatch.simcore.errors import SkillError
from unlatch.skills.catalog import SKILLS
from unlatch.skills.commands import ManipCommand, ManipKind, Phase
from unlatch.skills.skill import Skill
from unlatch.workflows.episode.scene import EpisodeScene
from unlatch.workflows.runs.loading import load
from unlatch.workflows.runs.runner import EpisodeRunner

pytestmark = pytest.mark.integration

HOLD = "skills=[{name: hold, objects: [pot], part: lid, handle: right_handle, arm: right}]"
HOME = "skills=[{name: home, objects: [drawer]}]"
GOAL = "task.goal=[{object: pot, part: lid, kind: within_closed, value: 0.05}]"
PRESS = "skills=[{name: hold_pressed, objects: [button_drawer], part: button, arm: left}]"
CLOSED = "task.goal=[{object: button_drawer, part: drawer, kind: within_closed, value: 0.05}]"
TASKS = {
    ("close",): ("close_drawer",),
    ("home",): ("open_drawer", HOME, "task.goal=[{object: drawer, part: drawer, kind: within_closed, value: 0.5}]"),
    ("hold",): ("open_pot_held", "object.instance=3", HOLD, GOAL),
    ("hold_pressed",): ("drawer_by_held_button", PRESS, CLOSED),
    ("open",): ("open_drawer",),
    ("pick", "place"): ("place_can",),
    ("rotate",): ("turn_safe_dial",),
}
"""A short task of every skill."""
CALLS = [
    "__init__",
    "plan",
    "is_feasible",
    "is_ready",
    "start",
    "next_action",
    "update",
    "is_subtask_done",
    "is_done",
    "is_success",
]


def note_calls(monkeypatch: pytest.MonkeyPatch, owner: type, names: dict[str, str], calls: list[str]) -> None:
    """Notes every call of methods of a class from outside; what they call of their own is noted in brackets."""
    depth = [0]

    def noting(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            calls.append(f"({name})" if depth[0] else name)
            depth[0] += 1
            try:
                return method(*args, **kwargs)
            finally:
                depth[0] -= 1

        return wrapped

    for name, method in names.items():
        monkeypatch.setattr(owner, method, noting(name, getattr(owner, method)))


def test_a_skill_that_executes_has_a_task_here():
    executing = [name for name in SKILLS.own_names() if SKILLS.load(name).executes]
    assert sorted(name for names in TASKS for name in names) == executing


@pytest.mark.slow
@pytest.mark.parametrize("names", TASKS)
def test_a_skill_is_asked_in_the_order_of_the_contract(names, monkeypatch):
    calls: dict[str, list[str]] = {name: [] for name in names}
    for name in names:
        note_calls(monkeypatch, SKILLS.load(name), {call: call for call in CALLS}, calls[name])
        note_calls(monkeypatch, EpisodeScene, {"physics": "advance_frame"}, calls[name])
    assert_success(run_task(*TASKS[names]))
    once = r"__init__ plan is_feasible is_ready start( \(is_ready\))* is_done"
    frames = r"( next_action physics update( \(is_subtask_done\))? is_done)+"
    end = r" is_success( physics)*"
    for name in names:
        text = " ".join(calls[name][calls[name].index("__init__") :])
        assert re.fullmatch(once + frames + end, text), text[:400]


@pytest.fixture(scope="module")
def skill() -> Iterator[Skill]:
    """A skill at the start of an episode, not planned."""
    with EpisodeRunner(load("open_drawer")) as runner:
        episode = runner.episode(0)
        episode.begin()
        yield episode.planner.make_skill(episode.planner.strategies(0)[0])


@pytest.fixture
def fresh(skill: Skill) -> Skill:
    return type(skill)(skill.cfg, skill.context)


def dwelling(skill: Skill) -> ManipCommand:
    return ManipCommand(ManipKind.open_gripper, skill.context.arm.T_base_ee, Phase.grasp, dwell_frames=40)


def test_a_skill_without_a_plan_is_not_started_and_says_so(fresh):
    assert not fresh.is_ready()
    with pytest.raises(
        SkillError, match=r"Skill 'open' has no plan to carry out: 0 commands, failure None\. Call plan\(\) first"
    ):
        fresh.start()


def test_a_skill_that_was_not_started_gives_no_action(fresh):
    fresh.commands = [dwelling(fresh)]
    with pytest.raises(SkillError, match=r"Skill 'open' was asked for an action before it was started\."):
        fresh.next_action()
    fresh.start()
    assert fresh.next_action().gripper_target_m == fresh.context.arm.cfg.gripper.max_width_m


def test_a_skill_whose_planning_failed_is_neither_feasible_nor_ready(fresh):
    assert fresh.is_feasible()
    fresh.commands = [dwelling(fresh)]
    fresh.fail("plan_infeasible", "out of reach")
    assert not fresh.is_feasible()
    assert not fresh.is_ready()
    with pytest.raises(SkillError, match=r"failure Failure\(plan_infeasible at [\d.]+ s: out of reach\)"):
        fresh.start()


def test_what_goes_wrong_on_the_way_does_not_make_a_plan_infeasible(fresh):
    fresh.commands = [dwelling(fresh)]
    fresh.start()
    fresh.fail("slipped", "lost")
    assert fresh.is_feasible()
    assert not fresh.is_success()
    fresh.update()
    assert fresh.is_done()


def test_a_skill_decides_itself_when_a_command_is_done(fresh: Skill, monkeypatch: pytest.MonkeyPatch) -> None:
    fresh.commands = [dwelling(fresh), dwelling(fresh)]
    fresh.start()
    monkeypatch.setattr(fresh, "is_subtask_done", lambda: True)
    fresh.update()
    assert fresh.executor.index == 1


def test_an_arm_that_stays_behind_its_target_for_half_a_second_is_blocked(fresh, monkeypatch):
    fresh.commands = [dwelling(fresh)]
    fresh.start()
    arm = fresh.context.arm
    behind = arm.step_targets.positions - 0.2
    monkeypatch.setattr(type(arm), "q_read", property(lambda self: behind))
    for _ in range(14):
        fresh.update()
    assert fresh.failure is None
    fresh.update()
    assert fresh.failure.code == "motion_blocked"
    assert fresh.failure.message == "The arm stayed 0.20 rad from its target for 15 frames in phase grasp"
