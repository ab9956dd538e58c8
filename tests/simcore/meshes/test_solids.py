"""What is inside of convex colliders and of the closed pieces of meshes."""

from __future__ import annotations

import numpy as np
import pytest
import trimesh

from tests.simcore.meshes.builders import box, centred_box, sheet
from unlatch.objects.procedural.links import LinkBuilder
from unlatch.simcore.geometry import Pose
from unlatch.simcore.meshes.collider_pieces import SolidPieces
from unlatch.simcore.meshes.obj_file import format_obj
from unlatch.simcore.meshes.solids import Solids, convex_solid
from unlatch.simcore.meshes.triangle_mesh import TriangleMesh, join_meshes
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
def test_boxes_meet_links_at_the_given_joint_positions(x, s, margin, expected):
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


def test_each_piece_of_a_file_is_a_solid(tmp_path):
    blocks = [box((0.0, y, 0.0), (0.1, y + 0.1, 0.1)) for y in (0.0, 0.3)]
    (tmp_path / "two.obj").write_text(format_obj(blocks, named=True))
    urdf = tmp_path / "two.urdf"
    urdf.write_text(
        '<robot name="two"><link name="a"><collision><geometry><mesh filename="two.obj"/></geometry></collision>'
        "</link></robot>"
    )
    solids = Solids.from_urdf(urdf)
    for y, expected in ((0.05, True), (0.2, False), (0.35, True)):
        assert solids.meets(cube(0.01), Pose.from_translation([0.05, y, 0.05]), {}) is expected, y


def test_a_flat_sheet_is_a_solid():
    solid = convex_solid(sheet(0.1, 0.1).vertices)
    assert np.ptp(solid.vertices[:, 2]) == pytest.approx(5e-4)


def test_depths_in_a_box_are_distances_to_its_faces():
    points = np.array([[0.0, 0.0, 0.0], [0.9, 0.0, 0.0], [0.0, 0.0, 0.4], [1.1, 0.0, 0.0]])
    solids = SolidPieces(
        [join_meshes([box((-1.0, -1.0, -0.5), (1.0, 1.0, 0.5)), box((4.9, -0.1, -0.1), (5.1, 0.1, 0.1))])]
    )
    np.testing.assert_allclose(solids.depths(points), [0.5, 0.1, 0.1, 0.0], atol=1e-9)
    np.testing.assert_allclose(solids.depths(np.array([[5.0, 0.0, 0.05]])), [0.05], atol=1e-9)


def test_the_hollow_of_a_tube_is_outside():
    tube = trimesh.creation.annulus(r_min=0.1, r_max=0.2, height=1.0, sections=64)
    solids = SolidPieces([TriangleMesh(np.asarray(tube.vertices), np.asarray(tube.faces))])
    depths = solids.depths(np.array([[0.0, 0.0, 0.0], [0.15, 0.0, 0.0], [0.11, 0.0, 0.0], [0.3, 0.0, 0.0]]))
    np.testing.assert_allclose(depths, [0.0, 0.05, 0.01, 0.0], atol=1e-3)


def test_an_open_piece_has_no_inside():
    whole = centred_box((1.0, 1.0, 1.0))
    assert SolidPieces([TriangleMesh(whole.vertices, whole.faces[:-1])]).depths(np.zeros((1, 3))) == 0.0
    assert SolidPieces([join_meshes([])]).depths(np.zeros((1, 3))) == 0.0
