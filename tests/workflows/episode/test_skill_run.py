"""The entry of a skill in the record says what the judge saw of it."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from unlatch.objects.carrying_conditions import ObjectPoses
from unlatch.simcore.recording.success_rules import SuccessRule
from unlatch.simcore.sim.contacts import Violation
from unlatch.skills.context import Failure
from unlatch.tasks.language import LanguageStep
from unlatch.workflows.episode import skill_run
from unlatch.workflows.episode.skill_run import MovedJoint, SkillRun

RULE = SuccessRule("abs", 0.7, True, True, True, 1.0, 140.0)


@pytest.fixture(autouse=True)
def spoken(monkeypatch) -> list[Any]:
    """The arguments of each call for phrasings."""
    calls: list[Any] = []
    monkeypatch.setattr(
        skill_run, "step_language", lambda *words, **options: calls.append((words, options)) or ["open the door"]
    )
    return calls


def make_run(*, arms: tuple[str, ...] = ("left",), **changes: Any) -> SkillRun:
    parts = {"door": SimpleNamespace(openness=SimpleNamespace(closed=0.1, open=1.7))}
    asset = SimpleNamespace(articulation=SimpleNamespace(part=parts.__getitem__))
    arm = SimpleNamespace(name="left", cfg=SimpleNamespace(gripper=SimpleNamespace(grip_force_n=40.0)))
    context = SimpleNamespace(
        arm=arm, robot=SimpleNamespace(arms=dict.fromkeys(arms)), objects={"oven": SimpleNamespace(asset=asset)}
    )
    skill: Any = SimpleNamespace(
        cfg=SimpleNamespace(name="open", objects=["oven", "other"], language=["text"], strategy="edge"),
        context=context,
        success_rule=RULE,
        touched_link=None,
        declare_press=lambda *_: None,
        executes=True,
        keyframe_plan=None,
    )
    for key in [key for key in changes if hasattr(skill, key)]:
        setattr(skill, key, changes.pop(key))
    place = {"chain_index": 2, "stage": 1, "frame_start": 5, "start_poses": ObjectPoses({}, {})}
    moved = {"part": "door", "moved": MovedJoint("hinge", 3, s0=0.2, s=0.9)}
    return SkillRun(skill, **{**moved, **place, **changes})


def entry_of(run: SkillRun, **options: Any) -> dict[str, Any]:
    return run.to_entry(**{"last_frame": 99, "draw": 0.5, **options})


def test_an_entry_has_the_skill_its_rule_and_what_was_reached(spoken):
    run = make_run(frame_end=40, success=True, zero_force_contacts=7, refused=[{"code": "collision"}])
    assert entry_of(run) == {
        **{"name": "open", "object": "oven", "part": "door", "language": ["open the door"]},
        **{"joint": "hinge", "joint_index": 3, "strategy": "edge", "refused": [{"code": "collision"}]},
        **{"success_mode": "abs", "success_threshold": 0.7, "finger_contact_required": True},
        **{"collision_valid_enabled": True, "process_valid_enabled": True},
        **{"contact_force_threshold_n": 1.0, "finger_force_limit_n": 140.0},
        **{"s0": 0.2, "s_end": 0.9, "s_closed": 0.1, "s_open": 1.7},
        **{"frame_start": 5, "frame_end": 40, "first_violation": None, "success": True},
        **{"zero_force_contacts": 7, "grip_force_n": 40.0, "plan": None},
    }
    asset = run.skill.context.objects["oven"].asset
    assert spoken == [((["text"], "open", asset, "door", 0.5), {})]
    step = LanguageStep("put", asset, "handle", target="into the drawer")  # what the step of the chain says of it
    entry_of(run, step=step)
    assert spoken[1:] == [((["text"], "put", asset, "handle", 0.5), {"target": "into the drawer"})]


def test_an_entry_of_fingertips_that_drag_the_part_states_how_hard_they_press():
    assert "press_force_n" not in entry_of(make_run())
    asked: list[tuple[Any, ...]] = []
    run = make_run(declare_press=lambda *arguments: asked.append(arguments) or 24.5)
    assert entry_of(run)["press_force_n"] == 24.5
    asset, gripper = run.skill.context.objects["oven"].asset, run.skill.context.arm.cfg.gripper
    assert asked == [(run.skill.cfg, asset, asset.articulation.part("door"), gripper)]


def test_a_run_that_is_open_ends_with_the_episode_and_has_not_succeeded():
    run = make_run()
    assert (run.is_open, run.success, run.zero_force_contacts) == (True, False, 0)
    assert (entry_of(run)["frame_end"], entry_of(run)["success"]) == (99, False)
    run.frame_end = 0
    assert not run.is_open
    assert entry_of(run)["frame_end"] == 0


def test_an_entry_has_the_link_the_plan_and_the_first_violation_where_there_are_some():
    violation = Violation("panda.environment", ("hand", "table"), 3.5, 120, 0.5)
    plan = SimpleNamespace(to_dict=lambda: {"grasp": 1})
    entry = entry_of(make_run(touched_link="panel", keyframe_plan=plan, executes=False, first_violation=violation))
    assert (entry["link"], entry["plan"], entry["strategy"]) == ("panel", {"grasp": 1}, None)
    where = {"view": "panda.environment", "pair": ["hand", "table"]}
    assert entry["first_violation"] == {**where, "force_n": 3.5, "physics_step": 120, "time_s": 0.5}


def test_the_entry_of_a_skill_on_a_free_object_has_conditions_instead_of_a_part_and_a_joint():
    lifted = {"object": "oven", "kind": "lifted", "value": 0.1}
    entry = entry_of(make_run(part=None, moved=None, conditions=[lifted]))
    keys = ("part", "joint", "joint_index", "s0", "s_end", "s_closed", "s_open")
    assert [entry[key] for key in keys] == [None] * len(keys)
    assert entry["conditions"] == [lifted]
    assert "conditions" not in entry_of(make_run())


def test_of_several_arms_an_entry_names_the_arm_and_its_place_in_the_chain():
    keys = ("arm", "stage", "entry", "broken_off")
    entry = entry_of(make_run(arms=("left", "right"), frame_end=40))
    assert [entry.get(key) for key in keys] == ["left", 1, 2, False]
    assert not entry_of(make_run(frame_end=40)).keys() & {*keys}


@pytest.mark.parametrize(
    ("changes", "broken_off"), [({"frame_end": 40}, False), ({}, True), ({"frame_end": 40, "broken_off": True}, True)]
)
@pytest.mark.parametrize(("arms", "may_repeat"), [(("left",), True), (("left", "right"), False)])
def test_an_entry_says_whether_the_run_ended_before_its_time(changes, broken_off, arms, may_repeat):
    assert entry_of(make_run(arms=arms, **changes), may_repeat=may_repeat)["broken_off"] is broken_off


def test_an_attempt_has_its_number_and_why_it_was_broken_off():
    first = make_run(frame_end=9, broken_by=Failure("slipped", "It slipped", 0.3))
    keys = ("entry", "attempt", "code", "message")
    found, again = (entry_of(run, may_repeat=True) for run in (first, make_run(attempt=1, frame_end=40)))
    assert [found.get(key) for key in keys] == [2, 0, "slipped", "It slipped"]
    assert [again.get(key) for key in keys] == [2, 1, None, None]
    assert not entry_of(first).keys() & {*keys}


def test_a_failure_names_skill_and_arm_only_where_there_are_several_arms():
    failure = Failure("slipped", "It slipped", 0.3, {"share": 0.5})
    assert make_run().label_failure(failure) == failure
    labelled = make_run(arms=("left", "right")).label_failure(failure)
    assert labelled == replace(failure, evidence={"share": 0.5, "skill": 2, "arm": "left"})


@pytest.mark.parametrize(("pressed_n", "says"), [(None, False), (0.0, False), (0.4, True), (19.9, True), (20.0, False)])
def test_fingers_that_press_with_less_than_half_of_what_they_are_told_are_named(pressed_n, says):
    run = make_run()
    run.pressed_n = pressed_n
    assert bool(run.weak_grip) == says
    if says:
        assert run.weak_grip.startswith(f"The fingers of left pressed with {pressed_n:.1f} N at most, told 40 N")
