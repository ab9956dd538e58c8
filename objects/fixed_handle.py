"""Handles that do not move. A hand may hold the object by them while its parts move."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from unlatch.objects.mapping_reader import MappingReader, readonly_vector, rounded, rounded_list

_UNIT_TOLERANCE = 1e-3


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
    def from_dict(cls, reader: MappingReader, raw: Any, key: str) -> FixedHandle:
        """Reads the mapping of a handle.

        Raises:
            AssetError: A key is missing, or a value has the wrong type.
        """
        data = reader.mapping(raw, key)
        vectors = {
            name: reader.vector(reader.required(data, name, key), f"{key}.{name}")
            for name in ("middle", "along", "out")
        }
        for name in ("along", "out"):
            length = float(np.linalg.norm(vectors[name]))
            if abs(length - 1.0) > _UNIT_TOLERANCE:
                raise reader.fail(f"{key}.{name}", f"has length {length:.4f}, expected a unit vector.")
        thickness_m = reader.number(reader.required(data, "thickness_m", key), f"{key}.thickness_m")
        if thickness_m <= 0.0:
            raise reader.fail(f"{key}.thickness_m", f"is {thickness_m}, expected a value above 0.")
        return cls(link=reader.text(data, "link", key), thickness_m=thickness_m, **vectors)
