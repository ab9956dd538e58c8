"""Derives the layout, skills, goal and arrays that a record must have, from configuration and objects."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from unlatch.configs.derived_task import skill_strategies
from unlatch.configs.schema import EpisodeCfg, part_of_skill
from unlatch.objects.annotation import Part
from unlatch.objects.articulated_object import ObjectAsset
from unlatch.robots.description import ArmCfg
from unlatch.simcore.geometry import Pose
from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.simcore.recording.episode_fields import GOAL_RESULT_FIELDS, SKILL_FIELDS
from unlatch.simcore.recording.keys import (
    FINGER_JOINTS,
    FREE_OBJECTS,
    GATES,
    HOLDS,
    JUDGED_OBJECTS,
    LABELS,
    MECHANISMS,
    PUSHES,
    REGIONS,
    SENSORS,
    SEVERAL_ARMS,
    ArrayNames,
    Names,
    match_key,
)
from unlatch.simcore.recording.measurements import joint_positions, read_frame
from unlatch.simcore.recording.success_rules import FAILURE_CODES, INITIAL_S, NO_FAILURES, OPTIONAL_RULES
from unlatch.simcore.recording.verdict import ABSENT, POSSIBLE, RECORDED, TOLERANCE, Criteria, undetermined
from unlatch.simcore.urdf.model import movable_joints
from unlatch.skills.catalog import SKILLS
from unlatch.skills.config import SkillCfg, stages_of
from unlatch.skills.gripping import grip_force, load_of
from unlatch.skills.layout_search import LayoutSearchCfg, layout_search_of
from unlatch.skills.skill import Skill
from unlatch.tasks.language import phrasing_draws, step_language
from unlatch.tasks.layout import sample_layout
from unlatch.workflows.checks.mechanism_states import joints_of_gates
from unlatch.workflows.episode.assets import language_step, part_acted_on_by, recorded_regions
from unlatch.workflows.episode.criteria import Actor, goal_conditions, goal_rules, settle_frames, settle_limits
from unlatch.workflows.episode.scene import base_of, stand_range

POSES = ("position", "orientation")
"""Attributes that put a body elsewhere."""


def randomizes(cfg: EpisodeCfg, body: str, *attributes: str) -> bool:
    """Returns whether a rule of the randomization, or of the record that it repeats, writes an attribute of a body."""
    recorded = cfg.randomization.recorded
    repeated: Mapping[str, Any] = recorded if isinstance(recorded, Mapping) else {}
    views = [(view.name, view.body) for view in cfg.randomization.views]
    views += [(view.get("name"), view.get("body")) for view in repeated.get("views", [])]
    names = {body} | {name for name, seen in views if seen == body}
    rules = [(rule.view, rule.attribute) for rule in cfg.randomization.rules]
    rules += [(rule.get("view"), rule.get("attribute")) for rule in repeated.get("rules", [])]
    return any(view in names and attribute in attributes for view, attribute in rules)


_START_JOINTS = "joint_positions"


@dataclass(frozen=True)
class ExpectedLayout:
    """The layout that one record must state.

    `artpreplan` tries one draw after the other. Which of them it chooses is read from the record: nothing is planned
    again.
    """

    cfg: EpisodeCfg
    """The episode, with its derived task."""
    assets: Mapping[str, ObjectAsset]
    """The episode's objects by name."""
    record: EpisodeRecord
    rng: np.random.Generator
    """Its stream `layout`, from which the objects have been drawn."""

    def statement(self) -> dict[str, Any]:
        """Returns the poses, openings and start joints that the record must state, and whether it reports a search.

        If the search chose no layout, the record has one of those that it tried: that one.
        """
        search = layout_search_of(self.cfg.skills)
        if search is None:
            return self._draw()
        return {"preplan": RECORDED, **self._draw_searched(search)}

    def _draw_searched(self, search: LayoutSearchCfg) -> dict[str, Any]:
        report = self.record.layout.get("preplan")
        report = report if isinstance(report, Mapping) else {}
        tried, chosen = report.get("tried"), report.get("chosen")
        most = tried if isinstance(tried, int) and tried in range(1, search.candidates) else search.candidates
        last = chosen if isinstance(chosen, int) and chosen in range(most) else 0
        draws = [self._draw() for _ in range(most if chosen is None else last + 1)]
        return draws[-1] if chosen is not None else next(filter(self._is_recorded, reversed(draws)), draws[-1])

    def problems(self) -> Iterator[str]:
        """Yields what is wrong with the report of the search for a layout."""
        search = layout_search_of(self.cfg.skills)
        if search is None:
            return
        report = self.record.layout.get("preplan")
        if not isinstance(report, Mapping):
            yield f"layout.preplan is {report!r}, but the chain begins with a search for a layout."
            return
        tried, chosen = report.get("tried"), report.get("chosen")
        if not isinstance(tried, int) or not 0 < tried <= search.candidates:
            yield f"layout.preplan.tried is {tried!r}, expected 1 to {search.candidates} by the configuration."
        elif chosen is not None and not (isinstance(chosen, int) and 0 <= chosen < tried):
            yield f"layout.preplan.chosen is {chosen!r}, expected one of the {tried} layouts that were tried."
        elif chosen is None and (self.record.skills or self.record.success):
            yield "layout.preplan.chosen is None, but skills began."
        else:
            yield from self._refusal_problems(report)

    def _refusal_problems(self, report: Mapping[str, Any]) -> Iterator[str]:
        """Yields where the refused layouts of a report contradict its counts, or the chain."""
        names = {-1: "layout", **{index: entry.name for index, entry in enumerate(self.cfg.skills)}}
        counts: dict[str, int] = {}
        left = set(range(report["tried"])) - {report["chosen"]}
        for place, item in enumerate(report["failures"]):
            where = f"layout.preplan.failures[{place}]"
            if names.get(item["skill"]) != item["name"]:
                yield f"{where} is of skill {item['skill']} ({item['name']}), which the chain does not have."
            if item["code"] not in FAILURE_CODES:
                yield f"{where}.code is {item['code']!r} in the record, expected one of {', '.join(FAILURE_CODES)}."
            if item["candidate"] not in left:
                yield f"{where}.candidate is {item['candidate']} in the record, expected another layout that was tried."
            left.discard(item["candidate"])
            label = "layout" if item["skill"] < 0 else f"{item['skill']} {item['name']}"
            counts[f"{label}: {item['code']}"] = counts.get(f"{label}: {item['code']}", 0) + 1
        if counts != report["counts"]:
            yield f"layout.preplan.counts is {report['counts']} in the record, expected {counts} by its failures."

    def _draw(self) -> dict[str, Any]:
        homes = [(arm.name, arm.home, arm.home_std) for arm in self.cfg.robot.arms]
        drawn = sample_layout(
            self.cfg.task, self.assets, homes, self.rng, stand=stand_range(self.cfg.stand, self.cfg.robot)
        ).to_dict()
        if randomizes(self.cfg, self.cfg.robot.name, _START_JOINTS):
            drawn["q_home"] = dict.fromkeys(drawn["q_home"], RECORDED)  # a rule has replaced the drawn joints
        return drawn

    def _is_recorded(self, drawn: Mapping[str, Any]) -> bool:
        layout = {"instances": POSSIBLE, "preplan": POSSIBLE, **drawn}
        return not list(Criteria({"layout": layout}, tolerance=TOLERANCE).differences(self.record))


class ExpectedGoal:
    """The goal of one episode, from its task and its objects."""

    def __init__(
        self,
        cfg: EpisodeCfg,
        assets: Mapping[str, ObjectAsset],
        record: EpisodeRecord,
        skills: Sequence[Mapping[str, Any]],
    ) -> None:
        """Finds the joints that must rest.

        Args:
            cfg: The episode, with its derived task.
            assets: The episode's objects by name.
            record: The record.
            skills: The expected entries of its `skills`.
        """
        self._cfg, self._record = cfg, record
        self._conditions = as_recorded(goal_conditions(cfg.task, assets), record)
        acted_on = [(item["object"], item.get("joint_index")) for item in (*self._conditions, *skills)]
        self._max_changes = settle_limits(assets, acted_on)

    def statement(self, *, goes_on: bool) -> dict[str, Any]:
        """Returns what `goal` must state; `goes_on` says whether the episode goes on after a broken rule."""
        if not goes_on:
            return {"conditions": self._conditions}
        return {
            **undetermined(GOAL_RESULT_FIELDS),
            "conditions": self._conditions,
            **goal_rules(self._cfg),
            "max_changes": self._max_changes if self._record.skills else {},
        }

    def settle(self) -> dict[str, Any]:
        """Returns what `settle` must state: a success has settled in the last frames, for as long as the task says."""
        return {
            "frame_start": max(0, self._record.n_actions - settle_frames(self._cfg)),
            "frame_end": self._record.n_actions,
            "max_change": min(self._max_changes.values(), default=None),
            "max_changes": self._max_changes,
        }


def as_recorded(conditions: list[dict[str, Any]], record: EpisodeRecord) -> list[dict[str, Any]]:
    """Returns conditions on free objects as a record must state them.

    Older records have no outline of any object: their conditions are judged by the bounding box. If one condition of a
    record has an outline, all must have it.
    """
    stated = [part.get("conditions") for part in (record.goal, *record.skills) if isinstance(part, Mapping)]
    entries = [entry for found in stated if isinstance(found, list) for entry in found if isinstance(entry, Mapping)]
    if not any("outline" in entry for entry in entries):
        return [{key: value for key, value in condition.items() if key != "outline"} for condition in conditions]
    return conditions


_OF_FIRST_ATTEMPT = ("arm", "success_mode", "success_threshold", "s0")
"""Keys in which every attempt at a skill equals the first one."""


@lru_cache(maxsize=64)
def skill_class(name: str) -> type[Skill]:
    """Returns the class of a skill by its name in the catalog.

    Raises:
        PluginError: It is not installed.
    """
    return SKILLS.load(name)


class ExpectedSkills:
    """The entries that one record must have. When a skill began and ended, and its strategy, are read from the record.

    Note:
        After a search for a layout, the arm of a skill that names none is read from the record too: it depends on what
        could be planned.
    """

    def __init__(
        self, cfg: EpisodeCfg, assets: Mapping[str, ObjectAsset], record: EpisodeRecord, *, seed: int, actor: Actor
    ) -> None:
        """Reads the place of each entry in the chain.

        Args:
            cfg: The episode, with its derived task.
            assets: The episode's objects by name.
            record: The record; its arrays have the right shapes.
            seed: Seed of the episode.
            actor: What moves the arms.
        """
        self._cfg, self._assets, self._record = cfg, assets, record
        self._stages = stages_of(cfg.skills)
        self._is_searched = layout_search_of(cfg.skills) is not None
        self._places = [entry.get("entry", index) for index, entry in enumerate(record.skills)]
        self._actor = actor
        self._repeats = cfg.replan > 0 or actor.may_push(cfg) or len(set(self._places)) < len(self._places)
        self._draws = phrasing_draws(seed, 1 + len(self._places))[1:]
        parts = {(entry.objects[0], part_acted_on_by(cfg, assets, n)) for n, entry in enumerate(cfg.skills)}
        self._load_n = max((load_of(assets[name], part) for name, part in parts), default=0.0)
        self.problems: list[str] = []
        """Arms and strategies that the configuration does not have; `entries` adds them."""

    def own_conditions(self) -> Iterator[int]:
        """Yields the entries whose class, a plugin, has a condition of success of its own."""
        for index, place in enumerate(self._places):
            if place in range(len(self._cfg.skills)) and skill_class(self._cfg.skills[place].name).has_own_condition():
                yield index

    def order_problems(self) -> Iterator[str]:
        """Yields the first entry that does not follow those before it in the chain."""
        attempts: dict[int, int] = {}
        for index, place in enumerate(self._places):
            begun = attempts.get(place, 0) if isinstance(place, int) else 0
            if begun and self._record.skills[index].get("attempt") == begun:
                attempts[place] += 1
                continue
            due = self._due(attempts)
            names = [self._cfg.skills[n].name for n in due]
            name = self._record.skills[index].get("name")
            if begun or place not in due or name != self._cfg.skills[place].name:
                wanted = " or ".join(f"{n} ({each})" for n, each in zip(due, names, strict=True)) or "no further entry"
                yield (
                    f"skills[{index}] is skill {place!r} ({name}) of the chain, expected {wanted} by the configuration."
                )
                return
            attempts[place] = 1

    def _due(self, begun: Mapping[int, int]) -> list[int]:
        """Returns the skills of the chain that may begin after those that have begun."""
        for sequences in self._stages:
            due = [next((n for n in sequence if n not in begun), None) for sequence in sequences]
            if any(n is not None for n in due):
                return [n for n in due if n is not None]
        return []

    def entries(self) -> list[dict[str, Any]]:
        """Returns what each entry must state.

        Raises:
            ConfigError, AssetError: A skill does not fit its part.
            RecordingError: An entry lacks a value on which the others depend.
        """
        found: list[dict[str, Any]] = []
        for index, place in enumerate(self._places):
            entry = self._expect(index, place)
            first = self._places.index(place)
            if first < index:
                entry |= {key: found[first][key] for key in _OF_FIRST_ATTEMPT}
            found.append(entry)
        if found:
            found[0]["frame_start"] = self._cfg.world.frames(INITIAL_S)
        return found

    def _expect(self, index: int, place: int) -> dict[str, Any]:
        cfg, recorded = self._cfg, self._record.skills[index]
        part, name = part_of_skill(cfg, place, self._assets), cfg.skills[place].objects[0]
        asset = self._assets[name]
        joint_index = None if part is None else movable_joints(asset.model).index(part.joint)
        where = {"object": name, "joint_index": joint_index}
        start = read_frame(recorded, "frame_start", self._record.n_actions)
        arm = self._find_arm(index, place, part, start)
        s = None if part is None else joint_positions(self._record, where)
        chosen = self._find_strategy(index, place, part, arm, 0.0 if s is None else float(s[start]))
        kind, entry = skill_class(chosen.name), cfg.skills[place]
        link = kind.declare_link(chosen, asset.articulation)
        press_n = kind.declare_press(chosen, asset, part, arm.gripper)
        step = language_step(cfg, self._assets, place)
        conditions = [item.describe(self._assets) for item in kind.declare_conditions(chosen, self._assets)]
        return {
            **undetermined(SKILL_FIELDS),
            "name": entry.name,
            **self._expect_place(index, place, arm),
            **where,
            "part": None if part is None else part.name,
            "link": ABSENT if link is None else link,
            "language": step_language(entry.language, *step[:3], self._draws[index], target=step.target),
            "conditions": as_recorded(conditions, self._record) or ABSENT,
            "joint": None if part is None else part.joint,
            "s_closed": None if part is None else part.openness.closed,
            "s_open": None if part is None else part.openness.open,
            "s0": None if s is None else float(s[start]),
            "s_end": None if s is None else float(s[read_frame(recorded, "frame_end", self._record.n_actions)]),
            "grip_force_n": grip_force(arm.gripper, self._load_n),
            "press_force_n": ABSENT if press_n is None else press_n,
            **({} if kind.executes else {"strategy": None}),
            **({} if kind.executes and self._actor is not Actor.policy else {"plan": None, "refused": []}),
            **dict.fromkeys(OPTIONAL_RULES, ABSENT),
            **kind.declare_rule(chosen, arm.gripper).to_entry(),
        }

    def _expect_place(self, index: int, place: int, arm: ArmCfg) -> dict[str, Any]:
        """Returns the keys that say which attempt of which arm an entry is."""
        several, repeats = len(self._cfg.robot.arms) > 1, self._repeats
        found: dict[str, Any] = dict.fromkeys(("arm", "stage"), ABSENT)
        if several:
            found["arm"] = arm.name
            found["stage"] = next(n for n, each in enumerate(self._stages) if any(place in some for some in each))
        found["entry"] = place if several or repeats else ABSENT
        found["attempt"] = self._places[:index].count(place) if repeats else ABSENT
        found["broken_off"] = RECORDED if several or repeats else ABSENT
        code = self._record.skills[index].get("code")
        if not repeats or code is None:
            found |= {"code": ABSENT, "message": ABSENT}
        elif code not in (*FAILURE_CODES, *NO_FAILURES):
            known = ", ".join((*FAILURE_CODES, *NO_FAILURES))
            self.problems.append(f"skills[{index}].code is {code!r} in the record, expected one of {known}.")
        if self._record.success:
            found["success"] = not self._is_repeated(index, place)
            if several or repeats:
                found["broken_off"] = not found["success"]
        return found

    def _is_repeated(self, index: int, place: int) -> bool:
        """Returns whether the arm of an entry goes on with the same skill again, or with an earlier one of its chain.

        What was dropped on its way is picked again: a `pick` that succeeded is then attempted again, too.
        """
        arms = [entry.get("arm") for entry in self._record.skills]
        later = zip(arms[index + 1 :], self._places[index + 1 :], strict=True)
        following = next((other for arm, other in later if arm == arms[index]), None)
        return isinstance(following, int) and following <= place

    def _find_arm(self, index: int, place: int, part: Part | None, start: int) -> ArmCfg:
        """Returns the arm of an entry that begins at a state frame: that of the configuration, or else the nearest one;
        after a search for a layout, the one that the record names.
        """
        cfg, entry = self._cfg, self._cfg.skills[place]
        arms = {arm.name: arm for arm in cfg.robot.arms}
        name = next(iter(arms)) if len(arms) == 1 else entry.arm or self._record.skills[index].get("arm")
        if len(arms) > 1 and entry.arm is None and not (self._is_searched or randomizes(cfg, cfg.robot.name, *POSES)):
            middle = self._find_middle(entry.objects[0], part, start)
            name = min(arms, key=lambda each: float(np.linalg.norm(base_of(cfg.robot, arms[each]).p - middle)))
        if not isinstance(name, str) or name not in arms:
            self.problems.append(f"skills[{index}].arm is {name!r} in the record, expected one of {', '.join(arms)}.")
            return cfg.robot.arms[0]
        return arms[name]

    def _find_middle(self, name: str, part: Part | None, frame: int) -> np.ndarray:
        """Returns the middle (3,) of the keypoints of a part, or of a whole free object, at a state frame [m]."""
        arrays = self._record.arrays
        if part is not None:
            found: np.ndarray = np.mean([arrays[f"keypoints.{name}.{part.name}.{n}"][frame] for n in part.keypoints], 0)
            return found
        root = [arrays[f"objects.{name}.{key}"][frame] for key in ("root_position", "root_quat_xyzw")]
        return Pose.from_quat_xyzw(*root) @ self._assets[name].bounds_obj.mean(axis=0)

    def _find_strategy(self, index: int, place: int, part: Part | None, arm: ArmCfg, s: float) -> SkillCfg:
        """Returns the entry of the chain with the recorded strategy; a part at s [rad or m] decides which there are."""
        entry = self._cfg.skills[place]
        if not skill_class(entry.name).executes:
            return replace(entry, arm=arm.name)
        strategies = skill_strategies(self._cfg, place, self._assets, part=part, arm=arm, s=s)
        stated = self._record.skills[index].get("strategy")
        chosen = next((item for item in strategies if item.strategy == stated), None)
        if chosen is None:
            names = ", ".join(item.strategy for item in strategies)
            self.problems.append(f"skills[{index}].strategy is {stated!r} in the record, expected one of {names}.")
        return chosen or strategies[0]


_SENSOR_POSE = ("position", "quat_xyzw")
"""Values that every sensor records."""


def array_names(cfg: EpisodeCfg, assets: Mapping[str, ObjectAsset], record: EpisodeRecord, actor: Actor) -> ArrayNames:
    """Returns the names of an episode by group, see `ArrayNames`.

    Which values a sensor has beside its pose, only its class knows: they are read from the record.

    Args:
        cfg: The episode, with its derived task.
        assets: The episode's objects by name.
        record: The record.
        actor: What moves the arms.
    """
    robot = cfg.robot.name
    arms: list[Names] = [
        {"robot": robot, "arm": arm.name, "n": len(arm.joints), "k": len(arm.gripper.joints)} for arm in cfg.robot.arms
    ]
    objects: list[Names] = [{"object": name, "m": len(movable_joints(assets[name].model))} for name in assets]
    points: list[Names] = [
        {"object": name, "part": part, "keypoint": point}
        for name, asset in assets.items()
        for part, found in asset.articulation.parts.items()
        for point in found.keypoints
    ]
    all_joints: list[Names] = [{"j": sum(len(movable_joints(asset.model)) for asset in assets.values())}]
    acted_on = dict.fromkeys(entry.objects[0] for entry in cfg.skills)
    sensors = [sensor.name for sensor in cfg.all_sensors().values()]
    measured = [match[1] for key in record.arrays if (match := match_key(key)) is not None and "sensor" in match[1]]
    values = [(name, value) for name in sensors for value in _SENSOR_POSE]
    values += [(found["sensor"], found["value"]) for found in measured if found["sensor"] in sensors]
    return {
        "": [{}],
        "robot": [{"robot": robot}],
        "robot arm": arms,
        "object": objects,
        "object part keypoint": points,
        "robot arm object": [{**arm, "object": name} for arm in arms for name in acted_on],
        "body": [{"body": name} for name in (robot, *assets)],
        FINGER_JOINTS: arms,
        FREE_OBJECTS: [each for each in objects if assets[str(each["object"])].can_move],
        JUDGED_OBJECTS: objects if any(skill.scene_force_threshold_n is not None for skill in cfg.skills) else [],
        REGIONS: [{"object": name, "region": region} for name, region in recorded_regions(cfg, assets)],
        MECHANISMS: [
            {"object": name, "mechanism": key, "h": len(mechanism.held_joints)}
            for name, asset in assets.items()
            for key, mechanism in asset.articulation.mechanisms.items()
            if mechanism.held_joints
        ],
        GATES: [
            {"object": name, "g": sum(gates)}
            for name, asset in assets.items()
            if any(gates := [len(joints_of_gates(each)) for each in asset.articulation.mechanisms.values()])
        ],
        SENSORS: [{"sensor": name, "value": value} for name, value in dict.fromkeys(values)],
        SEVERAL_ARMS: arms if len(arms) > 1 else [],
        HOLDS: all_joints,
        PUSHES: all_joints if actor.may_push(cfg) else [],
        LABELS: arms if actor.records_labels(cfg) else [],
    }
