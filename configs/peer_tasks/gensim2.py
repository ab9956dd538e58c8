"""Reads one task configuration of GenSim2."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from unlatch.configs.peer_tasks.chain import SKILLS_HERE
from unlatch.configs.peer_tasks.counterparts import nearest_category
from unlatch.configs.peer_tasks.ledger import ABSENT, Ledger
from unlatch.configs.peer_tasks.scene_objects import SceneObject, user_object
from unlatch.configs.peer_tasks.task_builder import TaskBuilder
from unlatch.configs.peer_tasks.values import read_text
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
_NOT_HERE = ("lift", "move", "relocate", "put", "place", "pick", "reach", "insert", "stack", "drop")
"""Words of tasks that carry something, which no skill of Unlatch does."""
_ROBOT = "franka_panda"
_WHERE = ".planner_setting"


def read_gensim2_task(
    tree: Mapping[str, Any],
    name: str,
    *,
    file: Path,
    given_object: str | None,
    given_robot: str | None,
    given_skill: str | None,
    keep_settings: bool,
    ledger: Ledger,
) -> dict[str, Any]:
    """Returns the content of a task of Unlatch; `ledger` receives what became of each value.

    Raises:
        ConfigError: It moves a rigid object, no skill fits its name, or a choice of the command line is wrong.
        AssetError: The object of the command line is damaged.
    """
    label, kind = read_text(tree.get("task_name")) or file.stem, read_text(tree.get("category_name"))
    if kind == "RigidBody":
        raise ConfigError(
            f"{file}: category_name: RigidBody: no counterpart: Unlatch has no skill that carries a rigid object, only "
            "such as move parts on joints. Nothing is written.",
            key="category_name",
        )
    skill = given_skill or _skill_of(label, file)
    if skill not in SKILLS_HERE or skill == "artpreplan":
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
    task = TaskBuilder(name, given_robot or _ROBOT, ledger, keep_settings, Origin.gensim2)
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


def _own_path(path: str) -> str:
    return path.removeprefix(_WHERE).lstrip(".")


def _skill_of(label: str, file: Path) -> str:
    """Returns the skill that the name of a task tells.

    Raises:
        ConfigError: It tells none.
    """
    words = [word for word in re.split(r"[^a-z]+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", label).lower()) if word]
    carries = [word for word in words if word in _NOT_HERE]
    found = next((skill for skill, verbs in _VERBS if any(verb in words for verb in verbs)), None)
    if carries or found is None:
        reason = f"'{carries[0]}' carries an object, which no skill of Unlatch does" if carries else "it names no skill"
        raise ConfigError(
            f"{file}: task_name: {label}: no counterpart: {reason}. Expected open, close or rotate. If it is one of "
            "them, add skill=NAME. Nothing is written.",
            key="task_name",
        )
    return found
