"""Reads overrides of the command line, and explains what Hydra cannot read in one line: what, where, got, expected."""

from __future__ import annotations

import dataclasses
import re
import shlex
from collections.abc import Sequence
from dataclasses import fields
from typing import Any, get_type_hints

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override, ValueType
from hydra.errors import ConfigCompositionException, HydraException, MissingConfigException, OverrideParseException
from omegaconf import DictConfig, ListConfig, OmegaConf
from omegaconf.errors import (
    ConfigAttributeError,
    ConfigKeyError,
    InterpolationKeyError,
    InterpolationResolutionError,
    OmegaConfBaseException,
)
from yaml import MarkedYAMLError

from unlatch.configs.config_files import broken_plugin_folders, default_option, group_names, option_names, yaml_files
from unlatch.configs.dataclass_reader import list_item_type, split_optional, write_as_list
from unlatch.simcore.errors import ConfigError, close_matches, describe_choices, unknown_key

_IN_FILE = re.compile(r"In '([^']+)': ")
_NO_GROUP_CHOSEN = re.compile(r"You must specify '([^']+)'")
_NOT_OVERRIDDEN = re.compile(r"Could not override '([^']+)'")
_AMBIGUOUS = re.compile(r"Ambiguous value for argument '([^']+)'")
_MISPLACED_GROUP = re.compile(r"(?P<key>\w+)@(?P<group>\w+)\.(?P=key)\Z")
"""Hydra's name of a group that a file overrides if the file lacks the line `# @package _global_`."""
_HINT_OBJECT_INSTEAD = " Or name an object and what is to be done with it: object=NAME skill=open."

_LISTED = (
    *("camera", "executor", "experiment", "launcher", "object", "planner", "randomization", "robot", "sensor", "task"),
)
_LISTED_BY = {**{group: f"unlatch list {group}s" for group in _LISTED}, "disturb": "unlatch list disturbances"}
"""The command that prints the options of a group."""
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
            f"{found[1]} is missing. Expected {found[1]}=NAME with one of: {', '.join(names)}."
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


def find_type(schema: type | None, key: str) -> Any:
    """Returns the type of a key of a dataclass; None if it is not known, as inside of lists."""
    hint: Any = schema
    for name in key.split("."):
        inner, _ = split_optional(hint)
        if not (isinstance(inner, type) and dataclasses.is_dataclass(inner)):
            return None
        hint = get_type_hints(inner).get(name)
    return hint


def _join_lines(text: str) -> str:
    return " ".join(text.split()).rstrip(".")


_KEY = re.compile(r"(?P<prefix>\+{0,2}|~)(?P<key>[^=]*)(?P<rest>(=.*)?)\Z", re.DOTALL)
_SIMPLE = re.compile(r"=[A-Za-z0-9_./:-]*\Z")
"""Values that Hydra can read, without trying it."""
_BRACKETS = {"[": "]", "{": "}", "(": ")"}
_OPENING = "[{'\""
"""What a list, a mapping or a text in quotes begins with."""
_INDEX = re.compile(r"\[(\d+)\]")
_LISTS = frozenset({"skills", "objects", "arms", "regions", "relations", "openness", "goal", "sensors", "cameras"}) | {
    *("constraint_list", "cost_list", "rules", "views", "tendons"),
}
"""Keys whose values are lists of entries."""
_IMAGE_CAMERAS = "images.cameras"
_DERIVED_LISTS = frozenset({_IMAGE_CAMERAS})
"""Keys whose lists are derived from other keys if they are not given."""
_REQUEST_KEYS = ("skill", "part", "openness")
"""Keys of the command line that derive a task from an object, beside those of the configuration."""
_NAMES_BY_OURS = {
    _IMAGE_CAMERAS: "cameras",
    "episodes": "count demos n n_demos num_demos num_trials trials",
    "out": "dir folder out_dir output output_dir path save_dir",
    "task": "env environment scene",
    "world.record_hz": "fps rate record_hz render_fps",
    "workers": "jobs n_jobs n_procs num_envs num_processes processes",
    "world.physics_hz": "physics_hz",
    "world.control_hz": "control_hz",
    "randomization": "visuals",
}
_OTHER_NAMES = {key: value for value, keys in _NAMES_BY_OURS.items() for key in keys.split()}
"""Words that other tools have for a key or group of ours, and that no close match would find."""
_LANGUAGE = re.compile(r"task\.language|skills\.\d+\.language")
"""Keys whose empty list stands for the phrasings of the skill."""
_OPTIONAL_GROUPS = frozenset({"experiment"})
"""Groups that need no choice."""


def expand_sweep(overrides: Sequence[str]) -> list[list[str]]:
    """Returns the overrides of each job of a multirun: every combination of the comma-separated values, in order.

    Raises:
        ConfigError: An override cannot be read.
    """
    jobs: list[list[str]] = [[]]
    for text in map(quote_where_needed, overrides):
        override = parse_override(text)
        if override.is_sweep_override():
            key = override.get_key_element()
            values = [f"{key}={value}" for value in override.sweep_string_iterator()]
        else:
            values = [text]
        jobs = [[*job, value] for job in jobs for value in values]
    return jobs


def override_key(text: str) -> str:
    """Returns the key of an override, without `+` or `~`."""
    return text.partition("=")[0].lstrip("+~")


def quote_text(text: str) -> str:
    """Returns a text in the quotes of Hydra's overrides: only backslashes before a quote are doubled there."""
    return "'" + re.sub(r"(\\*)('|\Z)", lambda found: 2 * found[1] + found[2].replace("'", "\\'"), text) + "'"


def unquote_text(value: str) -> str:
    """Returns the text that a value in quotes stands for, see `quote_text`; other values as they are."""
    if len(value) < 2 or value[0] != value[-1] or value[0] not in "'\"":
        return value
    quote = value[0]
    return re.sub(rf"(\\+)({quote}|\Z)", lambda found: found[1][: len(found[1]) // 2] + found[2], value[1:-1])


def quote_where_needed(text: str) -> str:
    """Returns an override whose value Hydra can read: it quotes a text that it cannot, such as `lr=0.1` or `~/data`.

    The commas between the values of a sweep or of a list stay. Brackets and quotes that are not closed stay as they
    are: Hydra's error is about them.
    """
    match = _KEY.match(text)
    if match is None or not match["rest"] or _SIMPLE.match(match["rest"]):
        return text
    start = text.index("=") + 1
    return text[:start] + _quote_value(text[start:])


def _quote_value(value: str) -> str:
    if _is_readable(value):
        return value
    if (pieces := _split_at_commas(value)) is None:
        return value
    if len(pieces) > 1:
        return ",".join(map(_quote_value, pieces))
    if value[0] == "[" and value[-1] == "]":
        return f"[{','.join(map(_quote_value, _split_at_commas(value[1:-1]) or [value[1:-1]]))}]"
    return value if value[0] in _OPENING else quote_text(value.strip(" \t"))


def _is_readable(value: str) -> bool:
    try:
        OverridesParser.create().parse_overrides([f"key={value}"])
    except HydraException:
        return False
    return True


def _split_at_commas(value: str) -> list[str] | None:
    """Splits a value at the commas outside of brackets and quotes; None if some of these are not closed."""
    pieces, open_ones, start = [], "", 0
    for place, character in enumerate(value):
        begins = place == start or value[place - 1] in ",[{: "
        if open_ones[-1:] in ("'", '"'):
            open_ones = open_ones[:-1] if character == open_ones[-1] and value[place - 1] != "\\" else open_ones
        elif character in "'\"" and begins:  # elsewhere it is an apostrophe
            open_ones += character
        elif character in _BRACKETS:
            open_ones += _BRACKETS[character]
        elif character == open_ones[-1:]:
            open_ones = open_ones[:-1]
        elif character == "," and not open_ones:
            pieces.append(value[start:place])
            start = place + 1
    return None if open_ones else [*pieces, value[start:]]


def parse_override(text: str) -> Override:
    """Parses one override like Hydra.

    Raises:
        ConfigError: It cannot be read.
    """
    try:
        return OverridesParser.create().parse_overrides([text])[0]
    except HydraException as exc:
        raise explain_error(exc) from exc


def keep_texts(overrides: Sequence[str], schema: type) -> list[str]:
    """Returns the overrides with quotes around values of keys that hold a text: `out=1e5` is the folder `1e5`."""
    return [_quote_number(text, schema) for text in overrides]


def _quote_number(text: str, schema: type) -> str:
    key, equals, value = text.partition("=")
    hint, _ = split_optional(find_type(schema, override_key(text)))
    if not equals or hint is not str:
        return text
    return f"{key}={quote_text(value)}" if isinstance(parse_override(text).value(), int | float) else text


def separate_list_overrides(overrides: Sequence[str]) -> tuple[list[str], list[Override]]:
    """Separates overrides that Hydra applies from those inside lists, which Hydra's schemas cannot name."""
    plain, in_lists = [], []
    for text in overrides:
        match = _KEY.match(text)
        key = _INDEX.sub(r".\1", match["key"]) if match else ""
        parts = key.split("@")[0].replace("/", ".").split(".")
        if parts[0] == "hydra" and parts != ["hydra", "searchpath"]:
            raise ConfigError(
                f"{text} has no effect here. Expected a key of the episode or the run, whose folder is `out`. "
                "Remove it.",
                key=key,
            )
        if match and _LANGUAGE.fullmatch(key) and parse_override(f"{key}{match['rest']}").value() == []:
            raise ConfigError(
                f"{text} is empty, so the phrasings of the skill would be used. Expected at least one phrasing. Leave "
                "the key out for those of the skill.",
                key=key,
            )
        if match and any(part.isdigit() for part in parts[1:]):
            in_lists.append(parse_override(f"{match['prefix']}{key}{match['rest']}"))
        else:
            value = parse_override(text).value()
            if match and not match["prefix"] and len(parts) > 1 and parts[0] != "hydra":
                text = f"++{text}"  # reading reports an unknown key: it knows all keys, Hydra only those with values
            if text.partition("=")[0] in group_names():
                if value is None and key in _OPTIONAL_GROUPS:
                    continue  # nothing is chosen, as by default
                _check_choice(text, key, value)
            plain.append(text)
    return plain, in_lists


def _check_choice(text: str, group: str, value: object) -> None:
    if value is None:
        wrong, advice = "chooses nothing", ". Name one of them."
    elif isinstance(value, list):
        wrong, advice = "chooses several files", f"; with -m, {group}=a,b makes one run for each. Name one."
    else:
        return
    raise ConfigError(f"{text} {wrong}. Expected one of {', '.join(option_names(group))}{advice}", key=group)


def find_misspelt_key(overrides: Sequence[str], schema: type) -> ConfigError | None:
    """Returns the error of an unknown key of the command line; other errors mostly follow from it."""
    keys = [item.name for item in fields(schema)]
    known = {*keys, *group_names(), "hydra"}
    for text in overrides:
        match = _KEY.match(text)
        if match and match["rest"] and not match["prefix"]:
            key = re.split(r"[.@/\[]", match["key"])[0]
            ours = _OTHER_NAMES.get(key, "")
            if key not in known and ours.partition(".")[0] in known:
                kind = "group" if ours in group_names() else "key"
                rest = match["rest"]
                if ours == _IMAGE_CAMERAS:  # they have no effect without images
                    rest = f"=[{rest[1:].strip('[]')}] render=true"
                advice = f"Write {ours}{rest}."
                return ConfigError(f"{key} is unknown. The {kind} is called {ours}. {advice}", key=key)
            if key and key not in known:
                return unknown_key(key, key, [*keys, *_REQUEST_KEYS], listed_by="--cfg job")
    return None


def explain_list_error(overrides: Sequence[str], exc: Exception) -> ConfigError:
    """Explains an override with a word in place of a list index, which Hydra cannot apply."""
    for text in overrides:
        match = _KEY.match(text)
        parts = match["key"].split(".") if match else []
        for name in _LISTS.intersection(parts[:-1]):
            word = parts[parts.index(name) + 1]
            key = ".".join(parts[: parts.index(name) + 1])
            return ConfigError(
                f"{text.removeprefix('++')}: {key} is a list, and '{word}' is not an index. "
                f"Expected a number, from 0: {key}.0...",
                key=key,
            )
        if not parts or not all(parts):
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
