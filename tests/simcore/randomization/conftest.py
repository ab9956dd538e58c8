"""A world of balls and of sleds on rails, and a fresh set-up for every test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from unlatch import randomization as dr
from unlatch.simcore.geometry import Pose
from unlatch.simcore.sim.attribute_views import GridCloner
from unlatch.simcore.sim.body_views import ArticulationView, RigidPrimView
from unlatch.simcore.sim.joint_mechanisms import TendonCfg
from unlatch.simcore.sim.world import World, WorldCfg


class Stage:
    """`num_envs` environments with a ball of 1 kg, 1 m high, and a sled with a wheel."""

    def __init__(self, world: World, num_envs: int, urdf: Path) -> None:
        self.world = world
        balls, rigs = [], []

        def build(env: int, T_world_env: Pose) -> None:
            T = T_world_env @ Pose.from_translation((0.5, 0.0, 1.0))
            balls.append(world.add_sphere(f"env_{env}/ball", radius_m=0.1, T_world_sphere=T, mass_kg=1.0))
            rigs.append(world.load_urdf(urdf, name=f"env_{env}/rig", T_world_root=T_world_env))

        origins = GridCloner(spacing=3.0).clone(world, num_envs, build)
        self.ball = RigidPrimView(world, balls, name="ball", origins=origins)
        tendons = [TendonCfg(joints=["rail", "shaft"], coefficients=[1.0, 0.5])]
        self.rig = ArticulationView(world, rigs, name="rig", origins=origins, tendons=tendons)

    @contextmanager
    def rules(self) -> Iterator[None]:
        """The frame in which a test makes its rules; the set-up is armed at its end."""
        with dr.trigger.on_rl_frame(num_envs=self.ball.count):
            yield
        dr.orchestrator.run(np.random.default_rng(0))

    def masses(self) -> list[float]:
        """The mass of every ball [kg]."""
        return self.ball.get("mass")[:, 0].tolist()

    def register(self) -> None:
        """Registers all in a new set-up."""
        dr.new_setup()
        dr.physics_view.register_simulation_context(self.world)
        dr.physics_view.register_rigid_prim_view(self.ball)
        dr.physics_view.register_articulation_view(self.rig)


@pytest.fixture
def stage(world: World, sled_and_wheel: Path) -> Iterator[Callable[[int], Stage]]:
    """Makes and registers the environments."""

    def make(num_envs: int) -> Stage:
        made = Stage(world, num_envs, sled_and_wheel)
        made.register()
        return made

    yield make
    dr.new_setup()


@pytest.fixture(scope="module")
def shared_stage(sled_and_wheel: Path) -> Iterator[Stage]:
    """Three environments that all tests of a file share."""
    with World(WorldCfg()) as world:
        yield Stage(world, 3, sled_and_wheel)
    dr.new_setup()
