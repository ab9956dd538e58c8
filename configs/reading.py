"""Composes a configuration and reads it into its dataclass; an error names the file that states the wrong value."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar

from omegaconf import DictConfig

from unlatch.configs.chain import check_chain_form
from unlatch.configs.composition import Request, compose_config, to_plain
from unlatch.configs.config_files import TASKS, group_names
from unlatch.configs.dataclass_reader import read_dataclass, wrong_type
from unlatch.configs.origins import find_origins
from unlatch.configs.schema import EpisodeCfg
from unlatch.simcore.errors import ConfigError, unknown_key

T = TypeVar("T")


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
        _check_parts(composed, [item.name for item in fields(schema)])  # type: ignore[arg-type]
        values = to_plain(composed)
        check_chain_form(values)
        cfg = read_dataclass(schema, values, where="", notices=notices)
    except ConfigError as exc:
        from unlatch.configs.peer_tasks.peer_file import explain_peer_task

        peer = explain_peer_task(request.overrides, request.config_dirs)
        raise peer or _explain_value(exc, primary, request) from exc
    return cfg, composed, values


def _check_parts(composed: DictConfig, known: list[str]) -> None:
    """Checks the keys at the top, and that files of groups are not given by their names; others refer to them."""
    groups = group_names()
    for key, value in composed.items_ex(resolve=False):
        if key not in known:
            raise unknown_key(str(key), str(key), known, listed_by="--cfg job")
        if key in groups and isinstance(value, str):
            raise wrong_type(str(key), value, "a mapping")


def _explain_value(error: ConfigError, primary: str, request: Request) -> ConfigError:
    """Adds to the error of a value which file states it, and what was probably meant."""
    key = str(error.values.get("key", ""))
    file = _stating_file(key, primary, request)
    place = f" (in {file})" if file else ""
    leaf = key.rpartition(".")[2]
    if file.startswith("task/") and key == f"task.{leaf}":
        if leaf in {item.name for item in fields(EpisodeCfg)}:
            return ConfigError(
                f"'{leaf}' was read as {key}{place}. Expected '# @package _global_' as the very first line of a task's "
                "file. Put it there.",
                key=key,
            )
        if leaf == "tasks":
            return ConfigError(
                f"{key} is a list of tasks, as InternDataEngine writes it{place}. Run `unlatch import FILE` with that "
                "file.",
                key=key,
            )
    message, value = error.message, error.values.get("value")
    if isinstance(value, str) and key in group_names():
        how = f"To choose the file {value}, write `- override /{key}: {value}` into `defaults`."
        message = message.replace("Change it.", how)
    return ConfigError(message + place, **error.values)


def _stating_file(key: str, primary: str, request: Request) -> str:
    """Returns the file of a group that states the value of a key, such as `task/mine.yaml`; empty if none does.

    A key inside of a list needs no file: its index and the name beside it say where it is.
    """
    if not key or "[" in key:
        return ""
    origins = find_origins(primary, request)
    inside = [origin for name, origin in origins.items() if name.startswith(f"{key}.")]
    origin = origins.get(key, inside[-1] if inside else "")
    if origin.endswith(".yaml"):
        folder, name = Path(origin).parts[-2:]
        return f"{folder}/{name}" if folder in group_names() else ""
    made = (name for name in TASKS.names() if TASKS.entry(name).description == origin)
    return next((f"task/{name} of {TASKS.entry(name).origin}, {TASKS.entry(name).target}" for name in made), "")
