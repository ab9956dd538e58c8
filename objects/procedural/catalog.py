"""The generators of all categories, by name, and the choice of an object by its parameters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from unlatch.simcore.errors import ConfigError, unknown_entry
from unlatch.simcore.registry import Catalog, CatalogEntry
from unlatch.simcore.rng import stream

if TYPE_CHECKING:
    from unlatch.objects.procedural.assembly import GeneratedObject

_SUMMARIES = {
    "appliances": {
        "dishwasher": "a tabletop dishwasher",
        "microwave": "a microwave oven",
        "oven": "a countertop oven with knobs",
        "refrigerator": "a small refrigerator with one or two doors",
        "safe": "a small safe with a dial",
    },
    "full_size": {
        "kitchen_cabinet": "a kitchen base unit, 60 cm deep",
        "kitchen_dishwasher": "a dishwasher, 60 cm wide",
        "kitchen_oven": "a cooker, 85 to 90 cm high",
        "room_door": "a door of 2 m in a wall, that its lever unlatches",
        "tall_refrigerator": "a refrigerator, 1.5 to 1.9 m high",
        "wardrobe": "a wardrobe with drawers below its doors",
    },
    "washing_machine": {
        "washing_machine": "a small front loader with a round door",
    },
    "cabinets": {
        "cabinet": "a low cabinet with one or two doors",
        "desk_drawers": "a small chest of drawers for a desk",
        "drawer_cabinet": "a chest with one to four drawers",
    },
    "drawer": {
        "drawer": "a low cabinet with a drawer",
    },
    "openings": {
        "door": "a small door in a frame with a lever handle",
        "latched_door": "a small door that its lever unlatches, to pull or to push",
        "sliding_window": "a window whose sash slides sideways",
    },
    "lids": {
        "box": "a storage box with a hinged lid",
        "carton": "a carton with two flaps",
        "laptop": "a laptop",
        "light_box": "a light box with side handles and a hinged lid",
        "pedal_bin": "a bin whose pedal lifts its lid",
        "pot": "a cooking pot with a hinged lid",
        "trash_can": "a pedal bin with a hinged lid",
    },
    "held_parts": {
        "button_drawer": "a chest whose drawer opens while a button is pressed",
        "button_microwave": "a microwave oven whose door a button opens",
        "detent_oven": "a countertop oven whose knobs click into settings",
        "double_cabinet": "a cabinet whose first door covers the second",
        "filing_cabinet": "a chest that lets one drawer out at a time",
        "locked_safe": "a safe whose dial frees a lever, and the lever its door",
        "push_latch_cabinet": "a cabinet whose door pops out when it is pressed",
        "telescopic_drawer": "a chest with drawers on telescopic rails",
        "toolbox": "a toolbox whose lid two clasps hold",
    },
    "switches": {
        "breaker": "a box with a circuit breaker that is pressed off",
        "light_switch": "a light switch on a board",
    },
    "toilet": {
        "toilet": "a children's toilet with a hinged lid",
    },
    "knobs_and_levers": {
        "bottle": "a bottle or a jar with a screw cap",
        "childproof_bottle": "a bottle whose cap is pressed and turned",
        "faucet": "a faucet with a lever or two knobs",
        "hand_wheel": "a valve with a hand wheel",
        "toaster": "a toaster with a lever",
    },
    "items": {
        "apple": "an apple that a hand can carry",
        "book": "a book that a hand can carry",
        "bowl": "a bowl that a hand can carry",
        "can": "a can that a hand can carry",
        "cereal_box": "a box of food that a hand can carry",
        "cup": "a cup that a hand can carry",
        "mug": "a mug that a hand can carry",
        "parcel": "a parcel that a hand can carry",
        "plate": "a plate that a hand can carry",
        "spoon": "a spoon that a hand can carry",
        "toast": "a slice of toast that a hand can carry",
        "water_bottle": "a bottle of water that a hand can carry",
    },
}
"""What a generator makes, by the module that holds it; `object=NAME` chooses it."""

_ENTRIES = {
    name: CatalogEntry(f"unlatch.objects.procedural.{module}:{name}", summary)
    for module, summaries in _SUMMARIES.items()
    for name, summary in summaries.items()
}

GENERATORS = Catalog(
    "procedural object",
    dict(sorted(_ENTRIES.items())),
    group="unlatch.objects",
    listed_by="unlatch list objects",
)
"""Generators by category: functions `generate(seed, *, name) -> GeneratedObject`."""

MOST_TRIES = 1000
"""Most seeds that are tried for a matching object."""
_SEEDS = 2**31


def read_filter(value: Any) -> dict[str, Any]:
    """Checks and returns `object.where`: by parameter a value, a list of values, or `{min, max}`.

    Raises:
        ConfigError: It is none of these.
    """
    if not isinstance(value, Mapping):
        raise ConfigError(
            f"object.where={value} is not a mapping. Expected parameters with a value, a list of values, or "
            "{min: ..., max: ...}. Change it.",
            key="object.where",
        )
    for name, wanted in value.items():
        key = f"object.where.{name}"
        if isinstance(wanted, Mapping):
            ends = [wanted.get("min", wanted.get("max")), wanted.get("max", wanted.get("min"))]
            good = (
                bool(wanted)
                and set(wanted) <= {"min", "max"}
                and all(isinstance(end, int | float) and not isinstance(end, bool) for end in ends)
            )
            if not good or ends[0] > ends[1]:
                raise ConfigError(
                    f"{key}={dict(wanted)} is not a range. Expected numbers as min, max or both, min <= max. "
                    "Change it.",
                    key=key,
                )
        elif not (isinstance(wanted, list) and wanted) and not isinstance(wanted, str | int | float):
            raise ConfigError(
                f"{key}={wanted} is not a choice. Expected a value, a list of values, or {{min: ..., max: ...}}. "
                "Change it.",
                key=key,
            )
    return {str(name): wanted for name, wanted in value.items()}


def first_matching_seed(category: str, wanted: Mapping[str, Any], seed: int, *, in_split: Callable[[str], bool]) -> str:
    """Returns the given seed if its object matches, else the first matching seed of those drawn from it. `wanted` is
    what `read_filter` returns; `in_split` returns whether a seed belongs to the split.

    Raises:
        ConfigError: The category has no such parameter, or none of `MOST_TRIES` objects matches.
    """
    generate: Callable[..., GeneratedObject] = GENERATORS.load(category)
    rng = stream(seed, "assets.wanted")
    seen: dict[str, set[float | str]] = {name: set() for name in wanted}
    for _ in range(MOST_TRIES):
        parameters = generate(seed, name=category).parameters if in_split(str(seed)) else {}
        if parameters:
            for name in wanted:
                if name not in parameters:
                    raise unknown_entry(
                        f"object.where.{name} is not a parameter of '{category}'.",
                        name,
                        sorted(parameters),
                        error=ConfigError,
                        heading="Parameters",
                        advice="Name one of them.",
                        key=f"object.where.{name}",
                    )
                seen[name].add(parameters[name])
            if all(_matches(want, parameters[name]) for name, want in wanted.items()):
                return str(seed)
        seed = int(rng.integers(_SEEDS))
    met = "; ".join(f"{name} {_describe_values(values)}" for name, values in seen.items())
    raise ConfigError(
        f"object.where={dict(wanted)} leaves none of {MOST_TRIES} objects of '{category}'. They had {met}. Loosen it.",
        key="object.where",
    )


def _matches(wanted: Any, value: float | str) -> bool:
    if isinstance(wanted, Mapping):
        low, high = wanted.get("min", -float("inf")), wanted.get("max", float("inf"))
        return isinstance(value, int | float) and low <= value <= high
    if isinstance(wanted, list):
        return any(_matches(one, value) for one in wanted)
    return bool(wanted == value)


def _describe_values(values: set[float | str]) -> str:
    numbers = sorted(v for v in values if isinstance(v, int | float))
    if len(numbers) > 6:
        return f"from {numbers[0]:g} to {numbers[-1]:g}"
    return ", ".join(sorted(f"{v:g}" if isinstance(v, int | float) else v for v in values)[:8]) or "nothing"
