"""Composes a configuration and reads it into its dataclass; finds the file that states each value.

Cameras for rendering records are read in the same way, beside the configuration of a record.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any, TypeVar

from omegaconf import DictConfig

from unlatch.configs.composition import (
    Request,
    compose_config,
    to_plain,
)
from unlatch.configs.config_files import group_names
from unlatch.configs.dataclass_reader import check_chain_form, read_dataclass, wrong_type
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
        from unlatch.configs.user_files import explain_peer_task

        peer = explain_peer_task(request.overrides, request.config_dirs)
        from unlatch.configs.origins import explain_value

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
