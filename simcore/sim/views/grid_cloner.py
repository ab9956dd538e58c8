"""Copies one environment in one world, on a grid and without contacts between copies."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import combinations, product

import pybullet as p

from unlatch.simcore.errors import WorldError
from unlatch.simcore.geometry import Pose
from unlatch.simcore.sim.bodies import Body
from unlatch.simcore.sim.world import World


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
