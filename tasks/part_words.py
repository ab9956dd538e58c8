"""Words for a part and its object in an instruction, such as `upper drawer` and `cabinet`.

Left, right, upper and lower are as seen from in front of the object.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np

from unlatch.objects.annotation import Part, PartKind
from unlatch.objects.articulated_object import ObjectAsset
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
    "drawer": "cabinet",
    "drawer_cabinet": "cabinet",
    "hand_wheel": "valve",
    "sliding_window": "window",
}
"""Words for categories whose own names do not fit the names of their parts."""
_NOUNS = {
    ("carton", "lid"): "flap",
    ("hand_wheel", "knob"): "wheel",
    ("safe", "knob"): "dial",
    ("sliding_window", "slider"): "sash",
    ("toaster", "slider"): "lever",
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
    if part is None:
        noun = _OBJECTS.get(asset.category, asset.category).replace("_", " ")
        return PartWords(noun, noun, "", Manner.carry)
    asked = asset.articulation.part(part)
    parts = asset.articulation.parts
    model = asset.model
    closed = asset.articulation.closed_positions()
    nouns = {name: _noun_for(asset.category, other, _manner_of(model, other, closed)) for name, other in parts.items()}
    alike = [name for name, noun in nouns.items() if noun == nouns[part]]
    place = ""
    if len(alike) > 1:
        middles = np.array([_middle_of(model, parts[name], closed) for name in alike])
        place = _place_words(middles)[alike.index(part)]
    return PartWords(
        object=_OBJECTS.get(asset.category, _split_words(asset.category)) or "object",
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
    if part.is_button:
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
