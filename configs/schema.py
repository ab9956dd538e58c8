"""The dataclass of an episode's configuration, and the rules between its parts.

Dataclasses of the parts are beside the classes that use them.
"""

from __future__ import annotations

import string
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Annotated

import numpy as np

from unlatch.configs.dataclass_reader import entry_keys
from unlatch.objects.annotation import Part
from unlatch.objects.articulated_object import ObjectAsset
from unlatch.objects.config import ObjectCfg, RestsOn
from unlatch.robots.catalog import check_robot_name
from unlatch.robots.description import RobotCfg
from unlatch.simcore.errors import ConfigError, UnknownEntryError, unknown_name
from unlatch.simcore.randomization.config import RandomizationCfg
from unlatch.simcore.ranges import Fraction, Range, check_ranges
from unlatch.simcore.recording.keys import is_name
from unlatch.simcore.sim.sensors.config import SensorCfg
from unlatch.simcore.sim.world import WorldCfg
from unlatch.skills.catalog import SKILLS, STRATEGY_NAMES
from unlatch.skills.config import (
    DisturbCfg,
    HoldCfg,
    HomeCfg,
    SkillCfg,
    StageSequences,
    fill_objects,
    part_acted_on,
    stages_of,
)
from unlatch.skills.layout_search import LayoutSearchCfg, layout_search_of
from unlatch.solver.plan import PlannerCfg
from unlatch.solver.setting import PlannerSettingCfg
from unlatch.solver.setting_reader import find_misfit_motions
from unlatch.tasks.language import FIELDS
from unlatch.tasks.layout import TABLE, plinth_name
from unlatch.tasks.stand import GROUND, STAND_PARTS, StandCfg
from unlatch.tasks.task import GoalKind, TaskCfg, order_relations

MAX_REPLANS = 20
"""Most attempts at a skill after its first one."""


@dataclass
class CamerasCfg:
    """The cameras of an episode: a YAML file of the group `camera`."""

    name: str = "none"
    """Name of this set of cameras."""
    cameras: list[SensorCfg] = field(default_factory=list)
    """Cameras: names of YAML files of the group `sensor`, or entries with a `type`."""


class Scenery(Enum):
    """The room around the table, which is only visible."""

    none = "none"
    """No room: a table in front of white."""
    studio = "studio"
    """A plain backdrop."""
    kitchen = "kitchen"
    """The table is a kitchen island."""
    workshop = "workshop"
    """The table is a workbench."""
    office = "office"
    """The table is a desk."""
    random = "random"
    """A kitchen, a workshop or an office, drawn for every episode."""


@dataclass
class EpisodeCfg:
    """Everything that an episode depends on, besides its number."""

    task: TaskCfg = field(default_factory=TaskCfg)
    """Places of objects, and the goal."""
    object: ObjectCfg = field(default_factory=ObjectCfg)
    """The object that the task is about."""
    objects: list[ObjectCfg] = field(default_factory=list)
    """Further objects."""
    robot: RobotCfg = field(default_factory=RobotCfg)
    """The robot."""
    skills: list[SkillCfg] = field(default_factory=list)
    """The chain of skills, in order."""
    world: WorldCfg = field(default_factory=WorldCfg)
    """Rates and solver settings of the simulation."""
    sensors: list[SensorCfg] = field(default_factory=list)
    """Sensors: entries with a `type`, or names of YAML files of the group `sensor`."""
    camera: CamerasCfg = field(default_factory=CamerasCfg)
    """A set of cameras in addition to `sensors`."""
    planner: PlannerCfg = field(default_factory=PlannerCfg)
    """Effort of the planner."""
    variety: Fraction | None = None
    """How much plans vary: from 0, one plan for each scene, to 1, spread evenly; null: the first plan that serves."""
    randomization: RandomizationCfg = field(default_factory=RandomizationCfg)
    """Randomization beyond the layout."""
    stand: StandCfg = field(default_factory=StandCfg)
    """What the robot stands on: a YAML file of the group `stand`."""
    scenery: Scenery = Scenery.studio
    """The room in images; physics and records do not depend on it."""
    disturb: DisturbCfg = field(default_factory=DisturbCfg)
    """How far the executed targets of skills leave the plan."""
    replan: Annotated[int, Range(0, MAX_REPLANS)] = 1
    """How often a skill is planned anew, from where things are, after it missed its grasp, lost its part, was blocked
    or did not get far enough."""
    seed: int = 0
    """Seed of the run; it determines the seed of each episode together with its number."""

    def __post_init__(self) -> None:
        if not 0 <= self.seed < 2**63:
            raise ConfigError(f"seed={self.seed} is out of range. Expected 0 to 2^63 - 1.", key="seed")
        self.skills = fill_objects(self.skills)
        check_ranges(self)

    def all_objects(self) -> dict[str, ObjectCfg]:
        """Returns `object` and `objects` by name."""
        return {item.name: item for item in (self.object, *self.objects)}

    def all_sensors(self) -> dict[str, SensorCfg]:
        """Returns `camera.cameras` and `sensors` by full key: `camera.cameras[0]`, `sensors[0]`."""
        listed = (("camera.cameras", self.camera.cameras), ("sensors", self.sensors))
        return {f"{key}[{index}]": item for key, items in listed for index, item in enumerate(items)}


def part_of_skill(cfg: EpisodeCfg, index: int, assets: Mapping[str, ObjectAsset]) -> Part | None:
    """Returns the part that a skill of the chain acts on; for `artpreplan`, that of the next skill on its object.

    None: the skill carries a whole object, or an arm goes home beside one or with it.
    """
    entry = cfg.skills[index]
    if isinstance(entry, LayoutSearchCfg):
        if assets[entry.objects[0]].free:
            return None
        later = (i for i in range(index + 1, len(cfg.skills)) if cfg.skills[i].objects[0] == entry.objects[0])
        parts = (part_of_skill(cfg, i, assets) for i in later)
        return next((part for part in parts if part is not None), None) or part_acted_on(
            entry.name, entry.part, assets[entry.objects[0]].articulation
        )
    if SKILLS.load(entry.name).carries or (isinstance(entry, HomeCfg) and assets[entry.objects[0]].free):
        return None
    return part_acted_on(entry.name, entry.part, assets[entry.objects[0]].articulation)


_FOLDERS_ABOVE = 3
"""Number of folders above that of an object from which an `obj_info_path` may start."""
_SAME_IN_STAGE = ("collision_valid", "process_valid", "contact_force_threshold_n", "scene_force_threshold_n")
"""Keys that must be equal in a stage: its arms share a robot and its surroundings."""


def check_episode(cfg: EpisodeCfg) -> None:
    """Checks that all names that parts of a configuration refer to exist.

    Raises:
        ConfigError: A name does not exist; the message has the full key and known names.
    """
    _check_robot(cfg)
    _check_objects(cfg)
    _check_skills(cfg)
    _check_stand(cfg)
    check_sensors(cfg, cfg.all_sensors())
    _check_cameras(cfg)
    phrasings = {f"{where}.language": skill.language for skill, where in _skills_with_keys(cfg)}
    for where, texts in {"task.language": cfg.task.language, **phrasings}.items():
        for index, text in enumerate(texts):
            _check_language(text, f"{where}[{index}]")


def _skills_with_keys(cfg: EpisodeCfg) -> Iterator[tuple[SkillCfg, str]]:
    """Returns each entry of the chain with its full key."""
    return zip(cfg.skills, entry_keys(cfg.skills, cfg.robot.name), strict=True)


def hand_notices(cfg: EpisodeCfg) -> list[str]:
    """Returns a line for each planner setting whose motions do not fit the hand of the arm that carries it out."""
    arms = {arm.name: arm for arm in cfg.robot.arms}
    found: list[str] = []
    for skill, where in _skills_with_keys(cfg):
        setting = skill.planner_setting  # a search for a layout has none; what an episode derives is not read yet
        if isinstance(setting, PlannerSettingCfg) and not setting.derived and cfg.robot.arms:
            arm = arms.get(skill.arm or "", cfg.robot.arms[0])
            tool = {name: np.array(point, dtype=float) for name, point in arm.keypoints.items()}
            found += find_misfit_motions(setting, tool, f"{where}.planner_setting")
    return found


def find_info_files(cfg: EpisodeCfg) -> None:
    """Replaces each `obj_info_path` of the skills by the path of the file that it names.

    Raises:
        ConfigError: There is no such file.
    """
    objects = cfg.all_objects()
    for skill, where in _skills_with_keys(cfg):
        given: str | None = getattr(skill, "obj_info_path", None)  # a search for a layout has none
        if given is None:
            continue
        root = objects[skill.objects[0]].root
        above = [] if root is None else folders_of_info(Path(root))
        found = next((folder / given for folder in (Path.cwd(), *above) if (folder / given).is_file()), None)
        if found is None:
            places = ", ".join(str(folder) for folder in (Path.cwd(), *above))
            raise ConfigError(
                f"{where}.obj_info_path='{given}' is not a file. Expected an info.json below one of: {places}. Correct "
                "the path, or remove the key: the part already names keypoints and axes.",
                key=f"{where}.obj_info_path",
            )
        skill.obj_info_path = str(found)


def folders_of_info(root: Path) -> list[Path]:
    """Returns the folders below which an `obj_info_path` is looked for: that of the object, and those above it."""
    folder = root if root.is_dir() else root.parent
    return [folder, *folder.parents[:_FOLDERS_ABOVE]]


def _check_robot(cfg: EpisodeCfg) -> None:
    if not cfg.robot.arms:
        raise ConfigError(
            f"robot.arms of '{cfg.robot.name}' is empty. Expected at least one arm. Add it.", key="robot.arms"
        )
    if cfg.robot.urdf is None:
        check_robot_name(cfg.robot.name, where="robot.name")
    else:
        _check_spelling(cfg.robot.name, "robot.name")
    for index, arm in enumerate(cfg.robot.arms):
        _check_spelling(arm.name, f"robot.arms[{index}].name")


def _check_objects(cfg: EpisodeCfg) -> None:
    places_of = [("object", cfg.object), *((f"objects[{i}]", o) for i, o in enumerate(cfg.objects))]
    taken = {TABLE: "the table", cfg.robot.name: "the robot"}
    if cfg.stand.is_used:
        taken |= {GROUND: "the floor below the stand", **dict.fromkeys(STAND_PARTS, "a part of the stand")}
    for _, item in places_of:
        taken[plinth_name(item.name)] = f"the box that '{item.name}' may stand on"
    names: list[str] = []
    for where, item in places_of:
        key = f"{where}.name"
        _check_spelling(item.name, key)
        if item.name in names:
            raise ConfigError(f"{key}='{item.name}' is used twice. Expected different names. Rename it.", key=where)
        if item.name in taken:
            raise ConfigError(
                f"{key}='{item.name}' is taken: {taken[item.name]} has that name. Expected another name. Rename it.",
                key=key,
            )
        if item.rests_on is RestsOn.any and layout_search_of(cfg.skills) is None:
            raise ConfigError(
                f"{where}.rests_on=any asks a search for a layout to try the sides of '{item.name}', and this chain "
                "has none. Expected artpreplan as the first entry of skills. Add it, or name one side.",
                key=f"{where}.rests_on",
            )
        names.append(item.name)
    for key in ("regions", "relations", "openness", "goal"):
        for index, entry in enumerate(getattr(cfg.task, key)):
            _check_known(entry.object, names, f"task.{key}[{index}].object", "an object of this episode")
    for index, entry in enumerate(cfg.task.relations):
        _check_known(entry.of, names, f"task.relations[{index}].of", "an object of this episode")
    order_relations(cfg.task.relations)
    placed = [item.object for item in cfg.task.regions] + [item.object for item in cfg.task.relations]
    for name in names:
        if cfg.task.derived is not None and name == cfg.object.name and name not in placed:
            continue
        if placed.count(name) != 1:
            raise ConfigError(
                f"task.regions and task.relations have {placed.count(name)} entries for object '{name}'. Expected one. "
                f"Add or remove `object: {name}`.",
                key="task.regions",
            )
    if not cfg.task.goal and cfg.task.derived is None:
        raise ConfigError("task.goal is empty. Expected at least one condition. Add it.", key="task.goal")


def _check_skills(cfg: EpisodeCfg) -> None:
    if not cfg.skills:
        raise ConfigError("skills is empty. Expected at least one entry. Add it.", key="skills")
    objects, arms = list(cfg.all_objects()), [arm.name for arm in cfg.robot.arms]
    for index, (skill, where) in enumerate(_skills_with_keys(cfg)):
        try:
            SKILLS.entry(skill.name)
        except UnknownEntryError as exc:
            raise ConfigError(
                f"{where}.name: {exc.message}", key=f"{where}.name", available=exc.values["available"]
            ) from exc
        if isinstance(skill, LayoutSearchCfg) and (index > 0 or len(cfg.skills) == 1):
            raise ConfigError(
                f"{where} is '{skill.name}', which searches for a layout for the skills after it. Expected it once, as "
                "the first of several entries. Move or remove it.",
                key=where,
            )
        if not skill.objects:
            raise ConfigError(
                f"{where}.objects is empty. Expected the object to act on. Add it.", key=f"{where}.objects"
            )
        for place, name in enumerate(skill.objects):
            _check_known(name, objects, f"{where}.objects[{place}]", "an object of this episode")
        if skill.arm is not None:
            _check_known(skill.arm, arms, f"{where}.arm", "an arm of this episode")
        elif isinstance(skill, HomeCfg) and len(arms) > 1:
            raise ConfigError(
                f"{where}.arm is missing. '{cfg.robot.name}' has several arms. Name the one that goes home: "
                f"{', '.join(arms)}.",
                key=f"{where}.arm",
            )
        if not isinstance(skill, LayoutSearchCfg):
            _check_order(skill, where)
    _check_stages(cfg)


def _check_stand(cfg: EpisodeCfg) -> None:
    """Checks that nothing is put down on a table where the robot has a stand instead."""
    if not cfg.stand.is_used:
        return
    wanted = [f"task.goal[{i}]" for i, goal in enumerate(cfg.task.goal) if goal.kind is GoalKind.on and goal.of is None]
    wanted += [
        where
        for skill, where in _skills_with_keys(cfg)
        if skill.name == "place" and (len(skill.objects) < 2 or getattr(skill, "beside", False))
    ]
    if wanted:
        raise ConfigError(
            f"{wanted[0]} puts an object on the table, and stand={cfg.stand.kind.value} has none. Expected an object "
            "in or on which it goes, or stand=table. Change one of them.",
            key=wanted[0],
        )


def _check_order(skill: SkillCfg, where: str) -> None:
    """Checks that every word of `order` begins a strategy's name, or is a derived name such as `edge+12cm`."""
    derived = skill.planner_setting.derived
    known = list(STRATEGY_NAMES) if derived else [skill.strategy, *(item.name for item in skill.strategies)]
    for place, word in enumerate(skill.order):
        if not any(name.startswith(word) or (derived and word.startswith(name)) for name in known):
            _check_known(word, known, f"{where}.order[{place}]", "a strategy of this entry")


def _check_stages(cfg: EpisodeCfg) -> None:
    keys = entry_keys(cfg.skills, cfg.robot.name)
    for sequences in stages_of(cfg.skills):
        indices = [index for sequence in sequences for index in sequence]
        first = cfg.skills[indices[0]]
        for index in indices[1:]:
            skill = cfg.skills[index]
            if LayoutSearchCfg in (type(skill), type(first)):
                raise ConfigError(
                    f"{keys[index]} is in the same stage as a search for a layout. Expected the search alone in its "
                    "stage. Move one of them to another stage.",
                    key=keys[index],
                )
            for name in _SAME_IN_STAGE if len(sequences) > 1 else ():
                if getattr(skill, name) != getattr(first, name):
                    raise ConfigError(
                        f"{keys[index]}.{name}={getattr(skill, name)} differs from that of {keys[indices[0]]}, "
                        f"{getattr(first, name)}. Expected one value for all entries of a stage. Change one of "
                        "them.",
                        key=f"{keys[index]}.{name}",
                    )
        _check_parts_differ(cfg, sequences, keys)


def _check_parts_differ(cfg: EpisodeCfg, sequences: StageSequences, keys: list[str]) -> None:
    taken: dict[tuple[str, str], tuple[int, int]] = {}
    for number, sequence in enumerate(sequences):
        for index in sequence:
            skill = cfg.skills[index]
            if skill.part is None or isinstance(skill, HoldCfg | HomeCfg):
                continue
            other, place = taken.setdefault((skill.objects[0], skill.part), (number, index))
            if other != number:
                raise ConfigError(
                    f"{keys[index]}.part='{skill.part}' is the part that {keys[place]} acts on at the same time. "
                    "Expected another part, or another stage. Change one of them.",
                    key=f"{keys[index]}.part",
                )


def check_sensors(cfg: EpisodeCfg, sensors: Mapping[str, SensorCfg]) -> None:
    """Checks that sensors, by full key, have different names and are mounted on existing bodies.

    Raises:
        ConfigError: A sensor breaks a rule.
    """
    bodies = [cfg.robot.name, *cfg.all_objects()]
    names: list[str] = []
    for where, sensor in sensors.items():
        if sensor.name in names:
            raise ConfigError(
                f"{where}.name='{sensor.name}' is used twice. Expected different names. Rename it.",
                key=f"{where}.name",
            )
        names.append(sensor.name)
        for name in ("body", "look_at_body"):
            body = getattr(sensor.mount, name)
            if body is not None:
                _check_known(body, bodies, f"{where}.mount.{name}", "a robot or object of this episode")


def _check_cameras(cfg: EpisodeCfg) -> None:
    if not cfg.camera.cameras:
        return
    from unlatch.simcore.sim.sensors.camera import CameraCfg

    for index, sensor in enumerate(cfg.camera.cameras):
        if not isinstance(sensor, CameraCfg):
            raise ConfigError(
                f"camera.cameras[{index}] is a sensor of type '{sensor.type}'. Expected a camera. Put it into sensors.",
                key=f"camera.cameras[{index}]",
            )


def _check_known(name: str, known: Sequence[str], where: str, kind: str) -> None:
    if name not in known:
        raise unknown_name(name, kind, where=where, known=known)


def _check_spelling(name: str, where: str) -> None:
    if not is_name(name):
        raise ConfigError(
            f"{where}='{name}' cannot be part of record keys. Expected letters, digits, '_' and '-'. Rename it.",
            key=where,
        )


def _check_language(text: str, where: str) -> None:
    try:
        found = [(name, spec, how) for _, name, spec, how in string.Formatter().parse(text) if name is not None]
    except ValueError as exc:
        raise ConfigError(f"{where}='{text}' cannot be filled in: {exc}. Correct its braces.", key=where) from exc
    for name, spec, how in found:
        if spec or how:
            written = name + (f"!{how}" if how else "") + (f":{spec}" if spec else "")
            raise ConfigError(
                f"{where}='{text}' formats '{{{written}}}'. Expected the name alone, '{{{name}}}'. Remove the rest.",
                key=where,
            )
        if name not in FIELDS:
            raise ConfigError(
                f"{where}='{text}' names '{{{name}}}'. Expected one of "
                f"{', '.join(f'{{{field}}}' for field in FIELDS)}. Change it.",
                key=where,
            )
