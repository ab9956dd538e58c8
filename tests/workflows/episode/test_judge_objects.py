"""How the judge follows a free object that a skill acts on: where it must be, and how the fingers must hold it."""

import math

import numpy as np
import pytest

from tests.workflows.episode.judge_stage import NOT_OPEN, SETTLE_FRAMES, Stage, make_pick, make_skill
from unlatch.simcore.recording.success_rules import MAX_SETTLE_CHANGE_M, MOVING_STEP
from unlatch.workflows.episode.criteria import PolicyRules


@pytest.fixture
def stage() -> Stage:
    """The can stands at a height of 0.5 m, and must be lifted by 0.1 m."""
    made = Stage(make_pick())
    made.carry(0.5, grip=False)
    return made


class TestWhereItMustBe:
    def test_a_skill_begins_where_its_object_is(self, stage):
        run = stage.begin()
        assert (run.thing, run.part, run.moved, run.joint, run.frame_start) == ("can", None, None, "", 1)
        assert list(run.conditions) == [{"object": "can", "kind": "lifted", "value": 0.1}]
        assert stage.acted == [(("can", None), {"arm": "left", "alone": True, "link": None})]
        assert stage.judge.goal.max_changes() == {"can.root": MAX_SETTLE_CHANGE_M}

    def test_an_object_that_is_elsewhere_is_not_reached(self, stage):
        run = stage.begin()
        stage.carry(0.55, 0.59)
        (failure,) = stage.judge.unmet_conditions(run)
        assert (failure.code, failure.time_s) == ("not_reached", stage.world.time_s)
        assert failure.message == "Condition 'lifted' of can does not hold: 0.0900, limit 0.1"
        stage.skills[0].unmet = NOT_OPEN
        assert stage.judge.unmet_conditions(run) == [NOT_OPEN]  # the skill's own condition takes its place

    def test_another_attempt_counts_from_where_the_first_one_began(self, stage):
        first = stage.begin()
        stage.carry(0.55)
        stage.judge.break_off_skill(first, NOT_OPEN)
        second = stage.begin(earlier=first)
        stage.carry(0.61)
        assert (stage.judge.unmet_conditions(second), second.attempt) == ([], 1)

    def test_an_episode_succeeds_once_the_object_stays_where_it_must_be(self, stage):
        run = stage.begin()
        stage.carry(0.55, 0.61, *[0.61] * (SETTLE_FRAMES - 1))
        assert not stage.judge.success
        stage.carry(0.61)
        assert (stage.judge.success, stage.judge.window, run.success) == (True, (3, 6), True)

    def test_an_object_that_moves_while_the_scene_settles_prevents_success(self, stage):
        stage.begin()
        stage.carry(*[0.6 + 2 * MAX_SETTLE_CHANGE_M * n for n in range(9)])
        assert not stage.judge.success

    def test_a_position_that_is_not_finite_ends_the_episode(self, stage):
        stage.begin()
        stage.carry(math.nan)
        assert [stage.judge.over, *stage.codes()] == [True, "diverged"]


class TestContact:
    def test_fingers_that_never_touched_the_object_missed_the_grasp(self, stage):
        run = stage.begin()
        stage.carry(0.61, grip=False)
        (failure,) = stage.judge.unmet_conditions(run)
        assert (failure.code, failure.message) == ("grasp_missed", "The fingers never touched 'can'")

    @pytest.mark.parametrize(("held", "codes"), [(8, []), (7, ["slipped"])])
    def test_the_fingers_must_touch_it_in_most_frames_in_which_it_moves(self, stage, held, codes):
        run = stage.begin()
        heights = [0.5 + 0.02 * n for n in range(1, 11)]
        stage.carry(*heights[:held])
        stage.carry(*heights[held:], *[heights[-1]] * 3, grip=False)
        assert (run.moving_frames, run.touching_while_moving, run.touching_frames) == (10, held, held)
        found = stage.judge.unmet_conditions(run)
        assert [failure.code for failure in found] == codes
        assert all("'can' in 70% of the frames" in failure.message for failure in found)

    @pytest.mark.parametrize(("step", "moving"), [(0.9, 0), (1.1, 3)])
    def test_it_moves_where_it_is_further_than_the_least_step_from_the_last_frame(self, stage, step, moving):
        run = stage.begin()
        for n in range(1, 4):
            stage.can.p = np.array([0.6, 0.8, 0.0]) * n * step * MOVING_STEP + [0.0, 0.0, 0.5]
            stage.frame()
        assert run.moving_frames == moving

    def test_a_step_of_exactly_the_least_one_is_no_motion(self):
        stage = Stage(make_pick())
        run = stage.begin()
        stage.carry(MOVING_STEP)
        assert run.moving_frames == 0


class TestPolicies:
    @pytest.mark.parametrize(("following", "begins"), [(make_skill(), []), (make_pick(0.2), [1])])
    def test_the_hand_keeps_an_object_only_for_a_skill_that_acts_on_it_too(self, following, begins):
        stage = Stage(make_pick(), following, policy=PolicyRules())
        stage.begin()
        stage.carry(0.05, 0.12)
        assert stage.judge.end_reached_skills() == begins
