"""URDFs are untrusted input."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from unlatch.objects.procedural.appliances import microwave
from unlatch.objects.procedural.assembly import ObjectGenerator
from unlatch.objects.procedural.drawer import drawer
from unlatch.simcore.errors import AssetError
from unlatch.simcore.urdf.reader import read_urdf


def _write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "a.urdf"
    path.write_text(text)
    return path


def _robot(body: str) -> str:
    return f'<?xml version="1.0"?>\n<robot name="r">\n{body}\n</robot>'


@pytest.mark.parametrize("generator", [microwave, drawer])
def test_a_written_urdf_reads_back_the_same(tmp_path: Path, generator: ObjectGenerator) -> None:
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


@pytest.mark.parametrize(
    "declaration",
    [
        '<!DOCTYPE robot [<!ENTITY a "aaaa">]>',
        '<!DOCTYPE robot SYSTEM "http://localhost/x.dtd">',
        '<!DOCTYPE robot [<!ENTITY a SYSTEM "file:///etc/passwd">]>',
        "<!DOCTYPE robot>",
    ],
)
def test_document_types_and_entities_are_refused(tmp_path: Path, declaration: str) -> None:
    path = _write(tmp_path, f'<?xml version="1.0"?>{declaration}<robot name="r"><link name="a"/></robot>')
    with pytest.raises(AssetError) as caught:
        read_urdf(path)
    assert str(caught.value) == (
        f"{path}: the XML declares a DOCTYPE or an ENTITY, which is refused. Remove the declaration."
    )


def test_an_entity_bomb_in_another_encoding_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.urdf"
    text = '<?xml version="1.0" encoding="utf-16"?><!DOCTYPE r [<!ENTITY a "a">]><robot name="r">&a;</robot>'
    path.write_bytes(text.encode("utf-16"))
    with pytest.raises(AssetError, match="declares a DOCTYPE or an ENTITY"):
        read_urdf(path)


@pytest.mark.parametrize("name", ["../secret.obj", "sub/../../secret.obj", "/etc/passwd", "file:///etc/passwd"])
def test_paths_that_leave_the_folder_are_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "secret.obj").write_text("v 0 0 0")
    inner = tmp_path / "asset"
    inner.mkdir()
    (inner / "sub").mkdir()
    mesh = f'<link name="a"><visual><geometry><mesh filename="{name}"/></geometry></visual></link>'
    with pytest.raises(AssetError, match=r"(leads out of|is not a path relative to) the asset's folder"):
        read_urdf(_write(inner, _robot(mesh)))


def test_a_link_out_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "secret.obj").write_text("v 0 0 0")
    inner = tmp_path / "asset"
    inner.mkdir()
    (inner / "mesh.obj").symlink_to(tmp_path / "secret.obj")
    mesh = '<link name="a"><visual><geometry><mesh filename="mesh.obj"/></geometry></visual></link>'
    with pytest.raises(AssetError, match="leads out of the asset's folder"):
        read_urdf(_write(inner, _robot(mesh)))


_BOX = '<visual><geometry><box size="1 1 1"/></geometry></visual>'


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("<link/>", "link has no name."),
        ('<link name="a"/><link name="a"/>', "link 'a' is defined twice."),
        ('<link name="a"><visual/></link>', "visual of link 'a' has no geometry."),
        (
            '<link name="a"><visual><geometry><torus/></geometry></visual></link>',
            "visual of link 'a' has an unknown geometry <torus>; known: box, cylinder, sphere, mesh.",
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
        ('<link name="a"/><link name="b"/>', "2 root links (a, b), expected one."),
    ],
)
def test_a_fault_names_its_element(tmp_path: Path, body: str, message: str) -> None:
    path = _write(tmp_path, _robot(body))
    with pytest.raises(AssetError) as caught:
        read_urdf(path)
    assert str(caught.value) == f"{path}: " + message.replace("{folder}", str(tmp_path))


def test_other_files_than_urdfs_are_refused(tmp_path: Path) -> None:
    with pytest.raises(AssetError, match="the file cannot be read"):
        read_urdf(tmp_path / "none.urdf")
    with pytest.raises(AssetError, match="not well-formed XML"):
        read_urdf(_write(tmp_path, "<robot>"))
    with pytest.raises(AssetError, match="the root element is <sdf>, expected <robot>"):
        read_urdf(_write(tmp_path, "<sdf/>"))
    with pytest.raises(AssetError, match="at most 8000000 are read"):
        read_urdf(_write(tmp_path, " " * 8_000_001))


def test_prefixes_need_no_declaration(tmp_path: Path) -> None:
    body = (
        '<link name="a"/><drake:collision_filter_group name="g"><drake:member link="a"/></drake:collision_filter_group>'
    )
    assert list(read_urdf(_write(tmp_path, _robot(body))).links) == ["a"]


def test_a_default_namespace_changes_no_name(tmp_path: Path) -> None:
    path = _write(tmp_path, '<robot name="r" xmlns="http://www.ros.org"><link name="a"/></robot>')
    assert list(read_urdf(path).links) == ["a"]


def test_a_xacro_file_is_no_urdf(tmp_path: Path) -> None:
    path = _write(tmp_path, '<robot name="r" xmlns:xacro="http://ros.org/xacro"><xacro:macro name="m"/></robot>')
    with pytest.raises(AssetError, match=r"it is a xacro file, not a URDF: it has <xacro:macro>\. .*a_expanded\.urdf"):
        read_urdf(path)
