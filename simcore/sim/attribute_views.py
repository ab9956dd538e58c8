"""Views: named quantities of one member in each of many environments; bodies as views, and copies of an environment."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product
from typing import Any

import numpy as np
import pybullet as p

from unlatch.simcore.errors import ConfigError, WorldError, unknown_entry
from unlatch.simcore.geometry import Array, Pose, rpy_from_matrix
from unlatch.simcore.sim.bodies import Body
from unlatch.simcore.sim.world import World


@dataclass(frozen=True)
class ViewAttribute:
    """A quantity of every member of a view."""

    name: str
    width: int
    """Values per member."""
    unit: str
    components: str
    """Meaning of the values, such as `x, y, z` or `one per joint: panda_joint1, ...`."""
    read: Callable[[int], Array]
    """Returns the present values (width,) of a member, by its environment."""
    write: Callable[[int, Array], None]
    """Writes (width,) values of a member."""
    least: float | None = None
    """Smallest meaningful value; smaller ones are raised to it. None: any."""
    most: float | Array | None = None
    """Largest meaningful value, or (width,) one for each; larger ones are lowered to it. None: any."""
    repeat: int | None = None
    """A shorter width that is accepted, too, and repeated: 3 values of a material for all links."""
    lasts_one_step: bool = False
    """Whether values of `on_interval` act only until the next `step_randomization`: forces and efforts."""

    @property
    def widths(self) -> tuple[int, ...]:
        """Accepted numbers of values, the full one first."""
        return (self.width,) if self.repeat in (None, self.width) else (self.width, int(self.repeat or 0))

    def bounded(self, values: Array) -> Array:
        """Returns values clipped to the meaningful range."""
        return values if self.least is None and self.most is None else np.clip(values, self.least, self.most)


class AttributeView:
    """Members in the environments of a world, and attributes of each; a subclass adds the attributes."""

    kind = "view"
    """Kind of view, for messages."""

    def __init__(self, name: str, *, count: int = 1) -> None:
        """Makes a view without attributes; `count` is the number of members, one per environment."""
        self.name = name
        self.count = count
        self.attributes: dict[str, ViewAttribute] = {}
        """Attributes by name."""
        self._missing: dict[str, str] = {}

    def attribute(self, name: str) -> ViewAttribute:
        """Returns an attribute by name.

        Raises:
            ConfigError: It has no attribute of that name.
        """
        if name in self._missing:
            raise ConfigError(
                f"View '{self.name}' ({self.kind}) has no '{name}': {self._missing[name]}.", key="attribute"
            )
        if name not in self.attributes:
            said, advice = f"View '{self.name}' ({self.kind}) has no attribute '{name}'.", "Name one of them."
            raise unknown_entry(said, name, self.attributes, error=ConfigError, advice=advice, key="attribute")
        return self.attributes[name]

    def get(self, name: str) -> Array:
        """Returns the present values (N, width) of an attribute of all members."""
        attribute = self.attribute(name)
        return np.array([attribute.read(env) for env in range(self.count)]).reshape(self.count, attribute.width)

    def include_attributes(self, other: AttributeView) -> None:
        """Adds the attributes of another view, so that messages name all of them."""
        self.attributes.update(other.attributes)
        self._missing.update(other._missing)

    def _add_attribute(
        self,
        name: str,
        width: int,
        unit: str,
        components: str,
        read: Callable[[int], Array],
        write: Callable[[int, Array], None],
        **options: Any,
    ) -> None:
        """Adds an attribute; the arguments are those of `ViewAttribute`."""
        self.attributes[name] = ViewAttribute(name, width, unit, components, read, write, **options)

    def _add_pose(self, read: Callable[[int], Pose], write: Callable[[int, Pose], None], *, turns: bool = True) -> None:
        """Adds position and, if it `turns`, orientation of a pose that each member has."""
        self._add_attribute(
            "position",
            3,
            "m",
            "x, y, z",
            lambda env: read(env).p.copy(),
            lambda env, v: write(env, Pose(read(env).R, v)),
        )
        if turns:
            self._add_attribute(
                "orientation",
                3,
                "rad",
                "roll, pitch, yaw",
                lambda env: rpy_from_matrix(read(env).R),
                lambda env, values: write(env, Pose.from_rpy(read(env).p, values)),
            )

    def _add_field(
        self,
        field: str,
        width: int,
        unit: str,
        components: str,
        owner: Any,
        holder: str,
        convert: Callable[[Array], Any],
        **options: Any,
    ) -> None:
        """Adds a field of a frozen dataclass as an attribute of the only member.

        `owner` holds the dataclass in its attribute `holder`, which every write replaces. `convert` turns the
        written values into the field's type.
        """

        def read(_env: int) -> Array:
            return np.atleast_1d(np.array(getattr(getattr(owner, holder), field), dtype=float))

        def write(_env: int, values: Array) -> None:
            setattr(owner, holder, replace(getattr(owner, holder), **{field: convert(values)}))

        self._add_attribute(field, width, unit, components, read, write, **options)

    def _add_array(
        self,
        name: str,
        owner: Any,
        field: str,
        unit: str,
        components: str,
        *,
        convert: Callable[[Array], Array] = np.array,
        after: Callable[[], None] | None = None,
        **options: Any,
    ) -> None:
        """Adds an array field of an object as an attribute of the only member.

        Args:
            name: Name of the attribute.
            owner: The object.
            field: Name of its field; every write replaces the array.
            unit: Unit of the values.
            components: Meaning of the values.
            convert: Converts written values.
            after: Called after every write.
            options: Further arguments of `ViewAttribute`.
        """
        shape = np.shape(getattr(owner, field))

        def read(_env: int) -> Array:
            return np.array(getattr(owner, field), dtype=float).ravel()

        def write(_env: int, values: Array) -> None:
            setattr(owner, field, convert(np.reshape(values, shape)))
            if after is not None:
                after()

        self._add_attribute(name, int(np.prod(shape)), unit, components, read, write, **options)


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
        self._add_pose(self._root_pose, self._move_root)
        if self.bodies[0].fixed:
            reason = "its root stands still. Leave it out, or view a free body"
            self._missing.update(dict.fromkeys(("linear_velocity", "angular_velocity", "velocity"), reason))
            return
        self._add_velocity("linear_velocity", "m/s", "x, y, z", slice(0, 3))
        self._add_velocity("angular_velocity", "rad/s", "x, y, z", slice(3, 6))
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


class GridCloner:
    """Fills a world with environments on a grid; bodies of two environments never collide."""

    def __init__(self, spacing: float) -> None:
        """Makes a cloner with a distance between neighbouring origins [m].

        Raises:
            WorldError: The spacing is not above 0.
        """
        if not spacing > 0.0:
            raise WorldError(f"spacing={spacing} is out of range. Expected above 0 m. Change it.", spacing=spacing)
        self.spacing = float(spacing)

    def origins(self, num_envs: int) -> list[Pose]:
        """Returns `T_world_env` of every environment: row by row on a square grid, centred on the world's origin."""
        columns = math.ceil(math.sqrt(num_envs))
        rows = math.ceil(num_envs / columns)
        middle_row, middle_column = 0.5 * (rows - 1), 0.5 * (columns - 1)
        places = (divmod(env, columns) for env in range(num_envs))
        return [
            Pose.from_translation((self.spacing * (row - middle_row), self.spacing * (column - middle_column), 0.0))
            for row, column in places
        ]

    def clone(self, world: World, num_envs: int, build: Callable[[int, Pose], None]) -> list[Pose]:
        """Builds every environment and switches contacts between them off.

        Args:
            world: The world; bodies that it contains already are shared by all environments.
            num_envs: Number of environments.
            build: Builds the environment of a number at its `T_world_env`; names must differ.

        Returns:
            `T_world_env` of every environment.

        Raises:
            WorldError: `num_envs` is below 1.
        """
        if num_envs < 1:
            raise WorldError(f"num_envs={num_envs} is out of range. Expected 1 or more. Change it.")
        origins = self.origins(num_envs)
        made: list[list[Body]] = []
        for env, T_world_env in enumerate(origins):
            before = set(world.bodies)
            build(env, T_world_env)
            made.append([body for name, body in world.bodies.items() if name not in before])
            for body in made[-1]:
                body.environment = env
        for bodies, others in combinations(made, 2):
            for a, b in product(bodies, others):
                for link_a, link_b in product(a.links.values(), b.links.values()):
                    p.setCollisionFilterPair(a.body_id, b.body_id, link_a, link_b, 0, physicsClientId=world.client)
        return origins
