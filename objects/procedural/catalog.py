"""The generators of all categories, by name."""

from __future__ import annotations

from unlatch.simcore.registry import Catalog, CatalogEntry

GENERATORS = Catalog(
    "procedural object",
    {
        "bottle": CatalogEntry("unlatch.objects.procedural.bottle:generate", "bottle or jar with a screw cap"),
        "box": CatalogEntry(
            "unlatch.objects.procedural.box:generate",
            "storage box of wood or plastic, lid hinged behind: edge, knob or bar",
        ),
        "cabinet": CatalogEntry(
            "unlatch.objects.procedural.cabinet:generate", "low cabinet with 1 or 2 doors: bar, knob or edge"
        ),
        "carton": CatalogEntry("unlatch.objects.procedural.carton:generate", "carton with two flaps and tape"),
        "desk_drawers": CatalogEntry(
            "unlatch.objects.procedural.desk_drawers:generate", "small chest for a desk, 1 to 3 drawers: bar or knob"
        ),
        "dishwasher": CatalogEntry(
            "unlatch.objects.procedural.dishwasher:generate", "tabletop dishwasher, door hinged below: bar or edge"
        ),
        "door": CatalogEntry("unlatch.objects.procedural.door:generate", "small door in a frame, lever handle"),
        "drawer": CatalogEntry(
            "unlatch.objects.procedural.drawer:generate", "low cabinet with 1 or 2 drawers, bar handle or knob"
        ),
        "drawer_cabinet": CatalogEntry(
            "unlatch.objects.procedural.drawer_cabinet:generate", "chest with 1 to 4 drawers: bar, knob, cup or edge"
        ),
        "faucet": CatalogEntry("unlatch.objects.procedural.faucet:generate", "faucet with a lever or with two knobs"),
        "hand_wheel": CatalogEntry(
            "unlatch.objects.procedural.hand_wheel:generate",
            "gate valve with a hand wheel, upright or facing the front",
        ),
        "laptop": CatalogEntry("unlatch.objects.procedural.laptop:generate", "laptop, lid hinged behind"),
        "microwave": CatalogEntry(
            "unlatch.objects.procedural.microwave:generate", "microwave oven, door hinged left or right, bar handle"
        ),
        "oven": CatalogEntry(
            "unlatch.objects.procedural.oven:generate", "countertop oven, door hinged below with a bar, 2 to 4 knobs"
        ),
        "pot": CatalogEntry("unlatch.objects.procedural.pot:generate", "cooking pot, lid hinged behind: knob or bar"),
        "refrigerator": CatalogEntry(
            "unlatch.objects.procedural.refrigerator:generate", "small refrigerator with 1 or 2 doors: bar or edge"
        ),
        "safe": CatalogEntry("unlatch.objects.procedural.safe:generate", "small safe, door with a bar and a dial"),
        "sliding_window": CatalogEntry(
            "unlatch.objects.procedural.sliding_window:generate", "window with a sash that slides sideways"
        ),
        "toaster": CatalogEntry(
            "unlatch.objects.procedural.toaster:generate", "toaster for 2 or 4 slices, lever that goes up and down"
        ),
        "toilet": CatalogEntry(
            "unlatch.objects.procedural.toilet:generate", "children's toilet with or without a tank, lid hinged behind"
        ),
        "trash_can": CatalogEntry(
            "unlatch.objects.procedural.trash_can:generate",
            "pedal bin, round or square, lid hinged behind: edge or bar",
        ),
        "washing_machine": CatalogEntry(
            "unlatch.objects.procedural.washing_machine:generate", "small front loader with a round door: bar or edge"
        ),
    },
    group="unlatch.objects",
)
"""Generators by category: functions `generate(seed, *, name) -> GeneratedObject`."""
