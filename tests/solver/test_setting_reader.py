"""The reader: rewrites of the inherited form, one line each, and one error that names the full key."""

import math
import re
import subprocess
import sys
from dataclasses import asdict

import numpy as np
import pytest

from tests.solver.builders import BACK, CROSS, HEAD, LINE, TAIL, axis, point
from unlatch.configs.user_files import find_obstacles
from unlatch.simcore.errors import ConfigError
from unlatch.solver.setting import SuccessMode, omitted_setting
from unlatch.solver.setting_reader import check_names, find_misfit_motions, read_planner_setting, triangle_excess

WHERE = "skills[0].planner_setting"
FORWARD = ("tool_tail", "tool_head")


def raw(*terms, **more):
    return {"success_threshold": 0.7, "constraint_list": [point(), *terms], **more}


def read(*terms, **more):
    return read_planner_setting(raw(*terms, **more), where=WHERE)


def along(target, product=1, tool=FORWARD, **more):
    return axis(tool, target_axis=target, target_inner_product=product, **more)


def without(entry, *keys):
    return {key: value for key, value in entry.items() if key not in keys}


@pytest.mark.parametrize(
    ("name", "fields", "kept", "dropped"),
    [
        ("hand_parallel_to_link0_edge_door", {**CROSS, "target_axis": [0, 0, 1]}, CROSS, ["target_axis"]),
        ("hand_parallel_to_link0_edge", {**CROSS, "target_axis": "link0_contact_axis"}, None, list(CROSS)),
        ("hand_parallel_to_link0_move_axis", {**CROSS, "target_axis": "object_link0_move_axis"}, None, list(CROSS)),
        ("hand_parallel_to_axis_computed_by_keypoints", {**LINE, "target_axis": [1, 0, 0]}, LINE, ["target_axis"]),
        ("fingers_orthogonal_to_link0", {**CROSS, **LINE, "target_axis": "link0_contact_axis"}, CROSS, list(LINE)),
    ],
)
def test_a_name_that_carried_meaning_is_rewritten_in_one_line(name, fields, kept, dropped):
    setting, notices = read(axis(FORWARD, name=name, **fields))
    entry = setting.constraint_list[1].to_plain()
    kept = {**(kept or {}), **({} if "target_axis" in dropped else {"target_axis": fields["target_axis"]})}
    assert {key: entry[key] for key in kept} == kept
    assert entry.keys().isdisjoint(dropped)
    (notice,) = notices
    assert notice.startswith(f"{WHERE}.constraint_list[1] '{name}': read as ")
    assert all(key in notice for key in dropped)


def test_a_name_without_leftover_fields_needs_no_rewrite():
    assert read(axis(FORWARD, name="hand_parallel_to_link0_edge", target_axis=[0, 0, 1]))[1] == []


@pytest.mark.parametrize(
    ("entry", "kind"),
    [
        (point(), "point2point_constraint"),
        (axis(target_axis=[0, 0, 1]), "frame_axis_parallel"),
        (axis(target_axis=[0, 0, 1], target_inner_product=0), "frame_axis_orthogonal"),
        (axis(**LINE), "keypoint_axis_parallel"),
        (point(plane_normal=[0, 0, 1]), "point2plane_constraint"),
    ],
)
def test_a_missing_type_is_inferred_and_reported(entry, kind):
    setting, notices = read(without(entry, "type"))
    assert kind == setting.constraint_list[1].TYPE
    assert notices == [f"{WHERE}.constraint_list[1].type: missing, read as {kind} from its fields."]


def test_fields_without_effect_are_reported_as_ignored():
    ignored = {"actuation_time": 24, "pre_actuation_times": [20], "post_actuation_times": [28], "mobile_move": True}
    _, notices = read(**ignored)
    assert [n.split(":")[0] for n in notices] == [f"{WHERE}.{key}" for key in ignored]
    assert all("ignored" in n for n in notices)


def test_a_setting_reads_again_from_its_own_plain_form():
    setting, _ = read(
        axis(FORWARD, type="keypoint_axis_parallel", **LINE),
        success_mode="fraction",
        pre_actuation_motions=[["translate_z", -0.1]],
        post_actuation_motions={"follow_joint": {"to": "80%", "step": 0.02}},
        cost_list=[{**without(point(), "tolerance"), "type": "point2point_cost"}],
        keypose_random_range={"orientation": {"x_min": -5, "x_max": 5}},
    )
    assert read_planner_setting(setting.to_plain(), where=WHERE) == (setting, [])
    targets = [
        setting.follow_joint.target(s_closed=closed, s_open=opened) for closed, opened in ((0.0, 1.5), (0.5, -1.0))
    ]
    assert targets == pytest.approx([1.2, -0.7])
    assert setting.success_mode is SuccessMode.fraction
    derived = {**asdict(omitted_setting()), "origin": "unlatch"}  # as a data set writes it
    assert read_planner_setting(derived, where=WHERE) == (omitted_setting(), [])
    with pytest.raises(ConfigError, match=r"planner_setting\.origin has no effect together with .*derived=true"):
        read_planner_setting({**derived, "origin": "gensim2"}, where=WHERE)


def test_words_of_post_motions_get_their_distances_and_an_asset_may_have_its_own_offset():
    own = {"faucet/1": ["translate_z", 0.03]}
    motions = ["move-up", ["translate_z", -0.05], "move-backward", ["rotate", 0.5]]
    setting, _ = read(
        post_actuation_motions=motions, modify_actuation_motion=["translate_z", 0.02], additional_labels=own
    )
    distances = [["move-up", 0.06], ["translate_z", -0.05], ["move-backward", -0.1], ["rotate", 0.5]]
    assert (setting.post_actuation_motions, setting.follow_joint) == (distances, None)
    assert setting.goal_offset("faucet/1") == ["translate_z", 0.03]
    assert setting.goal_offset("faucet/2") == ["translate_z", 0.02]


def bad(words, *terms, **more):
    """A case with what is said; `...` stands for any words."""
    return pytest.param(raw(*terms, **more), re.escape(words).replace(re.escape("..."), ".*"), id=words)


UPWARDS = along([0, 0, 1])
PUSH = {"approach_width_m": 0.0, "press_direction": [0, 0, -1]}
FRACTION = "follow_joint.to='open' is neither a joint position nor a fraction like 80%"
NO_TYPE = "constraint_list[1].type='frame_axis_paralel' is not a constraint type. Did you mean 'frame_axis_parallel'"
HALF = "constraint_list[1].target_axis_from/to_keypoint_name are 'articulated_object_head' and None"
POINT = "constraint_list[1].axis_to_keypoint_name is 'tool_tail', the same as where the axis starts"
BAD = [
    bad("pre_actuation_motion is unknown. Did you mean 'pre_actuation_motions'", pre_actuation_motion=[]),
    bad("planner_setting.colour is unknown", task_name="mine", colour=1),
    pytest.param({"constraint_list": [point()]}, "planner_setting.success_threshold is missing", id="threshold"),
    bad("constraint_list is missing or empty", constraint_list=[]),
    pytest.param([1, 2], r"skills\[0\].planner_setting is a list, expected a mapping", id="a list for a mapping"),
    bad(NO_TYPE, {**UPWARDS, "type": "frame_axis_paralel"}),
    bad("[1].target_axs is not a field of ...parallel. Did you mean 'target_axis'", axis(target_axs=[0, 0, 1])),
    bad("constraint_list[1].tolerance='small' is a str, expected a number", {**UPWARDS, "tolerance": "small"}),
    bad("constraint_list[1].tolerance=-0.1 is out of range, expected 1e-09 to 10", point(tolerance=-0.1)),
    bad("tolerance is missing; point2point_constraint needs it (metres)", without(point(), "tolerance")),
    bad("target_inner_product=1.5 is out of range, expected -1 to 1", along([0, 0, 1], 1.5)),
    bad("constraint_list[1].target_axis=[0, 0, 0] has no direction", along([0, 0, 0])),
    bad("constraint_list[1] has no target", axis(FORWARD)),
    bad(HALF, axis(type="keypoint_axis_parallel", target_axis_from_keypoint_name=HEAD)),
    bad(POINT, along([0, 0, 1], tool=("tool_tail", "tool_tail"))),
    bad("'robot' is not a frame...Known: object, base, world", {**UPWARDS, "target_axis_frame": "robot"}),
    bad("success_mode='absolute' is not a success mode", success_mode="absolute"),
    bad("slips[1]='sid' is not a slip mode. Did you mean 'side'", slips=["fixed", "sid"]),
    bad("slips is a str, expected a list", slips="side"),
    bad(
        "=[0.0, 0.0, 0.0] has no direction, expected a vector that is not zero", **{**PUSH, "press_direction": [0] * 3}
    ),
    bad("is for closed fingers ... Expected approach_width_m: 0 beside it", **{**PUSH, "approach_width_m": 0.05}),
    bad("is for closed fingers that lead a part along its joint", **PUSH, post_actuation_motions=["move-up"]),
    bad("update_art_joint='yes' is a str, expected true or false", update_art_joint="yes"),
    bad("pre_...[0]=['translate_w', 0.1] is not a motion", pre_actuation_motions=[["translate_w", 0.1]]),
    *(
        bad(f"{key}[0]='move-upp' is not a motion. Did you mean 'move-up'", **{key: ["move-upp"]})
        for key in ("pre_actuation_motions", "post_actuation_motions")
    ),
    bad("follow_joint.too is unknown. Did you mean 'to'", post_actuation_motions={"follow_joint": {"too": 1}}),
    bad(FRACTION, post_actuation_motions={"follow_joint": {"to": "open"}}),
    bad("contact_pose_index=7 is out of range, expected 1: ...follow_joint moves the part", contact_pose_index=7),
    bad(
        "contact_pose_index=1 is out of range, expected 2: ... the pre motions only lead up to the goal",
        **{"contact_pose_index": 1, "pre_actuation_motions": [["translate_z", -0.1]]},
    ),
    bad(
        "contact_pose_index=4 is out of range, expected 1 to 3: ... [goal] + 2 post, and there are no more",
        **{"contact_pose_index": 4, "post_actuation_motions": ["move-up", "move-up"]},
    ),
    bad("orientation.x_min=5.0 is above x_max=-5.0", keypose_random_range={"orientation": {"x_min": 5, "x_max": -5}}),
    bad("keypose_random_range.position.w_min is unknown", keypose_random_range={"position": {"w_min": 0}}),
]


@pytest.mark.parametrize(("mapping", "match"), BAD)
def test_bad_input_is_one_error_with_the_full_key(mapping, match):
    with pytest.raises(ConfigError, match=match) as caught:
        read_planner_setting(mapping, where=WHERE)
    assert WHERE in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (along([0, 0, 1], name="along"), along([1, 0, 0], name="across")),
        (along("link0_move_axis"), along("object_link0_move_axis", 0)),
        (along("link0_move_axis"), along("link0_move_axis", tool=BACK)),
    ],
)
def test_contradicting_constraints_are_refused_before_any_solve(first, second):
    with pytest.raises(ConfigError, match="contradict each other") as caught:
        read(first, second)
    if "name" in first:
        assert re.search(r"'along' and .*'across'", caught.value.message)
        assert caught.value.constraints == ("along", "across")
        assert caught.value.out_by_rad == pytest.approx(math.pi / 2 - 0.2)


def test_constraints_that_can_both_hold_are_accepted():
    assert read(along([0, 0, 1], 0.7), along([1, 0, 0], 0.7))[0]
    # their angle is known with the object only
    assert read(along("link0_move_axis"), along("link0_contact_axis"))[0]
    assert read(along("link0_move_axis"), along("link0_move_axis", -1, BACK))[0]


def test_triangle_inequality_on_the_sphere():
    assert triangle_excess((0.0, 0.1), (0.0, 0.1), 0.5) == pytest.approx(0.3)
    assert triangle_excess((1.0, 1.2), (0.0, 0.1), 0.2) == pytest.approx(0.7)
    assert triangle_excess((3.0, 3.1), (3.0, 3.1), 2.0) == pytest.approx(6.0 - (2 * math.pi - 2.0))
    assert triangle_excess((0.4, 0.6), (0.4, 0.6), 0.5) == 0.0


TOOL, OBJECT = ["tool_head", "tool_side", "tool_tail"], [HEAD, TAIL, "link_contact_point"]


@pytest.mark.parametrize(
    ("terms", "more", "tool", "points", "match"),
    [
        ([], {}, TOOL, ["articulated_object_heat"], rf"constraint_list\[0\].target_keypoint_name='{HEAD}' is no"),
        ([], {}, ["tool_hea"], OBJECT, r"constraint_list\[0\].keypoint_name='tool_head' is not a tool keypoint"),
        ([], {"tool_keypoint_name_list": ["tool_front"]}, TOOL, OBJECT, "_name_list='tool_front' is not a keypoint"),
        ([along("link0_contct_axis")], {}, TOOL, OBJECT, "Did you mean 'link0_contact_axis'"),
    ],
)
def test_unknown_names_are_named_with_the_key(terms, more, tool, points, match):
    setting, _ = read(*terms, **more)
    with pytest.raises(ConfigError, match=match):
        check_names(setting, tool, points, WHERE, ["link0_contact_axis"])
    check_names(read(UPWARDS)[0], TOOL, OBJECT, WHERE)


@pytest.mark.slow
def test_reading_a_setting_loads_no_engine_and_no_library_of_planning():
    code = (
        "import sys, unlatch.solver.setting, unlatch.solver.setting_reader; "
        "heavy = ('ompl', 'scipy.spatial', 'scipy.optimize', 'pybullet', 'hydra'); "
        "print([m for m in heavy if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def theirs(*terms, target=HEAD, **more):
    entries = {"constraint_list": [*terms] or [point(target)], "origin": "interndata", "success_threshold": 0.1}
    return read_planner_setting({**entries, **more}, where="p")[0]


@pytest.mark.parametrize(
    ("terms", "more", "words"),
    [
        ([], {"category_name": "RigidBody"}, "p.category_name: RigidBody; open, close and rotate move parts with a jo"),
        ([], {"target": "articulated_object_inside_base"}, "is where a carried object is put down"),
        ([], {"target": "rigidbody_object_head"}, "is a point of a rigid object"),
        ([], {"target": "articulated_object_knee"}, "is no keypoint that every part has"),
        (
            [axis(target_axis="object_link0_contakt_axis")],
            {},
            "'object_link0_contakt_axis' is no axis that parts have. Did you mean 'link0_contact_axis'",
        ),
    ],
)
def test_what_no_skill_can_run_is_named(terms, more, words):
    (line,) = find_obstacles(theirs(*terms, **more), "p")
    assert words in line
    assert find_obstacles(theirs(), "p") == []


PANDA = {"tool_head": np.array([0, 0, 0.1034]), "tool_tail": np.array([0, 0, 0.0584])}
ALONG_X = {"tool_head": np.array([0.135, 0, 0]), "tool_tail": np.array([0.085, 0, 0])}


@pytest.mark.parametrize(
    ("motion", "more", "tool", "words"),
    [
        (["translate_z", -0.08], {}, PANDA, None),
        (["translate_x", -0.08], {}, PANDA, "If it is written for"),
        (["translate_x", -0.08], {"hand": "lift2"}, PANDA, None),
        (["translate_x", -0.08], {"origin": "gensim2"}, PANDA, None),
        (["translate_x", -0.08], {}, ALONG_X, None),
        (["translate_z", -0.08], {}, ALONG_X, "If it is written for"),
        (["translate_z", 0.08], {}, PANDA, "Check the signs."),
    ],
)
def test_motions_that_do_not_lead_the_hand_back_are_named(motion, more, tool, words):
    found = find_misfit_motions(theirs(pre_actuation_motions=[motion], **more), tool, "p")
    assert len(found) == (words is not None)
    assert all(words in line for line in found)
