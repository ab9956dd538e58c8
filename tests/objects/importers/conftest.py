"""Meshes and URDFs of the converter tests, made in code."""

from pathlib import Path

import pytest

from tests.objects import builders
from unlatch.simcore.meshes.obj_file import format_obj


@pytest.fixture
def brick(tmp_path):
    """A closed box of 0.1 x 0.2 x 0.3 m with a corner at the origin."""
    path = tmp_path / "in" / "brick.obj"
    path.parent.mkdir(exist_ok=True)
    (path.parent / "brick.mtl").write_text("newmtl m\nKd 0.2 0.4 0.6\nmap_Kd skin.png\n")
    (path.parent / "skin.png").write_bytes(b"pixels")
    path.write_text("mtllib brick.mtl\n" + format_obj([builders.box_mesh((0, 0, 0), (0.1, 0.2, 0.3))]))
    return path


@pytest.fixture
def angle(tmp_path):
    """A closed L, 1 m long and high, 0.4 m wide, 0.1 m thick: 0.076 m^3."""
    path = tmp_path / "in" / "angle.obj"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes((Path(__file__).parents[2] / "data" / "meshes" / "angle.obj").read_bytes())
    return path


CABINET = """<?xml version="1.0"?>
<robot name="cabinet">
<material name="red"><color rgba="0.8 0.1 0.1 1"/></material>
<link name="body">
<inertial><mass value="8"/><origin xyz="0 0 0.1"/>
<inertia ixx="0.2" iyy="0.3" izz="0.4" ixy="0" ixz="0" iyz="0"/></inertial>
<visual><geometry><mesh filename="angle.obj"/></geometry><material name="red"/></visual>
<collision><geometry><mesh filename="angle.obj"/></geometry></collision>
</link>
<link name="door">
<visual><origin xyz="0.2 0 0"/><geometry><mesh filename="angle.obj" scale="0.5 0.5 0.5"/></geometry></visual>
<collision><origin xyz="0.2 0 0"/><geometry><mesh filename="angle.obj" scale="0.5 0.5 0.5"/></geometry></collision>
</link>
<link name="knob">
<visual><geometry><box size="0.04 0.05 0.06"/></geometry></visual>
<collision><geometry><box size="0.04 0.05 0.06"/></geometry></collision>
</link>
<joint name="hinge" type="revolute"><origin xyz="0 0.5 0.2" rpy="0 0 0.3"/><parent link="body"/><child link="door"/>
<axis xyz="0 2 0"/><limit lower="-0.5" upper="1.5" effort="20" velocity="3"/>
<dynamics damping="0.7" friction="0.2"/></joint>
<joint name="screw" type="fixed"><origin xyz="0.1 0 0"/><parent link="door"/><child link="knob"/></joint>
</robot>
"""


@pytest.fixture
def cabinet(angle):
    """A URDF: a body with an inertial, a door without one on a hinge, a knob fixed to the door."""
    path = angle.parent / "cabinet.urdf"
    path.write_text(CABINET)
    return path


@pytest.fixture
def edited(cabinet):
    """The cabinet with texts replaced."""
    return lambda *pairs: builders.edit(cabinet, *pairs)
