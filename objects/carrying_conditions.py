"""Conditions on where a free object is: as a task or a skill states them, as a record has them, and in a running scene.

`unlatch.simcore.recording.measurements` judges the same conditions from a record, without this code.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np

from unlatch.objects.articulated_object import ObjectAsset
from unlatch.simcore.errors import ConfigError
from unlatch.simcore.geometry import Pose
from unlatch.simcore.urdf.model import box_corners


class ConditionKind(Enum):
    """What a condition says of a free object."""

    inside = "inside"
    """Its outline lies in a region, up to `value` [m] to the sides and below. Its top lies below a ceiling or the rim
    of a drawer, which slides under something; else only its middle lies below the rim."""
    on = "on"
    """Its lowest point is within `value` [m] of the floor of a region, and its middle is above that floor."""
    upright = "upright"
    """Its up axis is within `value` [rad] of the vertical."""
    lifted = "lifted"
    """It is at least `value` [m] higher than at the start."""


DEFAULT_VALUES = {ConditionKind.inside: 0.01, ConditionKind.on: 0.01, ConditionKind.upright: 0.2}
"""Values of conditions that state none [m or rad]."""


@dataclass(frozen=True)
class ObjectCondition:
    """One condition on one free object."""

    kind: ConditionKind
    object: str
    """Name of the free object."""
    value: float
    """Threshold, see `ConditionKind` [m or rad]."""
    of: str | None = None
    """`inside` and `on`: the object that has the region; None: the table, at height 0."""
    region: str | None = None
    """`inside` and `on`: the region of `of`."""

    def describe(self, assets: Mapping[str, ObjectAsset]) -> dict[str, Any]:
        """Returns the condition with the sizes that its judgement needs, as plain values, for a record.

        Raises:
            ConfigError: The object is not free, or the condition lacks a region.
            AssetError: The other object has no such region.
        """
        asset = assets[self.object]
        if not asset.free:
            raise ConfigError(
                f"'{self.kind.value}' is a condition on a free object, but '{self.object}' ({asset.category}) is fixed "
                f"in place. Name one of {', '.join(n for n, a in assets.items() if a.free) or 'none, there is none'}.",
                object=self.object,
            )
        found: dict[str, Any] = {"object": self.object, "kind": self.kind.value, "value": float(self.value)}
        if self.kind is ConditionKind.upright:
            return {**found, "up_axis": asset.articulation.up_axis.tolist()}
        if self.kind is ConditionKind.lifted:
            return found
        found |= {"bounds": asset.bounds_obj.tolist(), "of": self.of, "region": self.region}
        if len(asset.outline_obj):
            found["outline"] = asset.outline_obj.tolist()
        if self.of is None:
            return {**found, "size": None, "open_above": True}
        if self.region is None:
            raise ConfigError(
                f"The condition '{self.kind.value}' on '{self.object}' names no region of '{self.of}'. Add `region`: "
                f"one of {', '.join(assets[self.of].regions) or 'none, it has none'}.",
                object=self.object,
            )
        region = assets[self.of].region(self.region)
        return {**found, "size": region.size.tolist(), "open_above": not assets[self.of].covers(region)}


@dataclass(frozen=True)
class ObjectPoses:
    """Where free objects and regions are at one moment, world frame."""

    objects: Mapping[str, Pose]
    """`T_world_root` by object."""
    regions: Mapping[tuple[str, str], Pose]
    """`T_world_region` by object and region."""

    def measure(self, condition: Mapping[str, Any], start: ObjectPoses) -> tuple[float, bool]:
        """Returns what a described condition measures [m or rad], and whether it holds; `start` is for `lifted`."""
        T_world_root = self.objects[condition["object"]]
        kind, value = ConditionKind(condition["kind"]), condition["value"]
        if kind is ConditionKind.upright:
            cosine = float((T_world_root.R @ np.array(condition["up_axis"]))[2])
            angle = float(np.arccos(np.clip(cosine, -1.0, 1.0)))
            return angle, angle <= value
        if kind is ConditionKind.lifted:
            height = float(T_world_root.p[2] - start.objects[condition["object"]].p[2])
            return height, height >= value
        of, bounds = condition["of"], np.array(condition["bounds"])
        T_world_region = Pose.identity() if of is None else self.regions[of, condition["region"]]
        T = T_world_region.inverse() @ T_world_root
        outline = np.array(condition.get("outline", np.column_stack([box_corners(bounds), np.zeros(8)])))  # (N, 4)
        excess = _excess(condition, T @ outline[:, :3], outline[:, 3], T @ bounds.mean(axis=0))
        return excess, excess <= value


def _excess(condition: Mapping[str, Any], centers: np.ndarray, radii: np.ndarray, middle: np.ndarray) -> float:
    """Returns how far an object is beyond where it must be [m].

    Args:
        condition: The described condition.
        centers: (N, 3) middles of the balls of its outline, in the frame of the region [m].
        radii: (N,) their radii [m].
        middle: (3,) middle of the object, in that frame [m].
    """
    half = np.full(2, np.inf) if condition["size"] is None else 0.5 * np.array(condition["size"][:2])
    lowest = float((centers[:, 2] - radii).min())
    if condition["kind"] == ConditionKind.on.value:
        beside = float((np.abs(middle[:2]) - half).max())
        return max(beside, abs(lowest))
    beside = float((np.abs(centers[:, :2]) + radii[:, None] - half).max())
    height = np.inf if condition["size"] is None else float(condition["size"][2])
    above = float(middle[2] if condition["open_above"] else (centers[:, 2] + radii).max()) - height
    return max(beside, -lowest, above)
