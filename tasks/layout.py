"""Draws the layout: free places in, on and beside objects, how far parts are open and where the arms start."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from unlatch.objects.annotation import Part, PartKind
from unlatch.objects.articulated_object import ObjectAsset, front_frame
from unlatch.objects.closing_force_values import closing_reach
from unlatch.simcore.errors import ConfigError, GeometryError, RecordingError, unknown_entry
from unlatch.simcore.geometry import Pose
from unlatch.tasks.stand import RobotStand, StandRange
from unlatch.tasks.task import GoalKind, OpennessCfg, RegionCfg, RelationCfg, TaskCfg, order_relations

if TYPE_CHECKING:
    from unlatch.tasks.placing import PlacedObject


Array = np.ndarray


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
_STAND_GAP_M, _STAND_SAMPLES, _LED_FURTHER = 0.02, 9, 1.5
"""Room between a stand and a part that moves [m], the number of openings at which the two are compared, and how much
further than its goal a hand may lead a part."""
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
    stand: RobotStand | None = None
    """The stand of the robot; None: robot and objects stand on a table."""

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
            **({} if self.stand is None else {"stand": self.stand.to_dict()}),
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
            stand = RobotStand.from_dict(values["stand"]) if "stand" in values else None
        except (KeyError, TypeError, ValueError, AttributeError, GeometryError) as exc:
            raise RecordingError(
                f"The layout of a record cannot be read ({type(exc).__name__}: {exc}). Expected poses, joint positions "
                "and start joints as `unlatch collect` writes them. Make the episode again."
            ) from exc
        return cls(objects=objects, q_home=q_home, stand=stand)


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
    *,
    stand: StandRange | None = None,
) -> Layout:
    """Draws where every object stands, how far its parts are open and where the arms start.

    Args:
        cfg: The task.
        assets: Objects by name.
        homes: Per arm its name, home joints [rad] and the standard deviation of the noise on them [rad].
        rng: The layout stream.
        stand: What is drawn of the robot's stand; None: it stands on a table, and nothing is drawn.

    Raises:
        ConfigError: A region or an opening names an unknown object or part, or an object has no region.
    """
    regions = {region.object: region for region in cfg.regions}
    related = {entry.object: entry for entry in cfg.relations}
    for name in (*regions, *related, *(o.object for o in cfg.openness)):
        if name not in assets:
            said = f"task.regions, relations or openness of '{cfg.name}' names object '{name}', "
            said += "which the episode does not have."
            raise unknown_entry(said, name, assets, error=ConfigError, heading="Objects", object=name)
    standing = None if stand is None else stand.draw(rng)
    draw = _PlacementDraw(cfg, assets, rng, standing)
    placements = draw.placements
    for name, asset in assets.items():
        if name in regions and not asset.free:
            placements[name] = draw.in_region(regions[name])
        elif name not in regions and name not in related:
            raise ConfigError(
                f"Object '{name}' has no entry in task.regions of '{cfg.name}'. Add one with `object: {name}`.",
                object=name,
            )
    ordered = order_relations(cfg.relations)
    for name in (name for name in ordered if not assets[name].free):
        placements[name] = draw.related(related[name])
    for name in (name for name in regions if assets[name].free):  # they give way to everything else
        placements[name] = draw.beside_others(regions[name])
    for name in (name for name in ordered if assets[name].free):
        placements[name] = draw.related(related[name])
    placements = {name: placements[name] for name in assets}
    q_home = {arm: np.asarray(home, dtype=float) + std * rng.standard_normal(len(home)) for arm, home, std in homes}
    return Layout(objects=placements, q_home=q_home, stand=standing)


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


def _feet_of(asset: ObjectAsset) -> float:
    """Returns how high above its support an object is placed [m]."""
    return _FREE_GAP_M if asset.free else _FEET_M


class _PlacementDraw:
    """Draws where the objects of an episode stand, one after another."""

    def __init__(
        self, cfg: TaskCfg, assets: Mapping[str, ObjectAsset], rng: np.random.Generator, stand: RobotStand | None
    ) -> None:
        self._cfg, self._assets, self._rng, self._stand = cfg, assets, rng, stand
        self._ground_m = 0.0 if stand is None else stand.floor_z_m
        self.placements: dict[str, Placement] = {}
        """Those so far."""

    def in_region(self, region: RegionCfg) -> Placement:
        """Draws a place in a region, whatever stands there."""
        asset, rng = self._assets[region.object], self._rng
        x = region.center_m[0] + region.half_extent_m[0] * rng.uniform(-1.0, 1.0)
        y = region.center_m[1] + region.half_extent_m[1] * rng.uniform(-1.0, 1.0)
        yaw_rad = np.deg2rad(region.yaw_deg) * rng.uniform(-1.0, 1.0)
        height_m = rng.uniform(*region.height_m)
        # the object's front (+x of its root) faces the robot: turned by pi, then by the drawn yaw about its middle
        R = Pose.from_rpy((0.0, 0.0, 0.0), (0.0, 0.0, np.pi + yaw_rad)).R
        if height_m < _MIN_PLINTH_M:
            height_m = 0.0
        place = [x, y, height_m + _feet_of(asset)]
        if self._stand is not None:  # on a rail, the arm stands off the place before the object
            place = [x, y - self._stand.along_m, place[2] + self._ground_m]
        T_world_root = Pose(R, np.array(place) - R @ front_frame(asset).p)
        positions, openings = self._draw_openings(asset)
        drawn = {"x_m": x, "y_m": y, "yaw_rad": float(yaw_rad), "height_m": height_m, **openings}
        found = Placement(T_world_root, positions, *_plinth_box(asset, T_world_root, height_m), drawn)
        return found if self._stand is None else replace(found, problem=self._find_meeting_stand(asset, found))

    def beside_others(self, region: RegionCfg) -> Placement:
        """Draws where a free object stands on the table until it meets nothing that is placed already."""
        from unlatch.tasks.placing import find_meeting

        asset, standing = self._assets[region.object], self._standing()
        on_table = replace(region, height_m=[0.0, 0.0])
        placement, met = self.in_region(on_table), None
        for _ in range(_FREE_TRIES):
            met = find_meeting(_placed(asset, placement.T_world_root, placement.joint_positions), standing)
            if met is None:
                return placement
            placement = self.in_region(on_table)
        problem = f"'{asset.name}' finds no free place in its region in {_FREE_TRIES} tries: {met}"
        return replace(placement, problem=problem)

    def related(self, relation: RelationCfg) -> Placement:
        """Draws a place in, on or beside another object."""
        from unlatch.tasks.placing import find_free_place, find_place_in_region

        asset = self._assets[relation.object]
        positions, openings = self._draw_openings(asset)
        item = _placed(asset, Pose.identity(), positions)
        beside = partial(find_free_place, ground_m=self._ground_m)
        find = beside if relation.region is None else find_place_in_region
        place = find(relation, item, self._standing(), self._rng, feet_m=_feet_of(asset))
        plinth = _plinth_box(asset, place.T_world_root, place.height_m)
        return Placement(place.T_world_root, positions, *plinth, {**place.drawn, **openings}, place.problem)

    def _find_meeting_stand(self, asset: ObjectAsset, place: Placement) -> str | None:
        """Returns where an object, or a part on its way to the goal, meets the stand, in words; None: nowhere."""
        boxes = () if self._stand is None else self._stand.boxes[1:]
        for name, opening, positions in self._openings_passed(asset, place.joint_positions):
            item = _placed(asset, place.T_world_root, positions)
            for box in boxes:
                if item.meets(box.bounds - np.array(box.position), box.T_world_box, _STAND_GAP_M):
                    where = f"'{asset.name}'" if name is None else f"'{name}' of '{asset.name}', open by {opening:.2f},"
                    return f"{where} meets the {box.name.replace('_', ' ')} of the robot"
        return None

    def _openings_passed(
        self, asset: ObjectAsset, positions: Mapping[str, float]
    ) -> Iterator[tuple[str | None, float, dict[str, float]]]:
        """Yields the start of an object, then openings of each part that the goal moves: its name, its opening from
        closed [rad or m] and the positions of all joints.
        """
        yield None, 0.0, dict(positions)
        for goal in self._cfg.goal:
            if goal.object != asset.name or goal.part is None:
                continue
            part = asset.articulation.part(goal.part)
            start = abs(positions[part.joint] - part.openness.closed)
            moved = {GoalKind.moved: start + _LED_FURTHER * goal.threshold, GoalKind.within_closed: 0.0}
            end = min(moved.get(goal.kind, goal.threshold * part.openness.span), part.openness.span)
            for opening in np.linspace(start, end, _STAND_SAMPLES)[1:]:
                position = part.openness.position(float(opening))
                yield part.name, float(opening), {**positions, part.joint: position}

    def _standing(self) -> dict[str, PlacedObject]:
        placed = self.placements.items()
        return {n: _placed(self._assets[n], item.T_world_root, item.joint_positions) for n, item in placed}

    def _draw_openings(self, asset: ObjectAsset) -> tuple[dict[str, float], dict[str, float]]:
        """Returns the start positions of an object's joints [rad or m] and the drawn openings."""
        positions: dict[str, float] = {}
        drawn: dict[str, float] = {}
        entries = [(index, entry) for index, entry in enumerate(self._cfg.openness) if entry.object == asset.name]
        if asset.articulation.mechanisms:
            positions.update(asset.rest_positions)
        for part_name, part in asset.articulation.parts.items():
            positions.setdefault(part.joint, part.openness.closed)
            for index, entry in entries:
                if entry.part == part_name:
                    check_opening(entry, part, asset, index=index)
                    opening = self._rng.uniform(*entry.range)
                    if opening <= max(closing_reach(part, asset.model), asset.settling_reach(part.joint)):
                        opening = 0.0  # within its catch, gasket or spring a part would move while the scene settles
                    positions[part.joint] = part.openness.position(opening)
                    drawn[f"opening.{part_name}"] = opening
        for _, entry in entries:
            asset.articulation.part(entry.part)
        led = [asset.articulation.part(entry.part).joint for _, entry in entries]
        return asset.with_followers(positions, led=led), drawn


def _plinth_box(
    asset: ObjectAsset, T_world_root: Pose, height_m: float
) -> tuple[tuple[float, float, float] | None, Pose | None]:
    """Returns size and pose of the box that carries an object above the table and clear of parts that swing lower."""
    if height_m == 0.0:
        return None, None
    low, high = asset.bounds_obj
    back_inset, front_inset = _limit_insets(high[0] - low[0], _PLINTH_INSET_M, _PLINTH_FRONT_INSET_M)
    least = _LEAST_PLINTH_SHARE * (high[0] - low[0] - back_inset - front_inset)
    swept = _swept_below(asset)
    lids = [corners for kind, corners in swept if kind is PartKind.hinge_horizontal]
    swept_from = min((float(corners[:, 0].min()) for corners in lids), default=np.inf)
    front_inset = max(front_inset, high[0] - swept_from + _SWEEP_GAP_M)
    # the lid of a suitcase hangs below all of it in the end: the plinth, to which it is fixed, then stands at its back
    back_inset = min(back_inset, high[0] - low[0] - front_inset - least)
    depth = high[0] - low[0] - back_inset - front_inset
    width = high[1] - low[1] - sum(_limit_insets(high[1] - low[1], _PLINTH_INSET_M, _PLINTH_INSET_M))
    size, middle = np.array([depth, width]), np.array([low[0] + back_inset + 0.5 * depth, 0.5 * (low[1] + high[1])])
    for kind, corners in swept:
        if kind is not PartKind.hinge_horizontal:
            size, middle = _clear_of(size, middle, corners[:, :2])
    middle_obj = np.array([*middle, low[2] - _FEET_M - 0.5 * height_m])
    return (float(size[0]), float(size[1]), float(height_m)), Pose(T_world_root.R, T_world_root @ middle_obj)


def _placed(asset: ObjectAsset, T_world_root: Pose, positions: Mapping[str, float]) -> PlacedObject:
    from unlatch.tasks.placing import PlacedObject

    return PlacedObject(asset, T_world_root, positions)


def _swept_below(asset: ObjectAsset) -> list[tuple[PartKind, Array]]:
    """Returns for each part that moves below the underside of its object the corners there (N, 3), root frame [m]."""
    from unlatch.tasks.placing import swept_below

    swept: list[tuple[PartKind, Array]] = []
    for part in asset.articulation.parts.values():
        if part.kind is PartKind.hinge_vertical:
            continue
        corners_at = partial(swept_below, asset, part, below_m=_FEET_M)
        openings = np.linspace(0.0, part.openness.span, _SWEEP_SAMPLES)
        if part.kind is PartKind.slider and not len(corners_at(openings[[0, -1]])):
            continue  # what slides is lowest at one of its ends
        corners = corners_at(openings)
        if len(corners):
            swept.append((part.kind, corners))
    return swept


def _clear_of(size: Array, middle: Array, swept: Array) -> tuple[Array, Array]:
    """Returns size and middle (2,) of the largest part of a footprint beside what a part passes (N, 2) [m]."""
    footprint = np.array([middle - 0.5 * size, middle + 0.5 * size])
    low, high = swept.min(axis=0) - _SWEEP_GAP_M, swept.max(axis=0) + _SWEEP_GAP_M
    if np.any(low >= footprint[1]) or np.any(high <= footprint[0]):
        return size, middle
    left_over = [(size, middle)]
    for axis in range(2):
        for end, edge in ((1, low), (0, high)):
            cut = footprint.copy()
            cut[end, axis] = edge[axis]
            if cut[1, axis] > cut[0, axis]:
                left_over.append((cut[1] - cut[0], cut.mean(axis=0)))
    return max(left_over[1:] or left_over, key=lambda item: float(np.prod(item[0])))


def _limit_insets(extent_m: float, low_m: float, high_m: float) -> tuple[float, float]:
    """Returns how far a plinth stands back at both ends of an object [m], less if it would be narrower than allowed."""
    share = min(1.0, (1.0 - _LEAST_PLINTH_SHARE) * extent_m / (low_m + high_m))
    return share * low_m, share * high_m
