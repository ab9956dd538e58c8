"""Reads one task configuration of GenSim2, and the entries `pick` and `place` that InternDataEngine has too."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from unlatch.configs.peer_tasks.peer_values import (
    ABSENT,
    PICK,
    PLACE,
    ImportCfg,
    Ledger,
    PeerSkill,
    join_path,
    objects_of,
    read_list,
    read_mapping,
    read_number,
    read_numbers,
    read_text,
)
from unlatch.configs.peer_tasks.scene_objects import (
    PeerObject,
    PeerRegion,
    nearest_category,
    nearest_container,
    nearest_item,
    read_info_file,
    scene_name,
    split_words,
    user_object,
)
from unlatch.configs.peer_tasks.task_builder import CarryLayout, PutInto, TaskBuilder, fit_item, put_into
from unlatch.configs.schema import folders_of_info
from unlatch.objects.annotate.source import read_json
from unlatch.objects.annotation_entries import RegionKind
from unlatch.robots.catalog import ROBOTS
from unlatch.robots.description import RobotCfg
from unlatch.simcore.errors import ConfigError, unknown_name
from unlatch.skills.pick import LIFTED_M
from unlatch.skills.place import DROPPED_M
from unlatch.solver.peer_settings import GENSIM2_SHARE, is_angle
from unlatch.solver.setting import HANDS, Origin

_DIRECTIONS = {"downward": "above", "forward": "side"}
"""Directions in which a hand approaches a thing, and where it comes from."""
_LIFTS_M = (0.02, 0.5)
"""Smallest and largest lift of a `pick` [m]."""


@dataclass
class CarriedObjects:
    """What a task carries and what it puts that into. Objects that skills move parts of are in the task already."""

    task: TaskBuilder
    """The task as far as it is read."""
    entry: Mapping[str, Any]
    """The task in the file."""
    path: str
    """Its place in the file."""
    chain: Sequence[PeerSkill]
    """Its skills."""
    parts: Mapping[str, str]
    """The parts that skills act on, by place of the skill."""
    regions: Mapping[str, PeerRegion]
    """Its regions, by name of the object."""
    items: dict[str, PeerObject] = field(default_factory=dict)
    """What is carried, by its name in the file."""
    places: dict[str, PutInto | None] = field(default_factory=dict)
    """What things are put into or stand in at the start, by name in the file; None: it has no region."""
    undo: dict[tuple[str, str], Callable[[], None]] = field(default_factory=dict)
    """Gives a part that was opened for a hand the start that the file states, by object and part."""

    def __post_init__(self) -> None:
        self.layout = CarryLayout(side=1.0, has_container=False)
        self.ledger, self.entries = self.task.ledger, objects_of(self.entry)
        self.acted = {skill.object: scene_name(skill.object) for skill in self.chain if skill.acts}

    def names(self) -> set[str]:
        """Returns the names of all objects that are carried, or that things are put into or stand in."""
        carried = {skill.object for skill in self.chain if skill.carries}
        return carried | set(self._containers(carried))

    def _containers(self, carried: set[str]) -> Iterator[str]:
        """Yields the names of what things are put into, or stand in at the start; the table is not among them."""
        named = [skill.target for skill in self.chain if skill.name == PLACE]
        named += [self.regions[name].target for name in sorted(carried) if name in self.regions]
        yield from (name for name in dict.fromkeys(named) if name in self.entries or name in self.acted)

    def add_objects(self, given: str | None) -> None:
        """Adds the objects to the task, containers first; `given` replaces the first if the task has no others.

        Raises:
            ConfigError: `given` does not fit, or two objects have one name.
        """
        carried = list(dict.fromkeys(skill.object for skill in self.chain if skill.carries))
        containers = list(self._containers(set(carried)))
        fixed = [name for name in containers if name not in carried and name not in self.acted]
        there = {scene.name: scene for scene in self.task.objects}
        scenes = {name: there[own] for name, own in self.acted.items()}
        for name in [*fixed, *carried]:
            nearest = nearest_item if name in carried else nearest_container
            scene = self._find(name, nearest, given if not self.task.objects else None)
            scenes[name] = scene
            self.task.objects.append(scene)
        self.items = {name: scenes[name] for name in carried}
        for item in self.items.values():
            if not item.asset.free:
                raise ConfigError(
                    f"object={given} is fixed in place, and the task carries it. Expected an object that a hand can "
                    "carry, such as can or cup. Change it.",
                    key="object",
                )
        for name in containers:
            self.places[name] = self._put_into(name, scenes[name])
        for skill in self.chain:
            place = self.places.get(skill.target) if skill.name == PLACE else None
            if place is not None and place.scene is not self.items[skill.object]:
                self._fit(skill, place)
        arms = {skill.arm for skill in self.chain if skill.carries}
        has_both = len(self.task.robot.arms) > 1
        self.layout = CarryLayout(-1.0 if has_both and arms == {"left"} else 1.0, bool(set(containers) - set(carried)))

    def _find(self, name: str, nearest: Any, given: str | None) -> PeerObject:
        own = scene_name(name)
        if own in [scene.name for scene in self.task.objects]:
            raise ConfigError(f"Two objects of the task are called '{own}'. Rename one.", key="objects")
        index, values = self.entries.get(name, (None, {}))
        where = self.path if index is None else self._at(index)
        if given is not None:
            self.ledger.read(
                join_path(where, "name"), name, f"read as the object {given}, which the command line names"
            )
            return user_object(own, given)
        path = read_text(values.get("path"))
        folders = [part for part in Path(path).parts[:-1] if not part.isdigit()]
        texts = [read_text(values.get(key)) for key in ("category", "art_cat")]
        category, why = nearest([text for text in (*texts, name, *reversed(folders)) if text])
        self.ledger.read(join_path(where, "name"), name, f"read as {category} of the library: {why}")
        if path:
            self.ledger.leave(join_path(where, "path"), path, f"{category} of the library is taken")
        self.ledger.read_keys(where, values, ("category", "art_cat", "target_class"))
        return PeerObject(own, category)

    def _at(self, index: int) -> str:
        return join_path(join_path(self.path, "objects"), index)

    def _put_into(self, name: str, scene: PeerObject) -> PutInto | None:
        """Returns where things are put in an object, and sets how far it is open for that."""
        moved = [(at, skill) for at, skill in enumerate(self.chain) if skill.acts and skill.object == name]
        place = put_into(scene, next((self.parts[skill.path] for _, skill in moved), None))
        where = self.path if name not in self.entries else self._at(self.entries[name][0])
        if place is None:
            self.ledger.note(where, f"{scene.category} has no room inside and no top: things are put beside it")
            return None
        if place.part is None:
            return place
        uses = []  # skills that reach into it
        for at, skill in enumerate(self.chain):
            region = self.regions.get(skill.object)
            source = "" if region is None else region.target
            if skill.carries and (skill.target if skill.name == PLACE else source) == name:
                uses.append(at)
        opens = [at for at, skill in moved if skill.name == "open" and self.parts[skill.path] == place.part]
        if not opens or not uses or min(opens) > min(uses):
            self._open_at_start(name, place, where)
        return place

    def _open_at_start(self, name: str, place: PutInto, where: str) -> None:
        key, ledger, scene = (place.scene.name, str(place.part)), self.task.ledger, place.scene
        values = self.entries.get(name, (None, {}))[1]
        stated = read_numbers(values.get("joint_position_range"), 2)
        where_stated = join_path(where, "joint_position_range")
        if key not in self.task.starts and stated is not None:
            span = scene.span(key[1])
            low, high = sorted(round(min(abs(bound), span), 4) for bound in stated)
            self.task.starts[key] = [low, high]
            said = f"read as the start of {key[1]}, {[low, high]} from closed"
            ledger.read(where_stated, values["joint_position_range"], said)
        start = self.task.starts.get(key)
        lines = [line for line in ledger.lines if line.path in (where, where_stated)]
        assets, instances = scene.assets, scene.instances

        def as_stated() -> None:
            if start is not None:
                self.task.starts[key] = start
            elif self._first_moves(name, key[1]) == "close":
                return  # what is shut stands open at first
            else:
                del self.task.starts[key]
            scene.assets, scene.instances = assets, instances
            for path in (where, where_stated):
                ledger.forget(path)
            ledger.lines += lines

        self.undo[key] = as_stated
        least, most = place.open_range()
        wide = start if start is not None and start[0] >= least else [least, most]
        place.keep_open_wide(wide)
        if wide != start:
            self.task.starts[key] = wide
            why = f"the start of {key[1]}, {wide} from closed, so that a hand can reach in"
            if stated is None:
                ledger.note(where, why)
            else:
                ledger.forget(where_stated)
                ledger.read(where_stated, values["joint_position_range"], f"read as {why}")

    def _first_moves(self, name: str, part: str) -> str | None:
        """Returns the name of the first skill that moves a part of an object; None: no skill does."""
        return next((s.name for s in self.chain if s.acts and s.object == name and self.parts[s.path] == part), None)

    def _fit(self, skill: PeerSkill, place: PutInto) -> None:
        """Keeps only instances of a carried thing that fit into its place."""
        later = self.chain[self.chain.index(skill) + 1 :]
        is_closed = any(other.name == "close" and other.object == skill.target for other in later)
        said = fit_item(self.items[skill.object], place, is_closed=is_closed)
        if said is None:
            regions = place.scene.asset.regions
            top = next((name for name, region in regions.items() if region.kind is RegionKind.surface), None)
            self.places[skill.target] = None if top is None else PutInto(place.scene, top)
            self.undo.pop((place.scene.name, str(place.part)), lambda: None)()
            where = "beside it" if top is None else "on top"
            said = f"nothing that a hand can carry fits into {place.scene.name}.{place.region}: it is put {where}"
        if said:
            self.ledger.note(join_path(skill.path, "objects"), said)

    def add_skill(self, skill: PeerSkill, *, arm: str | None, group: int) -> None:
        """Adds a `pick` or a `place` to the task."""
        task, item = self.task, self.items[skill.object]
        extra = self._pick_keys(skill) if skill.name == PICK else self._place_keys(skill)
        place = self.places.get(skill.target) if skill.name == PLACE else None
        entry: dict[str, Any] = {"name": skill.name, "objects": [item.name], **extra, **skill.limits}
        goal: dict[str, Any] = {"object": item.name, "kind": "on"}
        if skill.name == PICK:
            goal |= {"kind": "lifted", "value": LIFTED_M}
        elif place is not None:
            entry |= {"objects": [item.name, place.scene.name], "region": place.region}
            goal |= {"kind": "inside" if place.is_inside else "on", "of": place.scene.name, "region": place.region}
            if place.is_deep:
                entry |= {"drop": True, "upright": False}
                goal["value"] = DROPPED_M
        task.goals = {key: other for key, other in task.goals.items() if key[0] != item.name}
        task.goals[item.name, str(goal["kind"])] = goal
        task.entries.append((group, arm, entry))

    def _pick_keys(self, skill: PeerSkill) -> dict[str, Any]:
        """Returns the keys of a `pick` that the file gives, or that its place needs."""
        found: dict[str, Any] = {}
        rest = self.chain[self.chain.index(skill) + 1 :]
        put = next((other for other in rest if other.name == PLACE and other.object == skill.object), None)
        place = None if put is None else self.places.get(put.target)
        axis = HANDS[self.task.hand][0] if self.task.hand else "z"
        key = f"filter_{axis}_dir"
        direction = next(iter(read_list(skill.entry.get(key))), None)
        side = _DIRECTIONS.get(read_text(direction))
        if place is not None and place.is_shelf:
            found["approach"] = "side"
            self.ledger.note(skill.path, f"approach: side, as things come into {place.scene.name} from the front")
        elif side is not None:
            found["approach"] = side
        if side is not None:
            self.ledger.read(join_path(skill.path, key), skill.entry[key], f"read as approach: {side}")
            if found["approach"] != side:
                self.ledger.note(join_path(skill.path, key), f"approach: {found['approach']} is taken")
        lift = read_number(skill.entry.get("post_grasp_offset_max"))
        if lift is not None:
            found["lift_m"] = round(min(max(lift, _LIFTS_M[0]), _LIFTS_M[1]), 4)
            self.ledger.read(
                join_path(skill.path, "post_grasp_offset_max"), lift, f"read as lift_m: {found['lift_m']:g}"
            )
        return found

    def _place_keys(self, skill: PeerSkill) -> dict[str, Any]:
        """Returns the keys of a `place` that the file gives, or that its target needs."""
        where = join_path(skill.path, "objects")
        if read_text(skill.entry.get("place_direction")) == "vertical":
            self.ledger.read(join_path(skill.path, "place_direction"), "vertical")
        place = self.places.get(skill.target)
        if place is not None:
            self.ledger.note(where, f"put {'into' if place.is_inside else 'onto'} {place.scene.name}.{place.region}")
            return place.near_front()
        if skill.target in self.places:
            return {"beside": True, "objects": [self.items[skill.object].name, scene_name(skill.target)]}
        keys = self.layout.on_table()
        named = f"'{skill.target}' is no object of the file" if skill.target else "no second object is named"
        self.ledger.note(where, f"{named}: put onto the table, at center_m {keys['center_m']}")
        return keys

    def relation(self, name: str) -> dict[str, Any] | None:
        """Returns the relation of a carried thing that stands in or on another object at the start."""
        region = self.regions.get(name)
        place = None if region is None else self.places.get(region.target)
        if region is None or place is None or name not in self.items:
            return None
        kind = "inside" if place.is_inside else "on"
        said = f"read as a relation: {kind} {place.scene.name}.{place.region}"
        self.ledger.read(join_path(region.path, "target"), region.target, said)
        self.ledger.read(join_path(region.path, "random_config"), region.target)
        where = {"object": self.items[name].name, "relation": kind, "of": place.scene.name, "region": place.region}
        # towards the front: a drawer is not pulled out as a whole, and a hand reaches only so far onto a shelf
        return {**where, "center_m": [0.08, 0.0], "half_extent_m": [0.03, 0.06]} if place.is_inside else where

    def region(self, name: str, scene: PeerObject) -> dict[str, Any] | None:
        """Returns the usual region of an object that is carried or filled; None: it is neither."""
        if name in self.items:
            return self.layout.of_item(scene)
        return self.layout.of_container(scene, self.places[name]) if name in self.places else None

    def words(self) -> str:
        """Returns an instruction that says what is carried."""
        puts = [(self.items[s.object], self.places.get(s.target)) for s in self.chain if s.name == PLACE]
        said = []
        for item, place in puts or [(item, None) for item in self.items.values()]:
            move = "move" if place is None else "put"
            to = "" if place is None else f" {'into' if place.is_inside else 'onto'} the {place.scene.category}"
            said.append(f"{move} the {item.category}{to}".replace("_", " "))
        return " and ".join(said)


_VERBS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("close", ("close", "shut")),
    ("open", ("open",)),
    ("rotate", ("rotate", "turn", "twist")),
    ("open", ("pull", "swing")),
    ("close", ("push", "press")),
)
"""Skills by the words in the name of a task, in this order."""
_PICKS, _PLACES = ("lift", "pick", "grasp"), ("move", "relocate", "put", "place", "insert", "stack", "drop", "store")
"""Words of tasks that pick something up, and of tasks that also put it down."""
_TO = ("into", "in", "inside", "onto", "on", "to")
"""Words before the name of what something is put into or onto."""
_NO_NAMES = ("up", "upright", "down", "the", "a", "and", "from", "table", "out", "of")
"""Words of the name of a task that name no object."""
_NOT_HERE = ("reach",)
"""Words of tasks that no skill of Unlatch does."""
_LYING = {"suitcase": "back"}
"""Categories that GenSim2 does not stand on their base, and on which side they lie."""
_ROBOT = "franka_gensim2"
"""The Panda with GenSim2's long fingers: where its settings hold something with their tail, ours have the palm."""
_WHERE = ".planner_setting"


def read_gensim2_task(
    tree: Mapping[str, Any], name: str, file: Path, cfg: ImportCfg, robot: RobotCfg | None, ledger: Ledger
) -> dict[str, Any]:
    """Returns the content of a task of Unlatch; `ledger` receives what became of each value.

    Raises:
        ConfigError: No skill fits its name, or a choice of the command line is wrong.
        AssetError: The object of the command line is damaged.
    """
    label, kind = read_text(tree.get("task_name")) or file.stem, read_text(tree.get("category_name"))
    words = split_words(label)
    task = TaskBuilder(name, robot or ROBOTS.load(_ROBOT)(), ledger, cfg.keeps_settings, Origin.gensim2)
    if cfg.skill is None and not set(words) & set(_NOT_HERE) and set(words) & {*_PICKS, *_PLACES}:
        return _read_carrying(task, tree, label, words, cfg.object)
    if kind == "RigidBody":
        raise ConfigError(
            f"{file}: category_name: RigidBody: no counterpart: by its name, the task {label} neither picks nor places "
            f"an object. Expected one of the words {', '.join((*_PICKS, *_PLACES))} in task_name. Nothing is written.",
            key="category_name",
        )
    skill = cfg.skill or _skill_of(label, file)
    if skill not in ("open", "close", "rotate"):
        raise unknown_name(skill, "a skill that moves a part", where="skill", known=("open", "close", "rotate"))
    if cfg.object is not None:
        scene = user_object("object", cfg.object)
        said = f"the object is {cfg.object}, which the command line names"
        if scene.node is not None and scene.category in _LYING:
            scene.node["rests_on"] = _LYING[scene.category]
            ledger.note("object", f"on its {_LYING[scene.category]}, as GenSim2 places it")
    else:
        category, why = nearest_category([label], [label], skill)
        scene = PeerObject(category, category)
        said = f"the object is {category} of the library: {why}; object= names another one"
    if skill == "rotate" and cfg.skill is None and not scene.turns_in_hand():
        skill = "open"
    task.objects.append(scene)
    extra: dict[str, Any] = {}
    limits: list[float] | None = None
    info = None if scene.node is None else folders_of_info(Path(str(scene.node["root"])))[0] / "info.json"
    if info is not None and info.is_file():
        scene.take_scale(info)
        own, problem = read_info_file(scene, info)
        if own is not None:
            scene.parts_by_key[""] = own
        if not problem:
            extra["obj_info_path"] = str(info)
            limits = read_numbers(read_json(info).get("joint_position_range"), 2)
        ledger.note(
            "object", f"without the keypoints of {info}: {problem}" if problem else f"with the keypoints of {info}"
        )
    part = scene.part_for(skill, "")
    ledger.read("task_name", label, f"read as skill {skill} on part {part}; {said}")
    ledger.read("category_name", kind or ABSENT)
    half, of = round(scene.span(part) / 2, 4), ""
    if limits is not None:  # the middle of the range that their task uses of the joint
        middle = abs(sum(limits) / 2 - scene.part(part).openness.closed)
        half, of = round(min(middle, scene.span(part)), 4), f", the middle of joint_position_range {limits}"
    task.starts[scene.name, part] = [half, half]
    ledger.read(
        "start", ABSENT, f"tasks of GenSim2 start half open: read as the start of {part}, {half} from closed{of}"
    )
    raw = dict(tree)
    if limits is not None and raw.get("success_threshold") is None:  # their openness is a share of their range
        share = round(GENSIM2_SHARE * abs(limits[1] - limits[0]) / scene.span(part), 4)
        raw |= {"success_mode": "fraction", "success_threshold": share}
        ledger.read(
            "success_threshold", ABSENT, f"read as {GENSIM2_SHARE} of joint_position_range, {share} of the joint"
        )
    before = len(ledger.lines)
    task.add_skill(skill, scene, part, path="", raw=raw, arm=None, group=0, extra=extra)
    entry = task.entries[-1][2]
    if "planner_setting" in entry:
        entry["strategies"] = [{"name": "led", "planner_setting": _led_setting(entry["planner_setting"])}]
        ledger.note("", f"strategy led where every motion of the file collides, which GenSim2 ignores: {_LED}")
    # a file is one setting as a whole: its keys have no place of their own
    ledger.lines[before:] = [
        replace(
            line, path=line.path.removeprefix(_WHERE).lstrip(".") or file.name, text=line.text.replace(f"{_WHERE}.", "")
        )
        for line in ledger.lines[before:]
    ]
    return task.content((skill, part))


_LEAN_RAD = 0.5
_LED = f"angles within {_LEAN_RAD} rad or what the file allows, and the part is led along its joint"


def _led_setting(raw: Mapping[str, Any]) -> dict[str, Any]:
    """Returns a setting with the hand at the same point of the part, which may lean, and leads the part."""
    entries = [
        {**entry, "tolerance": max(_LEAN_RAD, read_number(entry.get("tolerance")) or 0.0)} if is_angle(entry) else entry
        for entry in map(read_mapping, read_list(raw.get("constraint_list")))
    ]
    return {**raw, "constraint_list": entries, "post_actuation_motions": {"follow_joint": {}}}


def _read_carrying(
    task: TaskBuilder, tree: Mapping[str, Any], label: str, words: list[str], given_object: str | None
) -> dict[str, Any]:
    """Returns the content of a task that picks an object up, and puts it down if its name says so."""
    is_placed = bool(set(words) & set(_PLACES))
    end = next((i for i, word in enumerate(words) if is_placed and word in _TO), len(words))
    item, target = (
        "_".join(word for word in some if word not in (*_PICKS, *_PLACES, *_TO, *_NO_NAMES))
        for some in (words[:end], words[end:])
    )
    item = item or "object"
    named = [item, target] if target else [item]
    skills = [(PICK, [item]), *([(PLACE, named)] if is_placed else [])]
    chain = [PeerSkill("task_name", {"name": name, "objects": names}, name, None, 0) for name, names in skills]
    entry = {"objects": [{"name": name} for name in named]}
    carried = CarriedObjects(task, entry, "", chain, {}, {})
    ledger, start = task.ledger, len(task.ledger.lines)
    carried.add_objects(given_object)
    for skill in chain:
        carried.add_skill(skill, arm=None, group=0)
    ledger.lines[start:] = [replace(line, path="task_name", value=repr(label)) for line in ledger.lines[start:]]
    names = {scene_name(name): name for name in named}
    task.regions = [region for scene in task.objects if (region := carried.region(names[scene.name], scene))]
    task.language.append(carried.words())
    ledger.read("task_name", label)
    ledger.read_keys("", tree, ("category_name",))
    for key, value in tree.items():
        if key not in ("task_name", "category_name"):
            ledger.leave(key, value, "grasps and places are found from the geometry of the objects")
    return task.content(None)


def _skill_of(label: str, file: Path) -> str:
    """Returns the skill that the name of a task tells.

    Raises:
        ConfigError: It tells none.
    """
    words = split_words(label)
    without = [word for word in words if word in _NOT_HERE]
    found = next((skill for skill, verbs in _VERBS if any(verb in words for verb in verbs)), None)
    if without or found is None:
        reason = f"no skill of Unlatch does '{without[0]}'" if without else "it names no skill"
        raise ConfigError(
            f"{file}: task_name: {label}: no counterpart: {reason}. Expected open, close or rotate. If it is one of "
            "them, add skill=NAME. Nothing is written.",
            key="task_name",
        )
    return found
