"""Collision queries for planning, in a Bullet client of their own."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pybullet as p

from unlatch.simcore.errors import WorldError
from unlatch.simcore.geometry import Array, Pose
from unlatch.simcore.sim.bodies import Body, JointInfo, moved_links
from unlatch.simcore.sim.core import NearQuery
from unlatch.simcore.sim.world import World, WorldCfg

_ROBOT = "robot"
"""Name of the robot's body."""
_CARRIED_CLEARANCE_M = 0.002
"""Clearance of a carried object to everything but the hand [m]."""
_CARRIED_TOUCH_M = -0.0005
"""The same where contact is allowed, as on the floor from which an object is lifted [m]."""
_KEPT_FOR = 100
"""Loads for which bodies are kept. Bullet never forgets the shape of a box."""
SELF_CLEARANCE_M = 0.003
"""Clearance between links of one robot [m]. With less, a folded elbow that lags its targets by some milliradians
touches the arm."""


@dataclass(frozen=True)
class LinkCollision:
    """Two links that are closer than allowed."""

    link_a: str
    link_b: str
    distance_m: float
    where: tuple[float, float, float]
    """World position of the nearest point [m]."""


@dataclass(frozen=True)
class RobotModel:
    """Description of one arm for the collision checker."""

    urdf_path: Path
    T_world_base: Pose
    arm_joints: tuple[str, ...]
    finger_joints: tuple[str, ...]
    finger_links: frozenset[str]
    ignored_pairs: frozenset[frozenset[str]]
    home: Mapping[str, float]
    """Positions of all movable joints; other arms stay there."""
    arm_links: frozenset[str] | None = None
    """Links of this arm on a robot with several arms: the other links are obstacles, and contacts between them do not
    count. None: all links belong to this arm."""
    ee_link: str | None = None
    """Link that carries the gripper; a carried object moves with it."""
    fingers_at: Callable[[float], Sequence[float]] | None = None
    """Positions of `finger_joints` at an opening [m]; None: each has half of it."""

    def has_same_body(self, other: RobotModel) -> bool:
        """Returns whether both describe the same robot in the same place, perhaps other arms of it."""
        return (
            self.urdf_path == other.urdf_path
            and self.ignored_pairs == other.ignored_pairs
            and np.array_equal(self.T_world_base.matrix, other.T_world_base.matrix)
        )

    def fingers(self, opening_m: float) -> Sequence[float]:
        """Positions of `finger_joints` at an opening [m]."""
        if self.fingers_at is not None:
            return self.fingers_at(opening_m)
        return [0.5 * opening_m] * len(self.finger_joints)


@dataclass(frozen=True)
class ObstacleModel:
    """An articulated object, or a box."""

    name: str
    urdf_path: Path | None
    T_world_root: Pose
    size_m: tuple[float, float, float] | None = None
    joint: str | None = None
    """The acted-on joint; argument `s` of a query sets its position."""
    joint_positions: Mapping[str, float] | None = None
    positions_at: Callable[[float], Mapping[str, float]] | None = None
    """Returns the positions of all joints that move, the acted-on one too, at the `s` of a query; None: it is that of
    the acted-on joint, and no other joint moves."""


def _tilt_of(T_world_object: Pose) -> float:
    """Returns the angle between the z axis of an object and the vertical [rad]."""
    return math.acos(min(max(float(T_world_object.R[2, 2]), -1.0), 1.0))


class BulletCollisionChecker:
    """Checks joint configurations of one arm for collisions.

    Pairs that may touch are a state of the checker, see `allow`.
    """

    def __init__(self, *, clearance_m: float = 0.004) -> None:
        """Makes a checker; use as a context manager.

        `clearance_m` is the distance to other bodies below which a pair counts as colliding [m].
        """
        self.clearance_m = clearance_m
        self._world = World(WorldCfg())
        self._loads = 0
        """Loads since the world was reset."""
        self._clear()

    def _clear(self) -> None:
        self.queries = 0
        self._robot: Body | None = None
        self._kinds: tuple[tuple[str, Path | None], ...] | None = None
        """Name and URDF of each obstacle; None if there are copies of links beside them."""
        self._boxes: tuple[tuple[object, bytes], ...] = ()
        """Size and pose of each box."""
        self._model: RobotModel | None = None
        self._obstacles: dict[str, Body] = {}
        self._acted_joint: tuple[Body, JointInfo] | None = None
        self._part_joints: list[JointInfo] = []
        """Joints that argument `s` of a query moves."""
        self._set_to: tuple[float | None, ...] = ()
        """Position of the part and opening of the last query; empty before the first."""
        self._positions_at: Callable[[float], Mapping[str, float]] | None = None
        self._allowed: frozenset[tuple[str, str]] = frozenset()
        self._ignored: tuple[str, ...] = ()
        self._own_links: frozenset[int] | None = None
        self._mounted: frozenset[int] = frozenset()
        """Links of the robot that no joint moves."""
        self._free: Body | None = None
        self._hand: frozenset[str] = frozenset()
        """Links that may touch the carried object: the fingers, and the links fixed to the ee link."""
        self._T_ee_carried: Pose | None = None
        """Where the free object is in the hand; None: the hand does not carry it."""
        self._max_tilt_rad: float | None = None
        """Largest tilt of the carried object from upright [rad]; None: any."""
        self._moved: frozenset[tuple[int, int]] = frozenset()
        """Body and link of everything that moves with the acted-on joint."""
        self._swept: dict[int, tuple[str, str | None]] = {}
        """Original link and its obstacle, by the number of each copy."""

    def __enter__(self) -> BulletCollisionChecker:
        self._world.__enter__()
        return self

    def __exit__(self, *exc: object) -> None:
        self._world.__exit__(*exc)

    def load(
        self,
        robot: RobotModel,
        obstacles: Sequence[ObstacleModel],
        *,
        ignored_substrings: Iterable[str] = (),
        concurrent_motions: Sequence[PlannedMotion] = (),
        free_object: str | None = None,
    ) -> None:
        """Loads a robot and obstacles in place of everything in the checker.

        The robot stays loaded while it is the same, and so do the objects while all of them come from the same files:
        layouts and strategies of a search differ in poses, joint positions and boxes. All answers are those of a new
        checker, to the last bit.

        Args:
            robot: The arm to check.
            obstacles: Objects that the arm must not touch.
            ignored_substrings: Links whose name (`<body>/<link>`) contains one of these are left out.
            concurrent_motions: Motions of the robot's other arms at the same time; the arm and the part that it moves
                keep clear of the whole space that these arms and their parts sweep.
            free_object: Name of the obstacle that the hand may carry, see `carried_from`.
        """
        kinds = tuple((obstacle.name, obstacle.urdf_path) for obstacle in obstacles)
        places = ((each.urdf_path, each.size_m, each.T_world_root.matrix.tobytes()) for each in obstacles)
        boxes = tuple((size_m, place) for urdf_path, size_m, place in places if urdf_path is None)
        kept = self._keep_bodies(robot, kinds, boxes)
        self._clear()
        self._boxes = boxes
        self._ignored = tuple(ignored_substrings)
        self._model = robot
        self._robot = self._load_robot(robot, kept.get(_ROBOT))
        self._mounted = frozenset(self._robot.link_index(name) for name in self._robot.mounted_links)
        names = robot.arm_links
        self._own_links = None if names is None else frozenset(self._robot.link_index(name) for name in names)
        for obstacle in obstacles:
            self._load_obstacle(obstacle, kept.get(obstacle.name))
        if free_object is not None:
            self._free = self._obstacles[free_object]
            fixed = (group for group in self._robot.rigid_groups if robot.ee_link in group)
            self._hand = robot.finger_links | next(fixed, frozenset())
        if self._acted_joint is not None:
            body, joint = self._acted_joint
            self._moved = frozenset((body.body_id, link) for link in moved_links(body, joint.name))
        for motion in concurrent_motions:
            self._place_copies(motion)
        if concurrent_motions:
            from unlatch.simcore.sim.sweep import collide_with_copies

            collide_with_copies(self._robot, self._own_links or self._robot.links.values())
            if self._acted_joint is not None:
                collide_with_copies(self._acted_joint[0], sorted(link for _, link in self._moved))

        self._query = self._make_query(self._robot, robot)
        self._kinds = None if concurrent_motions else kinds

    def _make_query(self, robot: Body, model: RobotModel) -> NearQuery:
        """Returns the query of the loaded scene, whose joints each call sets."""
        bodies = self._obstacles.values()
        self._still = frozenset(body.body_id for body in bodies if not body.joints)
        part = None
        if self._acted_joint is not None:
            part, joint = self._acted_joint
            moved = [joint.name] if self._positions_at is None else self._positions_at(0.0)
            self._part_joints = [part.joint(name) for name in moved]
        return NearQuery(
            robot.state,
            [robot.rows[name] for name in (*model.arm_joints, *model.finger_joints)],
            [*(body.body_id for body in bodies), *self._swept],
            None if part is None else part.state,
            [] if part is None else [part.rows[joint.name] for joint in self._part_joints],
        )

    def _keep_bodies(
        self, robot: RobotModel, kinds: Sequence[tuple[str, Path | None]], boxes: Sequence[tuple[object, bytes]]
    ) -> dict[str, Body]:
        """Removes what the next scene does not keep; returns the rest by name.

        The robot is kept if it is the same, and with it all that has a URDF, if these files are the same, too; then
        also the boxes, if none differs.
        """
        loaded = self._kinds
        if loaded is None or self._model is None or not robot.has_same_body(self._model) or self._loads == _KEPT_FOR:
            self._world.reset()
            self._loads = 0
        self._loads += 1
        for name, urdf_path in reversed((loaded or ()) if self._world.bodies else ()):
            if kinds != loaded or (urdf_path is None and boxes != self._boxes):
                # Bullet gives its number to the next body: the last one removed comes first
                self._world.remove(name)
        return dict(self._world.bodies)

    def _load_robot(self, model: RobotModel, kept: Body | None) -> Body:
        body = kept or self._world.load_urdf(
            model.urdf_path, name=_ROBOT, T_world_root=model.T_world_base, self_collision=True
        )
        if kept is not None:
            kept.restore_as_loaded(model.T_world_base)
        else:
            for pair in model.ignored_pairs:
                first, second = sorted(pair)
                body.ignore_collision(body, first, second)
        body.set_joint_positions(list(model.home), list(model.home.values()))
        return body

    def _get_loaded(self) -> tuple[Body, RobotModel]:
        """Returns the loaded robot and its model."""
        if self._robot is None or self._model is None:
            raise WorldError("The collision checker is empty. Call load(robot, obstacles) before asking it.")
        return self._robot, self._model

    def _place_copies(self, motion: PlannedMotion) -> None:
        """Places copies of another arm, and of the part that it moves, along their motion."""
        robot, _ = self._get_loaded()
        links = [robot.link_index(name) for name in sorted(motion.links)]
        from unlatch.simcore.sim.sweep import sweep

        copies = sweep(robot, links, motion.joints, motion.q, fixed=motion.fingers)
        self._swept.update({number: (name, None) for number, name in copies.items()})
        if motion.obstacle is not None and motion.joint is not None and len(motion.s):
            body = self._obstacles[motion.obstacle]
            moved = sorted(moved_links(body, motion.joint))
            copies = sweep(body, moved, [motion.joint], motion.s[:, None], fixed={})
            label = motion.obstacle
            self._swept.update({number: (f"{label}/{name}", label) for number, name in copies.items()})

    def _load_obstacle(self, obstacle: ObstacleModel, kept: Body | None) -> None:
        if obstacle.urdf_path is None and kept is not None:
            body = kept
        elif obstacle.urdf_path is None:
            size = obstacle.size_m if obstacle.size_m is not None else (0.0, 0.0, 0.0)
            body = self._world.add_box(obstacle.name, size_m=size, T_world_box=obstacle.T_world_root)
            if self._robot is not None:
                self._robot.stand_on(body)
        else:
            if kept is not None:
                kept.restore_as_loaded(obstacle.T_world_root)
            body = kept or self._world.load_urdf(
                obstacle.urdf_path, name=obstacle.name, T_world_root=obstacle.T_world_root
            )
            positions = dict(obstacle.joint_positions or {})
            body.set_joint_positions(list(positions), list(positions.values()))
            if obstacle.joint is not None:
                self._acted_joint = (body, body.joint(obstacle.joint))
                self._positions_at = obstacle.positions_at
        self._obstacles[obstacle.name] = body

    @contextmanager
    def allow(self, links: Iterable[str]) -> Iterator[None]:
        """Lets the fingers touch these links (`<body>/<link>`) inside the block, and no others."""
        before = self._allowed
        fingers = self._model.finger_links if self._model is not None else frozenset()
        self._allowed = frozenset((finger, link) for finger in fingers for link in links)
        try:
            yield
        finally:
            self._allowed = before

    @contextmanager
    def carried_from(self, q: Array, *, max_tilt_rad: float | None = None) -> Iterator[None]:
        """Lets the free object move with the hand inside the block, as if it was grasped with the arm at q (n,) [rad].

        With `max_tilt_rad`, an object that is tilted further from upright counts as a collision. One that is tilted
        further at q already may stay so [rad].

        Raises:
            WorldError: The loaded scene has no free object.
        """
        body = self._get_free()
        with self._free_object_restored():
            T_world_object = body.root_pose()
            self._T_ee_carried = self._ee_pose(q).inverse() @ T_world_object
            if max_tilt_rad is not None:
                # an object that is tilted more than it may be at the start may tilt this much more [rad]
                self._max_tilt_rad = max(max_tilt_rad, _tilt_of(T_world_object) + 0.02)
            yield

    @contextmanager
    def released_at(self, q: Array) -> Iterator[None]:
        """Leaves the free object inside the block where the hand at q (n,) [rad] has put it.

        Raises:
            WorldError: The hand does not carry it.
        """
        body, T_ee_carried = self._get_free(), self._T_ee_carried
        if T_ee_carried is None:
            raise WorldError("The hand carries nothing that it could release. Call this inside `carried_from`.")
        with self._free_object_restored():
            body.set_root_pose(self._ee_pose(q) @ T_ee_carried)
            self._T_ee_carried = None
            yield

    def _get_free(self) -> Body:
        if self._free is None:
            raise WorldError("The loaded scene has no free object. Name it as `free_object` of load().")
        return self._free

    @contextmanager
    def _free_object_restored(self) -> Iterator[None]:
        """Puts the free object back after the block, in the hand or where it stood."""
        body, before = self._get_free(), self._get_free().root_pose()
        T_ee_carried, max_tilt_rad = self._T_ee_carried, self._max_tilt_rad
        try:
            yield
        finally:
            body.set_root_pose(before)
            self._T_ee_carried, self._max_tilt_rad = T_ee_carried, max_tilt_rad

    def _ee_pose(self, q: Array) -> Pose:
        """Returns `T_world_ee` with the arm at q (n,) [rad]."""
        robot, model = self._get_loaded()
        if model.ee_link is None:
            raise WorldError("The model of the arm names no ee link, with which an object would move.")
        robot.set_joint_positions(model.arm_joints, q)
        return robot.link_pose(model.ee_link)

    def deepest_collision(
        self, q: Array, *, s: float | None = None, gripper: float | None = None, clearance_m: float | None = None
    ) -> LinkCollision | None:
        """Returns the deepest collision of a configuration, or None if it is free.

        Args:
            q: (n_q,) joint positions of the arm [rad].
            s: Position of the acted-on joint of the object [rad or m]; unchanged if None.
            gripper: Opening between the fingers [m]; unchanged if None.
            clearance_m: Clearance to other bodies in place of the checker's [m]. If it is given, distances are
                measured. If not, only pairs with contact points of the engine count; small links get them about a
                millimetre apart. The robot's own links must be `SELF_CLEARANCE_M` apart.
        """
        _, model = self._get_loaded()
        self.queries += 1
        n = len(model.arm_joints)
        if len(q) != n:
            raise WorldError(f"The arm has {n} joints, got {len(q)} positions. Give one per joint.")
        if self._T_ee_carried is not None and model.ee_link is not None:
            T_world_carried = self._ee_pose(q) @ self._T_ee_carried
            if self._max_tilt_rad is not None and _tilt_of(T_world_carried) > self._max_tilt_rad:
                hit = (f"{self._get_free().name} in the hand", f"a tilt above {self._max_tilt_rad:.2f} rad")
                return LinkCollision(*hit, 0.0, tuple(T_world_carried.p.tolist()))
            self._get_free().set_root_pose(T_world_carried)
        query = self._query
        query.q[:n] = q
        if (s, gripper) != self._set_to:
            self._set_to = s, gripper
            self._set_part_and_fingers(s, gripper)
        query.struct.distance = -1.0 if clearance_m is None else clearance_m
        limit = self.clearance_m if clearance_m is None else clearance_m
        worst: LinkCollision | None = None
        for point in self._world.core.find_near(query):
            if point[6] >= self._required_clearance(point, limit) or self._is_mount(point):
                continue
            if worst is None or point[6] < worst.distance_m:
                worst = self._find_collision(point) or worst
        if worst is None and self._T_ee_carried is not None:
            worst = self._find_carried_collision(clearance_m)
        return worst if worst is not None or not self._swept else self._find_part_collision()

    def _find_carried_collision(self, clearance_m: float | None) -> LinkCollision | None:
        """Returns where the carried object is too near to anything but the robot."""
        body, client = self._get_free(), self._world.client
        limit = _CARRIED_CLEARANCE_M if clearance_m is None else clearance_m
        limit = _CARRIED_TOUCH_M if self._allowed else limit
        others = [other for other in self._obstacles.values() if other is not body]
        for other in others:
            for point in p.getClosestPoints(body.body_id, other.body_id, max(limit, 0.0), physicsClientId=client):
                if point[8] < limit:
                    hit = (f"{body.name} in the hand", other.label(point[4]))
                    return LinkCollision(*hit, float(point[8]), tuple(point[5]))
        return None

    def _set_part_and_fingers(self, s: float | None, gripper: float | None) -> None:
        """Sets the joints of the next queries beside those of the arm."""
        _, model = self._get_loaded()
        query, n = self._query, len(model.arm_joints)
        if gripper is not None:
            query.q[n:] = np.reshape(model.fingers(gripper), query.q[n:].shape)  # no value is repeated
        query.struct.n_q = n if gripper is None else len(query.q)
        query.struct.n_s = 0 if s is None else len(query.s)
        if s is not None and self._part_joints:
            moved = (float(s),) if self._positions_at is None else self._positions_at(float(s)).values()
            # a part that is pushed past its limit stays at the limit
            query.s[:] = [
                min(max(position, joint.lower), joint.upper) if joint.lower < joint.upper else position
                for joint, position in zip(self._part_joints, moved, strict=True)
            ]

    def _is_mount(self, point: tuple[Any, ...]) -> bool:
        """Whether a point is the distance of a link fixed to the root from a body without joints, its table."""
        return not point[4] and point[2] in self._mounted and point[1] in self._still

    def _find_part_collision(self) -> LinkCollision | None:
        """Returns where the moved part collides with another arm or with a part of another obstacle."""
        if self._acted_joint is None:
            return None
        body, joint = self._acted_joint
        for link in moved_links(body, joint.name):
            points = p.getContactPoints(bodyA=body.body_id, linkIndexA=link, physicsClientId=self._world.client)
            for point in points:
                other = point[2] if point[1] == body.body_id else point[1]
                name, owner = self._swept.get(other, ("", body.name))
                if owner != body.name and point[8] < SWEPT_CLEARANCE_M:
                    return LinkCollision(body.label(link), f"{name} on its way", float(point[8]), tuple(point[5]))
        return None

    def _required_clearance(self, point: tuple[Any, ...], limit: float) -> float:
        """Returns the clearance of a contact point's pair [m]; minus infinity for a pair without a moved link."""
        body_a, body_b, link_a, link_b, *_ = point
        within = body_a == body_b
        own = self._own_links
        if own is None or self._robot is None:
            return SELF_CLEARANCE_M if within else limit
        if body_a in self._swept or body_b in self._swept:
            limit = max(limit, SWEPT_CLEARANCE_M)
        robot_id = self._robot.body_id
        pair = ((body_a, link_a), (body_b, link_b))
        mine = [link in own for body, link in pair if body == robot_id]
        if not any(mine):  # a moved part may touch a waiting arm
            return limit if any(each in self._moved for each in pair) else -math.inf
        return SELF_CLEARANCE_M if all(mine) and within else limit

    def overlap(self) -> LinkCollision | None:
        """Returns the deepest overlap of the loaded scene, including pairs of fixed bodies; None if there is none.

        Contacts between the robot's mounted links and the body that it stands on do not count.
        """
        robot, _ = self._get_loaded()
        bodies = [robot, *self._obstacles.values()]
        worst: LinkCollision | None = None
        for first, second in combinations(bodies, 2):
            for point in p.getClosestPoints(first.body_id, second.body_id, 0.0, physicsClientId=self._world.client):
                mounted = first is robot and not second.joints and first.link_names[point[3]] in robot.mounted_links
                # overlaps up to this depth are contact [m]
                if mounted or point[8] >= (worst.distance_m if worst is not None else -1e-3):
                    continue
                label = first.link_names[point[3]] if first is robot else first.label(point[3])
                worst = LinkCollision(label, second.label(point[4]), float(point[8]), tuple(point[5]))
        return worst

    def _find_collision(self, point: tuple[Any, ...]) -> LinkCollision | None:
        """Returns the collision of a contact point, or None if its pair may touch."""
        robot, model = self._get_loaded()
        body_a, body_b, link_a, link_b, *_, distance_m, where = point
        if body_a != robot.body_id:
            body_a, body_b, link_a, link_b = body_b, body_a, link_b, link_a
        name_a = robot.link_names[link_a]
        if body_b == robot.body_id:
            name_b = robot.link_names[link_b]
            if frozenset((name_a, name_b)) in model.ignored_pairs:
                return None
        elif body_b in self._swept:
            name_b = f"{self._swept[body_b][0]} on its way"
        else:
            other = self._world.name_of(body_b)
            name_b = self._obstacles[other].label(link_b)
            if self._T_ee_carried is not None and self._obstacles[other] is self._free and name_a in self._hand:
                return None
            if (name_a, name_b) in self._allowed:
                return None
        if any(word in name_a or word in name_b for word in self._ignored):
            return None
        return LinkCollision(name_a, name_b, distance_m, (float(where[0]), float(where[1]), float(where[2])))


SWEPT_CLEARANCE_M = 0.01
"""Distance to a copy below which a pair collides [m]; it covers the space between two copies."""


@dataclass(frozen=True)
class PlannedMotion:
    """The planned motion of another arm of the robot, and of the part that it moves."""

    links: frozenset[str]
    """Links of the arm."""
    joints: tuple[str, ...]
    """Its joints."""
    q: Array
    """(N, n) their positions, in order [rad]."""
    fingers: Mapping[str, float]
    """Positions of its finger joints at their widest opening on the way [rad or m]."""
    obstacle: str | None = None
    """Name of the obstacle whose part it moves."""
    joint: str | None = None
    """Joint of that part."""
    s: Array = field(default_factory=lambda: np.zeros(0))
    """(M,) positions of that joint, in order [rad or m]."""
