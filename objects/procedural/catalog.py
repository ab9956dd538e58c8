"""The generators of all categories, by name."""

from __future__ import annotations

from unlatch.simcore.registry import Catalog, CatalogEntry

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
    "turning": {
        "bottle": "bottle or jar with a screw cap",
        "faucet": "faucet with a lever or with two knobs",
        "hand_wheel": "gate valve with a hand wheel, upright or facing the front",
    },
    "toaster": {
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
