"""Forged records with renewed checksums: `unlatch check` names what is wrong, or its replay does."""

import re
from collections.abc import Callable, Iterable, Iterator
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from unlatch.objects.config import ObjectCfg
from unlatch.simcore.errors import AssetError
from unlatch.simcore.recording.check import check_dataset
from unlatch.simcore.recording.data_set import DataSet
from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.simcore.rng import episode_seed
from unlatch.workflows.checks import criteria_source
from unlatch.workflows.checks.criteria_source import check_data_set
from unlatch.workflows.commands.check import evaluate_command as evaluate_main
from unlatch.workflows.commands.check import replay_problems
from unlatch.workflows.commands.collect import collect_command as collect_main
from unlatch.workflows.runs.recorded_config import config_of
from unlatch.workflows.runs.runner import EpisodeRunner

pytestmark = pytest.mark.integration

pytest.importorskip("gymnasium")

Forge = Callable[[EpisodeRecord], None]
ROBOT = "robots.franka_panda.left"
ACTIONS = "actions.franka_panda.left"
SETS = {
    "opened": ["task=open_microwave", "randomization=light", "seed=7"],
    "closed": ["object=refrigerator", "skill=close", "seed=2"],
    "evaluated": ["task=close_drawer", "policy=random", "task.max_duration_s=6"],
    "placed": ["task=place_can"],
    "nudged": ["task=close_drawer", "disturb=strong", "disturb.nudge_probability=1", "replan=1"],
    "two_arms": ["task=open_pot_held"],
    "one_of_two_arms": ["task=open_drawer", "robot=baxter"],
}
"""Arguments of one episode each: a stated setting; a derived one, after a search for a layout; a policy; a can
that is carried; a drawer that is pushed before the hand is there, so that the skill is planned anew; two arms;
two arms of which one has nothing to do."""


def of_set(name: str, *row: Any) -> Any:
    """Returns a row of a table of tests; those of the sets with two arms are slow: to make one takes four seconds."""
    return pytest.param(name, *row, marks=pytest.mark.slow if "two_arms" in name else ())


class MadeOnce(dict[str, DataSet]):
    """The sets by name, each of which is made for all workers when the first test asks for it."""

    def __init__(self, made_once: Callable[..., Path]) -> None:
        self.made_once = made_once

    def __missing__(self, name: str) -> DataSet:
        main = evaluate_main if name == "evaluated" else collect_main
        words = [*SETS[name], "episodes=1", "executor=serial", "pictures=0"]

        def make(folder: Path) -> None:
            assert main([*words, f"out={folder / 'set'}"]) == 0

        self[name] = DataSet.open(self.made_once(f"set {words}", make) / "set")
        assert self[name].read(0).success == (name != "evaluated")
        return self[name]


@pytest.fixture(scope="session")
def sets(made_once) -> MadeOnce:
    return MadeOnce(made_once)


@pytest.fixture
def find_problems(sets, write_forged) -> Callable[[str, Forge], list[str]]:
    """Forges episode 0 of a set, writes it with checksums of its own, and checks it."""

    def find(name: str, forge: Forge) -> list[str]:
        record = deepcopy(sets[name].read(0))
        forge(record)
        return [str(problem) for problem in check_data_set(write_forged(sets[name], record))]

    return find


def change(where: str, alter: Callable[[Any, Any], object]) -> Forge:
    """Alters the map or list that holds a value of a record (`goal.conditions.0.value`), given its key there."""

    def forge(record: EpisodeRecord) -> None:
        *path, last = [int(word) if word.isdigit() else word for word in where.split(".")]
        place: Any = vars(record)
        for word in path:
            place = place[word]
        alter(place, last)

    return forge


def put(where: str, value: Any) -> Forge:
    """Replaces a value of a record."""
    return change(where, lambda place, key: place.__setitem__(key, value))


def increase(where: str) -> Forge:
    """Adds 1 to an integer of a record."""
    return change(where, lambda place, key: place.__setitem__(key, place[key] + 1))


def drop(where: str) -> Forge:
    """Removes a key of a record, or an entry of a list."""
    return change(where, lambda place, key: place.pop(key))


def edit(pattern: str, alter: Callable[[np.ndarray], np.ndarray]) -> Forge:
    """Replaces every array whose key has a text by what is made of it."""

    def forge(record: EpisodeRecord) -> None:
        found = {key: alter(array.copy()) for key, array in record.arrays.items() if pattern in key}
        assert found
        record.arrays.update(found)

    return forge


def scale(pattern: str, factor: float) -> Forge:
    return edit(pattern, lambda array: array * factor)


def add(key: str, frame: int, value: float) -> Forge:
    """Adds a value to one frame of an array."""

    def forge(record: EpisodeRecord) -> None:
        array = record.arrays[key].copy()
        array[frame, ...] += value
        record.arrays[key] = array

    return forge


def add_array(key: str, like: str, value: float = 0.0) -> Forge:
    """Adds an array with the rows of another one."""
    return lambda record: record.arrays.update({key: np.full_like(record.arrays[like], value)})


def drop_array(key: str) -> Forge:
    return lambda record: record.arrays.pop(key)


def add_event(**event: Any) -> Forge:
    return lambda record: record.events.append(event)


def both(*forgeries: Forge) -> Forge:
    def forge(record: EpisodeRecord) -> None:
        for each in forgeries:
            each(record)

    return forge


def claim(code: str | None, **evidence: Any) -> Forge:
    return both(put("success", code is None), put("code", code), put("evidence", evidence))


def add_labels(record: EpisodeRecord) -> None:
    """Adds labels that equal the actions, in a set in which nothing is disturbed."""
    for key in [key for key in record.arrays if key.startswith(ACTIONS)]:
        record.arrays[key.replace("actions.", "labels.", 1)] = record.arrays[key].copy()
    record.arrays["labels.franka_panda.left.valid"] = np.ones(record.n_actions, dtype=bool)


def rename_robot(record: EpisodeRecord) -> None:
    """Gives all arrays the name of another robot."""
    record.arrays = {key.replace("franka_panda", "ur5"): array for key, array in record.arrays.items()}


def end_later(number: int) -> Forge:
    """Lets a skill end a frame later, with the position of its joint there."""

    def forge(record: EpisodeRecord) -> None:
        entry = record.skills[number]
        entry["frame_end"] += 1
        s = record.arrays[f"objects.{entry['object']}.joint_positions"]
        entry["s_end"] = float(s[entry["frame_end"], entry["joint_index"]])

    return forge


def move_by_one_digit(record: EpisodeRecord) -> None:
    drawn = record.layout["objects"]["microwave"]["drawn"]
    drawn["x_m"] = float(np.nextafter(drawn["x_m"], 9.0))


def add_oven(record: EpisodeRecord) -> None:
    record.layout["objects"]["oven"] = record.layout["objects"]["microwave"]


def begin_late(record: EpisodeRecord) -> None:
    record.skills[0]["frame_start"] = 9
    record.arrays["skills.index"] = np.where(np.arange(record.n_actions + 1) > 9, 0, -1)


def move_action(place: int, source: int) -> Forge:
    """Puts the action of another row in place of one, with its pose and its gripper target."""

    def copy_row(array: np.ndarray) -> np.ndarray:
        array[place] = array[source]
        return array

    def forge(record: EpisodeRecord) -> None:
        edit("actions.", copy_row)(record)
        target = record.arrays[f"{ROBOT}.gripper_target"].copy()
        target[1:] = record.arrays[f"{ACTIONS}.gripper_target"]
        record.arrays[f"{ROBOT}.gripper_target"] = target

    return forge


def change_outlines(alter: Callable[[dict[str, Any]], object]) -> Forge:
    """Alters every condition that has an outline."""

    def forge(record: EpisodeRecord) -> None:
        for part in (record.goal, *record.skills):
            for condition in part.get("conditions", []):
                if "outline" in condition:
                    alter(condition)

    return forge


def put_higher(condition: dict[str, Any]) -> None:
    condition["outline"] = [[x, y, z + 0.005, radius] for x, y, z, radius in condition["outline"]]


PREPLAN = {"chosen": 0, "counts": {}, "failures": [], "margin_rad": 1.0, "strategies": {}, "tried": 1}
FORGED_VALUES = {
    "opened": [
        ("goal.conditions.0.value", 0.05, "0.7 by the configuration"),
        ("skills.0.contact_force_threshold_n", 1e6, ""),
        ("skills.0.finger_force_limit_n", 1e6, ""),
        ("skills.0.process_valid_enabled", False, ""),
        ("skills.0.collision_valid_enabled", False, "True by the configuration"),
        ("skills.0.finger_contact_required", False, ""),
        ("skills.0.holds", True, "nothing by the configuration"),
        ("skills.0.broken_off", True, "False by the configuration"),
        ("skills.0.grip_force_n", 300.0, ""),
        ("skills.0.language.0", "dance", ""),
        ("skills.0.arm", "left", "nothing by the configuration"),  # another record may have this key
        ("assets.microwave", "0" * 64, ""),
        ("layout.instances.microwave.instance", "5", ""),
        ("layout.instances.microwave.rests_on", "back", ""),
        ("layout.instances.microwave.parameters.door_mass_kg", 0.1, ""),
        ("layout.objects.microwave.position.0", 0.9, ""),
        ("layout.objects.microwave.joint_positions.lid", 0.0, "nothing by the configuration"),
        ("layout.objects.microwave.rotation", [[1.0]], "[["),
        ("layout.q_home.left.0", 0.3, ""),
        ("layout.preplan", PREPLAN, ""),
        ("seed", 1, ""),
        ("language", ["dance"], ""),
        ("goal.reached", True, "nothing by the configuration"),
        ("timings_ms.preplan", 1.0, "nothing by the configuration"),
        ("applied.views", [{"body": "table", "name": "x"}], ""),
    ],
    "closed": [
        ("skills.1.s_closed", -0.3, ""),
        ("skills.1.success_threshold", 1.0, ""),
        ("skills.1.success_mode", "dis_to_init", ""),
        ("skills.1.joint_index", 1, "0 by the configuration"),
        ("skills.1.s0", -1.5, ""),
        ("skills.1.link", "body", ""),
        ("skills.1.strategy", "wish", "one of "),
        ("applied.rules", [], "nothing by the configuration"),
    ],
    "evaluated": [
        ("goal.hold_frames", 1, "15 by the configuration"),
        ("goal.chain_length", 0, "1 by the configuration"),
        ("skills.0.frame_end", 40, "181"),
    ],
    "nudged": [
        ("skills.0.broken_off", False, "True by the configuration"),
        ("skills.0.code", "bored", "one of "),
        ("skills.0.success", True, "False by the configuration"),
    ],
    "two_arms": [("skills.2.stage", 0, "1 by the configuration")],
}
FORGED_ALONE = [("skills.1.part", "door_2", ""), ("layout.preplan.counts", {"layout: invalid_layout": 2}, "")]
"""Values of `closed` that decide what others are compared with."""
FORGED = [*FORGED_VALUES.items(), *(("closed", [row]) for row in FORGED_ALONE)]
"""Data sets, and what is forged at once: a value, what is put there, and the beginning of what the check expects."""

WRONG_TYPES = {
    "skills.0.s_end": ("far", "number or null"),
    "skills.0.frame_start": (True, "integer or null"),
    "skills.0.success_threshold": ("nan", "number or null"),
    "skills.0.frame_end": (10**30, "integer"),
    "layout.objects": ([], "map of map"),
    "goal.conditions": (None, "list of map"),
}

UNKNOWN_KEYS = {
    "opened": [
        *("layout", "layout.objects.microwave", "skills.0", "skills.0.plan", "goal", "settle", "timings_ms", "applied")
    ],
    "closed": ["layout.preplan"],
}
"""By data set: the maps that get a key which no record has."""

FORGERIES: dict[str, list[tuple[Any, ...]]] = {
    "opened": [
        (put("goal.conditions", []), "goal.conditions is [] in the record, expected [{'object'"),
        (add(f"{ROBOT}.joint_positions", 40, 1e-3), f"'{ROBOT}.ee_position' is "),
        (add(f"{ROBOT}.ee_position", 40, 1e-4), f"'{ROBOT}.ee_position' is "),
        (add(f"{ACTIONS}.joint_targets", 40, 1e-3), f"'{ACTIONS}.ee_target_position' is "),
        (add(f"{ROBOT}.gripper_opening", 40, 1e-3), f"'{ROBOT}.gripper_opening' is "),
        (add(f"{ACTIONS}.gripper_target", 40, 1e-3), f"'{ROBOT}.gripper_target' is "),
        (add("objects.microwave.joint_positions", 40, 1e-3), "'keypoints.microwave.door."),
        (add("keypoints.microwave.door.articulated_object_head", 40, 1e-4), "'keypoints.microwave.door."),
        (move_action(-4, 60), "success is True (code None) in the record, recomputed False (code 'unsettled', "),
        (
            both(put("settle.max_change", 2.0), put("settle.max_changes", {"microwave.0": 2.0})),
            "settle.max_change is 2.0 in the record, expected 0.02 by the configuration",
        ),
        (lambda record: record.settle.update(frame_start=record.settle["frame_end"] - 1), "settle.frame_start"),
        (begin_late, "skills[0].frame_start is 9 in the record, expected 5 by the configuration"),
        (scale("time", 0.5), "'time' is 0.0166666667 at frame 1, expected 0.0333333333"),
        (scale("speeds.", 0.5), "'speeds.franka_panda.max' is "),
        (scale("force_max_n", 0.2), "'contacts.franka_panda.left."),
        (claim("not_reached"), "success is False (code 'not_reached') in"),
        (claim("timeout"), "success is False (code 'timeout') in"),
        (claim("error"), "it was stopped with code 'error', but every rule of success holds at its end"),
        (
            add_array("actions.push", "actions.hold", 8.0),
            "array 'actions.push' is in the record, expected no such array by the configuration",
        ),
        (add_labels, "array 'labels.franka_panda.left.ee_target_position' is in the record, expected no such"),
        (add_array("sensors.eye.position", "time"), "array 'sensors.eye.position' is in the record, expected"),
        (add_array("speeds.oven.max", "speeds.microwave.max"), "array 'speeds.oven.max' is in the record"),
        (drop_array(f"{ROBOT}.gripper_joint_positions"), f"array '{ROBOT}.gripper_joint_positions' is missing"),
        (
            drop_array("keypoints.microwave.door.articulated_object_head"),
            "array 'keypoints.microwave.door.articulated_object_head' is missing, expected by the configuration",
        ),
        (
            both(increase("seed"), move_by_one_digit, add_oven),
            "seed is ",
            "layout.objects.microwave.drawn.x_m is ",
            "layout.objects.oven is {",
        ),
        (
            both(drop("skills.0.refused"), drop("skills.0.plan.segments"), add_event(event="takeover", wish=1)),
            "skills[0].refused is missing, expected list",
            "skills[0].plan.segments is missing, expected list of map",
            "events[0].wish is not a key of this format",
        ),
        (rename_robot, "The record is of robot ur5, the data set of robot franka_panda."),
        (add_event(event="grasp_kept", frame=9), "events are ['grasp_kept'] in the record, expected []"),
        (add_event(event="answer_lost", frame=9), "events are ['answer_lost'] in the record, expected []"),
        (
            add_event(event="takeover", frame=9, policy="x", reason="as drawn"),
            "array 'labels.franka_panda.left.joint_targets' is missing, expected by the configuration",
        ),
        (end_later(0), "skills[0].frame_end is "),
        (add("skills.phase", 40, 1), "'skills.phase' is "),
        (add("skills.index", 40, 1), "'skills.index' is "),
        (add("skills.command_index", 100, -1), "'skills.command_index' "),
        (edit("skills.phase", lambda phase: np.where(phase == 7, 6, phase)), "skills[0].frame_end is "),
        (
            claim("motion_blocked"),
            "code is 'motion_blocked' in the record, but the last skill ended before the episode, at frame ",
        ),
        (claim("path_infeasible"), "code is 'path_infeasible' in the record, but each skill had a plan"),
        (claim("invalid_layout"), "code is 'invalid_layout' in the record, but skills began"),
        (put("settle.max_changes", {}), "settle.max_changes.microwave.0 is nothing in the record, expected 0."),
        (put("evidence.message", "luck"), "evidence has the keys message, expected none for a success"),
    ],
    "closed": [
        (add("objects.refrigerator.root_position", 40, 1e-3), "'objects.refrigerator.root_position' is "),
        (
            lambda record: record.skills.pop(),
            "success is True (code None) in the record, recomputed False (code 'not_reached', ",
        ),
        (lambda record: record.skills.reverse(), "skills[0] is skill 1 (close) of the chain, expected 0 (artpreplan"),
        (
            both(put("layout.preplan.tried", 3), put("layout.preplan.chosen", 2)),
            "layout.objects.refrigerator.position[0] is ",
        ),
        (claim("plan_infeasible"), "it was stopped with code 'plan_infeasible', but every rule of success"),
        (
            edit("actions.hold", lambda hold: hold[:, :1]),
            "'actions.hold' has rows of shape [1], expected [2] by the configuration",
        ),
        (lambda record: record.skills[0].update(plan=record.skills[1]["plan"]), "skills[0].plan is {"),
        (put("layout.preplan.tried", 99), "layout.preplan.tried is 99, expected 1 to 16 by the configuration"),
    ],
    "evaluated": [
        (edit("validity.process_valid", np.ones_like), "skill 0 (close) has validity.process_valid=True at frame "),
        (claim(None), "success is True (code None) in the record, "),
        (claim("not_reached"), "code is 'not_reached' in the record, recomputed '"),
        (
            both(put("goal.reached", True), put("goal.reached_frame", 30)),
            "goal.reached and goal.reached_frame are (True, 30) in the record, recomputed (False, None)",
        ),
        (add("skills.command_index", 30, 1), "'skills.phase' or '.command_index' is not idle at frame 30"),
        (increase("evidence.frame"), "evidence.frame is "),
        (increase("skills.0.first_violation.physics_step"), "skills[0].first_violation.time_s is "),
        (drop("goal.hold_frames"), "goal.hold_frames is nothing in the record"),
        (put("evidence.time_s", 0.1), "evidence.frame is "),
        (put("skills.0.first_violation.force_n", 1e4), "skill 0 (close) has first_violation.force_n=10000.0"),
        (put("skills.0.first_violation.view", "wish"), "skill 0 (close) has first_violation.view='wish'"),
    ],
    "placed": [
        (change_outlines(put_higher), "skills[1].conditions[0].outline[0][2] is 0.005"),
        (drop("goal.conditions.0.outline"), "goal.conditions[0].outline is nothing in the record, expected [["),
    ],
    "nudged": [
        (drop_array("actions.push"), "array 'actions.push' is missing"),
        (add("labels.franka_panda.left.gripper_target", 40, 1e-3), "'labels.franka_panda.left.gripper_target'"),
        (end_later(0), "skills[0].frame_end is "),
        (put("skills.1.attempt", 2), "skills[1] is skill 0 (close) of the chain, expected no further entry"),
    ],
    "two_arms": [
        (end_later(2), "skills[2].frame_end is "),
        (add("skills.left.phase", 150, 1), "'skills.left.phase' is "),
        (add("skills.right.index", 200, 1), "'skills.right.index' is "),
    ],
}
"""By data set: forgeries of several values or of arrays, and the beginnings of what `check` says of each."""


def with_indices(where: str) -> str:
    """Returns a place as a message names it: `goal.conditions[0].value`."""
    return re.sub(r"\.(\d+)", r"[\1]", where)


def assert_named(problems: Iterable[str], *wanted: str) -> None:
    """Asserts that for each text a problem of episode 0 begins with it."""
    told = tuple(problems)
    assert [text for text in wanted if not any(said.startswith(f"Episode 0: {text}") for said in told)] == [], told


@pytest.mark.parametrize(("of", "rows"), [of_set(*row) for row in FORGED])
def test_check_names_every_forged_value_and_what_is_expected(find_problems, of, rows):
    problems = find_problems(of, both(*(put(where, value) for where, value, _ in rows)))
    said = (f"{with_indices(where)} is {value!r} in the record, expected {wanted}" for where, value, wanted in rows)
    assert_named(problems, *said)


def test_check_names_every_value_of_a_wrong_type(find_problems):
    problems = find_problems("opened", both(*(put(where, value) for where, (value, _) in WRONG_TYPES.items())))
    said = (f"{with_indices(where)} is {value!r}, expected {wanted}" for where, (value, wanted) in WRONG_TYPES.items())
    assert_named(problems, *said)


@pytest.mark.parametrize("of", UNKNOWN_KEYS)
def test_check_names_every_key_that_no_record_has(find_problems, of):
    places = UNKNOWN_KEYS[of]
    problems = find_problems(of, both(*(put(f"{where}.wish", 1) for where in places)))
    assert_named(problems, *(f"{with_indices(where)}.wish is not a key of this format" for where in places))


@pytest.mark.parametrize("of", [of_set(name) for name in SETS])
def test_an_honest_record_has_no_problem(sets, of):
    assert check_data_set(sets[of]) == []


@pytest.mark.parametrize(
    ("of", "forge", "said"), [of_set(of, forge, said) for of, rows in FORGERIES.items() for forge, *said in rows]
)
def test_check_names_a_forgery(find_problems, of, forge, said):
    assert_named(find_problems(of, forge), *said)


def empty_arrays(record: EpisodeRecord) -> None:
    record.arrays = {key: array[:0] for key, array in record.arrays.items()}


def flatten_arrays(record: EpisodeRecord) -> None:
    record.arrays = {key: array.reshape(-1) for key, array in record.arrays.items()}


def fill_arrays(value: float) -> Forge:
    """Writes one value into all arrays of floats."""

    def forge(record: EpisodeRecord) -> None:
        for key, array in record.arrays.items():
            if array.dtype.kind == "f":
                record.arrays[key] = np.full_like(array, value)

    return forge


MISFITS = {
    "arrays of another robot": rename_robot,
    "no arrays": lambda record: record.arrays.clear(),
    "no rows": empty_arrays,
    "rows without a shape": flatten_arrays,
    "values that are not finite": fill_arrays(np.nan),
    "huge values": fill_arrays(1e38),
    "no skills": put("skills", []),
    "a skill of another type": put("skills", [None]),
    "a skill without keys": put("skills", [{}]),
    "no layout": put("layout", {}),
    "no goal": put("goal", {}),
    "a settling beyond the end": put("settle.frame_start", 1 << 40),
    "a skill that ends before it begins": put("skills.0.frame_end", -1),
    "a skill on an object that is not there": put("skills.0.object", "oven"),
    "a joint that is not there": put("skills.0.joint_index", 99),
    "a place in the chain that is not there": put("skills.0.entry", 99),
    "a success with a code": put("code", "slipped"),
    "an unknown code": both(put("success", False), put("code", "bored")),
    "a number beyond all floats": put("skills.0.s_end", 10**400),
    "names that are no names": lambda record: record.arrays.update({"robots.a.b.joint_positions": np.zeros(3)}),
}
"""Records that cannot be judged at all."""


@pytest.mark.parametrize("name", MISFITS)
def test_a_record_that_cannot_be_judged_is_a_problem_of_its_own_and_the_others_are_checked(sets, write_forged, name):
    bad = deepcopy(sets["opened"].read(0))
    MISFITS[name](bad)
    other = replace(deepcopy(sets["opened"].read(0)), number=1, seed=1)
    found = check_data_set(write_forged(sets["opened"], bad, other))
    assert {problem.number for problem in found} == {0, 1}
    assert "Episode 1: seed is 1 in the record, expected" in " ".join(map(str, found))


@pytest.mark.slow
def test_a_record_that_cannot_be_replayed_does_not_end_the_command(sets, write_forged, run_command):
    honest, bad = sets["opened"].read(0), replace(deepcopy(sets["opened"].read(0)), number=1)
    del bad.arrays[f"{ACTIONS}.joint_targets"]
    folder = write_forged(sets["opened"], honest, bad).path
    code, out, _ = run_command("check", folder, "replay=true", "workers=1")
    said = out.splitlines()
    assert code == 1
    assert any(line.startswith(f"{folder}: Episode 1: it cannot be replayed: KeyError: 'actions.") for line in said)
    assert not any("Episode 0" in line for line in said)
    assert [line for line in said if line.startswith("not compared (wall times): ")] == [
        "not compared (wall times): timings_ms"
    ]


def test_numbers_of_another_machine_may_differ_in_their_last_digits_and_integers_may_not(sets, tmp_path):
    info = {**sets["opened"].info, "host": "elsewhere"}
    found = []
    for place, forge in enumerate((move_by_one_digit, increase("seed"))):
        record = deepcopy(sets["opened"].read(0))
        forge(record)
        with DataSet.create_or_resume(tmp_path / str(place), header=sets["opened"].header, info=info) as data_set:
            assert data_set.write(record)
        found.append([str(problem) for problem in check_data_set(data_set)])
    assert found[0] == []
    assert found[1][0].startswith("Episode 0: seed is ")


def collide_while_stepping_back(record: EpisodeRecord) -> None:
    """Ends the episode four frames after its first attempt was broken off, by a forbidden contact in the last one."""
    last = record.skills[0]["frame_end"] + 4
    n_states = record.n_actions + 1
    record.arrays = {
        key: array[: last + 1 if len(array) == n_states else last].copy() for key, array in record.arrays.items()
    }
    record.arrays["contacts.franka_panda.environment.force_max_n"][-1] = 50.0
    record.arrays["validity.collision_valid"][-1] = False
    del record.skills[1:]
    record.settle = None
    time_s = float(record.arrays["time"][last])
    claim("collision", message="The hand hit the table", time_s=time_s, frame=last)(record)


def test_an_episode_that_ended_while_a_hand_stepped_back_has_no_problem(find_problems):
    assert find_problems("nudged", both(collide_while_stepping_back, put("skills.0.success", False))) == []


def test_an_older_record_without_outlines_has_no_problem(find_problems):
    assert find_problems("placed", change_outlines(lambda condition: condition.pop("outline"))) == []


def test_objects_that_are_gone_are_one_problem_for_all_episodes(sets, tmp_path, monkeypatch):
    def find_nothing(cfg: ObjectCfg) -> None:
        raise AssetError("The files of 'microwave' are gone. Bring them back.")

    monkeypatch.setattr(criteria_source, "load_instance", find_nothing)
    with DataSet.create_or_resume(tmp_path / "set", header=sets["opened"].header) as found:
        for number in range(3):
            seed = episode_seed(7, number)
            assert found.write(replace(sets["opened"].read(0), number=number, seed=seed))
    assert [str(problem) for problem in check_data_set(found)] == [
        "Episodes 0 to 2: its criteria cannot be derived: The files of 'microwave' are gone. Bring them back."
    ]


def test_a_skill_that_is_not_installed_is_a_problem_and_its_record_is_judged_by_what_it_states(sets, tmp_path):
    header = deepcopy(sets["opened"].header)
    header["config"]["skills"][0]["name"] = "levitate"
    found = {}
    for name, forge in (("honest", put("skills.0.name", "levitate")), ("forged", claim("not_reached"))):
        record = sets["opened"].read(0)
        both(put("skills.0.name", "levitate"), forge)(record)
        with DataSet.create_or_resume(tmp_path / name, header=header) as data_set:
            assert data_set.write(record)
        found[name] = [str(problem) for problem in check_data_set(data_set)]
    (underived,) = found["honest"]
    for said in (underived, found["forged"][0]):
        assert said.startswith("dataset.json: the criteria of its episodes cannot be derived: Data set '")
        assert "was made with a plugin that is not installed here: skills[0].name: Unknown skill 'levitate'" in said
    assert found["forged"][1].startswith("Episode 0: success is False (code 'not_reached') in the record, recomputed")


def test_a_configuration_that_cannot_be_read_is_one_problem_of_the_set(sets, tmp_path):
    header = deepcopy(sets["opened"].header)
    header["config"]["skills"][0]["wish"] = 1
    with DataSet.create_or_resume(tmp_path / "set", header=header) as data_set:
        assert data_set.write(sets["opened"].read(0))
    (problem,) = check_data_set(data_set)
    assert str(problem).startswith("dataset.json: the criteria of its episodes cannot be derived: The configuration of")


def test_a_record_alone_cannot_show_a_goal_that_was_made_easier(sets, tmp_path):
    record = sets["opened"].read(0)
    put("goal.conditions.0.value", 0.05)(record)
    with DataSet.create_or_resume(tmp_path / "set", header=sets["opened"].header) as forged:
        forged.write(record)
    assert check_dataset(forged.path) == []
    assert len(check_data_set(forged)) == 1


def move_the_door(record: EpisodeRecord) -> None:
    """Puts the door where it is one frame later, with its keypoints, while it moves fastest."""
    door = "objects.microwave.joint_positions"
    frame = int(np.argmax(np.abs(np.diff(record.arrays[door][:, 0]))))
    for key in [door, *(key for key in record.arrays if key.startswith("keypoints."))]:
        array = record.arrays[key].copy()
        array[frame] = array[frame + 1]
        record.arrays[key] = array


def change_a_drawn_value(record: EpisodeRecord) -> None:
    """Changes a value that the randomization wrote at the reset."""
    firing = next(item for item in record.applied["firings"] if any(item[2]))
    firing[2] = [0.5 * value for value in firing[2]]


PHYSICAL_FORGERIES = {
    "a door that moved by itself": (move_the_door, "'keypoints.microwave.door."),
    "an action with its pose": (move_action(60, 59), f"'{ROBOT}.joint_positions' is "),
    "contact forces that are lower": (scale("contacts.", 0.5), "'contacts.franka_panda.left.fingers.force_max_n' is "),
    "motors that worked less": (scale("joint_efforts", 0.5), f"'{ROBOT}.joint_efforts' is "),
    "slower joints": (both(scale("joint_velocities", 0.5), scale("speeds.", 0.5)), f"'{ROBOT}.joint_velocities' is "),
    "a drawn value": (change_a_drawn_value, "applied.firings["),
    "a hand that touched another link": (
        put("skills.0.zero_force_contacts", 99),
        "skills[0].zero_force_contacts is 99 in the record, expected ",
    ),
}
"""What only physics can tell: `check` finds nothing, `check replay=true` does."""


@pytest.fixture(scope="session")
def runner(sets) -> Iterator[EpisodeRunner]:
    with EpisodeRunner(config_of(sets["opened"])) as opened:
        yield opened


FAST = "an action with its pose"


@pytest.mark.parametrize(
    "name", [FAST, *(pytest.param(name, marks=pytest.mark.slow) for name in PHYSICAL_FORGERIES if name != FAST)]
)
def test_only_a_replay_finds_what_physics_decides(sets, find_problems, runner, tmp_path, name):
    forge, said = PHYSICAL_FORGERIES[name]
    assert find_problems("opened", forge) == []
    record = DataSet.open(tmp_path / "set").read(0)
    problems = list(replay_problems(runner, record))
    assert any(problem.startswith(said) for problem in problems), problems


@pytest.mark.slow
def test_a_replay_from_the_configuration_reproduces_an_honest_record(sets, runner):
    assert sets["opened"].read(0).applied["firings"]
    assert list(replay_problems(runner, sets["opened"].read(0))) == []


def test_a_skill_that_begins_in_the_last_state_and_has_no_plan_is_replayed_without_a_problem(tmp_path):
    out_of_reach = ["task=open_microwave", "task.regions.0.center_m=[1.6,0.0]"]
    assert collect_main([*out_of_reach, "episodes=1", "executor=serial", "pictures=0", f"out={tmp_path / 'set'}"]) == 0
    data_set = DataSet.open(tmp_path / "set")
    record = data_set.read(0)
    assert (record.code, record.skills[0]["frame_start"]) == ("plan_infeasible", record.n_actions)
    with EpisodeRunner(config_of(data_set)) as runner:
        assert list(replay_problems(runner, record)) == []


@pytest.mark.slow
def test_the_command_replays_and_names_the_array_the_frame_and_both_values(sets, run_command, tmp_path):
    folder = sets["evaluated"].path
    code, out, _ = run_command("check", folder, "replay=true", "workers=1")
    assert (code, out.splitlines()[0]) == (
        0,
        f"{folder}: 1 episode, all whole, every verdict agrees, every replay is exact",
    )
    record, key = sets["evaluated"].read(0), "contacts.franka_panda.environment.force_max_n"
    add(key, 2, 7.0)(record)  # before the first skill, where nothing is judged
    info = {**sets["evaluated"].info, "host": "elsewhere"}
    with DataSet.create_or_resume(tmp_path / "set", header=sets["evaluated"].header, info=info) as forged:
        forged.write(record)
    assert run_command("check", forged.path)[0] == 0
    code, out, _ = run_command("check", forged.path, "replay=true", "workers=1")
    assert code == 1
    wanted, value = (array[key][2] for array in (sets["evaluated"].read(0).arrays, record.arrays))
    assert out.startswith(
        f"{forged.path}: Episode 0: '{key}' is {value:.9g} at frame 2, expected {wanted:.9g} by a replay of its "
        "actions. The data set was made with host elsewhere, here "
    )
