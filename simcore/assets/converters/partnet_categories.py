"""Categories of PartNet-Mobility: folders, sizes, masses, friction, and what a robot acts on."""

from __future__ import annotations

from dataclasses import dataclass

from simcore.assets.annotation import PartKind


@dataclass(frozen=True)
class PartnetCategory:
    """What the data set does not say about a category."""

    folders: tuple[str, ...]
    """Folder names under the root, the first one that holds the instance counts."""
    part: str
    """Name of the acted part in our annotation."""
    kinds: tuple[PartKind, ...]
    """Kinds that the acted joint may have, by its axis."""
    semantics: tuple[str, ...]
    """Part names in `semantics.txt` that qualify, best first; empty accepts any moving part."""
    scale: float
    """Metres per unit where no `info.json` gives one."""
    body_mass_kg: float
    part_density_kg_m3: float
    """Of the solid hulls of a moving part; its mass is clipped to `part_mass_kg`."""
    part_mass_kg: tuple[float, float]
    friction: float
    """Dry friction of the joints [N m or N]."""
    damping: float
    summary: str


_DOOR = (PartKind.hinge_vertical,)

CATEGORIES: dict[str, PartnetCategory] = {
    "drawer": PartnetCategory(
        ("drawer", "StorageFurniture", "Table"), "drawer", (PartKind.slider,), ("drawer",),
        0.4, 15.0, 300.0, (0.8, 4.0), 1.5, 1.0,
        "cabinets with drawers: the drawer with the best handle is acted on",
    ),
    "microwave": PartnetCategory(
        ("microwave", "Microwave"), "door", _DOOR, ("door",), 0.3, 11.0, 350.0, (0.8, 2.5), 0.3, 0.1,
        "microwave ovens with a side-hinged door",
    ),
    "refrigerator": PartnetCategory(
        ("refrigerator", "Refrigerator"), "door", _DOOR, ("door",), 0.5, 30.0, 250.0, (2.0, 8.0), 0.5, 0.3,
        "refrigerators: the door with the best handle is acted on",
    ),
    "safe": PartnetCategory(
        ("safe", "safe_rotate", "Safe"), "door", _DOOR, ("door",), 0.3, 20.0, 700.0, (2.0, 8.0), 0.5, 0.3,
        "safes with a side-hinged door",
    ),
}  # fmt: skip
"""Categories by name, sorted."""
