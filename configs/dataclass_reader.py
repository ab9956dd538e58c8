"""Reads plain values into dataclasses of configuration; every mistake is a `ConfigError` with the full key."""

from __future__ import annotations

import dataclasses
import math
import re
import types
from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from unlatch.configs.chain import flat_entries
from unlatch.simcore.errors import ConfigError, UnknownEntryError, close_matches, unknown_key
from unlatch.simcore.missing_value import MISSING
from unlatch.simcore.sim.sensors.catalog import SENSORS
from unlatch.simcore.sim.sensors.config import SensorCfg
from unlatch.skills.catalog import SKILLS
from unlatch.skills.contract.config import SkillCfg
from unlatch.solver.settings.reader import read_planner_setting
from unlatch.solver.settings.setting import PlannerSettingCfg

T = TypeVar("T")

_SCALARS: dict[Any, Any] = {bool: bool, int: int, float: int | float, str: str | int | float}
"""Types of YAML values that each type accepts; a text may be an id such as 7304, which YAML reads as a number."""
_MOST_EXACT = 2.0**53
"""From here on, a float does not hold every whole number."""
_NUMBER = re.compile(r"[-+]?[0-9]+(\.[0-9]*)?([eE][-+]?[0-9]+)?")
_BOOLEANS = {
    **dict.fromkeys(("true", "yes", "y", "on", "1"), True),
    **dict.fromkeys(("false", "no", "n", "off", "0"), False),
}
"""What people write for true and false."""
_WORDS = {bool: "true or false", int: "a whole number", float: "a number", str: "a text", Any: "a value"}


def read_dataclass(cls: type[T], raw: Any, *, where: str, notices: list[str] | None = None) -> T:
    """Builds a dataclass of configuration from plain mappings, lists, numbers and texts, as in YAML.

    `where` is the full key of `raw`, empty for the root. `notices` receives one line for each value in an older form
    that was rewritten.

    Raises:
        ConfigError: A key is unknown or missing, or a value is of the wrong type or out of range.
    """
    if not isinstance(raw, Mapping):
        raise wrong_type(where, raw, "a mapping")
    hints = get_type_hints(cls)
    fields = {item.name: item for item in dataclasses.fields(cls) if item.init}  # type: ignore[arg-type]
    # a key may be a word that cannot be the name of a field, such as `from`
    words = {name: item.metadata.get("key", name) for name, item in fields.items()}
    known = {words[name]: item for name, item in fields.items()}
    raw = {words.get(key, key): value for key, value in raw.items()}
    for key in raw:
        if key not in known:
            raise unknown_key(_join_key(where, str(key)), str(key), list(known))
    values = {}
    for name, item in known.items():
        key = _join_key(where, name)
        hint = hints[item.name]
        if name in raw and raw[name] != MISSING:
            values[item.name] = _read_value(hint, raw[name], key, notices)
        elif item.default_factory is hint:
            values[item.name] = _read_value(hint, {}, key, notices)  # raises if a required key is missing in it
        elif item.default == MISSING or (
            name not in raw and item.default is item.default_factory is dataclasses.MISSING
        ):
            raise ConfigError(
                f"{key} is missing. Expected {describe_type(hint)}. Give it in the YAML or as {key}=... "
                "on the command line.",
                key=key,
            )
    try:
        return cls(**values)
    except ConfigError as exc:
        raise _add_place(exc, where, cls) from exc


def to_values(cfg: Any) -> Any:
    """Returns a dataclass of configuration as plain mappings, lists, numbers and texts, see `read_dataclass`."""
    if dataclasses.is_dataclass(cfg):
        fields = [item for item in dataclasses.fields(cfg) if item.init]
        return {str(item.metadata.get("key", item.name)): to_values(getattr(cfg, item.name)) for item in fields}
    if isinstance(cfg, Enum):
        return cfg.name
    if isinstance(cfg, Mapping):
        return {key: to_values(value) for key, value in cfg.items()}
    return [to_values(item) for item in cfg] if isinstance(cfg, list | tuple) else cfg


def wrong_type(where: str, value: Any, expected: str, *, advice: str = "Change it.") -> ConfigError:
    """Returns the error of a value of the wrong type."""
    return ConfigError(
        f"{where}={_format_value(value)} has the wrong type. Expected {expected}. {advice}", key=where, value=value
    )


def type_error_of(where: str, value: Any, hint: Any) -> ConfigError:
    """Returns the error of a value that does not have a type of a dataclass.

    It shows how a list is written that was given as a text, and a whole number that was given as `1e3` or `3.0`.
    """
    if split_optional(hint)[0] is int and isinstance(value, float) and value.is_integer() and abs(value) < _MOST_EXACT:
        return wrong_type(where, value, describe_type(hint), advice=f"Write {where}={value:.0f}.")
    inner = list_item_type(hint)
    is_plain = inner in _SCALARS or inner in (Any, SensorCfg) or (isinstance(inner, type) and issubclass(inner, Enum))
    if not is_plain or not isinstance(value, str | int | float):
        return wrong_type(where, value, describe_type(hint))
    return wrong_type(where, value, describe_type(hint), advice=f"Write {write_as_list(where, value)}.")


def list_item_type(hint: Any) -> Any:
    """Returns the type of the items of a type that is a list, or a list or None; else None."""
    hint, _ = split_optional(hint)
    return get_args(hint)[0] if get_origin(hint) is list else None


def write_as_list(key: str, value: Any) -> str:
    """Returns `key=[a,b]` for a value that was written as `a,b`."""
    return f"{key}=[{','.join(part.strip() for part in str(value).split(','))}]"


def unknown_value(where: str, value: Any, known: list[str]) -> ConfigError:
    """Returns the error of a value that is not one of the known ones."""
    return ConfigError(
        f"{where}={value!r} is unknown.{close_matches(str(value), known)} Expected one of {', '.join(known)}.",
        key=where,
        available=known,
    )


def split_optional(hint: Any) -> tuple[Any, bool]:
    """Removes None from a type; returns the remaining type and whether None was in it."""
    if get_origin(hint) in (Union, types.UnionType):
        rest = [arg for arg in get_args(hint) if arg is not type(None)]
        if len(rest) == 1:
            return rest[0], len(rest) < len(get_args(hint))
    return hint, hint is Any


def describe_type(hint: Any) -> str:
    """Returns a type as text for messages."""
    hint, optional = split_optional(hint)
    suffix = " or null" if optional and hint is not Any else ""
    if isinstance(hint, type) and issubclass(hint, Enum):
        return "one of " + ", ".join(member.name for member in hint) + suffix
    return _WORDS.get(hint, "a list" if get_origin(hint) is list else "a mapping") + suffix


def _read_value(hint: Any, value: Any, where: str, notices: list[str] | None) -> Any:
    declared = hint
    hint, optional = split_optional(declared)
    if hint is Any or (value is None and optional):
        return value
    if hint is PlannerSettingCfg:
        setting, lines = read_planner_setting(value, where=where)
        if notices is not None:
            notices.extend(lines)
        return setting
    if hint is SensorCfg:
        hint = _sensor_cfg_type(value, where)
    if hint is SkillCfg:
        hint = _skill_cfg_type(value, where)
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        return read_dataclass(hint, value, where=where, notices=notices)
    if get_origin(hint) is list:
        if not isinstance(value, list):
            raise type_error_of(where, value, declared)
        (inner,) = get_args(hint)
        if inner is SkillCfg:
            return [_read_value(inner, item, place, notices) for place, item in flat_entries(value, where)]
        return [_read_value(inner, item, f"{where}[{index}]", notices) for index, item in enumerate(value)]
    if get_origin(hint) is dict:
        if not isinstance(value, Mapping):
            raise wrong_type(where, value, "a mapping")
        inner = get_args(hint)[1]
        return {str(key): _read_value(inner, item, f"{where}.{key}", notices) for key, item in value.items()}
    if isinstance(hint, type) and issubclass(hint, Enum):
        return _read_enum(hint, value, where)
    if hint not in _SCALARS:
        raise ConfigError(f"{where} has an unsupported type: {hint}.", key=where)
    return _read_scalar(declared, value, where)


def _sensor_cfg_type(value: Any, where: str) -> type[SensorCfg]:
    """Returns the dataclass of an entry of `sensors` by its `type`."""
    name = value.get("type", MISSING) if isinstance(value, Mapping) else MISSING
    if name == MISSING:
        return SensorCfg  # reading it raises: its type is missing
    try:
        sensor = SENSORS.load(_read_scalar(str, name, _join_key(where, "type")))
    except UnknownEntryError as exc:
        raise ConfigError(f"{where}.type: {exc.message}", key=f"{where}.type", **exc.values) from exc
    return sensor.cfg_type


def _skill_cfg_type(value: Any, where: str) -> type[SkillCfg]:
    """Returns the dataclass of an entry of `skills` by its `name`."""
    name = value.get("name", MISSING) if isinstance(value, Mapping) else MISSING
    if not isinstance(name, str) or name == MISSING:
        return SkillCfg  # reading it raises: its name is missing or no text
    try:
        return SKILLS.load(name).cfg_type
    except UnknownEntryError as exc:  # before its keys, which only its own dataclass knows
        raise ConfigError(f"{where}.name: {exc.message}", key=f"{where}.name", **exc.values) from exc


def _read_enum(hint: type[Enum], value: Any, where: str) -> Enum:
    if isinstance(value, hint):
        return value
    known = [member.name for member in hint]
    if isinstance(value, bool):
        value = "on" if value else "off"  # as YAML 1.1 reads these two words
    if value not in known:
        raise unknown_value(where, value, known)
    return hint[value]


def _read_scalar(declared: Any, value: Any, where: str) -> Any:
    hint, _ = split_optional(declared)
    if hint is bool and isinstance(value, str | int):
        value = _BOOLEANS.get(str(value).lower(), value)
    if hint in (int, float) and isinstance(value, str) and _NUMBER.fullmatch(value):
        value = int(value) if value.lstrip("+-").isdigit() else float(value)  # YAML 1.1 reads `1e3` as a text
    if not isinstance(value, _SCALARS[hint]) or (isinstance(value, bool) and hint is not bool):
        raise type_error_of(where, value, declared)
    if hint is float and not math.isfinite(value):
        raise ConfigError(f"{where}={value} is out of range. Expected a finite number. Change it.", key=where)
    return hint(value)


def _add_place(exc: ConfigError, where: str, cls: type) -> ConfigError:
    """Adds the full key to an error; the class that raised it does not know where it is."""
    own = cls.__name__.removesuffix("Cfg").lower() + "."
    if where.endswith("]") and exc.message.startswith(own):  # a list entry does not know its index
        full = re.compile(rf"(?<![\w.-]){re.escape(own)}")
        key = full.sub(f"{where}.", str(exc.values.get("key", where)))
        return ConfigError(full.sub(f"{where}.", exc.message), **{**exc.values, "key": key})
    if not where or exc.message.startswith(where.split("[")[0].split(".")[0]):
        return exc
    last = where.rpartition(".")[2]
    if exc.message.startswith(f"{last}."):
        return ConfigError(where + exc.message[len(last) :], **exc.values)
    return ConfigError(f"{where}: {exc.message}", **exc.values)


def prefix_error_keys(where: str, exc: ConfigError, *, keys: Iterable[str]) -> ConfigError:
    """Returns an error that names the keys of a part of a larger configuration with their prefix `where`."""
    full = re.compile(rf"(?<![\w./'-])(?=(?:{'|'.join(map(re.escape, keys))})(?:[\[.=:]|$))")
    key = full.sub(f"{where}.", str(exc.values.get("key", "")))
    return ConfigError(full.sub(f"{where}.", exc.message), **{**exc.values, "key": key})


def _format_value(value: Any) -> str:
    """Returns a value as in YAML, or its kind for mappings and lists."""
    if isinstance(value, Mapping):
        return "a mapping"
    if isinstance(value, list | tuple):
        return "a list"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return repr(value)


def _join_key(where: str, key: str) -> str:
    return f"{where}.{key}" if where else key
