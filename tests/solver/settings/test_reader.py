"""The reader: rewrites of the inherited form, one line each, and one error that names the full key."""

import math
import subprocess
import sys
from dataclasses import asdict

import pytest

from unlatch.simcore.errors import ConfigError
from unlatch.solver.setting import SuccessMode, omitted_setting
from unlatch.solver.setting_reader import check_names, read_planner_setting, triangle_excess

WHERE = "skills[0].planner_setting"
HEAD, TAIL = "articulated_object_head", "articulated_object_tail"
POINT = {
    "type": "point2point_constraint",
    "keypoint_name": "tool_head",
    "target_keypoint_name": HEAD,
    "tolerance": 1e-3,
}
AXIS = {"axis_from_keypoint_name": "tool_tail", "axis_to_keypoint_name": "tool_head", "tolerance": 0.1}
TOOL = ["tool_head", "tool_side", "tool_tail"]
OBJECT = [HEAD, TAIL, "link_contact_point"]


def raw(*constraints, **more):
    return {"success_threshold": 0.7, "constraint_list": [POINT, *constraints], **more}


def read(*constraints, **more):
    return read_planner_setting(raw(*constraints, **more), where=WHERE)


CROSS = {"cross_target_axis1_from_keypoint_name": HEAD, "cross_target_axis1_to_keypoint_name": TAIL}
PAIR = {"target_axis_from_keypoint_name": HEAD, "target_axis_to_keypoint_name": TAIL}


@pytest.mark.parametrize(
    ("name", "fields", "kept", "dropped"),
    [
        ("hand_parallel_to_link0_edge_door", {**CROSS, "target_axis": [0, 0, 1]}, CROSS, ["target_axis"]),
        (
            "hand_parallel_to_link0_edge",
            {**CROSS, "target_axis": "link0_contact_axis"},
            {"target_axis": "link0_contact_axis"},
            list(CROSS),
        ),
        (
            "hand_parallel_to_link0_move_axis",
            {**CROSS, "target_axis": "object_link0_move_axis"},
            {"target_axis": "object_link0_move_axis"},
            list(CROSS),
        ),
        ("hand_parallel_to_axis_computed_by_keypoints", {**PAIR, "target_axis": [1, 0, 0]}, PAIR, ["target_axis"]),
        (
            "fingers_orthogonal_to_link0",
            {**CROSS, **PAIR, "target_axis": "link0_contact_axis"},
            {**CROSS, "target_axis": "link0_contact_axis"},
            list(PAIR),
        ),
    ],
)
def test_a_name_that_carried_meaning_is_rewritten_in_one_line(name, fields, kept, dropped):
    setting, notices = read({"name": name, "type": "frame_axis_parallel", **AXIS, **fields})
    entry = setting.constraint_list[1].to_plain()
    for key, value in kept.items():
        assert entry[key] == value
    for key in dropped:
        assert key not in entry
    assert len(notices) == 1
    assert notices[0].startswith(f"{WHERE}.constraint_list[1] '{name}': read as ")
    assert all(key in notices[0] for key in dropped)


def test_a_name_without_leftover_fields_needs_no_rewrite():
    _, notices = read(
        {"name": "hand_parallel_to_link0_edge", "type": "frame_axis_parallel", **AXIS, "target_axis": [0, 0, 1]}
    )
    assert notices == []


@pytest.mark.parametrize(
    ("entry", "kind"),
    [
        ({k: v for k, v in POINT.items() if k != "type"}, "point2point_constraint"),
        ({**AXIS, "target_axis": [0, 0, 1]}, "frame_axis_parallel"),
        ({**AXIS, "target_axis": [0, 0, 1], "target_inner_product": 0}, "frame_axis_orthogonal"),
        ({**AXIS, **PAIR}, "keypoint_axis_parallel"),
        (
            {"keypoint_name": "tool_head", "target_keypoint_name": HEAD, "plane_normal": [0, 0, 1], "tolerance": 0.1},
            "point2plane_constraint",
        ),
    ],
)
def test_a_missing_type_is_inferred_and_reported(entry, kind):
    setting, notices = read(entry)
    assert kind == setting.constraint_list[1].TYPE
    assert notices == [f"{WHERE}.constraint_list[1].type: missing, read as {kind} from its fields."]


def test_fields_without_effect_are_reported_as_ignored():
    _, notices = read(actuation_time=24, pre_actuation_times=[20], post_actuation_times=[28], mobile_move=True)
    assert [n.split(":")[0] for n in notices] == [
        f"{WHERE}.{key}" for key in ("actuation_time", "pre_actuation_times", "post_actuation_times", "mobile_move")
    ]
    assert all("ignored" in n for n in notices)


def test_a_setting_reads_again_from_its_own_plain_form():
    setting, _ = read(
        {**AXIS, "type": "keypoint_axis_parallel", **PAIR},
        success_mode="fraction",
        pre_actuation_motions=[["translate_z", -0.1]],
        post_actuation_motions={"follow_joint": {"to": "80%", "step": 0.02}},
        cost_list=[{"type": "point2point_cost", "keypoint_name": "tool_head", "target_keypoint_name": HEAD}],
        keypose_random_range={"orientation": {"x_min": -5, "x_max": 5}},
    )
    again, notices = read_planner_setting(setting.to_plain(), where=WHERE)
    assert again == setting
    assert notices == []
    assert setting.follow_joint.target(s_closed=0.0, s_open=1.5) == pytest.approx(1.2)
    assert setting.success_mode is SuccessMode.fraction


def test_words_of_post_motions_get_their_distances():
    setting, _ = read(post_actuation_motions=["move-up", ["translate_z", -0.05], "move-backward", ["rotate", 0.5]])
    assert setting.post_actuation_motions == [
        ["move-up", 0.06],
        ["translate_z", -0.05],
        ["move-backward", -0.1],
        ["rotate", 0.5],
    ]
    assert setting.follow_joint is None


def test_an_asset_may_have_its_own_offset():
    setting, _ = read(
        modify_actuation_motion=["translate_z", 0.02], additional_labels={"faucet/1": ["translate_z", 0.03]}
    )
    assert setting.goal_offset("faucet/1") == ["translate_z", 0.03]
    assert setting.goal_offset("faucet/2") == ["translate_z", 0.02]


BAD = {
    "unknown key": (
        {**raw(), "pre_actuation_motion": []},
        r"skills\[0\].planner_setting.pre_actuation_motion is unknown. Did you mean 'pre_actuation_motions'",
    ),
    "missing threshold": ({"constraint_list": [POINT]}, r"planner_setting.success_threshold is missing"),
    "no constraints": ({"success_threshold": 1, "constraint_list": []}, r"constraint_list is missing or empty"),
    "unknown type": (
        raw({**AXIS, "type": "frame_axis_paralel", "target_axis": [0, 0, 1]}),
        r"constraint_list\[1\].type='frame_axis_paralel' is not a constraint type. Did you mean 'frame_axis_parallel'",
    ),
    "unknown field": (
        raw({**AXIS, "type": "frame_axis_parallel", "target_axs": [0, 0, 1]}),
        r"constraint_list\[1\].target_axs is not a field of frame_axis_parallel. Did you mean 'target_axis'",
    ),
    "text for a number": (
        raw({**AXIS, "type": "frame_axis_parallel", "target_axis": [0, 0, 1], "tolerance": "small"}),
        r"constraint_list\[1\].tolerance='small' is a str, expected a number",
    ),
    "negative tolerance": (
        raw({**POINT, "tolerance": -0.1}),
        r"constraint_list\[1\].tolerance=-0.1 is out of range, expected 1e-09 to 10",
    ),
    "missing tolerance": (
        raw({k: v for k, v in POINT.items() if k != "tolerance"}),
        r"constraint_list\[1\].tolerance is missing; point2point_constraint needs it \(metres\)",
    ),
    "inner product": (
        raw({**AXIS, "type": "frame_axis_parallel", "target_axis": [0, 0, 1], "target_inner_product": 1.5}),
        r"target_inner_product=1.5 is out of range, expected -1 to 1",
    ),
    "zero axis": (
        raw({**AXIS, "type": "frame_axis_parallel", "target_axis": [0, 0, 0]}),
        r"constraint_list\[1\].target_axis=\[0, 0, 0\] has no direction",
    ),
    "no target": (raw({**AXIS, "type": "frame_axis_parallel"}), r"constraint_list\[1\] has no target"),
    "half a pair": (
        raw({**AXIS, "type": "keypoint_axis_parallel", "target_axis_from_keypoint_name": HEAD}),
        r"constraint_list\[1\].target_axis_from/to_keypoint_name are 'articulated_object_head' and None",
    ),
    "axis of one point": (
        raw({**AXIS, "axis_to_keypoint_name": "tool_tail", "type": "frame_axis_parallel", "target_axis": [0, 0, 1]}),
        r"constraint_list\[1\].axis_to_keypoint_name is 'tool_tail', the same as where the axis starts",
    ),
    "frame": (
        raw({**AXIS, "type": "frame_axis_parallel", "target_axis": [0, 0, 1], "target_axis_frame": "robot"}),
        r"target_axis_frame='robot' is not a frame.*Known: object, base, world",
    ),
    "mode": (raw(success_mode="absolute"), r"success_mode='absolute' is not a success mode"),
    "slip": (raw(slips=["fixed", "sid"]), r"slips\[1\]='sid' is not a slip mode. Did you mean 'side'"),
    "slips": (raw(slips="side"), r"slips is a str, expected a list"),
    "press without a direction": (
        raw(press_direction=[0, 0, 0], approach_width_m=0.0),
        r"press_direction=\[0.0, 0.0, 0.0\] has no direction, expected a vector that is not zero",
    ),
    "press with open fingers": (
        raw(press_direction=[0, 0, -1], approach_width_m=0.05),
        r"press_direction is for closed fingers .* Expected approach_width_m: 0 beside it",
    ),
    "press with listed motions": (
        raw(press_direction=[0, 0, -1], approach_width_m=0.0, post_actuation_motions=["move-up"]),
        r"press_direction is for closed fingers that lead a part along its joint",
    ),
    "bool": (raw(update_art_joint="yes"), r"update_art_joint='yes' is a str, expected true or false"),
    "motion": (
        raw(pre_actuation_motions=[["translate_w", 0.1]]),
        r"pre_actuation_motions\[0\]=\['translate_w', 0.1\] is not a motion",
    ),
    "misspelt pre motion": (
        raw(pre_actuation_motions=["move-upp"]),
        r"pre_actuation_motions\[0\]='move-upp' is not a motion. Did you mean 'move-up'",
    ),
    "unknown key beside a label": ({**raw(), "task_name": "mine", "colour": 1}, r"planner_setting.colour is unknown"),
    "misspelt word": (
        raw(post_actuation_motions=["move-upp"]),
        r"post_actuation_motions\[0\]='move-upp' is not a motion. Did you mean 'move-up'",
    ),
    "follow": (
        raw(post_actuation_motions={"follow_joint": {"too": 1}}),
        r"post_actuation_motions.follow_joint.too is unknown. Did you mean 'to'",
    ),
    "follow text": (
        raw(post_actuation_motions={"follow_joint": {"to": "open"}}),
        r"follow_joint.to='open' is neither a joint position nor a fraction like 80%",
    ),
    "index": (
        raw(contact_pose_index=7),
        r"contact_pose_index=7 is out of range, expected 1: .*follow_joint moves the part",
    ),
    "index before the goal": (
        raw(contact_pose_index=1, pre_actuation_motions=[["translate_z", -0.1]]),
        r"contact_pose_index=1 is out of range, expected 2: .* the pre motions only lead up to the goal",
    ),
    "index after the last": (
        raw(contact_pose_index=4, post_actuation_motions=["move-up", "move-up"]),
        r"contact_pose_index=4 is out of range, expected 1 to 3: .* \[goal\] \+ 2 post, and there are no more",
    ),
    "range": (
        raw(keypose_random_range={"orientation": {"x_min": 5, "x_max": -5}}),
        r"keypose_random_range.orientation.x_min=5.0 is above x_max=-5.0",
    ),
    "range key": (
        raw(keypose_random_range={"position": {"w_min": 0}}),
        r"keypose_random_range.position.w_min is unknown",
    ),
    "a list for a mapping": ([1, 2], r"skills\[0\].planner_setting is a list, expected a mapping"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_one_error_with_the_full_key(case):
    mapping, match = BAD[case]
    with pytest.raises(ConfigError, match=match) as caught:
        read_planner_setting(mapping, where=WHERE)
    assert WHERE in str(caught.value)
    assert "\n" not in str(caught.value)


def axis(target, product, tolerance=0.1, name="", **more):
    return {
        **AXIS,
        "type": "frame_axis_parallel",
        "target_axis": target,
        "target_inner_product": product,
        "tolerance": tolerance,
        "name": name,
        **more,
    }


def test_contradicting_constraints_are_refused_before_any_solve():
    with pytest.raises(ConfigError, match=r"'along' and .*'across' contradict each other") as caught:
        read(axis([0, 0, 1], 1, name="along"), axis([1, 0, 0], 1, name="across"))
    assert caught.value.constraints == ("along", "across")
    assert caught.value.out_by_rad == pytest.approx(math.pi / 2 - 0.2)
    with pytest.raises(ConfigError, match="contradict each other"):
        read(axis("link0_move_axis", 1), axis("object_link0_move_axis", 0))
    turned = {"axis_from_keypoint_name": "tool_head", "axis_to_keypoint_name": "tool_tail"}
    with pytest.raises(ConfigError, match="contradict each other"):
        read(axis("link0_move_axis", 1), axis("link0_move_axis", 1, **turned))


def test_constraints_that_can_both_hold_are_accepted():
    read(axis([0, 0, 1], 0.7), axis([1, 0, 0], 0.7))
    read(axis("link0_move_axis", 1), axis("link0_contact_axis", 1))  # their angle is known with the object only
    turned = {"axis_from_keypoint_name": "tool_head", "axis_to_keypoint_name": "tool_tail"}
    read(axis("link0_move_axis", 1), axis("link0_move_axis", -1, **turned))


def test_triangle_inequality_on_the_sphere():
    assert triangle_excess((0.0, 0.1), (0.0, 0.1), 0.5) == pytest.approx(0.3)
    assert triangle_excess((1.0, 1.2), (0.0, 0.1), 0.2) == pytest.approx(0.7)
    assert triangle_excess((3.0, 3.1), (3.0, 3.1), 2.0) == pytest.approx(6.0 - (2 * math.pi - 2.0))
    assert triangle_excess((0.4, 0.6), (0.4, 0.6), 0.5) == 0.0


def test_unknown_keypoints_are_named_with_the_key():
    setting, _ = read(axis([0, 0, 1], 1))
    check_names(setting, TOOL, OBJECT, WHERE)
    with pytest.raises(ConfigError, match=r"constraint_list\[0\].target_keypoint_name='articulated_object_head' is no"):
        check_names(setting, TOOL, ["articulated_object_heat"], WHERE)
    with pytest.raises(ConfigError, match=r"constraint_list\[0\].keypoint_name='tool_head' is not a tool keypoint"):
        check_names(setting, ["tool_hea"], OBJECT, WHERE)
    listed, _ = read(tool_keypoint_name_list=["tool_front"])
    with pytest.raises(ConfigError, match="tool_keypoint_name_list='tool_front' is not a keypoint"):
        check_names(listed, TOOL, OBJECT, WHERE)
    named, _ = read(axis("link0_contct_axis", 1))
    with pytest.raises(ConfigError, match="Did you mean 'link0_contact_axis'"):
        check_names(named, TOOL, OBJECT, WHERE, ["link0_contact_axis"])


def test_reading_a_setting_loads_no_engine_and_no_library_of_planning():
    code = (
        "import sys, unlatch.solver.setting, unlatch.solver.setting_reader; "
        "heavy = ('ompl', 'toppra', 'scipy.spatial', 'scipy.optimize', 'pybullet', 'hydra'); "
        "print([m for m in heavy if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_derived_setting_is_read_as_a_data_set_writes_it():
    written = {**asdict(omitted_setting()), "origin": "unlatch"}
    setting, notices = read_planner_setting(written, where=WHERE)
    assert setting == omitted_setting()
    assert notices == []
    with pytest.raises(ConfigError, match=r"planner_setting\.origin has no effect together with .*derived=true"):
        read_planner_setting({**written, "origin": "gensim2"}, where=WHERE)
