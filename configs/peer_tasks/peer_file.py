"""Recognizes task files of other systems, and reads them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from unlatch.configs.config_files import yaml_files
from unlatch.configs.setting_file import read_yaml_tree
from unlatch.simcore.errors import ConfigError, UnlatchError
from unlatch.simcore.files import path_word, user_path

INTERNDATA, GENSIM2 = "InternDataEngine", "GenSim2"

_ENTRY_KEYS = frozenset({"arena_file", "robots", "asset_root", "env_map", "task_id", "data"})
"""Keys of a task of InternDataEngine that no task of Unlatch has."""
_GENSIM2_KEYS = frozenset({"tool_keypoint_name_list", "object_keypoint_name_list", "category_name", "task_name"})
_YAML = (".yaml", ".yml")


def peer_of(tree: Any) -> str | None:
    """Returns the system whose whole task a parsed YAML file is; None for a task of Unlatch and for other files."""
    if isinstance(tree, list):
        return INTERNDATA if any(peer_of(item) == INTERNDATA for item in tree) else None
    if not isinstance(tree, Mapping):
        return None
    keys = {str(key) for key in tree}
    if isinstance(tree.get("tasks"), list | Mapping) or ("skills" in keys and keys & _ENTRY_KEYS):
        return INTERNDATA
    return GENSIM2 if "constraint_list" in keys or len(keys & _GENSIM2_KEYS) > 1 else None


def task_entries(tree: Any) -> list[tuple[str, Any]]:
    """Returns every task of a file of InternDataEngine with its place in the file."""
    listed = tree.get("tasks", tree) if isinstance(tree, Mapping) else tree
    path = "tasks" if isinstance(tree, Mapping) and "tasks" in tree else ""
    if isinstance(listed, list):
        return [(f"{path}[{index}]", item) for index, item in enumerate(listed)]
    return [(path, listed)]


def explain_peer_task(overrides: Sequence[str], config_dirs: Sequence[str]) -> ConfigError | None:
    """Returns the error of a task that is a path, or a file of another system; None if it is neither."""
    bare = [text for text in overrides if "=" not in text and text.endswith(_YAML)]
    chosen = [text.partition("=")[2].strip("'\"") for text in overrides if text.lstrip("+").startswith("task=")]
    if not bare and not chosen:
        return None
    name = [*chosen, *bare][-1]
    word = name if bare else f"task={name}"
    is_path = name.endswith(_YAML)
    with suppress(UnlatchError):  # the composition reports what is wrong with a file of ours
        file = user_path(name) if is_path else yaml_files("task", config_dirs).get(name)
        if file is None or not file.is_file():
            return None
        peer = peer_of(read_yaml_tree(file))
        if peer is not None:
            return ConfigError(
                f"{word} is a task file of {peer}. Expected a task of Unlatch. Convert it first: "
                f"unlatch import {path_word(file)}",
                key="task",
            )
        if is_path:
            return ConfigError(
                f"{word} is the path of a file. Expected the name of a task, and its folder. For a file "
                "FOLDER/task/NAME.yaml, write task=NAME --config-dir FOLDER.",
                key="task",
            )
    return None
