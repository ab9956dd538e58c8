"""Reads the words, cameras and distractors of a task of InternDataEngine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from unlatch.configs.peer_tasks.counterparts import nearest_camera
from unlatch.configs.peer_tasks.ledger import join_path
from unlatch.configs.peer_tasks.task_builder import TaskBuilder, clipped_duration
from unlatch.configs.peer_tasks.values import has_reference, read_list, read_mapping, read_number, read_text
from unlatch.simcore.randomization.config import MOST_DISTRACTORS
from unlatch.tasks.task import TaskCfg

_STEPS_HZ = 30.0
"""Steps of `max_episode_length` in a second."""


def add_words(task: TaskBuilder, entry: Mapping[str, Any], *, least_s: float) -> None:
    """Reads the instructions and the time limit, which is at least `least_s` [s]."""
    if least_s > TaskCfg().max_duration_s:
        task.max_duration_s = least_s
    data, where = read_mapping(entry.get("data")), join_path(task.path, "data")
    for key in ("language_instruction", "detailed_language_instruction"):
        value = data.get(key)
        texts = [read_text(text) for text in (value if isinstance(value, list) else [value])]
        place = f"{where}.{key}"
        for text in texts:
            words = text.split(";")[0].strip()
            if not words:
                continue
            if has_reference(words) or "{" in words or "}" in words:
                task.ledger.leave(place, value, "braces stand for names of objects and parts here")
            elif words not in task.language:
                task.language.append(words)
                is_whole = words == text.strip()
                task.ledger.read(place, value, "" if is_whole else "the words of the first robot are kept")
        if place not in {line.path for line in task.ledger.lines} and value:
            task.ledger.read(place, value)
    steps = read_number(data.get("max_episode_length"))
    if steps is not None and steps > 0:
        seconds = steps / _STEPS_HZ
        kept = clipped_duration(max(seconds, least_s))
        task.max_duration_s = kept if kept > TaskCfg().max_duration_s else None
        task.ledger.read(
            f"{where}.max_episode_length",
            data["max_episode_length"],
            f"read as {steps:g} steps of 1/30 s, {seconds:.3g} s; max_duration_s is {kept:g} s, at least {least_s:g}",
        )


def add_cameras(task: TaskBuilder, entry: Mapping[str, Any]) -> None:
    """Reads the cameras."""
    where = join_path(task.path, "cameras")
    for index, item in enumerate(read_list(entry.get("cameras"))):
        camera = read_mapping(item)
        texts = [read_text(camera.get(key)) for key in ("name", "parent", "camera_file")]
        found = nearest_camera(texts)
        task.cameras.append(found)
        task.ledger.read(join_path(join_path(where, index), "name"), camera.get("name"), f"read as the camera {found}")


def add_distractors(task: TaskBuilder, entry: Mapping[str, Any]) -> None:
    """Reads how many distractors there are."""
    where, values = join_path(task.path, "distractors"), read_mapping(entry.get("distractors"))
    least, most = read_number(values.get("min_num")), read_number(values.get("max_num"))
    if most is None or most < 1:
        return
    kept = [int(min(max(number, 0), MOST_DISTRACTORS)) for number in (min(least or 0, most), most)]
    task.distractors = {"least": kept[0], "most": kept[1]}
    said = f"read as randomization.distractors, {kept[0]} to {kept[1]} things that are only visible"
    task.ledger.read(join_path(where, "min_num"), least)
    task.ledger.read(join_path(where, "max_num"), values["max_num"], said)
