"""Reads the skills of a task of InternDataEngine: groups one after the other, in each one list an arm."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from unlatch.configs.peer_tasks.ledger import Ledger, join_path
from unlatch.configs.peer_tasks.values import read_list, read_mapping, read_text

SKILLS_HERE = ("open", "close", "rotate", "artpreplan")
"""Skills that both systems have."""
_ARMS = ("left", "right")
_DEPTH = 12


@dataclass(frozen=True)
class PeerSkill:
    """One entry of a chain."""

    path: str
    """Its place in the file."""
    entry: Mapping[str, Any]
    name: str
    arm: str | None
    """`left` or `right`; None if no arm is named."""
    group: int
    """Number of its group; the arms of one group act at the same time."""

    @property
    def object(self) -> str:
        """Name of the object that it acts on; empty if it names none."""
        names = self.entry.get("objects")
        return read_text(names[0]) if isinstance(names, list) and names else read_text(names)

    @property
    def part_key(self) -> str:
        """What tells the part that it acts on from other parts of the object; empty for the usual one."""
        return read_text(self.entry.get("obj_info_path"))

    @property
    def acts(self) -> bool:
        """Whether it moves a part."""
        return self.name != "artpreplan"


def read_chain(skills: Any, path: str, ledger: Ledger) -> tuple[list[PeerSkill], list[str]]:
    """Returns the skills that Unlatch has, in order, and the names of the robots that the chain names.

    Skills that it does not have are listed.
    """
    walk = _Walk([])
    found = []
    for skill in walk.entries(skills, path, None):
        if skill.name in SKILLS_HERE:
            found.append(skill)
            continue
        kind = f"'{skill.name}' is not imported, only open, close, rotate and artpreplan" if skill.name else "no skill"
        ledger.leave(skill.path, dict(skill.entry), kind)
    return found, list(dict.fromkeys(walk.robots))


@dataclass
class _Walk:
    """Goes through the nested lists of a chain."""

    robots: list[str]
    group: int = 0

    def entries(self, value: Any, path: str, arm: str | None, depth: int = 0) -> Iterator[PeerSkill]:
        """Yields every entry; each item of a list that belongs to no arm is a group of its own."""
        if depth > _DEPTH:
            return
        if isinstance(value, list | tuple):
            for index, item in enumerate(read_list(value)):
                self.group += arm is None
                yield from self.entries(item, join_path(path, index), arm, depth + 1)
            return
        entry = read_mapping(value)
        if isinstance(entry.get("name"), str) or "planner_setting" in entry:
            yield PeerSkill(path, entry, read_text(entry.get("name")).lower(), arm, self.group)
            return
        for key, item in entry.items():
            if key not in _ARMS and isinstance(item, list | Mapping) and arm is None:
                self.robots.append(str(key))
            own = str(key) if key in _ARMS else arm
            yield from self.entries(item, join_path(path, str(key)), own, depth + 1)
