"""The judge of an episode, in a scene whose contacts, forces, speeds and joints are set by hand."""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from unlatch.robots.action import Action, ArmAction
from unlatch.simcore.geometry import Pose
from unlatch.simcore.recording.success_rules import MAX_JOINT_SPEED, MOVING_STEP, SuccessRule
from unlatch.simcore.sim.contacts import Violation
from unlatch.skills.contract.command import Phase
from unlatch.skills.contract.context import FrameSpeeds
from unlatch.skills.contract.failure import Failure
from unlatch.tasks.task import GoalCfg, GoalKind
from unlatch.workflows.episode.judge import Judge, PolicyRules
from unlatch.workflows.episode.skill_run import SkillRun

HZ = 30.0
SETTLE_FRAMES = 3
RULE = SuccessRule("abs", 0.7, True, True, True, 1.0, 140.0)
SLOW = FrameSpeeds(1.0, {"oven": 0.5})


class Value:
    """A buffer with one number."""

    def __init__(self) -> None:
        self.n = 0.0

    def get_value(self) -> np.ndarray:
        return np.array([self.n])[0]


class FakeView:
    """A contact view that notes from which force on it reports contacts."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.violation: Violation | None = None
        self.zero_force_points = 0
        self.force_max_n = Value()
        self.watched: list[float] = []

    def watch(self, threshold_n: float) -> None:
        self.watched.append(threshold_n)


class FakeObject:
    """An oven with a door and a knob."""

    def __init__(self) -> None:
        self.joint_names = ["hinge", "axle"]
        self.s = np.zeros(2)
        joints = {"door": "hinge", "knob": "axle"}
        openness = SimpleNamespace(closed=0.0, open=1.6)
        part = {name: SimpleNamespace(joint=joint, openness=openness) for name, joint in joints.items()}
        self.asset = SimpleNamespace(articulation=SimpleNamespace(part=part.__getitem__))
        self.body = SimpleNamespace(
            joint_states=lambda: (self.s.copy(), None), joint=lambda name: SimpleNamespace(prismatic=False)
        )

    def joint_index(self, name: str) -> int:
        return self.joint_names.index(name)

    def joint_position(self, name: str) -> float:
        return float(self.s[self.joint_index(name)])


class Stage:
    """A judge, its scene, and skills that do what a test says."""

    def __init__(
        self,
        *skills: Any,
        arms: tuple[str, ...] = ("left",),
        policy: PolicyRules | None = None,
        goal: list[GoalCfg] | None = None,
    ) -> None:
        self.skills = list(skills)
        self.oven = FakeObject()
        names = [f"panda.{arm}.{rest}" for arm in arms for rest in ("oven.fingers_link", "oven.forbid_collision")]
        self.views = {name: FakeView(name) for name in [*names, "panda.environment"]}
        self.touch = {
            arm: {
                ("oven", part): SimpleNamespace(fingers_link=self.views[f"panda.{arm}.oven.fingers_link"])
                for part in ("door", "knob")
            }
            for arm in arms
        }
        self.loads = {
            arm: SimpleNamespace(force_sustained_n=Value(), fingers=[{"palm"}, {"f2", "f1"}], sustained_on=1)
            for arm in arms
        }
        self.acted: list[Any] = []
        self.world = SimpleNamespace(time_s=0.0)
        self.robot = SimpleNamespace(arms={arm: SimpleNamespace(q=np.zeros(2)) for arm in arms})
        scene: Any = SimpleNamespace(
            objects={"oven": self.oven},
            monitor=SimpleNamespace(views=self.views),
            views=self.touch,
            loads=self.loads,
            world=self.world,
            robot=self.robot,
            act_on=lambda *names, **options: self.acted.append((names, options)),
        )
        task = SimpleNamespace(goal=goal or [], settle_s=SETTLE_FRAMES / HZ, max_duration_s=2.0)
        cfg: Any = SimpleNamespace(
            skills=[skill.cfg for skill in skills],
            task=task,
            world=SimpleNamespace(record_hz=HZ),
            robot=SimpleNamespace(name="panda"),
        )
        self.targets = dict.fromkeys(arms, 0.0)
        self.judge = Judge(cfg, scene, [("oven", skill.part) for skill in skills], policy=policy)

    def begin(self, index: int = 0, *, earlier: SkillRun | None = None) -> SkillRun:
        skill = self.skills[index]
        return self.judge.begin_skill(skill, skill.part, chain_index=index, earlier=earlier)

    def frame(
        self, *, s: float | None = None, touch: bool | None = None, speeds: FrameSpeeds = SLOW, arm: str = "left"
    ) -> None:
        """Simulates a record frame: sets the door's position and whether the fingers touch."""
        self.world.time_s += 1.0 / HZ
        if s is not None:
            self.oven.s[0] = s
        if touch is not None:
            self.views[f"panda.{arm}.oven.fingers_link"].force_max_n.n = 5.0 if touch else 0.0
        arms = {name: ArmAction(np.array([q, 0.0]), 0.04, Pose.identity()) for name, q in self.targets.items()}
        self.judge.observe(Action(arms), speeds)

    def frames(self, count: int, **options: Any) -> None:
        for _ in range(count):
            self.frame(**options)

    def codes(self) -> list[str]:
        return [failure.code for failure in self.judge._failures]


def make_skill(part: str = "door", *, arm: str = "left", arms: tuple[str, ...] = ("left",), **changes: Any) -> Any:
    rule = replace(RULE, **{key: changes.pop(key) for key in [*changes] if hasattr(RULE, key)})
    skill = SimpleNamespace(
        cfg=SimpleNamespace(
            name="open", objects=["oven"], stage=changes.pop("stage", None), arm=arm, contact_force_threshold_n=1.5
        ),
        part=part,
        context=SimpleNamespace(arm=SimpleNamespace(name=arm), robot=SimpleNamespace(arms=dict.fromkeys(arms))),
        success_rule=rule,
        touched_link=None,
        executes=True,
        phase=Phase.follow,
        unmet=None,
        **changes,
    )
    skill.unmet_condition = lambda: skill.unmet
    return skill


def two_arms(**changes: Any) -> tuple[Any, Any]:
    """Returns a skill of each arm, side by side in one stage."""
    both = ("left", "right")
    return (
        make_skill("door", arm="left", arms=both, stage=1, **changes),
        make_skill("knob", arm="right", arms=both, stage=1, **changes),
    )


NOT_OPEN = Failure("not_reached", "The door is not open", 0.1)


def hit(view: str, *, step: int = 5, force_n: float = 7.0) -> Violation:
    return Violation(view, ("hand", "frame"), force_n, step, 0.25)


def open_door(stage: Stage, frames: int = 4) -> None:
    """Opens the door by 0.2 rad a frame with the fingers on it."""
    for _ in range(frames):
        stage.frame(s=stage.oven.s[0] + 0.2, touch=True)


class TestSuccess:
    def test_an_episode_succeeds_once_everything_has_been_still_for_the_settling_period(self):
        stage = Stage(make_skill())
        run = stage.begin()
        open_door(stage)
        assert not stage.judge.over
        stage.frames(SETTLE_FRAMES - 1)
        assert not stage.judge.success
        stage.frame()
        assert (stage.judge.success, stage.judge.over, stage.judge.failure) == (True, True, None)
        assert stage.judge.window == (4, 7)
        assert (run.success, run.frame_end, run.is_open) == (True, 7, False)

    def test_the_settling_period_begins_with_the_last_skill(self):
        stage = Stage(make_skill(finger_contact_required=False))
        stage.frames(10)
        run = stage.begin()
        assert run.frame_start == 10
        stage.frames(SETTLE_FRAMES - 1)
        assert not stage.judge.success
        stage.frame()
        assert (stage.judge.success, stage.judge.window) == (True, (10, 13))

    def test_nothing_succeeds_before_a_skill_has_begun(self):
        stage = Stage(make_skill())
        stage.frames(10)
        assert (stage.judge.over, stage.judge.success, stage.judge.window) == (False, False, None)

    def test_arms_must_stand_still_in_a_demonstration(self):
        stage = Stage(make_skill(finger_contact_required=False))
        stage.begin()
        for number in range(6):
            stage.targets["left"] = 0.1 * number
            stage.frame()
        assert not stage.judge.success
        stage.frames(SETTLE_FRAMES)
        assert (stage.judge.success, stage.judge.window) == (True, (6, 9))

    def test_an_arm_that_moves_again_starts_the_period_anew(self):
        stage = Stage(make_skill(finger_contact_required=False))
        stage.begin()
        stage.frames(2)
        stage.targets["left"] = 0.5
        stage.frames(SETTLE_FRAMES)
        assert not stage.judge.success
        stage.frame()
        assert (stage.judge.success, stage.judge.window) == (True, (3, 6))

    def test_the_gripper_counts_as_a_target(self):
        stage = Stage(make_skill(finger_contact_required=False))
        stage.begin()
        for number in range(6):
            arms = {"left": ArmAction(np.zeros(2), 0.01 * number, Pose.identity())}
            stage.judge.observe(Action(arms), SLOW)
        assert not stage.judge.success

    @pytest.mark.parametrize("may_move", [False, True])
    def test_the_arms_of_a_policy_may_move_where_its_rules_say_so(self, may_move: bool):
        stage = Stage(make_skill(finger_contact_required=False), policy=PolicyRules(arms_may_move=may_move))
        stage.begin()
        for number in range(6):
            stage.targets["left"] = 0.1 * number
            stage.frame()
        assert stage.judge.success is may_move

    def test_every_skill_of_the_chain_must_have_begun(self):
        stage = Stage(make_skill(finger_contact_required=False), make_skill("knob", finger_contact_required=False))
        stage.judge.end_skill(stage.begin(0))
        stage.frames(6)
        assert not stage.judge.success
        stage.begin(1)
        stage.frames(SETTLE_FRAMES)
        assert stage.judge.success
        assert stage.judge.begun_entries == {0, 1}

    def test_an_unmet_condition_of_an_open_skill_prevents_success(self):
        stage = Stage(make_skill(finger_contact_required=False))
        stage.begin()
        stage.skills[0].unmet = NOT_OPEN
        stage.frames(6)
        assert (stage.judge.success, stage.judge.over) == (False, False)
        stage.skills[0].unmet = None
        stage.frame()
        assert stage.judge.success

    def test_a_skill_that_was_broken_off_prevents_success(self):
        stage = Stage(make_skill(finger_contact_required=False))
        run = stage.begin()
        stage.judge.break_off_skill(run, NOT_OPEN)
        assert (run.broken_off, run.broken_by, run.success, stage.judge.failure) == (True, NOT_OPEN, False, None)
        stage.frames(6)
        assert not stage.judge.success

    def test_a_goal_that_does_not_hold_prevents_success(self):
        goal = [GoalCfg(object="oven", part="door", kind=GoalKind.moved, value=0.5)]
        stage = Stage(make_skill(finger_contact_required=False), goal=goal)
        stage.begin()
        stage.frames(6, s=0.4)
        assert not stage.judge.success
        stage.frames(SETTLE_FRAMES, s=0.6)
        assert not stage.judge.success
        stage.frame()
        assert (stage.judge.success, stage.judge.window) == (True, (7, 10))

    def test_a_part_that_moves_in_the_settling_period_prevents_success(self):
        stage = Stage(make_skill(finger_contact_required=False))
        stage.begin()
        for number in range(8):
            stage.frame(s=0.03 * number)
        assert not stage.judge.success

    def test_nothing_is_judged_after_success(self):
        stage = Stage(make_skill(finger_contact_required=False))
        stage.begin()
        stage.frames(SETTLE_FRAMES + 1)
        stage.frames(3, speeds=FrameSpeeds(99.0, {}))
        assert (stage.judge.success, stage.judge.failure, stage.judge.window) == (True, None, (1, 4))


class TestContact:
    @pytest.mark.parametrize(("touched", "codes"), [(8, []), (7, ["slipped"])])
    def test_the_fingers_must_touch_the_part_in_most_frames_in_which_it_moves(self, touched: int, codes: list[str]):
        stage = Stage(make_skill())
        run = stage.begin()
        for number in range(10):
            stage.frame(s=0.1 * (number + 1), touch=number < touched)
        stage.frames(2)
        assert (run.moving_frames, run.touching_while_moving, run.touching_frames) == (10, touched, touched)
        assert run.free_frames == 12 - touched
        found = stage.judge.unmet_conditions(run)
        assert [failure.code for failure in found] == codes
        if found:
            assert found[0].message == (
                "The fingers touched 'door' in 70% of the frames in which it moved, expected at least 80%"
            )
            assert found[0].evidence == {"share": 0.7, "moving_frames": 10}
            assert found[0].time_s == stage.world.time_s

    def test_fingers_that_never_touched_missed_the_grasp(self):
        stage = Stage(make_skill())
        run = stage.begin()
        stage.frame(s=0.3)
        (failure,) = stage.judge.unmet_conditions(run)
        assert (failure.code, failure.message) == ("grasp_missed", "The fingers never touched 'door'")
        assert failure.evidence == {"moving_frames": 1}

    def test_a_part_that_never_moved_needs_one_touch_only(self):
        stage = Stage(make_skill())
        run = stage.begin()
        stage.frame(touch=True)
        stage.frames(5, touch=False)
        assert stage.judge.unmet_conditions(run) == []

    def test_contact_is_not_asked_of_a_skill_without_it(self):
        stage = Stage(make_skill(finger_contact_required=False))
        run = stage.begin()
        stage.frames(3, s=0.5)
        assert stage.judge.unmet_conditions(run) == []

    def test_the_condition_of_the_skill_comes_first(self):
        stage = Stage(make_skill())
        run = stage.begin()
        stage.skills[0].unmet = NOT_OPEN
        assert [failure.code for failure in stage.judge.unmet_conditions(run)] == ["not_reached", "grasp_missed"]

    @pytest.mark.parametrize(("step", "moving"), [(0.9, 0), (1.0, 0), (1.1, 1)])
    def test_a_part_moves_where_its_position_changes_by_more_than_the_least_step(self, step: float, moving: int):
        stage = Stage(make_skill())
        run = stage.begin()
        stage.frame(s=step * MOVING_STEP)
        assert (run.moving_frames, run.s) == (moving, step * MOVING_STEP)

    def test_any_force_of_the_fingers_is_a_touch(self):
        stage = Stage(make_skill())
        run = stage.begin()
        stage.views["panda.left.oven.fingers_link"].force_max_n.n = 0.01
        stage.frame()
        assert (run.touching_frames, run.free_frames) == (1, 0)

    def test_a_skill_that_has_ended_counts_no_contact(self):
        stage = Stage(make_skill(finger_contact_required=False), make_skill("knob"))
        run = stage.begin()
        stage.judge.end_skill(run)
        stage.frame(s=0.2, touch=True)
        assert (run.touching_frames, run.moving_frames, run.s) == (0, 0, 0.0)

    def test_failures_name_the_arm_where_there_are_several(self):
        stage = Stage(*two_arms(), arms=("left", "right"))
        run = stage.begin(0)
        (failure,) = stage.judge.unmet_conditions(run)
        assert failure.evidence == {"moving_frames": 0, "skill": 0, "arm": "left"}


class TestSkills:
    def test_a_skill_begins_where_its_part_is(self):
        stage = Stage(make_skill(), make_skill("knob"))
        stage.skills[0].touched_link = "panel"
        stage.oven.s[:] = [0.3, 0.4]
        stage.frames(2)
        run = stage.begin(0)
        assert (run.joint, run.joint_index, run.chain_index, run.stage) == ("hinge", 0, 0, 0)
        assert (run.frame_start, run.s0, run.s, run.attempt) == (2, 0.3, 0.3, 0)
        assert stage.acted == [(("oven", "door"), {"arm": "left", "alone": True, "link": "panel"})]
        assert stage.judge.goal.max_changes().keys() == {"oven.0"}
        run = stage.begin(1)
        assert (run.joint, run.joint_index, run.chain_index, run.stage, run.s0) == ("axle", 1, 1, 1, 0.4)
        assert stage.judge.current == [run]
        assert len(stage.judge.runs) == 2

    def test_another_attempt_counts_from_where_the_first_one_began(self):
        stage = Stage(make_skill())
        first = stage.begin()
        stage.frame(s=0.25, touch=True)
        stage.judge.break_off_skill(first, NOT_OPEN)
        second = stage.begin(earlier=first)
        third = stage.begin(earlier=second)
        assert [(run.s0, run.s, run.attempt) for run in (second, third)] == [(0.0, 0.25, 1), (0.0, 0.25, 2)]

    def test_a_skill_alone_watches_every_view_for_its_own_threshold(self):
        stage = Stage(make_skill())
        stage.begin()
        assert [view.watched for view in stage.views.values()] == [[1.5]] * 3

    def test_a_second_arm_watches_its_own_views_and_those_that_already_have_a_violation(self):
        stage = Stage(*two_arms(), arms=("left", "right"))
        first = stage.begin(0)
        own = [name for name, view in stage.views.items() if view.watched]
        assert own == ["panda.left.oven.fingers_link", "panda.left.oven.forbid_collision", "panda.environment"]
        second = stage.begin(1)
        assert stage.judge.current == [first, second]
        assert stage.acted[1][1]["alone"] is False
        assert len(stage.views["panda.environment"].watched) == 1
        assert [
            len(stage.views[f"panda.right.oven.{name}"].watched) for name in ("fingers_link", "forbid_collision")
        ] == [
            1,
            1,
        ]

    def test_a_view_with_a_violation_is_watched_anew_by_the_second_arm(self):
        stage = Stage(*two_arms(), arms=("left", "right"))
        stage.begin(0)
        stage.views["panda.environment"].violation = hit("panda.environment")
        stage.begin(1)
        assert len(stage.views["panda.environment"].watched) == 2

    def test_the_next_skill_of_an_arm_takes_the_place_of_its_last_one(self):
        both = ("left", "right")
        skills = [*two_arms(), make_skill("door", arm="left", arms=both, stage=1)]
        stage = Stage(*skills, arms=both)
        first, second = stage.begin(0), stage.begin(1)
        third = stage.begin(2)
        assert stage.judge.current == [second, third]
        assert [run.stage for run in (first, second, third)] == [0, 0, 0]

    def test_the_next_stage_takes_the_place_of_all(self):
        both = ("left", "right")
        stage = Stage(*two_arms(), make_skill("door", arm="left", arms=both), arms=both)
        stage.begin(0)
        stage.begin(1)
        run = stage.begin(2)
        assert (stage.judge.current, run.stage, stage.acted[-1][1]["alone"]) == ([run], 1, True)

    def test_a_skill_that_ends_without_its_conditions_fails_the_episode(self):
        stage = Stage(make_skill())
        run = stage.begin()
        stage.frame(s=0.3, touch=True)
        stage.skills[0].unmet = NOT_OPEN
        stage.judge.end_skill(run)
        assert (run.success, run.broken_off, run.frame_end) == (False, False, 1)
        assert stage.judge.failure == NOT_OPEN

    def test_a_skill_that_ends_with_its_conditions_succeeds(self):
        stage = Stage(make_skill(), make_skill("knob"))
        run = stage.begin()
        open_door(stage)
        stage.judge.end_skill(run)
        assert (run.success, run.frame_end, stage.judge.failure) == (True, 4, None)

    def test_conditions_are_not_judged_after_a_failure(self):
        stage = Stage(make_skill())
        run = stage.begin()
        stage.frame(speeds=FrameSpeeds(99.0, {}))
        stage.judge.end_skill(run)
        assert (stage.codes(), run.success) == (["overspeed"], False)

    def test_no_skill_of_a_demonstration_succeeds_after_a_failure_of_another_arm(self):
        stage = Stage(*two_arms(finger_contact_required=False), arms=("left", "right"))
        left, right = stage.begin(0), stage.begin(1)
        stage.views["panda.left.oven.forbid_collision"].violation = hit("panda.left.oven.forbid_collision")
        stage.frame()
        stage.judge.end_skill(right)
        assert (left.broke_rule, right.broke_rule, right.success) == (True, False, False)

    def test_a_skill_that_is_broken_off_is_not_judged(self):
        stage = Stage(make_skill())
        run = stage.begin()
        stage.judge.end_skill(run, broken_off=True)
        assert (stage.codes(), run.success, run.broken_off) == ([], False, True)


class TestForces:
    def violate(self, stage: Stage, name: str, **options: Any) -> None:
        stage.views[name].violation = hit(name, **options)

    def test_a_forbidden_contact_is_a_collision(self):
        stage = Stage(make_skill())
        run = stage.begin()
        self.violate(stage, "panda.environment")
        stage.frame()
        failure = stage.judge.failure
        assert failure is not None
        assert (failure.code, failure.time_s) == ("collision", 0.25)
        assert failure.message == "hand pressed frame with 7.0 N (allowed 1 N) while in phase follow"
        assert failure.evidence == {
            "view": "panda.environment",
            "pair": ["hand", "frame"],
            "force_n": 7.0,
            "physics_step": 5,
            "time_s": 0.25,
            "phase": "follow",
        }
        assert (run.collision_valid, run.broke_rule, run.first_violation) == (False, True, hit("panda.environment"))

    def test_the_message_names_no_phase_of_an_idle_arm(self):
        stage = Stage(make_skill())
        stage.skills[0].phase = Phase.idle
        stage.begin()
        self.violate(stage, "panda.environment")
        stage.frame()
        assert stage.judge.failure is not None
        assert stage.judge.failure.message == "hand pressed frame with 7.0 N (allowed 1 N)"

    def test_the_fingers_may_touch_the_part(self):
        stage = Stage(make_skill())
        stage.begin()
        self.violate(stage, "panda.left.oven.fingers_link")
        stage.frame()
        assert stage.codes() == []

    def test_the_first_of_several_contacts_is_named(self):
        stage = Stage(make_skill())
        stage.begin()
        self.violate(stage, "panda.environment", step=9, force_n=1.5)
        self.violate(stage, "panda.left.oven.forbid_collision", step=4, force_n=20.0)
        stage.frame()
        assert stage.judge.failure is not None
        assert stage.judge.failure.evidence["physics_step"] == 4

    def test_a_rule_that_is_off_notes_the_contact_and_goes_on(self):
        stage = Stage(make_skill(collision_valid_enabled=False))
        run = stage.begin()
        self.violate(stage, "panda.environment")
        stage.frame()
        assert (stage.codes(), run.collision_valid, run.broke_rule) == ([], True, False)
        assert run.first_violation == hit("panda.environment")

    def test_contacts_without_force_are_counted(self):
        stage = Stage(make_skill())
        run = stage.begin()
        for name, count in (("panda.environment", 2), ("panda.left.oven.forbid_collision", 3)):
            stage.views[name].zero_force_points = count
        stage.views["panda.left.oven.fingers_link"].zero_force_points = 50
        stage.frame()
        assert (run.zero_force_contacts, stage.codes()) == (5, [])

    def test_a_contact_after_the_end_of_a_skill_fails_it_but_is_not_its_first(self):
        stage = Stage(make_skill(finger_contact_required=False), make_skill("knob"))
        run = stage.begin()
        stage.judge.end_skill(run)
        self.violate(stage, "panda.environment")
        stage.frame()
        assert (stage.codes(), run.first_violation) == (["collision"], None)

    def test_contacts_of_the_other_arm_are_judged_with_its_own_skill(self):
        stage = Stage(*two_arms(), arms=("left", "right"))
        left, right = stage.begin(0), stage.begin(1)
        self.violate(stage, "panda.right.oven.forbid_collision")
        stage.frame()
        assert (left.collision_valid, right.collision_valid) == (True, False)
        (failure,) = stage.judge._failures
        assert (failure.evidence["skill"], failure.evidence["arm"]) == (1, "right")

    @pytest.mark.parametrize(("force_n", "codes"), [(140.0, []), (140.5, ["overload"])])
    def test_a_finger_may_bear_up_to_its_limit(self, force_n: float, codes: list[str]):
        stage = Stage(make_skill())
        run = stage.begin()
        stage.loads["left"].force_sustained_n.n = force_n
        stage.frame()
        assert (stage.codes(), run.overloaded, run.broke_rule) == (codes, bool(codes), bool(codes))
        if codes:
            failure = stage.judge.failure
            assert failure is not None
            assert failure.message == "f1 bore 140 N for longer than 20 ms (allowed 140 N)"
            assert failure.evidence == {
                "hand": "panda.left",
                "finger": "f1",
                "force_n": 140.5,
                "limit_n": 140.0,
                "phase": "follow",
            }

    def test_an_overload_is_noted_once_and_labelled(self):
        stage = Stage(*two_arms(), arms=("left", "right"), policy=PolicyRules(end_at_violation=False))
        stage.begin(0)
        stage.begin(1)
        stage.loads["right"].force_sustained_n.n = 200.0
        stage.frames(2)
        assert stage.codes() == ["overload"]
        assert stage.judge._failures[0].evidence["arm"] == "right"

    def test_a_collision_is_noted_once(self):
        stage = Stage(make_skill(), policy=PolicyRules(end_at_violation=False))
        stage.begin()
        self.violate(stage, "panda.environment")
        stage.frames(3)
        assert stage.codes() == ["collision"]


class TestSpeeds:
    @pytest.mark.parametrize(
        ("speeds", "body"),
        [
            (FrameSpeeds(MAX_JOINT_SPEED, {"oven": MAX_JOINT_SPEED}), None),
            (FrameSpeeds(MAX_JOINT_SPEED + 0.1, {"oven": 0.0}), "panda"),
            (FrameSpeeds(0.0, {"oven": MAX_JOINT_SPEED + 0.1}), "oven"),
            (FrameSpeeds(9.0, {"oven": 9.0}), "panda"),
        ],
    )
    def test_no_joint_may_be_faster_than_the_limit(self, speeds: FrameSpeeds, body: str | None):
        stage = Stage(make_skill())
        run = stage.begin()
        stage.frame(speeds=speeds)
        assert stage.codes() == ([] if body is None else ["overspeed"])
        assert (run.process_valid, run.broke_rule) == (body is None, body is not None)
        if body is not None:
            speed = speeds.robot if body == "panda" else speeds.objects[body]
            (failure,) = stage.judge._failures
            assert failure.message == f"A joint of '{body}' moved at {speed:.1f} rad/s or m/s (allowed 5)"
            assert failure.evidence == {"body": body, "speed": speed, "allowed": MAX_JOINT_SPEED}
            assert failure.time_s == stage.world.time_s

    def test_a_rule_that_is_off_allows_any_speed(self):
        stage = Stage(make_skill(process_valid_enabled=False))
        run = stage.begin()
        stage.frame(speeds=FrameSpeeds(99.0, {}))
        assert (stage.codes(), run.process_valid) == ([], True)

    def test_an_overspeed_is_noted_once(self):
        stage = Stage(make_skill(), policy=PolicyRules(end_at_violation=False))
        stage.begin()
        stage.frames(3, speeds=FrameSpeeds(99.0, {}))
        assert stage.codes() == ["overspeed"]


class TestTimeAndNumbers:
    @pytest.mark.parametrize(("time_s", "codes"), [(2.0, []), (2.01, ["timeout"])])
    def test_an_episode_may_take_up_to_its_limit(self, time_s: float, codes: list[str]):
        stage = Stage(make_skill())
        stage.begin()
        stage.world.time_s = time_s - 1.0 / HZ
        stage.frame()
        assert (stage.codes(), stage.judge.timed_out) == (codes, bool(codes))
        if codes:
            failure = stage.judge.failure
            assert failure is not None
            assert (failure.message, failure.evidence) == ("The episode took longer than 2 s", {"allowed_s": 2.0})

    @pytest.mark.parametrize("bad", [math.nan, math.inf])
    @pytest.mark.parametrize("where", ["arm", "object"])
    def test_values_that_are_not_finite_end_the_episode(self, bad: float, where: str):
        stage = Stage(make_skill(), policy=PolicyRules(end_at_violation=False))
        stage.begin()
        if where == "arm":
            stage.robot.arms["left"].q[1] = bad
        else:
            stage.oven.s[1] = bad
        stage.frame()
        assert stage.judge.over
        assert stage.judge._failures[0].code == "diverged"
        assert stage.judge._failures[0].message == "The simulation gave values that are not finite"

    def test_the_failure_is_the_one_that_came_first(self):
        stage = Stage(make_skill())
        stage.begin()
        stage.world.time_s = 5.0
        stage.views["panda.environment"].violation = hit("panda.environment")
        stage.frame(speeds=FrameSpeeds(99.0, {}))
        assert stage.codes() == ["collision", "overspeed", "timeout"]
        assert stage.judge.failure is not None
        assert stage.judge.failure.code == "collision"

    def test_nothing_is_judged_before_a_skill_has_begun(self):
        stage = Stage(make_skill())
        stage.world.time_s = 5.0
        stage.frame(speeds=FrameSpeeds(99.0, {}))
        assert stage.codes() == []


class TestPolicies:
    def make(self, *skills: Any, end: bool = False, **options: Any) -> Stage:
        return Stage(*skills, policy=PolicyRules(end_at_violation=end), **options)

    def test_an_episode_goes_on_after_a_broken_rule_until_the_goal_is_reached(self):
        stage = self.make(make_skill(finger_contact_required=False))
        run = stage.begin()
        stage.skills[0].unmet = NOT_OPEN
        stage.frame(speeds=FrameSpeeds(99.0, {}))
        assert (stage.judge.over, stage.judge.failure is not None) == (False, True)
        stage.frames(5)
        assert (stage.judge.goal_frame, stage.judge.over) == (None, False)
        stage.skills[0].unmet = None
        stage.frame()
        assert (stage.judge.goal_frame, stage.judge.over, stage.judge.success) == (7, True, False)
        stage.judge.end_skill(run)
        assert not run.success

    def test_an_episode_ends_at_a_broken_rule_where_the_rules_say_so(self):
        stage = self.make(make_skill(), end=True)
        stage.begin()
        stage.frame(speeds=FrameSpeeds(99.0, {}))
        assert stage.judge.over

    def test_a_reached_goal_without_a_broken_rule_goes_on_until_success(self):
        stage = self.make(make_skill())
        stage.begin()
        stage.frames(SETTLE_FRAMES)
        assert (stage.judge.goal_frame, stage.judge.success, stage.judge.over) == (SETTLE_FRAMES, False, False)
        stage.frame(touch=True)
        assert (stage.judge.goal_frame, stage.judge.success) == (SETTLE_FRAMES, True)

    def test_an_episode_whose_time_is_over_ends(self):
        stage = self.make(make_skill())
        stage.begin()
        stage.world.time_s = 2.0
        stage.frame()
        assert (stage.judge.over, stage.judge.timed_out) == (True, True)

    def test_the_goal_needs_every_skill_of_the_chain(self):
        stage = self.make(make_skill(finger_contact_required=False), make_skill("knob", finger_contact_required=False))
        stage.begin(0)
        stage.frames(6)
        assert stage.judge.goal_frame is None
        stage.begin(1)
        stage.frames(SETTLE_FRAMES - 1)
        assert stage.judge.goal_frame is None
        stage.frame()
        assert stage.judge.goal_frame == 6 + SETTLE_FRAMES

    def test_the_goal_needs_the_parts_at_rest(self):
        stage = self.make(make_skill())
        stage.begin()
        for number in range(8):
            stage.frame(s=0.03 * number)
        assert stage.judge.goal_frame is None

    def test_a_skill_that_moves_nothing_does_not_hide_the_goal(self):
        stage = self.make(make_skill(success_mode=None))
        stage.begin()
        stage.skills[0].unmet = NOT_OPEN
        stage.frames(SETTLE_FRAMES)
        assert stage.judge.goal_frame == SETTLE_FRAMES

    def test_a_demonstration_measures_no_goal(self):
        stage = Stage(make_skill())
        stage.begin()
        stage.frames(6)
        assert stage.judge.goal_frame is None
        assert stage.judge.goal_entry() == {"conditions": []}

    def test_the_record_has_what_the_goal_needs(self):
        goal = [GoalCfg(object="oven", part="door", kind=GoalKind.moved, value=0.5)]
        stage = self.make(make_skill(), make_skill("knob"), goal=goal)
        empty = {"hold_frames": 3, "chain_length": 2, "chain_motions": 2, "max_changes": {}}
        entry = stage.judge.goal_entry()
        assert entry == {"conditions": stage.judge.goal.conditions, "reached": False, "reached_frame": None} | empty
        assert len(entry["conditions"]) == 1
        stage.begin(0)
        stage.begin(1)
        stage.frames(SETTLE_FRAMES + 1, s=0.7)
        entry = stage.judge.goal_entry()
        assert (entry["reached"], entry["reached_frame"]) == (True, SETTLE_FRAMES + 1)
        assert entry["max_changes"] == {"oven.0": 0.02, "oven.1": 0.02}

    def test_a_skill_succeeds_although_another_one_broke_a_rule(self):
        stage = self.make(make_skill(finger_contact_required=False), make_skill("knob", finger_contact_required=False))
        first = stage.begin(0)
        stage.frame(speeds=FrameSpeeds(99.0, {}))
        stage.judge.end_skill(first)
        second = stage.begin(1)
        stage.frame()
        stage.judge.end_skill(second)
        assert (first.success, second.success) == (False, True)

    def test_a_skill_without_its_conditions_does_not_succeed(self):
        stage = self.make(make_skill(finger_contact_required=False))
        run = stage.begin()
        stage.skills[0].unmet = NOT_OPEN
        stage.frame()
        stage.judge.end_skill(run)
        assert (run.broke_rule, run.success) == (False, False)

    def test_conditions_are_judged_after_a_broken_rule_too(self):
        stage = self.make(make_skill(finger_contact_required=False))
        run = stage.begin()
        stage.frame(speeds=FrameSpeeds(99.0, {}))
        stage.skills[0].unmet = NOT_OPEN
        stage.judge.end_skill(run)
        assert stage.codes() == ["overspeed", "not_reached"]


class TestBreakOff:
    def test_an_episode_that_nothing_drives_any_more_is_judged_as_it_is(self):
        stage = Stage(make_skill())
        run = stage.begin()
        stage.frame(touch=True)
        stage.skills[0].unmet = NOT_OPEN
        stage.judge.break_off()
        assert (stage.codes(), run.frame_end, stage.judge.over) == (["not_reached"], 1, True)

    def test_an_episode_that_has_not_stood_still_long_enough_is_unsettled(self):
        stage = Stage(make_skill())
        stage.begin()
        stage.frame(touch=True)
        stage.judge.break_off()
        failure = stage.judge.failure
        assert failure is not None
        assert (failure.code, failure.message) == (
            "unsettled",
            "The episode ended before the scene had stood still for long enough",
        )

    def test_before_the_first_skill_and_after_the_end_nothing_is_judged(self):
        stage = Stage(make_skill(finger_contact_required=False))
        stage.judge.break_off()
        assert stage.codes() == []
        stage.begin()
        stage.frames(SETTLE_FRAMES + 1)
        stage.judge.break_off()
        assert (stage.codes(), stage.judge.success) == ([], True)


class TestFollowingSkills:
    """For arms that a policy moves: which skills end, and which begin."""

    def make(self, *skills: Any, arms: tuple[str, ...] = ("left",), end: bool = True) -> Stage:
        return Stage(*skills, arms=arms, policy=PolicyRules(end_at_violation=end))

    def test_the_first_skills_begin_at_the_start(self):
        both = ("left", "right")
        assert self.make(make_skill(), make_skill()).judge.end_reached_skills() == [0]
        assert self.make(*two_arms(), arms=both).judge.end_reached_skills() == [0, 1]

    def test_nothing_follows_the_last_skill_or_the_end(self):
        stage = self.make(make_skill(finger_contact_required=False))
        stage.begin()
        assert stage.judge.end_reached_skills() == []
        assert stage.judge.runs[0].is_open
        stage = self.make(make_skill(), make_skill())
        stage.begin()
        stage.frame(speeds=FrameSpeeds(99.0, {}))
        assert stage.judge.end_reached_skills() == []

    def test_a_complete_skill_ends_and_the_next_stage_begins(self):
        stage = self.make(make_skill(), make_skill("knob"))
        run = stage.begin()
        open_door(stage)
        assert stage.judge.end_reached_skills() == []  # the hand has not let go
        stage.frames(SETTLE_FRAMES - 1, touch=False)
        assert (stage.judge.end_reached_skills(), run.is_open) == ([], True)
        stage.frame()
        assert stage.judge.end_reached_skills() == [1]
        assert (run.is_open, run.success, run.frame_end) == (False, True, 4 + SETTLE_FRAMES)

    def test_the_hand_may_stay_at_a_part_that_the_next_skill_acts_on(self):
        stage = self.make(make_skill(), make_skill())
        stage.begin()
        open_door(stage)
        assert stage.judge.end_reached_skills() == [1]

    def test_the_next_skill_of_a_stage_begins_in_the_last_stage_too(self):
        stage = self.make(make_skill(stage=1, finger_contact_required=False), make_skill("knob", stage=1))
        stage.begin()
        stage.frames(SETTLE_FRAMES)
        assert stage.judge.end_reached_skills() == [1]

    def test_of_three_stages_the_second_follows_the_first(self):
        free = {"finger_contact_required": False}
        stage = self.make(make_skill(**free), make_skill("knob", **free), make_skill(**free))
        stage.begin()
        stage.frames(SETTLE_FRAMES)
        assert stage.judge.end_reached_skills() == [1]

    def test_a_skill_that_moves_nothing_has_nothing_to_let_go(self):
        stage = self.make(make_skill(finger_contact_required=False), make_skill("knob"))
        stage.skills[0].executes = False
        stage.begin()
        stage.frame(touch=True)
        assert stage.judge.end_reached_skills() == [1]

    def test_an_incomplete_skill_goes_on(self):
        stage = self.make(make_skill(), make_skill())
        stage.begin()
        open_door(stage)
        stage.skills[0].unmet = NOT_OPEN
        assert stage.judge.end_reached_skills() == []

    def test_a_stage_ends_when_all_of_its_arms_are_done(self):
        both = ("left", "right")
        skills = [*two_arms(finger_contact_required=False), make_skill("door", arms=both)]
        stage = self.make(*skills, arms=both)
        left, right = stage.begin(0), stage.begin(1)
        skills[1].unmet = NOT_OPEN
        stage.frames(SETTLE_FRAMES)
        assert (stage.judge.end_reached_skills(), left.is_open) == ([], True)
        skills[1].unmet = None
        assert stage.judge.end_reached_skills() == [2]
        assert (left.is_open, right.is_open) == (False, False)

    def test_an_arm_with_a_further_skill_in_the_stage_goes_on_alone(self):
        both = ("left", "right")
        skills = [*two_arms(finger_contact_required=False), make_skill("door", arms=both, stage=1)]
        stage = self.make(*skills, make_skill("knob", arms=both), arms=both)
        left, right = stage.begin(0), stage.begin(1)
        assert stage.judge.end_reached_skills() == [2]
        assert (left.is_open, right.is_open) == (False, True)

    def test_a_stage_goes_on_until_all_of_its_skills_have_begun(self):
        both = ("left", "right")
        skills = [*two_arms(finger_contact_required=False), make_skill("door", arms=both)]
        stage = self.make(*skills, arms=both)
        stage.begin(0)
        stage.frames(SETTLE_FRAMES)
        assert stage.judge.end_reached_skills() == []

    def test_after_a_broken_rule_late_contact_does_not_hold_up_the_chain(self):
        stage = self.make(make_skill(), make_skill(), end=False)
        stage.begin()
        stage.frame(s=0.8)
        assert stage.judge.end_reached_skills() == []  # the fingers may still touch
        stage.frame(speeds=FrameSpeeds(99.0, {}))
        assert stage.judge.end_reached_skills() == [1]

    def test_fingers_that_stay_away_do_not_hold_up_the_chain_of_a_policy(self):
        stage = self.make(make_skill(), make_skill(), end=False)
        stage.begin()
        stage.frames(SETTLE_FRAMES - 1, s=0.8)
        assert stage.judge.end_reached_skills() == []
        stage.frame()
        assert stage.judge.end_reached_skills() == [1]

    def test_a_part_that_is_not_where_it_should_be_holds_up_the_chain(self):
        stage = self.make(make_skill(), make_skill(), end=False)
        stage.begin()
        stage.skills[0].unmet = NOT_OPEN
        stage.frames(SETTLE_FRAMES + 2)
        assert stage.judge.end_reached_skills() == []
