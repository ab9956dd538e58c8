"""Random forgeries of honest records: `unlatch check` finds each one, alone or with a replay.

A value of `episode.json` or of an array is changed, removed, added, moved or taken from another episode, and all
checksums are renewed. UNLATCH_FUZZ=2000 (`make fuzz`) makes so many forgeries; without it, a few. Both run every night.
"""

import copy
import os
import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pytest

from unlatch.simcore.recording.data_set import DataSet
from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.simcore.recording.episode_fields import EPISODE_FIELDS, PLAN_FIELDS
from unlatch.simcore.recording.episode_structure import CLOCK, PLANNER, sources
from unlatch.workflows.checks.criteria_source import check_data_set
from unlatch.workflows.commands.check import ReplayArraysJob
from unlatch.workflows.commands.check import evaluate_command as evaluate_main
from unlatch.workflows.commands.collect import collect_command as collect_main
from unlatch.workflows.runs.recorded_config import config_of
from unlatch.workflows.runs.replay import ReplayMode

pytest.importorskip("gymnasium")

pytestmark = [pytest.mark.slow, pytest.mark.heavy, pytest.mark.integration]

COUNT = int(os.environ.get("UNLATCH_FUZZ", "20"))
Array = np.ndarray
Rng = np.random.Generator
Forged = tuple[EpisodeRecord, str, bool]
"""A forged record, the place of the forgery (`skills[0].s_end` or the key of an array), and whether the value there has
the same form as before."""

SETS = {
    "opened": ["task=open_microwave", "randomization=light", "seed=7"],
    "closed": ["object=refrigerator", "skill=close", "seed=2"],
    "evaluated": ["task=close_drawer", "policy=random", "task.max_duration_s=2"],
    "placed": ["task=place_can"],
    "nudged": ["task=close_drawer", "disturb=strong", "disturb.nudge_probability=1", "replan=2"],
    "two_arms": ["task=open_pot_held"],
}
"""Arguments of two episodes each."""

TABLE_KEYS = set(re.findall(r"\w+", " ".join(place for place, _ in sources(EPISODE_FIELDS)))) | PLAN_FIELDS.keys()
"""Keys that a map has by its table, unlike the names of objects or joints."""
NOT_FOUND: dict[str, str] = {
    **{
        re.escape(place).replace(r"\[\]", r"\[\d+\]"): "`unlatch check` says itself that it does not compare it"
        for place, source in sources(EPISODE_FIELDS)
        if source in (CLOCK, PLANNER)
    },
    r"evidence\.(message|phase)": "words, and what the planner did at that moment",
    r"actions\..*\.joint_targets": "a motor at its limit moves an arm alike to targets that differ by a nanoradian",
    r"actions\.push": "a part that rests stays where it is under an effort below its friction",
    r"labels\..*\.ee_target": "poses follow from joints within 5e-6: the engine keeps the base in single precision",
    r"labels\..*\.valid": "no header says in which frames of a policy the planner was asked for labels",
    r"skills\.(\w+\.)?phase": "what a hand does on its way back after an attempt, and when a command follows another",
    r"skills\.(\w+\.)?command_index": "when a command of a skill follows another",
}
"""Places (regular expressions of their beginnings) at which a forgery need not be found, and why."""

ODD = [None, True, False, -1, 0, 7, 1 << 62, 1 << 70, 0.5, "x", "nan", [], {}, [1, 2], {"a": 1}]
NEW_KEYS = ["not_a_key", "link", "holds", "goes_home", "arm", "attempt", "code", "problem", "event", "max_changes"]


class Honest(NamedTuple):
    """The records of one data set."""

    data_set: DataSet
    records: list[EpisodeRecord]


def places(node: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yields the path of every value of a JSON tree."""
    for key, value in node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ():
        yield (*path, key)
        yield from places(value, (*path, key))


def follow(node: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        node = node[key]
    return node


def describe(path: tuple[Any, ...]) -> str:
    return "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in path).lstrip(".")


def choose(rng: Rng, items: Any) -> Any:
    items = list(items)
    return items[int(rng.integers(len(items)))]


def nudged(value: Any, rng: Rng) -> Any:
    """Returns a value of the same type that is a little different."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + choose(rng, [-1, 1, 1000, 1 << 31])
    if isinstance(value, float):
        return choose(rng, [float(np.nextafter(value, 9e9)), value + 1e-6, value * 1.01 + 1e-3, -value - 1.0])
    return f"{value}x" if isinstance(value, str) else choose(rng, ODD)


def forge_json(honest: EpisodeRecord, other: EpisodeRecord, rng: Rng) -> Forged:
    """Returns a copy of a record with a forgery in `episode.json`."""
    tree = copy.deepcopy(honest.to_json())
    first = choose(rng, [key for key in tree if key != "number"])  # each key of the file as often as any other
    path = choose(rng, [(first,), *(((first, *rest)) for rest in places(tree[first]))])
    parent, key = follow(tree, path[:-1]), path[-1]
    kind = choose(rng, ["nudge", "nudge", "nudge", "delete", "add", "type", "other", "swap"])
    before = type(parent[key])
    if kind == "delete" and len(path) > 1:
        del parent[key]
        return record_of(tree, honest.arrays), describe(path), key not in TABLE_KEYS
    elif kind == "add" and isinstance(parent[key], dict):
        new = choose(rng, [name for name in NEW_KEYS if name not in parent[key]])
        parent[key][new] = choose(rng, ODD)
        return record_of(tree, honest.arrays), describe((*path, new)), False
    elif kind == "add" and isinstance(parent[key], list):
        parent[key].append(copy.deepcopy(choose(rng, parent[key] or ODD)))
    elif kind == "type":
        parent[key] = choose(rng, ODD)
    elif kind == "other":
        try:
            parent[key] = copy.deepcopy(follow(other.to_json(), path))
        except (KeyError, IndexError, TypeError):
            parent[key] = nudged(parent[key], rng)
    elif kind == "swap" and isinstance(parent, list) and len(parent) > 1:
        place = choose(rng, range(len(parent)))
        parent[key], parent[place] = parent[place], parent[key]
    else:
        parent[key] = nudged(parent[key], rng)
    return (
        record_of(tree, honest.arrays),
        describe(path),
        type(parent[key]) is before or {type(parent[key]), before} == {int, float},
    )


def record_of(tree: dict[str, Any], arrays: dict[str, Array]) -> EpisodeRecord:
    """Returns a record of any values, also of those that a record refuses."""
    record = EpisodeRecord(0, 0, True, arrays=dict(arrays))
    for key, value in tree.items():
        setattr(record, key, value)
    return record


def forge_array(honest: EpisodeRecord, other: EpisodeRecord, rng: Rng) -> Forged:
    """Returns a copy of a record with a forgery in an array."""
    record = copy.deepcopy(honest)
    key = choose(rng, sorted(record.arrays))
    array = record.arrays[key]
    kind = choose(rng, ["nudge", "nudge", "rows", "other", "scale", "delete", "add", "type", "column", "rename"])
    if kind == "delete":
        del record.arrays[key]
    elif kind == "add":
        new = choose(rng, ["actions.push", "sensors.x.y", f"{key}x", key.replace("left", "up"), "labels.a.b.valid"])
        record.arrays[new] = array.copy()
        key = new
    elif kind == "rename":
        record.arrays[f"{key}_n"] = record.arrays.pop(key)
    elif kind == "type":
        record.arrays[key] = array.astype(choose(rng, [np.int64, np.bool_, np.float32]))
    elif kind == "other" and key in other.arrays:
        record.arrays[key] = other.arrays[key][: len(array)]
    elif kind == "rows" and len(array) > 1:
        a, b = rng.choice(len(array), 2, replace=False)
        array[[a, b]] = array[[b, a]]
    elif kind == "column" and array.ndim > 1 and array.shape[1] > 1:
        record.arrays[key] = array[:, ::-1].copy()
    elif kind == "scale" and array.dtype.kind == "f":
        array *= array.dtype.type(choose(rng, [0.5, 1.0 + 1e-6, 0.0]))
    elif array.size:
        place = tuple(int(rng.integers(size)) for size in array.shape)
        if array.dtype.kind == "f":
            array[place] += array.dtype.type(choose(rng, [1e-9, 1e-4, 0.1, -3.0, np.nan]))
        else:
            array[place] = not array[place] if array.dtype.kind == "b" else array[place] + choose(rng, [-1, 1, 5])
    return record, key, kind not in ("delete", "add", "rename", "type")


def is_same(a: Any, b: Any) -> bool:
    """Returns whether two JSON trees hold the same values; 1 and 1.0 are the same, 1 and true are not."""
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(is_same(value, b[key]) for key, value in a.items())
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(is_same, a, b))
    return isinstance(a, bool) == isinstance(b, bool) and bool(a == b)


def is_same_record(a: EpisodeRecord, b: EpisodeRecord) -> bool:
    """Returns whether two records hold the same values."""
    return (
        is_same(a.to_json(), b.to_json())
        and a.arrays.keys() == b.arrays.keys()
        and all(np.array_equal(array, b.arrays[key], equal_nan=True) for key, array in a.arrays.items())
    )


def make_forgery(honest: dict[str, Honest], number: int) -> tuple[str, Forged]:
    """Returns the name of a data set, and a forged record of it."""
    rng = np.random.default_rng([31, number])
    name = choose(rng, honest)
    record, other = honest[name].records
    while True:
        forge = choose(rng, [forge_json, forge_array])
        forged = forge(record, other, rng)
        if not is_same_record(forged[0], record):
            return name, forged


def find_problems(data_set: DataSet, replay: Callable[[DataSet], list[str]]) -> list[str]:
    """Returns what `check` says of a data set; if that is nothing, what `check replay=true` says."""
    return [str(problem) for problem in check_data_set(data_set)] or replay(data_set)


@pytest.fixture(scope="session")
def honest(tmp_path_factory) -> dict[str, Honest]:
    folder, found = tmp_path_factory.mktemp("honest"), {}
    for name, arguments in SETS.items():
        main = evaluate_main if name == "evaluated" else collect_main
        assert main([*arguments, "episodes=2", "executor=serial", "pictures=0", f"out={folder / name}"]) == 0
        data_set = DataSet.open(folder / name)
        found[name] = Honest(data_set, [data_set.read(number) for number in range(2)])
        assert find_problems(data_set, replay_serially) == []
    return found


def replay_serially(data_set: DataSet) -> list[str]:
    """Returns what the replays of a data set do not reproduce."""
    with ReplayArraysJob(config_of(data_set), data_set, ReplayMode.action, True).open("fuzz") as replay:
        return [problem for number in data_set.numbers() for problem in replay(number).problems]


@cache
def reason(place: str) -> str | None:
    """Returns why a forgery at a place need not be found; None: it must be."""
    return next((why for pattern, why in NOT_FOUND.items() if re.match(pattern, place)), None)


@pytest.mark.parametrize("number", range(COUNT))
def test_a_random_forgery_is_found(honest, write_forged, number):
    name, (record, place, has_same_form) = make_forgery(honest, number)
    problems = find_problems(write_forged(honest[name].data_set, record), replay_serially)
    assert problems or (has_same_form and reason(place)), (
        f"a forgery of '{name}' at {place} is not found (number {number})"
    )
