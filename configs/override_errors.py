"""Explains in one line what Hydra, OmegaConf and YAML cannot read: what, where, got, expected.

It also changes values inside of lists, which Hydra's overrides cannot name.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from pathlib import Path

from hydra.core.override_parser.types import Override, ValueType
from hydra.errors import ConfigCompositionException, MissingConfigException, OverrideParseException
from omegaconf import DictConfig, ListConfig, OmegaConf
from omegaconf.errors import (
    ConfigAttributeError,
    ConfigKeyError,
    InterpolationKeyError,
    InterpolationResolutionError,
    OmegaConfBaseException,
)
from yaml import MarkedYAMLError

from unlatch.configs.config_files import broken_plugin_folders, group_names
from unlatch.configs.dataclass_reader import find_type, list_item_type, split_optional, write_as_list
from unlatch.configs.group_files import default_option, yaml_files
from unlatch.simcore.errors import ConfigError, close_matches, describe_choices, unknown_key

_IN_FILE = re.compile(r"In '([^']+)': ")
_NO_GROUP_CHOSEN = re.compile(r"You must specify '([^']+)'")
_NOT_OVERRIDDEN = re.compile(r"Could not override '([^']+)'")
_AMBIGUOUS = re.compile(r"Ambiguous value for argument '([^']+)'")
_MISPLACED_GROUP = re.compile(r"(?P<key>\w+)@(?P<group>\w+)\.(?P=key)\Z")
"""Hydra's name of a group that a file overrides if the file lacks the line `# @package _global_`."""
_HINT_OBJECT_INSTEAD = " Or name an object and what is to be done with it: object=NAME skill=open."


_LISTED = (
    *("camera", "executor", "experiment", "images", "launcher"),
    *("object", "planner", "randomization", "robot", "sensor", "stand", "task"),
)
_LISTED_BY = {
    **{group: f"unlatch list {group}s" for group in _LISTED},
    "disturb": "unlatch list disturbances",
    "images": "unlatch list images",
}
"""The command that prints the options of a group."""
_DERIVED_LISTS = ("images.cameras", "cameras")
"""Keys whose lists are derived from other keys if they are not given."""
_LISTS = frozenset({"skills", "objects", "arms", "regions", "relations", "openness", "goal", "sensors", "cameras"}) | {
    *("constraint_list", "cost_list", "rules", "views", "tendons"),
}
"""Keys whose values are lists of entries."""
_NOT_IN_KEYS = re.compile(r"[^A-Za-z0-9_.@/+~:\[\]-]")


def explain_error(exc: Exception, schema: type | None = None) -> ConfigError:
    """Returns a `ConfigError` that explains an error of Hydra, OmegaConf or YAML.

    `schema` is the dataclass of the whole configuration; None: it is not known.
    """
    text = str(exc)
    found = _IN_FILE.match(text)
    # a file with a group and a name was chosen or written by the user; the others are ours
    origin = f" (in {found[1]}.yaml)" if found and "/" in found[1] else ""
    inner = _innermost_error(exc)
    if isinstance(exc, MissingConfigException):
        return _explain_unknown_option(exc, origin)
    if isinstance(inner, OverrideParseException):
        return _explain_unreadable_override(inner)
    if isinstance(inner, MarkedYAMLError):
        mark = inner.problem_mark
        place = f"'{mark.name}', line {mark.line + 1}, column {mark.column + 1}" if mark is not None else "a YAML file"
        return ConfigError(f"YAML error in {place}: {_join_lines(str(inner.problem or inner))}. Correct the file.")
    if isinstance(inner, OmegaConfBaseException):
        return _explain_value_error(inner, origin)
    if isinstance(exc, ConfigCompositionException):
        return _explain_composition_error(text, schema)
    return ConfigError(f"The configuration cannot be composed: {_join_lines(text)}")


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
    for folder in (Path(), Path("configs")):
        file = folder / group / f"{name}.yaml"
        if group and file.is_file():
            advice = f"There is {file}: add --config-dir {folder}."
            return ConfigError(
                f"Unknown {group} '{name}'{origin}. {advice}{missing}", key=group, available=sorted(options)
            )
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


def _explain_value_error(exc: OmegaConfBaseException, origin: str) -> ConfigError:
    key = str(exc.full_key or exc.key or "")
    reason = _join_lines((exc.msg or str(exc)).partition("\n")[0])
    if isinstance(exc, ConfigKeyError | ConfigAttributeError):
        there = exc.parent_node if isinstance(exc.parent_node, DictConfig) else ()
        error = unknown_key(key, str(exc.key), [str(name) for name in there], listed_by="--cfg job")
    elif isinstance(exc, InterpolationKeyError | InterpolationResolutionError):
        error = ConfigError(f"{key} refers to a key that does not exist: {reason}. Correct the reference.")
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


def _explain_composition_error(text: str, schema: type | None) -> ConfigError:
    if found := _NO_GROUP_CHOSEN.search(text):
        names = [line.strip() for line in text.splitlines() if line.startswith("\t")]
        names = [name for name in names if not name.endswith("_schema")]
        return ConfigError(
            f"{found[1]} is missing. Expected {found[1]}=NAME."
            f"{describe_choices('', names, listed_by=_LISTED_BY.get(found[1], ''))}"
            f"{_HINT_OBJECT_INSTEAD if found[1] == 'task' else ''}",
            key=found[1],
            available=names,
        )
    if found := _AMBIGUOUS.search(text):
        return explain_several_values(found[1].lstrip("+"), schema)
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
    hint, _ = split_optional(find_type(schema, key))
    if list_item_type(hint) is not None:
        advice = f"{key} is a list: write {write_as_list(key, value)}."
    else:
        advice = "Give one. `unlatch collect -m` and `evaluate -m` run several one after the other."
        if hint is None and key not in group_names():
            advice += f" For a list write {write_as_list(key, value)}."
        if hint is str:
            advice += f" For a text with commas write {_quoted_word(key, value)}."
    return ConfigError(f"'{override}' has several values. {advice}", key=key, override=override)


def _join_lines(text: str) -> str:
    return " ".join(text.split()).rstrip(".")


def apply_list_override(cfg: DictConfig, override: Override) -> None:
    """Changes, adds or removes a value inside a list of the composed configuration; the key has an index.

    Raises:
        ConfigError: The list has no such index, or several values are given.
    """
    key = override.key_or_group
    parts = key.split(".")
    for index, part in enumerate(parts):
        if not part.isdigit():
            continue
        parent = ".".join(parts[:index])
        node = OmegaConf.select(cfg, parent)
        if node is None and parent in _DERIVED_LISTS:
            raise ConfigError(
                f"{parent} is not given, so {key} has no entry to change. Expected names first. Add {parent}=[front].",
                key=key,
            )
        if node is None:
            above, _, last = parent.rpartition(".")
            known = OmegaConf.select(cfg, above) if above else cfg
            if isinstance(known, DictConfig) and last not in known:
                raise unknown_key(parent, last, [str(name) for name in known])
        if not isinstance(node, ListConfig):
            raise ConfigError(
                f"{parent} is not a list. Expected one of its keys instead of '{part}' in {key}.", key=key
            )
        if int(part) == len(node) and override.is_add() and index == len(parts) - 1:
            node.append(override.value())
            return
        if int(part) >= len(node):
            raise ConfigError(
                f"{parent}[{part}] is out of range. {parent} has {_list_entries(node)}. Name one of them, or add one "
                f"with +{parent}.{len(node)}=...",
                key=key,
            )
    if override.is_delete():
        parent, _, last = key.rpartition(".")
        node = OmegaConf.select(cfg, parent)
        OmegaConf.set_struct(cfg, False)
        if isinstance(node, ListConfig):
            del node[int(last)]
        elif isinstance(node, DictConfig) and last in node:
            del node[last]
        else:
            raise ConfigError(f"~{key} does not exist and cannot be removed. Check the key.", key=key)
        return
    if override.value_type not in (ValueType.ELEMENT, None):
        raise explain_several_values(override.input_line or key, None)
    OmegaConf.update(cfg, key, override.value(), merge=True, force_add=True)


def explain_list_error(overrides: Sequence[str], exc: Exception) -> ConfigError:
    """Explains an override with a word in place of a list index, which Hydra cannot apply."""
    for text in overrides:
        parts = text.partition("=")[0].lstrip("+~").split(".")
        for name in _LISTS.intersection(parts[:-1]):
            word = parts[parts.index(name) + 1]
            key = ".".join(parts[: parts.index(name) + 1])
            return ConfigError(
                f"{text.removeprefix('++')}: {key} is a list, and '{word}' is not an index. "
                f"Expected a number, from 0: {key}.0...",
                key=key,
            )
        if not all(parts):
            return ConfigError(f"'{text}' cannot be read. Expected key=value. Name the key.", key=text)
    return ConfigError(f"The configuration cannot be composed: {' '.join(str(exc).split())}. Check the overrides.")


def _list_entries(entries: ListConfig) -> str:
    """Returns how many entries a list has, and what each is: `1 entry (0: open)`."""
    named = [
        f"{index}: {name}"
        for index, entry in enumerate(entries)
        if isinstance(entry, DictConfig) and (name := entry.get("name") or entry.get("object"))
    ]
    count = "1 entry" if len(entries) == 1 else f"{len(entries)} entries"
    return f"{count} ({', '.join(named)})" if named else f"{count}, counted from 0"
