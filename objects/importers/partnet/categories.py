"""Categories of PartNet-Mobility: folders, sizes, masses, friction, and the part that a robot acts on."""

from __future__ import annotations

from dataclasses import dataclass

from unlatch.objects.annotation import PartKind


@dataclass(frozen=True, kw_only=True)
class PartnetCategory:
    """What we add to a category of the data set; by default, a door with a vertical hinge is acted on."""

    folders: tuple[str, ...]
    """Folder names under the root; the first folder that holds the instance counts."""
    part: str = "door"
    """Name of the acted part in our annotation."""
    kinds: tuple[PartKind, ...] = (PartKind.hinge_vertical,)
    """Kinds that the acted joint may have, by its axis."""
    semantics: tuple[str, ...] = ("door",)
    """Part names in `semantics.txt` that qualify, best first; empty accepts any moving part."""
    size_m: float
    """Largest extent of the object if no `info.json` gives a scale [m]."""
    largest_m: float
    """An object whose handle is too small for a hand is enlarged up to this extent [m]."""
    body_mass_kg: float
    part_density_kg_m3: float
    """Density of the convex pieces of the moving part; its mass is then clipped to `part_mass_kg`."""
    part_mass_kg: tuple[float, float]
    friction: float = 0.5
    """Dry friction of the joints [N m or N]."""
    damping: float = 0.3
    """Viscous damping of the joints [N m s/rad or N s/m]."""
    summary: str


CATEGORIES: dict[str, PartnetCategory] = {
    "drawer": PartnetCategory(
        folders=("drawer", "StorageFurniture", "Table"),
        part="drawer",
        kinds=(PartKind.slider,),
        semantics=("drawer",),
        size_m=0.50,
        largest_m=0.62,
        body_mass_kg=15.0,
        part_density_kg_m3=500.0,
        part_mass_kg=(1.0, 4.0),
        friction=1.5,
        damping=1.0,
        summary="cabinets and tables: the drawer with the best handle is acted on",
    ),
    "microwave": PartnetCategory(
        folders=("microwave", "Microwave"),
        size_m=0.46,
        largest_m=0.56,
        body_mass_kg=11.0,
        part_density_kg_m3=500.0,
        part_mass_kg=(1.2, 2.5),
        friction=0.3,
        damping=0.1,
        summary="microwave ovens with a side-hinged door",
    ),
    "refrigerator": PartnetCategory(
        folders=("refrigerator", "Refrigerator"),
        size_m=0.80,
        largest_m=1.00,
        body_mass_kg=30.0,
        part_density_kg_m3=200.0,
        part_mass_kg=(3.0, 8.0),
        summary="refrigerators: the door with the best handle is acted on",
    ),
    "safe": PartnetCategory(
        folders=("safe", "safe_rotate", "Safe"),
        size_m=0.45,
        largest_m=0.60,
        body_mass_kg=25.0,
        part_density_kg_m3=1500.0,
        part_mass_kg=(3.0, 8.0),
        summary="safes with a side-hinged door",
    ),
}
"""Categories by name, sorted."""
