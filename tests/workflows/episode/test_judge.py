"""The judge of an episode: when it succeeds, and when a skill begins, ends and meets its conditions."""

from types import SimpleNamespace

import numpy as np
import pytest

from tests.workflows.episode.judge_stage import (
    NOT_OPEN,
    SETTLE_FRAMES,
    SLOW,
    TOO_FAST,
    Stage,
    make_free,
    make_pick,
    make_skill,
    open_door,
    two_arms,
)
from unlatch.robots.arm_control import Action, ArmAction
from unlatch.simcore.geometry import Pose
from unlatch.simcore.recording.success_rules import MOVING_STEP
from unlatch.simcore.sim.contacts import ObjectView
from unlatch.skills.commands import Phase
from unlatch.skills.context import FrameSpeeds
from unlatch.tasks.task import GoalCfg, GoalKind
from unlatch.workflows.episode.criteria import PolicyRules

BOTH = ("left", "right")


class TestSuccess:
    def test_an_episode_succeeds_once_everything_has_been_still_for_the_settling_period(self):
        stage, run = Stage.started()
        open_door(stage)
        assert not stage.judge.over
        stage.frames(SETTLE_FRAMES - 1)
        assert not stage.judge.success
        stage.frame()
        assert (stage.judge.success, stage.judge.over, stage.judge.failure) == (True, True, None)
        assert stage.judge.window == (4, 7)
        assert (run.success, run.frame_end, run.is_open) == (True, 7, False)
        stage.frames(3, speeds=TOO_FAST)
        assert (stage.judge.success, stage.judge.failure, stage.judge.window) == (True, None, (4, 7)), "it is over"

    def test_the_settling_period_begins_with_the_last_skill(self):
        stage = Stage(make_free())
        stage.frames(10)
        assert (stage.judge.over, stage.judge.success, stage.judge.window) == (False, False, None)
        run = stage.begin()
        assert run.frame_start == 10
        stage.frames(SETTLE_FRAMES - 1)
        assert not stage.judge.success
        stage.frame()
        assert (stage.judge.success, stage.judge.window) == (True, (10, 13))

    def test_arms_must_stand_still_in_a_demonstration(self):
        stage, _ = Stage.started(make_free())
        stage.swing(6)
        assert not stage.judge.success
        stage.frames(SETTLE_FRAMES)
        assert (stage.judge.success, stage.judge.window) == (True, (6, 9))

    def test_an_arm_that_moves_again_starts_the_period_anew(self):
        stage, _ = Stage.started(make_free())
        stage.frames(2)
        stage.targets["left"] = 0.5
        stage.frames(SETTLE_FRAMES)
        assert not stage.judge.success
        stage.frame()
        assert (stage.judge.success, stage.judge.window) == (True, (3, 6))

    def test_the_gripper_counts_as_a_target(self):
        stage, _ = Stage.started(make_free())
        for number in range(6):
            arms = {"left": ArmAction(np.zeros(2), 0.01 * number, Pose.identity())}
            stage.judge.observe(Action(arms), SLOW)
        assert not stage.judge.success

    @pytest.mark.parametrize("may_move", [False, True])
    def test_the_arms_of_a_policy_may_move_where_its_rules_say_so(self, may_move):
        stage, _ = Stage.started(make_free(), policy=PolicyRules(arms_may_move=may_move))
        stage.swing(6)
        assert stage.judge.success is may_move

    def test_every_skill_of_the_chain_must_have_begun(self):
        stage, run = Stage.started(make_free(), make_free("knob"))
        stage.judge.end_skill(run)
        stage.frames(6)
        assert not stage.judge.success
        stage.begin(1)
        stage.frames(SETTLE_FRAMES)
        assert stage.judge.success
        assert stage.judge.begun_entries == {0, 1}

    def test_an_unmet_condition_of_an_open_skill_prevents_success(self):
        stage, _ = Stage.started(make_free())
        stage.skills[0].unmet = NOT_OPEN
        stage.frames(6)
        assert (stage.judge.success, stage.judge.over) == (False, False)
        stage.skills[0].unmet = None
        stage.frame()
        assert stage.judge.success

    def test_a_skill_that_was_broken_off_prevents_success(self):
        stage, run = Stage.started(make_free())
        stage.judge.break_off_skill(run, NOT_OPEN)
        assert (run.broken_off, run.broken_by, run.success, stage.judge.failure) == (True, NOT_OPEN, False, None)
        stage.frames(6)
        assert not stage.judge.success

    def test_a_goal_that_does_not_hold_prevents_success(self):
        goal = [GoalCfg(object="oven", part="door", kind=GoalKind.moved, value=0.5)]
        stage, _ = Stage.started(make_free(), goal=goal)
        stage.frames(6, s=0.4)
        assert not stage.judge.success
        stage.frames(SETTLE_FRAMES, s=0.6)
        assert not stage.judge.success
        stage.frame()
        assert (stage.judge.success, stage.judge.window) == (True, (7, 10))

    def test_a_part_that_moves_in_the_settling_period_prevents_success(self):
        stage, _ = Stage.started(make_free())
        for number in range(8):
            stage.frame(s=0.03 * number)
        assert not stage.judge.success


class TestContact:
    @pytest.mark.parametrize(("touched", "codes"), [(8, []), (7, ["slipped"])])
    def test_the_fingers_must_touch_the_part_in_most_frames_in_which_it_moves(self, touched, codes):
        stage, run = Stage.started()
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
        stage, run = Stage.started()
        stage.frame(s=0.3)
        (failure,) = stage.judge.unmet_conditions(run)
        assert (failure.code, failure.message) == ("grasp_missed", "The fingers never touched 'door'")
        assert failure.evidence == {"moving_frames": 1}

    def test_a_part_that_never_moved_needs_one_touch_only(self):
        stage, run = Stage.started()
        stage.views["panda.left.oven.fingers_link"].force_max_n.n = 0.01  # any force is a touch
        stage.frame()
        assert (run.touching_frames, run.free_frames) == (1, 0)
        stage.frames(5, touch=False)
        assert stage.judge.unmet_conditions(run) == []

    def test_contact_is_not_asked_of_a_skill_without_it(self):
        stage, run = Stage.started(make_free())
        stage.frames(3, s=0.5)
        assert stage.judge.unmet_conditions(run) == []

    def test_the_condition_of_the_skill_comes_first(self):
        stage, run = Stage.started()
        stage.skills[0].unmet = NOT_OPEN
        assert [failure.code for failure in stage.judge.unmet_conditions(run)] == ["not_reached", "grasp_missed"]

    @pytest.mark.parametrize(("step", "moving"), [(0.9, 0), (1.0, 0), (1.1, 1)])
    def test_a_part_moves_where_its_position_changes_by_more_than_the_least_step(self, step, moving):
        stage, run = Stage.started()
        stage.frame(s=step * MOVING_STEP)
        assert (run.moving_frames, run.moved.s) == (moving, step * MOVING_STEP)

    def test_a_skill_that_has_ended_counts_no_contact(self):
        stage, run = Stage.started(make_free(), make_skill("knob"))
        stage.judge.end_skill(run)
        stage.frame(s=0.2, touch=True)
        assert (run.touching_frames, run.moving_frames, run.moved.s) == (0, 0, 0.0)

    def test_failures_name_the_arm_where_there_are_several(self):
        stage, run = Stage.started(*two_arms(), arms=BOTH)
        (failure,) = stage.judge.unmet_conditions(run)
        assert failure.evidence == {"moving_frames": 0, "skill": 0, "arm": "left"}


class TestSkills:
    def test_a_skill_begins_where_its_part_is(self):
        stage = Stage(make_skill(), make_skill("knob"))
        stage.skills[0].touched_link = "panel"
        stage.oven.s[:] = [0.3, 0.4]
        stage.frames(2)
        run = stage.begin(0)
        assert (run.joint, run.moved.index, run.chain_index, run.stage) == ("door_joint", 0, 0, 0)
        assert (run.frame_start, run.moved.s0, run.moved.s, run.attempt) == (2, 0.3, 0.3, 0)
        assert stage.acted == [(("oven", "door"), {"arm": "left", "alone": True, "link": "panel"})]
        assert stage.judge.goal.max_changes().keys() == {"oven.0"}
        run = stage.begin(1)
        assert (run.joint, run.moved.index, run.chain_index, run.stage, run.moved.s0) == ("knob_joint", 1, 1, 1, 0.4)
        assert stage.judge.current == [run]
        assert len(stage.judge.runs) == 2

    def test_another_attempt_counts_from_where_the_first_one_began(self):
        stage, first = Stage.started()
        stage.frame(s=0.25, touch=True)
        stage.judge.break_off_skill(first, NOT_OPEN)
        third = stage.begin(earlier=(second := stage.begin(earlier=first)))
        assert stage.judge.attempts_at(0) == [first, second, third]
        assert [(run.moved.s0, run.moved.s, run.attempt) for run in (second, third)] == [(0.0, 0.25, 1), (0.0, 0.25, 2)]

    def test_a_skill_alone_watches_every_view_for_its_own_threshold(self):
        stage, _ = Stage.started(make_skill(contact_force_threshold_n=1.5))
        assert [view.watched for view in stage.views.values()] == [[1.5]] * 3

    def test_what_no_skill_has_named_yet_may_not_be_touched(self):
        stage = Stage(make_skill(scene_force_threshold_n=30.0), make_pick(scene_force_threshold_n=30.0))
        view = stage.views["can.other_objects"] = ObjectView("can.other_objects", lambda *_: True, physics_hz=240.0)
        stage.begin(0)
        view.sample([1.5], lambda _view, _place: ({("can", "oven/door"): 1.5}, 7, 0.1))
        stage.frame()
        (failure,) = stage.judge._failures
        assert failure.code == "collision"
        assert failure.message == "can pressed oven/door with 1.5 N (allowed 1 N) while in phase follow"
        stage.begin(1)
        view.sample([1.5], lambda _view, _place: ({("can", "oven/door"): 1.5}, 8, 0.1))
        assert view.violation is None, "the pick names the can"

    def test_a_second_arm_watches_its_own_views_and_those_that_already_have_a_violation(self):
        stage, first = Stage.started(*two_arms(), arms=BOTH)
        own = [name for name, view in stage.views.items() if view.watched]
        assert own == ["panda.left.oven.fingers_link", "panda.left.oven.forbid_collision", "panda.environment"]
        second = stage.begin(1)
        assert stage.judge.current == [first, second]
        assert stage.acted[1][1]["alone"] is False
        assert len(stage.views["panda.environment"].watched) == 1
        theirs = [stage.views[f"panda.right.oven.{name}"].watched for name in ("fingers_link", "forbid_collision")]
        assert [len(watched) for watched in theirs] == [1, 1]
        stage, _ = Stage.started(*two_arms(), arms=BOTH)
        stage.violate("panda.environment")
        stage.begin(1)
        assert len(stage.views["panda.environment"].watched) == 2

    def test_the_next_skill_of_an_arm_takes_the_place_of_its_last_one(self):
        stage, first = Stage.started(*two_arms(), make_skill("door", arms=BOTH, stage=1), arms=BOTH)
        second, third = stage.begin(1), stage.begin(2)
        assert stage.judge.current == [second, third]
        assert [run.stage for run in (first, second, third)] == [0, 0, 0]

        stage, _ = Stage.started(*two_arms(), make_skill("door", arms=BOTH), arms=BOTH)
        stage.begin(1)
        run = stage.begin(2)  # the next stage takes the place of all
        assert (stage.judge.current, run.stage, stage.acted[-1][1]["alone"]) == ([run], 1, True)

    def test_a_skill_that_ends_without_its_conditions_fails_the_episode(self):
        stage, run = Stage.started()
        stage.frame(s=0.3, touch=True)
        stage.skills[0].unmet = NOT_OPEN
        stage.judge.end_skill(run)
        assert (run.success, run.broken_off, run.frame_end) == (False, False, 1)
        assert stage.judge.failure == NOT_OPEN

    def test_a_skill_that_ends_with_its_conditions_succeeds(self):
        stage, run = Stage.started(make_skill(), make_skill("knob"))
        open_door(stage)
        stage.judge.end_skill(run)
        assert (run.success, run.frame_end, stage.judge.failure) == (True, 4, None)

    def test_conditions_are_not_judged_after_a_failure(self):
        stage, run = Stage.started()
        stage.frame(speeds=TOO_FAST)
        stage.judge.end_skill(run)
        assert (stage.codes(), run.success) == (["overspeed"], False)

    @pytest.mark.parametrize(
        ("part", "phase", "is_said"),
        [("door", Phase.follow, False), ("door", Phase.retreat, True), ("knob", Phase.retreat, False)],
    )
    def test_a_flap_that_falls_back_is_said_to_have_been_let_go(self, part, phase, is_said):
        stage, run = Stage.started(make_skill(part))
        run.skill.phase = phase
        hinge = SimpleNamespace(name=run.moved.name, prismatic=False)
        stage.frame(speeds=FrameSpeeds(0.0, {"oven": 6.0}, {"oven": hinge}))
        assert (f" after the hand let go: nothing holds '{part}' there" in stage.failure.message) is is_said

    def test_no_skill_of_a_demonstration_succeeds_after_a_failure_of_another_arm(self):
        stage, left = Stage.started(*two_arms(finger_contact_required=False), arms=BOTH)
        right = stage.begin(1)
        stage.violate("panda.left.oven.forbid_collision")
        stage.frame()
        stage.judge.end_skill(right)
        assert (left.broke_rule, right.broke_rule, right.success) == (True, False, False)

    def test_a_skill_that_is_broken_off_is_not_judged(self):
        stage, run = Stage.started()
        stage.judge.end_skill(run, broken_off=True)
        assert (stage.codes(), run.success, run.broken_off) == ([], False, True)


class TestBreakOff:
    def test_attempts_at_a_skill_are_its_runs_in_the_order_in_which_they_began(self):
        stage, first = Stage.started(make_skill(), make_skill("knob"))
        stage.judge.end_skill(first)
        other = stage.begin(1)
        stage.judge.end_skill(other)
        again = stage.begin(0, earlier=first)
        assert stage.judge.attempts_at(0) == [first, again]
        assert stage.judge.attempts_at(1) == [other]

    def test_an_episode_that_nothing_drives_any_more_is_judged_as_it_is(self):
        stage, run = Stage.started()
        stage.frame(touch=True)
        stage.skills[0].unmet = NOT_OPEN
        stage.judge.break_off()
        assert (stage.codes(), run.frame_end, stage.judge.over) == (["not_reached"], 1, True)

    def test_an_episode_that_has_not_stood_still_long_enough_is_unsettled(self):
        stage, _ = Stage.started()
        stage.frame(touch=True)
        stage.judge.break_off()
        said = "The episode ended before the scene had stood still for long enough"
        assert (stage.failure.code, stage.failure.message) == ("unsettled", said)

    def test_before_the_first_skill_and_after_the_end_nothing_is_judged(self):
        stage = Stage(make_free())
        stage.judge.break_off()
        assert stage.codes() == []
        stage.begin()
        stage.frames(SETTLE_FRAMES + 1)
        stage.judge.break_off()
        assert (stage.codes(), stage.judge.success) == ([], True)
