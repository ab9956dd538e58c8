"""Makes the phrasings of an instruction from templates such as `open the {object}`."""

from __future__ import annotations

from collections.abc import Sequence

from unlatch.objects.articulated_object import ObjectAsset
from unlatch.simcore.rng import stream
from unlatch.tasks.part_words import PartWords, part_words
from unlatch.tasks.phrasings import step_phrasings, task_phrasings

FIELDS = ("object", "part", "side")
"""Names that `{...}` in a template may have."""


def task_language(texts: Sequence[str], steps: Sequence[tuple[str, ObjectAsset, str]], draw: float) -> list[str]:
    """Returns the phrasings of a task, filled in, with the drawn one in front.

    Args:
        texts: The task's templates, about the first step; empty: the templates of its steps.
        steps: Skill, object and name of the part of each step of the chain.
        draw: A draw in [0, 1).
    """
    spoken = [(skill, part_words(asset, part)) for skill, asset, part in steps]
    if texts or len(spoken) == 1:
        skill, words = spoken[0]
        return put_chosen_first(fill_in(texts or task_phrasings(skill, words.manner), words), draw)
    # phrasing i of a chain joins template i of each step: open ..., then close ...
    filled = [fill_in(task_phrasings(skill, words.manner), words) for skill, words in spoken]
    filled = [each for each in filled if each]
    count = max(map(len, filled), default=0)
    joined = [", then ".join(each[index % len(each)] for each in filled) for index in range(count)]
    return put_chosen_first(list(dict.fromkeys(joined)), draw)


def step_language(texts: Sequence[str], skill: str, asset: ObjectAsset, part: str, draw: float) -> list[str]:
    """Returns the phrasings of one step of a chain, filled in, with the drawn one in front.

    An entry without templates uses those of its skill. `draw` is in [0, 1).
    """
    words = part_words(asset, part)
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
    filled = text.format(object=words.object, part=words.part, side=words.side)
    return " ".join(filled.split())
