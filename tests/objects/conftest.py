"""Fixtures of the asset tests: a cache of their own, and a data set folder made of boxes."""

import pybullet as p
import pytest

from tests.objects.builders import box_mesh
from unlatch.simcore.meshes.obj_file import format_obj

WALLS = {
    "floor": ((-0.7, -0.4, -0.5), (0.7, -0.35, 0.4)),
    "ceiling": ((-0.7, 0.35, -0.5), (0.7, 0.4, 0.4)),
    "left": ((-0.7, -0.35, -0.5), (-0.65, 0.35, 0.4)),
    "right": ((0.65, -0.35, -0.5), (0.7, 0.35, 0.4)),
    "back": ((-0.65, -0.35, -0.5), (0.65, 0.35, -0.45)),
}
"""An oven in the axes of the data set: x right, y up, z out of the front."""
DOOR = ((0.0, -0.4, 0.0), (1.4, 0.4, 0.1))
HANDLE = {
    "handle-9": ((1.25, -0.2, 0.2), (1.31, 0.2, 0.25)),
    "low": ((1.25, -0.2, 0.1), (1.31, -0.15, 0.2)),
    "high": ((1.25, 0.15, 0.1), (1.31, 0.2, 0.2)),
}


@pytest.fixture
def client():
    """A Bullet client without a screen."""
    number = p.connect(p.DIRECT)
    yield number
    p.disconnect(number)


@pytest.fixture
def cache_dir(tmp_path):
    return str(tmp_path / "cache")


def _shapes(names, origin):
    text = ""
    for kind in ("visual", "collision"):
        for file, name in names.items():
            text += (
                f'<{kind} name="{name}">\n<origin xyz="{origin}"/>\n'
                f'<geometry><mesh filename="textured_objs/{file}.obj"/></geometry>\n</{kind}>\n'
            )
    return text


@pytest.fixture
def boxes_dir(tmp_path):
    """A data set with one microwave made of boxes, its door hinged on the left, as the data set writes it."""
    root = tmp_path / "dataset"
    folder = root / "microwave" / "77"
    meshes = folder / "textured_objs"
    meshes.mkdir(parents=True)
    for name, box in {**WALLS, "door": DOOR, **HANDLE}.items():
        (meshes / f"{name}.obj").write_text("mtllib shared.mtl\n" + format_obj([box_mesh(*box)]))
    (meshes / "shared.mtl").write_text("newmtl material_0\nKd 0.2 0.4 0.6\nd 0.5\n")
    door = {"door": "door_frame-1", **dict.fromkeys(HANDLE, "handle-9")}
    (folder / "mobility.urdf").write_text(
        '<?xml version="1.0" ?>\n<robot name="partnet_box">\n<link name="base"/>\n'
        f'<link name="link_0">\n{_shapes(door, "0 0 0")}</link>\n'
        f'<link name="link_1">\n{_shapes(dict.fromkeys(WALLS, "frame-2"), "0 0 0")}</link>\n'
        '<joint name="joint_0" type="revolute">\n<origin xyz="-0.7 0 0.4"/>\n<axis xyz="0 -1.00001 0"/>\n'
        '<parent link="link_1"/>\n<child link="link_0"/>\n<limit lower="0.0" upper="1.5708"/>\n</joint>\n'
        '<joint name="joint_1" type="fixed">\n<origin rpy="1.570796326794897 0 -1.570796326794897" xyz="0 0 0"/>\n'
        '<parent link="base"/>\n<child link="link_1"/>\n</joint>\n</robot>\n'
    )
    (folder / "semantics.txt").write_text("link_0 hinge door\nlink_1 heavy microwave_body\n")
    (folder / "info.json").write_text(
        '{"keypoints": {"articulated_object_head": [1.28, 0.02, 0.24]}, "scale": 0.3, "axis": "y"}'
    )
    return root
