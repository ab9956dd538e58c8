"""Turns errors of Hydra, OmegaConf and YAML into one line: what, where, got, expected, what to do."""

from __future__ import annotations

import dataclasses
import re
import shlex
from collections.abc import Sequence
from typing import Any, get_type_hints

from hydra.errors import ConfigCompositionException, MissingConfigException, OverrideParseException
from omegaconf import DictConfig, Node
from omegaconf.errors import (
    ConfigAttributeError,
    ConfigKeyError,
    InterpolationKeyError,
    InterpolationResolutionError,
    OmegaConfBaseException,
    ValidationError,
)
from yaml import MarkedYAMLError

from unlatch.configs.config_files import TASKS, broken_plugin_folders, default_option, group_names, yaml_files
from unlatch.configs.dataclass_reader import (
    list_item_type,
    type_error_of,
    unknown_value,
    write_as_list,
    wrong_type,
)
from unlatch.configs.schema import EpisodeCfg, split_optional
from unlatch.simcore.errors import ConfigError, close_matches, describe_choices, unknown_key

_IN_FILE = re.compile(r"In '([^']+)': ")
_NO_GROUP_CHOSEN = re.compile(r"You must specify '([^']+)'")
_NOT_OVERRIDDEN = re.compile(r"Could not override '([^']+)'")
_AMBIGUOUS = re.compile(r"Ambiguous value for argument '([^']+)'")
_MISPLACED_GROUP = re.compile(r"(?P<key>\w+)@(?P<group>\w+)\.(?P=key)\Z")
"""Hydra's name of a group that a file overrides if the file lacks the line `# @package _global_`."""
_HINT_OBJECT_INSTEAD = " Or name an object and what is to be done with it: object=NAME skill=open."

_LISTED_BY = {
    "camera": "unlatch list cameras",
    "disturb": "unlatch list disturbances",
    "executor": "unlatch list executors",
    "experiment": "unlatch list experiments",
    "launcher": "unlatch list launchers",
    "object": "unlatch list objects",
    "planner": "unlatch list planners",
    "randomization": "unlatch list randomizations",
    "robot": "unlatch list robots",
    "sensor": "unlatch list sensors",
    "task": "unlatch list tasks",
}
"""The command that prints the options of a group."""
_NOT_IN_KEYS = re.compile(r"[^A-Za-z0-9_.@/+~:\[\]-]")
_CONVERTED = re.compile(r"could not be converted to (\w+)")
_NO_MAPPING = re.compile(r"Merge error: \w+ is not a subclass of (?P<kind>\w+)\. value: (?P<value>[^\n]*)")
"""OmegaConf's message about a plain value in place of a dataclass; it does not name the key."""
_NO_MEMBER = re.compile(r"Invalid value '(?P<value>[^']*)', expected one of \[(?P<known>[^\]]*)\]")
"""OmegaConf's message about a value that is not one of an option's."""
_WORDS = {"Integer": "a whole number", "Float": "a number", "Boolean": "true or false", "String": "a text"}


def explain_error(exc: Exception, schema: type | None = None) -> ConfigError:
    """Returns a `ConfigError` that explains an error of Hydra, OmegaConf or YAML.

    `schema` is the dataclass of the whole configuration; None: it is not known.
    """
    text = str(exc)
    found = _IN_FILE.match(text)
    # a file with a group and a name was chosen or written by the user; the others are ours
    origin = f" (in {_name_file(found[1])})" if found and "/" in found[1] else ""
    inner = _innermost_error(exc)
    if isinstance(exc, MissingConfigException):
        return _explain_unknown_option(exc, origin)
    if isinstance(inner, OverrideParseException):
        return _explain_unreadable_override(inner)
    if isinstance(inner, MarkedYAMLError):
        return _explain_yaml_error(inner)
    if isinstance(inner, OmegaConfBaseException):
        return _explain_value_error(inner, origin, schema)
    if isinstance(exc, ConfigCompositionException):
        return _explain_composition_error(text, schema)
    return ConfigError(f"The configuration cannot be composed: {_join_lines(text)}")


def _name_file(path: str) -> str:
    """Returns how a message names a file, or a task of another distribution."""
    group, _, name = path.rpartition("/")
    if group == "task" and name in TASKS.names():
        entry = TASKS.entry(name)
        return f"task/{name} of {entry.origin}, {entry.target}"
    return f"{path}.yaml"


def _innermost_error(exc: BaseException) -> BaseException:
    """Returns the error of OmegaConf, YAML or the override parser that Hydra wrapped, or else the error itself."""
    kinds = (OmegaConfBaseException, MarkedYAMLError, OverrideParseException)
    seen: BaseException | None = exc
    while seen is not None and not isinstance(seen, kinds):
        seen = seen.__cause__ or seen.__context__
    return exc if seen is None else seen


def _explain_unknown_option(exc: MissingConfigException, origin: str) -> ConfigError:
    wanted = str(exc.missing_cfg_file or "")
    group, _, name = wanted.rpartition("/")
    options = [option for option in (exc.options or []) if not option.endswith("_schema")]
    broken = broken_plugin_folders()
    missing = f" Left out: {'; '.join(broken)}." if broken else ""
    own = ", or give your own folder: --config-dir FOLDER" if group == "task" else ""
    choices = describe_choices(name, options, listed_by=_LISTED_BY.get(group, ""), default=default_option(group) or "")
    return ConfigError(
        f"Unknown {group or 'configuration file'} '{name}'{origin}.{choices} Name one of them{own}.{missing}",
        key=group,
        available=sorted(options),
    )


def _explain_unreadable_override(exc: OverrideParseException) -> ConfigError:
    if re.fullmatch(r"[A-Za-z0-9_]+", exc.override or ""):
        is_task = exc.override in yaml_files("task")
        example = f"task={exc.override}." if is_task else f"{exc.override}=..."
        return ConfigError(
            f"'{exc.override}' cannot be read. Expected key=value, such as {example}", override=exc.override
        )
    if "=" not in (exc.override or ""):
        return ConfigError(f"'{exc.override}' cannot be read. Expected key=value.", override=exc.override)
    key = (exc.override or "").partition("=")[0]
    odd = sorted(set(_NOT_IN_KEYS.findall(key)))
    reason = (
        f"its key '{key}' has {', '.join(repr(character) for character in odd)}, which keys cannot have"
        if odd
        else "its value has unmatched brackets, braces or quotes, or a mapping in it has texts that need quotes"
    )
    return ConfigError(
        f"'{exc.override}' cannot be read: {reason}. Expected key=value; a text with commas, brackets or quotes in it "
        f"is written as {_quoted_word(key, 'a, b')}.",
        override=exc.override,
    )


def _quoted_word(key: str, value: str) -> str:
    """Returns an override of a text as it is typed in a shell, which takes one pair of the quotes away."""
    text = value.replace("'", "").replace('"', "")
    return shlex.quote(f'{key}="{text}"')


def _explain_yaml_error(exc: MarkedYAMLError) -> ConfigError:
    mark = exc.problem_mark
    place = f"'{mark.name}', line {mark.line + 1}, column {mark.column + 1}" if mark is not None else "a YAML file"
    return ConfigError(f"YAML error in {place}: {_join_lines(str(exc.problem or exc))}. Correct the file.")


def _explain_value_error(exc: OmegaConfBaseException, origin: str, schema: type | None) -> ConfigError:
    key = str(exc.full_key or exc.key or "")
    leaf = str(exc.key)
    if origin.startswith(" (in task/") and key == f"task.{leaf}" and leaf in _known_keys(EpisodeCfg):
        return ConfigError(
            f"'{leaf}' was read as {key}{origin}. Expected '# @package _global_' as the very first line of a task's "
            "file. Put it there.",
            key=key,
        )
    if isinstance(exc, ConfigKeyError | ConfigAttributeError) and leaf == "tasks" and origin.startswith(" (in task/"):
        return ConfigError(
            f"{key} is a list of tasks, as InternDataEngine writes it{origin}. Run `unlatch import FILE` with that "
            "file.",
            key=key,
        )
    if isinstance(exc, ConfigKeyError | ConfigAttributeError):
        there = exc.parent_node if isinstance(exc.parent_node, DictConfig) else ()
        known = _known_keys(exc.object_type) or [str(name) for name in there]
        error = unknown_key(key, leaf, known, listed_by="--cfg job")
    elif isinstance(exc, ValidationError) and (found := _NO_MAPPING.search(exc.msg or "")):
        error = _explain_missing_mapping(exc, found)
    elif isinstance(exc, ValidationError) and (found := _NO_MEMBER.search(exc.msg or "")):
        error = unknown_value(key, found["value"], found["known"].split(", "))
    elif isinstance(exc, ValidationError):
        value = exc.value._value() if isinstance(exc.value, Node) else exc.value
        error = _add_group_hint(_explain_wrong_type(exc, key, value, schema), [key], value)
    elif isinstance(exc, InterpolationKeyError | InterpolationResolutionError):
        reason = (exc.msg or "").partition("\n")[0]
        error = ConfigError(f"{key} refers to a key that does not exist: {_join_lines(reason)}. Correct the reference.")
    else:
        error = ConfigError(f"{key}: {_join_lines(exc.msg or str(exc))}. Change it.")
    return ConfigError(error.message + origin, **{"key": key, **error.values})


def _explain_unknown_group(key: str) -> ConfigError:
    """Explains an override of an unknown group, or of a group that this command does not have."""
    groups = group_names()
    if key in groups:
        return ConfigError(
            f"{key} is not available here: this command makes no run. Expected it with `collect` or `evaluate`. Remove "
            "it.",
            key=key,
        )
    return ConfigError(
        f"{key} is unknown.{close_matches(key, groups)} Expected a key of the configuration, which `--cfg job` shows, "
        f"or a group: {', '.join(groups)}. Rename it.",
        key=key,
    )


def _explain_missing_mapping(exc: ValidationError, found: re.Match[str]) -> ConfigError:
    """Explains a plain value in place of a mapping, mostly the name of a file: `robot: xarm6` in a task's YAML."""
    parent, value = str(exc.full_key or ""), found["value"].strip()
    kinds = get_type_hints(exc.object_type) if dataclasses.is_dataclass(exc.object_type) else {}
    names = [name for name, kind in kinds.items() if getattr(kind, "__name__", "") == found["kind"]]
    key = " or ".join(f"{parent}.{name}" if parent else name for name in names) or f"a {found['kind']}"
    return _add_group_hint(wrong_type(key, value, "a mapping"), names, value)


def _add_group_hint(error: ConfigError, names: Sequence[str], value: Any) -> ConfigError:
    """Adds how to choose a file of a group, if the value is the name of a file instead of its content."""
    if not isinstance(value, str) or not any(name in group_names() for name in names):
        return error
    how = f"To choose the file {value}, write `- override /{names[0]}: {value}` into `defaults`."
    return ConfigError(error.message.replace("Change it.", how), **error.values)


def _explain_composition_error(text: str, schema: type | None) -> ConfigError:
    if found := _NO_GROUP_CHOSEN.search(text):
        names = [line.strip() for line in text.splitlines() if line.startswith("\t")]
        names = [name for name in names if not name.endswith("_schema")]
        return ConfigError(
            f"{found[1]} is missing. Expected {found[1]}=NAME with one of: {', '.join(names)}."
            f"{_HINT_OBJECT_INSTEAD if found[1] == 'task' else ''}",
            key=found[1],
            available=names,
        )
    if found := _AMBIGUOUS.search(text):
        return explain_several_values(found[1], schema)
    if (found := _NOT_OVERRIDDEN.search(text)) and (read := _MISPLACED_GROUP.match(found[1])):
        return ConfigError(
            f"'{read['key']}' was read as a key of '{read['group']}'. Expected '# @package _global_' as the very first "
            f"line of the file that is chosen as {read['group']}. Put it there.",
            key=read["key"],
        )
    if found := _NOT_OVERRIDDEN.search(text):
        return _explain_unknown_group(found[1])
    return ConfigError(f"The configuration cannot be composed: {_join_lines(text)}")


def explain_several_values(override: str, schema: type | None) -> ConfigError:
    """Returns the error of an override such as `only=1,2` without `-m`; a key of a list is shown as `only=[1,2]`."""
    key, _, value = override.partition("=")
    hint, _ = split_optional(_find_type(schema, key))
    if list_item_type(hint) is not None:
        advice = f"{key} is a list: write {write_as_list(key, value)}."
    else:
        advice = "Give one. `unlatch collect -m` and `evaluate -m` run several one after the other."
        if hint is None and key not in group_names():
            advice += f" For a list write {write_as_list(key, value)}."
        if hint is str:
            advice += f" For a text with commas write {_quoted_word(key, value)}."
    return ConfigError(f"'{override}' has several values. {advice}", key=key, override=override)


def _find_type(schema: type | None, key: str) -> Any:
    """Returns the type of a key of a dataclass; None if it is not known, as inside of lists."""
    hint: Any = schema
    for name in key.split("."):
        inner, _ = split_optional(hint)
        if not (isinstance(inner, type) and dataclasses.is_dataclass(inner)):
            return None
        hint = get_type_hints(inner).get(name)
    return hint


def _known_keys(object_type: Any) -> list[str]:
    if isinstance(object_type, type) and dataclasses.is_dataclass(object_type):
        return [item.name for item in dataclasses.fields(object_type)]
    return []


def _explain_wrong_type(exc: ValidationError, key: str, value: Any, schema: type | None) -> ConfigError:
    hint = _find_type(schema, key) or _find_type(exc.object_type, str(exc.key))
    if hint is not None:
        return type_error_of(key, value, hint)
    found = _CONVERTED.search(exc.msg or "")
    return wrong_type(key, value, _WORDS.get(found[1], "another type") if found else "another type")


def _join_lines(text: str) -> str:
    return " ".join(text.split()).rstrip(".")
