"""A turntable: one link on a hinge about z, 0.5 m above the ground."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from unlatch.simcore.geometry import Pose
from unlatch.simcore.sim.bodies import Body
from unlatch.simcore.sim.world import World, WorldCfg

TURNTABLE = """<robot name="turntable">
<link name="stand"><inertial><mass value="1"/>
<inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>
<link name="plate"><inertial><origin xyz="0.1 0 0"/><mass value="1"/>
<inertia ixx="0.01" iyy="0.01" izz="0.02" ixy="0" ixz="0" iyz="0"/></inertial>
<visual><origin xyz="0.1 0 0"/><geometry><box size="0.2 0.2 0.02"/></geometry></visual></link>
<joint name="axis" type="revolute"><parent link="stand"/><child link="plate"/><origin xyz="0 0 0.5"/>
<axis xyz="0 0 1"/><limit lower="-6" upper="6" effort="10" velocity="30"/></joint>
</robot>
"""


@pytest.fixture
def turntable(tmp_path: Path) -> Iterator[tuple[World, Body]]:
    path = tmp_path / "turntable.urdf"
    path.write_text(TURNTABLE)
    with World(WorldCfg(), visuals=True) as world:
        yield world, world.load_urdf(path, name="turntable", T_world_root=Pose.identity())
