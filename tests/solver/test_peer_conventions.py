"""A setting of another system means the same on our parts as it does there, on either side of a hinge."""

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from tests.solver.builders import (
    ACROSS,
    BACK,
    CONTACT,
    CROSS,
    HEAD,
    LINE,
    MOVE,
    ROT,
    SPOT,
    TAIL,
    ToyChecker,
    axis,
    point,
    read_setting,
)
from unlatch.simcore.errors import ConfigError
from unlatch.simcore.geometry import Pose, matrix_from_axis_angle
from unlatch.solver.path_solver import apply_motion, motion_poses
from unlatch.solver.peer_settings import describe_short_end
from unlatch.solver.plan import PlanRequest
from unlatch.solver.planner import plan_keyframes
from unlatch.solver.setting import HANDS, MotionReading, Origin, hand_rotation
from unlatch.solver.setting_reader import read_motions, read_planner_setting, read_scene

UP, DOWN = [0.0, 0.0, 1.0], [0.0, 0.0, -1.0]
AT = point(tolerance=1e-4)
HINGES = pytest.mark.parametrize("hinge", [1.0, -1.0])


def angle(tool, product, tolerance, **target):
    return axis(tool, tolerance, target_inner_product=product, **target)


def setting(origin, *terms, post=(), pre=(), threshold=0.3, **more):
    motions = {"pre_actuation_motions": list(pre), "post_actuation_motions": list(post)}
    return read_setting(*(terms or [AT]), threshold=threshold, origin=origin, **motions, **more)


def outward_of(scene):
    return np.cross(scene.keypoint(TAIL) - scene.keypoint(HEAD), scene.axis(CONTACT))


@HINGES
def test_an_upright_hinge_has_their_signs_on_either_side(door, hinge):
    scene = door(hinge=hinge, s=0.4)
    theirs = read_scene(setting("interndata"), scene, opens=True)
    np.testing.assert_allclose(theirs.axis(CONTACT), DOWN, atol=1e-9)
    np.testing.assert_allclose(theirs.axis(ROT), UP, atol=1e-9)
    along = theirs.keypoint(TAIL) - theirs.keypoint(HEAD)
    assert along @ (scene.joint.origin - scene.keypoint(HEAD)) > 0.0, "the tail lies towards the hinge"
    np.testing.assert_array_equal(theirs.keypoint(HEAD), scene.keypoint(HEAD))
    crossed = theirs.cross_sign * np.cross(along, theirs.axis(CONTACT))
    assert crossed @ outward_of(scene) > 0.0, "the cross product is applied to the mirror image of the door"
    # a setting for a hinge on the right is recognized by its turns
    written = setting("interndata", AT, angle(BACK, -0.9, 0.3, **CROSS, target_axis=CONTACT), post=[["rotate", 0.2]])
    closed = door(hinge=hinge)
    palm = -written.constraint_list[1].target(read_scene(written, closed, opens=True))
    assert palm @ outward_of(closed) > 0.0


def test_a_slider_moves_inwards(drawer):
    scene = drawer()
    theirs = read_scene(setting("interndata"), scene, opens=False)
    np.testing.assert_allclose(theirs.axis(MOVE), -scene.axis(MOVE), atol=1e-12)
    np.testing.assert_allclose(theirs.axis("link0_vertical_axis"), scene.axis("link0_vertical_axis"), atol=1e-12)


def level_hinge(scene, *, at_bottom):
    """The scene of a door, turned about its outward direction so that its hinge is level."""
    R = matrix_from_axis_angle(scene.axes["base_front_axis"], math.pi / 2)
    hinge_above = (R @ (scene.joint.origin - scene.keypoint(HEAD)))[2] > 0.0
    R = R if hinge_above != at_bottom else R.T
    return replace(
        scene,
        keypoints={name: R @ p for name, p in scene.keypoints.items()},
        axes={name: R @ a for name, a in scene.axes.items()},
        R_base_link=R @ scene.R_base_link,
        joint=replace(scene.joint, origin=R @ scene.joint.origin, axis=R @ scene.joint.axis),
    )


@pytest.mark.parametrize("at_bottom", [True, False])
def test_a_level_hinge_has_their_signs(door, at_bottom):
    scene = level_hinge(door(), at_bottom=at_bottom)
    theirs = read_scene(setting("interndata"), scene, opens=True)
    normal = scene.axes["base_front_axis"]
    left = np.cross(normal, UP)  # of a person in front of the object
    along = theirs.keypoint(TAIL) - theirs.keypoint(HEAD)
    along /= np.linalg.norm(along)
    wanted = (DOWN, left, left) if at_bottom else (left, UP, -left)
    for found, direction in zip((theirs.axis(CONTACT), along, theirs.axis(ROT)), wanted, strict=True):
        np.testing.assert_allclose(found, direction, atol=1e-9)
    np.testing.assert_allclose(np.cross(along, theirs.axis(CONTACT)), normal, atol=1e-9)


def test_the_frame_object_of_gensim2_is_that_of_the_meshes_and_moves_with_the_part(door):
    scene, along_x = door(s=0.7), angle(BACK, -1, 0.1, target_axis=[1, 0, 0], target_axis_frame="object")
    theirs, ours = setting("gensim2", AT, along_x), setting("unlatch", AT, along_x)
    read = read_scene(theirs, scene, opens=True)
    right = matrix_from_axis_angle(scene.joint.axis, 0.7) @ [0.0, -1.0, 0.0]  # x of the meshes, the front at -x
    np.testing.assert_allclose(theirs.constraint_list[1].target(read), right, atol=1e-12)
    moved = ours.constraint_list[1].target(read_scene(ours, scene, opens=True))
    np.testing.assert_allclose(moved, scene.R_base_link[:, 0], atol=1e-12)
    lever = read.keypoint(TAIL) - scene.joint.origin
    assert np.linalg.norm(np.cross(lever, scene.joint.axis)) < 1e-9, "the tail lies on the hinge"


@HINGES
@pytest.mark.parametrize("turn", [0.1, -0.1])
@pytest.mark.parametrize("opens", [True, False])
def test_turns_of_another_system_lead_the_part_as_its_skill_says(arm, door, hinge, turn, opens):
    ends = (0.0, 2.0) if hinge > 0 else (2.0, 0.0)
    scene = replace(door(hinge=hinge, s=0.8), s_closed=ends[0], s_open=ends[1])
    theirs, ours = (
        read_motions(setting(origin, post=[["rotate", turn]]), scene, arm.tool_keypoints, np.eye(3), opens=opens)
        for origin in ("gensim2", "unlatch")
    )
    assert (theirs.turn_sign * turn * (scene.s_open - scene.s_closed) > 0.0) == opens
    assert ours.turn_sign == 1.0


def test_a_knob_that_cannot_turn_on_is_turned_back(arm, door):
    written = setting("interndata", post=[["rotate", -0.5]])
    for s, sign in ((0.1, -1.0), (1.0, 1.0)):
        assert read_motions(written, door(s=s), arm.tool_keypoints, np.eye(3), opens=None).turn_sign == sign


@pytest.mark.parametrize("hand", HANDS)
def test_motions_are_turned_into_the_hand_of_the_robot(arm, door, hand):
    R = hand_rotation(hand, arm.tool_keypoints)
    np.testing.assert_allclose(R @ R.T, np.eye(3), atol=1e-12)
    assert np.linalg.det(R) == pytest.approx(1.0)
    written = setting("interndata", pre=[[f"translate_{HANDS[hand][0]}", -0.08]], hand=hand)
    reading = read_motions(written, door(), arm.tool_keypoints, np.eye(3), opens=True)
    T = apply_motion(Pose.identity(), written.pre_actuation_motions[0], door(), reading)
    np.testing.assert_allclose(T.p, [0, 0, -0.08], atol=1e-12)


def test_a_sideways_motion_turns_with_exchanged_fingers(arm, door):
    written = setting("unlatch", post=[["translate_y", 0.05]])
    for (variant, _), y in zip(arm.tool_variants(), (0.05, -0.05), strict=True):
        reading = read_motions(written, door(), arm.tool_keypoints, arm.variant_rotation(variant), opens=None)
        moved = apply_motion(Pose.identity(), ["translate_y", 0.05], door(), reading)
        np.testing.assert_allclose(moved.p, [0, y, 0], atol=1e-12)


def test_a_list_ends_exactly_where_the_part_reaches_its_stop(door):
    scene, turns = door(s=0.33), [["rotate", -0.1]] * 9
    track = motion_poses(Pose.identity(), turns, scene, MotionReading(), ends=(0.0, math.inf))
    assert track.s[-1] == pytest.approx(0.0, abs=1e-9)
    assert track.s.min() > -1e-9
    assert track.keyframes == sorted(track.keyframes)
    assert track.keyframes[-1] == len(track.dense) - 1
    assert motion_poses(Pose.identity(), turns, scene, MotionReading()).s[-1] == pytest.approx(0.33 - 0.9)


def pairs():
    """Scene, whether the skill opens, a setting of another system, and the same in our convention."""
    lift, back, turn, away = {"hand": "lift2"}, [["translate_z", -0.1]], [["rotate", 0.1]] * 4, [["rotate", -0.1]] * 4
    grasp = angle(BACK, 0.9, 0.4, **CROSS, target_axis=f"object_{CONTACT}")
    push = [point(SPOT, 1e-4), angle(BACK, 0.9, 0.4, **CROSS, target_axis=CONTACT)]
    on, off = {"post": [["rotate", 0.1]] * 5, "threshold": 0.08}, {"post": [["rotate", -0.1]] * 5, "threshold": 0.08}
    of_object, of_world = {"target_axis_frame": "object"}, {"target_axis_frame": "world"}
    x, z = {"target_axis": [-1, 0, 0]}, {"target_axis": [0, 0, 1]}
    whole = [angle(ACROSS, 1, 0.05, **x, **of_object), angle(BACK, 0.9, 0.4, **z, **of_object)]
    left = angle(ACROSS, 1, 0.05, target_axis=[0, 1, 0], **of_world)
    front = [left, angle(BACK, 0.9, 0.4, target_axis="base_front_axis")]
    down, up = angle(ACROSS, -1, 0.1, target_axis=CONTACT), angle(ACROSS, 1, 0.1, target_axis=UP, **of_world)
    for hinge in (1.0, -1.0):
        closed, ajar = ("door", {"hinge": hinge, "s": 0.05}, True), ("door", {"hinge": hinge, "s": 0.8}, False)
        theirs = setting("interndata", AT, angle(ACROSS, -1, 0.05, **LINE), grasp, pre=back, post=away)
        ours = setting("unlatch", AT, angle(ACROSS, 1, 0.05, **LINE), grasp, pre=back, post=turn)
        yield pytest.param(closed, theirs, ours, id=f"open, hinge {hinge:g}")
        theirs = setting("interndata", *push, down, pre=[["translate_x", -0.06]], **on, **lift)
        ours = setting("unlatch", *push, up, pre=[["translate_z", -0.06]], **off)
        yield pytest.param(ajar, theirs, ours, id=f"close, hinge {hinge:g}")
        theirs = setting("gensim2", AT, *whole, pre=back, post=turn)
        shut = ("door", {"hinge": hinge, "s": 0.0}, True)
        ours = setting("unlatch", AT, *front, pre=back, post=turn)
        yield pytest.param(shut, theirs, ours, id=f"gensim2, hinge {hinge:g}")
    pull = [angle(ACROSS, 1, 0.05, target_axis="link0_vertical_axis"), angle(BACK, 1, 0.3, target_axis=MOVE)]
    inwards = [
        angle(ACROSS, 1, 0.05, target_axis="object_link0_vertical_axis"),
        angle(BACK, -1, 0.3, target_axis=f"object_{MOVE}"),
    ]
    along = {a: {"pre": [[f"translate_{a}", -0.08]], "post": [[f"translate_{a}", -0.05]] * 2} for a in "xz"}
    theirs = setting("interndata", AT, *inwards, **along["x"], **lift, threshold=0.07)
    ours = setting("unlatch", AT, *pull, **along["z"], threshold=0.07)
    yield pytest.param(("drawer", {}, True), theirs, ours, id="pull")


@pytest.mark.parametrize(("where", "theirs", "ours"), list(pairs()))
def test_the_same_setting_in_our_convention_gives_the_same_plan(arm, request, where, theirs, ours):
    kind, values, opens = where
    scene = request.getfixturevalue(kind)(**values)
    asked = {"arm": arm, "scene": scene, "q_current": arm.q_home, "opens": opens, "closed_gripper": not opens}
    first, second = (
        plan_keyframes(PlanRequest(setting=each, **asked), None, np.random.default_rng(0)) for each in (theirs, ours)
    )
    assert first.found, first
    assert second.found, second
    for a, b in zip(first.keyframes, second.keyframes, strict=True):
        assert a.T_base_ee.is_close(b.T_base_ee, atol_m=1e-3, atol_rad=0.01), (a, b)
        assert a.s == pytest.approx(b.s, abs=1e-6)


def test_a_push_of_gensim2_comes_from_behind_where_its_own_approach_is_blocked(arm, door):
    scene, of_object = door(s=0.8), {"target_axis_frame": "object"}
    pointing_down = angle(BACK, 1, 0.2, target_axis=[0, 1, 0], **of_object)
    terms = [AT, pointing_down, angle(ACROSS, 1, 0.2, target_axis=[1, 0, 0], **of_object)]
    push = setting("gensim2", *terms, pre=[["translate_z", -0.1]], post=[["rotate", -0.1]] * 4, approach_width_m=0.0)
    head = scene.keypoint(HEAD)
    way = np.cross(-scene.joint.axis, head - scene.joint.origin)
    way /= np.linalg.norm(way)

    def blocks_above(q, *_):
        off = arm.kinematics.pose(q) @ arm.tool_keypoints["tool_head"] - head
        return ("panda_hand", "lintel") if 0.02 < np.linalg.norm(off) < 0.08 and abs(off @ way) < 0.015 else None

    asked = {"arm": arm, "scene": scene, "setting": push, "q_current": arm.q_home, "opens": False}
    plan = plan_keyframes(PlanRequest(**asked, closed_gripper=True), ToyChecker(blocks_above), np.random.default_rng(0))
    assert plan.found, plan
    before = [
        frame.T_base_ee @ arm.tool_keypoints["tool_head"] - head for frame in plan.keyframes if frame.label == "pre"
    ]
    assert before[-1] @ way < -0.02, "the last keyframe before the goal is behind the door"


def test_an_origin_is_recognized_or_stated_and_a_wrong_one_is_refused():
    raw = {"success_threshold": 0.1, "constraint_list": [{**point(), "name": "fingers_contact_with_link0"}]}
    del raw["constraint_list"][0]["type"]
    read = read_planner_setting(raw, where="p")[0]
    assert read.origin is Origin.interndata
    assert read_planner_setting(read.to_plain(), where="p")[0].origin is Origin.interndata
    assert read_planner_setting({**raw, "origin": "gensim2"}, where="p")[0].origin is Origin.gensim2
    with pytest.raises(ConfigError, match=r"p.origin='gensim' is not an origin.*gensim2"):
        read_planner_setting({**raw, "origin": "gensim"}, where="p")
    with pytest.raises(ConfigError, match=r"p.hand='lift3' is not a hand.*lift2"):
        read_planner_setting({**raw, "hand": "lift3"}, where="p")


@pytest.mark.parametrize(
    ("s_open", "start", "end", "is_short"),
    [
        (1.0, 0.5, 0.7, True),
        (1.0, 0.5, 0.5, True),
        (1.0, 0.5, 0.98, False),
        (1.0, 0.5, 0.02, True),  # they close it
        (1.0, 0.0, 0.0, True),  # they leave it closed
        (0.0, 0.5, 0.02, False),
        (0.0, 0.5, 0.98, True),
    ],
)
def test_motions_of_gensim2_that_open_a_part_too_little_are_no_plan(s_open, start, end, is_short):
    scene = SimpleNamespace(s=start, s_closed=1.0 - s_open, s_open=s_open, joint=SimpleNamespace(unit="rad"))
    said = f"the listed motions lead the part to {end:.3f} rad only, short of {s_open:.3f} rad"
    assert describe_short_end(scene, (0.0, 1.0), end) == (said if is_short else "")
    assert describe_short_end(scene, (-np.inf, np.inf), end) == ""
