"""Turns task files of InternDataEngine and GenSim2 into task files of Unlatch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from unlatch.configs.peer_tasks.gensim2 import CarriedObjects, read_gensim2_task
from unlatch.configs.peer_tasks.peer_values import (
    HOME,
    ImportCfg,
    Ledger,
    Line,
    PeerSkill,
    has_reference,
    join_path,
    objects_of,
    read_chain,
    read_list,
    read_mapping,
    read_number,
    read_numbers,
    read_text,
    value_at,
)
from unlatch.configs.peer_tasks.scene_objects import (
    SIDE_HALF_M,
    TURNED,
    PeerObject,
    PeerRegion,
    find_info_file,
    middle_across,
    nearest_category,
    nearest_robot,
    object_on_disk,
    our_region,
    read_info_file,
    read_regions,
    robot_yaw_deg,
    scene_name,
    side_by_side,
    user_object,
)
from unlatch.configs.peer_tasks.task_builder import (
    MOST_HALF_M,
    TaskBuilder,
    add_cameras,
    add_distractors,
    add_home_spread,
    add_words,
)
from unlatch.configs.user_files import (
    GENSIM2,
    peer_of,
    read_robot_file,
    read_yaml_tree,
    resolve_references,
    task_entries,
)
from unlatch.robots.catalog import ROBOTS, check_robot_name
from unlatch.robots.description import RobotCfg
from unlatch.simcore.errors import ConfigError
from unlatch.simcore.files import plain_name, user_path
from unlatch.simcore.geometry import Pose
from unlatch.solver.setting import Origin
from unlatch.tasks.task import TaskCfg

_CARRY_S = 20.0
"""Time for a `pick` or a `place`, by which the time limit of a task is longer [s]."""


class _TaskReader:
    """Reads one task of InternDataEngine."""

    def __init__(self, entry: Mapping[str, Any], path: str, file: Path, ledger: Ledger) -> None:
        self.entry = entry
        self.path = path
        self.file = file
        self.ledger = ledger
        self.objects = objects_of(entry)
        self.task: TaskBuilder
        self.acting: list[PeerSkill] = []
        """Skills that move a part."""
        self.scenes: dict[str, PeerObject] = {}
        """Their objects, by the name in the file."""
        self.parts: dict[str, str] = {}
        """The part that each of them moves, by place of the skill."""
        self.carried: CarriedObjects | None = None
        """What is picked and placed; None if nothing is."""
        self.info_files: dict[str, Path] = {}
        """Annotation files whose keypoints are used, by place of the skill."""

    def read(self, name: str, cfg: ImportCfg, given_robot: RobotCfg | None) -> dict[str, Any]:
        """Returns the content of a task of Unlatch; the ledger receives what became of each value.

        Raises:
            ConfigError: It has no skill that Unlatch has, or a choice of the command line is wrong.
            AssetError: The object of the command line is damaged.
        """
        chain, robots = read_chain(self.entry.get("skills"), self._at("skills"), self.ledger)
        self.acting = [skill for skill in chain if skill.acts]
        carrying = [skill for skill in chain if skill.carries]
        if not self.acting and not carrying:
            named = sorted({line.text for line in self.ledger.lines if line.path.startswith(self._at("skills"))})
            raise ConfigError(
                f"{self.file}: {self.path or 'the task'} has no skill that Unlatch can carry out: open, close, rotate, "
                f"pick or place. {'; '.join(named[:4])}{'.' if named else ''} Nothing is written.",
                key=self._at("skills"),
            )
        arms = {skill.arm for skill in (*self.acting, *carrying) if skill.arm}
        robot, robot_path = self._choose_robot(robots, arms, given_robot)
        own, origin = given_robot or ROBOTS.load(robot.name)(), Origin.interndata
        task = TaskBuilder(name, own, self.ledger, cfg.keeps_settings, origin, robot.hand, path=self.path)
        self.task = task
        for label in ("name", "task"):
            if label in self.entry:
                self.ledger.read(self._at(label), self.entry[label], f"the task is called {name}, after the file")
        regions = read_regions(self.entry, self.path, self.ledger)
        robot_name = read_text(read_mapping(self._value(robot_path)).get("name")) if robot_path else ""
        own_region = regions.get(robot_name)
        if carrying:
            self.carried = CarriedObjects(task, self.entry, self.path, chain, self.parts, regions)
        self._add_objects(cfg.object)
        self._add_starts()
        if self.carried is not None:
            self.carried.add_objects(cfg.object)
        self._add_skills(chain)
        self._add_regions(robot_path, regions)
        add_words(task, self.entry, least_s=TaskCfg().max_duration_s + _CARRY_S * len(carrying))
        if self.carried is not None and not task.language:
            task.language.append(self.carried.words())
        T_world_robot = None
        if own_region is not None:  # it stands in the middle of its region
            yaw = np.radians(robot_yaw_deg(read_mapping(self._value(robot_path)), own_region))
            T_world_robot = Pose.from_rpy((own_region.low + own_region.high) / 2, (0.0, 0.0, float(yaw)))
        add_cameras(task, self.entry, roots=self._roots(), T_world_robot=T_world_robot)
        if robot_path:
            add_home_spread(task, read_mapping(self._value(robot_path)), robot_path)
        add_distractors(task, self.entry)
        first = self.acting[0] if self.carried is None else None
        content = task.content(None if first is None else (first.name, self.parts[first.path]))
        self.ledger.leave_rest(dict(self.entry), self.path)
        return content

    def _roots(self) -> list[Path]:
        """Returns the folders from which paths of the file start."""
        root = user_path(read_text(self.entry.get("asset_root")) or ".")
        return [self.file.parent, self.file.parent / root, root, Path()]

    def _at(self, *keys: object) -> str:
        place = self.path
        for key in keys:
            place = join_path(place, key)
        return place

    def _choose_robot(self, named: Sequence[str], arms: set[str], given: RobotCfg | None) -> tuple[Any, str]:
        """Returns the robot of Unlatch, and the place of theirs in the file; empty if it has none."""
        listed = [(index, read_mapping(item)) for index, item in enumerate(read_list(self.entry.get("robots")))]
        used = next((pair for pair in listed if read_text(pair[1].get("name")) in named), listed[0] if listed else None)
        index, robot = used if used is not None else (0, {})
        files = read_list(robot.get("robot_config_file")) or [robot.get("robot_config_file")]
        texts = [read_text(text) for text in (robot.get("name"), robot.get("target_class"), robot.get("path"), *files)]
        choice = nearest_robot([*texts, *named], arms)
        if given is not None:
            choice = replace(choice, name=given.name, why="the command line says so")
        path = self._at("robots", index) if used is not None else ""
        if path:
            self.ledger.read(join_path(path, "name"), robot.get("name"), f"read as robot {choice.name}: {choice.why}")
            for key in ("target_class", "path"):
                if key in robot:
                    self.ledger.leave(join_path(path, key), robot[key], "robots are those of Unlatch")
        return choice, path

    def _add_objects(self, given: str | None) -> None:
        """Adds the objects with parts that skills move; those that are carried are added later."""
        names = list(dict.fromkeys(skill.object for skill in self.acting))
        used = {*names, *(() if self.carried is None else self.carried.names())}
        for name, (place, other) in self.objects.items():
            if name not in used:
                self.ledger.leave(self._at("objects", place), dict(other), "no skill that Unlatch has acts on it")
        for place, other in enumerate(read_list(self.entry.get("objects"))):
            name = read_text(read_mapping(other).get("name"))
            if self.objects[name][0] != place:
                self.ledger.leave(self._at("objects", place), other, f"an object named {name} stands before it")
        for number, name in enumerate(names):
            index, item = self.objects.get(name, (None, {}))
            skill = next(skill for skill in self.acting if skill.object == name)
            where = self._at("objects", index, "name") if index is not None else join_path(skill.path, "objects")
            own = scene_name(name)
            if given is not None and number == 0:
                self.scenes[name] = user_object(own, given)
                self.ledger.read(where, name, f"read as the object {given}, which the command line names")
                continue
            self.scenes[name] = self._find_object(own, item, index, skill, where)
        self.task.objects += self.scenes.values()
        taken = [scene.name for scene in self.scenes.values()]
        twice = next((own for own in taken if taken.count(own) > 1), None)
        if twice is not None:
            raise ConfigError(f"{self.file}: two objects are called '{twice}'. Rename one.", key="objects")

    def _find_object(
        self, own: str, item: Mapping[str, Any], index: int | None, skill: PeerSkill, where: str
    ) -> PeerObject:
        path = read_text(item.get("path"))
        found, said = object_on_disk(own, [root / path for root in self._roots()] if path else [])
        if found is not None and index is not None:
            self.ledger.read(self._at("objects", index, "path"), path, f"read as the object {said}")
            self.ledger.read(where, own)
            self.ledger.read(self._at("asset_root"), self.entry.get("asset_root"))
            return found
        texts = [read_text(item.get(key)) for key in ("category", "art_cat")]
        folders = [part for part in Path(path).parts[:-1] if not part.isdigit()]
        texts += [*reversed(folders), skill.object]
        setting = read_mapping(skill.entry.get("planner_setting"))
        hints = [read_text(item.get("info_name")), *Path(skill.part_key).parts[:-1]]
        hints += [read_text(setting.get("task_name"))]
        category, why = nearest_category([text for text in texts if text], hints, skill.name)
        if has_reference(skill.object):
            why = f"the file has nothing that it refers to; {why}"
        scene = PeerObject(own, category)
        if skill.name == "rotate" and not scene.turns_in_hand():
            why, category = f"{why}, but no part of {category} turns in the hand", TURNED
            scene = PeerObject(own, category)
        self.ledger.read(where, skill.object, f"read as {category} of the library: {why}; object= names another one")
        if index is not None and path:
            self.ledger.leave(self._at("objects", index, "path"), path, f"{said}; {category} is taken")
        if index is not None:
            self.ledger.read_keys(self._at("objects", index), item, ("category", "art_cat", "target_class"))
        return scene

    def _add_starts(self) -> None:
        """Chooses the part of each skill, and sets how far parts are open."""
        for skill in self.acting:
            scene, key = self.scenes[skill.object], self._part_key(skill)
            index, item = self.objects.get(skill.object, (0, {}))
            file = find_info_file(skill, item, scene, self._roots())
            said = ""
            if file is not None:
                scale = scene.take_scale(file)
                if scale is not None:
                    self.ledger.note(skill.path, f"{scene.name} has the scale {scale:g} of {file}")
                part, problem = read_info_file(scene, file)
                if part is not None:
                    scene.parts_by_key[key] = part
                if not problem:
                    self.info_files[skill.path] = file
                said = f", with the keypoints of {file}" if not problem else f", without its keypoints: {problem}"
            self.parts[skill.path] = scene.part_for(skill.name, key)
            said = f"read as part {self.parts[skill.path]} of {scene.name}{said}"
            if skill.part_key:
                self.ledger.read(join_path(skill.path, "obj_info_path"), skill.part_key, said)
            elif file is not None:
                key = "obj_info_path" if read_text(item.get("obj_info_path")) else "info_name"
                self.ledger.read(self._at("objects", index, key), item[key])
                self.ledger.note(skill.path, said)
        for name, (index, item) in self.objects.items():
            if name in self.scenes:
                own = list(dict.fromkeys(self.parts[skill.path] for skill in self.acting if skill.object == name))
                self._read_start(self.scenes[name], own, item, index)

    def _read_start(self, scene: PeerObject, parts: Sequence[str], values: Mapping[str, Any], index: int) -> None:
        wanted: list[tuple[str, Any, str, list[float]]] = []
        limits = read_numbers(values.get("joint_position_range"), 2)
        if limits is not None:
            where = self._at("objects", index, "joint_position_range")
            wanted.append((where, values["joint_position_range"], parts[0], limits))
        strict = read_mapping(values.get("strict_init"))
        positions = read_list(strict.get("joint_positions"))
        for part, position in zip(parts, positions, strict=False):
            number = read_number(position)
            if number is not None:
                where = self._at("objects", index, "strict_init", "joint_positions")
                wanted.append((where, position, part, [number, number]))
        for where, value, part, bounds in wanted:
            low, high = sorted(abs(bound) for bound in bounds)
            span = scene.span(part)
            kept = [round(min(bound, span), 4) for bound in (low, high)]
            self.task.starts[scene.name, part] = kept
            beyond = f", as {part} of {scene.category} opens by {span:.2f}" if high > span else ""
            self.ledger.read(where, value, f"read as the start of {part}, {kept} from closed{beyond}")

    def _part_key(self, skill: PeerSkill) -> str:
        """Returns what tells the part of a skill from others: its file, or its arm if both arms act at once."""
        if skill.part_key:
            return skill.part_key
        beside = [other for other in self.acting if other.group == skill.group and other.object == skill.object]
        return f"arm {skill.arm}" if len({other.arm for other in beside}) > 1 else ""

    def _add_skills(self, chain: Sequence[PeerSkill]) -> None:
        task, carried = self.task, self.carried
        ours = [skill for skill in chain if skill.acts or skill.carries or skill.name == HOME]
        arms = [arm.name for arm in task.robot.arms]
        if len(chain) == len(ours):
            self.ledger.note(self._at("skills"), "a search for a layout is put first, which plans the whole chain")
        said = "read as the search for a layout, which comes first and plans the whole chain"
        for skill in chain:
            if skill not in ours:
                self.ledger.read(skill.path, dict(skill.entry), said)
        used = {skill.arm for skill in ours if skill.name != HOME}
        for skill in ours:
            if skill.name == HOME and skill.arm not in used:
                self.ledger.leave(skill.path, dict(skill.entry), "its arm does nothing else, and is at home")
                continue
            arm = skill.arm if skill.arm in arms and len(arms) > 1 else None
            if skill.arm is not None and arm is None:
                place = skill.path.rpartition("[")[0] or skill.path
                self.ledger.note(place, f"read as the only arm of {task.robot.name}")
            group = skill.group if len(arms) > 1 else 0
            self.ledger.read_keys(skill.path, skill.entry, ("name", "objects", *skill.limits))
            if skill.name == HOME:
                task.entries.append((group, arm, {"name": HOME, **skill.limits}))
                continue
            if carried is not None and skill.carries:
                carried.add_skill(skill, arm=arm, group=group)
                continue
            info = self.info_files.get(skill.path)
            task.add_skill(
                skill.name,
                self.scenes[skill.object],
                self.parts[skill.path],
                path=skill.path,
                raw=skill.entry.get("planner_setting"),
                arm=arm,
                group=group,
                extra={**skill.limits, **({} if info is None else {"obj_info_path": str(info)})},
            )

    def _add_regions(self, robot_path: str, regions: dict[str, PeerRegion]) -> None:
        task, carried = self.task, self.carried
        robot = read_mapping(self._value(robot_path)) if robot_path else {}
        own = regions.pop(read_text(robot.get("name")), None)
        yaw = robot_yaw_deg(robot, own)
        for name, region in regions.items():
            if scene_name(name) not in [scene.name for scene in task.objects]:
                lacks = (
                    "the file has nothing that it refers to"
                    if has_reference(name)
                    else "its object is not in the scene"
                )
                self.ledger.leave(region.path, name, lacks)
        if own is not None:
            self.ledger.read(own.path, "the robot", "read as where the robot stands, for the regions of the objects")
        if robot.get("euler") is not None and read_numbers(robot.get("euler"), 3) is not None:
            self.ledger.read(f"{robot_path}.euler", robot["euler"], f"read as a robot that looks along {yaw:g} degrees")
        skills = {skill.object: skill for skill in reversed(self.acting)}
        names = {scene_name(name): name for name in (*skills, *(() if carried is None else carried.names()))}
        beside = self._stand_beside(skills, regions, yaw) if carried is None and len(task.objects) > 1 else {}
        most_half_m = SIDE_HALF_M if beside else np.inf if carried is None else MOST_HALF_M
        for scene in task.objects:
            name = names[scene.name]
            skill, place = skills.get(name), regions.get(name)
            relation = None if carried is None else carried.relation(name)
            if relation is not None:
                task.relations.append(relation)
                continue
            usual = None if carried is None else carried.region(name, scene)
            if usual is None and skill is not None:
                if place is None and len(task.objects) == 1:
                    continue  # derived in each episode
                usual = task.derived_layout(scene, skill.name, self.parts[skill.path])["regions"][0]
            if usual is not None:
                if scene.name in beside:
                    usual["center_m"][1] = beside[scene.name]
                    usual["half_extent_m"] = [min(half, most_half_m) for half in usual["half_extent_m"]]
                if place is not None:  # what the file says about it
                    usual = our_region(
                        place,
                        usual,
                        depth_m=float(scene.asset.size_m[0]),
                        robot=own if carried is None and not beside else None,
                        robot_yaw=yaw,
                        ledger=self.ledger,
                        config=read_mapping(self._value(place.path)).get("random_config"),
                        most_half_m=most_half_m,
                    )
                task.regions.append(usual)

    def _stand_beside(
        self, skills: Mapping[str, PeerSkill], regions: Mapping[str, PeerRegion], yaw: float
    ) -> dict[str, float]:
        """Returns y of each object, side by side: in the order of the file's regions, else of the arms [m]."""
        if all(name in regions for name in self.scenes):
            rank = {name: -round(middle_across(regions[name], yaw), 3) for name in self.scenes}
        else:
            rank = {name: float(skills[name].arm == "right") for name in self.scenes}
        ordered = [self.scenes[name] for name in sorted(rank, key=rank.__getitem__)]
        return side_by_side({scene.name: scene.half_width_m for scene in ordered})

    def _value(self, path: str) -> Any:
        """Returns the value at a place of the file."""
        return value_at(self.entry, path.removeprefix(self.path))


_PACKAGE = "# @package _global_"


@dataclass(frozen=True)
class ImportedTask:
    """One task of a file of another system."""

    name: str
    place: str
    """Its place in the file."""
    text: str
    """The task file of Unlatch; empty if it cannot be written."""
    lines: tuple[Line, ...]
    """What became of each value."""
    error: ConfigError | None = None
    """Why it cannot be written."""


def import_tasks(path: str | Path, cfg: ImportCfg) -> list[ImportedTask]:
    """Reads every task of a file of InternDataEngine or GenSim2.

    Raises:
        ConfigError: The file is not one of theirs, or a choice of `cfg` is wrong.
        AssetError: The object that `cfg` names is damaged.
    """
    file = user_path(path)
    tree = read_yaml_tree(file)
    peer = peer_of(tree)
    if peer is None:
        raise ConfigError(
            f"{path} is no task file of InternDataEngine or GenSim2. Expected a list `tasks` or a `constraint_list`. "
            "A task of Unlatch needs no import: --config-dir FOLDER.",
            path=str(path),
        )
    if cfg.object is not None:
        user_object("object", cfg.object)
    robot = None if cfg.robot is None else _read_robot(cfg.robot)
    name = plain_name(cfg.name or file.stem)
    entries = [("", tree)] if peer == GENSIM2 else task_entries(resolve_references(tree))
    names = [name] if len(entries) == 1 else [f"{name}_{index}" for index in range(len(entries))]
    found = []
    for (place, entry), own in zip(entries, names, strict=True):
        ledger = Ledger()
        try:
            if peer == GENSIM2:
                content = read_gensim2_task(entry, own, file, cfg, robot, ledger)
            else:
                content = _TaskReader(read_mapping(entry), place, file, ledger).read(own, cfg, robot)
        except ConfigError as exc:
            found.append(ImportedTask(own, place, "", tuple(ledger.lines), exc))
        else:
            found.append(ImportedTask(own, place, _to_text(content, file, place, ledger), tuple(ledger.lines)))
    return found


def own_robot_file(robot: str | None) -> Path | None:
    """Returns the YAML file of the user's robot that `robot=` names; None: it names none, or one of the catalog."""
    return user_path(robot) if robot is not None and robot.endswith((".yaml", ".yml")) else None


def _read_robot(value: str) -> RobotCfg:
    """Returns the robot that the command line names.

    Raises:
        ConfigError: There is none.
    """
    file = own_robot_file(value)
    if file is None:
        check_robot_name(value, where="robot")
        return ROBOTS.load(value)()
    found = read_robot_file(file)
    if found is None:
        raise ConfigError(
            f"robot='{value}' is no description of a robot. Expected FOLDER/robot/NAME.yaml, as `unlatch new robot` "
            "writes it. Change it.",
            key="robot",
        )
    if file.absolute().parent.name != "robot":
        raise ConfigError(
            f"robot='{value}' is not in a folder 'robot'. Expected FOLDER/robot/NAME.yaml, so that --config-dir FOLDER "
            "finds it. Move it.",
            key="robot",
        )
    return replace(found, name=file.stem)


def _to_text(content: Mapping[str, Any], file: Path, place: str, ledger: Ledger) -> str:
    """Returns the text of a task file: what was read, then what has no counterpart, as comments."""
    left = [line for line in ledger.lines if not line.is_read]
    head = [_PACKAGE, f"# imported from {file.name}{f', {place}' if place else ''} by `unlatch import`"]
    plain = yaml.safe_dump(dict(content), sort_keys=False, allow_unicode=True, width=110, default_flow_style=None)
    notes = ["# without a counterpart in Unlatch:", *(f"# {line}" for line in left), ""] if left else []
    return "\n".join([*head, plain, *notes])
