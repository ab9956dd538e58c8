"""Task files of InternDataEngine and GenSim2, written for these tests, become task files of Unlatch."""

import copy
import json
import re
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import yaml

from tests.objects.builders import generated
from unlatch.configs.composition import Request, compose_config, to_plain
from unlatch.configs.dataclass_reader import check_chain_form, read_dataclass
from unlatch.configs.peer_tasks.importer import import_tasks
from unlatch.configs.peer_tasks.peer_values import ImportCfg, Ledger, Settings, read_chain
from unlatch.configs.peer_tasks.scene_objects import (
    PeerObject,
    nearest_category,
    nearest_container,
    nearest_item,
    nearest_robot,
)
from unlatch.configs.peer_tasks.task_builder import PutInto, fit_item
from unlatch.configs.schema import EpisodeCfg, check_episode, find_info_files, folders_of_info
from unlatch.objects.annotate.peer_info import make_info, with_info_file
from unlatch.objects.annotation import HandleType
from unlatch.objects.library import load_instance
from unlatch.simcore.errors import ConfigError, UnlatchError
from unlatch.skills.config import stages_of
from unlatch.solver.term_kinds import AxisAngle

ROOT = Path(__file__).parents[3]
DATA = ROOT / "tests" / "data" / "peer_tasks"
ONE_ARM, TWO_ARMS = DATA / "open_then_close.yaml", DATA / "two_arms.yaml"
STORE = ROOT / "examples" / "peers" / "interndata_store_in_drawer.yaml"


def composed(item, folder):
    """The configuration that the text of an imported task gives."""
    assert item.error is None, item.error
    (folder / "task").mkdir(parents=True, exist_ok=True)
    (folder / "task" / f"{item.name}.yaml").write_text(item.text)
    plain = to_plain(compose_config("plan", EpisodeCfg, Request([f"task={item.name}"], [str(folder)])))
    check_chain_form(plain)
    found = read_dataclass(EpisodeCfg, plain, where="")
    check_episode(found)
    return found


def only(path, **values):
    (item,) = import_tasks(path, ImportCfg(**values))
    return item


@cache
def imported(path):
    return only(path)


def written(tree, folder, name="theirs"):
    path = folder / f"{name}.yaml"
    path.write_text(yaml.safe_dump(tree))
    return path


def tree_of(path):
    return yaml.safe_load(path.read_text())


@pytest.fixture
def changed(tmp_path):
    """Imports a file of theirs whose first task is changed, and the configuration that it gives."""

    def make(change, path=ONE_ARM):
        tree = tree_of(path)
        change(tree["tasks"][0])
        item = only(written(tree, tmp_path))
        return item, composed(item, tmp_path)

    return make


@pytest.fixture
def chained(tmp_path):
    """Imports a task of objects by name and category, and of the skills of one arm."""

    def make(objects, *skills, **more):
        entries = [{"name": name, "category": category} for name, category in objects.items()]
        chain = [{"franka": [{"left": [{"name": name, "objects": things, **own} for name, things, own in skills]}]}]
        entry = {"robots": [{"name": "franka"}], "objects": entries, "skills": chain, **more}
        item = only(written({"tasks": [entry]}, tmp_path))
        return item, composed(item, tmp_path)

    return make


def texts(item):
    return [line.text for line in item.lines]


@pytest.mark.slow
def test_a_chain_of_one_arm_keeps_its_skills_ranges_and_words(tmp_path):
    cfg = composed(imported(ONE_ARM), tmp_path)
    assert (cfg.robot.name, cfg.object.name, cfg.object.category) == ("franka_panda", "microwave_0", "microwave")
    chain = [("artpreplan", None, None), ("open", "door", None), ("close", "door", None)]
    assert [(e.name, e.part, e.arm) for e in cfg.skills] == chain
    assert [e.collision_valid for e in cfg.skills[1:]] == [False, True]
    assert [e.planner_setting.success_threshold for e in cfg.skills[1:]] == [0.52, 0.08]
    assert [e.range for e in cfg.task.openness] == [[0.34, 0.45]]
    assert [(g.part, g.kind.value, g.value) for g in cfg.task.goal] == [("door", "within_closed", 0.08)]
    assert cfg.task.language[0] == "Open the microwave and close it again."
    assert cfg.task.max_duration_s == pytest.approx(4000 / 30, abs=1e-3)
    assert {sensor.name for sensor in cfg.camera.cameras} == {"front", "wrist"}
    derived = composed(only(ONE_ARM, settings=Settings.derived), tmp_path)
    assert all(e.planner_setting.derived for e in derived.skills[1:])
    assert [(g.kind.value, g.value) for g in derived.task.goal] == [("within_closed", 0.08)]


def test_the_region_is_seen_from_the_robot():
    (region,) = yaml.safe_load(imported(ONE_ARM).text)["task"]["regions"]
    # the robot looks along y: what is beside the table's middle there is beside the robot here
    assert (region["half_extent_m"], region["yaw_deg"]) == ([0.05, 0.1], 20.0)
    # from the robot at y = -0.7 m to the object's middle at 0.1 m, less half its depth
    assert region["center_m"][1] == pytest.approx(0.0)
    assert 0.5 < region["center_m"][0] < 0.7


@pytest.mark.slow
def test_a_region_out_of_reach_keeps_its_extents(changed):
    far = {"pos_range": [[0.0, -3.0, 0.0], [0.0, -3.0, 0.0]]}
    item, cfg = changed(lambda task: task["regions"][2]["random_config"].update(far))
    (region,) = cfg.task.regions
    assert region.half_extent_m == [0.05, 0.1]
    assert region.center_m[0] < 0.9
    assert any("is beside where the arm of Unlatch acts well" in text for text in texts(item))


@pytest.mark.slow
def test_two_arms_act_at_the_same_time_on_two_flaps(tmp_path):
    cfg = composed(imported(TWO_ARMS), tmp_path)
    assert (cfg.robot.name, cfg.object.category) == ("dual_panda", "carton")
    assert stages_of(cfg.skills) == [[[0]], [[1], [2]]]
    assert [(e.arm, e.part) for e in cfg.skills[1:]] == [("left", "lid"), ("right", "lid_2")]
    assert [(e.part, e.range) for e in cfg.task.openness] == [("lid", [1.3, 1.3]), ("lid_2", [1.3, 1.3])]
    assert cfg.task.language == ["Close the carton."]


def leaves(tree, path):
    if isinstance(tree, dict) and tree:
        return [leaf for key, value in tree.items() for leaf in leaves(value, f"{path}.{key}")]
    if isinstance(tree, list) and any(isinstance(item, dict) for item in tree):
        return [leaf for index, value in enumerate(tree) for leaf in leaves(value, f"{path}[{index}]")]
    return [path]


SILENT = re.compile(
    r"objects\[0\]\.(category|art_cat|target_class)|regions\[\d\]\.(object|random_type)|\.(name|objects|process_valid"
    r"|collision_valid)\Z|data\.(detailed_)?language_instruction|robots\[0\]\.euler"
)
"""Values that mean the same here, which need no line."""


@pytest.mark.parametrize("path", [ONE_ARM, TWO_ARMS])
def test_every_value_of_a_file_has_a_line_or_means_the_same_here(path):
    said = [line.path for line in imported(path).lines]
    silent = [
        leaf
        for leaf in leaves(tree_of(path)["tasks"][0], "tasks[0]")
        if not any(leaf == place or leaf.startswith((f"{place}.", f"{place}[")) for place in said)
    ]
    assert [leaf for leaf in silent if not SILENT.search(leaf) and leaf != "tasks[0].cameras"] == []


def test_what_has_no_counterpart_says_place_value_and_reason_and_is_in_the_written_file():
    lines = [str(line) for line in imported(ONE_ARM).lines]
    arena = "no counterpart: every scene is a table; furniture is no part of a task"
    assert f"tasks[0].arena_file: 'arenas/table_arena.yaml': {arena}" in lines
    (pick,) = [line for line in lines if "'name': 'pick'" in line]
    assert pick.startswith("tasks[0].skills[0].franka[0].left[1]: ")
    assert pick.endswith(": no counterpart: the hand would still hold 'cup' when 'close' begins")
    (cup,) = [line for line in lines if line.startswith("tasks[0].objects[1]")]
    assert cup.endswith("no counterpart: no skill that Unlatch has acts on it")
    assert not any(re.search(r"\b(yet|soon|later|planned|will)\b", line) for line in lines if "no counterpart" in line)
    own = "# tasks[0].task_id: 0: no counterpart: every episode has a world of its own"
    assert own in imported(ONE_ARM).text.splitlines()


def test_of_two_objects_with_one_name_the_first_one_is_read(changed):
    def repeat(task):
        task["objects"].append({**task["objects"][0], "joint_position_range": [0.8, 0.9]})

    item, cfg = changed(repeat)
    assert [e.range for e in cfg.task.openness] == [[0.34, 0.45]]
    assert "no counterpart: an object named microwave_0 stands before it" in "\n".join(map(str, item.lines))


@pytest.mark.slow
def test_an_unknown_key_is_listed_at_any_depth(changed):
    def change(task):
        task["gravity_lib"] = {"moon": [1, 2]}
        task["objects"][0]["glow"] = 3

    lines, reason = (
        [str(line) for line in changed(change)[0].lines],
        "no counterpart: Unlatch has no key of this meaning",
    )
    assert f"tasks[0].gravity_lib.moon: [1, 2]: {reason}" in lines
    assert f"tasks[0].objects[0].glow: 3: {reason}" in lines


@pytest.mark.slow
def test_a_setting_that_cannot_be_read_is_derived(changed):
    def change(task):
        setting = task["skills"][0]["franka"][0]["left"][0]["planner_setting"]
        setting["constraint_list"][0]["target_keypoint_name"] = "articulated_object_nose"

    item, cfg = changed(change)
    assert [e.planner_setting.derived for e in cfg.skills[1:]] == [True, True]  # both skills share the list
    lines = [text for text in texts(item) if "articulated_object_nose" in text]
    assert [text.endswith("The setting is derived from the part instead") for text in lines] == [True, True]


@pytest.mark.parametrize(
    ("words", "info_name", "skill", "category"),
    [
        (["StorageFurniture"], "pull", "open", "drawer"),
        (["StorageFurniture"], "open_v", "open", "cabinet"),
        (["electriccooker"], "close_h", "close", "pot"),
        (["trashcan/11/instance.usd"], "", "open", "trash_can"),
        (["thing"], "open_h", "open", "box"),
        (["thing"], "", "rotate", "faucet"),
        (["oven"], "", "rotate", "oven"),
    ],
)
def test_the_nearest_category_stands_for_an_object(words, info_name, skill, category):
    found, why = nearest_category(words, [info_name], skill)
    assert found == category
    assert why


def test_the_nearest_thing_to_carry_and_the_nearest_container_stand_for_others():
    items = {"omniobject3d-banana": "apple", "wine glass": "cup", "toy_car": "parcel", "gizmo": "can"}
    assert {word: nearest_item([word])[0] for word in items} == items
    containers = {"nightstand": "drawer", "storage rack": "cabinet", "microwave": "microwave", "gizmo": "box"}
    assert {word: nearest_container([word])[0] for word in containers} == containers


@pytest.mark.slow
def test_an_object_without_a_part_that_turns_is_replaced_for_rotate(chained):
    _, cfg = chained({"thing": "laptop"}, ("rotate", ["thing"], {}))
    assert (cfg.object.category, cfg.skills[-1].part) == ("faucet", "knob")
    assert isinstance(cfg.object.instances, list)  # only some faucets have a knob


@pytest.mark.slow
def test_an_object_of_the_command_line_or_a_file_that_exists_is_used(tmp_path, changed):
    cfg = composed(only(ONE_ARM, object="safe", robot="dual_panda"), tmp_path)
    assert (cfg.object.category, cfg.robot.name) == ("safe", "dual_panda")
    path = "microwave/7265/instance.urdf"
    (tmp_path / path).parent.mkdir(parents=True)
    (tmp_path / path).write_text(generated("microwave", 3).model.to_urdf())
    _, cfg = changed(lambda task: task["objects"][0].update(path=path))
    assert (cfg.object.root, cfg.object.name) == (str(tmp_path / path), "microwave_0")


FURNITURE = "art/furniture/0"
SECOND = f"{FURNITURE}/Kps/second/info.json"


@pytest.fixture
def furniture(tmp_path):
    """Writes a task that opens a drawer of an object with two drawers, beside the object and its annotation files."""

    def make(item, skill):
        asset, own = generated("drawer", 5), tmp_path / "assets" / FURNITURE
        own.mkdir(parents=True)
        (own / "instance.urdf").write_text(asset.model.to_urdf())
        for name, part in (("first", "drawer"), ("second", "drawer_2")):
            (own / "Kps" / name).mkdir(parents=True)
            info = make_info(asset.articulation.part(part), asset.model, 1.0, instance="0")
            (own / "Kps" / name / "info.json").write_text(json.dumps(info))
        desk = {"name": "desk", "category": "StorageFurniture", "path": f"{FURNITURE}/instance.urdf", **item}
        skills = [{"franka": [{"left": [{"name": "open", "objects": ["desk"], **skill}]}]}]
        return written({"tasks": [{"asset_root": "assets", "objects": [desk], "skills": skills}]}, tmp_path)

    return make


@pytest.mark.slow
@pytest.mark.parametrize(
    ("item", "skill"),
    [
        ({"obj_info_path": SECOND}, {}),
        ({"info_name": "second"}, {}),
        ({"info_name": "first"}, {"obj_info_path": SECOND}),
    ],
)
def test_the_annotation_file_of_an_object_that_exists_tells_part_and_keypoints(tmp_path, furniture, item, skill):
    found = only(furniture(item, skill))
    cfg = composed(found, tmp_path)
    find_info_files(cfg)
    assert cfg.skills[-1].part == "drawer_2"
    assert cfg.skills[-1].obj_info_path == str(tmp_path / "assets" / SECOND)
    assert any("read as part drawer_2 of desk, with the keypoints of" in text for text in texts(found))
    left = {line.path.rpartition(".")[2] for line in found.lines if not line.is_read}
    assert left.isdisjoint({"asset_root", "obj_info_path"})
    assert ("info_name" in left) == ("first" in item.values()), "only what nothing was read from is left"


@pytest.mark.slow
def test_keypoints_that_do_not_fit_are_left_out_and_an_object_that_cannot_be_read_replaced_with_the_reason(
    tmp_path, furniture
):
    file, info_file = furniture({}, {"obj_info_path": SECOND}), tmp_path / "assets" / SECOND
    info = json.loads(info_file.read_text())
    info["object_keypoints"]["articulated_object_head"] = [9.0, 9.0, 9.0]
    info_file.write_text(json.dumps(info))
    found = only(file)
    cfg = composed(found, tmp_path)
    assert (cfg.skills[-1].part, cfg.skills[-1].obj_info_path) == ("drawer_2", None)
    (line,) = [text for text in texts(found) if "without its keypoints: " in text]
    assert "articulated_object_head" in line
    (tmp_path / "assets" / FURNITURE / "instance.urdf").write_text("<robot/>")
    (line,) = [line.text for line in only(file).lines if line.path == "tasks[0].objects[0].path"]
    assert line.endswith("instance.urdf: the robot has no links; cabinet is taken")


def test_a_path_of_an_annotation_file_starts_three_folders_above_that_of_a_usd(tmp_path):
    folder = tmp_path / "art" / "furniture" / "0"
    folder.mkdir(parents=True)
    (folder / "instance.usd").touch()
    assert folders_of_info(folder / "instance.usd") == folders_of_info(folder)
    assert folders_of_info(folder)[-1] == tmp_path


@pytest.mark.slow
def test_several_tasks_of_one_file_have_numbers(tmp_path):
    tree = tree_of(ONE_ARM)
    tree["tasks"] += [{"skills": [{"franka": [{"left": [{"name": "wait"}]}]}]}, "nothing"]
    first, second, third = import_tasks(written(tree, tmp_path), ImportCfg())
    assert (first.name, second.name, third.name) == ("theirs_0", "theirs_1", "theirs_2")
    assert first.error is None
    assert re.search(r"tasks\[1\] has no skill that Unlatch can carry out: .*'wait' is not imported", str(second.error))
    assert third.error is not None


KNOWN = "is not imported: only open, close, rotate, artpreplan, pick, place and home"


@pytest.mark.parametrize(
    ("skills", "reasons"),
    [
        ([("opne", ["oven_0"]), ("zzz", [])], [f"'opne' {KNOWN}. Did you mean 'open'?", f"'zzz' {KNOWN}"]),
        ([("pick", ["cup"]), ("place", ["bowl", "tray"])], ["the 'place' that follows puts down 'bowl'"]),
        ([("place", ["cup", "tray"])], ["it does not hold 'cup'"]),
        ([("pick", ["cup"]), ("pick", ["cup"])], ["the hand would still hold 'cup' when 'pick' begins"]),
        ([("open", ["cup"]), ("pick", ["cup"])], ["'cup' has parts on joints"]),
    ],
)
def test_unknown_skills_and_those_that_no_hand_can_carry_out_are_left_out_with_the_reason(skills, reasons):
    ledger = Ledger()
    chain, _ = read_chain([{"name": name, "objects": objects} for name, objects in skills], "skills", ledger)
    said = [line.text for line in ledger.lines]
    assert all(any(reason in text for text in said) for reason in reasons), said
    assert len(chain) + len(said) == len(skills)
    if KNOWN in said[0]:
        assert said == reasons


@pytest.fixture
def two_objects(tmp_path):
    def make(**more):
        objects = [{"name": name, "category": name} for name in ("microwave", "nightstand")]
        left = {"name": "open", "objects": ["nightstand"], "collision_valid": False}
        skills = [{"lift2": [{"left": [left], "right": [{"name": "close", "objects": ["microwave"]}]}]}]
        entry = {"robots": [{"name": "lift2", "euler": [0.0, 0.0, 90.0]}], "objects": objects, "skills": skills, **more}
        item = only(written({"tasks": [entry]}, tmp_path))
        return item, composed(item, tmp_path)

    return make


@pytest.mark.slow
def test_arms_that_act_at_the_same_time_share_their_limits(two_objects):
    item, cfg = two_objects()
    assert [(e.arm, e.collision_valid) for e in cfg.skills[1:]] == [("left", False), ("right", False)]
    (line,) = [str(line) for line in item.lines if "collision_valid is false for all" in line.text]
    assert line.startswith("tasks[0].skills: ")


def region_at(name, x_m):
    config = {"pos_range": [[x_m - 0.1, 0.0, 0.0], [x_m + 0.1, 0.2, 0.0]], "yaw_rotation": [-10, 10]}
    return {"object": name, "random_type": "A_on_B_region_sampler", "random_config": config}


@pytest.mark.slow
@pytest.mark.parametrize(("regions", "sign"), [([], 1.0), ([("nightstand", 0.4), ("microwave", -0.4)], -1.0)])
def test_objects_of_two_skills_stand_side_by_side(two_objects, regions, sign):
    # without regions, each object stands before its arm; with them, in their order as the robot sees it, along y
    _, cfg = two_objects(regions=[region_at(*region) for region in regions])
    nightstand, microwave = cfg.task.regions
    assert (nightstand.object, microwave.object) == ("nightstand", "microwave")
    assert sign * nightstand.center_m[1] > 0 > sign * microwave.center_m[1]
    half_widths = [np.ptp(load_instance(o).bounds_obj[:, 1]) / 2 for o in (cfg.object, *cfg.objects)]
    room = abs(nightstand.center_m[1] - microwave.center_m[1]) - sum(half_widths)
    assert room > nightstand.half_extent_m[1] + microwave.half_extent_m[1]


def test_distractors_and_regions_of_another_kind_are_those_of_the_file(changed):
    def change(task):
        task["distractors"] = {"min_num": 1, "max_num": 200, "path": "rigid"}
        circle = {"object": "bowl", "random_type": "A_by_B_circle_sampler", "random_config": {"radius": 0.3}}
        task["regions"].append(circle)

    item, cfg = changed(change, TWO_ARMS)
    assert (cfg.randomization.distractors.least, cfg.randomization.distractors.most) == (1, 50)
    paths = [line.path.removeprefix("tasks[0].") for line in item.lines]
    assert [path for path in paths if "distractors" in path] == ["distractors.max_num", "distractors.path"]
    assert [path for path in paths if path.startswith("regions[1]")] == ["regions[1]"]


@pytest.mark.slow
def test_an_object_is_picked_put_into_a_drawer_and_shut_in(tmp_path):
    item = only(STORE)
    cfg = composed(item, tmp_path)
    assert [(e.name, e.objects, e.part) for e in cfg.skills] == [
        ("artpreplan", ["nightstand"], None),
        ("pick", ["pick_object"], None),
        ("place", ["pick_object", "nightstand"], None),
        ("home", ["pick_object"], None),
        ("close", ["nightstand"], "drawer"),
    ]
    _, pick, place, _, close = cfg.skills
    assert (pick.approach.value, pick.lift_m, place.region) == ("above", 0.15, "drawer")
    assert close.planner_setting.constraint_list
    objects = [(o.name, o.category) for o in (cfg.object, *cfg.objects)]
    assert objects == [("nightstand", "drawer"), ("pick_object", "parcel")]
    goals = [("pick_object", "inside", "nightstand", "drawer"), ("nightstand", "within_closed", None, None)]
    assert [(g.object, g.kind.value, g.of, g.region) for g in cfg.task.goal] == goals
    # a drawer that is as far open as in the file has no room for a hand
    (start,) = cfg.task.openness
    assert start.range[0] > 0.15
    lines = [str(line) for line in item.lines]
    assert any(line.endswith("so that a hand can reach in") and "joint_position_range" in line for line in lines)
    assert not any("'home'" in line for line in lines)
    assert any(".npy_name" in line and "no counterpart: grasps are found" in line for line in lines)


@pytest.mark.parametrize(
    ("arm", "names", "said"),
    [
        ("left", ["artpreplan", "open", "home"], "home leaves the gripper as it is"),
        ("right", ["artpreplan", "open"], "its arm does nothing else, and is at home"),
    ],
)
def test_an_arm_that_has_acted_goes_home_and_one_that_has_not_is_there(tmp_path, arm, names, said):
    chain = [{"left": [{"name": "open", "objects": ["oven"]}]}, {arm: [{"name": "home", "gripper_state": 1.0}]}]
    entry = {"robots": [{"name": "franka"}], "objects": [{"name": "oven", "category": "microwave"}]}
    item = only(written({"tasks": [{**entry, "skills": [{"franka": chain}]}]}, tmp_path))
    assert [each.name for each in composed(item, tmp_path).skills] == names
    (line,) = [str(line) for line in item.lines if "1].right[0]" in str(line) or "gripper_state" in str(line)]
    assert line.endswith(said)


@pytest.mark.slow
def test_a_thing_for_a_shelf_comes_from_the_side(chained):
    item, cfg = chained(
        {"oven_0": "microwave", "milk": "milk_carton"},
        ("dexpick", ["milk"], {"filter_z_dir": ["downward", 140], "process_valid": False}),
        ("goto_pose", [], {"translation": [0.4, 0.0, 0.5]}),
        ("dexplace", ["milk", "oven_0"], {}),
    )
    _, pick, place = cfg.skills
    assert (pick.process_valid, place.process_valid) == (False, True)
    assert any("'goto_pose' is not imported: every skill plans its own way" in text for text in texts(item))
    assert (pick.name, pick.approach.value, place.name, place.region) == ("pick", "side", "place", "inside")
    (start,) = cfg.task.openness
    assert (start.part, start.range[0] > 1.2) == ("door", True)


@pytest.mark.slow
def test_a_thing_that_is_too_high_for_a_drawer_is_replaced(chained):
    carried = ("pick", ["milk"], {}), ("place", ["milk", "desk"], {})
    item, cfg = chained({"desk": "nightstand", "milk": "milk_carton"}, *carried)
    assert cfg.objects[0].category == "apple"
    assert any("no cereal_box fits into desk; apple is taken" in text for text in texts(item))


@pytest.mark.slow
def test_a_thing_that_starts_in_a_drawer_is_taken_out_onto_the_table(chained):
    inside = {"object": "soda", "target": "desk", "random_type": "A_in_B_region_sampler"}
    item, cfg = chained(
        {"desk": "nightstand", "soda": "cola"},
        ("open", ["desk"], {}),
        ("pick", ["soda"], {}),
        ("place", ["soda", "table"], {}),
        regions=[{**inside, "random_config": {"pos_range": [[0, 0, 0], [0, 0, 0]]}}],
    )
    (relation,) = cfg.task.relations
    found = (relation.object, relation.relation.value, relation.of, relation.region)
    assert found == ("soda", "inside", "desk", "drawer")
    assert cfg.task.openness == []  # the chain opens it
    assert cfg.skills[-1].objects == ["soda"]
    assert any("'table' is no object of the file: put onto the table" in text for text in texts(item))


GENSIM2 = {
    "category_name": "Articulated",
    "tool_keypoint_name_list": ["tool_head", "tool_tail", "tool_side"],
    "object_keypoint_name_list": ["articulated_object_head", "articulated_object_tail"],
    "constraint_list": [
        {"keypoint_name": "tool_head", "target_keypoint_name": "articulated_object_head", "tolerance": 0.001}
    ],
    "pre_actuation_motions": [["translate_z", -0.08]],
    "post_actuation_motions": [["rotate", 0.3]],
}


@pytest.fixture
def gensim2(tmp_path):
    """Imports a task of GenSim2 by its name."""
    return lambda label, cfg=None, **more: only(
        written({"task_name": label, **GENSIM2, **more}, tmp_path), **(cfg or {})
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("label", "skill", "category"),
    [
        ("TurnOnFaucet", "rotate", "faucet"),
        ("SwingDoorOpen", "open", "door"),
        ("RotateMicrowaveDoor", "open", "microwave"),
    ],
)
def test_a_task_of_gensim2_is_read_by_its_name(tmp_path, gensim2, label, skill, category):
    cfg = composed(gensim2(label), tmp_path)
    assert (cfg.skills[-1].name, cfg.object.category) == (skill, category)
    (start,) = cfg.task.openness
    assert start.range[0] > 0.0
    assert cfg.skills[-1].planner_setting.constraint_list


@pytest.mark.slow
@pytest.mark.parametrize(
    ("label", "names", "objects", "goal"),
    [
        ("PlaceAppleIntoDrawer", ["artpreplan", "pick", "place"], ["drawer", "apple"], "inside"),
        ("LiftBucketUpright", ["artpreplan", "pick"], ["can"], "lifted"),
        ("MoveCup", ["artpreplan", "pick", "place"], ["cup"], "on"),
    ],
)
def test_a_task_of_gensim2_that_carries_is_read_by_its_name(tmp_path, gensim2, label, names, objects, goal):
    item = gensim2(label, category_name="RigidBody")
    cfg = composed(item, tmp_path)
    assert [entry.name for entry in cfg.skills] == names
    assert [each.category for each in (cfg.object, *cfg.objects)] == objects
    assert [each.kind.value for each in cfg.task.goal] == [goal]
    assert any(line.path == "constraint_list" and not line.is_read for line in item.lines)


NEITHER = r"RigidBody: no counterpart: by its name, the task SpinBall neither picks nor places an object"


@pytest.mark.parametrize(
    ("label", "more", "message"),
    [
        ("SpinBall", {"category_name": "RigidBody"}, NEITHER),
        ("ReachForBall", {}, r"no skill of Unlatch does 'reach'"),
        ("Nameless", {}, r"it names no skill\. Expected open, close or rotate\. If .* add skill=NAME"),
        ("Nameless", {"cfg": {"skill": "fly"}}, "skill='fly' is not a skill that moves a part"),
    ],
)
def test_a_task_of_gensim2_without_a_counterpart_is_refused(gensim2, label, more, message):
    item = gensim2(label, **more)
    assert re.search(message, str(item.error))
    assert item.text == ""


@pytest.mark.slow
def test_a_skill_of_the_command_line_tells_what_a_name_does_not(tmp_path, gensim2):
    assert composed(gensim2("Nameless", {"skill": "close"}), tmp_path).skills[-1].name == "close"


@pytest.mark.parametrize("text", ["task: {name: x}\nskills: []\n", "[1, 2]\n", "a: [\n", "just words\n"])
def test_other_files_are_refused(tmp_path, text):
    (tmp_path / "theirs.yaml").write_text(text)
    with pytest.raises(ConfigError):
        import_tasks(tmp_path / "theirs.yaml", ImportCfg())


JUNK = [
    None,
    True,
    7,
    -1.5,
    float("nan"),
    "",
    "word",
    "${x}",
    "a.b[0]",
    [],
    [[]],
    {},
    {"x": {"y": [{}]}},
    [1, 2],
    10**30,
]


def places(tree):
    """Every container of a tree with a key in it."""
    items = list(tree.items()) if isinstance(tree, dict) else list(enumerate(tree)) if isinstance(tree, list) else []
    return [(tree, key) for key, _ in items] + [place for _, value in items for place in places(value)]


@pytest.mark.parametrize(
    ("path", "count"),
    [
        pytest.param(ONE_ARM, 4, marks=pytest.mark.slow),
        pytest.param(TWO_ARMS, 4, marks=pytest.mark.slow),
        pytest.param(ONE_ARM, 40, marks=pytest.mark.heavy),
        pytest.param(TWO_ARMS, 60, marks=pytest.mark.heavy),
    ],
)
def test_files_with_random_values_are_imported_or_refused(path, count, tmp_path):
    rng, outcomes = np.random.default_rng(5), {"composed": 0, "refused": 0}
    for number in range(count):
        tree = copy.deepcopy(tree_of(path))
        for _ in range(int(rng.integers(1, 4))):
            found = places(tree)
            owner, key = found[int(rng.integers(len(found)))]
            owner[key] = copy.deepcopy(JUNK[int(rng.integers(len(JUNK)))])
        try:
            items = import_tasks(written(tree, tmp_path, f"random_{number}"), ImportCfg())
        except UnlatchError:
            outcomes["refused"] += 1
            continue
        for item in items:
            outcomes["refused" if item.error is not None else "composed"] += 1
            if item.error is None:
                composed(item, tmp_path)
    assert outcomes["composed"] >= count / 4, outcomes


def test_the_path_of_their_file_is_answered_with_import():
    with pytest.raises(ConfigError, match=r"is a task file of InternDataEngine\. .*unlatch import .*open_then_close"):
        compose_config("plan", EpisodeCfg, Request([f"task={ONE_ARM}"]))


def moved_robot(x_m, name):
    """The first task with a robot at another place, named by a reference."""
    tree = tree_of(ONE_ARM)
    task = tree["tasks"][0]
    task["regions"] = [each for each in task["regions"] if each["object"] != task["robots"][0]["name"]]
    config = {"pos_range": [[x_m, 0.0, 0.0], [x_m, 0.0, 0.0]], "yaw_rotation": [0.0, 0.0]}
    task["regions"].append(
        {"object": name, "target": "table", "random_type": "A_on_B_region_sampler", "random_config": config}
    )
    return tree


def test_a_robot_that_a_region_names_by_a_reference_has_its_place(tmp_path):
    place = "${tasks.0.robots.0.name}"
    named = only(written(moved_robot(-0.35, tree_of(ONE_ARM)["tasks"][0]["robots"][0]["name"]), tmp_path, "a"))
    near, far = (only(written(moved_robot(x, place), tmp_path, "a")) for x in (-0.35, -0.4))
    assert near.text == named.text
    assert near.text != far.text, "two tasks that differ by 5 cm are two"


def test_a_camera_keeps_its_pose_and_its_lens(tmp_path):
    tree = tree_of(ONE_ARM)
    (tmp_path / "cameras").mkdir()
    lens = {"camera_params": [600.0, 601.0, 319.0, 239.0], "resolution_width": 640, "resolution_height": 480}
    (tmp_path / "cameras" / "realsense.yaml").write_text(yaml.safe_dump(lens))
    hand = tree["tasks"][0]["cameras"][1]
    hand |= {"translation": [0.05, 0.0, 0.03], "orientation": [0.0, 1.0, 0.0, 0.0], "camera_axes": "usd"}
    cfg = composed(only(written(tree, tmp_path)), tmp_path)
    front, wrist = sorted(cfg.camera.cameras, key=lambda camera: camera.name)
    for camera in (front, wrist):
        assert (camera.width, camera.height, camera.intrinsics) == (640, 480, lens["camera_params"])
    assert (wrist.mount.body, wrist.mount.link) == (cfg.robot.name, "panda_hand")
    np.testing.assert_allclose(wrist.mount.T_mount_sensor.p, [0.05, 0.0, 0.03])
    np.testing.assert_allclose(wrist.mount.T_mount_sensor.R, np.eye(3), atol=1e-6)  # usd looks along -z, and is turned
    robot = next(
        each for each in tree["tasks"][0]["regions"] if each["object"] == tree["tasks"][0]["robots"][0]["name"]
    )
    middle = np.mean(robot["random_config"]["pos_range"], axis=0)
    assert np.linalg.norm(front.mount.position_m) == pytest.approx(
        np.linalg.norm(np.array([0.5, 0.0, 1.2]) - middle), abs=1e-3
    )


def test_what_stands_in_for_a_missing_lens_and_for_a_similar_robot_is_said():
    missing = "it is not found or lacks camera_params, resolution_width or resolution_height"
    assert f"{missing}; the lens of our camera is used" in texts(imported(ONE_ARM))
    why = nearest_robot(["split_aloha.yaml"], {"left"}).why
    assert why.startswith("two arms of 6 axes; robot=aloha of the extra robots is a similar robot;")


def test_the_spread_of_the_home_is_kept(tmp_path):
    tree = tree_of(ONE_ARM)
    tree["tasks"][0]["robots"][0]["left_joint_home_std"] = [0.1] * 7
    cfg = composed(only(written(tree, tmp_path)), tmp_path)
    assert cfg.robot.arms[0].home_std == 0.1
    assert cfg.robot.arms[0].joints == composed(only(ONE_ARM), tmp_path).robot.arms[0].joints


GENSIM2_INFO = {
    "scale": 0.5,
    "keypoints": {"articulated_object_head": [0.0, 0.0, 0.0]},
    "joint_position_range": [0.0, 0.1],
}


def test_a_file_of_gensim2_takes_head_scale_and_start_of_the_info_file_of_its_object(tmp_path):
    made = generated("drawer", 3)
    folder = tmp_path / "1"
    folder.mkdir()
    (folder / "mobility.urdf").write_text(made.model.to_urdf())
    part = made.articulation.part("drawer")
    joint, child = made.model.joints[part.joint], made.model.joints[part.joint].child
    shape = made.model.links[child].collisions[0]
    head = part.keypoint("articulated_object_head").xyz + np.array([0.0, 0.02, 0.0])
    keypoints = {"articulated_object_head": (shape.T_link_shape.inverse() @ head).tolist()}
    info = {**GENSIM2_INFO, "keypoints": keypoints}
    (folder / "info.json").write_text(json.dumps(info))
    item = only(DATA.parent / "peer_settings" / "gensim2_open.yaml", object=str(folder), skill="open")
    assert [line.text for line in item.lines if line.path == "object"] == [f"with the keypoints of {folder}/info.json"]
    cfg = composed(item, tmp_path)
    assert cfg.object.scale == 0.5
    assert cfg.robot.name == "franka_gensim2"
    (led,) = cfg.skills[-1].strategies
    assert led.name == "led"
    assert led.planner_setting.follow_joint is not None
    stated = cfg.skills[-1].planner_setting.constraint_list
    for term, other in zip(led.planner_setting.constraint_list, stated, strict=True):
        assert term.tolerance == (0.5 if isinstance(term, AxisAngle) else other.tolerance)
    assert cfg.task.openness[0].range == [0.05, 0.05]
    asset = load_instance(cfg.object)
    (path,) = [entry["obj_info_path"] for entry in yaml.safe_load(item.text)["skills"] if "obj_info_path" in entry]
    found = with_info_file(next(iter(asset.articulation.parts.values())), asset, path)
    np.testing.assert_allclose(found.keypoint("articulated_object_head").xyz, 0.5 * head, atol=1e-6)
    assert joint.kind == "prismatic"


def test_a_lever_that_fingers_cannot_hold_does_not_turn_in_the_hand():
    scene = PeerObject("object", "faucet")
    assert scene.turns_in_hand()
    articulation = scene.asset.articulation
    parts = {
        name: replace(part, handle=replace(part.handle, type=HandleType.none))
        for name, part in articulation.parts.items()
    }
    vars(scene)["assets"] = [replace(scene.asset, articulation=replace(articulation, parts=parts))]
    assert not scene.turns_in_hand()


class Shallow(PutInto):
    """A drawer that nothing fits into."""

    height_m = 0.03


def test_what_fits_into_no_drawer_is_said_so_and_a_deep_top_is_used_near_its_front():
    chest = PeerObject("chest", "drawer_cabinet")
    can = PeerObject("thing", "can")
    (inside,) = [name for name, region in chest.asset.regions.items() if region.part == "drawer"]
    assert fit_item(can, Shallow(chest, inside), is_closed=False) is None
    assert can.category == "can"
    top = PutInto(chest, "top")
    depth_m = min(float(asset.regions["top"].size[0]) for asset in chest.assets)
    assert top.near_front()["center_m"] == [round(depth_m / 2 - 0.1, 3), 0.0]
    assert PutInto(chest, inside).near_front() == {}


@pytest.mark.parametrize(
    ("stated", "skills", "ranges", "said"),
    [
        (
            [0.15, 0.2],
            ("pick", "place", "close"),
            [[0.15, 0.2]],
            "read as the start of drawer, [0.15, 0.2] from closed",
        ),
        ([0.05, 0.1], ("pick", "place"), [[0.05, 0.1]], "read as the start of drawer, [0.05, 0.1] from closed"),
        (None, ("pick", "place"), [], None),
        (
            None,
            ("pick", "place", "close"),
            [[0.188, 0.21]],
            "the start of drawer, [0.188, 0.21] from closed, so that a hand can reach in",
        ),
    ],
)
def test_a_drawer_that_nothing_fits_into_starts_as_the_file_states(stated, skills, ranges, said, tmp_path, monkeypatch):
    monkeypatch.setattr(PutInto, "height_m", Shallow.height_m)
    things = {"pick": ["milk"], "place": ["milk", "desk"], "close": ["desk"]}
    desk = {"name": "desk", "category": "nightstand"} | ({} if stated is None else {"joint_position_range": stated})
    chain = [{"franka": [{"left": [{"name": name, "objects": things[name]} for name in skills]}]}]
    entry = {"objects": [desk, {"name": "milk", "category": "milk_carton"}], "skills": chain}
    item = only(written({"tasks": [{"robots": [{"name": "franka"}], **entry}]}, tmp_path))
    assert any(text.endswith("it is put on top") for text in texts(item))
    made = yaml.safe_load(item.text)
    assert [each["range"] for each in made["task"].get("openness", [])] == ranges
    about = [text for text in texts(item) if "the start of drawer" in text]
    assert about == ([] if said is None else [said])
    assert ("instances" in item.text) == (stated is None and bool(ranges))


@pytest.mark.parametrize(
    ("threshold", "said"),
    [
        (9.0, r"never reached: from its start, door of oven opens by [\d.]+ to [\d.]+ rad more at most"),
        (
            1.7,
            r"not reached by all instances: from its start, door of oven opens by 1\.6\d* to 1\.9\d* rad more at most",
        ),
    ],
)
def test_a_goal_that_no_part_or_not_every_one_reaches_is_said(threshold, said, tmp_path):
    item = open_microwave(threshold, tmp_path)
    assert [text for text in texts(item) if re.fullmatch(said, text)]


def test_a_goal_that_every_part_reaches_is_not_mentioned(tmp_path):
    assert not any("reached" in text for text in texts(open_microwave(1.0, tmp_path)))


def open_microwave(threshold, folder):
    skill = {"name": "open", "objects": ["oven"], "planner_setting": {"success_threshold": threshold}}
    entry = {"objects": [{"name": "oven", "category": "microwave"}], "skills": [{"franka": [{"left": [skill]}]}]}
    return only(written({"tasks": [{"robots": [{"name": "franka"}], **entry}]}, folder))
