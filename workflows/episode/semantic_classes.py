"""Classes of bodies by name, where a configuration names some."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from unlatch.objects.importers.partnet.categories import CATEGORIES
from unlatch.objects.procedural.catalog import GENERATORS
from unlatch.simcore.errors import ConfigError, close_matches
from unlatch.simcore.sim.world import World

IN_SCENES = ("distractor", "floor", "plinth", "robot", "table", "wall")
"""Classes of what stands in scenes beside objects, whose classes are their categories."""

_NEAR = 0.8
"""How alike a misspelt name is at least, of 1; `my_table` is a name of its own beside `table`."""


def check_classes(names: Iterable[str], world: World, *, key: str) -> None:
    """Raises for a class that is near to one that there is, and none itself.

    One that is near to none is let pass: it may be the category of an object that another episode has.

    Args:
        names: The classes.
        world: A scene, complete.
        key: Where they are configured.

    Raises:
        ConfigError: One is misspelt.
    """
    known = {*IN_SCENES, *CATEGORIES, *GENERATORS.names(), *(body.semantic_class for body in world.seen_bodies())}
    for name in names:
        if name not in known and get_close_matches(name, known, cutoff=_NEAR):
            here = ", ".join(sorted({body.semantic_class for body in world.seen_bodies()}))
            raise ConfigError(
                f"{key} has '{name}', which is no class of anything.{close_matches(name, known)} Expected classes as "
                f"in segmentation images; those here: {here}. Correct it.",
                key=key,
                available=sorted(known),
            )
