"""What fails an episode at once: forces, speeds, its time, and values that are not finite."""

import math

import pytest

from tests.workflows.episode.judge_stage import HZ, TOO_FAST, Stage, hit, make_free, make_skill, two_arms
from unlatch.simcore.geometry import Pose
from unlatch.simcore.recording.success_rules import MAX_JOINT_SPEED
from unlatch.simcore.sim.bodies import JointInfo
from unlatch.skills.commands import Phase
from unlatch.skills.context import FrameSpeeds
from unlatch.workflows.episode.criteria import PolicyRules

BOTH = ("left", "right")
GOES_ON = PolicyRules(end_at_violation=False)
TABLE = "panda.environment"


class TestForces:
    def test_a_forbidden_contact_is_a_collision(self):
        stage, run = Stage.started()
        stage.violate(TABLE)
        stage.frame()
        assert (stage.failure.code, stage.failure.time_s) == ("collision", 0.25)
        assert stage.failure.message == "hand pressed frame with 7.0 N (allowed 1 N) while in phase follow"
        place = {"view": TABLE, "pair": ["hand", "frame"], "physics_step": 5, "time_s": 0.25}
        assert stage.failure.evidence == {**place, "force_n": 7.0, "phase": "follow"}
        assert (run.collision_valid, run.broke_rule, run.first_violation) == (False, True, hit(TABLE))

    def test_the_fingers_may_touch_the_part_and_the_message_names_no_phase_of_an_idle_arm(self):
        stage, _ = Stage.started()
        stage.skills[0].phase = Phase.idle
        stage.violate("panda.left.oven.fingers_link")
        stage.frame()
        assert stage.codes() == []
        stage.violate(TABLE)
        stage.frame()
        assert stage.failure.message == "hand pressed frame with 7.0 N (allowed 1 N)"

    def test_the_first_of_several_contacts_is_named(self):
        stage, _ = Stage.started()
        stage.violate(TABLE, step=9, force_n=1.5)
        stage.violate("panda.left.oven.forbid_collision", step=4, force_n=20.0)
        stage.frame()
        assert stage.failure.evidence["physics_step"] == 4

    def test_rules_that_are_off_note_the_contact_and_go_on(self):
        stage, run = Stage.started(make_skill(collision_valid_enabled=False, process_valid_enabled=False))
        stage.violate(TABLE)
        stage.frame(speeds=TOO_FAST)
        assert (stage.codes(), run.collision_valid, run.process_valid, run.broke_rule) == ([], True, True, False)
        assert run.first_violation == hit(TABLE)

    def test_contacts_without_force_are_counted(self):
        stage, run = Stage.started()
        counts = {TABLE: 2, "panda.left.oven.forbid_collision": 3, "panda.left.oven.fingers_link": 50}
        for name, count in counts.items():
            stage.views[name].zero_force_points = count
        stage.frame()
        assert (run.zero_force_contacts, stage.codes()) == (5, [])

    def test_a_contact_after_the_end_of_a_skill_fails_it_but_is_not_its_first(self):
        stage, run = Stage.started(make_free(), make_skill("knob"))
        stage.judge.end_skill(run)
        stage.violate(TABLE)
        stage.frame()
        assert (stage.codes(), run.first_violation) == (["collision"], None)

    def test_contacts_of_the_other_arm_are_judged_with_its_own_skill(self):
        stage, left = Stage.started(*two_arms(), arms=BOTH)
        right = stage.begin(1)
        stage.violate("panda.right.oven.forbid_collision")
        stage.frame()
        assert (left.collision_valid, right.collision_valid) == (True, False)
        (failure,) = stage.judge._failures
        assert (failure.evidence["skill"], failure.evidence["arm"]) == (1, "right")

    @pytest.mark.parametrize(("force_n", "codes"), [(140.0, []), (140.5, ["overload"])])
    def test_a_finger_may_bear_up_to_its_limit(self, force_n, codes):
        stage, run = Stage.started()
        stage.loads["left"].force_sustained_n.n = force_n
        stage.frame()
        assert (stage.codes(), run.overloaded, run.broke_rule) == (codes, bool(codes), bool(codes))
        if codes:
            assert stage.failure.message == "f1 bore 140 N for longer than 20 ms (allowed 140 N)"
            expected = {"hand": "panda.left", "finger": "f1", "force_n": 140.5, "limit_n": 140.0, "phase": "follow"}
            assert stage.failure.evidence == expected

    def test_each_broken_rule_is_noted_once_and_labelled(self):
        stage, _ = Stage.started(*two_arms(), arms=BOTH, policy=GOES_ON)
        stage.begin(1)
        stage.loads["right"].force_sustained_n.n = 200.0
        stage.frames(2)
        assert stage.codes() == ["overload"]
        assert stage.judge._failures[0].evidence["arm"] == "right"
        stage, _ = Stage.started(policy=GOES_ON)
        stage.violate(TABLE)
        stage.frames(3, speeds=TOO_FAST)
        assert stage.codes() == ["collision", "overspeed"]


class TestPlace:
    """Objects that nothing fastens stay where they are."""

    @pytest.mark.parametrize(
        ("moved_m", "yaw", "said"),
        [
            (0.0199, 0.099, None),
            (0.021, 0.0, "'oven' moved by 0.021 m and turned by 0.00 rad (allowed 0.02 m and 0.1 rad)"),
            (0.0, 0.12, "'oven' moved by 0.000 m and turned by 0.12 rad (allowed 0.02 m and 0.1 rad)"),
        ],
    )
    def test_an_object_that_nothing_fastens_may_hardly_move(self, moved_m, yaw, said):
        stage = Stage(make_skill())
        stage.oven.can_move = True
        stage.oven.root = start = Pose.from_translation((1.0, 2.0, 0.0))
        run = stage.begin()
        stage.oven.root = start @ Pose.from_rpy((0.0, moved_m, 0.0), (0.0, 0.0, yaw))
        stage.frames(2)
        assert stage.codes() == ([] if said is None else ["moved_object"])
        assert run.broke_rule is (said is not None)
        if said is not None:
            assert stage.failure.message == said
            assert stage.failure.evidence["moved_m"] == pytest.approx(moved_m)
            assert stage.failure.evidence["turned_rad"] == pytest.approx(yaw, abs=1e-9)

    def test_the_place_counts_from_where_the_skill_begins_and_not_of_a_fastened_object(self):
        stage = Stage(make_skill(), make_skill())
        stage.begin(0)
        stage.oven.root = Pose.from_translation((1.0, 0.0, 0.0))
        stage.frame()
        stage.oven.can_move = True
        stage.begin(1)
        stage.frame()
        assert stage.codes() == []


class TestSpeeds:
    @pytest.mark.parametrize(
        ("robot", "oven", "body"),
        [
            (MAX_JOINT_SPEED, MAX_JOINT_SPEED, None),
            (MAX_JOINT_SPEED + 0.1, 0.0, "panda"),
            (0.0, MAX_JOINT_SPEED + 0.1, "oven"),
            (9.0, 9.0, "panda"),
        ],
    )
    def test_no_joint_may_be_faster_than_the_limit(self, robot, oven, body):
        stage, run = Stage.started()
        stage.frame(speeds=FrameSpeeds(robot, {"oven": oven}))
        assert stage.codes() == ([] if body is None else ["overspeed"])
        assert (run.process_valid, run.broke_rule) == (body is None, body is not None)
        if body is not None:
            speed = {"panda": robot, "oven": oven}[body]
            assert stage.failure.message == f"A joint of '{body}' moved at {speed:.1f} rad/s or m/s (allowed 5)"
            assert stage.failure.evidence == {"body": body, "speed": speed, "allowed": MAX_JOINT_SPEED}
            assert stage.failure.time_s == stage.world.time_s

    @pytest.mark.parametrize(("prismatic", "unit"), [(False, "rad/s"), (True, "m/s")])
    def test_the_joint_and_its_unit_are_named_where_they_are_known(self, prismatic, unit):
        joint = JointInfo("lid_joint", 0, prismatic, True, 0.0, 1.0, 1.0, 1.0, (1.0, 0.0, 0.0))
        stage, _ = Stage.started()
        stage.frame(speeds=FrameSpeeds(0.0, {"oven": 9.0}, {"oven": joint}))
        assert stage.failure.message == f"Joint 'lid_joint' of 'oven' moved at 9.0 {unit} (allowed 5)"


class TestTimeAndNumbers:
    @pytest.mark.parametrize(("time_s", "codes"), [(2.0, []), (2.01, ["timeout"])])
    def test_an_episode_may_take_up_to_its_limit(self, time_s, codes):
        stage, _ = Stage.started()
        stage.world.time_s = time_s - 1.0 / HZ
        stage.frame()
        assert (stage.codes(), stage.judge.timed_out) == (codes, bool(codes))
        if codes:
            said = "The episode took longer than 2 s"
            assert (stage.failure.message, stage.failure.evidence) == (said, {"allowed_s": 2.0})

    @pytest.mark.parametrize(("where", "bad"), [("arm", math.nan), ("object", math.inf)])
    def test_values_that_are_not_finite_end_the_episode(self, where, bad):
        stage, _ = Stage.started(policy=GOES_ON)
        (stage.robot.arms["left"].q if where == "arm" else stage.oven.s)[1] = bad
        stage.frame()
        assert stage.judge.over
        failure = stage.judge._failures[0]
        assert (failure.code, failure.message) == ("diverged", "The simulation gave values that are not finite")

    def test_the_failure_is_the_one_that_came_first(self):
        stage, _ = Stage.started()
        stage.world.time_s = 5.0
        stage.violate(TABLE)
        stage.frame(speeds=TOO_FAST)
        assert stage.codes() == ["collision", "overspeed", "timeout"]
        assert stage.failure.code == "collision"
        stage = Stage(make_skill())  # no skill has begun
        stage.world.time_s = 5.0
        stage.frame(speeds=TOO_FAST)
        assert stage.codes() == []


class TestWeakGrips:
    @pytest.mark.parametrize(("opening_m", "phase"), [(0.0, Phase.follow), (0.02, Phase.retreat)])
    def test_fingers_with_nothing_between_them_are_not_weak(self, opening_m, phase):
        stage, run = Stage.started()
        stage.skills[0].phase = phase
        stage.robot.arms["left"].gripper_opening_m = opening_m
        stage.frame()
        assert run.pressed_n is None

    def test_fingers_that_push_while_they_are_closed_are_not_weak(self):
        stage, run = Stage.started()
        stage.skills[0].closed_gripper = True
        stage.robot.arms["left"].gripper_opening_m = 0.02  # the part pushes them open
        stage.loads["left"].force_mean_n.n = 0.2
        stage.frame()
        assert run.pressed_n is None

    def test_the_largest_force_of_a_frame_is_kept(self):
        stage, run = Stage.started()
        stage.robot.arms["left"].gripper_opening_m = 0.02
        for force_n in (3.0, 9.0, 4.0):
            stage.loads["left"].force_mean_n.n = force_n
            stage.frame()
        assert run.pressed_n == pytest.approx(9.0)
