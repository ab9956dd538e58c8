"""Boxes against the convex colliders of an object."""

from pathlib import Path

import numpy as np
import pytest

from unlatch.objects.procedural.links import LinkBuilder
from unlatch.simcore.geometry import Pose
from unlatch.simcore.meshes.obj_file import format_obj
from unlatch.simcore.meshes.solids import Solids, convex_solid
from unlatch.simcore.meshes.triangle_mesh import TriangleMesh
from unlatch.simcore.urdf.model import Joint, UrdfModel

GREY = (0.5, 0.5, 0.5, 1.0)


def slider() -> UrdfModel:
    """A wall in the plane x = 0, and a cube of 10 cm before it that slides along x."""
    body, part = LinkBuilder("body"), LinkBuilder("part")
    body.box("wall", (-0.02, -0.5, -0.5), (0.0, 0.5, 0.5), rgba=GREY)
    part.box("cube", (0.0, -0.05, -0.05), (0.1, 0.05, 0.05), rgba=GREY)
    joint = Joint("slide", "prismatic", "body", "part", Pose.identity(), upper=1.0)  # along x
    links = {"body": body.build(mass_kg=1.0), "part": part.build(mass_kg=1.0)}
    return UrdfModel("slider", links, {"slide": joint})


def cube(half: float) -> np.ndarray:
    return np.array([[[-half] * 3, [half] * 3]])


@pytest.mark.parametrize(
    ("x", "s", "margin", "expected"),
    [
        (0.13, 0.0, 0.0, False),
        (0.13, 0.0, 0.02, False),
        (0.13, 0.0, 0.021, True),
        (0.13, 0.03, 0.0, True),
        (0.05, 0.2, 0.0, False),
        (0.05, 0.2, 0.05, True),
    ],
)
def test_boxes_meet_links_at_the_given_joint_positions(x: float, s: float, margin: float, expected: bool):
    solids, T = Solids(slider()), Pose.from_translation([x, 0.0, 0.0])
    assert solids.meets(cube(0.0099), T, {"slide": s}, margin_m=margin) is expected


def test_a_turned_box_meets_with_its_corner():
    solids = Solids(slider())
    turned = Pose.from_rpy([0.113, 0.0, 0.0], [0.0, 0.0, np.pi / 4])
    assert not solids.meets(cube(0.01), Pose.from_translation([0.113, 0.0, 0.0]), {"slide": 0.0})
    assert solids.meets(cube(0.01), turned, {"slide": 0.0})


def test_a_link_can_be_left_out():
    solids, T = Solids(slider()), Pose.from_translation([0.05, 0.0, 0.0])
    assert solids.meets(cube(0.01), T, {"slide": 0.0})
    assert not solids.meets(cube(0.01), T, {"slide": 0.0}, without="part")


def test_each_piece_of_a_file_is_a_solid(tmp_path: Path):
    def block(y: float) -> TriangleMesh:
        corners = np.array([[a, b, c] for a in (0.0, 0.1) for b in (y, y + 0.1) for c in (0.0, 0.1)])
        faces = np.array([[0, 1, 3], [0, 3, 2], [4, 6, 7], [4, 7, 5], [0, 4, 5], [0, 5, 1], [2, 3, 7], [2, 7, 6],
                          [0, 2, 6], [0, 6, 4], [1, 5, 7], [1, 7, 3]])  # fmt: skip
        return TriangleMesh(corners, faces)

    (tmp_path / "two.obj").write_text(format_obj([block(0.0), block(0.3)], named=True))
    urdf = tmp_path / "two.urdf"
    urdf.write_text(
        '<robot name="two"><link name="a"><collision><geometry><mesh filename="two.obj"/></geometry></collision>'
        "</link></robot>"
    )
    solids = Solids.from_urdf(urdf)
    for y, expected in ((0.05, True), (0.2, False), (0.35, True)):
        assert solids.meets(cube(0.01), Pose.from_translation([0.05, y, 0.05]), {}) is expected, y


def test_a_flat_sheet_is_a_solid():
    sheet = convex_solid(np.array([[0.0, 0.0, 0.0], [0.1, 0.0, 0.0], [0.1, 0.1, 0.0], [0.0, 0.1, 0.0]]))
    assert np.ptp(sheet.vertices[:, 2]) == pytest.approx(5e-4)
