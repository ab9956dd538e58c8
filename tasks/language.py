"""Makes the phrasings of an instruction from templates such as `open the {object}`, with words for each part."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, NamedTuple

import numpy as np

from unlatch.objects.annotation import Part, PartKind
from unlatch.objects.annotation_entries import RegionKind
from unlatch.objects.articulated_object import ObjectAsset
from unlatch.simcore.rng import stream
from unlatch.simcore.urdf.model import UrdfModel

Array = np.ndarray


class Manner(Enum):
    """How a part moves; it decides the verbs of an instruction."""

    swing = "swing"
    """Swings like a door."""
    lift = "lift"
    """Is lifted like a lid."""
    pull = "pull"
    """Is pulled out of the front like a drawer."""
    rise = "rise"
    """Slides up and down."""
    press = "press"
    """Is pressed like a button or a switch."""
    slide = "slide"
    """Slides to the side."""
    turn = "turn"
    """Turns like a knob or a wheel."""
    lever = "lever"
    """Turns like a lever."""
    carry = "carry"
    """Is carried by a hand: a free object."""


@dataclass(frozen=True)
class PartWords:
    """The words for one part of one object."""

    object: str
    """The word for the object."""
    part: str
    """The word for the part, with the place that tells it from similar parts: `upper drawer`."""
    side: str
    """`left-hinged` or `right-hinged` for the only door of an object, else empty."""
    manner: Manner
    target: str = ""
    """Where the object is put, such as `into the drawer`; empty where nothing is put anywhere."""


_OBJECTS = {
    "button_drawer": "cabinet",
    "button_microwave": "microwave",
    "detent_oven": "oven",
    "double_cabinet": "cabinet",
    "drawer": "cabinet",
    "drawer_cabinet": "cabinet",
    "hand_wheel": "valve",
    "kitchen_cabinet": "cabinet",
    "kitchen_dishwasher": "dishwasher",
    "kitchen_oven": "oven",
    "latched_door": "door",
    "light_box": "box",
    "light_switch": "light",
    "locked_safe": "safe",
    "pedal_bin": "bin",
    "push_latch_cabinet": "cabinet",
    "room_door": "door",
    "sliding_window": "window",
    "tall_refrigerator": "refrigerator",
    "telescopic_drawer": "cabinet",
}
"""Words for categories whose own names do not fit the names of their parts, or are not what people say."""
_NOUNS = {
    ("carton", "lid"): "flap",
    ("hand_wheel", "knob"): "wheel",
    ("locked_safe", "knob"): "dial",
    ("safe", "knob"): "dial",
    ("sliding_window", "slider"): "sash",
    ("toaster", "slider"): "lever",
    ("toolbox", "knob"): "clasp",
}
"""Words for parts, by category and name of the part without its number."""
_KINDS = {
    PartKind.hinge_vertical: "door",
    PartKind.hinge_horizontal: "door",
    PartKind.knob: "knob",
    PartKind.lever: "lever",
    PartKind.lid: "lid",
}
_MANNERS = {PartKind.lid: Manner.lift, PartKind.knob: Manner.turn, PartKind.lever: Manner.lever}
_SLIDERS = {Manner.pull: "drawer", Manner.rise: "slider", Manner.slide: "slider", Manner.press: "button"}
_NO_NOUNS = frozenset({"link", "joint", "part", "body", "object", "slider", "hinge", "base", ""})
"""Names that do not describe a part."""
_PRESSED = frozenset({"pedal", "switch"})
"""Names of parts that are pressed, however far they move."""
_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
_APART_M = 0.03
"""Parts closer than this along an axis are on the same level [m]."""


@dataclass(frozen=True)
class _Direction:
    """Words for neighbouring parts along one direction."""

    two: tuple[str, str]
    three: tuple[str, str, str]
    ends: tuple[str, str]
    """Words for the first and the last of more than three."""


_DIRECTIONS = (
    _Direction(("upper", "lower"), ("top", "middle", "bottom"), ("top", "bottom")),
    _Direction(("left", "right"), ("left", "middle", "right"), ("leftmost", "rightmost")),
    _Direction(("front", "rear"), ("front", "middle", "rear"), ("front", "rear")),
)


def part_words(asset: ObjectAsset, part: str | None) -> PartWords:
    """Returns the words for a part; None: for the whole object.

    Raises:
        AssetError: There is no such part.
    """
    category = asset.word or asset.category
    if part is None:
        noun = _OBJECTS.get(category, category).replace("_", " ")
        return PartWords(noun, noun, "", Manner.carry)
    asked = asset.articulation.part(part)
    parts = asset.articulation.parts
    model = asset.model
    closed = asset.articulation.closed_positions()
    nouns = {name: _noun_for(category, other, _manner_of(model, other, closed)) for name, other in parts.items()}
    alike = [name for name, noun in nouns.items() if noun == nouns[part]]
    place = ""
    if len(alike) > 1:
        middles = np.array([_middle_of(model, parts[name], closed) for name in alike])
        place = _place_words(middles)[alike.index(part)]
    return PartWords(
        object=_OBJECTS.get(category, _split_words(category)) or "object",
        part=f"{place} {nouns[part]}".strip(),
        side=_hinge_side(model, asked, closed) if len(alike) == 1 else "",
        manner=_manner_of(model, asked, closed),
    )


def _noun_for(category: str, part: Part, manner: Manner) -> str:
    base = re.sub(r"[\s_-]*\d+\Z", "", part.name).lower()
    if (category, base) in _NOUNS:
        return _NOUNS[category, base]
    spoken = _split_words(base)
    if spoken not in _NO_NOUNS:
        return spoken
    return _KINDS.get(part.kind, _SLIDERS.get(manner, "part"))


def _split_words(name: str) -> str:
    """Returns a name as words: `StorageFurniture` and `storage_furniture` are `storage furniture`."""
    apart = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name)
    return " ".join(re.findall(r"[^\W_]+", apart)).lower()


def _manner_of(model: UrdfModel, part: Part, closed: Mapping[str, float]) -> Manner:
    if part.is_button or part.name.rstrip("_0123456789") in _PRESSED:
        return Manner.press
    if part.kind is not PartKind.slider:
        return _MANNERS.get(part.kind, Manner.swing)
    moved = _handle_point(model, part, {**closed, part.joint: part.openness.open}) - _handle_point(model, part, closed)
    return (Manner.pull, Manner.slide, Manner.rise)[int(np.argmax(np.abs(moved)))]


def _handle_point(model: UrdfModel, part: Part, positions: Mapping[str, float]) -> Array:
    """Returns the (3,) point at which a part is acted on, in the root frame [m]."""
    point = part.keypoint("articulated_object_head")
    if point.frame == "obj":
        return point.xyz
    return model.link_pose(part.link if point.frame == "link" else part.base, dict(positions)) @ point.xyz


def _middle_of(model: UrdfModel, part: Part, closed: Mapping[str, float]) -> Array:
    """Returns the (3,) middle of a part [m]. Two doors may have their handles in one place, so hinges count too."""
    head = _handle_point(model, part, closed)
    hinged = part.kind in (PartKind.hinge_vertical, PartKind.hinge_horizontal, PartKind.lid)
    return (head + _hinge_point(model, part, head, closed)) / 2 if hinged else head


def _hinge_point(model: UrdfModel, part: Part, head: Array, closed: Mapping[str, float]) -> Array:
    """Returns the (3,) point of a part's joint axis next to its handle [m]."""
    joint = model.joints[part.joint]
    T_root_link = model.link_pose(joint.child, dict(closed))
    axis = T_root_link.rotate(np.asarray(joint.axis, dtype=float))
    axis = axis / np.linalg.norm(axis)
    return T_root_link.p + axis * ((head - T_root_link.p) @ axis)


def _hinge_side(model: UrdfModel, part: Part, closed: Mapping[str, float]) -> str:
    """Returns on which side a door is hinged: away from its handle."""
    if part.kind is not PartKind.hinge_vertical:
        return ""
    head = _handle_point(model, part, closed)
    return "left-hinged" if head[1] > _hinge_point(model, part, head, closed)[1] else "right-hinged"


def _place_words(points: Array) -> list[str]:
    """Returns words that tell parts apart by their middles (N, 3) in the root frame [m], or ordinals."""
    # the root frame has x out of the front, y to the right as seen from in front, z up
    values = np.stack([-points[:, 2], points[:, 1], -points[:, 0]])
    words = [_level_words(_number_levels(row), table) for row, table in zip(values, _DIRECTIONS, strict=True)]
    spreads = np.ptp(values, axis=1)
    single = [[words[axis]] for axis in np.argsort(-spreads, kind="stable")]
    for chosen in (*single, [words[0], words[1]], words):
        texts = [" ".join(word for word in row if word) for row in zip(*chosen, strict=True)]
        if all(texts) and len(set(texts)) == len(texts):
            return texts
    return [_ordinal(index) for index in range(len(points))]


def _number_levels(values: Array) -> list[int]:
    """Returns the level of each value, from 0; values that are close share a level."""
    order = np.argsort(values, kind="stable")
    levels: Array = np.zeros(len(values), dtype=int)
    levels[order[1:]] = np.cumsum(np.diff(values[order]) > _APART_M)
    return [int(level) for level in levels]


def _level_words(levels: Sequence[int], direction: _Direction) -> list[str]:
    count = max(levels) + 1
    if count == 1:
        return ["" for _ in levels]
    first, last = direction.ends
    more = (first, *(_ordinal(level) for level in range(1, count - 1)), last)
    words = {2: direction.two, 3: direction.three}.get(count, more)
    return [words[level] for level in levels]


def _ordinal(index: int) -> str:
    return _ORDINALS[index] if index < len(_ORDINALS) else f"number {index + 1}"


_KNOB_TASK = [
    "turn the {part} of the {object}",
    "rotate the {part} of the {object}",
    "twist the {object}'s {part}",
    "grip the {part} of the {object} and turn it",
]
_LEVER_TASK = [
    "turn the {part} of the {object}",
    "move the {object}'s {part}",
    "rotate the {part} of the {object}",
    "take the {part} of the {object} and turn it",
]
_BACK_TASK = [
    "turn the {part} of the {object} back",
    "turn back the {part} of the {object}",
    "rotate the {object}'s {part} back",
    "take the {part} of the {object} and turn it back",
]
_TASKS: dict[tuple[str, Manner], list[str]] = {
    ("open", Manner.swing): [
        "open the {part} of the {object}",
        "open the {side} {part} of the {object}",
        "pull the {part} of the {object} open",
        "take hold of the {object}'s {part} and pull it open",
    ],
    ("open", Manner.lift): [
        "open the {part} of the {object}",
        "lift the {part} of the {object}",
        "raise the {object}'s {part}",
        "take hold of the {part} of the {object} and lift it",
    ],
    ("open", Manner.pull): [
        "open the {part} of the {object}",
        "pull the {part} of the {object} out",
        "pull the {object}'s {part} open",
        "take hold of the {part} of the {object} and pull it out",
    ],
    ("open", Manner.rise): [
        "lift the {part} of the {object}",
        "pull the {part} of the {object} up",
        "raise the {object}'s {part}",
        "slide the {part} of the {object} up",
    ],
    ("open", Manner.slide): [
        "open the {part} of the {object}",
        "slide the {part} of the {object} open",
        "slide the {object}'s {part} to the side",
        "take hold of the {part} of the {object} and slide it open",
    ],
    ("open", Manner.turn): _KNOB_TASK,
    ("open", Manner.lever): _LEVER_TASK,
    ("close", Manner.swing): [
        "close the {part} of the {object}",
        "close the {side} {part} of the {object}",
        "push the {part} of the {object} shut",
        "shut the {object}'s {part}",
    ],
    ("close", Manner.lift): [
        "close the {part} of the {object}",
        "push the {part} of the {object} shut",
        "push the {object}'s {part} down",
        "shut the {part} of the {object}",
    ],
    ("close", Manner.pull): [
        "close the {part} of the {object}",
        "push the {part} of the {object} in",
        "push the {object}'s {part} shut",
        "slide the {part} of the {object} back in",
    ],
    ("close", Manner.rise): [
        "press the {part} of the {object} down",
        "push the {object}'s {part} down",
        "lower the {part} of the {object}",
        "slide the {part} of the {object} down",
    ],
    ("close", Manner.slide): [
        "close the {part} of the {object}",
        "slide the {part} of the {object} shut",
        "push the {object}'s {part} closed",
        "slide the {part} of the {object} back",
    ],
    ("close", Manner.press): [
        "press the {part} of the {object}",
        "push the {part} of the {object} in",
        "press the {object}'s {part}",
        "push the {object}'s {part} with a finger",
    ],
    ("close", Manner.turn): _BACK_TASK,
    ("rotate", Manner.turn): _KNOB_TASK,
    ("rotate", Manner.lever): _LEVER_TASK,
    ("pick", Manner.carry): [
        "pick up the {object}",
        "lift the {object}",
        "take the {object}",
        "grasp the {object} and lift it",
    ],
    ("place", Manner.carry): [
        "put the {object} {target}",
        "place the {object} {target}",
        "set the {object} down {target}",
        "put the {object} down {target}",
    ],
}
_KNOB_STEP = ["take the {part} and turn it", "turn the {part}", "grip the {part} and rotate it"]
_LEVER_STEP = ["take the {part} and turn it", "turn the {part}", "rotate the {part}"]
_STEPS: dict[tuple[str, Manner], list[str]] = {
    ("open", Manner.swing): ["take hold of the {part} and pull it open", "pull the {part} open", "open the {part}"],
    ("open", Manner.lift): ["take hold of the {part} and lift it", "lift the {part}", "open the {part}"],
    ("open", Manner.pull): ["take hold of the {part} and pull it out", "pull the {part} out", "open the {part}"],
    ("open", Manner.rise): ["take hold of the {part} and lift it", "lift the {part}", "pull the {part} up"],
    ("open", Manner.slide): ["take hold of the {part} and slide it open", "slide the {part} open", "open the {part}"],
    ("open", Manner.turn): _KNOB_STEP,
    ("open", Manner.lever): _LEVER_STEP,
    ("close", Manner.swing): ["push the {part} closed", "push the {part} shut", "close the {part}"],
    ("close", Manner.lift): ["push the {part} closed", "push the {part} down", "close the {part}"],
    ("close", Manner.pull): ["push the {part} in", "push the {part} shut", "close the {part}"],
    ("close", Manner.rise): ["press the {part} down", "push the {part} down", "lower the {part}"],
    ("close", Manner.slide): ["slide the {part} shut", "push the {part} back", "close the {part}"],
    ("close", Manner.press): ["press the {part}", "push the {part} in", "push the {part} with a finger"],
    ("close", Manner.turn): ["take the {part} and turn it back", "turn the {part} back", "turn back the {part}"],
    ("rotate", Manner.turn): _KNOB_STEP,
    ("rotate", Manner.lever): _LEVER_STEP,
    ("pick", Manner.carry): ["pick up the {object}", "take the {object}", "grasp the {object} and lift it"],
    ("place", Manner.carry): ["put it {target}", "place it {target}", "set it down {target}"],
}
_HELD = [
    "hold the {object} by its handle",
    "take the {object} by a handle and keep hold of it",
    "grip a handle of the {object} and do not let go",
    "steady the {object} with one hand",
]
_HOME = [
    "move the arm back to where it began",
    "move the arm back home",
    "move the hand back out of the way",
    "let the arm go back to its start",
]
PRESS = "press"
"""What instructions say in place of `close` where a closed part, or its button, is pressed so that it pops out."""
_PRESSED_ON = [
    "keep the {part} of the {object} pressed",
    "press the {part} of the {object} and do not let go",
    "hold the {part} down with one hand",
    "press the {part} and keep your finger on it",
]
_ALIKE = {"hold": _HELD, "hold_pressed": _PRESSED_ON, "home": _HOME}
"""Templates of skills for which it does not matter how the part moves."""
_UNMENTIONED = frozenset({"artpreplan"})
"""Skills that no instruction mentions."""


def task_phrasings(skill: str, manner: Manner) -> list[str]:
    """Returns the templates for a task of one skill."""
    return _find_templates(_TASKS, skill, manner, "the {part} of the {object}")


def step_phrasings(skill: str, manner: Manner) -> list[str]:
    """Returns the templates for one step of a chain; they name the part alone."""
    return _find_templates(_STEPS, skill, manner, "the {part}")


def _find_templates(table: dict[tuple[str, Manner], list[str]], skill: str, manner: Manner, moved: str) -> list[str]:
    """Returns the templates in a table; for other skills, such as those of plugins, the name is the verb."""
    if skill in _ALIKE:
        return list(_ALIKE[skill])
    if skill == PRESS:
        return list(table["close", Manner.press])
    own = [f"{skill.replace('_', ' ')} {moved}"]
    return [] if skill in _UNMENTIONED else list(table.get((skill, manner), own))


FIELDS = ("object", "part", "side", "target")
"""Names that `{...}` in a template may have."""


class LanguageStep(NamedTuple):
    """What instructions say of one skill of a chain."""

    skill: str
    asset: ObjectAsset
    """The object that it acts on."""
    part: str | None
    """Name of the part that it acts on; None: the whole object."""
    target: str = ""
    """Where it puts the object, such as `into the drawer`."""


def target_words(asset: ObjectAsset | None, region: str | None) -> str:
    """Returns where something is put, such as `into the top drawer of the cabinet` or `onto the plate`.

    Args:
        asset: The object in or on which it is put; None: the table.
        region: Its region; None: beside it.
    """
    if asset is None:
        return "on the table"
    found = None if region is None else asset.region(region)
    words = part_words(asset, found.part if found is not None else None)
    if found is None:
        return f"next to the {words.object}"
    is_drawer = found.part == region
    if found.kind is RegionKind.surface:
        return f"onto the {words.object}"
    return f"into the {words.part}" if is_drawer else f"into the {words.object}"


def task_language(texts: Sequence[str], steps: Sequence[tuple[Any, ...]], draw: float) -> list[str]:
    """Returns the phrasings of a task, filled in, with the drawn one in front.

    Args:
        texts: The task's templates, about the first step; empty: the templates of its steps.
        steps: Skill, object, name of the part, and target of each step of the chain, as a `LanguageStep`.
        draw: A draw in [0, 1).
    """
    named = [LanguageStep(*step) for step in steps]
    spoken = [(step.skill, replace(part_words(step.asset, step.part), target=step.target)) for step in named]
    if texts or len(spoken) == 1:
        skill, words = spoken[0]
        return put_chosen_first(fill_in(texts or task_phrasings(skill, words.manner), words), draw)
    # phrasing i of a chain joins template i of each step: open ..., then close ...
    filled = [fill_in(task_phrasings(skill, words.manner), words) for skill, words in spoken]
    filled = [each for each in filled if each]
    count = max(map(len, filled), default=0)
    joined = [", then ".join(each[index % len(each)] for each in filled) for index in range(count)]
    return put_chosen_first(list(dict.fromkeys(joined)), draw)


def step_language(
    texts: Sequence[str], skill: str, asset: ObjectAsset, part: str | None, draw: float, *, target: str = ""
) -> list[str]:
    """Returns the phrasings of one step of a chain, filled in, with the drawn one in front.

    An entry without templates uses those of its skill. `draw` is in [0, 1).
    """
    words = replace(part_words(asset, part), target=target)
    return put_chosen_first(fill_in(texts or step_phrasings(skill, words.manner), words), draw)


def fill_in(texts: Sequence[str], words: PartWords) -> list[str]:
    """Returns phrasings about one part of one object, filled in; names without a value are left out.

    No noun is repeated: the door of an object that is a door is `the door`. Equal phrasings are merged.
    """
    return list(dict.fromkeys(_fill_in_one(text, words) for text in texts))


def phrasing_draws(seed: int, count: int) -> list[float]:
    """Returns draws in [0, 1) that choose phrasings: the first for the task, then one for each entry of its chain.

    A larger count begins with the same draws.
    """
    return [float(draw) for draw in stream(seed, "language").random(count)]


def put_chosen_first(texts: Sequence[str], draw: float) -> list[str]:
    """Returns the phrasings with the one that a draw in [0, 1) chooses in front, the others in their order."""
    index = min(int(draw * len(texts)), len(texts) - 1) if texts else 0
    return [*texts[index : index + 1], *texts[:index], *texts[index + 1 :]]


def _fill_in_one(text: str, words: PartWords) -> str:
    if words.part.split()[-1] == words.object.split()[-1]:  # the upper drawer of the drawer, the door of the front door
        longer = max(words.part, words.object, key=len)
        for both in ("{part} of the {object}", "{part} on the {object}", "{object}'s {part}", "{object} {part}"):
            text = text.replace(both, longer)
    filled = text.format(object=words.object, part=words.part, side=words.side, target=words.target)
    return " ".join(filled.split())
