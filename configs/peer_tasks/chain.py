"""Reads the skills of a task of InternDataEngine: groups one after the other, in each one list an arm."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Any

from unlatch.configs.peer_tasks.ledger import Ledger, join_path
from unlatch.configs.peer_tasks.values import read_list, read_mapping, read_text
from unlatch.simcore.errors import close_matches

SKILLS_HERE = ("open", "close", "rotate", "artpreplan", "pick", "place", "home")
"""Skills that both systems have."""
PICK, PLACE, HOME = "pick", "place", "home"
_SAME = {"dexpick": PICK, "manualpick": PICK, "dynamicpick": PICK, "dexplace": PLACE}
"""Skills that differ there from others only in how they choose a pose."""
LIMITS = ("collision_valid", "process_valid")
"""Limits that both systems switch off for a skill."""
_OWN_WAY = "every skill plans its own way from where the arm stands"
_LEFT_OUT = {
    "goto_pose": _OWN_WAY,
    "move": _OWN_WAY,
    "joint_ctrl": _OWN_WAY,
    "wait": "a skill waits until the grip has settled",
    "gripper_action": "pick and place move the fingers",
    "failpick": "only successful episodes are demonstrations",
    "heuristic__skill": _OWN_WAY,
}
"""Why a skill of theirs is left out, where more can be said than that it is not here."""
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
    def target(self) -> str:
        """Name of the object that it puts something into or onto; empty if it names none."""
        names = read_list(self.entry.get("objects"))
        return read_text(names[1]) if len(names) > 1 else ""

    @property
    def limits(self) -> dict[str, bool]:
        """Which of the limits that both systems have are on or off, as far as it says so."""
        return {key: self.entry[key] for key in LIMITS if isinstance(self.entry.get(key), bool)}

    @property
    def carries(self) -> bool:
        """Whether it carries a free object."""
        return self.name in (PICK, PLACE)

    @property
    def acts(self) -> bool:
        """Whether it moves a part."""
        return self.name not in ("artpreplan", HOME) and not self.carries


def read_chain(skills: Any, path: str, ledger: Ledger) -> tuple[list[PeerSkill], list[str]]:
    """Returns the skills that Unlatch has, in order, and the names of the robots that the chain names.

    Skills that it does not have are listed.
    """
    walk = _Walk([])
    found = []
    for skill in walk.entries(skills, path, None):
        same = _SAME.get(skill.name)
        if same is not None:
            ledger.read(join_path(skill.path, "name"), skill.name, f"read as {same}")
        if same is not None or skill.name in SKILLS_HERE:
            found.append(replace(skill, name=same or skill.name))
            continue
        why = _LEFT_OUT.get(skill.name)
        if why is None:
            near = close_matches(skill.name, (*SKILLS_HERE, *_SAME)).strip()
            why = f"only {', '.join(SKILLS_HERE[:-1])} and {SKILLS_HERE[-1]}{'. ' if near else ''}{near}"
        ledger.leave(
            skill.path, dict(skill.entry), f"'{skill.name}' is not imported: {why}" if skill.name else "no skill"
        )
    return _whole_carries(found, ledger), list(dict.fromkeys(walk.robots))


def _whole_carries(chain: Sequence[PeerSkill], ledger: Ledger) -> list[PeerSkill]:
    """Returns a chain without what no hand can do: act while it holds something, or put down what it does not hold."""
    refused: dict[str, str] = {}
    moved = {skill.object for skill in chain if skill.acts}
    for arm in {skill.arm for skill in chain}:
        own = [skill for skill in chain if skill.arm == arm and (skill.acts or skill.carries)]
        held = ""
        for skill, following in zip_longest(own, own[1:]):
            if skill.name == PLACE and (not skill.object or skill.object != held):
                refused[skill.path] = f"'place' puts down what the hand holds, and it does not hold '{skill.object}'"
            held = "" if skill.name != PICK else skill.object
            if skill.name == PICK and (held in moved or not held):
                refused[skill.path] = f"'{held}' has parts on joints, which nobody carries" if held else "no object"
                held = ""
                continue
            if skill.name != PICK or following is None or (following.name, following.object) == (PLACE, held):
                continue
            refused[skill.path] = (
                f"the 'place' that follows puts down '{following.object}'"
                if following.name == PLACE
                else f"the hand would still hold '{held}' when '{following.name}' begins"
            )
            held = ""
    for skill in chain:
        if skill.path in refused:
            ledger.leave(skill.path, dict(skill.entry), refused[skill.path])
    return [skill for skill in chain if skill.path not in refused]


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
