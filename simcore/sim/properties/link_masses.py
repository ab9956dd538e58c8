"""Masses and inertias of a body's links, kept consistent where Bullet is not.

`changeDynamics(mass=...)` replaces a link's inertia by that of its collision shape, so both are written together.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pybullet as p
from numpy.typing import ArrayLike

from unlatch.simcore.geometry import Pose

Array = np.ndarray


@dataclass
class LinkMass:
    """Mass and inertia of one link, and the armature of its joint."""

    mass_kg: float
    inertia_kg_m2: Array
    """(3,) principal moments, in the order of Bullet's inertial frame."""
    inertia_is_given: bool
    """Whether the moments were set; then a change of mass leaves them unchanged."""
    added_mass_kg: float
    """Mass of the armature of a sliding joint; gravity must not act on it."""
    added_inertia_kg_m2: Array
    """(3,) principal moments of the armature of a turning joint."""


class LinkMasses:
    """The links of one body by Bullet's number; -1 is the root."""

    def __init__(self, client: int, body_id: int) -> None:
        self._client = client
        self._body_id = body_id
        self._links: dict[int, LinkMass] = {}

    def link(self, index: int) -> LinkMass:
        """Returns the mass of a link without armature; it is read from Bullet once."""
        if index not in self._links:
            info = p.getDynamicsInfo(self._body_id, index, physicsClientId=self._client)
            self._links[index] = LinkMass(info[0], np.array(info[2]), False, 0.0, np.zeros(3))
        return self._links[index]

    def set_mass(self, index: int, mass_kg: float) -> None:
        """Sets a link's mass; its inertia changes in proportion, unless it was set or the link has no mass."""
        link = self.link(index)
        if link.mass_kg > 0.0 and not link.inertia_is_given:
            link.inertia_kg_m2 = link.inertia_kg_m2 * (mass_kg / link.mass_kg)
        link.mass_kg = float(mass_kg)
        self._write_dynamics(index)

    def set_inertia(self, index: int, inertia_kg_m2: ArrayLike) -> None:
        """Sets a link's principal moments (3,) [kg m^2]; a later change of mass leaves them unchanged."""
        link = self.link(index)
        link.inertia_kg_m2 = np.array(inertia_kg_m2, dtype=float)
        link.inertia_is_given = True
        self._write_dynamics(index)

    def set_armature(self, index: int, armature: float, *, axis_link: ArrayLike, prismatic: bool) -> None:
        """Sets the armature of a joint on its child link; an axis between principal axes is split among them.

        Args:
            index: The child link.
            armature: Inertia at the joint [kg m^2], or mass of one that slides [kg].
            axis_link: (3,) the joint's axis in the link frame.
            prismatic: Whether the joint slides.
        """
        link = self.link(index)
        if prismatic:
            link.added_mass_kg = float(armature)
        else:
            info = p.getDynamicsInfo(self._body_id, index, physicsClientId=self._client)
            R_link_inertia = Pose.from_quat_xyzw(np.zeros(3), np.array(info[4])).R
            link.added_inertia_kg_m2 = armature * (R_link_inertia.T @ np.array(axis_link, dtype=float)) ** 2
        self._write_dynamics(index)

    def _write_dynamics(self, index: int) -> None:
        link = self.link(index)
        inertia = link.inertia_kg_m2 + link.added_inertia_kg_m2
        p.changeDynamics(
            self._body_id,
            index,
            mass=link.mass_kg + link.added_mass_kg,
            localInertiaDiagonal=inertia.tolist(),
            physicsClientId=self._client,
        )
