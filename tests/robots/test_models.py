"""Models that are changed: inertias, colliders, and where their files are."""

import xml.etree.ElementTree as ET

import numpy as np
import pytest
from scipy.spatial import ConvexHull, cKDTree

from unlatch.robots.catalog import ROBOTS
from unlatch.robots.changed_models import changed_model, distribution_file
from unlatch.robots.collider_hulls import use_hulls
from unlatch.robots.models import align_inertias, model_path, normalise_axes, repair_inertias
from unlatch.simcore.errors import AssetError
from unlatch.simcore.geometry import matrix_from_rpy
from unlatch.simcore.meshes.shape_surface import shape_mesh
from unlatch.simcore.urdf.reader import read_urdf

ORIGINAL = distribution_file("pybullet", "pybullet_data/xarm/xarm6_with_gripper.urdf", where="the test")


def test_every_inertia_of_the_xarm_is_physically_possible():
    before, mended = read_urdf(ORIGINAL), []
    for name, link in read_urdf(model_path("xarm6")).links.items():
        if link.inertial is None:
            continue
        moments, original = np.linalg.eigvalsh(link.inertial.inertia), before.links[name].inertial
        assert moments[2] <= moments[0] + moments[1], name
        if original is None:
            assert link.inertial.mass_kg < 1e-3, name  # a frame weighs nothing
            continue
        assert link.inertial.mass_kg == original.mass_kg
        if np.trace(link.inertial.inertia) > 1.001 * np.trace(original.inertia):
            mended.append(name)
    assert mended == ["link2", "link3"]


def read_tensor(link):
    """Returns the inertia (3, 3) of a URDF's link about its centre of mass, in the link's frame."""
    origin, inertia = link.find("inertial/origin"), link.find("inertial/inertia")
    xx, xy, xz, yy, yz, zz = (float(inertia.get(key)) for key in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz"))
    R = matrix_from_rpy([float(angle) for angle in origin.get("rpy").split()])
    return R @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ R.T


def test_an_aligned_inertia_keeps_the_moments_about_and_across_the_joint_axis():
    robot = ET.fromstring(
        """<robot><link name="a"><inertial><origin xyz="1 2 3" rpy="0.3 -0.2 0.5"/><mass value="2"/>
        <inertia ixx="1" ixy="0.2" ixz="0.1" iyy="2" iyz="-0.3" izz="2.5"/></inertial></link>
        <link name="other"><inertial><mass value="1"/>
        <inertia ixx="1" ixy="0.2" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>
        <joint name="j" type="revolute"><child link="a"/><axis xyz="2 1 -2"/></joint>
        <joint name="k" type="revolute"><child link="other"/><axis xyz="0 0 1"/></joint></robot>"""
    )
    other, before, axis = ET.tostring(robot[1]), read_tensor(robot[0]), np.array([2.0, 1.0, -2.0]) / 3.0
    align_inertias(robot, ["j"])
    after, across = read_tensor(robot[0]), np.eye(3) - np.outer(axis, axis)
    assert robot.find("link/inertial/origin").get("xyz") == "1 2 3"
    np.testing.assert_allclose(after @ axis, (axis @ before @ axis) * axis, atol=1e-8)
    np.testing.assert_allclose(across @ after @ across, across @ before @ across, atol=1e-8)
    assert ET.tostring(robot[1]) == other
    repair_inertias(robot)
    assert ET.tostring(robot[1]) == other, "a possible inertia is left alone"


@pytest.mark.parametrize("name", ["franka_panda", "ur5", "xarm6", "baxter"])
def test_every_arm_joint_turns_about_a_principal_axis_of_its_link(name):
    model = read_urdf(model_path(name))
    for arm in ROBOTS.load(name)().arms:
        for joint in (model.joints[joint] for joint in arm.joints):
            inertia = model.links[joint.child].inertial.inertia
            assert np.linalg.norm(np.cross(inertia @ joint.axis, joint.axis)) < 1e-8, joint.name


def test_the_panda_has_the_identified_masses_and_frames_weigh_nothing():
    links = read_urdf(model_path("franka_panda")).links
    assert sum(link.inertial.mass_kg for link in links.values()) == pytest.approx(17.405, abs=0.001)
    frames = [links[name].inertial for name in ("panda_link8", "panda_grasptarget")]
    assert all(frame.mass_kg < 1e-3 and frame.inertia.max() < 1e-6 for frame in frames)


def test_the_changed_model_is_cached_with_its_meshes_and_reproducible(tmp_path, monkeypatch):
    monkeypatch.setenv("UNLATCH_CACHE_DIR", str(tmp_path / "one"))
    first = model_path("xarm6")
    assert first.is_relative_to(tmp_path)
    assert model_path("xarm6") == first
    meshes = [shape.path for link in read_urdf(first).links.values() for shape in (*link.visuals, *link.collisions)]
    assert meshes
    assert all(path is not None and path.is_relative_to(first.parent) for path in meshes)
    monkeypatch.setenv("UNLATCH_CACHE_DIR", str(tmp_path / "two"))
    assert model_path("xarm6").read_bytes() == first.read_bytes()


@pytest.mark.slow
def test_colliders_are_the_hulls_that_bullet_would_make_of_them():
    before, checked = read_urdf(ORIGINAL), 0
    for name, link in read_urdf(model_path("xarm6")).links.items():
        for shape, original in zip(link.collisions, before.links[name].collisions, strict=True):
            assert shape.T_link_shape.is_close(original.T_link_shape)
            assert shape.size == original.size
            if original.path is None or original.path.suffix.lower() != ".stl":
                continue
            corners, hull = shape_mesh(original).vertices, ConvexHull(shape_mesh(shape).vertices)
            outside = corners @ hull.equations[:, :3].T + hull.equations[:, 3]
            assert outside.max() < 5e-5  # all of the file is in it, as nearly as in the hull that Bullet makes
            assert cKDTree(corners).query(hull.points)[0].max() < 5e-5  # and its corners are of the file
            assert len(hull.points) < len(corners) / 10
            checked += 1
    assert checked == 8


TETRAHEDRON = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], dtype="<f4")
FACES = TETRAHEDRON[[[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]]


def collider_of(folder, name, data, attributes=""):
    """The collider that a made model has for a mesh file."""
    (folder / name).write_bytes(data)
    geometry = f'<collision{attributes}><geometry><mesh filename="{name}"/></geometry></collision>'
    (folder / "a.urdf").write_text(f'<robot name="a"><link name="b">{geometry}</link></robot>')
    (shape,) = read_urdf(changed_model("a", folder / "a.urdf", repair_inertias)).links["b"].collisions
    return shape


def binary_stl(triangles):
    rows = b"".join(np.concatenate([np.zeros((1, 3), dtype="<f4"), t]).tobytes() + b"\0\0" for t in triangles)
    return b"\0" * 80 + len(triangles).to_bytes(4, "little") + rows


def ascii_stl(triangles):
    corners = ["".join(f"vertex {x} {y} {z}\n" for x, y, z in t) for t in triangles]
    facets = [f"facet normal 0 0 0\nouter loop\n{each}endloop\nendfacet" for each in corners]
    return "\n".join(["solid a", *facets, "endsolid a\n"]).encode()


@pytest.mark.parametrize("data", [binary_stl(FACES), ascii_stl(FACES)])
def test_a_collider_is_kept_whichever_way_its_stl_is_written(tmp_path, data):
    shape = collider_of(tmp_path, "c.stl", data)
    assert shape.path.suffix == ".obj"
    assert sorted(map(tuple, shape_mesh(shape).vertices.round(6))) == sorted(map(tuple, TETRAHEDRON))


@pytest.mark.parametrize(("triangles", "attributes"), [(FACES[:1], ""), (FACES, ' concave="yes"')])
def test_flat_and_concave_colliders_are_unchanged(tmp_path, triangles, attributes):
    assert collider_of(tmp_path, "c.stl", binary_stl(triangles), attributes).path.suffix == ".stl"


@pytest.mark.parametrize(("name", "data"), [("c.stl", b"no mesh"), ("c.dae", b"<a"), ("c.dae", b"<a/>")])
def test_a_collider_that_cannot_be_read_is_named(tmp_path, name, data):
    message = rf"{name}: this collider of a robot is not a readable mesh: .*Export it again"
    with pytest.raises(AssetError, match=message):
        collider_of(tmp_path, name, data)


@pytest.mark.parametrize("data", [b"junk\n", b"v 0 0 0\nv 1 0 0\nv 0 1 0\n", b"v 0 0 0\nf 1 2 9\n"])
def test_an_obj_collider_that_only_bullet_may_read_is_unchanged(tmp_path, data):
    shape = collider_of(tmp_path, "c.obj", data)
    assert shape.path.read_bytes() == data


def test_hulls_replace_neither_each_other_nor_files_of_the_model(tmp_path):
    corners = {"g.obj": TETRAHEDRON, "g.stl": 2.0 * TETRAHEDRON, "g_obj_hull.obj": 3.0 * TETRAHEDRON}
    (tmp_path / "g.stl").write_bytes(binary_stl(2.0 * FACES))
    for name in ("g.obj", "g_obj_hull.obj"):
        rows = "".join(f"v {x} {y} {z}\n" for x, y, z in corners[name])
        (tmp_path / name).write_text(f"{rows}f 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n")
    geometry = "".join(f'<collision><geometry><mesh filename="{name}"/></geometry></collision>' for name in corners)
    (tmp_path / "a.urdf").write_text(f'<robot name="a"><link name="b">{geometry * 2}</link></robot>')
    robot = ET.fromstring((tmp_path / "a.urdf").read_text())
    use_hulls(robot, tmp_path, {})
    (tmp_path / "a.urdf").write_text(ET.tostring(robot, encoding="unicode"))
    shapes = read_urdf(tmp_path / "a.urdf").links["b"].collisions
    assert [shape_mesh(shape).vertices.max() for shape in shapes] == [1.0, 2.0, 3.0] * 2


def test_files_and_distributions_that_are_missing_are_named(tmp_path):
    visual = '<visual><geometry><mesh filename="c.stl"/></geometry></visual>'
    (tmp_path / "a.urdf").write_text(f'<robot name="a"><link name="b">{visual}</link></robot>')
    with pytest.raises(AssetError, match=r"a\.urdf: 1 of 1 meshes are missing: 'c\.stl'\. Expected"):
        changed_model("a", tmp_path / "a.urdf", repair_inertias)
    with pytest.raises(AssetError, match=r"needs package 'no-such-robots', which is not installed\. Install it: pip"):
        distribution_file("no-such-robots", "a.urdf", where="robot 'x'")
    with pytest.raises(AssetError, match=r"package 'pybullet' .* has no file '\.\./a\.urdf'"):
        distribution_file("pybullet", "../a.urdf", where="robot 'x'")


def test_a_file_below_the_prefix_of_the_installation_is_found():
    path = "share/openarm_mujoco/v2/openarm_bimanual.xml"  # listed as ../../../share/...
    assert distribution_file("openarm-mujoco", path, where="the test").name == "openarm_bimanual.xml"


def test_a_rod_without_thickness_gets_some_and_a_plate_stays():
    for moments, changes in (((1e-15, 1e-7, 1e-7), True), ((1e-7, 1e-7, 2e-7), False)):
        values = dict.fromkeys(("ixy", "ixz", "iyz"), "0") | dict(
            zip(("ixx", "iyy", "izz"), map(str, moments), strict=True)
        )
        robot = ET.Element("robot")
        element = ET.SubElement(ET.SubElement(ET.SubElement(robot, "link"), "inertial"), "inertia", values)
        repair_inertias(robot)
        assert (dict(element.items()) != values) == changes
        assert float(element.get("ixx")) == pytest.approx(moments[0], abs=1e-12)


def test_an_axis_of_rounded_numbers_gets_the_length_1():
    robot = ET.fromstring(
        '<robot><joint><axis xyz="0.003492 0.999995 0"/></joint><joint><axis xyz="0 0 1"/></joint></robot>'
    )
    normalise_axes(robot)
    rounded, exact = (each.get("xyz") for each in robot.iter("axis"))
    assert np.linalg.norm([float(word) for word in rounded.split()]) == pytest.approx(1.0, abs=1e-12)
    assert exact == "0 0 1"
