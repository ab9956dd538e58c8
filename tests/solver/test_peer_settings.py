"""Blocks of the peers' files load as they are: what each oddity becomes, and the one line that says so."""

import copy
import math
import re
from dataclasses import asdict, fields
from pathlib import Path

import pytest
import yaml

from tests.solver.builders import ACROSS, HEAD, TAIL, axis, point
from unlatch.configs.user_files import find_settings
from unlatch.simcore.errors import ConfigError
from unlatch.solver.setting import (
    CONTACT_NAME,
    IGNORED,
    MEANINGS,
    MOTION_WORDS,
    PlannerSettingCfg,
    SuccessMode,
    detect_origin,
)
from unlatch.solver.setting_reader import read_planner_setting
from unlatch.solver.term_kinds import COSTS, TERMS

TESTS = Path(__file__).resolve().parents[1]
DATA = TESTS / "data" / "peer_settings"
FILES = sorted(path.name for path in DATA.glob("*.yaml"))
P = "planner_setting"


def blocks(name):
    """Read by PyYAML, whose YAML 1.1 takes 1e-6 for a text."""
    return list(find_settings(yaml.safe_load((DATA / name).read_text(encoding="utf-8"))))


def read(name, index=0):
    where, raw = blocks(name)[index]
    setting, notices = read_planner_setting(raw, where=where)
    return setting, [notice.removeprefix(where.removesuffix(P)) for notice in notices]


def places(notices):
    """The keys at which the lines stand."""
    return [notice.split(":")[0].removeprefix(f"{P}.") for notice in notices]


def peer(*entries, **more):
    """A block of GenSim2's with one point constraint, and what is given."""
    raw = {"task_name": "T", "category_name": "Articulated", "success_threshold": 0.1}
    return read_planner_setting({**raw, "constraint_list": [point(), *entries], **more}, where=P)


LITERAL = axis(ACROSS, 0.01, target_axis=[0, 0, 1], target_inner_product=1)
NO_TOLERANCE = {key: value for key, value in LITERAL.items() if key != "tolerance"}


@pytest.mark.parametrize("name", FILES)
def test_every_block_loads_and_reads_again_without_a_rewrite(name):
    found = blocks(name)
    assert found
    for where, raw in found:
        setting, notices = read_planner_setting(raw, where=where)
        assert all(notice.startswith(where) and "\n" not in notice for notice in notices)
        assert len(set(notices)) == len(notices)
        again, lines = read_planner_setting(setting.to_plain(), where=where)
        assert again == setting
        assert [line for line in lines if "contradict" not in line and "the name means" not in line] == []


def test_a_whole_file_of_gensim2_is_one_block():
    setting, notices = read("gensim2_open.yaml")
    terms = setting.constraint_list
    assert [term.TYPE for term in terms] == [
        "point2point_constraint",
        "frame_axis_parallel",
        "frame_axis_parallel",
        "keypoint_axis_orthogonal",
        "frame_axis_orthogonal",
    ]
    assert [terms[i].target_axis_frame for i in (1, 2, 4)] == ["object", "world", "base"]
    assert terms[2].interval()[2] == pytest.approx(0.7855, abs=1e-3)
    motions = [["move-up", 0.06], ["move-backward", -0.1], ["move-left", 0.1], ["rotate", 0.3]]
    assert setting.post_actuation_motions == motions
    assert setting.contact_index == setting.goal_index == 2
    assert setting.object_keypoint_name_list == [HEAD, TAIL]
    assert setting.approach_width_m == 0.0
    said = ["constraint_list[0].type", "approach_width_m", "success_threshold", "object_keypoint_name_list"]
    assert places(notices) == said
    assert notices[3].endswith(": dropped articulated_object_inside_base, which no constraint names.")
    raw = yaml.safe_load((DATA / "gensim2_open.yaml").read_text(encoding="utf-8"))
    for key in ("category_name", "actuation_time", "pre_actuation_times", "post_actuation_times"):
        raw.pop(key, None)
    setting, notices = read_planner_setting(raw, where="file")  # without a category, it is GenSim2's too
    assert setting.success_mode is SuccessMode.fraction
    assert any("success_threshold" in notice for notice in notices)


@pytest.mark.parametrize(
    ("keypoint", "pre", "width", "held"),
    [
        ("tool_head", ["translate_z", -0.1], None, "tool_head"),
        ("tool_head", ["translate_x", 0.1], 0.0, "tool_head"),
        ("tool_head", ["translate_y", 0.12], 0.0, "tool_head"),
        ("tool_tail", ["translate_z", -0.1], 0.0, "tool_tail"),
        ("tool_side", ["translate_z", -0.1], 0.0, "tool_head"),
    ],
)
def test_fingers_of_gensim2_that_push_with_their_side_stay_closed(keypoint, pre, width, held):
    touch = {**point(), "keypoint_name": keypoint}
    raw = {"origin": "gensim2", "success_threshold": 0.3, "constraint_list": [touch], "pre_actuation_motions": [pre]}
    setting, notices = read_planner_setting(raw, where="file")
    assert (setting.approach_width_m, setting.constraint_list[0].keypoint_name) == (width, held)
    assert any("the file pushes" in notice for notice in notices) == (width == 0.0)


def test_gensim2_success_is_three_tenths_of_the_range_and_said_so():
    setting, (notice,) = read("gensim2_rigid.yaml")
    assert (setting.success_mode, setting.success_threshold) == (SuccessMode.fraction, 0.3)
    assert "within 0.2 of 0 or 1, starting half open" in notice
    assert (setting.object_keypoint_name_list, setting.post_actuation_motions) == (["rigidbody_object_head"], [])


def test_oddities_of_hand_written_files_are_one_line_each():
    setting, notices = read("gensim2_odd.yaml")
    first, second, third, fourth = setting.constraint_list
    assert (first.tolerance, second.target_axis_frame, fourth.target_axis) == (1e-6, "base", None)
    assert (third.target_axis, third.tolerance, third.target_inner_product) == ([0.0, 0.0, -1.0], 0.01, -1.0)
    near, plane = setting.cost_list
    assert (near.weight, plane.TYPE) == (2.0, "point2plane_cost")
    assert setting.pre_actuation_motions == [["move-up", 0.06], ["translate_z", -0.05]]
    assert setting.post_actuation_motions == [["move-down", -0.06], ["move-right", 0.05]]
    assert setting.contact_index == 3
    assert places(notices) == [
        "constraint_list[4].tolerance",
        "pre_actuation_motions[1][1]",
        "constraint_list[0].type",
        "constraint_list[0].tolerance",
        "constraint_list[0].target_axis_frame",
        "constraint_list[1].target_axis_frame",
        "constraint_list[2].target_axis",
        "constraint_list[2].tolerance",
        "constraint_list[2].target_inner_product",
        "constraint_list[3]",
        "constraint_list[4].type",
        "constraint_list[4]",
        "cost_list[0].penalty_weight",
        "cost_list[0].tolerance",
        "cost_list[1].type",
        "cost_list[2]",
        "author",
        "success_threshold",
        "post_actuation_motions[0]",
        "post_actuation_motions[1]",
        "contact_pose_index",
    ]


def test_a_block_that_contradicts_itself_loads_and_says_so():
    setting, notices = read("gensim2_contradicting.yaml")
    assert len(setting.constraint_list) == 3
    assert "contradict each other" in notices[-1]
    assert notices[-1].endswith("Kept as it is; no plan exists until one of them is changed or removed.")


def test_names_decide_in_interndataengine_and_dropped_fields_are_reported():
    setting, notices = read("interndata_task.yaml", 0)
    door, cross = setting.constraint_list[1:]
    assert (door.target_axis, door.cross_target_axis1_to_keypoint_name, door.tolerance) == (None, TAIL, 0.005)
    assert cross.target_axis == "link0_contact_axis"
    assert setting.contact_index == setting.goal_index == 2
    assert setting.keypose_random_range.orientation.upper == [5.0, 0.0, 0.0]
    ignored = ["actuation_time", "pre_actuation_times", "post_actuation_times", "mobile_move"]
    rewritten = ["constraint_list[0].type", "constraint_list[1] 'hand_parallel_to_link0_edge_door'"]
    assert places(notices) == rewritten + ignored


def test_without_a_pre_motion_index_two_is_the_first_post_motion():
    setting, notices = read("interndata_task.yaml", 1)
    assert (setting.goal_index, setting.contact_index) == (1, 2)
    assert (setting.success_threshold, setting.success_mode) == (0.07, SuccessMode.normal)
    assert setting.constraint_list[0].tolerance == 1e-6
    assert setting.constraint_list[2].target_axis_frame == "object"
    assert setting.keypose_random_range.orientation.lower == [-45.0, 0.0, 0.0]
    assert len(notices) == 5


def test_rotate_may_leave_out_its_threshold_and_a_type_bows_to_the_name():
    setting, notices = read("interndata_task.yaml", 2)
    contact, line, literal = setting.constraint_list
    assert (contact.TYPE, contact.target_keypoint_name) == ("point2point_constraint", "base_contact_point")
    assert (line.TYPE, line.target_axis) == ("keypoint_axis_parallel", None)
    assert literal.target_axis_frame == "object"  # what InternDataEngine does with any frame
    assert (setting.success_threshold, setting.success_mode, setting.contact_index) == (0.785, None, 3)
    assert setting.additional_labels["oven/2/instance.usd"] == ["translate_z", 0.03]
    assert f"{P}.success_mode: dropped, 'turned' is no mode." in " ".join(notices)


def test_settings_are_found_at_any_depth_with_their_full_key():
    arms = ("arm[0].left[0]", "arm[1].right[0]", "arm[1].right[1]")
    found = [where for where, _ in blocks("interndata_task.yaml")]
    assert found == [f"tasks[0].skills[0].{arm}.planner_setting" for arm in arms]
    assert list(find_settings({"a": [1, "planner_setting"]})) == []


@pytest.mark.parametrize(
    ("raw", "origin"),
    [
        ({"constraint_list": [{"name": "mine"}]}, "unlatch"),
        ({"task_name": "mine", "constraint_list": []}, "unlatch"),
        ({"category_name": None, "constraint_list": []}, "unlatch"),
        ({"category_name": "RigidBody"}, "gensim2"),
        ({"mobile_move": True}, "gensim2"),
        ({"category_name": "Articulated", "constraint_list": [{"name": "hand_parallel_to_link0_edge"}]}, "interndata"),
    ],
)
def test_a_block_is_the_peers_by_marks_that_only_they_write(raw, origin):
    assert detect_origin(raw).value == origin


def test_a_key_of_the_peers_own_is_dropped():
    setting, (field, key) = peer({**LITERAL, "colour": "red"}, contact_frame=3)
    assert not hasattr(setting.constraint_list[1], "colour")
    assert field == f"{P}.constraint_list[1].colour: dropped, frame_axis_parallel has no such field."
    assert key.startswith(f"{P}.contact_frame: dropped, no key of a planner_setting.")


@pytest.mark.parametrize(
    ("entries", "more", "words"),
    [
        ([], {"contact_pose_indx": 1}, "contact_pose_indx is unknown. Did you mean 'contact_pose_index'"),
        (
            [],
            {"success_threshold": None, "success_treshold": 0.1},
            "success_treshold is unknown. Did you mean 'success_threshold'",
        ),
        ([axis(target_axs=[0, 0, 1])], {}, "constraint_list[1].target_axs is not a field"),
        ([{**NO_TOLERANCE, "tolerence": 0.1}], {}, "constraint_list[1].tolerence is not a field"),
        ([{**LITERAL, "type": "frame_axis_paralel"}], {}, "type='frame_axis_paralel' is not a constraint type"),
        ([{**LITERAL, "type": "gaze_constraint", "gaze": 1}], {}, "type='gaze_constraint' is"),
        ([{**LITERAL, "target_axis": [0, 0, 0]}], {}, "has no direction"),
        ([{**LITERAL, "target_inner_product": 1.5}], {}, "target_inner_product=1.5 is out of range"),
        ([{**LITERAL, "tolerance": -0.1}], {}, "tolerance=-0.1 is out of range"),
        ([], {"post_actuation_motions": ["move-away"]}, "'move-away' is not a motion"),
        ([], {"constraint_list": None}, "constraint_list is missing"),
        ([], {"constraint_list": [7]}, "constraint_list[0] is a int, expected a mapping"),
        ([], {"keypose_random_range": 5}, "keypose_random_range=5 is wrong"),
        ([], {"keypose_random_range": {"orientatoin": {}}}, "keypose_random_range={'orientatoin': {}} is wrong"),
    ],
)
def test_unknown_values_and_misspelt_keys_are_refused_in_a_block_of_another_system(entries, more, words):
    with pytest.raises(ConfigError, match=re.escape(words)):
        peer(*entries, **more)


ODD_VALUES = [
    None,
    0,
    -1,
    math.nan,
    "",
    "x",
    "1e-6",
    "move-up",
    [],
    [None],
    [[1]],
    {},
    {"a": 1},
    {1: 2},
    True,
    [0, 0, 0],
]


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_any_value_in_any_place_loads_or_is_one_line(name):
    def places(tree, path=()):
        yield path
        for key in tree if isinstance(tree, dict) else range(len(tree)) if isinstance(tree, list) else ():
            yield from places(tree[key], (*path, key))

    refused, loaded = [], 0
    for where, raw in blocks(name):
        for number, path in enumerate(list(places(raw))[1:]):
            for value in ODD_VALUES[number % 4 :: 4]:  # every value somewhere, four in each place
                changed = copy.deepcopy(raw)
                inner = changed
                for key in path[:-1]:
                    inner = inner[key]
                inner[path[-1]] = value
                try:
                    setting, notices = read_planner_setting(changed, where=where)
                except ConfigError as exc:
                    refused.append(exc.message)
                    continue
                loaded += 1
                assert not any("\n" in notice for notice in notices)
                assert asdict(read_planner_setting(setting.to_plain(), where=where)[0]) == asdict(setting)
    assert len(refused) > 20
    assert loaded > 15  # an unknown type of a constraint is refused
    assert not any("\n" in message for message in refused)


def test_a_known_type_without_its_fields_is_read_by_those_there_are():
    setting, notices = peer(point(TAIL, type="frame_axis_parallel"))
    assert setting.constraint_list[1].TYPE == "point2point_constraint"
    assert notices == [
        f"{P}.constraint_list[1].type: frame_axis_parallel read as point2point_constraint from its fields."
    ]


def test_a_key_left_empty_is_as_good_as_none():
    setting, notices = peer(cost_list=None, additional_labels=None, keypose_random_range=None, success_mode=None)
    assert notices == []
    assert (setting.cost_list, setting.additional_labels, setting.keypose_random_range.is_zero) == ([], {}, True)


def test_an_axis_letter_a_noise_key_of_theirs_and_an_index_after_the_last_keyframe_are_read():
    setting, notices = peer({**LITERAL, "target_axis": "x"}, keypose_random_range={"position": {"q_max": 1}, "seed": 4})
    assert setting.constraint_list[1].target_axis == [1.0, 0.0, 0.0]
    noise = ["keypose_random_range.position.q_max", "keypose_random_range.seed"]
    assert places(notices) == ["constraint_list[1].target_axis", *noise]
    setting, (notice,) = peer(contact_pose_index=2)
    assert setting.contact_index == 1
    assert notice.startswith(f"{P}.contact_pose_index: 2 lies after every keyframe")


def test_our_own_form_keeps_its_strictness():
    with pytest.raises(ConfigError, match="tolerance=0 is out of range"):
        read_planner_setting({"success_threshold": 0.1, "constraint_list": [point(tolerance=0)]}, where=P)
    text = point(tolerance="1e-3")
    setting, notices = read_planner_setting({"success_threshold": 0.1, "constraint_list": [text, text]}, where=P)
    assert len(setting.constraint_list) == 2
    said = "tolerance: the text '1e-3' (YAML 1.1 wants 1.0e-6) read as the number 0.001."
    assert notices == [f"{P}.constraint_list[{i}].{said}" for i in (0, 1)]


def test_the_page_has_every_key_type_word_and_name():
    page = (TESTS.parent / "docs" / "planner_settings.md").read_text(encoding="utf-8")
    names = [
        *(field.name for field in fields(PlannerSettingCfg)),
        *SuccessMode.__members__,
        *IGNORED,
        *MEANINGS,
        CONTACT_NAME,
        *MOTION_WORDS,
        *TERMS.own_names(),
        *COSTS.own_names(),
        *{f.name for catalog in (TERMS, COSTS) for name in catalog.names() for f in fields(catalog.load(name))},
    ]
    assert [name for name in names if f"`{name}`" not in page] == []
