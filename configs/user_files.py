"""Reads files of users without composing a configuration: planner settings, robots, and task files of other systems."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException
from yaml import YAMLError

from unlatch.configs.config_files import load_yaml
from unlatch.configs.dataclass_reader import read_dataclass
from unlatch.configs.group_files import yaml_files
from unlatch.robots.description import RobotCfg
from unlatch.simcore.errors import ConfigError, UnlatchError, close_matches, describe_choices
from unlatch.simcore.files import path_word, user_path
from unlatch.solver.scene import axis_name
from unlatch.solver.setting import HANDS, PART_KEYPOINTS, Origin, PlannerSettingCfg
from unlatch.solver.setting_reader import find_misfit_motions, read_planner_setting
from unlatch.solver.term import Term

_MAX_BYTES = 1_000_000
_RESOLVER = re.compile(r"\$\{[^{}]*:")
"""A reference that asks a resolver, for example the environment."""
_NO_REFERENCE = "\0{"


@dataclass
class SettingRead:
    """One `planner_setting` of a file, or the reason why it cannot be read."""

    where: str
    """Its full key in the file."""
    setting: PlannerSettingCfg | None = None
    """The setting; None if it cannot be read."""
    error: ConfigError | None = None
    """The error; None if it was read."""
    notices: list[str] = field(default_factory=list)
    """One line for each value that was rewritten or dropped."""
    obstacles: list[str] = field(default_factory=list)
    """Why no articulation skill can carry out the setting, one line each; empty if one can."""
    warnings: list[str] = field(default_factory=list)
    """What does not fit the hand of the robot, one line each."""


def read_setting_file(path: str | Path, *, tool: Mapping[str, Sequence[float]] | None = None) -> list[SettingRead]:
    """Reads every `planner_setting` of a YAML file, at any depth; GenSim2's files are one setting as a whole.

    A setting of InternDataEngine below the name of a robot that Unlatch knows the hand of gets that `hand`.

    Args:
        path: The file.
        tool: Keypoints of a robot's hand, (3,) each, ee frame [m]; None: motions are not compared with a hand.

    Raises:
        ConfigError: It is not a readable YAML file, or has no planner setting.
    """
    tree = read_yaml_tree(path)
    keypoints = None if tool is None else {name: np.array(point, dtype=float) for name, point in tool.items()}
    reads = []
    for where, raw in find_settings(tree):
        try:
            setting, notices = read_planner_setting(raw, where=where)
        except ConfigError as exc:
            reads.append(SettingRead(where, error=exc))
        else:
            _name_hand(setting, where, notices)
            obstacles = find_obstacles(setting, where)
            warnings = [] if keypoints is None else find_misfit_motions(setting, keypoints, where)
            reads.append(SettingRead(where, setting, None, notices, obstacles, warnings))
    if not reads:
        raise ConfigError(
            f"{path} has no planner_setting. Expected the key at any depth, or a constraint_list at the top.",
            path=str(path),
        )
    return reads


def _name_hand(setting: PlannerSettingCfg, where: str, notices: list[str]) -> None:
    """Sets the hand of a setting of InternDataEngine by the name of its robot, a part of the full key."""
    if setting.origin is not Origin.interndata or setting.hand is not None:
        return
    robots = [part.split("[")[0] for part in where.split(".")]
    found = next((hand for hand in HANDS for robot in robots if hand in robot.lower()), None)
    if found is not None:
        setting.hand = found
        notices.append(
            f"{where}.hand: missing, read as {found} from its key. Write `hand: {found}` where you paste it."
        )


def read_yaml_tree(path: str | Path) -> Any:
    """Returns the mappings, lists, numbers and texts of a YAML file.

    Raises:
        ConfigError: It is not a readable YAML file.
    """
    file = user_path(path)
    if not file.is_file():
        raise ConfigError(f"{path} is not a file. Expected a YAML file. Check the path.", path=str(path))
    if file.stat().st_size > _MAX_BYTES:
        raise ConfigError(f"{path} has more than {_MAX_BYTES} bytes, too many for a configuration.", path=str(path))
    try:
        return OmegaConf.to_container(load_yaml(file), resolve=False)
    except (OmegaConfBaseException, YAMLError) as exc:
        from unlatch.configs.override_errors import explain_error

        message = explain_error(exc).message
        raise ConfigError(message if str(path) in message else f"{path}: {message}", path=str(path)) from exc
    except RecursionError as exc:
        raise ConfigError(f"{path} is nested too deeply for a configuration.", path=str(path)) from exc
    except OSError as exc:
        raise ConfigError(f"{path} cannot be read: {exc.strerror}. Check the file.", path=str(path)) from exc


def read_robot_file(path: str | Path) -> RobotCfg | None:
    """Returns the robot that a YAML file describes, as `unlatch new robot` writes it; None if it is no robot's.

    Raises:
        ConfigError: It is not a readable YAML file, or a value is wrong; the message says which.
    """
    tree = read_yaml_tree(path)
    return read_dataclass(RobotCfg, tree, where="robot") if isinstance(tree, dict) and "arms" in tree else None


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


def resolve_references(tree: Any) -> Any:
    """Returns the content of a YAML file of another system with its references, such as `${tasks.0.name}`, resolved.

    What refers to something that is not there, or to a resolver such as the environment, stays as it is written.
    """
    if not isinstance(tree, dict | list):
        return tree
    try:
        # no text may ask a resolver meanwhile: another text may refer to it
        plain = _map_texts(tree, lambda text: text.replace("${", _NO_REFERENCE) if _RESOLVER.search(text) else text)
        return _map_texts(_resolve(tree, OmegaConf.create(plain)), lambda text: text.replace(_NO_REFERENCE, "${"))
    except OmegaConfBaseException:  # a text such as `${` that is no reference
        return tree


def _map_texts(value: Any, change: Callable[[str], str]) -> Any:
    """Returns a tree with every text changed."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {key: _map_texts(item, change) for key, item in value.items()}
    return [_map_texts(item, change) for item in value] if isinstance(value, list) else value


def _resolve(raw: Any, node: Any) -> Any:
    """Returns a value with its references resolved; `node` is the same in OmegaConf's form."""
    if isinstance(raw, dict):
        return {key: _resolve_item(value, node, key) for key, value in raw.items()}
    return [_resolve_item(value, node, index) for index, value in enumerate(raw)]


def _resolve_item(raw: Any, node: Any, key: Any) -> Any:
    if isinstance(raw, str) and "${" in raw and not _RESOLVER.search(raw):
        try:
            found = node[key]
            return OmegaConf.to_container(found, resolve=True) if OmegaConf.is_config(found) else found
        except (OmegaConfBaseException, RecursionError):
            return raw
    return _resolve(raw, node[key]) if isinstance(raw, dict | list) else raw


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


_TOOL_KEYPOINTS = ("tool_head", "tool_side", "tool_tail", "tool_tip")
_AXES = ("base_front_axis", "link0_contact_axis", "link0_move_axis", "link0_rot_axis", "link0_vertical_axis")
_CONTAINER_WORDS = ("inside", "surface", "bottom")
"""Words in the names of points at which GenSim2 drops a carried object."""
_RIGID = "RigidBody"


def find_obstacles(setting: PlannerSettingCfg, where: str) -> list[str]:
    """Returns why no articulation skill can carry out the setting of key `where`, one line each; empty if one can."""
    found = []
    if setting.category_name == _RIGID:
        found.append(f"{where}.category_name: {_RIGID}; open, close and rotate move parts with a joint.")
    for key, terms in (("constraint_list", setting.constraint_list), ("cost_list", setting.cost_list)):
        for index, term in enumerate(terms):
            found += _find_unknown_names(term, f"{where}.{key}[{index}]")
    return found


def _find_unknown_names(term: Term, where: str) -> list[str]:
    found = []
    for key, name in term.tool_names().items():
        if name not in _TOOL_KEYPOINTS:
            choices = describe_choices(name, _TOOL_KEYPOINTS, heading="Keypoints")
            found.append(f"{where}.{key}: '{name}' is no keypoint of a hand.{choices}")
    for key, name in term.object_names().items():
        if name in PART_KEYPOINTS:
            continue
        if name.startswith("rigidbody_"):
            what = "is a point of a rigid object; open, close and rotate move parts with a joint."
        elif any(word in name for word in _CONTAINER_WORDS):
            what = "is where a carried object is put down; open, close and rotate carry none."
        else:
            near = close_matches(name, PART_KEYPOINTS)
            known = ", ".join(PART_KEYPOINTS)
            what = f"is no keypoint that every part has.{near} Keypoints: {known}; an articulation.yaml may have more."
        found.append(f"{where}.{key}: '{name}' {what}")
    for key in ("target_axis", "plane_normal"):
        axis = getattr(term, key, None)
        if isinstance(axis, str) and axis_name(axis) not in _AXES:
            choices = describe_choices(axis_name(axis), _AXES, heading="Axes")
            found.append(f"{where}.{key}: '{axis}' is no axis that parts have.{choices}")
    return found


def find_settings(tree: Any, where: str = "") -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yields the full key and the block of every `planner_setting` of a parsed YAML file.

    A file of GenSim2 is one block as a whole. In other files, blocks have the key `planner_setting`, at any depth.
    """
    if isinstance(tree, Mapping):
        if not where and "constraint_list" in tree:
            yield "planner_setting", tree
            return
        for key, value in tree.items():
            full = f"{where}.{key}" if where else str(key)
            if key == "planner_setting" and isinstance(value, Mapping):
                yield full, value
            else:
                yield from find_settings(value, full)
    elif isinstance(tree, list):
        for index, value in enumerate(tree):
            yield from find_settings(value, f"{where}[{index}]")
