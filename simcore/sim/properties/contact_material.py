"""Static and dynamic friction and restitution of links, over Bullet's one friction coefficient."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import astuple, dataclass

import numpy as np
import pybullet as p

from unlatch.simcore.sim.bodies import Body
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
