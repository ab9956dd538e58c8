"""Handles that do not move. A hand may hold the object by them while its parts move."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from unlatch.objects.mapping_reader import MappingReader, readonly_vector, rounded, rounded_list
from unlatch.simcore.geometry import Pose


@dataclass(frozen=True)
class FixedHandle:
    """A round bar on a link that no part moves; all values are in the frame of that link."""

    link: str
    """URDF link of the bar."""
    middle: np.ndarray
    """(3,) middle of the bar [m]."""
    along: np.ndarray
    """(3,) unit direction of the bar."""
    out: np.ndarray
    """(3,) unit direction away from the object; a hand comes from there."""
    thickness_m: float
    """Diameter of the bar [m]."""

    def __post_init__(self) -> None:
        for name in ("middle", "along", "out"):
            object.__setattr__(self, name, readonly_vector(getattr(self, name)))

    def moved(self, T: Pose, *, link: str) -> FixedHandle:
        """Returns the bar in the frame of another link; `T` leads from the frame of its own link there."""
        along, out = T.rotate(self.along), T.rotate(self.out)
        return FixedHandle(link, T @ self.middle, along, out, self.thickness_m)

    def to_dict(self) -> dict[str, Any]:
        """Returns the mapping for `articulation.yaml`, rounded to a nanometre."""
        return {
            "link": self.link,
            "middle": rounded_list(self.middle),
            "along": rounded_list(self.along),
            "out": rounded_list(self.out),
            "thickness_m": rounded(self.thickness_m),
        }

    @classmethod
    def read(cls, reader: MappingReader) -> FixedHandle:
        """Reads the mapping of a handle.

        Raises:
            AssetError: A key is missing, or a value has the wrong type.
        """
        thickness_m = reader.number("thickness_m")
        if thickness_m <= 0.0:
            raise reader.fail("thickness_m", f"is {thickness_m}, expected a value above 0.")
        return cls(
            link=reader.text("link"),
            middle=reader.vector("middle"),
            along=reader.direction("along"),
            out=reader.direction("out"),
            thickness_m=thickness_m,
        )
