"""What belongs to one episode of a data set: the files that show it, and the commands that make or show it again."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from dataclasses import fields
from pathlib import Path
from typing import Any

from unlatch.configs.overrides import expand_sweep, override_key
from unlatch.configs.schema import EpisodeCfg
from unlatch.simcore.files import path_word
from unlatch.simcore.recording.data_set import DataSet
from unlatch.workflows.runs.schema import CollectCfg, RunCfg

PHASES = "phases-{number}.png"
VIEW = "view-{number}.{format}"
CLIP = "clip-{number}.mp4"
REPORT = "report.html"


def remove_outdated(data_set: Path, numbers: Iterable[int]) -> list[str]:
    """Removes the files that show episodes which were made again, and the report; returns the names of those removed.

    Only files of the default names are removed. The commands that wrote them write them anew.

    Args:
        data_set: Folder of the data set.
        numbers: Numbers of the episodes that were made again.
    """
    again = set(numbers)
    if not again:
        return []
    known = {name.format(number=number) for number in again for name in (PHASES, CLIP)}
    views = tuple(VIEW.format(number=number, format="") for number in again)
    report = {REPORT, str(Path(REPORT).with_suffix(".json"))}
    found = [
        path
        for path in sorted(data_set.iterdir())
        if path.name in known | report or (path.name.startswith(views) and path.is_file())
    ]
    for path in found:
        path.unlink(missing_ok=True)
    return [path.name for path in found]


NUMBER = "NUMBER"
"""Placeholder for the episode number in a command."""
_RUN_KEYS = {item.name for cfg in (RunCfg, CollectCfg) for item in fields(cfg)} - {
    item.name for item in fields(EpisodeCfg)
}
"""Keys of a run that do not affect an episode."""


def commands_of(data_set: DataSet) -> dict[str, str]:
    """Returns the commands about one episode of a data set, by their purpose; `NUMBER` stands for the episode."""
    path = path_word(data_set.path)
    commands = {}
    again = collect_command(data_set, f"only=[{NUMBER}]", "out=data/again")
    if again is not None:
        commands["make it again"] = again
    commands["look at it"] = view_command(data_set, NUMBER)
    commands["draw it phase by phase"] = f"unlatch phases {path} episode={NUMBER}"
    commands["write it as a moving picture"] = f"unlatch clip {path} episode={NUMBER} out=clip.mp4"
    commands["replay it exactly"] = f"unlatch replay {path} episode={NUMBER} mode=action"
    return commands


def view_command(data_set: DataSet, number: int | str) -> str:
    """Returns the command that writes an episode as a page in which the camera can be moved."""
    return f"unlatch view {path_word(data_set.path)} episode={number}"


def report_command(data_set: DataSet) -> str:
    """Returns the command that writes the report of one data set alone."""
    return f"unlatch report {path_word(data_set.path)}"


def plan_command(data_set: DataSet, number: int) -> str | None:
    """Returns the command that plans an episode of demonstrations; None if the command that made them is unknown."""
    command = collect_command(data_set, f"episode={number}")
    prefix = "unlatch collect "
    return f"unlatch plan {command.removeprefix(prefix)}" if command and command.startswith(prefix) else None


def collect_command(data_set: DataSet, *words_of_run: str) -> str | None:
    """Returns the command that made the data set, with other keys of the run; None if it is unknown."""
    words = data_set.info.get("command")
    if not isinstance(words, list) or len(words) <= 1 or not all(isinstance(word, str) for word in words):
        return None
    try:
        kept = [
            _replace_sweep(word, data_set.header.get("config"))
            for word in words[2:]
            if not (word in ("-m", "--multirun") or override_key(word).split(".")[0] in _RUN_KEYS)
        ]
    except (KeyError, IndexError, TypeError, ValueError):
        return None  # the header lacks a swept key, such as one of disabled noise
    return shlex.join([*words[:2], *kept, *words_of_run])


def _replace_sweep(word: str, config: Any) -> str:
    """Replaces the values of a sweep by the value of this data set."""
    key = override_key(word)
    if "=" not in word or len(expand_sweep([word])) == 1:
        return word
    value = config
    for part in key.split("."):
        value = value[int(part)] if isinstance(value, list) else value[part]
    return f"{key}={value['name'] if isinstance(value, dict) and 'name' in value else value}"
