"""Mistakes of the author of a skill are named before the arm moves, with the place, the value and the limit."""

import re
from types import SimpleNamespace

import numpy as np
import pytest

from unlatch.objects.annotation import Openness
from unlatch.robots.description import GripperCfg
from unlatch.simcore.errors import SkillError
from unlatch.simcore.geometry import Pose
from unlatch.simcore.recording.success_rules import NO_FAILURES, SuccessRule
from unlatch.simcore.urdf.model import Joint
from unlatch.skills.close import Close
from unlatch.skills.commands import JointMotion, ManipCommand, ManipKind, Phase
from unlatch.skills.config import SkillCfg
from unlatch.skills.context import Failure, describe_reach, is_reachable
from unlatch.skills.hold import Hold
from unlatch.skills.open import Open
from unlatch.skills.skill import check_commands
from unlatch.solver.setting import FollowJointCfg, PlannerSettingCfg, SuccessMode

LOWER, UPPER, SPEED = [-2.9, 0.0], [2.9, 0.5], [2.0, 0.2]
"""Limits of a turning joint `elbow` [rad] and a sliding joint `lift` [m], and their speeds."""
START = np.array([0.1, 0.2])
HERE, PLACE = Pose.identity(), re.escape(__file__)
CLOSE, OPEN, WEIGHTS = ManipKind.close_gripper, ManipKind.open_gripper, ManipKind.update_pose_cost_metric
NAN, INF = float("nan"), float("inf")


class Nudge(Close):
    def make_commands(self, plan):
        return []


def check(*motions, further=(), start=START):
    """Checks a planned skill with a pause, one command for each motion, and further ones; an episode takes 20 s."""
    pause = ManipCommand(CLOSE, HERE, Phase.grasp, dwell_frames=5)
    motions = [JointMotion(np.array(rows)) for rows in motions]
    moves = [ManipCommand(ManipKind.joint_ctrl, HERE, Phase.follow, motion=motion) for motion in motions]
    limits = {"lower": LOWER, "upper": UPPER, "max_velocity": SPEED, "gripper": SimpleNamespace(max_width_m=0.08)}
    arm = SimpleNamespace(q_target=start, cfg=SimpleNamespace(joints=["elbow", "lift"], **limits))
    joints = [SimpleNamespace(prismatic=False), SimpleNamespace(prismatic=True)]
    model = SimpleNamespace(kinematics=SimpleNamespace(joints=joints))
    skill = object.__new__(Nudge)
    skill.cfg = SimpleNamespace(name="nudge")
    skill.commands = [pause, *moves, *further]
    skill.context = SimpleNamespace(arm=arm, frame_s=0.1, arm_model=model)
    check_commands(skill, max_duration_s=20.0)


@pytest.mark.parametrize(
    ("motions", "expected"),
    [
        (
            [[[0.1, 0.2]], [[0.1, 0.2], [45.0, 0.2], [78.0, 0.2]]],
            "leads joint 'elbow' to 78 rad in row 2. Its limits are -2.9 and 2.9 rad. Are these degrees?",
        ),
        ([[[0.1, 0.2], [0.1, 0.6]]], "leads joint 'lift' to 0.6 m in row 1. Its limits are 0 and 0.5 m. Change the mo"),
        ([[[0.1, NAN]]], "leads joint 'lift' to nan m in row 0. Its limits are 0 and 0.5 m."),
        ([[[0.2, 0.2]], [[0.9, 0.2]]], "Command 2 of skill 'nudge' (joint_ctrl, follow) begins 0.7 rad away from"),
        ([[[0.1, 0.2], [0.1, 0.3]]], "moves joint 'lift' by 0.1 m in row 1. The speed limit is 0.2 m/s, which is"),
        ([[[0.1], [0.2]]], "has `q` of shape (2, 1). Expected (rows, 2): one column for each of elbow, lift."),
        ([[START.tolist()] * 2001], "has 2001 rows, one a record frame, which are 200.1 s. The whole episode may"),
    ],
    ids=["degrees", "limit", "not a number", "not continued", "too fast", "columns", "rows"],
)
def test_a_motion_that_the_arm_cannot_follow_is_named(motions, expected):
    with pytest.raises(SkillError, match=re.escape(expected)) as caught:
        check(*motions)
    assert f'File "{__file__}", line ' in str(caught.value)


STAY = np.array([START, START])


def holds(dwell_frames):
    return ManipCommand(CLOSE, HERE, Phase.hold, dwell_frames=dwell_frames)


@pytest.mark.parametrize(
    ("motions", "more"),
    [
        ([[[0.3, 0.2], [0.5, 0.22]], [[0.7, 0.21]]], {}),
        ([[[3.0, 0.2], [2.9, 0.2]]], {"start": np.array([3.1, 0.2])}),  # an arm beyond a limit may come back
        ([[START.tolist()] * 2000], {}),  # somewhat longer than the episode: left to its timeout
        ([], {"further": [holds(200)]}),  # as long as the episode
        (
            [[START.tolist()]],
            {
                "further": [
                    ManipCommand(OPEN, HERE, Phase.hold, params={"width_m": 0.08}),
                    ManipCommand(
                        CLOSE, HERE, Phase.hold, JointMotion(STAY, s=np.zeros(2), gripper_m=np.array([0.08, 0.0]))
                    ),
                    holds(np.int64(3)),
                    ManipCommand(WEIGHTS, HERE, Phase.idle, params={"hold_vec_weight": (0, 0, 0, 1, 1, 1)}),
                ]
            },
        ),
    ],
)
def test_what_the_arm_can_carry_out_is_accepted(motions, more):
    check(*motions, **more)


def closes(T=HERE, motion=None):
    return ManipCommand(CLOSE, T, Phase.hold, motion)


def opens(width_m):
    return ManipCommand(OPEN, HERE, Phase.hold, params={"width_m": width_m})


def weighs(*weights):
    return ManipCommand(WEIGHTS, HERE, Phase.idle, params={"hold_vec_weight": list(weights)})


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (holds(201), r"\(close_gripper, hold\) waits for 201 record frames, which are 20.1 s\. The whole episode may"),
        (holds(-7), r"has dwell_frames=-7\. Expected a whole number"),
        (holds(True), "has dwell_frames=True"),
        (closes(Pose(np.eye(3), [0.1, NAN, 0.0])), r"p=\[0\.1, nan, 0\. *\] m"),
        (closes(Pose(np.eye(3), [310.0, 0.0, 582.0])), "at most 10 m from the arm's base"),
        *((closes(Pose(R, np.zeros(3))), "is no rotation") for R in (2.0 * np.eye(3), -np.eye(3))),
        (closes("here"), "has T_base_ee='here'. Expected a Pose"),
        (closes(motion=JointMotion(STAY, s=np.zeros(3))), "Expected 2 finite numbers"),
        (closes(motion=JointMotion(STAY, s=[0.0, INF])), "Expected 2 finite numbers"),
        (closes(motion=JointMotion(STAY, gripper_m=40.0)), r"gripper_m=40\.0\. Expected 0 to 0\.08"),
        (closes(motion=JointMotion(STAY, gripper_m=[0.0, -0.01])), "Expected 0 to 0.08 m"),
        (opens("wide"), r"params\['width_m'\]='wide'"),
        (weighs(0, 0, 0, 0, 0, INF), "Expected six finite numbers"),
    ],
)
def test_a_wrong_number_of_a_command_is_named_with_what_is_expected(command, expected):
    with pytest.raises(SkillError, match=expected) as caught:
        check([START.tolist()], further=[command])
    place = rf'File "{PLACE}", line \d+'
    assert re.search(rf"^Command 2 of skill 'nudge' \({command.kind.value}, .*{place}$", caught.value.message)


@pytest.mark.parametrize(
    ("method", "value", "expected"),
    [
        ("make_commands", None, "a list of ManipCommand. Does it lack a `return`?"),
        ("make_commands", ["close_gripper"], "a list of ManipCommand."),
        ("plan", None, "True or False. Does it lack a `return`?"),
        ("unmet_condition", True, "a Failure or None."),
    ],
)
def test_a_method_that_returns_something_else_is_named(method, value, expected):
    def overriding(self, *_):
        return value

    overriding.__name__ = method
    skill = type("Nudge", (Close,), {method: overriding})
    said = f"^Nudge.{method} returned {re.escape(repr(value))}. Expected {re.escape(expected)}"
    with pytest.raises(SkillError, match=f'{said} File "{PLACE}", line '):
        getattr(skill, method)(object.__new__(skill), *([] if method == "unmet_condition" else [None]))


def test_what_fits_is_returned_as_it_is_and_a_condition_of_a_plugin_told_from_those_of_our_skills():
    failure = Failure("not_reached", "still open", 1.0)

    class Press(Close):
        def unmet_condition(self):
            return failure

        def make_commands(self, plan, extra=0):
            return []

    press = object.__new__(Press)
    assert press.unmet_condition() is failure
    assert press.make_commands(None) == []
    assert [skill.has_own_condition() for skill in (Close, Nudge, Press)] == [False, False, True]


def test_other_parameters_and_a_constructor_that_does_not_call_the_one_of_the_base_are_refused():
    message = rf'make_commands has the parameters \(self\). Expected \(self, plan\), .* File "{PLACE}", line \d+$'
    with pytest.raises(SkillError, match=message):
        type("Nudge", (Close,), {"make_commands": lambda self: []})

    class Mine(Close):
        def __init__(self, cfg, context):
            self.mine = 1

    with pytest.raises(SkillError, match=rf'does not call super\(\).__init__\(cfg, context\). .* File "{PLACE}", line'):
        Mine(None, None)


def test_failure_codes_are_known_ones_and_so_are_reasons_to_plan_anew_that_are_no_failure():
    with pytest.raises(
        SkillError, match=r"Unknown failure code 'slippd'. Did you mean 'slipped'\? Known: .*not_reached"
    ):
        Failure("slippd", "it slipped", 0.0)
    assert [Failure(code, "planned anew", 0.0).code for code in NO_FAILURES] == ["part_moved", "taken_over"]


def declared(skill, **setting):
    forces = {"contact_force_threshold_n": 3.0, "scene_force_threshold_n": 25.0}
    cfg = SkillCfg(name="x", planner_setting=PlannerSettingCfg(**setting), **forces)
    return skill.declare_rule(cfg, GripperCfg(finger_force_limit_n=80.0))


def test_the_class_of_a_skill_declares_its_rule():
    assert declared(Open, success_threshold=0.7) == SuccessRule(
        success_mode="abs",
        success_threshold=0.7,
        finger_contact_required=True,
        collision_valid_enabled=True,
        process_valid_enabled=True,
        contact_force_threshold_n=3.0,
        finger_force_limit_n=80.0,
        scene_force_threshold_n=25.0,
    )
    closed = declared(Close, success_threshold=0.1)
    assert (closed.success_mode, closed.finger_contact_required, closed.holds) == ("zero", False, False)
    assert declared(Open, success_threshold=0.7, success_mode=SuccessMode.fraction).success_mode == "fraction"
    held = declared(Hold, success_threshold=0.7)
    assert (held.success_mode, held.holds) == (None, True)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("_on_frame", lambda self: None, r"Lift\._on_frame is not called\. Expected `check_frame`\."),
        ("finger_contact_required", property(lambda self: None), "required is a property, .* Expected a class"),
        ("success_rule", property(lambda self: None), r"rule is a property, .* Expected declare_rule\(\)"),
        ("touched_link", property(lambda self: None), r"link is a property, .* Expected declare_link\(\)"),
    ],
)
def test_old_names_and_rules_that_only_a_running_episode_can_read_are_refused(name, value, message):
    with pytest.raises(SkillError, match=message):
        type("Lift", (Open,), {name: value})


def slider(kind="prismatic"):
    return Joint("slide", kind, "body", "drawer", HERE, lower=0.0, upper=0.3)


class PullFar(Close):
    def default_target(self):
        return 5.0


def leading(kind=PullFar, *, follow=None, moves_little=False):
    skill = object.__new__(kind)
    setting = SimpleNamespace(follow_joint=follow, approach_width_m=None, drags=False)
    skill.cfg = SimpleNamespace(planner_setting=setting)
    openness = Openness(closed=0.0, open=0.3)
    skill.part = SimpleNamespace(name="drawer0", joint="slide", openness=openness, moves_little=moves_little)
    skill.object_name = "drawer"
    skill.object = SimpleNamespace(asset=SimpleNamespace(model=SimpleNamespace(joints={"slide": slider()})))
    return skill


def test_a_target_of_the_code_beyond_the_range_is_refused_before_anything_is_planned():
    message = (
        r"^PullFar leads 'drawer0' of 'drawer' to 5 m, which its joint cannot reach. Expected 0 to 0.3 m \(at most "
        r"0.01 m past a limit, to push against it\). Change what `default_target` or `follow_to` returns.$"
    )
    with pytest.raises(SkillError, match=message):
        leading().plan(np.random.default_rng(0))
    leading(follow=FollowJointCfg(to=0.2))._check_target()  # that of a setting is checked with the configuration
    # of a part that moves little, only the target of `close` itself may lie beyond its stop
    leading(Close, moves_little=True)._check_target()
    with pytest.raises(SkillError, match="5 m, which its joint cannot reach"):
        leading(moves_little=True)._check_target()


@pytest.mark.parametrize(
    ("position", "kind", "reachable"),
    [(0.3, "prismatic", True), (0.309, "prismatic", True), (0.32, "prismatic", False), (9.0, "continuous", True)],
)
def test_a_part_may_be_pushed_a_little_past_its_limit(position, kind, reachable):
    assert is_reachable(slider(kind), position) == reachable
    assert describe_reach(slider("revolute")) == "0 to 0.3 rad (at most 0.05 rad past a limit, to push against it)"
