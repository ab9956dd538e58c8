"""Every format gives the same box, in metres and z up; damaged files are an error of ours."""

from __future__ import annotations

import builtins
import json
import re
import struct
from pathlib import Path

import numpy as np
import pytest
import trimesh

from unlatch.simcore import extras
from unlatch.simcore.errors import AssetError
from unlatch.simcore.extras import install_command
from unlatch.simcore.meshes import mesh_reader
from unlatch.simcore.meshes.mesh_reader import read_mesh
from unlatch.simcore.meshes.mesh_store import mesh_dependencies
from unlatch.simcore.meshes.triangle_mesh import closed_volume

READERS = {".dae": "collada", ".fbx": "ufbx"}
"""Packages that some formats need."""

FBX = Path(__file__).parents[2] / "data" / "meshes" / "box.fbx"
"""A box of 10 x 20 x 30 cm, y up, in centimetres, 1 m along x."""

DAE = FBX.with_name("tetrahedron.dae").read_text()
"""A tetrahedron with edges of 10, 20 and 30 cm along x, y and z; `{up}` is its up axis."""


def needs(suffix: str) -> None:
    package = READERS.get(suffix)
    if package is not None:
        pytest.importorskip(package, reason=f"{suffix} needs the package {package} of the extra assets")


def box(path: Path) -> Path:
    mesh = trimesh.creation.box(bounds=[[0, 0, 0], [0.1, 0.2, 0.3]])
    mesh.export(path)
    return path


def extent(path: Path, *, turn: bool = True) -> np.ndarray:
    mesh = read_mesh(path, turn_to_z_up=turn).mesh
    return np.stack([mesh.vertices.min(axis=0), mesh.vertices.max(axis=0)])


@pytest.mark.parametrize("suffix", [".obj", ".stl", ".ply"])
def test_a_format_without_axes_is_z_up_and_metres(suffix, tmp_path):
    path = box(tmp_path / f"box{suffix}")
    np.testing.assert_allclose(extent(path), [[0, 0, 0], [0.1, 0.2, 0.3]], atol=1e-7)
    assert closed_volume(read_mesh(path, turn_to_z_up=True).mesh) == pytest.approx(0.006, rel=1e-5)


@pytest.mark.parametrize("suffix", [".glb", ".gltf"])
def test_gltf_is_y_up(suffix, tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    if suffix == ".glb":
        path = box(folder / "box.glb")
    else:
        path = folder / "box.gltf"
        for name, data in (
            trimesh.creation.box(bounds=[[0, 0, 0], [0.1, 0.2, 0.3]]).scene().export(file_type="gltf").items()
        ):
            (folder / ("box.gltf" if name == "model.gltf" else name)).write_bytes(data)
        assert mesh_dependencies(path, folder)
    np.testing.assert_allclose(extent(path), [[0, -0.3, 0], [0.1, 0, 0.2]], atol=1e-7)
    np.testing.assert_allclose(extent(path, turn=False), [[0, 0, 0], [0.1, 0.2, 0.3]], atol=1e-7)


def test_fbx_states_axes_and_unit():
    needs(".fbx")
    np.testing.assert_allclose(extent(FBX), [[1, -0.3, 0], [1.1, 0, 0.2]], atol=1e-7)
    np.testing.assert_allclose(extent(FBX, turn=False), [[1, 0, 0], [1.1, 0.2, 0.3]], atol=1e-7)
    found = read_mesh(FBX, turn_to_z_up=True)
    assert closed_volume(found.mesh) == pytest.approx(0.006, rel=1e-6)
    assert found.rgba == pytest.approx((0.8, 0.1, 0.2, 1.0))


@pytest.mark.parametrize(
    ("up", "high"), [("Z_UP", (0.1, 0.2, 0.3)), ("Y_UP", (0.1, 0.0, 0.2)), ("X_UP", (0.0, 0.0, 0.1))]
)
def test_collada_states_axes_and_unit(up, high, tmp_path):
    needs(".dae")
    path = tmp_path / "box.dae"
    path.write_text(DAE.format(up=up))
    np.testing.assert_allclose(extent(path)[1], high, atol=1e-7)
    np.testing.assert_allclose(extent(path, turn=False)[1], (0.1, 0.2, 0.3), atol=1e-7)
    assert closed_volume(read_mesh(path, turn_to_z_up=True).mesh) == pytest.approx(0.001, rel=1e-5)


def test_a_mirrored_node_keeps_its_outside_outside(tmp_path):
    scene = trimesh.Scene()
    scene.add_geometry(trimesh.creation.box(), transform=np.diag([-1.0, 1.0, 1.0, 1.0]))
    path = tmp_path / "mirror.glb"
    path.write_bytes(scene.export(file_type="glb"))
    assert closed_volume(read_mesh(path, turn_to_z_up=True).mesh) == pytest.approx(1.0, rel=1e-5)


@pytest.mark.parametrize("suffix", [".dae", ".fbx"])
def test_a_missing_reader_names_its_extra(suffix, tmp_path, monkeypatch):
    package, real = READERS.get(suffix), builtins.__import__

    def refuse(name: str, *args: object) -> object:
        if name == package:
            raise ImportError(name)
        return real(name)

    monkeypatch.setattr(extras, "import_module", refuse)
    path = tmp_path / f"a{suffix}"
    path.write_text(DAE.format(up="Z_UP"))
    with pytest.raises(AssetError, match=re.escape(install_command("assets"))) as caught:
        read_mesh(path, turn_to_z_up=True)
    assert caught.value.values["extra"] == "assets"


def ply(vertex: str) -> bytes:
    return (
        "ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nproperty float y\nproperty float z\n"
        f"element face 1\nproperty list uchar int vertex_indices\nend_header\n0 0 0\n1 0 0\n{vertex}\n3 0 1 2\n"
    ).encode()


def glb(tree: dict[str, object]) -> bytes:
    text = json.dumps(tree).encode()
    text += b" " * (-len(text) % 4)
    return b"glTF" + struct.pack("<III", 2, 20 + len(text), len(text)) + b"JSON" + text


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("empty.obj", b"", "no triangle"),
        ("points.obj", b"v 0 0 0\nv 1 0 0\nv 0 1 0\n", "no triangle"),
        ("nan.obj", b"v 0 0 0\nv nan 0 0\nv 0 1 0\nf 1 2 3\n", "not finite"),
        ("index.obj", b"v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 9\n", "vertex 9 of 3"),
        ("one_point.obj", b"v 1 1 1\nv 1 1 1\nv 1 1 1\nf 1 2 3\n", "one point"),
        ("junk.obj", bytes(range(256)) * 4, "no triangle"),
        ("nan.ply", ply("nan 1 0"), "not finite"),
        ("junk.ply", b"ply\nnothing", "no readable PLY"),
        ("huge.ply", ply("0 1 0").replace(b"vertex 3", b"vertex 99999999999"), "no readable PLY|no triangle"),
        ("empty.stl", b"", "no readable STL|no triangle"),
        ("junk.stl", b"\x00" * 100, "no readable STL|no triangle"),
        ("lying.stl", b"\x00" * 80 + struct.pack("<I", 2**31) + b"\x00" * 50, "no readable STL|no triangle"),
        ("junk.glb", b"glTF" + b"\x01" * 60, "no readable GLB"),
        ("empty.glb", glb({"asset": {"version": "2.0"}}), "no readable GLB|no triangle"),
        ("a.xyz", b"0 0 0", "not a supported mesh format"),
    ],
)
def test_a_damaged_mesh_is_one_clear_error(name, content, message, tmp_path):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(AssetError, match=message) as caught:
        read_mesh(path, turn_to_z_up=True)
    assert str(path) in caught.value.message


@pytest.mark.parametrize("suffix", [".dae", ".fbx"])
def test_junk_of_a_format_with_a_package_is_one_clear_error(suffix, tmp_path):
    needs(suffix)
    path = tmp_path / f"junk{suffix}"
    path.write_bytes(b"\x00junk" * 40)
    with pytest.raises(AssetError, match=r"no readable FBX|not well-formed XML"):
        read_mesh(path, turn_to_z_up=True)


def test_a_cut_fbx_is_one_clear_error(tmp_path):
    needs(".fbx")
    text = FBX.read_bytes()
    for end in range(40, len(text), 97):
        path = tmp_path / "cut.fbx"
        path.write_bytes(text[:end])
        try:
            mesh = read_mesh(path, turn_to_z_up=True).mesh
        except AssetError:
            continue
        assert np.all(np.isfinite(mesh.vertices))


def test_an_entity_bomb_in_collada_is_refused(tmp_path):
    needs(".dae")
    path = tmp_path / "bomb.dae"
    bomb = '<!DOCTYPE l [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;&a;">]>'
    path.write_text(DAE.format(up="&b;").replace("<COLLADA", bomb + "<COLLADA", 1))
    with pytest.raises(AssetError, match="DOCTYPE or an ENTITY"):
        read_mesh(path, turn_to_z_up=True)


@pytest.mark.parametrize("uri", ["../../secret.bin", "/etc/passwd", "file:///etc/passwd"])
@pytest.mark.parametrize("read", [lambda p: read_mesh(p, turn_to_z_up=True), lambda p: mesh_dependencies(p, p.parent)])
def test_a_gltf_reads_no_file_from_elsewhere(read, uri, tmp_path):
    folder = tmp_path / "a" / "b"
    folder.mkdir(parents=True)
    (tmp_path / "secret.bin").write_bytes(b"\x00" * 36)
    tree = {
        "asset": {"version": "2.0"},
        "buffers": [{"uri": uri, "byteLength": 36}],
        "bufferViews": [{"buffer": 0, "byteLength": 36}],
        "accessors": [{"bufferView": 0, "componentType": 5126, "count": 3, "type": "VEC3"}],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0}}]}],
        "nodes": [{"mesh": 0}],
    }
    path = folder / "a.gltf"
    path.write_text(json.dumps(tree))
    with pytest.raises(AssetError):
        read(path)


def test_a_mesh_that_is_too_large_is_not_read(tmp_path, monkeypatch):
    monkeypatch.setattr(mesh_reader, "MAX_MESH_BYTES", 100)
    with pytest.raises(AssetError, match="at most 100 are read"):
        read_mesh(box(tmp_path / "box.obj"), turn_to_z_up=True)


def test_too_many_triangles_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(mesh_reader, "MAX_FACES", 11)
    with pytest.raises(AssetError, match="12 triangles, at most 11"):
        read_mesh(box(tmp_path / "box.stl"), turn_to_z_up=True)
