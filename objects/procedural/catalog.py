"""The generators of all categories, by name."""

from __future__ import annotations

from unlatch.simcore.registry import Catalog, CatalogEntry

_SUMMARIES = {
    "bottle": "bottle or jar with a screw cap",
    "box": "storage box of wood or plastic, lid hinged behind: edge, knob or bar",
    "cabinet": "low cabinet with 1 or 2 doors: bar, knob or edge",
    "carton": "carton with two flaps and tape",
    "desk_drawers": "small chest for a desk, 1 to 3 drawers: bar or knob",
    "dishwasher": "tabletop dishwasher, door hinged below: bar or edge",
    "door": "small door in a frame, lever handle",
    "drawer": "low cabinet with 1 or 2 drawers, bar handle or knob",
    "drawer_cabinet": "chest with 1 to 4 drawers: bar, knob, cup or edge",
    "faucet": "faucet with a lever or with two knobs",
    "hand_wheel": "gate valve with a hand wheel, upright or facing the front",
    "laptop": "laptop, lid hinged behind",
    "microwave": "microwave oven, door hinged left or right, bar handle",
    "oven": "countertop oven, door hinged below with a bar, 2 to 4 knobs",
    "pot": "cooking pot, lid hinged behind: knob or bar",
    "refrigerator": "small refrigerator with 1 or 2 doors: bar or edge",
    "safe": "small safe, door with a bar and a dial",
    "sliding_window": "window with a sash that slides sideways",
    "toaster": "toaster for 2 or 4 slices, lever that goes up and down",
    "toilet": "children's toilet with or without a tank, lid hinged behind",
    "trash_can": "pedal bin, round or square, lid hinged behind: edge or bar",
    "washing_machine": "small front loader with a round door: bar or edge",
}

_ITEMS = {
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
}

_MODULES = {
    **{name: (name, summary) for name, summary in _SUMMARIES.items()},
    **{name: (f"items.{name}", summary) for name, summary in _ITEMS.items()},
}

GENERATORS = Catalog(
    "procedural object",
    {
        name: CatalogEntry(f"unlatch.objects.procedural.{module}:generate", summary)
        for name, (module, summary) in sorted(_MODULES.items())
    },
    group="unlatch.objects",
    listed_by="unlatch list objects",
)
"""Generators by category: functions `generate(seed, *, name) -> GeneratedObject`."""
