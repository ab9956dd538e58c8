"""The robots, objects and cameras of Unlatch that are nearest to those of other systems."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from unlatch.objects.procedural.catalog import GENERATORS
from unlatch.solver.settings.origin import HANDS


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
    (("lift2", "lift-2"), "two arms of 6 axes on a lift", ""),
    (("split_aloha", "splitaloha", "aloha"), "two arms of 6 axes", ""),
    (("genie", "g1-120", "g1_120"), "two arms of 7 axes", ""),
)
"""Words in the name or file of a robot, what it is, and ours; empty: it depends on the arms that are used."""


def nearest_robot(texts: Sequence[str], arms: set[str]) -> RobotChoice:
    """Returns the nearest robot.

    Args:
        texts: Its name, its files, and anything else that names it.
        arms: The arms that the skills use.
    """
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
    """Returns the nearest category of the library, and why.

    Args:
        texts: What names the object, the most telling first: its category, its folder, its name.
        hints: What says how its part moves: `info_name`, the name of the task.
        skill: The skill that acts on it.
    """
    slides = any(word in hint.lower() for hint in hints for word in _SLIDES)
    for text in texts:
        words = _words(text)
        joined = "".join(words)
        hits = [(len(word), name) for name, own in _CATEGORIES.items() for word in own if _names(word, words, joined)]
        if any(_names(word, words, joined) for word in _FURNITURE):
            return ("drawer" if slides else "cabinet"), f"'{text}' has drawers or doors"
        if hits:
            name = max(hits)[1]
            if name in ("cabinet", "drawer_cabinet") and slides:
                return "drawer", f"'{text}' has a part that slides"
            if name == "drawer_cabinet" and skill != "rotate" and not slides:
                return "drawer", f"'{text}' has drawers"
            return name, f"'{text}' names it"
    for text in texts:
        near = difflib.get_close_matches("".join(_words(text)), GENERATORS.names(), n=1, cutoff=0.75)
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
        words = _words(text)
        joined = "".join(words)
        hits = [(len(word), name) for name, own in words_of.items() for word in own if _names(word, words, joined)]
        if hits:
            return max(hits)[1], f"'{text}' names it"
    return None


def _words(text: str) -> list[str]:
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
