"""The generators of all categories, by name."""

from __future__ import annotations

from simcore.registry import Catalog, CatalogEntry

GENERATORS = Catalog(
    "procedural object",
    {
        "bottle": CatalogEntry("simcore.assets.procedural.bottle:generate", "bottle or jar with a screw cap"),
        "box": CatalogEntry(
            "simcore.assets.procedural.box:generate",
            "storage box of wood or plastic, lid hinged behind: edge, knob or bar",
        ),
        "cabinet": CatalogEntry(
            "simcore.assets.procedural.cabinet:generate", "low cabinet with 1 or 2 doors: bar, knob or edge"
        ),
        "carton": CatalogEntry("simcore.assets.procedural.carton:generate", "carton with two flaps and tape"),
        "desk_drawers": CatalogEntry(
            "simcore.assets.procedural.desk_drawers:generate", "small chest for a desk, 1 to 3 drawers: bar or knob"
        ),
        "dishwasher": CatalogEntry(
            "simcore.assets.procedural.dishwasher:generate", "tabletop dishwasher, door hinged below: bar or edge"
        ),
        "door": CatalogEntry("simcore.assets.procedural.door:generate", "small door in a frame, lever handle"),
        "drawer": CatalogEntry(
            "simcore.assets.procedural.drawer:generate", "low cabinet with 1 or 2 drawers, bar handle or knob"
        ),
        "drawer_cabinet": CatalogEntry(
            "simcore.assets.procedural.drawer_cabinet:generate", "chest with 1 to 4 drawers: bar, knob, cup or edge"
        ),
        "faucet": CatalogEntry("simcore.assets.procedural.faucet:generate", "faucet with a lever or with two knobs"),
        "hand_wheel": CatalogEntry(
            "simcore.assets.procedural.hand_wheel:generate", "gate valve with a hand wheel, upright or facing the front"
        ),
        "laptop": CatalogEntry("simcore.assets.procedural.laptop:generate", "laptop, lid hinged behind"),
        "microwave": CatalogEntry(
            "simcore.assets.procedural.microwave:generate", "microwave oven, door hinged left or right, bar handle"
        ),
        "oven": CatalogEntry(
            "simcore.assets.procedural.oven:generate", "countertop oven, door hinged below with a bar, 2 to 4 knobs"
        ),
        "pot": CatalogEntry("simcore.assets.procedural.pot:generate", "cooking pot, lid hinged behind: knob or bar"),
        "refrigerator": CatalogEntry(
            "simcore.assets.procedural.refrigerator:generate", "small refrigerator with 1 or 2 doors: bar or edge"
        ),
        "safe": CatalogEntry("simcore.assets.procedural.safe:generate", "small safe, door with a bar and a dial"),
        "sliding_window": CatalogEntry(
            "simcore.assets.procedural.sliding_window:generate", "window with a sash that slides sideways"
        ),
        "toaster": CatalogEntry(
            "simcore.assets.procedural.toaster:generate", "toaster for 2 or 4 slices, lever that goes up and down"
        ),
        "toilet": CatalogEntry(
            "simcore.assets.procedural.toilet:generate", "children's toilet with or without a tank, lid hinged behind"
        ),
        "trash_can": CatalogEntry(
            "simcore.assets.procedural.trash_can:generate", "pedal bin, round or square, lid hinged behind: edge or bar"
        ),
        "washing_machine": CatalogEntry(
            "simcore.assets.procedural.washing_machine:generate", "small front loader with a round door: bar or edge"
        ),
    },
    group="unlatch.objects",
)
"""Generators by category: functions `generate(seed, *, name) -> GeneratedObject`."""
