"""The generators of all categories, by name, and the choice of an object by its parameters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from unlatch.simcore.errors import ConfigError, close_matches
from unlatch.simcore.registry import Catalog, CatalogEntry
from unlatch.simcore.rng import stream

if TYPE_CHECKING:
    from unlatch.objects.procedural.assembly import GeneratedObject

_SUMMARIES = {
    "appliances": {
        "dishwasher": "tabletop dishwasher, door hinged below: bar or edge",
        "microwave": "microwave oven, door hinged left or right, bar handle",
        "oven": "countertop oven, door hinged below with a bar, 2 to 4 knobs",
        "refrigerator": "small refrigerator with 1 or 2 doors: bar or edge",
        "safe": "small safe, door with a bar and a dial",
    },
    "washing_machine": {
        "washing_machine": "small front loader with a round door: bar or edge",
    },
    "cabinets": {
        "cabinet": "low cabinet with 1 or 2 doors: bar, knob or edge",
        "desk_drawers": "small chest for a desk, 1 to 3 drawers: bar or knob",
        "drawer": "low cabinet with 1 or 2 drawers, bar handle or knob",
        "drawer_cabinet": "chest with 1 to 4 drawers: bar, knob, cup or edge",
    },
    "openings": {
        "door": "small door in a frame, lever handle",
        "sliding_window": "window with a sash that slides sideways",
    },
    "lids": {
        "box": "storage box of wood or plastic, lid hinged behind: edge, knob or bar",
        "carton": "carton with two flaps and tape",
        "laptop": "laptop, lid hinged behind",
        "pot": "cooking pot, lid hinged behind: knob or bar",
        "trash_can": "pedal bin, round or square, lid hinged behind: edge or bar",
    },
    "toilet": {
        "toilet": "children's toilet with or without a tank, lid hinged behind",
    },
    "knobs_and_levers": {
        "bottle": "bottle or jar with a screw cap",
        "faucet": "faucet with a lever or with two knobs",
        "hand_wheel": "gate valve with a hand wheel, upright or facing the front",
        "toaster": "toaster for 2 or 4 slices, lever that goes up and down",
    },
    "items": {
        "apple": "fruit, to carry: stands on a small flat foot",
        "book": "book, to carry: stands upright",
        "bowl": "bowl, to carry: held at its rim",
        "can": "full can, to carry",
        "cereal_box": "box of food that stands upright, to carry",
        "cup": "cup without a handle, to carry",
        "mug": "mug with a handle, to carry",
        "parcel": "small parcel, to carry",
        "plate": "plate, to carry: held at its rim",
        "spoon": "spoon that lies flat, to carry",
        "toast": "slice of toast on its edge, to carry",
        "water_bottle": "closed bottle of water, to carry",
    },
}
"""What a generator makes, by the module that holds it."""

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
                    raise ConfigError(
                        f"object.where.{name} is not a parameter of '{category}'.{close_matches(name, parameters)} "
                        f"Parameters: {', '.join(sorted(parameters))}. Name one of them.",
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
