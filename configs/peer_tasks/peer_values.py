"""Reads values and chains of skills of task files of other systems, and keeps a ledger of what becomes of
each value.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from itertools import zip_longest
from typing import Any

from unlatch.simcore.errors import close_matches


def read_mapping(value: Any) -> Mapping[str, Any]:
    """Returns a mapping; an empty one for any other value."""
    return value if isinstance(value, Mapping) else {}


def read_list(value: Any) -> list[Any]:
    """Returns a list; an empty one for any other value."""
    return list(value) if isinstance(value, list | tuple) else []


def read_text(value: Any) -> str:
    """Returns a text; an empty one for anything that is none and no number."""
    return str(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else ""


def read_numbers(value: Any, count: int) -> list[float] | None:
    """Returns a list of `count` finite numbers; None for any other value."""
    items = read_list(value)
    if len(items) != count or any(isinstance(v, bool) or not isinstance(v, int | float) for v in items):
        return None
    found = [float(v) for v in items]
    return found if all(math.isfinite(v) for v in found) else None


def read_number(value: Any) -> float | None:
    """Returns a finite number; None for any other value."""
    found = read_numbers([value], 1)
    return None if found is None else found[0]


def has_reference(value: Any) -> bool:
    """Whether a text in a value would be read as a reference or a placeholder."""
    if isinstance(value, Mapping):
        return any(has_reference(item) for item in (*value.keys(), *value.values()))
    if isinstance(value, list | tuple):
        return any(has_reference(item) for item in value)
    return isinstance(value, str) and ("${" in value or value == "???")


ABSENT = object()
"""The value of a key that the file does not have."""


def value_at(tree: Any, place: str) -> Any:
    """Returns the value at a place of a file, such as `objects[0].name`; `ABSENT`, if it has none there."""
    for key in filter(None, place.replace("]", "").replace("[", ".").split(".")):
        if isinstance(tree, list) and key.isdigit() and int(key) < len(tree):
            tree = tree[int(key)]
        elif key in read_mapping(tree):
            tree = tree[key]
        else:
            return ABSENT
    return tree


def objects_of(entry: Mapping[str, Any]) -> dict[str, tuple[int, Mapping[str, Any]]]:
    """Returns the objects of a task by name, each with its place in their list; of equal names, the first one."""
    found: dict[str, tuple[int, Mapping[str, Any]]] = {}
    for index, values in enumerate(map(read_mapping, read_list(entry.get("objects")))):
        found.setdefault(read_text(values.get("name")), (index, values))
    return found


class Settings(Enum):
    """What becomes of the planner settings of a file."""

    kept = "kept"
    """They are kept as they are."""
    derived = "derived"
    """They are left out, and derived from the parts."""


@dataclass
class ImportCfg:
    """Options of `unlatch import`."""

    out: str = "imported"
    """Folder that gets `task/NAME.yaml`."""
    name: str | None = None
    """Name of the task; None: that of the file."""
    object: str | None = None
    """The object of the task: a URDF, a USD, a folder, or a category of the library; None: the nearest one."""
    robot: str | None = None
    """Name of a robot, or the YAML file of your own; None: the nearest one."""
    skill: str | None = None
    """The skill of a file of GenSim2; None: its name tells it."""
    settings: Settings = Settings.kept
    """What becomes of the planner settings."""
    force: bool = False
    """Whether an existing file is replaced."""

    @property
    def keeps_settings(self) -> bool:
        """Whether planner settings of the file are kept; else they are derived from the parts."""
        return self.settings is Settings.kept


_MOST_CHARACTERS = 80
_UNKNOWN = "Unlatch has no key of this meaning"

_KEYS_BY_REASON = {
    "only planner settings have labels by asset": "additional_labels",
    "see upright of place": "align_obj_tol align_pick_obj_axis align_place_obj_axis",
    "every episode draws another object of a category; cameras and textures: randomization=": "apply_randomization",
    "every scene is a table; furniture is no part of a task": "arena arena_file",
    "see the object": "art_cat category path target_class",
    "a path of their installation": "asset_root",
    "cameras are those of Unlatch": "camera_axes",
    "cameras are those of Unlatch; their lens and place are keys of camera.cameras": "camera_file cameras",
    "a data set keeps its whole configuration": "collect_info update",
    "grasps are found from the geometry of the object": (
        "constraints direction_to_obj fixed_orientation grasp_scale npy_name"
    ),
    "a label of their assets": "dataset",
    "see randomization.distractors": "distractors",
    "light varies by randomization=": "env_map",
    "an object faces the robot, apart from the yaw of its region": "euler orientation_mode orientation quaternion",
    "the hand's turn is free, but for its approach": "filter_x_dir filter_y_dir filter_z_dir",
    "the base of every object is fixed": "fix_base",
    "there are no fluids": "fluid",
    "the gripper is that of the robot": "gripper",
    "home leaves the gripper as it is": "gripper_state",
    "a skill waits until the grip has settled": "gripper_change_steps hesitate_steps",
    "the home of the arm is that of the robot": "home joint_home",
    "names of their prims; the planner knows the links of the object and of the robot": "ignore_substring",
    "parts have names; see the part of each skill": "info_name obj_info_path",
    "parts have names": "joint_indices",
    "joints that belong to no arm do not move": "lift_home",
    "see success_threshold of pick": "lift_th",
    "there are no motion vectors": "log_motion_vectors",
    "masses are those of the object": "mass",
    "camera noise is randomization=full": "max_orientation_noise max_translation_noise",
    "names of their prims": "neglect_collision_names",
    "a motion ends where its plan ends": "o_eps t_eps",
    "every episode has a world of its own": "offset task_id",
    "objects that overlap fail with invalid_layout": "optimize_2d_layout",
    "see the region of place": "place_direction",
    "names of their prims; see the region of place": "place_part_prim_path",
    "the hand lets go 3 mm above the floor of the region": "place_z_offset",
    "the object goes to its place, not the hand": "position_constraint",
    "see lift_m of pick": "post_grasp_offset_max post_grasp_offset_min",
    "the hand moves back along its axis": "post_place_vector",
    "the hand approaches over 8 cm": "pre_grasp_offset",
    "the hand comes from above the rim of the region": "pre_place_z_offset",
    "regions are drawn in the order of the objects": "priority",
    "one region for each object": "random_region_list",
    "every episode draws another object of a category; see object.instances": "randomization_scope",
    "images are made afterwards, by unlatch render": "render",
    "robots are those of Unlatch": "robot_config_file",
    "the size is that of the object": "scale scale_mode",
    "parts start within task.openness": "strict_init",
    "success is that of the goal": "success_mode success_th threshold",
    "regions are on the table": "target",
    "see out=": "task_dir",
    "keypoints of the hand are those of the robot": "tcp_offset",
    "every motion is planned as a whole": "test_mode",
    "textures vary by randomization=": "texture",
    "see the region of the object": "translation",
    "a data set keeps its versions": "version",
    "every object is visible": "visible",
    "the roomiest spot of the region is taken": "x_ratio_range y_ratio_range z_ratio_range",
}
REASONS: dict[str, str] = {key: value for value, keys in _KEYS_BY_REASON.items() for key in keys.split()}
"""Why a key has no counterpart; keys below it have the same reason."""


_SECTIONS: dict[str, tuple[str, ...]] = {
    "arena": (),
    "cameras": ("max_orientation_noise", "max_translation_noise"),
    "distractors": (),
    "env_map": (),
    "fluid": (),
}
"""Keys whose reason is that of everything below them, except of some keys."""


@dataclass(frozen=True)
class Line:
    """What became of one value."""

    path: str
    """Its place in the file."""
    value: str
    """The value, shortened; empty if the file does not have the key."""
    text: str
    """What it was read as, or why it has no counterpart."""
    is_read: bool

    def __str__(self) -> str:
        said = self.text if self.is_read else f"no counterpart: {self.text}"
        return f"{self.path}: {self.value}: {said}" if self.value else f"{self.path}: {said}"


class Ledger:
    """Keeps a line for every value of a file."""

    def __init__(self) -> None:
        self.lines: list[Line] = []
        self._covered: set[str] = set()

    def read(self, path: str, value: Any, text: str = "") -> None:
        """Marks a value, with all below it, as read; `text` says what it was read as, if it is not the same here."""
        self._covered.add(path)
        if text:
            self.lines.append(Line(path, short_text(value), text, is_read=True))

    def read_keys(self, path: str, values: Mapping[str, Any], keys: Sequence[str]) -> None:
        """Marks the values of these keys as read, as far as a mapping at a place has them."""
        for key in keys:
            if key in values:
                self.read(join_path(path, key), values[key])

    def forget(self, path: str) -> None:
        """Takes back what was said about a place."""
        self.lines = [line for line in self.lines if line.path != path]

    def note(self, path: str, text: str) -> None:
        """Adds a line about a place without marking its values as read."""
        line = Line(path, "", text, is_read=True)
        if line not in self.lines:
            self.lines.append(line)

    def leave(self, path: str, value: Any, why: str) -> None:
        """Lists a value, with all below it, as having no counterpart."""
        self._covered.add(path)
        self.lines.append(Line(path, short_text(value), why, is_read=False))

    def leave_rest(self, tree: Any, path: str) -> None:
        """Lists every value of a tree that was neither read nor left, with the reason of its key."""
        for place, value in _leaves(tree, path):
            if not self._is_covered(place) and value not in ([], {}):
                self.leave(place, value, _reason(place))

    def _is_covered(self, path: str) -> bool:
        return any(
            path[:end] in self._covered for end in (*(m.start() for m in re.finditer(r"[.\[]", path)), len(path))
        )


def join_path(path: str, key: object) -> str:
    """Returns the place of a key, or of an entry of a list."""
    if isinstance(key, int):
        return f"{path}[{key}]"
    return f"{path}.{key}" if path else str(key)


def short_text(value: Any) -> str:
    """Returns a value on one line, shortened if it is long."""
    if value is ABSENT:
        return ""
    text = " ".join(str(value).split()) if not isinstance(value, str) else repr(" ".join(value.split()))
    return text if len(text) <= _MOST_CHARACTERS else f"{text[:_MOST_CHARACTERS]}..."


def _leaves(tree: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Yields every value that is no mapping and no list of mappings, with its place."""
    if isinstance(tree, Mapping) and tree:
        for key, value in tree.items():
            yield from _leaves(value, join_path(path, key if not isinstance(key, int) else str(key)))
    elif isinstance(tree, list) and any(isinstance(item, Mapping | list) for item in tree) and not _is_numbers(tree):
        for index, value in enumerate(tree):
            yield from _leaves(value, join_path(path, index))
    else:
        yield path, tree


def _is_numbers(tree: Any) -> bool:
    """Whether a list has only numbers, at any depth."""
    if isinstance(tree, list):
        return all(_is_numbers(item) for item in tree)
    return isinstance(tree, int | float)


def _reason(path: str) -> str:
    """Returns the reason of the section that a path is in, or of its innermost key that has one."""
    words = re.findall(r"[^.\[\]]+", path)
    section = next((word for word in words if word in _SECTIONS), None)
    if section is not None and words[-1] not in _SECTIONS[section]:
        return REASONS[section]
    for word in reversed(words):
        plain = re.sub(r"^(left|right)_|_(std)$", "", word)
        if plain in REASONS:
            return REASONS[plain]
    return _UNKNOWN


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
