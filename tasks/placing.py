"""Finds free places for objects in, on and beside others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from unlatch.objects.annotation import Part
from unlatch.objects.articulated_object import ObjectAsset, front_frame
from unlatch.simcore.geometry import Pose
from unlatch.simcore.meshes.shape_surface import shape_mesh
from unlatch.simcore.urdf.model import rigid_links
from unlatch.tasks.task import RelationCfg, RelationKind

if TYPE_CHECKING:
    from unlatch.simcore.meshes.solids import Solids

Array = np.ndarray


_LEVEL_M = 1e-4
"""Boards whose heights differ by less are on one level."""
_PAD_M = 0.01
"""Edge length of the patch below each corner that must rest on a board."""
_REST_M = 0.002
"""Largest gap between the feet and the board below them."""
_SKY_M = 3.0
"""Height of the space above an object that must be free for it to be `on` another one."""
_THICKENED_M = 1e-3
"""More than what a flat collider gains in thickness, see `unlatch.simcore.meshes.solids`."""
_CARRIED = (RelationKind.inside, RelationKind.on)
"""Relations in which the other object carries the object."""


@dataclass(frozen=True)
class DrawnPlace:
    """Where an object is put."""

    T_world_root: Pose
    height_m: float
    """Height of the plinth that it stands on, 0 without one [m]."""
    drawn: Mapping[str, float]
    """The drawn values of the relation."""
    problem: str | None = None
    """Why no pose was free; the pose is then the last one drawn."""


@dataclass(frozen=True)
class PlacedObject:
    """An object at its place, with its colliders."""

    asset: ObjectAsset
    T_world_root: Pose
    joint_positions: Mapping[str, float]

    @property
    def solids(self) -> Solids:
        """Its colliders."""
        from unlatch.simcore.meshes.solids import Solids

        return Solids.from_urdf(self.asset.urdf_path)

    def levels(self) -> list[float]:
        """Returns the heights of the upward faces of its fixed links, in its root frame, lowest first [m]."""
        model = self.solids.model
        tops = [
            z for link in rigid_links(model, model.root) for z in self.solids.top_heights(link, model.link_pose(link))
        ]
        return sorted({round(z / _LEVEL_M) * _LEVEL_M for z in tops})

    def box(self) -> Array:
        """Returns the (2, 3) lower and upper corner of all its links as they are now, in the root frame [m]."""
        model, solids = self.solids.model, self.solids
        points = [
            model.link_pose(link, dict(self.joint_positions)) @ solids.vertices(link)
            for link in model.links
            if len(solids.vertices(link))
        ]
        found = np.concatenate(points)
        return np.array([found.min(axis=0), found.max(axis=0)])

    def meets(self, box: Array, T_world_box: Pose, margin_m: float) -> bool:
        """Whether a box, (2, 3) lower and upper corner in its own frame, is nearer than a margin [m]."""
        T_root_box = self.T_world_root.inverse() @ T_world_box
        return self.solids.meets(box[None], T_root_box, dict(self.joint_positions), margin_m=margin_m)


def swept_below(asset: ObjectAsset, part: Part, openings: Array, *, below_m: float) -> Array:
    """Returns the corners (N, 3) of a part that are lower than the object's underside, root frame [m].

    `openings` (N,) are those that the part passes [rad or m]; corners less than `below_m` lower do not count [m].
    """
    model, closed = asset.model, asset.articulation.closed_positions()
    poses = [model.link_pose(part.link, {**closed, part.joint: part.openness.position(float(o))}) for o in openings]
    low_m = float(asset.bounds_obj[0, 2]) - below_m
    shapes = model.links[part.link].collisions
    points = np.concatenate([np.zeros((0, 3)), *(shape.T_link_shape @ shape_mesh(shape).vertices for shape in shapes)])
    if all((points @ T.R[2] + T.p[2]).min(initial=np.inf) > low_m + _THICKENED_M for T in poses):
        return np.zeros((0, 3))  # most parts: they need no hulls
    from unlatch.simcore.meshes.solids import Solids

    vertices = Solids.from_urdf(asset.urdf_path).vertices(part.link)
    corners = np.concatenate([T_root_link @ vertices for T_root_link in poses])
    return corners[corners[:, 2] < low_m]


def find_free_place(
    cfg: RelationCfg,
    item: PlacedObject,
    standing: Mapping[str, PlacedObject],
    rng: np.random.Generator,
    *,
    feet_m: float,
    ground_m: float = 0.0,
) -> DrawnPlace:
    """Draws poses that fit a relation until one is free.

    Args:
        cfg: The relation.
        item: The object that is placed; its pose is not used.
        standing: The objects that are placed already, by name.
        rng: The layout stream.
        feet_m: Height of its feet [m].
        ground_m: Height of what objects stand on, world frame [m].
    """
    base = standing[cfg.of]
    box = item.box()
    box[0, 2] += cfg.margin_m  # the board below it may be near
    height = float(rng.uniform(*cfg.height_m))
    reasons: dict[str, int] = {}
    for _ in range(cfg.tries):
        T_base_item, drawn = _draw_pose(cfg, item.asset, base, rng)
        if cfg.relation in _CARRIED:
            levels = _carrying_levels(cfg, item.asset, base, T_base_item, box, feet_m)
            met = [f"no board of '{cfg.of}' has enough free space for it"] if not levels else []
        else:
            levels, met = [ground_m + height - float(base.T_world_root.p[2])], []
        if levels:
            level = levels[int(rng.integers(len(levels)))]
            lift = [0.0, 0.0, level + feet_m - float(item.asset.bounds_obj[0, 2])]
            T_base_item = Pose.from_translation(lift) @ T_base_item
        T_world_item = base.T_world_root @ T_base_item
        met += [f"it meets '{n}'" for n, other in standing.items() if other.meets(box, T_world_item, cfg.margin_m)]
        if not met:
            return DrawnPlace(T_world_item, height, drawn)
        reasons[met[0]] = reasons.get(met[0], 0) + 1
    listed = ", ".join(f"{why} ({count})" for why, count in reasons.items())
    where = f"{cfg.relation.value} '{cfg.of}' in {cfg.tries} tries"
    return DrawnPlace(T_world_item, height, drawn, f"'{item.asset.name}' finds no place {where}: {listed}")


def find_meeting(item: PlacedObject, standing: Mapping[str, PlacedObject], *, margin_m: float = 0.005) -> str | None:
    """Returns which of some objects a free object would meet where it stands, in words; None if none."""
    box = item.box()
    box[0, 2] += margin_m  # the board below it may be near
    met = (name for name, other in standing.items() if other.meets(box, item.T_world_root, margin_m))
    return next((f"it meets '{name}'" for name in met), None)


def find_place_in_region(
    cfg: RelationCfg,
    item: PlacedObject,
    standing: Mapping[str, PlacedObject],
    rng: np.random.Generator,
    *,
    feet_m: float,
) -> DrawnPlace:
    """Draws poses on the floor of the region that a relation names until one is free; see `find_free_place`.

    Raises:
        AssetError: The other object has no such region.
    """
    base = standing[cfg.of]
    region = base.asset.region(cfg.region or "")
    T_world_link = base.T_world_root @ base.solids.model.link_pose(region.link, dict(base.joint_positions))
    T_world_region = T_world_link @ region.T_link_region
    bounds, box = item.asset.bounds_obj, item.box()
    box[0, 2] += cfg.margin_m  # the floor below it may be near
    radius = 0.5 * float(np.linalg.norm(item.asset.size_m[:2]))
    reasons: dict[str, int] = {}
    T_world_item, drawn = T_world_region, {"x_m": 0.0, "y_m": 0.0, "yaw_rad": 0.0}
    for _ in range(cfg.tries):
        yaw = float(np.deg2rad(cfg.yaw_deg) * rng.uniform(-1.0, 1.0))
        x, y = _draw_in_floor(cfg, region.size, radius, rng)
        R = Pose.from_rpy((0.0, 0.0, 0.0), (0.0, 0.0, yaw)).R
        middle = bounds.mean(axis=0) * [1.0, 1.0, 0.0] + [0.0, 0.0, float(bounds[0, 2]) - feet_m]
        T_world_item = T_world_region @ Pose(R, np.array([x, y, 0.0]) - R @ middle)
        drawn = {"x_m": x, "y_m": y, "yaw_rad": yaw}
        met = [f"it meets '{n}'" for n, other in standing.items() if other.meets(box, T_world_item, cfg.margin_m)]
        if not met:
            return DrawnPlace(T_world_item, 0.0, drawn)
        reasons[met[0]] = reasons.get(met[0], 0) + 1
    listed = ", ".join(f"{why} ({count})" for why, count in reasons.items())
    where = f"in '{cfg.region}' of '{cfg.of}' in {cfg.tries} tries"
    return DrawnPlace(T_world_item, 0.0, drawn, f"'{item.asset.name}' finds no place {where}: {listed}")


def _draw_in_floor(cfg: RelationCfg, size: Array, radius: float, rng: np.random.Generator) -> tuple[float, float]:
    """Returns a place on a floor of a size (3,), its middle the origin: near `center_m`, or anywhere [m]."""
    if cfg.center_m is not None:
        center, half = np.array(cfg.center_m), np.array(cfg.half_extent_m)
    else:
        center, half = np.zeros(2), np.maximum(0.5 * size[:2] - radius - cfg.margin_m, 0.0)
    x, y = center + half * rng.uniform(-1.0, 1.0, size=2)
    return float(x), float(y)


def _draw_pose(
    cfg: RelationCfg, asset: ObjectAsset, base: PlacedObject, rng: np.random.Generator
) -> tuple[Pose, dict[str, float]]:
    """Returns `T_base_item`, with its root at z = 0, and the drawn values."""
    T_base_front = front_frame(base.asset)
    middle = base.asset.bounds_obj.mean(axis=0)[:2]
    yaw = float(np.deg2rad(cfg.yaw_deg) * rng.uniform(-1.0, 1.0))
    if cfg.distance_m is not None:
        distance, bearing = rng.uniform(*cfg.distance_m), np.deg2rad(rng.uniform(*cfg.bearing_deg))
        own = middle + distance * np.array([np.cos(bearing), np.sin(bearing)])  # the item's middle
        heading = (bearing + np.pi if cfg.relation is RelationKind.facing else 0.0) + yaw
        out = 0.5 * asset.size_m[0] * np.array([np.cos(heading), np.sin(heading)])
        front = own + out
        drawn = {"distance_m": float(distance), "bearing_rad": float(bearing)}
    else:
        center, half = cfg.center_m, np.array(cfg.half_extent_m)
        if center is None:  # anywhere that its footprint, not rotated, lies within
            depth, width = np.maximum(base.asset.size_m[:2] - asset.size_m[:2], 0.0)
            center, half = [0.5 * depth, 0.0], 0.5 * np.array([depth, width])
        x, y = np.array(center) + half * rng.uniform(-1.0, 1.0, size=2)
        front = (T_base_front @ np.array([x, y, 0.0]))[:2]
        to_middle = middle - front
        heading = (np.arctan2(to_middle[1], to_middle[0]) if cfg.relation is RelationKind.facing else 0.0) + yaw
        drawn = {"x_m": float(x), "y_m": float(y)}
    R = Pose.from_rpy((0.0, 0.0, 0.0), (0.0, 0.0, float(heading))).R
    own_front = front_frame(asset).p * [1.0, 1.0, 0.0]
    return Pose(R, np.array([*front, 0.0]) - R @ own_front), {**drawn, "yaw_rad": yaw}


def _carrying_levels(
    cfg: RelationCfg, asset: ObjectAsset, base: PlacedObject, T_base_item: Pose, box: Array, feet_m: float
) -> list[float]:
    """Returns the heights of boards that carry all corners of the item, in the base's root frame, lowest first [m]."""
    low, high = asset.bounds_obj
    corners = np.array([[x, y] for x in (low[0], high[0] - _PAD_M) for y in (low[1], high[1] - _PAD_M)])
    pads = np.zeros((4, 2, 3))
    pads[:, 0, :2], pads[:, 1, :2], pads[:, 0, 2] = corners, corners + _PAD_M, -_REST_M
    positions = dict(base.joint_positions)
    inside = cfg.relation is RelationKind.inside
    reach = box.copy()
    if not inside:
        reach[1, 2] += _SKY_M
    found = []
    for level in base.levels():
        lift = level + feet_m - float(low[2])
        T_base_lifted = Pose.from_translation([0.0, 0.0, lift]) @ T_base_item
        if inside and not _lies_within(base.asset.bounds_obj, T_base_lifted, box):
            continue
        if base.solids.meets(reach[None], T_base_lifted, positions, margin_m=cfg.margin_m):
            continue
        T_base_pads = Pose.from_translation([0.0, 0.0, level]) @ T_base_item
        if all(base.solids.meets(pad[None], T_base_pads, positions) for pad in pads):
            found.append(level)
    return found


def _lies_within(bounds: Array, T_base_item: Pose, box: Array) -> bool:
    points = T_base_item @ np.array(list(product(*box.T)))  # (8, 3) corners
    return bool(np.all((points >= bounds[0]) & (points <= bounds[1])))
