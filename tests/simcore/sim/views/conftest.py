"""Bodies whose motion has a closed form."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from unlatch.simcore.geometry import Pose
from unlatch.simcore.sim.bodies import Body
from unlatch.simcore.sim.body_views import ArticulationView, RigidPrimView
from unlatch.simcore.sim.drives import DriveGroup, DriveMode, JointDrive
from unlatch.simcore.sim.world import World


@pytest.fixture
def run(world: World) -> Callable[[float], None]:
    def steps(seconds: float) -> None:
        for _ in range(round(240 * seconds)):
            world.step()

    return steps


@pytest.fixture
def floor(world: World) -> Body:
    return world.add_box("floor", size_m=(20, 20, 1), T_world_box=Pose.from_translation((0, 0, -0.5)), friction=1.0)


@pytest.fixture
def ball(world: World) -> RigidPrimView:
    """A ball of 1 kg and 0.1 m, 1 m above z = 0."""
    T = Pose.from_translation((0.0, 0.0, 1.0))
    return RigidPrimView(world, [world.add_sphere("ball", radius_m=0.1, T_world_sphere=T, mass_kg=1.0)], name="ball")


@pytest.fixture
def crate(world: World, floor: Body) -> RigidPrimView:
    """A box of 1 kg and 0.2 m that stands on the floor."""
    T = Pose.from_translation((0.0, 0.0, 0.1))
    box = world.add_box("crate", size_m=(0.2, 0.2, 0.2), T_world_box=T, mass_kg=1.0, friction=1.0)
    return RigidPrimView(world, [box], name="crate")


@pytest.fixture
def rig(world: World, sled_and_wheel: Path) -> Callable[..., ArticulationView]:
    """Makes the view of a sled and a wheel with drives of one mode."""

    def make(mode: DriveMode = DriveMode.passive, *, tendons: tuple = (), **fields: float) -> ArticulationView:
        body = world.load_urdf(sled_and_wheel, name="rig", T_world_root=Pose.identity())
        group = DriveGroup(body, {name: JointDrive(mode, **fields) for name in ("rail", "shaft")}, world=world)
        if mode is not DriveMode.passive:
            group.set_targets(["rail", "shaft"], [0.0, 0.0], [0.0, 0.0])
        return ArticulationView(world, [body], name="rig", drives=[[group]], tendons=tendons)

    return make


@pytest.fixture
def put() -> Callable[..., None]:
    """Writes an attribute of a view's only member."""

    def write(view: RigidPrimView | ArticulationView, name: str, *values: float) -> None:
        view.attribute(name).write(0, np.array(values, dtype=float))
        assert view.get(name)[0] == pytest.approx(np.array(values))

    return write
