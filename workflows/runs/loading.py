"""Composes, reads and checks configurations, and finds the file that states each wrong value."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from enum import Enum
from pathlib import Path
from typing import Any, Generic, TypeVar, get_type_hints

from omegaconf import DictConfig, OmegaConf

from unlatch.configs.composition import Request, compose_config, to_plain
from unlatch.configs.config_files import group_names
from unlatch.configs.dataclass_reader import (
    check_chain_form,
    read_dataclass,
    refuse_repeated_keys,
    split_optional,
    wrong_type,
)
from unlatch.configs.schema import EpisodeCfg, check_episode, find_info_files, hand_notices
from unlatch.simcore.errors import AssetError, ConfigError, unknown_key, unknown_name
from unlatch.simcore.files import user_path
from unlatch.workflows.runs.schema import CollectCfg

logger = logging.getLogger(__name__)

T = TypeVar("T", bound=EpisodeCfg)

_DERIVES = re.compile(r"\+{0,2}(object|skill|part|openness)=|\++task=")
"""Overrides that choose more than a file of a group; see `derive_request`."""


@dataclass(frozen=True)
class LoadedConfig(Generic[T]):
    """A configuration that is composed, read and checked."""

    cfg: T
    composed: Any
    """The composed configuration of Hydra; plain values if its references are resolved."""
    notices: list[str]
    """One line for each value that was rewritten from an older form."""
    overrides: list[str]
    """The overrides it was composed with; of a multirun, those of this job."""

    @property
    def yaml(self) -> str:
        """The composed configuration as `--cfg job` prints it."""
        return OmegaConf.to_yaml(self.composed)


def load(task: str, *overrides: str, seed: int | None = None, config_dirs: Sequence[str | Path] = ()) -> CollectCfg:
    """Composes the configuration of a task and checks it.

    Args:
        task: Name of a task (`unlatch list tasks`). In place of a name, an override such as `"object=cabinet.urdf"`,
            with `"skill=open"` beside it, derives the task from an object.
        overrides: Overrides of any key, as on the command line: `"robot=ur5"`, `"world.solver_iterations=150"`.
        seed: Seed of the run; None: that of the configuration, 0 by default.
        config_dirs: Folders of YAML files of your own.

    Returns:
        The configuration: a dataclass whose fields can be read and set.

    Raises:
        ConfigError: A key, a name or a value is wrong; the message says which key, what was expected and what to do.
        AssetError: The object is missing or damaged.

    Example:
        >>> cfg = unlatch.load("open_microwave", "robot=ur5", seed=7)
        >>> cfg.robot.name
        'ur5'
    """
    last = [] if seed is None else [f"seed={seed}"]
    given = task_overrides(task, (*overrides, *last))
    refuse_repeated_keys(given)
    loaded = load_config("collect", CollectCfg, given, config_dirs=config_dirs)
    for notice in loaded.notices:
        logger.info(notice)
    return loaded.cfg


def task_overrides(task: str, overrides: Sequence[str]) -> list[str]:
    """Returns the overrides of a task that is given by name, or by an override such as `object=cabinet.urdf`.

    Raises:
        ConfigError: The task or an override is no text, or the overrides are one text.
    """
    if isinstance(overrides, str) or not isinstance(overrides, Iterable):
        raise ConfigError(f"overrides={overrides!r} is not a list. Expected one, such as ['robot=ur5'].")
    for given, example in ((task, "open_drawer"), *((override, "robot=ur5") for override in overrides)):
        if not isinstance(given, str):
            what = "The task" if given is task else "An override"
            raise ConfigError(f"{what} is {given!r}, of type {type(given).__name__}. Expected text: '{example}'.")
    return [task if "=" in task else f"task={task}", *overrides]


_MENAGERIE_ROBOT = "robot=menagerie:"


def load_config(
    primary: str,
    schema: type[T],
    overrides: Sequence[str],
    *,
    config_dirs: Sequence[str | Path] = (),
    resolve: bool = False,
) -> LoadedConfig[T]:
    """Composes one configuration, reads it and checks it.

    Args:
        primary: Name of the command's YAML file.
        schema: Dataclass of its configuration.
        overrides: Overrides in Hydra's syntax, such as `key=value`.
        config_dirs: Folders of YAML files of the user's own.
        resolve: Whether references are resolved in `yaml`.

    Raises:
        ConfigError: The configuration is wrong; the message is one line.
    """
    folders = [config_dirs] if isinstance(config_dirs, str | Path) else config_dirs
    if any(text.startswith(_MENAGERIE_ROBOT) for text in overrides):
        from unlatch.workflows.assets.new_robot import with_menagerie_robot

        overrides, folders = with_menagerie_robot(overrides, folders)
    request = Request(list(overrides), [str(path) for path in folders])
    notices: list[str] = []
    if any(map(_DERIVES.match, overrides)):
        # what an object and a skill stand for
        from unlatch.configs.derived_request import derive_request, find_doubts_of_object

        notices = find_doubts_of_object(request)
        try:
            request = derive_request(primary, schema, request, notices=notices)
        except (AssetError, ConfigError) as exc:
            if not notices:
                raise
            raise ConfigError(f"{exc.message} A possible cause: {notices[0]}", **exc.values) from exc
    cfg, composed, values = read_config(primary, schema, request, notices=notices)
    check_episode(cfg)
    notices += hand_notices(cfg)
    if sweep := getattr(cfg, "sweep", None):
        from unlatch.workflows.runs.sweep import check_sweep_values

        check_sweep_values(sweep, overrides)
    if cfg.randomization.source is not None:
        from unlatch.workflows.runs.recorded_config import with_recorded

        cfg.randomization = with_recorded(cfg.randomization)
    for item in (cfg.object, *cfg.objects):
        if item.size is None and cfg.robot.scale != 1.0:
            item.size = cfg.robot.scale
        if item.root is not None:
            item.root = str(user_path(item.root).absolute())
    find_info_files(cfg)
    if cfg.randomization.contents.most and any("randomization.contents" in text for text in overrides):
        from unlatch.workflows.episode.distractors import find_empty  # few command lines ask for contents

        notices += find_empty(cfg)
    return LoadedConfig(cfg, OmegaConf.create(values) if resolve else composed, notices, list(overrides))


def read_config(
    primary: str, schema: type[T], request: Request, *, notices: list[str] | None = None
) -> tuple[T, DictConfig, dict[str, Any]]:
    """Composes one configuration and reads it.

    Args:
        primary: Name of the command's YAML file.
        schema: Dataclass of its configuration.
        request: Overrides and folders of YAML files.
        notices: Receives one line for each value in an older form that was rewritten.

    Returns:
        The configuration as its dataclass; as Hydra composes it, with references to other keys; and as plain mappings,
        lists and values, with references resolved.

    Raises:
        ConfigError: A file, group, key or value is wrong.
    """
    composed = compose_config(primary, schema, request)
    try:
        _check_parts(composed, [item.name for item in fields(schema)])
        values = to_plain(composed)
        check_chain_form(values)
        cfg = read_dataclass(schema, values, where="", notices=notices)
    except ConfigError as exc:
        from unlatch.configs.origins import explain_value
        from unlatch.configs.user_files import explain_peer_task

        peer = explain_peer_task(request.overrides, request.config_dirs)
        raise peer or explain_value(exc, primary, request) from exc
    return cfg, composed, values


def _check_parts(composed: DictConfig, known: list[str]) -> None:
    """Checks the keys at the top, and that files of groups are not given by their names; others refer to them."""
    groups = group_names()
    for key, value in composed.items_ex(resolve=False):
        if key not in known:
            raise unknown_key(str(key), str(key), known, listed_by="--cfg job")
        if key in groups and isinstance(value, str):
            raise wrong_type(str(key), value, "a mapping")


def _read_member(key: str, hint: Any, value: Any) -> Any:
    """Returns the member of an enumeration that a text names, where a field holds one; other values as they are."""
    kind = split_optional(hint)[0]
    if not (isinstance(value, str) and isinstance(kind, type) and issubclass(kind, Enum)) or isinstance(value, kind):
        return value
    if value not in kind.__members__:
        raise unknown_name(value, "a known value", where=key, known=list(kind.__members__))
    return kind[value]


def config_as(schema: type[T], cfg: EpisodeCfg, **changes: Any) -> T:
    """Returns a configuration of another kind that shares its fields with `cfg`; `changes` other than None are set.

    A text stands for the value of an enumeration, as on the command line.

    Raises:
        ConfigError: A value is out of its range, or no value of an enumeration.
    """
    hints = get_type_hints(schema)
    changes = {key: _read_member(key, hints.get(key), value) for key, value in changes.items()}
    names = {item.name for item in fields(schema)}
    shared = {item.name: getattr(cfg, item.name) for item in fields(cfg) if item.name in names}
    return schema(**{**shared, **{key: value for key, value in changes.items() if value is not None}})
