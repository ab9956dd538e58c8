"""Relations: an object is placed in, on, beside or facing another one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum

from unlatch.simcore.errors import ConfigError
from unlatch.simcore.missing_value import MISSING
from unlatch.simcore.ranges import Count, NotNegative, check_ranges


class RelationKind(Enum):
    """How an object is placed relative to another one."""

    inside = "inside"
    on = "on"
    beside = "beside"
    facing = "facing"


@dataclass
class RelationCfg:
    """Where an object is placed relative to another one, in place of a region.

    Positions are those of the middle of the object's front, in the front frame of the other object. The origin of that
    frame is the middle of the lower edge of the front. Its x axis points into the other object, y to the left as seen
    from the robot, z up. If the other object faces the robot, these are the directions of the world frame.
    """

    object: str = MISSING
    """Name of the object."""
    relation: RelationKind = MISSING
    """`inside`: within the other object's outer bounds, on a board or its floor; `on`: on top of it; `beside`: on the
    table with the same heading; `facing`: on the table, its front towards the middle of the other object."""
    of: str = MISSING
    """Name of the other object."""
    region: str | None = None
    """`inside` and `on`: region of the other object in which the object stands, such as the inside of a drawer; None:
    any board that carries it. `center_m` is then measured from the middle of the region's floor."""
    center_m: list[float] | None = None
    """Nominal x, y in the front frame of the other object [m]; None: anywhere (`inside`, `on`)."""
    half_extent_m: list[NotNegative] = field(default_factory=lambda: [0.0, 0.0])
    """Largest deviation from it in x and y [m]."""
    distance_m: list[NotNegative] | None = None
    """`beside` and `facing`, in place of `center_m`: range of the distance between the two middles [m]."""
    bearing_deg: list[float] = field(default_factory=lambda: [0.0, 360.0])
    """With `distance_m`: range of the direction from the other object's middle, 0 = out of its front, counterclockwise
    as seen from above [deg]."""
    yaw_deg: NotNegative = 0.0
    """Largest deviation of the yaw from that of the other object or, with `facing`, from facing it [deg]."""
    height_m: list[NotNegative] = field(default_factory=lambda: [0.0, 0.0])
    """`beside` and `facing`: range of the height of the underside above the table [m]; it stands on a plinth."""
    margin_m: NotNegative = 0.005
    """Free space around the object [m]."""
    tries: Count = 100
    """Largest number of poses that are drawn; if none is free, the layout fails as `invalid_layout`."""

    def __post_init__(self) -> None:
        where = f"task.relations[{self.object}]"
        for key in ("center_m", "half_extent_m", "distance_m", "bearing_deg", "height_m"):
            value = getattr(self, key)
            if value is not None and len(value) != 2:
                raise ConfigError(f"{where}.{key} has {len(value)} values, expected 2.", key=f"task.relations.{key}")
            if key in ("distance_m", "bearing_deg", "height_m") and value is not None and value[0] > value[1]:
                raise ConfigError(
                    f"{where}.{key}={list(value)} must be low <= high. Swap them.", key=f"task.relations.{key}"
                )
        check_ranges(self, where)
        if isinstance(self.relation, RelationKind):
            self._check_keys(where)

    def _check_keys(self, where: str) -> None:
        stands_apart = self.relation in (RelationKind.beside, RelationKind.facing)
        if stands_apart and self.region is not None:
            raise ConfigError(
                f"{where}.region has no effect for relation={self.relation.value}. Expected it with `inside` or `on`. "
                "Remove it.",
                key="task.relations.region",
            )
        given = [key for key in ("center_m", "distance_m") if getattr(self, key) is not None]
        if stands_apart and len(given) != 1:
            raise ConfigError(
                f"{where} has {' and '.join(given) or 'neither center_m nor distance_m'}. Expected one of center_m and "
                f"distance_m for relation={self.relation.value}. {'Remove one' if given else 'Add one'}.",
                key="task.relations",
            )
        if not stands_apart and (self.distance_m is not None or max(self.height_m) > 0.0):
            key = "height_m" if self.distance_m is None else "distance_m"
            raise ConfigError(
                f"{where}.{key} has no effect for relation={self.relation.value}: the object stands in or on "
                f"'{self.of}'. Remove it.",
                key=f"task.relations.{key}",
            )


def order_relations(relations: Sequence[RelationCfg]) -> list[str]:
    """Returns the objects of relations, each after the object that it is placed relative to.

    Raises:
        ConfigError: The relations form a circle.
    """
    left = {entry.object: entry.of for entry in relations}
    found: list[str] = []
    while left:
        ready = [name for name, of in left.items() if of not in left]
        if not ready:
            circle = " -> ".join([*left, next(iter(left))])
            raise ConfigError(
                f"task.relations form a circle: {circle}. Expected one of these objects with an entry in "
                "task.regions. Give it one.",
                key="task.relations",
            )
        found.extend(ready)
        left = {name: of for name, of in left.items() if name not in ready}
    return found
