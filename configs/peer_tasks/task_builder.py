"""Puts the content of a task of Unlatch together from what a file of another system says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from unlatch.configs.derivation.derived_task import derive_layout
from unlatch.configs.peer_tasks.chain import LIMITS
from unlatch.configs.peer_tasks.ledger import ABSENT, Ledger, join_path
from unlatch.configs.peer_tasks.scene_objects import SceneObject
from unlatch.configs.peer_tasks.values import has_reference, read_mapping, read_number
from unlatch.robots.description import RobotCfg
from unlatch.robots.hand_shape import hand_shapes
from unlatch.simcore.errors import ConfigError, UnlatchError
from unlatch.solver.settings.origin import Origin
from unlatch.solver.settings.reader import check_names, read_planner_setting
from unlatch.solver.settings.setting import PlannerSettingCfg

_LONGEST_S = 600.0


@dataclass
class TaskBuilder:
    """The task as far as it is read."""

    name: str
    robot: RobotCfg
    ledger: Ledger
    keep_settings: bool
    """Whether planner settings of the file are kept; else they are derived from the parts."""
    origin: Origin
    """The system whose conventions they follow."""
    hand: str | None = None
    """The hand that they are written for, one of `HANDS`; None: the one of the origin, or of the robot."""
    objects: list[SceneObject] = field(default_factory=list)
    """The object that the task is about, then the others."""
    entries: list[tuple[int, str | None, dict[str, Any]]] = field(default_factory=list)
    """Group, arm and entry of each skill."""
    starts: dict[tuple[str, str], list[float]] = field(default_factory=dict)
    """Start opening by object and part [rad or m]."""
    goals: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    """Conditions by object and part, or by object and kind for a free object."""
    regions: list[dict[str, Any]] = field(default_factory=list)
    relations: list[dict[str, Any]] = field(default_factory=list)
    language: list[str] = field(default_factory=list)
    cameras: list[str] = field(default_factory=list)
    distractors: dict[str, int] | None = None
    """Their least and largest number."""
    max_duration_s: float | None = None
    path: str = ""
    """Its place in the file."""

    def add_skill(
        self, skill: str, item: SceneObject, part: str, *, path: str, raw: Any, arm: str | None, group: int, extra: Any
    ) -> None:
        """Adds a skill with its planner setting, and the goal that it leads to."""
        entry: dict[str, Any] = {"name": skill, "objects": [item.name], "part": part, **extra}
        if isinstance(raw, Mapping) and raw and self.keep_settings:
            given = {"origin": self.origin.value, "hand": self.hand}
            raw = {**{key: value for key, value in given.items() if value is not None}, **raw}
        setting = self._read_setting(raw, f"{path}.planner_setting", item, part)
        if setting is not None:
            entry["planner_setting"] = dict(raw)
        self.entries.append((group, arm, entry))
        self._set_goal(skill, item, part, setting, read_mapping(raw))

    def derived_layout(self, item: SceneObject, skill: str, part: str) -> dict[str, Any]:
        """Returns the values of a task that Unlatch derives for an object, among them its region and goal.

        Raises:
            ConfigError: The skill does not fit the part.
        """
        hand, *_ = hand_shapes(self.robot)
        start = self.starts.get((item.name, part))
        given = None if start is None else (start[0], start[1])
        values, _ = derive_layout(skill, item.asset, item.part(part), hand, start=given)
        return values

    def content(self, derived: tuple[str, str] | None) -> dict[str, Any]:
        """Returns the content of the task's file; `derived` are the skill and part that the rest is derived from."""
        first, *others = self.objects
        defaults: list[Any] = [{"override /robot": self.robot.name}]
        if first.node is None:
            defaults.append({"override /object": first.category})
        if self.cameras:
            defaults.append({"override /camera": "_".join(sorted(set(self.cameras)))})
        task: dict[str, Any] = {"name": self.name}
        if derived is not None:
            task["derived"] = {"skill": derived[0], "part": derived[1]}
        if self.regions:
            task["regions"] = self.regions
        if self.relations:
            task["relations"] = self.relations
        if self.starts:
            task["openness"] = [{"object": o, "part": p, "range": r} for (o, p), r in self.starts.items()]
        if self.goals:
            task["goal"] = list(self.goals.values())
        if self.language:
            task["language"] = self.language
        if self.max_duration_s is not None:
            task["max_duration_s"] = self.max_duration_s
        found: dict[str, Any] = {"defaults": [*defaults, "_self_"]}
        found["object"] = first.to_yaml()
        if others:
            found["objects"] = [item.to_yaml() for item in others]
        if self.distractors is not None:
            found["randomization"] = {"distractors": self.distractors}
        return {**found, "task": task, "skills": self._chain()}

    def _chain(self) -> list[Any]:
        """Returns `skills`: a flat list, or stages if both arms act at the same time."""
        first: list[Any] = [{"name": "artpreplan", "objects": [self.objects[0].name]}]
        groups: dict[int, dict[str | None, list[dict[str, Any]]]] = {}
        for group, arm, entry in self.entries:
            groups.setdefault(group, {}).setdefault(arm, []).append(entry)
        if not any(len(arms) > 1 for arms in groups.values()):
            flat = [
                entry if arm is None else {**entry, "arm": arm}
                for arms in groups.values()
                for arm, own in arms.items()
                for entry in own
            ]
            return first + flat
        stages = [
            {arm or "left": own for arm, own in stage.items()}
            for arms in groups.values()
            for stage in _split_stage(arms)
        ]
        for stage in stages:
            self._share_limits(stage)
        return [*first, {self.robot.name: stages}]

    def _share_limits(self, stage: Mapping[str, list[dict[str, Any]]]) -> None:
        """Switches a limit off for all skills of a stage if it is off for some: the arms share one judge."""
        entries = [entry for own in stage.values() for entry in own]
        for key in LIMITS if len(stage) > 1 else ():
            if len({entry.get(key, True) for entry in entries}) > 1:
                for entry in entries:
                    entry[key] = False
                said = f"{key} is false for all skills of arms that act at the same time, as it is for some of them"
                self.ledger.note(join_path(self.path, "skills"), said)

    def _read_setting(self, raw: Any, path: str, item: SceneObject, part: str) -> PlannerSettingCfg | None:
        """Returns the setting of a skill as Unlatch reads it; None if it is derived, with a line that says why."""
        if not isinstance(raw, Mapping):
            if raw is not None:
                self.ledger.leave(path, raw, "no mapping; the setting is derived from the part")
            return None
        if not self.keep_settings:
            self.ledger.leave(path, dict(raw), "settings=derived; the setting is derived from the part")
            return None
        try:
            if has_reference(raw):
                raise ConfigError("It refers to another key.")
            setting, notices = read_planner_setting(raw, where=path)
            self._check_setting(setting, item, part, path)
        except UnlatchError as exc:
            self.ledger.leave(path, dict(raw), f"{exc.message} The setting is derived from the part instead")
            return None
        self.ledger.read(path, dict(raw), "kept as it is")
        for notice in notices:
            place, _, said = notice.partition(": ")
            value = _value_at(raw, place.partition(" ")[0].removeprefix(path))
            self.ledger.read(place, value, said)
        return setting

    def _check_setting(self, setting: PlannerSettingCfg, item: SceneObject, part: str, path: str) -> None:
        """Raises an error for a keypoint or axis that the hand or the part does not have."""
        found = item.part(part)
        tool = sorted(set.intersection(*(set(arm.keypoints) for arm in self.robot.arms)))
        check_names(setting, tool, list(found.keypoints), path, list(found.axes))

    def _set_goal(
        self, skill: str, item: SceneObject, part: str, setting: PlannerSettingCfg | None, raw: Mapping[str, Any]
    ) -> None:
        """Sets the goal of a part to that of its last skill: what its setting says, else what Unlatch derives."""
        mode = setting.success_mode.value if setting is not None and setting.success_mode is not None else ""
        value = setting.success_threshold if setting is not None else read_number(raw.get("success_threshold"))
        if value is None or not abs(value) > 0.0:
            (goal,) = self.derived_layout(item, skill, part)["goal"]
        else:
            is_closed = skill == "close" and mode in ("", "zero")
            kind = "moved_fraction" if mode == "fraction" else "within_closed" if is_closed else "moved"
            goal = {"object": item.name, "part": part, "kind": kind, "value": abs(value)}
        self.goals.pop((item.name, part), None)
        self.goals[item.name, part] = goal


def _split_stage(
    arms: Mapping[str | None, list[dict[str, Any]]],
) -> list[dict[str | None, list[dict[str, Any]]]]:
    """Returns the arms of a group as one stage, or as one each if two of them act on the same part."""
    parts = [{(e["objects"][0], e.get("part")) for e in own if "objects" in e} for own in arms.values()]
    if len(set().union(*parts)) == sum(map(len, parts)):
        return [dict(arms)]
    return [{arm: own} for arm, own in arms.items()]


def _value_at(raw: Any, place: str) -> Any:
    """Returns a value of a setting by the rest of its key, as far as it exists."""
    for key in place.replace("]", "").replace("[", ".").split("."):
        if not key:
            continue
        if isinstance(raw, list) and key.isdigit() and int(key) < len(raw):
            raw = raw[int(key)]
        elif key in read_mapping(raw):
            raw = raw[key]
        else:
            return ABSENT
    return raw


def clipped_duration(seconds: float) -> float:
    """Returns a time limit that a task can have [s]."""
    return round(min(seconds, _LONGEST_S), 3)
