"""Properties of contacts that Bullet lacks: static and dynamic friction, and contact and rest offsets."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import astuple, dataclass
from typing import Any

import numpy as np
import pybullet as p

from unlatch.simcore.sim.bodies import ROOT, Body
from unlatch.simcore.sim.world import World

Array = np.ndarray

SLIDING_M_S = 0.01
"""Tangential speed of a contact above which the dynamic coefficient acts [m/s]."""


@dataclass(frozen=True)
class ContactMaterial:
    """Surface of one link. Bullet multiplies the frictions and the restitutions of two links in contact."""

    static_friction: float
    dynamic_friction: float
    restitution: float


class ContactMaterials:
    """Materials of the links of one body.

    Bullet has one lateral friction. If static and dynamic friction differ, one of them is chosen before every physics
    step: the dynamic one if a contact of the link slides faster than `SLIDING_M_S`, else the static one.
    """

    def __init__(self, world: World, body: Body, links: Iterable[int]) -> None:
        """Reads the present materials of links, by Bullet's number."""
        self._world = world
        self._body = body
        self._registered = False
        self._materials: dict[int, ContactMaterial] = {}
        for index in links:
            info = p.getDynamicsInfo(body.body_id, index, physicsClientId=body.client)
            self._materials[index] = ContactMaterial(info[1], info[1], info[5])
        self._slides: dict[int, bool] = {}

    def values(self) -> Array:
        """Returns static friction, dynamic friction and restitution of every link, one after the other (3 L,)."""
        return np.array([astuple(material) for material in self._materials.values()]).ravel()

    def set_values(self, values: Array) -> None:
        """Changes the materials of all links; the values are as in `values`."""
        for index, row in zip(self._materials, values.reshape(-1, 3).tolist(), strict=True):
            self._set_material(index, ContactMaterial(*row))

    def _set_material(self, index: int, material: ContactMaterial) -> None:
        self._materials[index] = material
        self._slides[index] = False
        p.changeDynamics(
            self._body.body_id,
            index,
            lateralFriction=material.static_friction,
            restitution=material.restitution,
            physicsClientId=self._body.client,
        )
        if material.static_friction != material.dynamic_friction and not self._registered:
            self._world.call_before_step(self._choose_coefficients)
            self._registered = True

    def _choose_coefficients(self) -> None:
        """Sets the static or dynamic coefficient of every link by the speed of its contacts."""
        two = [index for index, m in self._materials.items() if m.static_friction != m.dynamic_friction]
        if not two:
            return
        sliding: set[int] = set()
        for point in p.getContactPoints(bodyA=self._body.body_id, physicsClientId=self._body.client):
            own, other, normal, force = point[3], point[4], np.array(point[7]), point[9]
            # a contact without force does not slide
            if own not in two or own in sliding or force <= 0.0:
                continue
            other_body = self._world.bodies[self._world.name_of(point[2])]
            relative = self._body.point_velocity(own, point[5]) - other_body.point_velocity(other, point[6])
            tangential = relative - normal * float(normal @ relative)
            if float(np.linalg.norm(tangential)) > SLIDING_M_S:
                sliding.add(own)
        for index in two:
            slides = index in sliding
            if slides != self._slides.get(index, False):
                material = self._materials[index]
                friction = material.dynamic_friction if slides else material.static_friction
                p.changeDynamics(self._body.body_id, index, lateralFriction=friction, physicsClientId=self._body.client)
                self._slides[index] = slides


_CLEAR_M = 1e-5
"""Distance from a corner at which the ray to the surface below it begins [m]."""


@dataclass
class _NearPoint:
    """One point where a body is near another."""

    p_world: Array
    normal: Array
    """(3,) from the other body to this one."""
    gap_m: float
    other: Body
    other_link: int
    friction: float
    restitution: float


class ContactOffset:
    """Keeps one free body of one link at `rest_m` from the bodies below it, beginning at `contact_m`.

    Before every physics step, it finds the points of the body that are closer than `contact_m` to another body.
    Impulses keep these points farther than `rest_m` during the step; they never pull, and have Coulomb friction. With
    both offsets at 0 it does nothing: Bullet's own contacts remain, which correct existing penetrations.

    Note:
        The closest point of each pair counts; for a box, all corners that face the other body. A contact view does not
        see these forces while the gap is above zero. They act on the other body, too.
    """

    def __init__(self, world: World, body: Body) -> None:
        self.contact_m = 0.0
        """Distance at which contact begins [m]; at least `rest_m`."""
        self.rest_m = 0.0
        """Distance at which the body rests [m]."""
        self._world = world
        self._body = body
        self._registered = False
        self._corners = self._box_corners()

    def set(self, *, contact_m: float | None = None, rest_m: float | None = None) -> None:
        """Sets one or both offsets, each 0 or more [m]."""
        self.contact_m = self.contact_m if contact_m is None else float(contact_m)
        self.rest_m = self.rest_m if rest_m is None else float(rest_m)
        if not self._registered and (self.contact_m > 0.0 or self.rest_m > 0.0):
            self._world.call_before_step(self._apply_contacts)
            self._registered = True

    def _box_corners(self) -> Array:
        """(8, 3) corners of a box in its centre-of-mass frame; (0, 3) of anything else."""
        shapes = p.getCollisionShapeData(self._body.body_id, ROOT, physicsClientId=self._body.client)
        if len(shapes) != 1 or shapes[0][2] != p.GEOM_BOX:
            return np.zeros((0, 3))
        half = 0.5 * np.array(shapes[0][3])
        return np.array(list(itertools.product((-1.0, 1.0), repeat=3))) * half

    def _apply_contacts(self) -> None:
        reach = max(self.contact_m, self.rest_m)
        if reach > 0.0 and (near := self._find_near_points(reach)):
            self._solve_impulses(near)

    def _find_near_points(self, reach_m: float) -> list[_NearPoint]:
        body, client = self._body, self._body.client
        lower, upper = (np.array(c) for c in p.getAABB(body.body_id, ROOT, physicsClientId=client))
        found: list[_NearPoint] = []
        overlaps = p.getOverlappingObjects(
            (lower - reach_m).tolist(), (upper + reach_m).tolist(), physicsClientId=client
        )
        for other_id in sorted({number for number, _ in overlaps or ()} - {body.body_id}):
            other = self._world.bodies[self._world.name_of(other_id)]
            if body.environment is not None and other.environment not in (None, body.environment):
                continue
            for point in p.getClosestPoints(body.body_id, other_id, reach_m, physicsClientId=client):
                found += self._points_of_pair(point, other, reach_m)
        return found

    def _points_of_pair(self, point: tuple[Any, ...], other: Body, reach_m: float) -> list[_NearPoint]:
        """Returns the closest point of a pair, and the corners of a box that face the same surface."""
        client = self._body.client
        normal, on_other, link = np.array(point[7]), np.array(point[6]), point[4]
        own = p.getDynamicsInfo(self._body.body_id, ROOT, physicsClientId=client)
        its = p.getDynamicsInfo(other.body_id, link, physicsClientId=client)
        friction, restitution = own[1] * its[1], own[5] * its[5]
        found = [_NearPoint(np.array(point[5]), normal, point[8], other, link, friction, restitution)]
        if not len(self._corners):
            return found
        position, R = self._com_pose()
        facing = []
        for corner in self._corners @ R.T + position:
            gap = float(normal @ (corner - on_other))
            if gap < reach_m:
                start, end = corner - _CLEAR_M * normal, corner - normal * (max(gap, 0.0) + reach_m)
                # from a touching corner, a ray would begin inside the other body and miss it
                touches = gap < 2.0 * _CLEAR_M
                if touches or p.rayTest(start.tolist(), end.tolist(), physicsClientId=client)[0][0] == other.body_id:
                    facing.append(_NearPoint(corner, normal, gap, other, link, friction, restitution))
        return facing or found

    def _com_pose(self) -> tuple[Array, Array]:
        """Returns position (3,) and rotation (3, 3) of the body's centre-of-mass frame."""
        pose = p.getBasePositionAndOrientation(self._body.body_id, physicsClientId=self._body.client)
        return np.array(pose[0]), np.array(p.getMatrixFromQuaternion(pose[1])).reshape(3, 3)

    def _solve_impulses(self, near: list[_NearPoint]) -> None:
        """Solves sequential impulses at the points; the touched body counts as immovable."""
        body, client, dt = self._body, self._body.client, self._world.dt
        link = body.masses.link(ROOT)
        position, R = self._com_pose()
        inverse_inertia = R @ np.diag(1.0 / np.maximum(link.inertia_kg_m2, 1e-12)) @ R.T
        linear, angular = (np.array(v) for v in p.getBaseVelocity(body.body_id, physicsClientId=client))
        linear = linear + self._world.gravity_m_s2 * dt
        arms = [point.p_world - position for point in near]
        others = [point.other.point_velocity(point.other_link, point.p_world) for point in near]
        approach = [
            float(n.normal @ (linear + np.cross(angular, a) - v)) for n, a, v in zip(near, arms, others, strict=True)
        ]
        impulses = np.zeros((len(near), 3))
        for _ in range(12):  # iterations over the contacts of a body in a step
            for i, point in enumerate(near):
                n, arm = point.normal, arms[i]
                velocity = linear + np.cross(angular, arm) - others[i]
                least = (self.rest_m - point.gap_m) / dt
                # approach speed below which nothing bounces, as in Bullet's own contacts [m/s]
                if -approach[i] > max(0.2, -least):
                    least = max(least, -point.restitution * approach[i])
                old = impulses[i]
                inverse_mass = _inverse_mass(link.mass_kg, inverse_inertia, arm, n)
                wanted = old - velocity / inverse_mass
                along = max(0.0, float(n @ old) + (least - float(n @ velocity)) / inverse_mass)
                across = wanted - n * float(n @ wanted)
                most, size = point.friction * along, float(np.linalg.norm(across))
                new = n * along + (across if size <= most else across * (most / size))
                change = new - old
                linear = linear + change / link.mass_kg
                angular = angular + inverse_inertia @ np.cross(arm, change)
                impulses[i] = new
        for point, impulse in zip(near, impulses, strict=True):
            force = impulse / dt
            body.apply_force(ROOT, force, point.p_world)
            if not (point.other.fixed and point.other_link == ROOT):
                point.other.apply_force(point.other_link, -force, point.p_world)


def _inverse_mass(mass_kg: float, inverse_inertia: Array, arm: Array, direction: Array) -> float:
    """Returns the velocity change of a point of a free body by a unit impulse along a direction [1/kg]."""
    lever = np.cross(arm, direction)
    return float(1.0 / mass_kg + lever @ inverse_inertia @ lever)
