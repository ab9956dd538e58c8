"""The command that makes any episode of a data set again."""

from __future__ import annotations

import shlex
from typing import Any

from simcore.recording.storage import DataSet

NUMBER = "NUMBER"
"""What stands in a command for the episode's number."""
_OF_THE_RUN = (
    "attempts",
    "episodes",
    "executor",
    "give_up_after",
    "launcher",
    "only",
    "out",
    "pictures",
    "shard",
    "successes",
    "sweep_dir",
    "workers",
)
"""Keys that say nothing about an episode."""


def commands_of(data_set: DataSet) -> dict[str, str]:
    """Commands about one episode of a data set, by what they do; `NUMBER` stands for it.

    Args:
        data_set: The data set.
    """
    path = shlex.quote(str(data_set.path))
    commands = {}
    again = _collect_again(data_set.info)
    if again is not None:
        commands["make it again"] = again
    commands["watch it"] = f"unlatch view {path} episode={NUMBER}"
    commands["draw it phase by phase"] = f"unlatch phases {path} episode={NUMBER}"
    commands["replay it exactly"] = f"unlatch replay {path} episode={NUMBER} mode=action"
    return commands


def _collect_again(info: dict[str, Any]) -> str | None:
    """The command that made the data set, for one episode; None where that is not known."""
    words = info.get("command")
    if not isinstance(words, list) or len(words) < 2 or not all(isinstance(word, str) for word in words):
        return None
    kept = [word for word in words[2:] if not _is_of_the_run(word)]
    return shlex.join([*words[:2], *kept, f"only=[{NUMBER}]", "out=data/again"])


def _is_of_the_run(word: str) -> bool:
    key = word.partition("=")[0].lstrip("+~")
    return word in ("-m", "--multirun") or key.split(".")[0] in _OF_THE_RUN
