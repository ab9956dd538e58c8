"""Reads plain values into dataclasses of configuration; every mistake is a `ConfigError` with the full key.

The list `skills` has two forms: entries, or a robot's stages with a list of entries for each arm, as in
`{<robot>: [{left: [entry, ...], right: [entry, ...]}, ...]}`. The lists of one mapping run at the same time, the
mappings one after the other. The second form is converted into entries with `arm` and `stage`.
"""

from __future__ import annotations

import dataclasses
import math
import re
import types
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from unlatch.robots.catalog import ROBOTS
from unlatch.simcore.errors import MISSING, ConfigError, UnknownEntryError, close_matches, unknown_entry, unknown_key
from unlatch.simcore.registry import Catalog
from unlatch.simcore.sim.sensors.config import SENSORS, SensorCfg
from unlatch.skills.catalog import SKILLS
from unlatch.skills.config import SkillCfg
from unlatch.solver.setting import PlannerSettingCfg
from unlatch.solver.setting_reader import read_planner_setting

_INDEX = re.compile(r"\[(\d+)\]")


def refuse_repeated_keys(overrides: Sequence[str], *, advice: str = "Remove one.") -> None:
    """Raises an error if two overrides `key=value` have the same key; words without `=` and `~key` are skipped.

    Raises:
        ConfigError: A key is given twice.
    """
    given: dict[str, str] = {}
    for text in overrides:
        name, equals, _ = text.partition("=")
        if not equals or name.startswith(("~", "-")):
            continue
        key = _INDEX.sub(r".\1", name.lstrip("+"))
        if key in given:
            raise ConfigError(f"{key} is given twice: {given[key]} and {text}. Expected one value. {advice}", key=key)
        given[key] = text


_ENTRY_KEYS = frozenset(item.name for item in dataclasses.fields(SkillCfg))
"""Keys of an entry."""


def check_chain_form(plain: Mapping[str, Any]) -> None:
    """Checks the robots and arms that the stages of a plain configuration name.

    Raises:
        ConfigError: It names another robot or an unknown arm, or a value is not a list.
    """
    skills, robot = plain.get("skills"), plain.get("robot")
    if not isinstance(skills, list) or not isinstance(robot, Mapping):
        return  # reading it reports the wrong type
    raw_arms = robot.get("arms")
    arms = [str(arm.get("name")) for arm in raw_arms if isinstance(arm, Mapping)] if isinstance(raw_arms, list) else []
    lists = [index for index, item in enumerate(skills) if _is_stages(item)]
    for index, item in enumerate(skills):
        if index in lists[1:]:
            raise ConfigError(
                f"skills[{index}] is a second list of stages. Expected one for the robot. Append its stages to those "
                f"of skills[{lists[0]}].",
                key=f"skills[{index}]",
            )
        if index in lists:
            _check_names(f"skills[{index}]", item, str(robot.get("name")), arms)
        elif isinstance(item, Mapping) and item.get("stage") is not None:
            raise ConfigError(
                f"skills[{index}].stage={item['stage']} is given. Expected no number. Write entries that run at the "
                "same time as "
                f"{{{robot.get('name')}: [{{{arms[0] if arms else 'left'}: [...]}}]}}. Remove it.",
                key=f"skills[{index}].stage",
            )


def flat_entries(raw: Sequence[Any], where: str) -> list[tuple[str, Any]]:
    """Returns every entry of a chain with its full key, in order; entries of stages get `arm` and `stage`."""
    found: list[tuple[str, Any]] = []
    for index, item in enumerate(raw):
        place = f"{where}[{index}]"
        if not _is_stages(item):
            found.append((place, item))
            continue
        for key, number, arm, entry in _stage_entries(place, item):
            found.append((key, {**entry, "arm": arm, "stage": number} if isinstance(entry, Mapping) else entry))
    return found


def entry_keys(chain: Sequence[SkillCfg], robot: str) -> list[str]:
    """Returns the full key of every entry of a chain in the YAML."""
    keys: list[str] = []
    staged = next((index for index, entry in enumerate(chain) if entry.stage is not None), 0)
    counts: dict[tuple[int, str | None], int] = {}
    index = 0
    for entry in chain:
        if entry.stage is None:
            keys.append(f"skills[{index}]")
            index += 1
            continue
        if not counts:
            index += 1
        count = counts.get((entry.stage, entry.arm), 0)
        counts[entry.stage, entry.arm] = count + 1
        keys.append(f"skills[{staged}].{robot}[{entry.stage}].{entry.arm}[{count}]")
    return keys


def _is_stages(item: Any) -> bool:
    """Whether an item of `skills` is a robot's list of stages, not an entry."""
    if not isinstance(item, Mapping) or _ENTRY_KEYS & {str(key) for key in item}:
        return False
    return any(isinstance(value, list | Mapping) for value in item.values())


def _stage_entries(place: str, item: Mapping[str, Any]) -> Iterator[tuple[str, int, str, Any]]:
    """Yields full key, stage number, arm and entry of every entry of a robot's stages."""
    for robot, stages in item.items():
        key = f"{place}.{robot}"
        _check_filled(key, stages, list, "a list of mappings from arms to lists of entries")
        for number, stage in enumerate(stages):
            _check_filled(f"{key}[{number}]", stage, Mapping, "a mapping from arms to lists of entries")
            for arm, entries in stage.items():
                _check_filled(f"{key}[{number}].{arm}", entries, list, "a list of entries")
                for count, entry in enumerate(entries):
                    yield f"{key}[{number}].{arm}[{count}]", number, str(arm), entry


def _check_filled(key: str, value: Any, kind: type, expected: str) -> None:
    if not isinstance(value, kind) or not value:
        what = "is empty" if isinstance(value, kind) else "has the wrong type"
        raise ConfigError(f"{key} {what}. Expected {expected}. Change it.", key=key)


def _check_names(place: str, item: Mapping[str, Any], robot: str, arms: Sequence[str]) -> None:
    for name, stages in item.items():
        if name == robot:
            continue
        listed = stages if isinstance(stages, list) else []
        needed = {str(arm) for stage in listed if isinstance(stage, Mapping) for arm in stage}
        if name in ROBOTS.names() and needed - set(arms):
            raise ConfigError(
                f"{place}.{name} uses the arms {', '.join(sorted(needed))} at the same time, '{robot}' has only "
                f"{', '.join(arms)}. Expected a robot with all of them. Set robot={name}.",
                key=f"{place}.{name}",
                available=list(arms),
            )
        raise ConfigError(
            f"{place}.{name} is not the robot of this episode.{close_matches(str(name), [robot])} Expected '{robot}'. "
            f"Rename it, or set robot={name}.",
            key=f"{place}.{name}",
            available=[robot],
        )
    for key, number, arm, entry in _stage_entries(place, item):
        if arm not in arms:
            where = f"{place}.{robot}[{number}].{arm}"
            said = f"{where} is not an arm of '{robot}'."
            raise unknown_entry(said, arm, arms, error=ConfigError, heading="Arms", advice="Rename it.", key=where)
        if isinstance(entry, Mapping) and entry.get("arm") not in (None, arm):
            raise ConfigError(
                f"{key}.arm='{entry['arm']}' contradicts its list, which is that of '{arm}'. Remove it.",
                key=f"{key}.arm",
            )


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
            _check_count(hint, item, raw[name], key)
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


def _check_count(hint: Any, item: dataclasses.Field[Any], value: Any, where: str) -> None:
    """Raises for one number where several belong, as many as the default has; the message shows them as a list."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if list_item_type(hint) is not float or not callable(item.default_factory) or not is_number:
        return
    count = len(item.default_factory())
    if count > 1:
        advice = f"Write {write_as_list(where, ','.join([str(value)] * count))}."
        raise wrong_type(where, value, f"a list of {count} numbers", advice=advice)


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
    is_no_number = isinstance(value, bool) and inner in (int, float)
    if not is_plain or is_no_number or not isinstance(value, str | int | float):
        return wrong_type(where, value, describe_type(hint))
    return wrong_type(where, value, describe_type(hint), advice=f"Write {write_as_list(where, value)}.")


def list_item_type(hint: Any) -> Any:
    """Returns the type of the items of a type that is a list, or a list or None; else None."""
    hint, _ = split_optional(hint)
    return get_args(hint)[0] if get_origin(hint) is list else None


def write_as_list(key: str, value: Any) -> str:
    """Returns `key=[a,b]` for a value that was written as `a,b`."""
    return f"{key}=[{','.join(part.strip() for part in str(value).split(','))}]"


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
        hint = _chosen_type(value, where, "type", SENSORS, SensorCfg)
    if hint is SkillCfg:
        hint = _chosen_type(value, where, "name", SKILLS, SkillCfg)
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


def _chosen_type(value: Any, where: str, key: str, catalog: Catalog, base: type) -> Any:
    """Returns the dataclass of an entry of `sensors` or `skills` by the value of a key; `base`, where it is no name.

    Reading `base` then raises: the name is missing, or is no text.
    """
    name = value.get(key, MISSING) if isinstance(value, Mapping) else MISSING
    if not isinstance(name, str | int | float) or isinstance(name, bool) or name == MISSING:
        return base
    try:
        return catalog.load(str(name)).cfg_type
    except UnknownEntryError as exc:  # before its keys, which only its own dataclass knows
        raise ConfigError(f"{where}.{key}: {exc.message}", key=f"{where}.{key}", **exc.values) from exc


def _read_enum(hint: type[Enum], value: Any, where: str) -> Enum:
    if isinstance(value, hint):
        return value
    known = [member.name for member in hint]
    if isinstance(value, bool):
        value = "on" if value else "off"  # as YAML 1.1 reads these two words
    if value not in known:
        raise ConfigError(
            f"{where}={value!r} is unknown.{close_matches(str(value), known)} Expected one of {', '.join(known)}.",
            key=where,
            available=known,
        )
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


def find_type(schema: type | None, key: str) -> Any:
    """Returns the type of a key of a dataclass; None if it is not known, as inside of lists."""
    hint: Any = schema
    for name in key.split("."):
        inner, _ = split_optional(hint)
        if not (isinstance(inner, type) and dataclasses.is_dataclass(inner)):
            return None
        hint = get_type_hints(inner).get(name)
    return hint
