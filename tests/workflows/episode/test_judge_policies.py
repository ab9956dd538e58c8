"""How a policy is judged: its goal, and which skills end and begin as its arms move."""

from typing import Any

import pytest

from tests.workflows.episode.judge_stage import (
    NOT_OPEN,
    SETTLE_FRAMES,
    TOO_FAST,
    Stage,
    make_free,
    make_skill,
    open_door,
    two_arms,
)
from unlatch.tasks.task import GoalCfg, GoalKind
from unlatch.workflows.episode.criteria import PolicyRules

BOTH = ("left", "right")


def of_policy(*skills: Any, end: bool = True, **options: Any) -> Stage:
    """Returns a stage of a policy whose episodes `end` at a broken rule, or go on."""
    return Stage(*skills, policy=PolicyRules(end_at_violation=end), **options)


def started(*skills: Any, **options: Any) -> Stage:
    stage = of_policy(*skills, **options)
    stage.begin()
    return stage


@pytest.mark.parametrize(
    ("evaluation", "may_move", "ends"),
    [
        ({}, True, True),
        ({"success_when": "still"}, False, True),
        ({"success_when": "settled"}, True, True),
        ({"end_at_violation": False}, True, False),
        ({"end_at_violation": True}, True, True),
    ],
)
def test_rules_are_read_from_the_header_of_a_data_set(evaluation, may_move, ends):
    assert PolicyRules.of(evaluation) == PolicyRules(arms_may_move=may_move, end_at_violation=ends)


class TestGoal:
    def test_an_episode_goes_on_after_a_broken_rule_until_the_goal_is_reached(self):
        stage = started(make_free(), end=False)
        (run,) = stage.judge.runs
        stage.skills[0].unmet = NOT_OPEN
        stage.frame(speeds=TOO_FAST)
        assert (stage.judge.over, stage.judge.failure is not None) == (False, True)
        stage.frames(5)
        assert (stage.judge.goal_frame, stage.judge.over) == (None, False)
        stage.skills[0].unmet = None
        stage.frame()
        assert (stage.judge.goal_frame, stage.judge.over, stage.judge.success) == (7, True, False)
        stage.judge.end_skill(run)
        assert not run.success

    def test_an_episode_ends_at_a_broken_rule_where_the_rules_say_so(self):
        stage = started(make_skill())
        stage.frame(speeds=TOO_FAST)
        assert stage.judge.over

    def test_a_reached_goal_without_a_broken_rule_goes_on_until_success(self):
        stage = started(make_skill(), end=False)
        stage.frames(SETTLE_FRAMES)
        assert (stage.judge.goal_frame, stage.judge.success, stage.judge.over) == (SETTLE_FRAMES, False, False)
        stage.frame(touch=True)
        assert (stage.judge.goal_frame, stage.judge.success) == (SETTLE_FRAMES, True)

    def test_an_episode_whose_time_is_over_ends(self):
        stage = started(make_skill(), end=False)
        stage.world.time_s = 2.0
        stage.frame()
        assert (stage.judge.over, stage.judge.timed_out) == (True, True)

    def test_the_goal_needs_every_skill_of_the_chain(self):
        stage = started(make_free(), make_free("knob"), end=False)
        stage.frames(6)
        assert stage.judge.goal_frame is None
        stage.begin(1)
        stage.frames(SETTLE_FRAMES - 1)
        assert stage.judge.goal_frame is None
        stage.frame()
        assert stage.judge.goal_frame == 6 + SETTLE_FRAMES

    def test_the_goal_needs_the_parts_at_rest(self):
        stage = started(make_skill(), end=False)
        for number in range(8):
            stage.frame(s=0.03 * number)
        assert stage.judge.goal_frame is None

    def test_a_skill_that_moves_nothing_does_not_hide_the_goal(self):
        stage = started(make_skill(success_mode=None), end=False)
        stage.skills[0].unmet = NOT_OPEN
        stage.frames(SETTLE_FRAMES)
        assert stage.judge.goal_frame == SETTLE_FRAMES

    def test_a_demonstration_measures_no_goal(self):
        stage, _ = Stage.started()
        stage.frames(6)
        assert stage.judge.goal_frame is None
        assert stage.judge.goal_entry() == {"conditions": []}

    def test_the_record_has_what_the_goal_needs(self):
        goal = [GoalCfg(object="oven", part="door", kind=GoalKind.moved, value=0.5)]
        stage = of_policy(make_skill(), make_skill("knob"), goal=goal, end=False)
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
        stage = of_policy(make_free(), make_free("knob"), end=False)
        first = stage.begin(0)
        stage.frame(speeds=TOO_FAST)
        stage.judge.end_skill(first)
        second = stage.begin(1)
        stage.frame()
        stage.judge.end_skill(second)
        assert (first.success, second.success) == (False, True)

    def test_a_skill_without_its_conditions_does_not_succeed(self):
        stage = started(make_free(), end=False)
        (run,) = stage.judge.runs
        stage.skills[0].unmet = NOT_OPEN
        stage.frame()
        stage.judge.end_skill(run)
        assert (run.broke_rule, run.success) == (False, False)

    def test_conditions_are_judged_after_a_broken_rule_too(self):
        stage = started(make_free(), end=False)
        stage.frame(speeds=TOO_FAST)
        stage.skills[0].unmet = NOT_OPEN
        stage.judge.end_skill(stage.judge.runs[0])
        assert stage.codes() == ["overspeed", "not_reached"]


class TestFollowingSkills:
    """For arms that a policy moves: which skills end, and which begin."""

    def test_the_first_skills_begin_at_the_start(self):
        assert of_policy(make_skill(), make_skill()).judge.end_reached_skills() == [0]
        assert of_policy(*two_arms(), arms=BOTH).judge.end_reached_skills() == [0, 1]

    def test_nothing_follows_the_last_skill_or_the_end(self):
        stage = started(make_free())
        assert stage.judge.end_reached_skills() == []
        assert stage.judge.runs[0].is_open
        stage = started(make_skill(), make_skill())
        stage.frame(speeds=TOO_FAST)
        assert stage.judge.end_reached_skills() == []

    def test_a_complete_skill_ends_and_the_next_stage_begins(self):
        stage = started(make_skill(), make_skill("knob"))
        (run,) = stage.judge.runs
        open_door(stage)
        assert stage.judge.end_reached_skills() == []  # the hand has not let go
        stage.frames(SETTLE_FRAMES - 1, touch=False)
        assert (stage.judge.end_reached_skills(), run.is_open) == ([], True)
        stage.frame()
        assert stage.judge.end_reached_skills() == [1]
        assert (run.is_open, run.success, run.frame_end) == (False, True, 4 + SETTLE_FRAMES)

    def test_the_hand_may_stay_at_a_part_that_the_next_skill_acts_on(self):
        stage = started(make_skill(), make_skill())
        open_door(stage)
        assert stage.judge.end_reached_skills() == [1]

    @pytest.mark.parametrize(
        "skills",
        [
            [make_free(stage=1), make_skill("knob", stage=1)],  # in the last stage, too
            [make_free(), make_free("knob"), make_free()],  # of three stages the second follows the first
        ],
    )
    def test_the_next_skill_begins_once_the_hand_has_kept_away(self, skills):
        stage = started(*skills)
        stage.frames(SETTLE_FRAMES)
        assert stage.judge.end_reached_skills() == [1]

    def test_a_skill_that_moves_nothing_has_nothing_to_let_go(self):
        stage = of_policy(make_free(), make_skill("knob"))
        stage.skills[0].executes = False
        stage.begin()
        stage.frame(touch=True)
        assert stage.judge.end_reached_skills() == [1]

    def test_an_incomplete_skill_goes_on(self):
        stage = started(make_skill(), make_skill())
        open_door(stage)
        stage.skills[0].unmet = NOT_OPEN
        assert stage.judge.end_reached_skills() == []

    def test_a_stage_ends_when_all_of_its_arms_are_done(self):
        skills = [*two_arms(finger_contact_required=False), make_skill("door", arms=BOTH)]
        stage = of_policy(*skills, arms=BOTH)
        left, right = stage.begin(0), stage.begin(1)
        skills[1].unmet = NOT_OPEN
        stage.frames(SETTLE_FRAMES)
        assert (stage.judge.end_reached_skills(), left.is_open) == ([], True)
        skills[1].unmet = None
        assert stage.judge.end_reached_skills() == [2]
        assert (left.is_open, right.is_open) == (False, False)

    def test_an_arm_with_a_further_skill_in_the_stage_goes_on_alone(self):
        skills = [*two_arms(finger_contact_required=False), make_skill("door", arms=BOTH, stage=1)]
        stage = of_policy(*skills, make_skill("knob", arms=BOTH), arms=BOTH)
        left, right = stage.begin(0), stage.begin(1)
        assert stage.judge.end_reached_skills() == [2]
        assert (left.is_open, right.is_open) == (False, True)

    def test_a_stage_goes_on_until_all_of_its_skills_have_begun(self):
        stage = started(*two_arms(finger_contact_required=False), make_skill("door", arms=BOTH), arms=BOTH)
        stage.frames(SETTLE_FRAMES)
        assert stage.judge.end_reached_skills() == []

    def test_after_a_broken_rule_late_contact_does_not_hold_up_the_chain(self):
        stage = started(make_skill(), make_skill(), end=False)
        stage.frame(s=0.8)
        assert stage.judge.end_reached_skills() == []  # the fingers may still touch
        stage.frame(speeds=TOO_FAST)
        assert stage.judge.end_reached_skills() == [1]

    def test_fingers_that_stay_away_do_not_hold_up_the_chain_of_a_policy(self):
        stage = started(make_skill(), make_skill(), end=False)
        stage.frames(SETTLE_FRAMES - 1, s=0.8)
        assert stage.judge.end_reached_skills() == []
        stage.frame()
        assert stage.judge.end_reached_skills() == [1]

    def test_a_part_that_is_not_where_it_should_be_holds_up_the_chain(self):
        stage = started(make_skill(), make_skill(), end=False)
        stage.skills[0].unmet = NOT_OPEN
        stage.frames(SETTLE_FRAMES + 2)
        assert stage.judge.end_reached_skills() == []
