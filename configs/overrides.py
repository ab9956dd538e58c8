"""Reads overrides of the command line, and explains what Hydra cannot read in one line: what, where, got, expected."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from hydra.errors import HydraException

from unlatch.configs.config_files import group_names
from unlatch.configs.dataclass_reader import find_type, split_optional
from unlatch.simcore.errors import ConfigError, unknown_key

_KEY = re.compile(r"(?P<prefix>\+{0,2}|~)(?P<key>[^=]*)(?P<rest>(=.*)?)\Z", re.DOTALL)
_SIMPLE = re.compile(r"=[A-Za-z0-9_./:-]*\Z")
"""Values that Hydra can read, without trying it."""
_WORD = re.compile(r"(?!(null|true|false|nan|inf)\Z)[A-Za-z_]\w*\Z", re.ASCII | re.IGNORECASE)
"""Texts that Hydra reads as such without quotes."""
_BRACKETS = {"[": "]", "{": "}", "(": ")"}
_OPENING = "[{'\""
"""What a list, a mapping or a text in quotes begins with."""
_INDEX = re.compile(r"\[(\d+)\]")
_REQUEST_KEYS = ("skill", "part", "openness")
"""Keys of the command line that derive a task from an object, beside those of the configuration."""
_NAMES_BY_OURS = {
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
_OPTIONAL_GROUPS = frozenset({"experiment", "images"})
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


def write_value(value: Any) -> str:
    """Returns a value as an override states it: a plain value, or lists and mappings of them."""
    if isinstance(value, Mapping):
        return "{" + ",".join(f"{key}:{write_value(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(map(write_value, value)) + "]"
    if isinstance(value, str):
        return value if _WORD.match(value) else quote_text(value)
    return "null" if value is None else str(value).lower()


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
        from unlatch.configs.override_errors import explain_error

        raise explain_error(exc) from exc


def keep_texts(overrides: Sequence[str], schema: type) -> list[str]:
    """Returns the overrides with quotes around values of keys that hold a text: `out=1e5` is the folder `1e5`."""
    kept = []
    for text in overrides:
        key, equals, value = text.partition("=")
        hint, _ = split_optional(find_type(schema, override_key(text)))
        is_number = equals and hint is str and isinstance(parse_override(text).value(), int | float)
        kept.append(f"{key}={quote_text(value)}" if is_number else text)
    return kept


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
    from unlatch.configs.group_files import option_names

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
                return ConfigError(
                    f"{key} is unknown. The {kind} is called {ours}. Write {ours}{match['rest']}.", key=key
                )
            if key and key not in known:
                return unknown_key(key, key, [*keys, *_REQUEST_KEYS], listed_by="--cfg job")
    return None
