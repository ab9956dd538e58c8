"""Draws the layout: free places in, on and beside objects, how far parts are open and where the arms start."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from unlatch.objects.annotation import Part, PartKind
from unlatch.objects.articulated_object import ObjectAsset
from unlatch.objects.closing_force_values import closing_reach
from unlatch.simcore.errors import ConfigError, GeometryError, RecordingError, close_matches
from unlatch.simcore.geometry import Pose
from unlatch.simcore.urdf.model import rigid_links
from unlatch.tasks.task import OpennessCfg, RegionCfg, RelationCfg, RelationKind, TaskCfg, order_relations

if TYPE_CHECKING:
    from unlatch.simcore.meshes.solids import Solids


Array = np.ndarray

_LEVEL_M = 1e-4
"""Boards whose heights differ by less are on one level."""
_PAD_M = 0.01
"""Edge length of the patch below each corner that must rest on a board."""
_REST_M = 0.002
"""Largest gap between the feet and the board below them."""
_MEETING_M = 0.005
"""A free object meets another one if they are nearer than this."""
_SKY_M = 3.0
"""Height of the space above an object that must be free for it to be `on` another one."""
_CARRIED = (RelationKind.inside, RelationKind.on)
"""Relations in which the other object carries the object."""
_HALF_TURN = Pose.from_rpy((0.0, 0.0, 0.0), (0.0, 0.0, np.pi)).R


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


def front_frame(asset: ObjectAsset) -> Pose:
    """Returns `T_root_front` of an object: at the middle of the lower edge of its front, x into it, z up."""
    low, high = asset.bounds_obj
    return Pose(_HALF_TURN, [high[0], 0.5 * (low[1] + high[1]), low[2]])


def swept_below(asset: ObjectAsset, part: Part, openings: Array, *, below_m: float) -> Array:
    """Returns the corners (N, 3) of a part that are lower than the object's underside, root frame [m].

    `openings` (N,) are those that the part passes [rad or m]; corners less than `below_m` lower do not count [m].
    """
    from unlatch.simcore.meshes.solids import Solids

    solids, closed = Solids.from_urdf(asset.urdf_path), asset.articulation.closed_positions()
    vertices, model = solids.vertices(part.link), solids.model
    poses = (model.link_pose(part.link, {**closed, part.joint: part.openness.position(float(o))}) for o in openings)
    corners = np.concatenate([T_root_link @ vertices for T_root_link in poses])
    return corners[corners[:, 2] < asset.bounds_obj[0, 2] - below_m]


def find_meeting(item: PlacedObject, standing: Mapping[str, PlacedObject]) -> str | None:
    """Returns which of some objects a free object would meet where it stands, in words; None if none."""
    box = item.box()
    box[0, 2] += _MEETING_M  # the board below it may be near
    met = (name for name, other in standing.items() if other.meets(box, item.T_world_root, _MEETING_M))
    return next((f"it meets '{name}'" for name in met), None)


def _find_free_place(
    cfg: RelationCfg, item: PlacedObject, standing: Mapping[str, PlacedObject], rng: np.random.Generator
) -> Placement:
    """Draws poses that fit a relation until one is free.

    Args:
        cfg: The relation; if it names a region, poses are drawn on the floor of that.
        item: The object that is placed; its pose is not used.
        standing: The objects that are placed already, by name.
        rng: The layout stream.

    Raises:
        AssetError: The other object has no such region.
    """
    base, feet_m = standing[cfg.of], _feet_of(item.asset)
    box = item.box()
    box[0, 2] += cfg.margin_m  # the board below it may be near
    height = float(rng.uniform(*cfg.height_m)) if cfg.region is None else 0.0
    where = f"in '{cfg.region}'" if cfg.region is not None else cfg.relation.value
    reasons: dict[str, int] = {}
    problem = None
    for _ in range(cfg.tries):
        met: list[str] = []
        if cfg.region is not None:
            T_world_item, drawn = _draw_on_floor(cfg, item.asset, base, rng, feet_m)
        else:
            T_base_item, drawn = _draw_pose(cfg, item.asset, base, rng)
            if cfg.relation in _CARRIED:
                levels = _carrying_levels(cfg, item.asset, base, T_base_item, box, feet_m)
                met = [f"no board of '{cfg.of}' has enough free space for it"] if not levels else []
            else:
                levels = [height - float(base.T_world_root.p[2])]
            if levels:
                level = levels[int(rng.integers(len(levels)))]
                lift = [0.0, 0.0, level + feet_m - float(item.asset.bounds_obj[0, 2])]
                T_base_item = Pose.from_translation(lift) @ T_base_item
            T_world_item = base.T_world_root @ T_base_item
        met += [f"it meets '{n}'" for n, other in standing.items() if other.meets(box, T_world_item, cfg.margin_m)]
        if not met:
            break
        reasons[met[0]] = reasons.get(met[0], 0) + 1
    else:
        listed = ", ".join(f"{why} ({count})" for why, count in reasons.items())
        place = f"{where} of '{cfg.of}'" if cfg.region is not None else f"{where} '{cfg.of}'"
        problem = f"'{item.asset.name}' finds no place {place} in {cfg.tries} tries: {listed}"
    plinth = _plinth_box(item.asset, T_world_item, height)
    return Placement(T_world_item, item.joint_positions, *plinth, drawn, problem)


def _draw_on_floor(
    cfg: RelationCfg, asset: ObjectAsset, base: PlacedObject, rng: np.random.Generator, feet_m: float
) -> tuple[Pose, dict[str, float]]:
    """Returns `T_world_item` on the floor of the region that a relation names, and the drawn values.

    The place is near `center_m`, measured from the middle of the floor, or anywhere on it.
    """
    region, bounds = base.asset.region(cfg.region or ""), asset.bounds_obj
    T_world_link = base.T_world_root @ base.solids.model.link_pose(region.link, dict(base.joint_positions))
    yaw = float(np.deg2rad(cfg.yaw_deg) * rng.uniform(-1.0, 1.0))
    if cfg.center_m is not None:
        center, half = np.array(cfg.center_m), np.array(cfg.half_extent_m)
    else:
        radius = 0.5 * float(np.linalg.norm(asset.size_m[:2]))
        center, half = np.zeros(2), np.maximum(0.5 * region.size[:2] - radius - cfg.margin_m, 0.0)
    x, y = (float(v) for v in center + half * rng.uniform(-1.0, 1.0, size=2))
    R = Pose.from_rpy((0.0, 0.0, 0.0), (0.0, 0.0, yaw)).R
    middle = bounds.mean(axis=0) * [1.0, 1.0, 0.0] + [0.0, 0.0, float(bounds[0, 2]) - feet_m]
    T_region_item = Pose(R, np.array([x, y, 0.0]) - R @ middle)
    return T_world_link @ region.T_link_region @ T_region_item, {"x_m": x, "y_m": y, "yaw_rad": yaw}


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


_PLINTH_INSET_M = 0.02
_PLINTH_FRONT_INSET_M = 0.06
_LEAST_PLINTH_SHARE = 0.5
"""A plinth is at least this share of its object deep and wide. It stands back less below a narrow one, as a bottle.
Where a part swings below its object, the plinth has at least this share of the depth that it would have otherwise."""
_SWEEP_GAP_M, _SWEEP_SAMPLES = 0.005, 25
"""Room between a plinth and a part that swings below the underside of its object [m], and number of openings at which
the part is compared with it."""
_MIN_PLINTH_M = 0.005
_FEET_M = 0.004
"""Every object stands on feet of this height: the table would brake a door that grazes it. With such a contact, Bullet
solves finger motors and finger contacts in turn, and a grip of 50 N has 1 N."""
_FREE_GAP_M = 0.0005
"""A free object is put down from this height: it may touch what it stands on, but must not overlap it."""
_FREE_TRIES = 100
"""Largest number of poses that are drawn for a free object in its region."""
TABLE = "table"
"""Name of the body that carries everything; no object may have it."""


def plinth_name(name: str) -> str:
    """Returns the name of the body that an object may stand on; no object may have it."""
    return f"{name}_plinth"


@dataclass(frozen=True)
class Placement:
    """Where one object is placed."""

    T_world_root: Pose
    """Pose of the object's root link."""
    joint_positions: Mapping[str, float]
    """Start positions of its movable joints [rad or m]."""
    plinth_size_m: tuple[float, float, float] | None
    """Edge lengths of the box it stands on; None if it stands on the table."""
    T_world_plinth: Pose | None
    """Pose of that box's centre."""
    drawn: Mapping[str, float] = field(default_factory=dict)
    """The drawn values: x, y, yaw, height and openings."""
    problem: str | None = None
    """Why the object has no place that its relation allows; None if it has one."""


@dataclass(frozen=True)
class Layout:
    """Where all objects and arms are at the start of an episode."""

    objects: Mapping[str, Placement]
    """By object name."""
    q_home: Mapping[str, np.ndarray]
    """Start joint positions (n,) by arm [rad]."""

    @property
    def problem(self) -> str | None:
        """Why an object has no place; None if all have one."""
        return next((item.problem for item in self.objects.values() if item.problem is not None), None)

    def to_dict(self) -> dict[str, Any]:
        """Returns the layout as plain values, for the record."""
        return {
            "objects": {
                name: {
                    **_pose_to_dict(item.T_world_root, ""),
                    "joint_positions": dict(item.joint_positions),
                    "plinth_size_m": None if item.plinth_size_m is None else list(item.plinth_size_m),
                    **_pose_to_dict(item.T_world_plinth, "plinth_"),
                    "drawn": dict(item.drawn),
                    **({} if item.problem is None else {"problem": item.problem}),
                }
                for name, item in self.objects.items()
            },
            "q_home": {arm: q.tolist() for arm, q in self.q_home.items()},
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Layout:
        """Reads the layout that `to_dict` wrote, exactly.

        Raises:
            RecordingError: A value is missing or has another type.
        """
        try:
            objects = {name: _placement_from_dict(item) for name, item in values["objects"].items()}
            q_home = {arm: np.asarray(q, dtype=float) for arm, q in values["q_home"].items()}
        except (KeyError, TypeError, ValueError, AttributeError, GeometryError) as exc:
            raise RecordingError(
                f"The layout of a record cannot be read ({type(exc).__name__}: {exc}). Expected poses, joint positions "
                "and start joints as `unlatch collect` writes them. Make the episode again."
            ) from exc
        return cls(objects=objects, q_home=q_home)


def _pose_to_dict(pose: Pose | None, prefix: str) -> dict[str, Any]:
    # the rotation matrix is exact, a quaternion is not
    values = {"position": "p", "quat_xyzw": "quat_xyzw", "rotation": "R"}
    return {prefix + key: None if pose is None else getattr(pose, name).tolist() for key, name in values.items()}


def _placement_from_dict(item: Mapping[str, Any]) -> Placement:
    on_plinth = item["plinth_size_m"] is not None
    depth, width, height = item["plinth_size_m"] if on_plinth else (0.0, 0.0, 0.0)
    return Placement(
        T_world_root=Pose(item["rotation"], item["position"]),
        joint_positions={str(joint): float(s) for joint, s in item["joint_positions"].items()},
        plinth_size_m=(float(depth), float(width), float(height)) if on_plinth else None,
        T_world_plinth=Pose(item["plinth_rotation"], item["plinth_position"]) if on_plinth else None,
        drawn=dict(item["drawn"]),
        problem=item.get("problem"),
    )


def sample_layout(
    cfg: TaskCfg,
    assets: Mapping[str, ObjectAsset],
    homes: Sequence[tuple[str, Sequence[float], float]],
    rng: np.random.Generator,
) -> Layout:
    """Draws where every object stands, how far its parts are open and where the arms start.

    Args:
        cfg: The task.
        assets: Objects by name.
        homes: Per arm its name, home joints [rad] and the standard deviation of the noise on them [rad].
        rng: The layout stream.

    Raises:
        ConfigError: A region or an opening names an unknown object or part, or an object has no region.
    """
    regions = {region.object: region for region in cfg.regions}
    related = {entry.object: entry for entry in cfg.relations}
    for name in (*regions, *related, *(o.object for o in cfg.openness)):
        if name not in assets:
            raise ConfigError(
                f"task.regions, relations or openness of '{cfg.name}' names object '{name}', which the episode does "
                f"not have.{close_matches(name, assets)} Objects: {sorted(assets)}.",
                object=name,
            )
    placements: dict[str, Placement] = {}
    for name, asset in assets.items():
        if name in regions and not asset.free:
            placements[name] = _place_in_region(cfg, regions[name], asset, rng)
        elif name not in regions and name not in related:
            raise ConfigError(
                f"Object '{name}' has no entry in task.regions of '{cfg.name}'. Add one with `object: {name}`.",
                object=name,
            )
    ordered = order_relations(cfg.relations)
    for name in (name for name in ordered if not assets[name].free):
        placements[name] = _place_related(cfg, related[name], assets, placements, rng)
    for name in (name for name in regions if assets[name].free):  # they give way to everything else
        placements[name] = _place_free(cfg, regions[name], assets, placements, rng)
    for name in (name for name in ordered if assets[name].free):
        placements[name] = _place_related(cfg, related[name], assets, placements, rng)
    placements = {name: placements[name] for name in assets}
    q_home = {arm: np.asarray(home, dtype=float) + std * rng.standard_normal(len(home)) for arm, home, std in homes}
    return Layout(objects=placements, q_home=q_home)


def check_opening(entry: OpennessCfg, part: Part, asset: ObjectAsset, *, index: int) -> None:
    """Raises if a range of openings exceeds the opening of the part; a draw is never clipped silently.

    Raises:
        ConfigError: The range exceeds it.
    """
    most = part.openness.span
    if entry.range[1] > most:
        raise ConfigError(
            f"task.openness[{index}].range={list(entry.range)} exceeds the opening of '{part.name}' of "
            f"{describe_object(asset)}. "
            f"Expected at most {most:.3g} {'m' if part.kind is PartKind.slider else 'rad'}. Lower it.",
            key=f"task.openness[{index}].range",
        )


def describe_object(asset: ObjectAsset) -> str:
    """Returns the name of an object with its source, category and instance: `'microwave' (procedural microwave 7)`."""
    return f"'{asset.name}' ({asset.source} {asset.category} {asset.instance})"


def _place_in_region(cfg: TaskCfg, region: RegionCfg, asset: ObjectAsset, rng: np.random.Generator) -> Placement:
    x = region.center_m[0] + region.half_extent_m[0] * rng.uniform(-1.0, 1.0)
    y = region.center_m[1] + region.half_extent_m[1] * rng.uniform(-1.0, 1.0)
    yaw_rad = np.deg2rad(region.yaw_deg) * rng.uniform(-1.0, 1.0)
    height_m = rng.uniform(*region.height_m)
    # the object's front (+x of its root) faces the robot: turned by pi, then by the drawn yaw about its middle
    R = Pose.from_rpy((0.0, 0.0, 0.0), (0.0, 0.0, np.pi + yaw_rad)).R
    if height_m < _MIN_PLINTH_M:
        height_m = 0.0
    T_world_root = Pose(R, np.array([x, y, height_m + _feet_of(asset)]) - R @ front_frame(asset).p)
    positions, openings = _draw_openings(cfg, asset, rng)
    drawn = {"x_m": x, "y_m": y, "yaw_rad": float(yaw_rad), "height_m": height_m, **openings}
    return Placement(T_world_root, positions, *_plinth_box(asset, T_world_root, height_m), drawn)


def _place_free(
    cfg: TaskCfg,
    region: RegionCfg,
    assets: Mapping[str, ObjectAsset],
    placements: Mapping[str, Placement],
    rng: np.random.Generator,
) -> Placement:
    """Draws where a free object stands on the table until it meets nothing that is placed already."""
    asset = assets[region.object]
    on_table = replace(region, height_m=[0.0, 0.0])
    standing = _placed_objects(assets, placements)
    placement, met = _place_in_region(cfg, on_table, asset, rng), None
    for _ in range(_FREE_TRIES):
        item = PlacedObject(asset, placement.T_world_root, placement.joint_positions)
        met = find_meeting(item, standing)
        if met is None:
            return placement
        placement = _place_in_region(cfg, on_table, asset, rng)
    return replace(placement, problem=f"'{asset.name}' finds no free place in its region in {_FREE_TRIES} tries: {met}")


def _placed_objects(assets: Mapping[str, ObjectAsset], placements: Mapping[str, Placement]) -> dict[str, PlacedObject]:
    return {n: PlacedObject(assets[n], item.T_world_root, item.joint_positions) for n, item in placements.items()}


def _feet_of(asset: ObjectAsset) -> float:
    """Returns how high above its support an object is placed [m]."""
    return _FREE_GAP_M if asset.free else _FEET_M


def _place_related(
    cfg: TaskCfg,
    relation: RelationCfg,
    assets: Mapping[str, ObjectAsset],
    placements: Mapping[str, Placement],
    rng: np.random.Generator,
) -> Placement:
    asset = assets[relation.object]
    positions, openings = _draw_openings(cfg, asset, rng)
    item = PlacedObject(asset, Pose.identity(), positions)
    found = _find_free_place(relation, item, _placed_objects(assets, placements), rng)
    return replace(found, drawn={**found.drawn, **openings})


def _draw_openings(
    cfg: TaskCfg, asset: ObjectAsset, rng: np.random.Generator
) -> tuple[dict[str, float], dict[str, float]]:
    """Returns the start positions of an object's joints [rad or m] and the drawn openings."""
    positions: dict[str, float] = {}
    drawn: dict[str, float] = {}
    for part_name, part in asset.articulation.parts.items():
        positions[part.joint] = part.openness.closed
        for index, entry in enumerate(cfg.openness):
            if entry.object == asset.name and entry.part == part_name:
                check_opening(entry, part, asset, index=index)
                opening = rng.uniform(*entry.range)
                if opening <= closing_reach(part, asset.model):
                    opening = 0.0  # within its catch or gasket a part would move while the scene settles
                positions[part.joint] = part.openness.position(opening)
                drawn[f"opening.{part_name}"] = opening
    for entry in cfg.openness:
        if entry.object == asset.name:
            asset.articulation.part(entry.part)
    return positions, drawn


def _plinth_box(
    asset: ObjectAsset, T_world_root: Pose, height_m: float
) -> tuple[tuple[float, float, float] | None, Pose | None]:
    """Returns size and pose of the box that carries an object above the table and clear of parts that swing lower."""
    if height_m == 0.0:
        return None, None
    low, high = asset.bounds_obj
    back_inset, front_inset = _limit_insets(high[0] - low[0], _PLINTH_INSET_M, _PLINTH_FRONT_INSET_M)
    least = _LEAST_PLINTH_SHARE * (high[0] - low[0] - back_inset - front_inset)
    front_inset = max(front_inset, high[0] - _swept_from(asset) + _SWEEP_GAP_M)
    # the lid of a suitcase hangs below all of it in the end: the plinth, to which it is fixed, then stands at its back
    back_inset = min(back_inset, high[0] - low[0] - front_inset - least)
    depth = high[0] - low[0] - back_inset - front_inset
    width = high[1] - low[1] - sum(_limit_insets(high[1] - low[1], _PLINTH_INSET_M, _PLINTH_INSET_M))
    below = low[2] - _FEET_M - 0.5 * height_m
    middle_obj = np.array([low[0] + back_inset + 0.5 * depth, 0.5 * (low[1] + high[1]), below])
    return (float(depth), float(width), float(height_m)), Pose(T_world_root.R, T_world_root @ middle_obj)


def _swept_from(asset: ObjectAsset) -> float:
    """Returns the smallest x at which a part swings below the underside of its object, root frame [m]."""
    lids = [part for part in asset.articulation.parts.values() if part.kind is PartKind.hinge_horizontal]
    swept = [
        swept_below(asset, lid, np.linspace(0.0, lid.openness.span, _SWEEP_SAMPLES), below_m=_FEET_M) for lid in lids
    ]
    return min((float(corners[:, 0].min()) for corners in swept if len(corners)), default=np.inf)


def _limit_insets(extent_m: float, low_m: float, high_m: float) -> tuple[float, float]:
    """Returns how far a plinth stands back at both ends of an object [m], less if it would be narrower than allowed."""
    share = min(1.0, (1.0 - _LEAST_PLINTH_SHARE) * extent_m / (low_m + high_m))
    return share * low_m, share * high_m
