"""Puts the content of a task of Unlatch together from what a file of another system says, with what it carries and
what stands around.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from omegaconf import OmegaConf

from unlatch.configs.derived_task import derive_layout
from unlatch.configs.group_files import yaml_files
from unlatch.configs.peer_tasks.peer_values import (
    LIMITS,
    Ledger,
    has_reference,
    join_path,
    read_list,
    read_mapping,
    read_number,
    read_numbers,
    read_text,
    value_at,
)
from unlatch.configs.peer_tasks.scene_objects import PeerObject, nearest_camera
from unlatch.configs.user_files import read_yaml_tree
from unlatch.objects.annotation_entries import Region, RegionKind, RegionOpening
from unlatch.objects.articulated_object import ObjectAsset
from unlatch.robots.description import RobotCfg
from unlatch.robots.hand_shape import hand_shapes
from unlatch.simcore.errors import ConfigError, UnlatchError
from unlatch.simcore.geometry import Pose, rpy_from_matrix
from unlatch.simcore.randomization.config import MOST_DISTRACTORS
from unlatch.solver.setting import Origin, PlannerSettingCfg
from unlatch.solver.setting_reader import check_names, read_planner_setting
from unlatch.tasks.task import TaskCfg

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
    objects: list[PeerObject] = field(default_factory=list)
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
    cameras: list[str | dict[str, Any]] = field(default_factory=list)
    """Names of ours, or entries of `camera.cameras`."""
    has_own_arms: bool = False
    """Whether values of the robot's arms are those of the file."""
    distractors: dict[str, int] | None = None
    """Their least and largest number."""
    max_duration_s: float | None = None
    path: str = ""
    """Its place in the file."""

    def add_skill(
        self,
        skill: str,
        item: PeerObject,
        part: str,
        *,
        path: str,
        raw: Any,
        arm: str | None,
        group: int,
        extra: Any,
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
        self._set_goal(skill, item, part, setting, read_mapping(raw), path=path)

    def derived_layout(self, item: PeerObject, skill: str, part: str) -> dict[str, Any]:
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
        plain = sorted({camera for camera in self.cameras if isinstance(camera, str)})
        if self.cameras:
            defaults.append({"override /camera": "_".join(plain) or "none"})
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
        if len(plain) < len(self.cameras):
            own = {str(camera["name"]): camera for camera in self.cameras if isinstance(camera, dict)}
            found["camera"] = {
                "name": "imported",
                "cameras": [*(name for name in plain if name not in own), *own.values()],
            }
        if self.has_own_arms:
            robot: Any = OmegaConf.to_container(OmegaConf.structured(self.robot), enum_to_str=True)
            found["robot"] = {"arms": robot["arms"]}  # a list replaces the whole list
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

    def _read_setting(self, raw: Any, path: str, item: PeerObject, part: str) -> PlannerSettingCfg | None:
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
            # raises an error for a keypoint or axis that the hand or the part does not have
            found = item.part(part)
            tool = sorted(set.intersection(*(set(arm.keypoints) for arm in self.robot.arms)))
            check_names(setting, tool, list(found.keypoints), path, list(found.axes))
        except UnlatchError as exc:
            self.ledger.leave(path, dict(raw), f"{exc.message} The setting is derived from the part instead")
            return None
        self.ledger.read(path, dict(raw), "kept as it is")
        for notice in notices:
            place, _, said = notice.partition(": ")
            self.ledger.read(place, value_at(raw, place.partition(" ")[0].removeprefix(path)), said)
        return setting

    def _set_goal(
        self,
        skill: str,
        item: PeerObject,
        part: str,
        setting: PlannerSettingCfg | None,
        raw: Mapping[str, Any],
        *,
        path: str,
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
            start, unit = (
                self.starts.get((item.name, part), [0.0])[0],
                item.asset.model.joints[item.part(part).joint].unit,
            )
            left = [span - start for span in item.spans(part)]
            if skill == "open" and kind == "moved" and abs(value) > min(left):
                said = "never reached" if abs(value) > max(left) else "not reached by all instances"
                far = " to ".join(dict.fromkeys(f"{each:.3g}" for each in (min(left), max(left))))
                said = f"{said}: from its start, {part} of {item.name} opens by {far} {unit} more at most"
                self.ledger.note(f"{path}.planner_setting.success_threshold", said)
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


_STEPS_HZ = 30.0
"""Steps of `max_episode_length` in a second."""


def add_words(task: TaskBuilder, entry: Mapping[str, Any], *, least_s: float) -> None:
    """Reads the instructions and the time limit, which is at least `least_s` [s]."""
    if least_s > TaskCfg().max_duration_s:
        task.max_duration_s = least_s
    data, where = read_mapping(entry.get("data")), join_path(task.path, "data")
    for key in ("language_instruction", "detailed_language_instruction"):
        value = data.get(key)
        texts = [read_text(text) for text in (value if isinstance(value, list) else [value])]
        place = f"{where}.{key}"
        for text in texts:
            words = text.split(";")[0].strip()
            if not words:
                continue
            if has_reference(words) or "{" in words or "}" in words:
                task.ledger.leave(place, value, "braces stand for names of objects and parts here")
            elif words not in task.language:
                task.language.append(words)
                is_whole = words == text.strip()
                task.ledger.read(place, value, "" if is_whole else "the words of the first robot are kept")
        if place not in {line.path for line in task.ledger.lines} and value:
            task.ledger.read(place, value)
    steps = read_number(data.get("max_episode_length"))
    if steps is not None and steps > 0:
        seconds = steps / _STEPS_HZ
        kept = round(min(max(seconds, least_s), _LONGEST_S), 3)
        task.max_duration_s = kept if kept > TaskCfg().max_duration_s else None
        task.ledger.read(
            f"{where}.max_episode_length",
            data["max_episode_length"],
            f"read as {steps:g} steps of 1/30 s, {seconds:.3g} s; max_duration_s is {kept:g} s, at least {least_s:g}",
        )


_TO_OPENCV = {
    "usd": np.diag([1.0, -1.0, -1.0]),
    "ros": np.eye(3),
    "world": np.array([[0.0, 0.0, 1.0], [-1.0, 0.0, 0.0], [0.0, -1.0, 0.0]]),
}
"""(3, 3) by `camera_axes`: the rotation of our camera, x right, y down, z forward, in the axes of theirs."""


def add_cameras(
    task: TaskBuilder, entry: Mapping[str, Any], *, roots: Sequence[Path] = (), T_world_robot: Pose | None = None
) -> None:
    """Reads the cameras of a task: their poses as far as ours has what they hang on, and their lenses.

    Paths of the file start from `roots`. Where the robot's region is not known, poses in the world have no meaning.
    """
    where = join_path(task.path, "cameras")
    for index, item in enumerate(read_list(entry.get("cameras"))):
        camera = read_mapping(item)
        texts = [read_text(camera.get(key)) for key in ("name", "parent", "camera_file")]
        found, place = nearest_camera(texts), join_path(where, index)
        lens = _read_lens(camera, roots)
        if not lens and read_text(camera.get("camera_file")):
            said = "it is not found or lacks camera_params, resolution_width or resolution_height"
            said = f"{said}; the lens of our camera is used"
            task.ledger.leave(join_path(place, "camera_file"), camera["camera_file"], said)
        mount = _read_mount(camera, found, task.robot, T_world_robot)
        if not lens and mount is None:
            task.cameras.append(found)
            task.ledger.read(join_path(place, "name"), camera.get("name"), f"read as the camera {found}")
            continue
        name = f"{found}_{index}" if any(isinstance(c, dict) and c["name"] == found for c in task.cameras) else found
        own = mount
        if own is None:  # that of our camera of this name
            usual = read_mapping(read_yaml_tree(yaml_files("sensor")[found]).get("mount"))
            own = {**usual, **({"link": task.robot.arms[0].ee_link} if "link" in usual else {})}
        task.cameras.append({"name": name, "type": "camera", "mount": own, **lens})
        said = "with its pose" if mount is not None else "where ours is"
        task.ledger.read(join_path(place, "name"), camera.get("name"), f"read as the camera {name}, {said}")
        meant = f"read as position_m {own.get('position_m')}, rpy_deg {own.get('rpy_deg')}"
        read = {} if mount is None else dict.fromkeys(("translation", "orientation", "camera_axes", "parent"), meant)
        if lens:
            read["camera_file"] = f"read as {lens['width']} x {lens['height']} pixels, intrinsics {lens['intrinsics']}"
        for key in (key for key in read if key in camera):
            task.ledger.read(join_path(place, key), camera[key], read[key])


def _read_lens(camera: Mapping[str, Any], roots: Sequence[Path]) -> dict[str, Any]:
    """Returns size and lens of a camera from its file; empty if there is none."""
    named = read_text(camera.get("camera_file"))
    file = next((root / named for root in roots if named and (root / named).is_file()), None)
    values = {} if file is None else read_mapping(read_yaml_tree(file))
    lens = read_numbers(values.get("camera_params"), 4)
    size = [read_number(values.get(f"resolution_{key}")) for key in ("width", "height")]
    if lens is None or size[0] is None or size[1] is None:
        return {}
    return {"width": int(size[0]), "height": int(size[1]), "intrinsics": lens}


def _read_mount(
    camera: Mapping[str, Any], found: str, robot: RobotCfg, T_world_robot: Pose | None
) -> dict[str, Any] | None:
    """Returns the mount of a camera on a link that our robot has, or in the world; None for any other."""
    position, turn = read_numbers(camera.get("translation"), 3), read_numbers(camera.get("orientation"), 4)
    R_axes = _TO_OPENCV.get(read_text(camera.get("camera_axes")) or "usd")
    if position is None or turn is None or R_axes is None or float(np.linalg.norm(turn)) < 1e-6:
        return None
    w, x, y, z = np.array(turn) / np.linalg.norm(turn)
    T = Pose.from_quat_xyzw(np.array(position), [x, y, z, w])
    link = read_text(camera.get("parent")).rpartition("/")[2]
    body: dict[str, Any] = {}
    if link:
        if found != "wrist" or link not in [arm.ee_link for arm in robot.arms]:
            return None
        body = {"body": "${robot.name}", "link": link}
    elif T_world_robot is None:
        return None
    else:
        T = T_world_robot.inverse() @ T
    rpy = np.degrees(rpy_from_matrix(T.R @ R_axes, gimbal_lock_rad=1e-7))
    return {**body, "position_m": [round(float(v), 4) for v in T.p], "rpy_deg": [round(float(v), 3) for v in rpy]}


def add_home_spread(task: TaskBuilder, robot: Mapping[str, Any], path: str) -> None:
    """Reads by how much the arms vary around their homes."""
    for arm in task.robot.arms:
        usual = (f"{arm.name}_joint_home_std", "joint_home_std", "left_joint_home_std")
        key = next((key for key in usual if key in robot), "")
        listed = read_list(robot.get(key)) or [robot.get(key)]
        values = [number for value in listed if (number := read_number(value)) is not None]
        if not values or min(values) < 0.0:
            continue
        arm.home_std = round(min(float(np.mean(values)), _MOST_SPREAD_RAD), 4)
        task.has_own_arms = True
        task.ledger.read(join_path(path, key), robot[key], f"read as home_std {arm.home_std:g} of arm {arm.name}")
    if task.has_own_arms:
        for key in ("left_joint_home_std", "right_joint_home_std"):
            if key in robot and not any(line.path == join_path(path, key) for line in task.ledger.lines):
                task.ledger.leave(join_path(path, key), robot[key], f"{task.robot.name} has no such arm")


_MOST_SPREAD_RAD = 0.3
"""Largest spread of a home that is taken [rad]."""


def add_distractors(task: TaskBuilder, entry: Mapping[str, Any]) -> None:
    """Reads how many distractors there are."""
    where, values = join_path(task.path, "distractors"), read_mapping(entry.get("distractors"))
    least, most = read_number(values.get("min_num")), read_number(values.get("max_num"))
    if most is None or most < 1:
        return
    kept = [int(min(max(number, 0), MOST_DISTRACTORS)) for number in (min(least or 0, most), most)]
    task.distractors = {"least": kept[0], "most": kept[1]}
    said = f"read as randomization.distractors, {kept[0]} to {kept[1]} things that are only visible"
    task.ledger.read(join_path(where, "min_num"), least)
    task.ledger.read(join_path(where, "max_num"), values["max_num"], said)


MOST_HALF_M = 0.1
"""Largest half extent of a region where something is carried, so that all objects find room [m]."""
_SMALL_ITEMS = ("apple", "parcel")
"""Categories that may fit where things of another one do not."""
_TOP_M, _TOP_HALF_M = 0.1, 0.06
"""How far behind the front edge of a deep top things are put, and to either side of that [m].

A Panda put a can 0.10, 0.16 and 0.22 m behind the edge of a cabinet of 0.49 m in 6 of 6 episodes each; at 0.30 m,
one of 6 found no arm configuration in 5 layouts (`drawer_cabinet` 0, seed 1).
"""
_OPEN_SHARES, _LID_SHARES = (0.85, 0.95), (0.75, 0.85)
"""How far a door or drawer, and a lid, is open at the start if things are put behind it, as shares of its range."""
_LEAST_OPEN_SHARE = 0.7
"""Least share of its range by which each drawer of a task is open, so that there is room for a hand."""
_DEEP_M = 0.2
"""Depth of a container from which on things are dropped into it [m]."""
_HIGHEST_BIN_M = 0.32
"""Largest height of such a container, so that a hand reaches over it [m]."""
_HEADROOM_M = 0.04
"""Room over an object on a shelf [m]."""
_SIDE_ROOM_M = 0.01
"""Room beside an object, both sides together [m]."""
_SIZED_INSTANCES = 16
"""Instances of an object whose sizes are compared."""
_FIXED_M = {"drawer": (0.68, 0.12), "shelf": (0.63, 0.12), "open": (0.55, 0.15), "deep": (0.5, 0.25)}
"""Middle of the front of what stands fixed, by what things are put into; the hand comes from the other side [m]."""
_FREE_M = ((0.4, -0.33), (0.55, -0.38), (0.35, 0.38))
"""Where things that are carried stand, one after the other [m]."""
_PUT_M = (0.5, -0.2)
_TAKEN_M = (0.5, 0.15)
"""Where things on the table are put, and where they are taken from if nothing else stands there [m]."""


@dataclass(frozen=True)
class PutInto:
    """A region of an object into or onto which things are put."""

    scene: PeerObject
    region: str

    @property
    def _first(self) -> Region:
        return self.scene.asset.regions[self.region]

    @property
    def part(self) -> str | None:
        """The part that must be open; None: it is always open."""
        return self._first.part

    @property
    def is_inside(self) -> bool:
        """Whether it has walls."""
        return self._first.kind is RegionKind.inside

    @property
    def is_shelf(self) -> bool:
        """Whether things come in from the front."""
        return self._first.opening is RegionOpening.front

    @property
    def is_drawer(self) -> bool:
        """Whether it moves with its part."""
        return self.part is not None and self._first.link == self.scene.part(self.part).link

    @property
    def height_m(self) -> float:
        """The smallest height of its free space [m]."""
        return min(float(asset.regions[self.region].size[2]) for asset in self.scene.assets)

    @property
    def width_m(self) -> float:
        """The smallest horizontal extent of its free space [m]."""
        return min(float(min(asset.regions[self.region].size[:2])) for asset in self.scene.assets)

    @property
    def is_deep(self) -> bool:
        """Whether a hand does not reach its floor, so that things are dropped."""
        return self.is_inside and not self.is_shelf and not self.is_drawer and self.height_m > _DEEP_M

    def open_range(self) -> list[float]:
        """Returns how far the part is open if a hand is to reach in [rad or m]."""
        span = self.scene.span(str(self.part))
        shares = _OPEN_SHARES if self.is_shelf or self.is_drawer else _LID_SHARES
        return [round(share * span, 3) for share in shares]

    def keep_open_wide(self, start: Sequence[float]) -> None:
        """Keeps only drawers that are wide open within a range of starts from closed [m], which is one for all."""

        def is_wide_open(asset: ObjectAsset) -> bool:
            span = asset.articulation.part(str(self.part)).openness.span
            return start[0] >= _LEAST_OPEN_SHARE * span and start[1] <= span

        if self.is_drawer:
            self.scene.keep_instances(is_wide_open, least=_SIZED_INSTANCES)

    def near_front(self) -> dict[str, list[float]]:
        """Returns the keys of a `place` near the front edge of a top: an arm does not reach over a deep one."""
        depth, width = (min(float(a.regions[self.region].size[i]) for a in self.scene.assets) for i in (0, 1))
        if self.is_inside or depth <= 2 * (_TOP_M + _TOP_HALF_M):
            return {}
        center_m = [round(depth / 2 - _TOP_M, 3), 0.0]
        return {"center_m": center_m, "half_extent_m": [_TOP_HALF_M, round(width / 4, 3)]}

    @property
    def kind(self) -> str:
        """Kind of its place on the table."""
        if self.is_deep:
            return "deep"
        return "drawer" if self.is_drawer else "shelf" if self.is_shelf else "open"


def put_into(scene: PeerObject, part: str | None) -> PutInto | None:
    """Returns where things are put in an object; a part that a skill moves leads to it. None: nowhere."""
    region = scene.region_for(part)
    if region is None:
        return None
    found = PutInto(scene, region)
    if found.is_deep:
        scene.keep_instances(lambda asset: float(asset.size_m[2]) <= _HIGHEST_BIN_M, least=_SIZED_INSTANCES)
    return found


def fit_item(item: PeerObject, place: PutInto, *, is_closed: bool) -> str | None:
    """Keeps only instances of a carried object that fit into a place; returns what is said about it.

    None: nothing that a hand can carry fits.
    """
    if not place.is_inside:
        return ""
    limits_m = [place.width_m - _SIDE_ROOM_M, np.inf]
    if place.is_shelf or place.is_drawer or is_closed:
        limits_m[1] = place.height_m - (_HEADROOM_M if place.is_shelf else 0.0)

    def fits(asset: ObjectAsset) -> bool:
        # an object may turn: its largest horizontal extent counts
        return float(np.linalg.norm(asset.size_m[:2])) <= limits_m[0] and float(asset.size_m[2]) <= limits_m[1]

    larger = item.category
    if item.keep_instances(fits, least=_SIZED_INSTANCES):
        return f"only those {larger}s are taken that fit into {place.scene.name}" if item.instances else ""
    for category in _SMALL_ITEMS:
        item.replace_category(category)
        if item.keep_instances(fits, least=_SIZED_INSTANCES):
            return f"no {larger} fits into {place.scene.name}; {category} is taken"
    item.replace_category(larger)
    return None


@dataclass
class CarryLayout:
    """Where the objects of a task stand, as long as the file does not say it in a way that fits our objects."""

    side: float
    """1 if the carried things stand on the right of the robot, -1 if on the left."""
    has_container: bool
    """Whether they are put into something, and not only onto the table."""
    count: int = field(default=0, init=False)

    def of_container(self, scene: PeerObject, place: PutInto | None) -> dict[str, Any]:
        """Returns the region of what things are put into."""
        x, y = _FIXED_M["open" if place is None else place.kind]
        height_m = [0.0, 0.05] if place is not None and place.is_shelf else [0.0, 0.0]
        return self._region(scene, x, y, half=[0.05, 0.08], yaw_deg=15.0, height_m=height_m)

    def of_item(self, scene: PeerObject) -> dict[str, Any]:
        """Returns the region of the next thing that is carried."""
        x, y = _FREE_M[self.count % len(_FREE_M)] if self.has_container or self.count else _TAKEN_M
        self.count += 1
        return self._region(scene, x, y, half=[0.06, 0.06], yaw_deg=180.0, height_m=[0.0, 0.0])

    def on_table(self) -> dict[str, Any]:
        """Returns the keys of a `place` onto the table."""
        x, y = _FREE_M[0] if self.has_container else _PUT_M
        return {"center_m": [x, round(self.side * y, 3)], "half_extent_m": [0.08, 0.08]}

    def _region(
        self, scene: PeerObject, x: float, y: float, *, half: list[float], yaw_deg: float, height_m: list[float]
    ) -> dict[str, Any]:
        where = {"object": scene.name, "center_m": [x, round(self.side * y, 3)], "half_extent_m": half}
        return {**where, "yaw_deg": yaw_deg, "height_m": height_m}
