"""Makes the phrasings of an instruction from templates such as `open the {object}`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from unlatch.objects.articulated_object import ObjectAsset
from unlatch.objects.carrying.region import RegionKind
from unlatch.simcore.rng import stream
from unlatch.tasks.part_words import PartWords, part_words
from unlatch.tasks.phrasings import step_phrasings, task_phrasings

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
