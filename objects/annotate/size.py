"""Gives the size of objects by category, for data sets of unit-size objects."""

from __future__ import annotations

from unlatch.objects.annotate.source import SourceObject
from unlatch.simcore.errors import AssetError

LARGEST_EXTENT_M: dict[str, float] = {
    "bottle": 0.25,
    "box": 0.35,
    "bucket": 0.40,
    "cabinet": 0.50,
    "camera": 0.16,
    "cart": 0.90,
    "chair": 1.00,
    "clock": 0.35,
    "coffeemachine": 0.40,
    "dishwasher": 0.60,
    "dispenser": 0.25,
    "display": 0.60,
    "door": 1.20,
    "drawer": 0.50,
    "eyeglasses": 0.15,
    "fan": 0.50,
    "faucet": 0.30,
    "foldingchair": 0.90,
    "globe": 0.35,
    "kettle": 0.25,
    "keyboard": 0.45,
    "kitchenpot": 0.35,
    "knife": 0.25,
    "lamp": 0.50,
    "laptop": 0.36,
    "lighter": 0.08,
    "microwave": 0.46,
    "mouse": 0.12,
    "oven": 0.60,
    "pen": 0.15,
    "phone": 0.16,
    "pliers": 0.20,
    "printer": 0.45,
    "refrigerator": 0.80,
    "remote": 0.20,
    "safe": 0.45,
    "scissors": 0.20,
    "stapler": 0.15,
    "storagefurniture": 0.50,
    "suitcase": 0.55,
    "switch": 0.12,
    "table": 0.50,
    "toaster": 0.32,
    "toilet": 0.70,
    "trashcan": 0.45,
    "usb": 0.06,
    "washingmachine": 0.60,
    "window": 0.80,
}
"""Largest extent of the closed object [m]. For furniture, doors and refrigerators it is a small one, because a fixed
arm reaches less than a metre."""

UNKNOWN_EXTENT_M = 0.40
"""Largest extent for other categories: something that stands on a table [m]."""

SMALLEST_M, LARGEST_M = 0.01, 10.0
"""An arm does not open objects outside this range [m]."""


def unit_scale(category: str, extent: float) -> float:
    """Returns the metres per unit for an object whose largest extent is `extent` units."""
    return LARGEST_EXTENT_M.get(category, UNKNOWN_EXTENT_M) / extent


def base_scale(
    source: SourceObject, extent: float, *, scale: float | None = None, size_m: float | None = None
) -> tuple[float, bool]:
    """Returns the metres per unit of a source, and whether this scale is certain; otherwise it is only an estimate.

    Args:
        source: The object.
        extent: Largest extent of the closed object in the units of the source.
        scale: Metres per unit, if they are given.
        size_m: Largest extent of the closed object [m], if it is given.
    """
    if scale is not None:
        return scale, True
    if size_m is not None:
        return size_m / extent, True
    if source.info_scale is not None:
        return source.info_scale, False
    if source.is_metric:
        return 1.0, True
    return unit_scale(source.category, extent), False


def check_extent(extent_m: float, *, where: str) -> None:
    """Refuses objects of an absurd size.

    Raises:
        AssetError: The largest extent is out of range.
    """
    if not SMALLEST_M <= extent_m <= LARGEST_M:
        raise AssetError(
            f"{where}: the largest extent is {extent_m:.4g} m, expected {SMALLEST_M:g} to {LARGEST_M:g} m. "
            "Give scale=METRES_PER_UNIT or size=LARGEST_EXTENT_M.",
            path=where,
            extent_m=extent_m,
        )
