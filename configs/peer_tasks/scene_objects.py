"""Finds what stands for the objects, robots, cameras and regions of another system."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from unlatch.configs.dataclass_reader import read_dataclass
from unlatch.configs.derived_request import describe_object_path, is_object_path
from unlatch.configs.peer_tasks.peer_values import (
    Ledger,
    PeerSkill,
    join_path,
    read_list,
    read_mapping,
    read_numbers,
    read_text,
)
from unlatch.configs.schema import folders_of_info
from unlatch.objects.annotate.peer_info import find_info_part, with_info_file
from unlatch.objects.annotate.source import info_scale, read_json
from unlatch.objects.annotation import HandleType, Part
from unlatch.objects.annotation_entries import RegionKind
from unlatch.objects.articulated_object import ObjectAsset
from unlatch.objects.config import ObjectCfg
from unlatch.objects.library import load_object
from unlatch.objects.procedural.catalog import GENERATORS
from unlatch.simcore.errors import ConfigError, UnlatchError, describe_choices
from unlatch.simcore.files import plain_name, user_path
from unlatch.skills.config import part_acted_on
from unlatch.solver.setting import HANDS


@dataclass(frozen=True)
class RobotChoice:
    """The robot of Unlatch that stands for one of another system."""

    name: str
    why: str
    hand: str | None = None
    """The hand that planner settings for the other robot are written for, one of `HANDS`; None: unknown."""


_PANDA, _TWO_PANDAS = "franka_panda", "dual_panda"
_ROBOTS: tuple[tuple[tuple[str, ...], str, str], ...] = (
    (("robotiq",), "a Franka arm with a Robotiq 2F-85, which is robot=franka_robotiq of the extra robots", _PANDA),
    (("fr3", "research_3", "research3"), "a Franka Research 3, which is robot=fr3 of the extra robots", _PANDA),
    (("franka", "panda"), "a Franka arm with the Panda's hand", _PANDA),
    (("lift2", "lift-2"), "two arms of 6 axes on a lift, which is robot=lift2 of the extra robots", ""),
    (
        ("split_aloha", "splitaloha", "aloha"),
        "two arms of 6 axes; robot=aloha of the extra robots is a similar robot",
        "",
    ),
    (("genie", "g1-120", "g1_120"), "two arms of 7 axes", ""),
)
"""Words in the name or file of a robot, what it is, and ours; empty: it depends on the arms that are used."""


def nearest_robot(texts: Sequence[str], arms: set[str]) -> RobotChoice:
    """Returns the robot nearest to one with these arms; `texts` are its name, its files, and what else names it."""
    plain = " ".join(texts).lower()
    found = next((entry for entry in _ROBOTS if any(word in plain for word in entry[0])), None)
    both = {"left", "right"} <= arms
    chosen = (found[2] if found else "") or (_TWO_PANDAS if both else _PANDA)
    uses = "both arms are used" if both else "one arm is used"
    if both and chosen == _PANDA:
        chosen = _TWO_PANDAS
    what = f"{found[1]}; {uses}" if found else f"its name is not known; {uses}"
    return RobotChoice(chosen, what, next((hand for hand in HANDS if _plain(hand) in _plain(plain)), None))


def _plain(text: str) -> str:
    return re.sub(r"[^a-z0-9]", "", text.lower())


_CATEGORIES: dict[str, tuple[str, ...]] = {
    "bottle": ("bottle", "jar"),
    "box": ("box", "suitcase", "crate", "chest"),
    "cabinet": ("cabinet", "cupboard", "wardrobe", "closet"),
    "carton": ("carton", "cardboard"),
    "desk_drawers": ("desk",),
    "dishwasher": ("dishwasher",),
    "door": ("door",),
    "drawer": ("drawer",),
    "drawer_cabinet": ("nightstand", "dresser", "commode", "drawercabinet", "chestofdrawers"),
    "faucet": ("faucet", "tap"),
    "hand_wheel": ("valve", "handwheel"),
    "laptop": ("laptop", "notebook"),
    "microwave": ("microwave",),
    "oven": ("oven", "stove"),
    "pot": ("pot", "cooker", "kitchenpot", "pan", "kettle"),
    "refrigerator": ("refrigerator", "fridge", "freezer"),
    "safe": ("safe",),
    "sliding_window": ("window",),
    "toaster": ("toaster",),
    "toilet": ("toilet",),
    "trash_can": ("trash", "trashcan", "garbage", "dustbin", "bin"),
    "washing_machine": ("washingmachine", "washing", "washer"),
}
"""Words for the categories of our library."""
_ITEMS: dict[str, tuple[str, ...]] = {
    "apple": (
        *("apple", "orange", "peach", "pear", "lemon", "lime", "tomato", "onion", "potato", "fruit", "ball", "egg"),
        *("banana", "mango", "kiwi", "plum", "garlic", "avocado"),
    ),
    "book": ("book", "magazine", "folder"),
    "bowl": ("bowl",),
    "can": ("can", "tin", "cola", "coke", "soda", "beer"),
    "cereal_box": ("cereal", "cracker", "crackers", "snack", "cookies", "biscuit", "teabox", "carton"),
    "cup": ("cup", "glass", "tumbler", "beaker"),
    "mug": ("mug",),
    "parcel": ("parcel", "package", "box", "cube", "block", "brick", "toy", "soap", "sponge", "trash", "garbage"),
    "plate": ("plate", "dish", "saucer"),
    "spoon": ("spoon", "fork", "knife", "spatula", "ladle", "pen", "pencil", "marker", "toothbrush"),
    "toast": ("toast", "bread", "slice"),
    "water_bottle": ("bottle", "shampoo", "ketchup", "sauce", "detergent", "milk", "juice", "lotion", "tube"),
}
"""Words for what can be carried."""
_USUAL_ITEM = "can"
_CONTAINERS: dict[str, tuple[str, ...]] = {
    "box": ("box", "basket", "crate", "bin", "bucket", "bag", "container", "carton", "chest", "bowl", "cup", "mug"),
    "cabinet": ("shelf", "shelves", "rack", "bookshelf", "bookcase", "cupboard"),
    "drawer": ("nightstand", "drawer", "storagefurniture", "furniture", "dresser"),
    "plate": ("plate", "tray", "board", "dish", "saucer", "coaster", "pad", "mat", "scale", "pan"),
    "trash_can": ("trash", "trashcan", "garbage", "dustbin"),
}
"""Words for what things are put into or onto, where another category than usual takes them better."""
_FURNITURE = ("storagefurniture", "furniture", "table")
"""Words for objects that have doors or drawers."""
_SLIDES = ("pull", "push", "drawer", "slide")
_LEVEL = ("close_h", "open_h")


def nearest_category(texts: Sequence[str], hints: Sequence[str], skill: str) -> tuple[str, str]:
    """Returns the category of the library that is nearest to an object on which a skill acts, and why.

    `texts` name the object, the most telling first: its category, its folder, its name. `hints` say how its part moves:
    `info_name`, the name of the task.
    """
    slides = any(word in hint.lower() for hint in hints for word in _SLIDES)
    for text in texts:
        if _named([text], {"": _FURNITURE}):
            return ("drawer" if slides else "cabinet"), f"'{text}' has drawers or doors"
        found = _named([text], _CATEGORIES)
        if found is not None:
            name = found[0]
            if name in ("cabinet", "drawer_cabinet") and slides:
                return "drawer", f"'{text}' has a part that slides"
            if name == "drawer_cabinet" and skill != "rotate" and not slides:
                return "drawer", f"'{text}' has drawers"
            return found
    for text in texts:
        near = difflib.get_close_matches("".join(split_words(text)), GENERATORS.names(), n=1, cutoff=0.75)
        if near:
            return near[0], f"'{text}' is similar"
    if skill == "rotate":
        return "faucet", "no category has a similar name; its part turns in the hand"
    if slides:
        return "drawer", "no category has a similar name; its part slides"
    if any(hint.lower().startswith(_LEVEL) for hint in hints):
        return "box", "no category has a similar name; its part turns about a level axis"
    return "cabinet", "no category has a similar name; its part turns"


def nearest_item(texts: Sequence[str]) -> tuple[str, str]:
    """Returns the nearest category of objects that a hand can carry, and why; the most telling text comes first."""
    return _named(texts, _ITEMS) or (_USUAL_ITEM, "no object that a hand can carry has a similar name")


def nearest_container(texts: Sequence[str]) -> tuple[str, str]:
    """Returns the nearest category that things can be put into or onto, and why; the most telling text comes first."""
    found = _named(texts, _CONTAINERS)
    return found or _named(texts, _CATEGORIES) or ("box", "no container has a similar name")


def _named(texts: Sequence[str], words_of: Mapping[str, Sequence[str]]) -> tuple[str, str] | None:
    """Returns the category with the longest of the words in the first text that has one, and why."""
    for text in texts:
        words = split_words(text)
        joined = "".join(words)
        hits = [(len(word), name) for name, own in words_of.items() for word in own if _names(word, words, joined)]
        if hits:
            return max(hits)[1], f"'{text}' names it"
    return None


def split_words(text: str) -> list[str]:
    """Returns the words of a name in lower case: `CloseBox_left` has `close`, `box` and `left`."""
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", text)
    return [word for word in re.split(r"[^a-z]+", spaced.lower()) if word]


def _names(word: str, words: Sequence[str], joined: str) -> bool:
    """Whether a word is one of the words, or, if it is long, a part of them together."""
    return word in words or f"{word}s" in words or (len(word) > 4 and word in joined)


_ON_HAND = ("hand", "wrist", "gripper", "tcp", "ee_", "_ee")


def nearest_camera(texts: Sequence[str]) -> str:
    """Returns the nearest camera: `wrist` for one on a hand, else `front`."""
    plain = " ".join(texts).lower()
    return "wrist" if any(word in plain for word in _ON_HAND) else "front"


TURNED = "faucet"
"""Category of the library for an object with a part that turns in the hand."""

_INSTANCES = 4
"""Instances of a generated category whose parts are compared."""
_MOST_INSTANCES = 16
"""Instances among which those with a part are found, if not every instance has it."""


@dataclass
class PeerObject:
    """One object of the imported task."""

    name: str
    """Its name in the scene."""
    category: str
    node: dict[str, Any] | None = None
    """Content of `object` for an object of the user; None for one of the library."""
    parts_by_key: dict[str, str] = field(default_factory=dict)
    """Part by what tells it from others in the file."""
    instances: list[str] | None = None
    """The only instances that serve; None: all of the category."""

    @cached_property
    def assets(self) -> list[ObjectAsset]:
        """Some of its instances."""
        if self.node is not None:
            cfg = read_dataclass(ObjectCfg, {**self.node, "name": self.name}, where="object")
            return [load_object(cfg, rng=np.random.default_rng(0))]
        return [self._load(seed) for seed in range(_INSTANCES)]

    @property
    def asset(self) -> ObjectAsset:
        """The first of its instances."""
        return self.assets[0]

    def replace_category(self, category: str) -> None:
        """Takes another category of the library."""
        self.category, self.instances = category, None
        del self.assets

    def part(self, name: str) -> Part:
        """Returns a part of the first instance."""
        return self.asset.articulation.part(name)

    def span(self, part: str) -> float:
        """Returns the smallest range of a part [rad or m]."""
        return min(self.spans(part))

    def spans(self, part: str) -> list[float]:
        """Returns the range of a part of each of its instances that were looked at [rad or m]."""
        return [asset.articulation.part(part).openness.span for asset in self.assets]

    @property
    def half_width_m(self) -> float:
        """Half the largest width of its instances [m]."""
        return max(float(asset.bounds_obj[1, 1] - asset.bounds_obj[0, 1]) / 2 for asset in self.assets)

    def take_scale(self, path: Path) -> float | None:
        """Takes the scale of an `info.json` for an object of the user [m per unit]; returns it, None without one."""
        scale = None if self.node is None else info_scale(read_json(path))
        if self.node is None or scale is None or self.node.get("scale") == scale:
            return None
        self.node["scale"] = scale
        self.__dict__.pop("assets", None)
        return scale

    def turns_in_hand(self) -> bool:
        """Whether a part of it can be turned by `rotate`: fingers hold it."""
        parts = self.asset.articulation.parts.values()
        return any(part.kind.turns_in_hand and part.handle.type is not HandleType.none for part in parts)

    def part_for(self, skill: str, key: str) -> str:
        """Returns the part that a skill acts on; equal keys give equal parts, others the next part that fits."""
        if key not in self.parts_by_key:
            usual = part_acted_on(skill, None, self.asset.articulation)
            names = [
                name
                for name, part in self.asset.articulation.parts.items()
                if part.kind.turns_in_hand == usual.kind.turns_in_hand
                and all(name in asset.articulation.parts for asset in self.assets)
            ]
            taken = set(self.parts_by_key.values())
            free = [name for name in (usual.name, *names) if name not in taken]
            chosen = self.parts_by_key[key] = (free or [usual.name])[0]
            self.keep_instances(lambda asset: chosen in asset.articulation.parts)
        return self.parts_by_key[key]

    def region_for(self, part: str | None) -> str | None:
        """Returns the region that things are put into or onto, or None if no instance has one.

        With a part: one that a hand reaches when only this part is open, or one on top.
        """
        found = (
            (name, region.part)
            for asset in self.assets
            for name, region in sorted(asset.regions.items(), key=lambda pair: pair[1].kind is not RegionKind.inside)
            if part is None or region.part in (part, None)
        )
        name, of = next(found, (None, None))
        if name is not None:
            self.keep_instances(lambda asset: name in asset.regions and asset.regions[name].part == of)
        return name

    def _load(self, seed: int) -> ObjectAsset:
        cfg = ObjectCfg(name=self.name, category=self.category).with_instance(str(seed))
        return load_object(cfg, rng=np.random.default_rng(0))

    def keep_instances(self, fits: Callable[[ObjectAsset], bool], *, least: int = _INSTANCES) -> bool:
        """Keeps only instances that fit; at least so many are looked at. Returns whether there are any."""
        known = self.assets
        if self.node is None and self.instances is None and (len(known) < least or not all(map(fits, known))):
            known = [*known, *(self._load(seed) for seed in range(len(known), _MOST_INSTANCES))]
        found = [asset for asset in known if fits(asset)]
        if found and len(found) < len(known):
            self.assets, self.instances = found, [asset.instance for asset in found]
        return bool(found)

    def to_yaml(self) -> dict[str, Any]:
        """Returns an entry of `objects`, or the content of `object`."""
        if self.node is not None:
            return {**self.node, "name": self.name}
        chosen = {} if self.instances is None else {"instances": self.instances}
        return {"name": self.name, "category": self.category, **chosen}


def user_object(name: str, value: str) -> PeerObject:
    """Returns an object that the command line names: a category of the library, or a path.

    Raises:
        ConfigError: It is neither.
        AssetError: There is no object at the path.
    """
    if value in GENERATORS.names():
        return PeerObject(name, value)
    if is_object_path(value, ()):
        node = describe_object_path(str(user_path(value).absolute()), None)
        return PeerObject(name, str(node["category"]), node)
    raise ConfigError(
        f"object={value} is neither a category of the library nor a path."
        f"{describe_choices(value, GENERATORS.names(), listed_by='unlatch list objects')} Name one of them, or a "
        "URDF, a USD or a folder.",
        key="object",
    )


def object_on_disk(name: str, paths: Sequence[Path]) -> tuple[PeerObject | None, str]:
    """Returns the object of the first path that can be read, with the path; without one, why there is none."""
    why = "there is no such file"
    for path in paths:
        if not path.is_file() and not path.is_dir():
            continue
        try:
            found = PeerObject(name, "object", describe_object_path(str(path.absolute()), None))
            found.category = str((found.node or {}).get("category", "object"))
            _ = found.asset
        except UnlatchError as exc:
            why = exc.message.rstrip(".")
            continue
        return found, str(path)
    return None, why


def scene_name(name: str) -> str:
    """Returns a name that a scene can have."""
    plain = plain_name(name.strip()).strip("_")
    return plain or "object"


_SAMPLER, _INSIDE = "A_on_B_region_sampler", "A_in_B_region_sampler"
_REACH_M = 0.25
"""A middle of a region is kept if it is at most this far from where an arm acts well, in x and in y."""
SIDE_HALF_M, _SIDE_GAP_M = 0.04, 0.06
"""Largest half extent of the regions of objects that stand side by side, and least room beside each [m]."""


@dataclass(frozen=True)
class PeerRegion:
    """Where another system places an object or a robot."""

    path: str
    low: np.ndarray
    """(3,) lowest position [m]."""
    high: np.ndarray
    """(3,) highest position [m]."""
    yaw_deg: tuple[float, float] | None
    """Range of the yaw; None if the file states none."""
    target: str = ""
    """Name of what it is on or in, such as a table."""
    is_inside: bool = False
    """Whether it is in it."""


def read_regions(entry: Mapping[str, Any], path: str, ledger: Ledger) -> dict[str, PeerRegion]:
    """Returns the regions of a task by object; those of other kinds are left to be listed."""
    found: dict[str, PeerRegion] = {}
    for index, item in enumerate(read_list(entry.get("regions"))):
        place = join_path(join_path(path, "regions"), index)
        region = read_mapping(item)
        name, kind = read_text(region.get("object")), read_text(region.get("random_type")) or _SAMPLER
        config = read_mapping(region.get("random_config"))
        bounds = [read_numbers(bound, 3) for bound in read_list(config.get("pos_range"))]
        if not name or kind not in (_SAMPLER, _INSIDE) or len(bounds) != 2 or bounds[0] is None or bounds[1] is None:
            if name and kind not in (_SAMPLER, _INSIDE):
                ledger.leave(place, dict(region), f"{kind}: objects stand on the table, or see task.relations")
            continue
        pair = read_numbers(config.get("yaw_rotation"), 2)
        low, high = np.minimum(bounds[0], bounds[1]), np.maximum(bounds[0], bounds[1])
        yaw = None if pair is None else (min(pair), max(pair))
        found[name] = PeerRegion(place, low, high, yaw, read_text(region.get("target")), kind == _INSIDE)
        ledger.read_keys(place, region, ("object", "random_type"))
    return found


def robot_yaw_deg(robot: Mapping[str, Any], region: PeerRegion | None) -> float:
    """Returns the direction in which a robot looks [deg]."""
    turns = read_numbers(robot.get("euler"), 3)
    yaw = 0.0 if turns is None else turns[2]
    return yaw + (sum(region.yaw_deg) / 2 if region is not None and region.yaw_deg is not None else 0.0)


def middle_across(region: PeerRegion, robot_yaw: float) -> float:
    """Returns how far to the left the middle of a region is, as a robot that looks along `robot_yaw` [deg] sees it."""
    turn = np.radians(-robot_yaw)
    x, y = (region.low + region.high)[:2] / 2
    return float(np.sin(turn) * x + np.cos(turn) * y)


def side_by_side(half_widths_m: Mapping[str, float]) -> dict[str, float]:
    """Returns y of objects that stand side by side before the robot, the first on the left; 0 is the middle [m]."""
    spans = {name: 2 * (half + SIDE_HALF_M + _SIDE_GAP_M) for name, half in half_widths_m.items()}
    edge, found = sum(spans.values()) / 2, {}
    for name, span in spans.items():
        found[name] = round(edge - span / 2, 3) + 0.0
        edge -= span
    return found


def our_region(
    region: PeerRegion,
    derived: Mapping[str, Any],
    *,
    depth_m: float,
    robot: PeerRegion | None,
    robot_yaw: float,
    ledger: Ledger,
    config: Any,
    most_half_m: float = np.inf,
) -> dict[str, Any]:
    """Returns an entry of `task.regions`; `derived` is the one that Unlatch derives for the object.

    Args:
        region: The region.
        derived: The derived entry; its values are kept where the file's have no meaning here.
        depth_m: Depth of the object: their position is that of its middle, ours of the middle of its front [m].
        robot: The region of the robot, if the file states one.
        robot_yaw: Direction in which the robot looks [deg].
        ledger: Gets a line for each value.
        config: The value of `random_config`, for the lines.
        most_half_m: Largest half extent that is taken, where several objects need room [m].
    """
    values = read_mapping(config)
    turn = np.radians(-robot_yaw)
    R = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
    theirs = np.abs(R) @ ((region.high - region.low)[:2] / 2)
    half = np.minimum(theirs, most_half_m)
    found = {**derived, "half_extent_m": _rounded(half)}
    said = f"read as half_extent_m {_rounded(half)} as the robot sees it"
    if np.any(theirs > half):
        said += f", not {_rounded(theirs)}, as each object needs room"
    if robot is None:
        said += f"; the middle {_rounded(derived['center_m'])} is where the arm of Unlatch acts well"
    else:
        middle = R @ ((region.low + region.high - robot.low - robot.high)[:2] / 2) - np.array([depth_m / 2, 0.0])
        if np.abs(middle - np.asarray(derived["center_m"])).max() <= _REACH_M:
            found["center_m"] = _rounded(middle)
            said += f", and center_m {_rounded(middle)}, the middle of the object's front"
        else:
            said += (
                f"; its middle {_rounded(middle)} is beside where the arm of Unlatch acts well, "
                f"{_rounded(derived['center_m'])} is taken"
            )
    low, high = float(region.low[2]), float(region.high[2])
    if high > low >= 0.0:
        found["height_m"] = _rounded([low, high])
        said += f", height_m {_rounded([low, high])}"
    elif derived["height_m"][1] > 0.0:
        said += f"; height_m {list(derived['height_m'])} lifts the part to the height of the arm"
    ledger.read(f"{region.path}.random_config.pos_range", values.get("pos_range"), said)
    if region.yaw_deg is not None:
        low, high = region.yaw_deg
        found["yaw_deg"] = round(min((high - low) / 2, 180.0), 3)
        said = f"read as yaw_deg {found['yaw_deg']:g} to either side"
        if abs(high + low) > 1e-9:
            said += f"; its middle {(high + low) / 2:g} is dropped, the object faces the robot"
        ledger.read(f"{region.path}.random_config.yaw_rotation", values.get("yaw_rotation"), said)
    return found


def _rounded(values: Sequence[float] | np.ndarray) -> list[float]:
    return [round(float(v), 3) + 0.0 for v in values]


def find_info_file(skill: PeerSkill, item: Mapping[str, Any], scene: PeerObject, roots: Sequence[Path]) -> Path | None:
    """Returns the `info.json` of a skill's object: the one that skill or object names, else that of its `info_name`.

    `item` is the object in the file, `scene` the one that stands for it; paths of the file start from `roots`.
    """
    if scene.node is None:
        return None
    own = folders_of_info(Path(str(scene.node["root"])))
    named, usual = skill.part_key or read_text(item.get("obj_info_path")), read_text(item.get("info_name"))
    places = [folder / named for folder in (*roots, *own) if named]
    places += [own[0] / "Kps" / usual / "info.json"] if usual else []
    return next((place.absolute() for place in places if place.is_file()), None)


def read_info_file(scene: PeerObject, path: Path) -> tuple[str | None, str]:
    """Returns the part that an `info.json` is about, and why its keypoints cannot be used; empty if they can."""
    try:
        part = find_info_part(scene.asset, path)
    except UnlatchError as exc:
        return None, exc.message
    if part is None:
        return None, f"{path} is about a joint by which no part of {scene.name} moves"
    try:
        with_info_file(scene.part(part), scene.asset, path)
    except UnlatchError as exc:
        return part, exc.message
    return part, ""
