"""Checks the classes of bodies that a configuration names."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from unlatch.objects.procedural.catalog import GENERATORS
from unlatch.simcore.errors import ConfigError, close_matches
from unlatch.simcore.sim.world import World

SURROUNDINGS = ("table", "floor", "wall", "ceiling", "window", "furniture", "robot_mount")
"""Classes of the table and of rooms."""
IN_SCENES = ("distractor", "plinth", "robot", *SURROUNDINGS)
"""Classes of bodies other than objects; the class of an object is its category."""

_NEAR = 0.8
"""Smallest similarity, from 0 to 1, of a misspelt name to a known one; `my_table` is not a misspelling of `table`."""


def check_classes(names: Iterable[str], world: World, *, key: str) -> None:
    """Raises for a class that is unknown and similar to a known one.

    A class that is similar to none passes: it may be the category of an object in another episode.

    Raises:
        ConfigError: A class is misspelt.
    """
    from unlatch.objects.importers.partnet_source import CATEGORIES

    known = {*IN_SCENES, *CATEGORIES, *GENERATORS.names(), *(body.semantic_class for body in world.seen_bodies())}
    for name in names:
        if name not in known and get_close_matches(name, known, cutoff=_NEAR):
            here = ", ".join(sorted({body.semantic_class for body in world.seen_bodies()}))
            raise ConfigError(
                f"{key} has '{name}', which is not a known class.{close_matches(name, known)} Expected classes as "
                f"in segmentation images; those here: {here}. Correct it.",
                key=key,
                available=sorted(known),
            )
