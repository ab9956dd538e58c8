"""What a part and its object are called in an instruction: `the upper drawer` of `the cabinet`, left-hinged or not.

Left and right, upper and lower are as one sees them who stands before the object and looks at its front.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np

from unlatch.objects.annotation import FramedVector, Part, PartKind
from unlatch.objects.articulated_object import ObjectAsset
from unlatch.simcore.urdf.model import UrdfModel

Array = np.ndarray


class Manner(Enum):
    """How a part moves, as one speaks of it."""

    swing = "swing"
    """A door."""
    lift = "lift"
    """A lid."""
    pull = "pull"
    """A drawer: out of the front."""
    rise = "rise"
    """What slides up and down."""
    slide = "slide"
    """What slides to the side."""
    turn = "turn"
    """A knob, a wheel."""
    lever = "lever"
    """A lever."""


@dataclass(frozen=True)
class PartWords:
    """The words for one part of one object."""

    object: str
    """What the object is called."""
    part: str
    """What the part is called, with what sets it apart from others of its kind: `upper drawer`."""
    side: str
    """`left-hinged` or `right-hinged` for the only door of an object, else empty."""
    manner: Manner


_OBJECTS = {
    "drawer": "cabinet",
    "drawer_cabinet": "cabinet",
    "hand_wheel": "valve",
    "sliding_window": "window",
}
"""Categories whose name is no good word beside that of their parts."""
_NOUNS = {
    ("carton", "lid"): "flap",
    ("hand_wheel", "knob"): "wheel",
    ("safe", "knob"): "dial",
    ("sliding_window", "slider"): "sash",
    ("toaster", "slider"): "lever",
}
"""By category and name of the part without its number."""
_KINDS = {
    PartKind.hinge_vertical: "door",
    PartKind.hinge_horizontal: "door",
    PartKind.knob: "knob",
    PartKind.lever: "lever",
    PartKind.lid: "lid",
}
_SLIDERS = {Manner.pull: "drawer", Manner.rise: "slider", Manner.slide: "slider"}
_NO_NOUNS = frozenset({"link", "joint", "part", "body", "object", "slider", "hinge", "base", ""})
"""Names that say nothing about a part."""
_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
_APART_M = 0.03
"""Parts that lie closer together along an axis are on the same level."""


@dataclass(frozen=True)
class _Direction:
    """Words for parts beside one another in one direction."""

    two: tuple[str, str]
    three: tuple[str, str, str]
    ends: tuple[str, str]
    """The first and the last of more."""


_ROWS = _Direction(("upper", "lower"), ("top", "middle", "bottom"), ("top", "bottom"))
_COLUMNS = _Direction(("left", "right"), ("left", "middle", "right"), ("leftmost", "rightmost"))
_DEPTHS = _Direction(("front", "rear"), ("front", "middle", "rear"), ("front", "rear"))


def part_words(asset: ObjectAsset, part: str) -> PartWords:
    """The words for a part.

    Args:
        asset: The object.
        part: Name of the part.

    Raises:
        AssetError: There is no such part.
    """
    asked = asset.articulation.part(part)
    parts = asset.articulation.parts
    model = asset.model
    closed = {other.joint: other.openness.closed for other in parts.values()}
    nouns = {name: _noun(asset.category, other, _manner(model, other, closed)) for name, other in parts.items()}
    alike = [name for name, noun in nouns.items() if noun == nouns[part]]
    place = ""
    if len(alike) > 1:
        middles = np.array([_middle(model, parts[name], closed) for name in alike])
        place = _places(middles)[alike.index(part)]
    return PartWords(
        object=_OBJECTS.get(asset.category, _spoken(asset.category)) or "object",
        part=f"{place} {nouns[part]}".strip(),
        side=_side(model, asked, closed) if len(alike) == 1 else "",
        manner=_manner(model, asked, closed),
    )


def _noun(category: str, part: Part, manner: Manner) -> str:
    base = re.sub(r"[\s_-]*\d+\Z", "", part.name).lower()
    if (category, base) in _NOUNS:
        return _NOUNS[category, base]
    spoken = _spoken(base)
    if spoken not in _NO_NOUNS:
        return spoken
    return _KINDS.get(part.kind, _SLIDERS.get(manner, "part"))


def _spoken(name: str) -> str:
    """A name as words: `StorageFurniture` and `storage_furniture` are `storage furniture`."""
    apart = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name)
    return " ".join(re.findall(r"[^\W_]+", apart)).lower()


def _manner(model: UrdfModel, part: Part, closed: Mapping[str, float]) -> Manner:
    if part.kind is not PartKind.slider:
        return {
            PartKind.lid: Manner.lift,
            PartKind.knob: Manner.turn,
            PartKind.lever: Manner.lever,
        }.get(part.kind, Manner.swing)
    moved = _head(model, part, {**closed, part.joint: part.openness.open}) - _head(model, part, closed)
    return (Manner.pull, Manner.slide, Manner.rise)[int(np.argmax(np.abs(moved)))]


def _head(model: UrdfModel, part: Part, positions: Mapping[str, float]) -> Array:
    """(3,) where a part is acted on, in the root frame [m]."""
    return _in_root(model, part, part.keypoint("articulated_object_head"), positions)


def _in_root(model: UrdfModel, part: Part, point: FramedVector, positions: Mapping[str, float]) -> Array:
    if point.frame == "obj":
        return point.xyz
    return model.link_pose(part.link if point.frame == "link" else part.base, dict(positions)) @ point.xyz


def _middle(model: UrdfModel, part: Part, closed: Mapping[str, float]) -> Array:
    """(3,) about where a part lies [m]: doors that meet in the middle are held at one place and hinged at two."""
    head = _head(model, part, closed)
    hinged = part.kind in (PartKind.hinge_vertical, PartKind.hinge_horizontal, PartKind.lid)
    return (head + _hinge(model, part, head, closed)) / 2 if hinged else head


def _hinge(model: UrdfModel, part: Part, head: Array, closed: Mapping[str, float]) -> Array:
    """(3,) the point of a part's joint axis beside where it is held [m]."""
    joint = model.joints[part.joint]
    T_root_link = model.link_pose(joint.child, dict(closed))
    axis = T_root_link.rotate(np.asarray(joint.axis, dtype=float))
    axis = axis / np.linalg.norm(axis)
    return T_root_link.p + axis * ((head - T_root_link.p) @ axis)


def _side(model: UrdfModel, part: Part, closed: Mapping[str, float]) -> str:
    """On which side a door is hinged: away from where it is held."""
    if part.kind is not PartKind.hinge_vertical:
        return ""
    head = _head(model, part, closed)
    return "left-hinged" if head[1] > _hinge(model, part, head, closed)[1] else "right-hinged"


def _places(points: Array) -> list[str]:
    """What sets parts apart by where they lie; their order where they lie at one place.

    Args:
        points: (N, 3) in the root frame: x out of the front, y to the right of who looks at it, z up [m].
    """
    levels = [_levels(points[:, 2], downwards=True), _levels(points[:, 1]), _levels(points[:, 0], downwards=True)]
    words = [_level_words(found, table) for found, table in zip(levels, (_ROWS, _COLUMNS, _DEPTHS), strict=True)]
    spreads = np.ptp(points, axis=0)[[2, 1, 0]]
    single = [[words[axis]] for axis in np.argsort(-spreads, kind="stable")]
    for chosen in (*single, [words[0], words[1]], words):
        texts = [" ".join(word for word in row if word) for row in zip(*chosen, strict=True)]
        if all(texts) and len(set(texts)) == len(texts):
            return texts
    return [_ordinal(index) for index in range(len(points))]


def _levels(values: Array, *, downwards: bool = False) -> list[int]:
    """Which level each value is on, from 0; values that lie close together are on one."""
    signed = -values if downwards else values
    order = np.argsort(signed, kind="stable")
    levels: Array = np.zeros(len(values), dtype=int)
    steps = np.diff(signed[order]) > _APART_M
    levels[order[1:]] = np.cumsum(steps)
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
