"""The base of views of bodies: one body per environment, its pose and its velocity; and gravity of a world."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from unlatch.simcore.errors import WorldError
from unlatch.simcore.geometry import Pose
from unlatch.simcore.geometry.rotations import rpy_from_matrix
from unlatch.simcore.sim.bodies import Body
from unlatch.simcore.sim.views.attribute_view import AttributeView, ViewAttribute
from unlatch.simcore.sim.world import World

Array = np.ndarray


class BodyView(AttributeView):
    """Bodies of one kind in the environments of a world; a subclass defines their attributes.

    Poses are those of the root link in the frame of the environment, so a value means the same in each environment.
    """

    def __init__(
        self, world: World, bodies: Sequence[Body], *, name: str, origins: Sequence[Pose] | None = None
    ) -> None:
        """Makes a view.

        Args:
            world: The world that the bodies are in.
            bodies: One body per environment, with the same joints and links.
            name: Name of the view.
            origins: `T_world_env` of every environment; the world's own frame by default.

        Raises:
            WorldError: There is no body, bodies differ, or there is not one origin per body.
        """
        if not bodies:
            raise WorldError(f"View '{name}' has no bodies. Give one body per environment.", view=name)
        for body in bodies:
            # the only link of a body without a model has the name of the body
            links = list(body.links) if body.joints else []
            if links != (list(bodies[0].links) if bodies[0].joints else []) or [*body.joints] != [*bodies[0].joints]:
                raise WorldError(
                    f"View '{name}' holds bodies that differ: '{body.name}' has other links or joints than "
                    f"'{bodies[0].name}'. Give copies of one model.",
                    view=name,
                )
        if origins is not None and len(origins) != len(bodies):
            raise WorldError(
                f"View '{name}' has {len(bodies)} bodies and {len(origins)} origins. Give one origin per body.",
                view=name,
            )
        super().__init__(name, count=len(bodies))
        self.world = world
        self.bodies = tuple(bodies)
        self.origins = tuple(origins) if origins is not None else (Pose.identity(),) * len(bodies)

    def _add_pose_and_velocity(self) -> None:
        xyz, fixed = "x, y, z", self.bodies[0].fixed
        self._add_attribute("position", 3, "m", xyz, lambda env: self._root_pose(env).p.copy(), self._set_position)
        self._add_attribute(
            "orientation",
            3,
            "rad",
            "roll, pitch, yaw",
            lambda env: rpy_from_matrix(self._root_pose(env).R),
            self._set_orientation,
        )
        if fixed:
            reason = "its root stands still. Leave it out, or view a free body"
            self._missing.update(dict.fromkeys(("linear_velocity", "angular_velocity", "velocity"), reason))
            return
        self._add_velocity("linear_velocity", "m/s", xyz, slice(0, 3))
        self._add_velocity("angular_velocity", "rad/s", xyz, slice(3, 6))
        self._add_velocity("velocity", "m/s, rad/s", "linear x, y, z, angular x, y, z", slice(0, 6))

    def _add_velocity(self, name: str, unit: str, components: str, part: slice) -> None:
        """Adds a part of the linear and angular velocity (6,)."""

        def write(env: int, values: Array) -> None:
            R, velocity = self.origins[env].R, self._read_velocity(env)
            velocity[part] = values
            self.bodies[env].set_root_velocity(R @ velocity[:3], R @ velocity[3:])

        self._add_attribute(
            name, part.stop - part.start, unit, components, lambda env: self._read_velocity(env)[part], write
        )

    def _root_pose(self, env: int) -> Pose:
        return self.origins[env].inverse() @ self.bodies[env].root_pose()

    def _move_root(self, env: int, T_env_root: Pose) -> None:
        """Moves a member and keeps its velocity."""
        body = self.bodies[env]
        velocity = None if body.fixed else body.root_velocity()
        body.set_root_pose(self.origins[env] @ T_env_root)
        if velocity is not None:
            body.set_root_velocity(*velocity)

    def _set_position(self, env: int, values: Array) -> None:
        self._move_root(env, Pose(self._root_pose(env).R, values))

    def _set_orientation(self, env: int, values: Array) -> None:
        self._move_root(env, Pose.from_rpy(self._root_pose(env).p, values))

    def _read_velocity(self, env: int) -> Array:
        velocity = np.array(self.bodies[env].root_velocity())  # (2, 3)
        return (velocity @ self.origins[env].R).ravel()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name}, {self.count} environments)"


def gravity_attribute(world: World) -> ViewAttribute:
    """Returns gravity as an attribute; all environments share it."""
    return ViewAttribute(
        "gravity",
        3,
        "m/s^2",
        "x, y, z",
        lambda _env: world.gravity_m_s2,
        lambda _env, values: world.set_gravity(values),
    )
