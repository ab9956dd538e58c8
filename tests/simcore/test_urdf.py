"""URDFs: masses and poses in memory, reading of untrusted files, and where packages lie."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from tests.simcore.refusals import refused
from unlatch.objects.procedural.appliances import microwave
from unlatch.objects.procedural.drawer import drawer
from unlatch.simcore.errors import AssetError
from unlatch.simcore.geometry import Pose
from unlatch.simcore.urdf.model import (
    Joint,
    Link,
    Shape,
    ShapeKind,
    UrdfModel,
    composed_inertial,
    format_number,
    primitive_bounds,
)
from unlatch.simcore.urdf.reader import asset_folder, model_folder, package_path, read_urdf


def _box(size: tuple[float, float, float], p: tuple[float, float, float], rpy: tuple[float, ...] = (0, 0, 0)) -> Shape:
    return Shape(ShapeKind.box, size, Pose.from_rpy(p, rpy))


def test_two_half_boxes_weigh_like_the_whole():
    whole = composed_inertial([_box((0.4, 0.2, 0.6), (0.1, 0.2, 0.3))], 3.0)
    halves = composed_inertial([_box((0.4, 0.2, 0.3), (0.1, 0.2, z)) for z in (0.15, 0.45)], 3.0)
    np.testing.assert_allclose(halves.com_link, whole.com_link)
    np.testing.assert_allclose(halves.inertia, whole.inertia, atol=1e-12)
    np.testing.assert_allclose(np.diag(whole.inertia), 3.0 / 12 * np.array([0.04 + 0.36, 0.16 + 0.36, 0.16 + 0.04]))


def test_inertia_turns_with_the_shape():
    rpy = (0.3, -0.4, 1.2)
    straight = composed_inertial([Shape(ShapeKind.cylinder, (0.1, 0.5), Pose.identity())], 2.0)
    turned = composed_inertial([Shape(ShapeKind.cylinder, (0.1, 0.5), Pose.from_rpy([0, 0, 0], rpy))], 2.0)
    R = Pose.from_rpy([0, 0, 0], rpy).R
    np.testing.assert_allclose(turned.inertia, R @ straight.inertia @ R.T, atol=1e-12)


def test_bounds_of_a_turned_box():
    bounds = primitive_bounds(_box((2.0, 1.0, 0.5), (1.0, 0.0, 0.0), (0.0, 0.0, np.pi / 2)))
    np.testing.assert_allclose(bounds, [[0.5, -1.0, -0.25], [1.5, 1.0, 0.25]], atol=1e-12)


def test_joint_motion():
    origin = Pose.from_translation([1.0, 0.0, 0.0])
    hinge = Joint("h", "revolute", "a", "b", origin, axis=np.array([0.0, 0.0, 2.0]))
    np.testing.assert_allclose(hinge.child_pose(np.pi / 2) @ np.array([1.0, 0.0, 0.0]), [1.0, 1.0, 0.0], atol=1e-12)
    slide = Joint("s", "prismatic", "a", "b", origin, axis=np.array([0.0, 0.0, 1.0]))
    np.testing.assert_allclose(slide.child_pose(0.3).p, [1.0, 0.0, 0.3])


@pytest.mark.parametrize(("value", "text"), [(0.1 + 0.2, "0.3"), (-0.0, "0"), (-1e-17, "0"), (1 / 3, "0.333333333")])
def test_numbers_are_formatted_in_one_way(value, text):
    assert format_number(value) == text


@pytest.mark.parametrize("name", ["a & b", "<link>", 'the "upper" door', "it's", "two\nlines\tand\rmore"])
def test_a_name_is_read_from_the_text_as_it_was_written(name):
    text = UrdfModel(name, {name: Link(name)}, {}).to_urdf()
    root = ElementTree.fromstring(text)
    assert [root.get("name"), *(link.get("name") for link in root)] == [name, name]


def _write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "a.urdf"
    path.write_text(text)
    return path


def _robot(body: str) -> str:
    return f'<?xml version="1.0"?>\n<robot name="r">\n{body}\n</robot>'


@pytest.mark.parametrize("generator", [microwave, drawer])
def test_a_written_urdf_reads_back_the_same(tmp_path, generator):
    made = generator(5).model
    read = read_urdf(_write(tmp_path, made.to_urdf()))
    assert list(read.links) == list(made.links)
    assert read.root == made.root == "body"
    for name, joint in made.joints.items():
        other = read.joints[name]
        assert (other.kind, other.parent, other.child) == (joint.kind, joint.parent, joint.child)
        assert other.lower == pytest.approx(joint.lower)
        assert other.friction == pytest.approx(joint.friction)
        assert other.T_parent_joint.is_close(joint.T_parent_joint, atol_m=1e-8)
    for name, link in made.links.items():
        other_link = read.links[name]
        assert len(other_link.collisions) == len(link.collisions)
        assert link.inertial is not None
        assert other_link.inertial is not None
        np.testing.assert_allclose(other_link.inertial.inertia, link.inertial.inertia, atol=1e-8)
        for mine, theirs in zip(link.visuals, other_link.visuals, strict=True):
            assert theirs.size == pytest.approx(mine.size)
            assert theirs.T_link_shape.is_close(mine.T_link_shape, atol_m=1e-8, atol_rad=1e-7)
            assert theirs.rgba == pytest.approx(mine.rgba)


def test_an_inertia_is_turned_into_the_frame_of_its_link(tmp_path):
    inertial = (
        '<inertial><origin xyz="0 0 1" rpy="0 0 1.5707963267948966"/><mass value="2"/>'
        '<inertia ixx="1" iyy="2" izz="3" ixy="0" ixz="0" iyz="0"/></inertial>'
    )
    found = read_urdf(_write(tmp_path, _robot(f'<link name="a">{inertial}</link>'))).links["a"].inertial
    np.testing.assert_allclose(found.inertia, np.diag([2.0, 1.0, 3.0]), atol=1e-12)
    np.testing.assert_allclose(found.com_link, [0.0, 0.0, 1.0])


@pytest.mark.parametrize(
    "declaration",
    [
        '<!DOCTYPE robot [<!ENTITY a "aaaa">]>',
        '<!DOCTYPE robot SYSTEM "http://localhost/x.dtd">',
        '<!DOCTYPE robot [<!ENTITY a SYSTEM "file:///etc/passwd">]>',
        "<!DOCTYPE robot>",
    ],
)
def test_document_types_and_entities_are_refused(tmp_path, declaration):
    path = _write(tmp_path, f'<?xml version="1.0"?>{declaration}<robot name="r"><link name="a"/></robot>')
    message = f"{path}: the XML declares a DOCTYPE or an ENTITY, which is refused. Remove the declaration."
    with refused(AssetError, message):
        read_urdf(path)
    # and in another encoding
    text = '<?xml version="1.0" encoding="utf-16"?><!DOCTYPE r [<!ENTITY a "a">]><robot name="r">&a;</robot>'
    path.write_bytes(text.encode("utf-16"))
    with refused(AssetError, message):
        read_urdf(path)


@pytest.mark.parametrize(
    "name", ["../secret.obj", "sub/../../secret.obj", "/etc/passwd", "file:///etc/passwd", "mesh.obj"]
)
def test_paths_and_links_that_leave_the_folder_are_refused(tmp_path, name):
    (tmp_path / "secret.obj").write_text("v 0 0 0")
    inner = tmp_path / "asset"
    (inner / "sub").mkdir(parents=True)
    (inner / "mesh.obj").symlink_to(tmp_path / "secret.obj")
    mesh = f'<link name="a"><visual><geometry><mesh filename="{name}"/></geometry></visual></link>'
    with pytest.raises(AssetError, match=r"(leads out of|is not a path relative to) the asset's folder"):
        read_urdf(_write(inner, _robot(mesh)))


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("<link/>", "link has no name."),
        ('<link name="a"/><link name="a"/>', "link 'a' is defined twice."),
        ('<link name="a"><visual/></link>', "visual of link 'a' has no geometry."),
        (
            '<link name="a"><visual><geometry><torus/></geometry></visual></link>',
            "visual of link 'a' has an unknown geometry <torus>; known: box, cylinder, sphere, mesh, capsule.",
        ),
        (
            '<link name="a"><visual><geometry><box size="1 nan 1"/></geometry></visual></link>',
            "visual of link 'a' has '1 nan 1' where 3 finite numbers belong.",
        ),
        (
            '<link name="a"><visual><geometry><mesh filename="no.obj"/></geometry></visual></link>',
            "visual of link 'a': file 'no.obj' is missing in {folder}.",
        ),
        (
            '<link name="a"/><joint name="j" type="revolute"><parent link="a"/><child link="b"/></joint>',
            "joint 'j' names link 'b', which does not exist. Links: a.",
        ),
        (
            '<link name="a"/><link name="b"/><joint name="j" type="revolute"><parent link="a"/></joint>',
            "joint 'j' names no child link.",
        ),
        (
            '<link name="a"/><link name="b"/><joint name="j" type="revolute"><parent link="a"/><child link="b"/>'
            '<axis xyz="0 0 0"/></joint>',
            "joint 'j' has an axis of length 0.",
        ),
        (
            '<link name="a"/><link name="b"/>',
            "2 root links (a, b), expected one: a link that no joint moves, to which joints connect all others. "
            "Connect them by fixed joints, or take out what is no part of the object.",
        ),
        (
            '<link name="a"/><link name="b"/><link name="c"/>'
            '<joint name="j" type="revolute"><parent link="a"/><child link="c"/></joint>'
            '<joint name="k" type="fixed"><parent link="b"/><child link="c"/></joint>',
            "link 'c' hangs on 2 joints, 'j' (from 'a') and 'k' (from 'b'). Expected one parent: the links of a URDF "
            "are a tree. Keep the joint by which it moves, and take the other out.",
        ),
        (
            '<link name="a"/><link name="b"/><link name="c"/>'
            '<joint name="j" type="revolute"><parent link="b"/><child link="c"/></joint>'
            '<joint name="k" type="fixed"><parent link="c"/><child link="b"/></joint>',
            "the joints at link 'b' form a loop: j, k. Expected a tree, which begins at a link that no joint moves. "
            "Take one of them out.",
        ),
    ],
)
def test_a_fault_names_its_element(tmp_path, body, message):
    path = _write(tmp_path, _robot(body))
    with refused(AssetError, f"{path}: " + message.replace("{folder}", str(tmp_path))):
        read_urdf(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<robot>", "not well-formed XML"),
        (
            "<sdf/>",
            "the root element is <sdf>, expected <robot>. An SDF file says the same in other elements: use the URDF",
        ),
        (" " * 8_000_001, "at most 8000000 are read"),
        (
            '<robot name="r" xmlns:xacro="http://ros.org/xacro"><xacro:macro name="m"/></robot>',
            r"it is a xacro file, not a URDF: it has <xacro:macro>\. .*a_expanded\.urdf",
        ),
        (
            '<robot name="r"><link name="a"><inertial><origin xyz="0 0 ${pi}"/></inertial></link></robot>',
            r"it is a xacro file, not a URDF: it has '0 0 \$\{pi\}'\. .*a_expanded\.urdf",
        ),
    ],
    ids=["cut", "SDF", "too large", "xacro", "a value of xacro"],
)
def test_other_files_than_urdfs_are_refused(tmp_path, text, message):
    with pytest.raises(AssetError, match="the file cannot be read"):
        read_urdf(tmp_path / "none.urdf")
    with pytest.raises(AssetError, match=message):
        read_urdf(_write(tmp_path, text))


@pytest.mark.parametrize(
    "text",
    [
        '<robot name="r"><link name="a"/><drake:filter name="g"><drake:member link="a"/></drake:filter></robot>',
        '<robot name="r" xmlns="http://www.ros.org"><link name="a"/></robot>',
    ],
    ids=["a prefix without a declaration", "a default namespace"],
)
def test_namespaces_change_no_name(tmp_path, text):
    assert list(read_urdf(_write(tmp_path, text)).links) == ["a"]


ROBOT = '<robot name="r"><link name="a"><visual><geometry><mesh filename="{}"/></geometry></visual></link></robot>'
MANIFEST = '<?xml version="1.0"?>\n<package format="2">\n  <name> {} </name>\n</package>\n'


@pytest.fixture
def urdf(tmp_path):
    """A URDF in `ws/shelf/urdf`, a mesh in `ws/shelf/meshes`, and files outside of the package."""
    package = tmp_path / "ws" / "shelf"
    for folder in ("urdf", "meshes"):
        (package / folder).mkdir(parents=True)
    (package / "meshes" / "a.obj").write_text("v 0 0 0")
    (tmp_path / "ws" / "secret.obj").write_text("v 0 0 0")
    return package / "urdf" / "shelf.urdf"


def names(urdf: Path, mesh: str) -> Path:
    """Writes a URDF with one mesh."""
    urdf.write_text(ROBOT.format(mesh))
    return urdf


@pytest.mark.parametrize("name", ["package://shelf/meshes/a.obj", "../meshes/a.obj"])
def test_the_folder_above_the_urdf_is_the_package_that_is_named_and_that_of_a_folder_called_urdf(urdf, name):
    model = read_urdf(names(urdf, name))
    assert model.links["a"].visuals[0].path == (urdf.parents[1] / "meshes" / "a.obj").resolve()
    assert model_folder(urdf, model) == urdf.parents[1].resolve()


def test_a_folder_above_the_urdf_whose_manifest_has_the_name_is_the_package(urdf):
    (urdf.parents[1] / "package.xml").write_text(MANIFEST.format("shelf_description"))
    folder, rest = package_path(urdf, "package://shelf_description/meshes/a.obj", where="x")
    assert (folder, rest) == (urdf.parents[1].resolve(), "meshes/a.obj")
    (urdf.parents[1] / "package.xml").write_text("<package><name>shelf_description")  # cannot be read
    with pytest.raises(AssetError, match="the package 'shelf_description' of"):
        package_path(urdf, "package://shelf_description/meshes/a.obj", where="x")


def test_a_relative_path_stays_in_the_named_package(urdf):
    text = ROBOT.format("package://shelf/meshes/a.obj")
    urdf.write_text(
        text.replace("</visual>", '</visual><visual><geometry><mesh filename="../meshes/a.obj"/></geometry></visual>')
    )
    first, second = read_urdf(urdf).links["a"].visuals
    assert first.path == second.path
    other = urdf.parent.rename(urdf.parents[1] / "models") / urdf.name
    with pytest.raises(AssetError, match="leads out of the asset's folder"):
        read_urdf(names(other, "../meshes/a.obj"))


@pytest.mark.parametrize(
    "name",
    [
        "package:///meshes/a b.obj",
        "package://cabinet/meshes/a%20b.obj",
        "package://somewhere_else/meshes/a b.obj",
        "package://parts/a b.obj",
        "model://cabinet/meshes/a b.obj",
        "file://{folder}/meshes/a%20b.obj",
        "file:///home/someone/ws/meshes/a b.obj",
        "file:///C:/Users/Someone/meshes/a b.obj",
        "{folder}/meshes/a b.obj",
        "/home/someone/ws/cabinet/meshes/a b.obj",
        "C:\\Users\\Someone\\cabinet\\meshes\\A B.OBJ",
        ".\\meshes\\a b.obj",
        "meshes/a%20b.obj",
        "a b.obj",
        "visual/A B.obj",
        "http://example.org/cabinet/a%20b.obj",
    ],
)
def test_a_mesh_is_found_by_any_address_that_other_tools_write(tmp_path, name):
    folder = tmp_path / "ws" / "cabinet"
    (folder / "meshes").mkdir(parents=True)
    (folder / "meshes" / "a b.obj").write_text("v 0 0 0")
    (tmp_path / "ws" / "parts").mkdir()
    (tmp_path / "ws" / "parts" / "a b.obj").write_text("v 1 0 0")
    expected = tmp_path / "ws" / "parts" if "parts" in name else folder / "meshes"
    model = read_urdf(names(folder / "cabinet.urdf", name.format(folder=folder)))
    assert model.links["a"].visuals[0].path == (expected / "a b.obj").resolve()
    is_elsewhere = any(word in name for word in ("ome", "visual", "else", "http"))
    assert [f"mesh '{name}' is not where it is named: read from meshes/a b.obj"] * is_elsewhere == list(
        model.notices
    ) or (name == "a b.obj")


def test_a_mesh_of_which_there_are_two_is_not_guessed(tmp_path):
    for name in ("visual", "collision"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.obj").write_text("v 0 0 0")
    with pytest.raises(AssetError, match=r"file 'elsewhere/a\.obj' is missing in"):
        read_urdf(names(tmp_path / "r.urdf", "elsewhere/a.obj"))


def test_a_file_by_its_whole_path_far_from_the_urdf_is_refused(tmp_path, monkeypatch):
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "far.obj").write_text("v 0 0 0")
    urdf = names(tmp_path / "a" / "r.urdf", str(tmp_path / "b" / "far.obj"))
    assert model_folder(urdf, read_urdf(urdf)) == tmp_path.resolve()
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    with pytest.raises(AssetError, match=r"is not a path relative to the asset's folder .* Copy the mesh into that"):
        read_urdf(urdf)


@pytest.mark.parametrize(
    "before", [b"\xef\xbb\xbf", b"\n \n", b"<!-- made by a <tool> -->\n", b"\xef\xbb\xbf\r\n<!-- a\nb -->"]
)
def test_what_other_tools_write_before_the_declaration_is_skipped(tmp_path, before):
    path = tmp_path / "a.urdf"
    path.write_bytes(before + b'<?xml version="1.0" encoding="utf-8"?><robot name="r"><link name="a"/></robot>')
    assert list(read_urdf(path).links) == ["a"]


def test_a_capsule_is_a_cylinder_with_two_spheres(tmp_path):
    shape = '<geometry><capsule radius="0.1" length="0.4"/></geometry><origin xyz="0 0 1" rpy="1.5707963 0 0"/>'
    link = read_urdf(_write(tmp_path, _robot(f'<link name="a"><visual name="bar">{shape}</visual></link>'))).links["a"]
    cylinder, *ends = link.visuals
    assert (cylinder.kind, cylinder.size, cylinder.name) == (ShapeKind.cylinder, (0.1, 0.4), "bar")
    np.testing.assert_allclose([end.T_link_shape.p for end in ends], [[0, 0.2, 1], [0, -0.2, 1]], atol=1e-6)


def test_a_capsule_of_negative_size_is_refused(tmp_path):
    shape = '<geometry><capsule radius="-0.1" length="0.4"/></geometry>'
    with pytest.raises(AssetError, match=r"has a capsule of size \[-0.1, 0.4\], expected numbers of 0 or more"):
        read_urdf(_write(tmp_path, _robot(f'<link name="a"><visual>{shape}</visual></link>')))


def test_the_nearest_package_wins_and_a_folder_beside_the_urdf_comes_first(urdf):
    inner = urdf.parent / "shelf" / "urdf" / "b.urdf"
    inner.parent.mkdir(parents=True)
    assert package_path(inner, "package://shelf/a.obj", where="x")[0] == (urdf.parent / "shelf").resolve()
    assert package_path(urdf, "package://shelf/a.obj", where="x")[0] == (urdf.parent / "shelf").resolve()


def test_the_asset_s_folder_is_the_uppermost_package(urdf):
    given = ["package://urdf/a.obj", "package://shelf/meshes/a.obj", "b.obj"]
    assert asset_folder(urdf, given, where="x") == urdf.parents[1].resolve()
    assert asset_folder(urdf.parents[1] / "a.urdf", given[2:], where="x") == urdf.parents[1].resolve()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("package://other/meshes/b.obj", "the package 'other' of 'package://other/meshes/b.obj' is missing"),
        ("package://../../secret.obj", "is not a file of a package. Expected package://NAME/PATH."),
        ("package://..", "is not a file of a package"),
        ("package://", "is not a file of a package"),
        ("package:///etc/passwd", "file 'etc/passwd' is missing in"),
        ("package://shelf", "is not a file of a package"),
        ("package://./meshes/b.obj", "is not a file of a package"),
        ("package://shelf/../secret.obj", "leads out of the asset's folder"),
        ("package://shelf//etc/passwd", "is not a path relative to the asset's folder"),
        ("package://shelf/no.obj", "file 'no.obj' is missing in"),
    ],
)
def test_names_outside_the_packages_around_the_urdf_are_refused(urdf, name, message):
    with pytest.raises(AssetError) as caught:
        read_urdf(names(urdf, name))
    assert message in str(caught.value)
    assert str(urdf) in str(caught.value)


def test_a_symbolic_link_in_a_package_does_not_lead_out_of_it(urdf):
    (urdf.parents[1] / "meshes" / "b.obj").symlink_to(urdf.parents[2] / "secret.obj")
    with pytest.raises(AssetError, match="leads out of the asset's folder"):
        read_urdf(names(urdf, "package://shelf/meshes/b.obj"))
    (urdf.parent / "linked").symlink_to(urdf.parents[2])
    with pytest.raises(AssetError, match="leads out of the asset's folder"):
        read_urdf(names(urdf, "package://linked/secret.obj"))


def test_the_home_folder_and_its_parents_are_no_packages(urdf, monkeypatch):
    assert package_path(urdf, "package://ws/secret.obj", where="x")[0] == urdf.parents[2].resolve()
    monkeypatch.setenv("HOME", str(urdf.parents[2]))
    monkeypatch.setenv("USERPROFILE", str(urdf.parents[2]))
    with pytest.raises(AssetError, match="the package 'ws' of"):
        package_path(urdf, "package://ws/secret.obj", where="x")
    top = urdf.resolve().parts[1]
    with pytest.raises(AssetError, match=f"the package '{top}' of"):
        package_path(urdf, f"package://{top}/x.obj", where="x")


def test_packages_are_refused_if_files_must_be_beside_the_urdf(urdf):
    with pytest.raises(AssetError, match="is not a path relative to the asset's folder"):
        read_urdf(names(urdf, "package://shelf/meshes/a.obj"), packages=False)


def test_a_colour_that_a_visual_states_goes_for_later_ones_of_its_name(tmp_path: Path):
    visual = '<visual><geometry><box size="1 1 1"/></geometry><material name="wood">{}</material></visual>'
    links = visual.format('<color rgba="0.5 0.4 0.3 1"/>') + visual.format("")
    path = tmp_path / "two.urdf"
    path.write_text(f'<robot name="two"><link name="body">{links}</link></robot>')
    assert [shape.rgba for shape in read_urdf(path).links["body"].visuals] == [(0.5, 0.4, 0.3, 1.0)] * 2


@pytest.mark.parametrize("rgba", ["0.1 0.2 0.3", "0.1 0.2 0.3 0 1"])
def test_a_colour_without_four_numbers_is_opaque(tmp_path, rgba):
    shape = f'<geometry><sphere radius="1"/></geometry><material name="m"><color rgba="{rgba}"/></material>'
    file = tmp_path / "a.urdf"
    file.write_text(f'<robot name="a"><link name="a"><visual>{shape}</visual></link></robot>', encoding="utf-8")
    assert read_urdf(file).links["a"].visuals[0].rgba == (0.1, 0.2, 0.3, 1.0)


@pytest.mark.parametrize(("kind", "read"), [("revolute", "continuous"), ("prismatic", "prismatic")])
@pytest.mark.parametrize("limit", ["-inf", "1e16", "-3.4028235e+38"])
def test_a_limit_without_end_is_none(tmp_path, kind, read, limit):
    text = (
        f'<link name="a"/><link name="b"/><joint name="j" type="{kind}"><parent link="a"/><child link="b"/>'
        f'<limit lower="{limit}" upper="inf" effort="inf" velocity="inf"/></joint>'
    )
    joint = read_urdf(_write(tmp_path, _robot(text))).joints["j"]
    assert (joint.kind, joint.is_limited, joint.lower, joint.upper) == (read, False, 0.0, 0.0)
    assert (joint.effort, joint.velocity) == (100.0, 10.0)


def test_a_mesh_without_extent_is_refused(tmp_path):
    (tmp_path / "m.obj").write_text("v 0 0 0\n")
    text = '<link name="a"><visual><geometry><mesh filename="m.obj" scale="1 0 1"/></geometry></visual></link>'
    with pytest.raises(AssetError, match="visual of link 'a' has the scale 1 0 1, which leaves nothing of its mesh"):
        read_urdf(_write(tmp_path, _robot(text)))


def test_colours_of_gazebo_go_for_visuals_without_a_material(tmp_path):
    box = '<visual><geometry><box size="1 1 1"/></geometry>{}</visual>'
    own = '<material name="m"><color rgba="0.1 0.2 0.3 1"/></material>'
    blocks = '<gazebo reference="a"><material>Gazebo/Red</material></gazebo><gazebo><static>true</static></gazebo>'
    blocks += '<gazebo reference="b"><visual><material><diffuse> 0 0.5 1 1</diffuse></material></visual></gazebo>'
    links = f'<link name="a">{box.format("")}{box.format(own)}</link><link name="b">{box.format("")}</link>'
    joint = '<joint name="j" type="fixed"><parent link="a"/><child link="b"/></joint>'
    (tmp_path / "r.urdf").write_text(f'<robot name="r">{links}{joint}{blocks}</robot>')
    model = read_urdf(tmp_path / "r.urdf")
    assert [shape.rgba for shape in model.links["a"].visuals] == [(1, 0, 0, 1), (0.1, 0.2, 0.3, 1)]
    assert [shape.rgba for shape in model.links["b"].visuals] == [(0, 0.5, 1, 1)]


@pytest.mark.parametrize(
    ("block", "rgba"),
    [
        ("<visual><material><diffuse>Gazebo/Red</diffuse></material></visual>", (1, 0, 0, 1)),
        ("<visual><material><script><name>Gazebo/Red</name></script></material></visual>", (1, 0, 0, 1)),
        ("<visual><material>Gazebo/Red</material></visual>", (1, 0, 0, 1)),
        ("<visual><material><diffuse>1 0 0</diffuse></material></visual>", (1, 0, 0, 1)),
        ("<visual><material><diffuse>bright red</diffuse></material></visual>", None),
        ("<material>Mine/Oak</material>", None),
    ],
)
def test_a_colour_of_gazebo_that_is_not_known_is_none(block, rgba, tmp_path):
    link = '<link name="a"><visual><geometry><box size="1 1 1"/></geometry></visual></link>'
    path = _write(tmp_path, _robot(f'{link}<gazebo reference="a">{block}</gazebo>'))
    (shape,) = read_urdf(path).links["a"].visuals
    assert shape.rgba == rgba


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            'type="revolute"',
            'type="Revolute"',
            "joint 'j' is of type 'Revolute'. Did you mean 'revolute'? Known: revolute",
        ),
        ('xyz="0 0 1"', 'xyz="0,5 0 1"', "'0,5 0 1' where 3 finite numbers belong, with a point for a comma."),
    ],
)
def test_a_wrong_type_of_a_joint_and_a_decimal_comma_are_said(old, new, said, tmp_path):
    joint = '<joint name="j" type="revolute"><parent link="a"/><child link="b"/><axis xyz="0 0 1"/></joint>'
    (tmp_path / "r.urdf").write_text(
        f'<robot name="r"><link name="a"/><link name="b"/>{joint.replace(old, new)}</robot>'
    )
    with pytest.raises(AssetError, match=re.escape(said)):
        read_urdf(tmp_path / "r.urdf")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "version https://git-lfs.github.com/spec/v1\noid sha256:0\n",
            "it is a pointer of Git LFS, not the file. Fetch it",
        ),
        ("\n<!DOCTYPE html><html></html>", "it is a web page, not the file."),
    ],
)
def test_a_placeholder_of_a_file_is_called_so(text, said, tmp_path):
    (tmp_path / "m.stl").write_text(text)
    mesh = '<visual><geometry><mesh filename="m.stl"/></geometry></visual>'
    (tmp_path / "r.urdf").write_text(f'<robot name="r"><link name="a">{mesh}</link></robot>')
    with pytest.raises(AssetError, match=f"m.stl: {said}"):
        read_urdf(tmp_path / "r.urdf")
    (tmp_path / "r.urdf").write_text(text)
    with pytest.raises(AssetError, match=f"r.urdf: {said}"):
        read_urdf(tmp_path / "r.urdf")


def test_an_attribute_that_an_exporter_left_empty_is_not_stated(tmp_path):
    path = tmp_path / "r.urdf"
    path.write_text(
        '<robot name="r"><link name="a"/><link name="b"/><joint name="j" type="revolute"><parent link="a"/>'
        '<child link="b"/><origin xyz="" rpy=""/><axis xyz=""/><dynamics friction="" damping="0.5"/>'
        '<limit lower="" upper="" effort="" velocity=""/></joint></robot>'
    )
    joint = read_urdf(path).joints["j"]
    assert (joint.friction, joint.damping, joint.has_range, joint.effort) == (0.0, 0.5, False, 100.0)
    path.write_text(path.read_text().replace('damping="0.5"', 'damping="soft"'))
    with pytest.raises(AssetError, match="<dynamics damping> of joint 'j' has 'soft' where 1 finite number belongs"):
        read_urdf(path)


def test_a_shape_of_negative_size_is_refused(tmp_path):
    box = '<visual><geometry><box size="0.1 -0.1 0"/></geometry></visual>'
    (tmp_path / "r.urdf").write_text(f'<robot name="r"><link name="a">{box}</link></robot>')
    with pytest.raises(AssetError, match=r"visual of link .a. has a box of size .* expected numbers of 0 or more"):
        read_urdf(tmp_path / "r.urdf")
