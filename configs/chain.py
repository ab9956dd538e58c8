"""Reads the two forms of `skills`: a list of entries, or a robot's stages with a list of entries for each arm.

The second form is `{<robot>: [{left: [entry, ...], right: [entry, ...]}, ...]}`, as one item of
the list. The lists of one mapping run at the same time, the mappings one after the other. It is converted into entries
with `arm` and `stage`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from unlatch.robots.catalog import ROBOTS
from unlatch.simcore.errors import ConfigError, close_matches
from unlatch.skills.contract.config import SkillCfg

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
            raise ConfigError(
                f"{where} is not an arm of '{robot}'.{close_matches(arm, arms)} Arms: {', '.join(arms)}. Rename it.",
                key=where,
                available=list(arms),
            )
        if isinstance(entry, Mapping) and entry.get("arm") not in (None, arm):
            raise ConfigError(
                f"{key}.arm='{entry['arm']}' contradicts its list, which is that of '{arm}'. Remove it.",
                key=f"{key}.arm",
            )
