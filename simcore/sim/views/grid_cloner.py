"""Copies one environment in one world, on a grid and without contacts between copies."""

from __future__ import annotations

import math
from collections.abc import Callable

import pybullet as p

from unlatch.simcore.errors import WorldError
from unlatch.simcore.geometry import Pose
from unlatch.simcore.sim.bodies import ROOT
from unlatch.simcore.sim.world import World


class GridCloner:
    """Fills a world with environments on a grid; bodies of two environments never collide."""

    def __init__(self, spacing: float) -> None:
        """Makes a cloner.

        Args:
            spacing: Distance between neighbouring origins [m].

        Raises:
            WorldError: It is not above 0.
        """
        if not spacing > 0.0:
            raise WorldError(f"spacing={spacing} is out of range. Expected above 0 m. Change it.", spacing=spacing)
        self.spacing = float(spacing)

    def origins(self, num_envs: int) -> list[Pose]:
        """Returns `T_world_env` of every environment: row by row on a square grid, centred on the world's origin."""
        columns = math.ceil(math.sqrt(num_envs))
        rows = math.ceil(num_envs / columns)
        return [
            Pose.from_translation(
                (
                    self.spacing * (env // columns - 0.5 * (rows - 1)),
                    self.spacing * (env % columns - 0.5 * (columns - 1)),
                    0.0,
                )
            )
            for env in range(num_envs)
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
        made: list[list[str]] = []
        for env, T_world_env in enumerate(origins):
            before = set(world.bodies)
            build(env, T_world_env)
            made.append([name for name in world.bodies if name not in before])
            for name in made[-1]:
                world.bodies[name].environment = env
        self._separate_environments(world, made)
        return origins

    def _separate_environments(self, world: World, made: list[list[str]]) -> None:
        for env, names in enumerate(made):
            for others in made[env + 1 :]:
                for a in (world.bodies[name] for name in names):
                    for b in (world.bodies[name] for name in others):
                        for link_a in a.links.values():
                            for link_b in b.links.values():
                                self._ignore_pair(world, a.body_id, b.body_id, link_a, link_b)

    def _ignore_pair(self, world: World, body_a: int, body_b: int, link_a: int = ROOT, link_b: int = ROOT) -> None:
        p.setCollisionFilterPair(body_a, body_b, link_a, link_b, 0, physicsClientId=world.client)
