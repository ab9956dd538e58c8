"""A setting of another system means the same on our parts as it does there, on either side of a hinge."""

import math
from dataclasses import replace

import numpy as np
import pytest

from unlatch.simcore.errors import ConfigError
from unlatch.simcore.geometry import Pose, matrix_from_axis_angle
from unlatch.solver.path_solver import apply_motion, post_poses
from unlatch.solver.plan import PlanRequest
from unlatch.solver.planner import plan_keyframes
from unlatch.solver.setting import HANDS, MotionReading, Origin, hand_rotation
from unlatch.solver.setting_reader import read_motions, read_planner_setting, read_scene

HEAD, TAIL, SPOT = "articulated_object_head", "articulated_object_tail", "link_contact_point"
CONTACT, MOVE, ROT = "link0_contact_axis", "link0_move_axis", "link0_rot_axis"
SIDE, BACK = ("tool_head", "tool_side"), ("tool_head", "tool_tail")
UP, DOWN = [0.0, 0.0, 1.0], [0.0, 0.0, -1.0]


def point(target=HEAD, tolerance=1e-4):
    return {
        "type": "point2point_constraint",
        "keypoint_name": "tool_head",
        "target_keypoint_name": target,
        "tolerance": tolerance,
    }


def angle(tool, inner_product, tolerance, *, line=None, cross=False, **target):
    return {
        "type": "frame_axis_parallel",
        "axis_from_keypoint_name": tool[0],
        "axis_to_keypoint_name": tool[1],
        "target_inner_product": inner_product,
        "tolerance": tolerance,
        **(
            {}
            if line is None
            else {f"target_axis_{end}_keypoint_name": line[i] for i, end in enumerate(("from", "to"))}
        ),
        **(
            {"cross_target_axis1_from_keypoint_name": HEAD, "cross_target_axis1_to_keypoint_name": TAIL}
            if cross
            else {}
        ),
        **target,
    }


def setting(origin, constraints, *, post=(), pre=(), threshold=0.3, **more):
    raw = {
        "origin": origin,
        "success_threshold": threshold,
        "constraint_list": constraints,
        "pre_actuation_motions": list(pre),
        "post_actuation_motions": list(post),
        **more,
    }
    return read_planner_setting(raw, where="planner_setting")[0]


@pytest.mark.parametrize("hinge", [1.0, -1.0])
def test_an_upright_hinge_has_their_signs_on_either_side(door, hinge):
    scene = door(hinge=hinge, s=0.4)
    theirs = read_scene(setting("interndata", [point()]), scene, opens=True)
    np.testing.assert_allclose(theirs.axis(CONTACT), DOWN, atol=1e-9)
    np.testing.assert_allclose(theirs.axis(ROT), UP, atol=1e-9)
    along = theirs.keypoint(TAIL) - theirs.keypoint(HEAD)
    assert along @ (scene.joint.origin - scene.keypoint(HEAD)) > 0.0, "the tail lies towards the hinge"
    np.testing.assert_array_equal(theirs.keypoint(HEAD), scene.keypoint(HEAD))
    outward = np.cross(scene.keypoint(TAIL) - scene.keypoint(HEAD), scene.axis(CONTACT))
    crossed = theirs.cross_sign * np.cross(along, theirs.axis(CONTACT))
    assert crossed @ outward > 0.0, "the cross product is applied to the mirror image of the door"


@pytest.mark.parametrize("hinge", [1.0, -1.0])
def test_a_setting_for_a_hinge_on_the_right_is_recognized_by_its_turns(door, hinge):
    scene = door(hinge=hinge)
    terms = [point(), angle(BACK, -0.9, 0.3, cross=True, target_axis=CONTACT)]
    written = setting("interndata", terms, post=[["rotate", 0.2]])
    theirs = read_scene(written, scene, opens=True)
    outward = np.cross(scene.keypoint(TAIL) - scene.keypoint(HEAD), scene.axis(CONTACT))
    back = -written.constraint_list[1].target(theirs)  # the wanted direction of the palm
    assert back @ outward > 0.0


def test_a_slider_moves_inwards(drawer):
    scene = drawer()
    theirs = read_scene(setting("interndata", [point()]), scene, opens=False)
    np.testing.assert_allclose(theirs.axis(MOVE), -scene.axis(MOVE), atol=1e-12)
    np.testing.assert_allclose(theirs.axis("link0_vertical_axis"), scene.axis("link0_vertical_axis"), atol=1e-12)


def level_hinge(door, *, at_bottom):
    """The scene of a door, turned about its outward direction so that its hinge is level."""
    scene = door()
    normal = scene.axes["base_front_axis"]
    R = matrix_from_axis_angle(normal, math.pi / 2)
    hinge_above = (R @ (scene.joint.origin - scene.keypoint(HEAD)))[2] > 0.0
    R = R if hinge_above != at_bottom else R.T
    return replace(
        scene,
        keypoints={name: R @ p for name, p in scene.keypoints.items()},
        axes={name: R @ axis for name, axis in scene.axes.items()},
        R_base_link=R @ scene.R_base_link,
        joint=replace(scene.joint, origin=R @ scene.joint.origin, axis=R @ scene.joint.axis),
    )


@pytest.mark.parametrize("at_bottom", [True, False])
def test_a_level_hinge_has_their_signs(door, at_bottom):
    scene = level_hinge(door, at_bottom=at_bottom)
    theirs = read_scene(setting("interndata", [point()]), scene, opens=True)
    normal = scene.axes["base_front_axis"]
    left = np.cross(normal, UP)  # of a person in front of the object
    along = theirs.keypoint(TAIL) - theirs.keypoint(HEAD)
    along /= np.linalg.norm(along)
    wanted = (DOWN, left, left) if at_bottom else (left, UP, -left)
    for found, direction in zip((theirs.axis(CONTACT), along, theirs.axis(ROT)), wanted, strict=True):
        np.testing.assert_allclose(found, direction, atol=1e-9)
    np.testing.assert_allclose(np.cross(along, theirs.axis(CONTACT)), normal, atol=1e-9)


def test_the_frame_object_of_gensim2_is_that_of_the_whole_object(door):
    scene = door(s=0.7)
    terms = [point(), angle(BACK, -1, 0.1, target_axis=[1, 0, 0], target_axis_frame="object")]
    theirs = read_scene(setting("gensim2", terms), scene, opens=True)
    target = setting("gensim2", terms).constraint_list[1].target(theirs)
    np.testing.assert_allclose(target, [1.0, 0.0, 0.0], atol=1e-12)
    ours = setting("unlatch", terms)
    moved = ours.constraint_list[1].target(read_scene(ours, scene, opens=True))
    np.testing.assert_allclose(moved, scene.R_base_link[:, 0], atol=1e-12)
    lever = theirs.keypoint(TAIL) - scene.joint.origin
    assert np.linalg.norm(np.cross(lever, scene.joint.axis)) < 1e-9, "the tail lies on the hinge"


@pytest.mark.parametrize("hinge", [1.0, -1.0])
@pytest.mark.parametrize("turn", [0.1, -0.1])
@pytest.mark.parametrize("opens", [True, False])
def test_turns_of_another_system_lead_the_part_as_its_skill_says(arm, door, hinge, turn, opens):
    scene = replace(door(hinge=hinge, s=0.8), s_closed=0.0 if hinge > 0 else 2.0, s_open=2.0 if hinge > 0 else 0.0)
    written = setting("gensim2", [point()], post=[["rotate", turn]])
    reading = read_motions(written, scene, arm.tool_keypoints, np.eye(3), opens=opens)
    change = reading.turn_sign * turn * (scene.s_open - scene.s_closed)
    assert (change > 0.0) == opens
    ours = setting("unlatch", [point()], post=[["rotate", turn]])
    assert read_motions(ours, scene, arm.tool_keypoints, np.eye(3), opens=opens).turn_sign == 1.0


def test_a_knob_that_cannot_turn_on_is_turned_back(arm, door):
    written = setting("interndata", [point()], post=[["rotate", -0.5]])
    reading = read_motions(written, door(s=0.1), arm.tool_keypoints, np.eye(3), opens=None)
    assert reading.turn_sign == -1.0
    assert read_motions(written, door(s=1.0), arm.tool_keypoints, np.eye(3), opens=None).turn_sign == 1.0


@pytest.mark.parametrize("hand", HANDS)
def test_motions_are_turned_into_the_hand_of_the_robot(arm, door, hand):
    R = hand_rotation(hand, arm.tool_keypoints)
    np.testing.assert_allclose(R @ R.T, np.eye(3), atol=1e-12)
    assert np.linalg.det(R) == pytest.approx(1.0)
    approach = HANDS[hand][0]
    written = setting("interndata", [point()], pre=[[f"translate_{approach}", -0.08]], hand=hand)
    reading = read_motions(written, door(), arm.tool_keypoints, np.eye(3), opens=True)
    T = apply_motion(Pose.identity(), written.pre_actuation_motions[0], door(), reading)
    np.testing.assert_allclose(T.p, [0, 0, -0.08], atol=1e-12)


def test_a_sideways_motion_turns_with_exchanged_fingers(arm, door):
    written = setting("unlatch", [point()], post=[["translate_y", 0.05]])
    moved = {}
    for variant, _ in arm.tool_variants():
        reading = read_motions(written, door(), arm.tool_keypoints, arm.variant_rotation(variant), opens=None)
        moved[variant] = apply_motion(Pose.identity(), ["translate_y", 0.05], door(), reading).p
    np.testing.assert_allclose(moved["+"], [0, 0.05, 0], atol=1e-12)
    np.testing.assert_allclose(moved["-"], [0, -0.05, 0], atol=1e-12)


def test_a_list_ends_exactly_where_the_part_reaches_its_stop(door):
    scene = door(s=0.33)
    track = post_poses(Pose.identity(), [["rotate", -0.1]] * 9, scene, MotionReading(), ends=(0.0, math.inf))
    assert track.s[-1] == pytest.approx(0.0, abs=1e-9)
    assert track.s.min() > -1e-9
    assert track.keyframes == sorted(track.keyframes)
    assert track.keyframes[-1] == len(track.dense) - 1
    whole = post_poses(Pose.identity(), [["rotate", -0.1]] * 9, scene, MotionReading())
    assert whole.s[-1] == pytest.approx(0.33 - 0.9)


def pairs():
    """Settings of another system, and the same in our convention; scene, whether the skill opens, and both settings."""
    for hinge in (1.0, -1.0):
        grasp = [
            angle(SIDE, -1, 0.05, line=(HEAD, TAIL)),
            angle(BACK, 0.9, 0.4, cross=True, target_axis="object_link0_contact_axis"),
        ]
        yield pytest.param(
            ("door", {"hinge": hinge, "s": 0.05}, True),
            setting("interndata", [point(), *grasp], pre=[["translate_z", -0.1]], post=[["rotate", -0.1]] * 4),
            setting(
                "unlatch",
                [point(), angle(SIDE, 1, 0.05, line=(HEAD, TAIL)), grasp[1]],
                pre=[["translate_z", -0.1]],
                post=[["rotate", 0.1]] * 4,
            ),
            id=f"open, hinge {hinge:g}",
        )
        push = [point(SPOT), angle(BACK, 0.9, 0.4, cross=True, target_axis=CONTACT)]
        yield pytest.param(
            ("door", {"hinge": hinge, "s": 0.8}, False),
            setting(
                "interndata",
                [*push, angle(SIDE, -1, 0.1, target_axis=CONTACT)],
                pre=[["translate_x", -0.06]],
                post=[["rotate", 0.1]] * 5,
                hand="lift2",
                threshold=0.08,
            ),
            setting(
                "unlatch",
                [*push, angle(SIDE, 1, 0.1, target_axis=UP, target_axis_frame="world")],
                pre=[["translate_z", -0.06]],
                post=[["rotate", -0.1]] * 5,
                threshold=0.08,
            ),
            id=f"close, hinge {hinge:g}",
        )
        yield pytest.param(
            ("door", {"hinge": hinge, "s": 0.05}, True),
            setting(
                "gensim2",
                [
                    point(),
                    angle(SIDE, 1, 0.05, target_axis=[0, 1, 0], target_axis_frame="object"),
                    angle(BACK, -0.9, 0.4, target_axis=[1, 0, 0], target_axis_frame="object"),
                ],
                pre=[["translate_z", -0.1]],
                post=[["rotate", 0.1]] * 4,
            ),
            setting(
                "unlatch",
                [
                    point(),
                    angle(SIDE, 1, 0.05, target_axis=[0, 1, 0], target_axis_frame="world"),
                    angle(BACK, 0.9, 0.4, target_axis="base_front_axis"),
                ],
                pre=[["translate_z", -0.1]],
                post=[["rotate", 0.1]] * 4,
            ),
            id=f"gensim2, hinge {hinge:g}",
        )
    yield pytest.param(
        ("drawer", {}, True),
        setting(
            "interndata",
            [
                point(),
                angle(SIDE, 1, 0.05, target_axis="object_link0_vertical_axis"),
                angle(BACK, -1, 0.3, target_axis="object_link0_move_axis"),
            ],
            pre=[["translate_x", -0.08]],
            post=[["translate_x", -0.05]] * 2,
            hand="lift2",
            threshold=0.07,
        ),
        setting(
            "unlatch",
            [
                point(),
                angle(SIDE, 1, 0.05, target_axis="link0_vertical_axis"),
                angle(BACK, 1, 0.3, target_axis="link0_move_axis"),
            ],
            pre=[["translate_z", -0.08]],
            post=[["translate_z", -0.05]] * 2,
            threshold=0.07,
        ),
        id="pull",
    )


@pytest.mark.parametrize(("where", "theirs", "ours"), list(pairs()))
def test_the_same_setting_in_our_convention_gives_the_same_plan(arm, request, where, theirs, ours):
    kind, values, opens = where
    scene = request.getfixturevalue(kind)(**values)
    plans = []
    for each in (theirs, ours):
        asked = PlanRequest(
            arm=arm, scene=scene, setting=each, q_current=arm.q_home, opens=opens, closed_gripper=not opens
        )
        plans.append(plan_keyframes(asked, None, np.random.default_rng(0)))
    first, second = plans
    assert first.found, first
    assert second.found, second
    assert len(first.keyframes) == len(second.keyframes)
    for a, b in zip(first.keyframes, second.keyframes, strict=True):
        assert a.T_base_ee.is_close(b.T_base_ee, atol_m=1e-3, atol_rad=0.01), (a, b)
        assert a.s == pytest.approx(b.s, abs=1e-6)


def test_an_origin_is_recognized_or_stated_and_a_wrong_one_is_refused():
    named = {"keypoint_name": "tool_head", "target_keypoint_name": HEAD, "tolerance": 1e-3}
    raw = {"success_threshold": 0.1, "constraint_list": [{**named, "name": "fingers_contact_with_link0"}]}
    assert read_planner_setting(raw, where="p")[0].origin is Origin.interndata
    assert read_planner_setting({**raw, "origin": "gensim2"}, where="p")[0].origin is Origin.gensim2
    again = read_planner_setting(read_planner_setting(raw, where="p")[0].to_plain(), where="p")
    assert again[0].origin is Origin.interndata
    with pytest.raises(ConfigError, match=r"p.origin='gensim' is not an origin.*gensim2"):
        read_planner_setting({**raw, "origin": "gensim"}, where="p")
    with pytest.raises(ConfigError, match=r"p.hand='lift3' is not a hand.*lift2"):
        read_planner_setting({**raw, "hand": "lift3"}, where="p")
