"""Flat faces touch with several points at once where a body is loaded with `face_contacts`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pybullet as p
import pytest
import trimesh

from unlatch.simcore.geometry import Pose
from unlatch.simcore.meshes.obj_file import format_obj
from unlatch.simcore.meshes.triangle_mesh import TriangleMesh
from unlatch.simcore.sim.world import World

_BLOCK = """<robot name="block">
  <link name="block">
    <inertial><mass value="1"/><inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial>
    <collision><geometry><mesh filename="box.obj" scale="{size} {size} 0.1"/></geometry></collision>
  </link>
</robot>
"""


@pytest.mark.parametrize(("face_contacts", "most"), [(False, 1), (True, 4)])
def test_a_block_touches_another_with_as_many_points_in_the_first_step(
    world: World, tmp_path: Path, face_contacts: bool, most: int
) -> None:
    # a mesh: two boxes of a URDF always touch with up to four points
    box = trimesh.creation.box((1.0, 1.0, 1.0))
    (tmp_path / "box.obj").write_text(format_obj([TriangleMesh(np.array(box.vertices), np.array(box.faces))]))
    for name, size, z in (("below", 0.4, 0.0), ("above", 0.2, 0.099)):
        path = tmp_path / f"{name}.urdf"
        path.write_text(_BLOCK.format(size=size))
        T = Pose.from_translation((0.0, 0.0, z))
        world.load_urdf(path, name=name, T_world_root=T, fixed=name == "below", face_contacts=face_contacts)
    world.step()
    points = p.getContactPoints(physicsClientId=world.client)
    assert len({tuple(point[5]) for point in points}) == most
