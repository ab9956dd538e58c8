"""Regions: places in or on an object where things may be put, such as the inside of a drawer or a shelf."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np

from unlatch.objects.mapping_reader import UNIT_TOLERANCE, MappingReader, readonly_vector, rounded_list
from unlatch.simcore.geometry import Pose


class RegionKind(Enum):
    """What surrounds a region."""

    inside = "inside"
    """Walls on at least three sides: a drawer, a shelf, a bowl."""
    surface = "surface"
    """Nothing: the top of a table, a tray, a plate."""


class RegionOpening(Enum):
    """The side from which things come into a region."""

    above = "above"
    front = "front"
    """Along x of the region's frame: there is a ceiling."""


@dataclass(frozen=True)
class Region:
    """A free box above a floor, in the frame of the link that it moves with."""

    kind: RegionKind
    link: str
    """URDF link that the region moves with."""
    T_link_region: Pose
    """Middle of the floor; z up, x out of the front of the object."""
    size: np.ndarray
    """(3,) extents of the free box along x, y and z [m]; z from the floor up."""
    opening: RegionOpening
    """Side from which things come in."""
    part: str | None = None
    """The part that must be open for a hand to reach the region; None: it is always open."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", readonly_vector(self.size))

    def holds(self, point: np.ndarray) -> bool:
        """Returns whether a point (3,) in the frame of the region is in its box [m]."""
        half = 0.5 * self.size
        return bool(np.all(np.abs(point[:2]) < half[:2]) and 0.0 < point[2] < self.size[2])

    def to_dict(self) -> dict[str, Any]:
        """Returns the mapping for `articulation.yaml`, rounded to a nanometre."""
        return {
            "kind": self.kind.name,
            "link": self.link,
            "T_link_region": {
                "position": rounded_list(self.T_link_region.p),
                "quat_xyzw": rounded_list(self.T_link_region.quat_xyzw),
            },
            "size": rounded_list(self.size),
            "opening": self.opening.name,
            **({} if self.part is None else {"part": self.part}),
        }

    @classmethod
    def read(cls, reader: MappingReader) -> Region:
        """Reads the mapping of a region.

        Raises:
            AssetError: A key is missing, or a value has the wrong type.
        """
        pose, size = reader.section("T_link_region"), reader.vector("size")
        quat_xyzw = pose.vector("quat_xyzw", length=4)
        if abs(float(np.linalg.norm(quat_xyzw)) - 1.0) > UNIT_TOLERANCE:
            raise pose.fail("quat_xyzw", f"is not a unit quaternion: {quat_xyzw.tolist()}.")
        if np.any(size <= 0.0):
            raise reader.fail("size", f"is {size.tolist()}, expected three extents above 0.")
        return cls(
            kind=reader.choice("kind", RegionKind),
            link=reader.text("link"),
            T_link_region=Pose.from_quat_xyzw(pose.vector("position"), quat_xyzw / np.linalg.norm(quat_xyzw)),
            size=size,
            opening=reader.choice("opening", RegionOpening),
            part=reader.text("part") if reader.value("part", None) is not None else None,
        )
