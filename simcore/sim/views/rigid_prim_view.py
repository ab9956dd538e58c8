"""Rigid bodies as a view."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from unlatch.simcore.errors import WorldError
from unlatch.simcore.geometry import Pose
from unlatch.simcore.sim.bodies import ROOT, Body
from unlatch.simcore.sim.properties.contact_material import ContactMaterials
from unlatch.simcore.sim.properties.contact_offsets import ContactOffset
from unlatch.simcore.sim.views.view import BodyView
from unlatch.simcore.sim.world import World

Array = np.ndarray

LEAST_MASS_KG = 1e-6
LEAST_INERTIA_KG_M2 = 1e-9


class RigidPrimView(BodyView):
    """Bodies of one link. Fixed bodies have only a pose and a material."""

    kind = "rigid prim view"

    def __init__(
        self, world: World, bodies: Sequence[Body], *, name: str, origins: Sequence[Pose] | None = None
    ) -> None:
        """Makes a view; see `BodyView`.

        Raises:
            WorldError: A body has movable joints, or an error of `BodyView`.
        """
        super().__init__(world, bodies, name=name, origins=origins)
        for body in self.bodies:
            if body.movable_joints:
                raise WorldError(
                    f"Body '{body.name}' of view '{name}' has joints that move. Make an ArticulationView of it.",
                    view=name,
                )
        self._materials = [ContactMaterials(world, body, [ROOT]) for body in self.bodies]
        self._offsets: dict[int, ContactOffset] = {}
        self._forces: dict[int, Array] = {}
        self._registered = False
        self._add_pose_and_velocity()
        fixed = self.bodies[0].fixed
        if not fixed:
            self._add_dynamics()
        self._add_attribute(
            "material_properties",
            3,
            "-",
            "static friction, dynamic friction, restitution",
            lambda env: self._materials[env].values(),
            lambda env, values: self._materials[env].set_values(values),
            least=0.0,
        )
        if not fixed:
            self._add_offsets()
        else:
            reason = "it stands still. Leave it out, or view a free body"
            self._missing.update(dict.fromkeys(("force", "mass", "inertia", "contact_offset", "rest_offset"), reason))

    def _add_dynamics(self) -> None:
        self._add_attribute("force", 3, "N", "x, y, z", self._read_force, self._set_force, lasts_one_step=True)
        self._add_attribute(
            "mass",
            1,
            "kg",
            "mass",
            lambda env: np.array([self.bodies[env].masses.link(ROOT).mass_kg]),
            lambda env, values: self.bodies[env].masses.set_mass(ROOT, float(values[0])),
            least=LEAST_MASS_KG,
        )
        self._add_attribute(
            "inertia",
            3,
            "kg m^2",
            "about the principal axes x, y, z",
            lambda env: self.bodies[env].masses.link(ROOT).inertia_kg_m2.copy(),
            lambda env, values: self.bodies[env].masses.set_inertia(ROOT, values),
            least=LEAST_INERTIA_KG_M2,
        )

    def _add_offsets(self) -> None:
        for name, field in (("contact_offset", "contact_m"), ("rest_offset", "rest_m")):

            def read(env: int, field: str = field) -> Array:
                return np.array([getattr(self._offset_of(env), field)])

            def write(env: int, values: Array, field: str = field) -> None:
                self._offset_of(env).set(**{field: float(values[0])})

            self._add_attribute(name, 1, "m", "offset", read, write, least=0.0)

    def _offset_of(self, env: int) -> ContactOffset:
        if env not in self._offsets:
            self._offsets[env] = ContactOffset(self.world, self.bodies[env])
        return self._offsets[env]

    def _read_force(self, env: int) -> Array:
        return self.origins[env].R.T @ self._forces.get(env, np.zeros(3))

    def _set_force(self, env: int, values: Array) -> None:
        if not np.any(values):
            self._forces.pop(env, None)
            return
        self._forces[env] = self.origins[env].R @ values
        if not self._registered:
            self.world.call_before_step(self._apply_forces)
            self._registered = True

    def _apply_forces(self) -> None:
        for env, force in self._forces.items():
            self.bodies[env].apply_force(ROOT, force)
