"""A world of balls and of sleds on rails, and a fresh set-up for every test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from unlatch.simcore import randomization as dr
from unlatch.simcore.geometry import Pose
from unlatch.simcore.sim.properties.tendons import TendonCfg
from unlatch.simcore.sim.views.articulation_view import ArticulationView
from unlatch.simcore.sim.views.grid_cloner import GridCloner
from unlatch.simcore.sim.views.rigid_prim_view import RigidPrimView
from unlatch.simcore.sim.world import World, WorldCfg

SLED = """<robot name="rig">
<link name="root"/>
<link name="sled"><inertial><mass value="2"/><inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial>
<collision><geometry><box size="0.2 0.2 0.2"/></geometry></collision></link>
<joint name="rail" type="prismatic"><parent link="root"/><child link="sled"/><axis xyz="1 0 0"/>
<limit lower="-5" upper="5" effort="100" velocity="100"/></joint>
<link name="disc">
<inertial><mass value="1"/><inertia ixx="1e-2" iyy="1e-2" izz="2e-2" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="shaft" type="revolute"><parent link="root"/><child link="disc"/><origin xyz="0 0 2"/><axis xyz="0 0 1"/>
<limit lower="-50" upper="50" effort="100" velocity="100"/></joint>
</robot>
"""


class Stage:
    """`num_envs` environments with a ball of 1 kg, 1 m high, and a sled with a wheel."""

    def __init__(self, world: World, num_envs: int, urdf: Path) -> None:
        self.world = world
        balls, rigs = [], []

        def build(env: int, T_world_env: Pose) -> None:
            T_env_ball = Pose.from_translation((0.5, 0.0, 1.0))
            balls.append(
                world.add_sphere(f"env_{env}/ball", radius_m=0.1, T_world_sphere=T_world_env @ T_env_ball, mass_kg=1.0)
            )
            rigs.append(world.load_urdf(urdf, name=f"env_{env}/rig", T_world_root=T_world_env))

        origins = GridCloner(spacing=3.0).clone(world, num_envs, build)
        self.ball = RigidPrimView(world, balls, name="ball", origins=origins)
        tendons = [TendonCfg(joints=["rail", "shaft"], coefficients=[1.0, 0.5])]
        self.rig = ArticulationView(world, rigs, name="rig", origins=origins, tendons=tendons)

    def register(self) -> None:
        """Registers all in a new set-up."""
        dr.new_setup()
        dr.physics_view.register_simulation_context(self.world)
        dr.physics_view.register_rigid_prim_view(self.ball)
        dr.physics_view.register_articulation_view(self.rig)


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Callable[[int], Stage]]:
    """Makes and registers the environments."""
    path = tmp_path / "rig.urdf"
    path.write_text(SLED)
    with World(WorldCfg()) as world:

        def make(num_envs: int) -> Stage:
            made = Stage(world, num_envs, path)
            made.register()
            return made

        yield make
    dr.new_setup()


@pytest.fixture(scope="module")
def shared_stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """Three environments that all tests of a file share."""
    path = Path(tmp_path_factory.mktemp("rig")) / "rig.urdf"
    path.write_text(SLED)
    with World(WorldCfg()) as world:
        yield Stage(world, 3, path)
    dr.new_setup()
