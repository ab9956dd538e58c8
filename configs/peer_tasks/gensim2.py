"""Reads one task configuration of GenSim2."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from unlatch.configs.peer_tasks.carried_objects import CarriedObjects
from unlatch.configs.peer_tasks.chain import PICK, PLACE, PeerSkill
from unlatch.configs.peer_tasks.counterparts import nearest_category
from unlatch.configs.peer_tasks.ledger import ABSENT, Ledger
from unlatch.configs.peer_tasks.scene_objects import SceneObject, scene_name, user_object
from unlatch.configs.peer_tasks.task_builder import TaskBuilder
from unlatch.configs.peer_tasks.values import read_text
from unlatch.robots.catalog import ROBOTS
from unlatch.robots.description import RobotCfg
from unlatch.simcore.errors import ConfigError
from unlatch.solver.settings.origin import Origin

_VERBS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("close", ("close", "shut")),
    ("open", ("open",)),
    ("rotate", ("rotate", "turn", "twist")),
    ("open", ("pull", "swing")),
    ("close", ("push", "press")),
)
"""Skills by the words in the name of a task, in this order."""
_PICKS, _PLACES = ("lift", "pick", "grasp"), ("move", "relocate", "put", "place", "insert", "stack", "drop", "store")
"""Words of tasks that pick something up, and of tasks that also put it down."""
_TO = ("into", "in", "inside", "onto", "on", "to")
"""Words before the name of what something is put into or onto."""
_NO_NAMES = ("up", "upright", "down", "the", "a", "and", "from", "table", "out", "of")
"""Words of the name of a task that name no object."""
_NOT_HERE = ("reach",)
"""Words of tasks that no skill of Unlatch does."""
_ROBOT = "franka_panda"
_WHERE = ".planner_setting"


def read_gensim2_task(
    tree: Mapping[str, Any],
    name: str,
    *,
    file: Path,
    given_object: str | None,
    given_robot: RobotCfg | None,
    given_skill: str | None,
    keep_settings: bool,
    ledger: Ledger,
) -> dict[str, Any]:
    """Returns the content of a task of Unlatch; `ledger` receives what became of each value.

    Raises:
        ConfigError: No skill fits its name, or a choice of the command line is wrong.
        AssetError: The object of the command line is damaged.
    """
    label, kind = read_text(tree.get("task_name")) or file.stem, read_text(tree.get("category_name"))
    words = _words(label)
    if given_skill is None and not set(words) & set(_NOT_HERE) and set(words) & {*_PICKS, *_PLACES}:
        task = TaskBuilder(name, given_robot or ROBOTS.load(_ROBOT)(), ledger, keep_settings, Origin.gensim2)
        return _read_carrying(task, tree, label, words, given_object)
    if kind == "RigidBody":
        raise ConfigError(
            f"{file}: category_name: RigidBody: no counterpart: by its name, the task {label} neither picks nor places "
            f"an object. Expected one of the words {', '.join((*_PICKS, *_PLACES))} in task_name. Nothing is written.",
            key="category_name",
        )
    skill = given_skill or _skill_of(label, file)
    if skill not in ("open", "close", "rotate"):
        raise ConfigError(f"skill={skill} is unknown. Expected open, close or rotate. Change it.", key="skill")
    if given_object is not None:
        scene = user_object("object", given_object)
        said = f"the object is {given_object}, which the command line names"
    else:
        category, why = nearest_category([label], [label], skill)
        scene = SceneObject(category, category)
        said = f"the object is {category} of the library: {why}; object= names another one"
    if skill == "rotate" and given_skill is None and not scene.turns_in_hand():
        skill = "open"
    task = TaskBuilder(name, given_robot or ROBOTS.load(_ROBOT)(), ledger, keep_settings, Origin.gensim2)
    task.objects.append(scene)
    part = scene.part_for(skill, "")
    ledger.read("task_name", label, f"read as skill {skill} on part {part}; {said}")
    ledger.read("category_name", kind or ABSENT)
    half = round(scene.span(part) / 2, 4)
    task.starts[scene.name, part] = [half, half]
    ledger.read("start", ABSENT, f"tasks of GenSim2 start half open: read as the start of {part}, {half} from closed")
    before = len(ledger.lines)
    task.add_skill(skill, scene, part, path="", raw=dict(tree), arm=None, group=0, extra={})
    # a file is one setting as a whole: its keys have no place of their own
    ledger.lines[before:] = [
        replace(line, path=_own_path(line.path) or file.name, text=line.text.replace(f"{_WHERE}.", ""))
        for line in ledger.lines[before:]
    ]
    return task.content((skill, part))


def _read_carrying(
    task: TaskBuilder, tree: Mapping[str, Any], label: str, words: list[str], given_object: str | None
) -> dict[str, Any]:
    """Returns the content of a task that picks an object up, and puts it down if its name says so."""
    is_placed = bool(set(words) & set(_PLACES))
    end = next((i for i, word in enumerate(words) if is_placed and word in _TO), len(words))
    item, target = (
        "_".join(word for word in some if word not in (*_PICKS, *_PLACES, *_TO, *_NO_NAMES))
        for some in (words[:end], words[end:])
    )
    item = item or "object"
    named = [item, target] if target else [item]
    skills = [(PICK, [item]), *([(PLACE, named)] if is_placed else [])]
    chain = [PeerSkill("task_name", {"name": name, "objects": names}, name, None, 0) for name, names in skills]
    entry = {"objects": [{"name": name} for name in named]}
    carried = CarriedObjects(task, entry, "", chain, {}, {})
    ledger, start = task.ledger, len(task.ledger.lines)
    carried.add_objects(given_object)
    for skill in chain:
        carried.add_skill(skill, arm=None, group=0)
    ledger.lines[start:] = [replace(line, path="task_name", value=repr(label)) for line in ledger.lines[start:]]
    names = {scene_name(name): name for name in named}
    task.regions = [region for scene in task.objects if (region := carried.region(names[scene.name], scene))]
    task.language.append(carried.words())
    ledger.read("task_name", label)
    if "category_name" in tree:
        ledger.read("category_name", tree["category_name"])
    for key, value in tree.items():
        if key not in ("task_name", "category_name"):
            ledger.leave(key, value, "grasps and places are found from the geometry of the objects")
    return task.content(None)


def _words(label: str) -> list[str]:
    return [word for word in re.split(r"[^a-z]+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", label).lower()) if word]


def _own_path(path: str) -> str:
    return path.removeprefix(_WHERE).lstrip(".")


def _skill_of(label: str, file: Path) -> str:
    """Returns the skill that the name of a task tells.

    Raises:
        ConfigError: It tells none.
    """
    words = _words(label)
    without = [word for word in words if word in _NOT_HERE]
    found = next((skill for skill, verbs in _VERBS if any(verb in words for verb in verbs)), None)
    if without or found is None:
        reason = f"no skill of Unlatch does '{without[0]}'" if without else "it names no skill"
        raise ConfigError(
            f"{file}: task_name: {label}: no counterpart: {reason}. Expected open, close or rotate. If it is one of "
            "them, add skill=NAME. Nothing is written.",
            key="task_name",
        )
    return found
