"""What an arm stands on: a table, or a stand on the floor that brings it to the height of a full-size object.

The world's z = 0 is always the height of the arm's foot. On a table, objects stand at that height. On a stand, they
stand on the floor, which lies lower by the height of the stand.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import numpy as np

from unlatch.simcore.errors import ConfigError
from unlatch.simcore.geometry import Pose
from unlatch.simcore.ranges import NotNegative, Ranged

Array = np.ndarray

GROUND = "ground"
"""Name of the body that objects stand on where the arm has a stand; no object may have it."""
STAND_PARTS = tuple(f"stand_{name}" for name in ("plate", "bed", "column", "head"))
"""Names of the other boxes of stands."""
_GROUND_M = (6.0, 6.0, 0.1)
_GROUND_MIDDLE_M = (0.5, 0.0)
"""Size of the floor, and its middle in x and y [m]."""
_COLUMN_M, _HEAD_M, _PLATE_M = 0.18, 0.26, 0.4
"""Sides of the column, of the plate below the foot of an arm, and of the plate on the floor [m]."""
_THICK_M = 0.02
"""Thickness of both plates [m]."""
_BED_M = (0.34, 0.14)
"""Depth and height of the bed of a rail [m]."""
_LEAST_M = 1e-6
"""A column is at least this high [m]."""
_BEYOND_M = 0.3
"""How far a rail goes on beyond the places of the column [m]."""


class StandKind(Enum):
    """What an arm stands on."""

    table = "table"
    pedestal = "pedestal"
    floor = "floor"
    rail = "rail"


@dataclass
class StandCfg(Ranged, where="stand"):
    """What an arm stands on: a YAML file of the group `stand`."""

    kind: StandKind = StandKind.table
    """`table`: objects stand beside the arm, at the height of its foot; the other keys have no effect. `pedestal`: a
    column on the floor. `floor`: a plate on the floor. `rail`: a column that stands anywhere along a rail."""
    height_m: list[NotNegative] = field(default_factory=lambda: [0.0, 0.0])
    """Lowest and highest foot of the arm above the floor [m]. A derived task draws the height near that at which the
    arm reaches the part best; with a region of the task's own, it is drawn from the whole range."""
    along_m: NotNegative = 0.0
    """`rail`: largest distance of the arm from the place before its object, along the object's front [m]."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.height_m) != 2 or self.height_m[0] > self.height_m[1]:
            raise ConfigError(
                f"stand.height_m={list(self.height_m)} must be two values, low <= high. Correct them.",
                key="stand.height_m",
            )
        if self.is_used and self.height_m[0] < _THICK_M:
            raise ConfigError(
                f"stand.height_m={list(self.height_m)} begins below {_THICK_M:g} m, the thickness of the plate below "
                f"the arm. Expected {_THICK_M:g} or more. Raise it.",
                key="stand.height_m",
            )

    @property
    def is_used(self) -> bool:
        """Whether the arm has a stand on the floor."""
        return self.kind is not StandKind.table

    def near(self, height_m: float, half_m: float) -> list[float]:
        """Returns the part of the range of heights that is nearest to a height, up to a half extent [m]."""
        low, high = self.height_m
        middle = float(np.clip(height_m, low, high))
        return [round(max(low, middle - half_m), 3), round(min(high, middle + half_m), 3)]


@dataclass(frozen=True)
class FixedBox:
    """A box that does not move."""

    name: str
    size_m: tuple[float, float, float]
    """(3,) its edge lengths [m]."""
    position: tuple[float, float, float]
    """(3,) its middle, world frame [m]; its edges are parallel to the world's axes."""

    @property
    def T_world_box(self) -> Pose:
        """Its pose."""
        return Pose.from_translation(self.position)

    @property
    def bounds(self) -> Array:
        """(2, 3) its lower and upper corner, world frame [m]."""
        half = 0.5 * np.array(self.size_m)
        return np.array([np.array(self.position) - half, np.array(self.position) + half])


@dataclass(frozen=True)
class RobotStand:
    """The stand of one layout."""

    kind: StandKind
    height_m: float
    """Height of the arm's foot above the floor [m]."""
    along_m: float
    """Place of the arm on a rail, from the place before its object to the arm's left [m]."""
    boxes: tuple[FixedBox, ...]
    """The floor, then the parts of the stand."""

    @property
    def floor_z_m(self) -> float:
        """Height of the floor in the world frame [m]."""
        return -self.height_m

    def to_dict(self) -> dict[str, Any]:
        """Returns the stand as plain values, for the record."""
        return {
            "kind": self.kind.value,
            "height_m": self.height_m,
            "along_m": self.along_m,
            "boxes": [
                {"name": box.name, "size_m": list(box.size_m), "position": list(box.position)} for box in self.boxes
            ],
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> RobotStand:
        """Reads what `to_dict` wrote; raises KeyError, TypeError or ValueError if it is something else."""
        boxes = [FixedBox(box["name"], _three(box["size_m"]), _three(box["position"])) for box in values["boxes"]]
        kind = StandKind(values["kind"])
        return cls(kind, float(values["height_m"]), float(values["along_m"]), tuple(boxes))


def _three(values: Sequence[float]) -> tuple[float, float, float]:
    x, y, z = values
    return float(x), float(y), float(z)


@dataclass(frozen=True)
class StandRange:
    """What is drawn of the stand of a robot."""

    cfg: StandCfg
    """Its kind and its ranges; it is not a table."""
    feet: Sequence[Sequence[float]]
    """(3,) place of the foot of each arm, world frame [m]; a stand reaches up to the lowest that is above z = 0."""
    scale: float = 1.0
    """Size of the robot relative to a Panda; all lengths are multiplied by it."""

    def draw(self, rng: np.random.Generator) -> RobotStand:
        """Draws the height of a stand, and on a rail the place of the arm, from the layout stream."""
        cfg, scale = self.cfg, self.scale
        height = scale * float(rng.uniform(*cfg.height_m))
        along = scale * cfg.along_m * float(rng.uniform(-1.0, 1.0)) if cfg.kind is StandKind.rail else 0.0
        ground = (*_GROUND_M[:2], scale * _GROUND_M[2])
        boxes = [FixedBox(GROUND, ground, (*_GROUND_MIDDLE_M, -height - 0.5 * ground[2]))]
        thick, top = scale * _THICK_M, max(0.0, min(float(place[2]) for place in self.feet))
        if cfg.kind is StandKind.floor:
            boxes.append(self._box("plate", (_PLATE_M, _PLATE_M), -height, top))
            return RobotStand(cfg.kind, height, along, tuple(boxes))
        lowest = _BED_M[1] if cfg.kind is StandKind.rail else _THICK_M
        foot = -height + min(scale * lowest, max(height - thick, 0.5 * thick))
        if cfg.kind is StandKind.rail:
            length = 2.0 * (cfg.along_m + _BEYOND_M) + _COLUMN_M
            boxes.append(self._box("bed", (_BED_M[0], length), -height, foot, aside_m=-along))
        else:
            boxes.append(self._box("plate", (_PLATE_M, _PLATE_M), -height, foot))
        head = max(-thick, foot)
        if head - foot > _LEAST_M:
            boxes.append(self._box("column", (_COLUMN_M, _COLUMN_M), foot, head))
        boxes.append(self._box("head", (_HEAD_M, _HEAD_M), head, top))
        return RobotStand(cfg.kind, height, along, tuple(boxes))

    def _box(
        self, name: str, sides_m: tuple[float, float], bottom: float, top: float, aside_m: float = 0.0
    ) -> FixedBox:
        """Returns a part of the stand that reaches below all feet, of given sides for one foot of an arm of scale 1."""
        places = np.array(self.feet, dtype=float)[:, :2]
        low, high = places.min(axis=0), places.max(axis=0)
        depth, width = self.scale * np.array(sides_m) + high - low
        x, y = 0.5 * (low + high)
        size = (float(depth), float(width), top - bottom)
        return FixedBox(f"stand_{name}", size, (float(x), float(y) + aside_m, 0.5 * (bottom + top)))
