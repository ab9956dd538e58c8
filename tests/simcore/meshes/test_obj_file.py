"""OBJ files: faces, corners, materials, and the cache of large files."""

from __future__ import annotations

import numpy as np
import pytest

from unlatch.simcore.errors import AssetError
from unlatch.simcore.meshes.mesh_reader import read_mesh
from unlatch.simcore.meshes.obj_file import read_obj


def test_obj_polygons_and_negative_indices(tmp_path):
    path = tmp_path / "a.obj"
    path.write_text("# a\nv 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nvt 0 0\nf 1/1 2/1 3/1 4/1\nf -4 -3 -2\n")
    mesh = read_obj(path).mesh
    assert len(mesh.vertices) == 4
    assert mesh.faces.tolist() == [[0, 1, 2], [0, 2, 3], [0, 1, 2]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("v 0 0 0\nf 1 2 9", "a face names vertex 9 of 1"),
        ("v 0 0 x", "no readable OBJ mesh .*begin with .v.: .*x"),
        ("v 0 0", "no readable OBJ mesh .*begin with .v.: .*2 columns"),
        ("v 0 0 0\nf 1 1 a", "no readable OBJ mesh .*begin with .f.: "),
        ("v 0 0 nan\nf 1 1 1", "1 of 1 vertices are not finite"),
    ],
)
def test_damaged_meshes_are_refused(tmp_path, text, message):
    path = tmp_path / "a.obj"
    path.write_text(text)
    with pytest.raises(AssetError, match=message):
        read_mesh(path)


def test_corners_name_what_they_have_in_every_notation(tmp_path):
    path = tmp_path / "a.obj"
    first = "v 0 0 0 0.5 0.5 0.5\n\tv 1 0 0\nv 1 1 0\nvt 0.25\nvt 0.5 1 0\nvn 0 0 1\nf 1/1/1 2//1 3/2\nf 1 2 3\n"
    second = "l 1 2\nv 0 1 0\nvt 1 1\nvn 0 1 0\nf -4/-3/-2 -1/-1/-1 -2//-1\nf 1 2\n"
    path.write_text(f"mtllib  a b.mtl\nmtllib other.mtl\n{first}{second}")
    found = read_obj(path, with_corners=True)
    assert found.mesh.faces.tolist() == [[0, 1, 2], [0, 1, 2], [0, 3, 2]]
    assert found.uv_faces.tolist() == [[0, -1, 1], [-1, -1, -1], [0, 2, -1]]
    assert found.normal_faces.tolist() == [[0, 0, -1], [-1, -1, -1], [0, 1, 1]]
    assert found.uvs.tolist() == [[0.25, 0.0], [0.5, 1.0], [1.0, 1.0]]
    assert found.library == tmp_path / "a b.mtl"


def test_a_large_file_is_read_from_the_cache_the_second_time(tmp_path, monkeypatch):
    monkeypatch.setenv("UNLATCH_CACHE_DIR", str(tmp_path / "cache"))
    corners = "".join(f"v {k} {k % 7}.25 0.5\nvt 0.{k % 10} 1\nvn 0 0 1\n" for k in range(2000))
    text = f"mtllib red.mtl\n{corners}" + "".join(f"f {k}/{k}/{k} {k + 1}//{k} {k + 2}\n" for k in range(1, 1998))
    path = tmp_path / "a.obj"
    path.write_text(text)
    monkeypatch.setattr("unlatch.simcore.meshes.obj_file._LEAST_KEPT_BYTES", 1 << 30)
    parsed = read_obj(path, with_corners=True)
    monkeypatch.setattr("unlatch.simcore.meshes.obj_file._LEAST_KEPT_BYTES", 1000)
    assert not (tmp_path / "cache").exists()
    for _ in range(2):
        kept = read_obj(path, with_corners=True)
        assert kept.library == parsed.library == tmp_path / "red.mtl"
        for name in ("uvs", "uv_faces", "normals", "normal_faces"):
            assert getattr(kept, name).tobytes() == getattr(parsed, name).tobytes()
        assert kept.mesh.vertices.tobytes() == parsed.mesh.vertices.tobytes()
        assert kept.mesh.faces.tobytes() == parsed.mesh.faces.tobytes()
    assert len(list((tmp_path / "cache" / "meshes").glob("*.npz"))) == 1
    path.write_text(text.replace("v 5 ", "v 6 "))
    assert read_obj(path, with_corners=True).mesh.vertices[5, 0] == 6.0


TRIANGLE = "mtllib shape.mtl\nv 0 0 0\nv 1 0 0\nv 0 1 0\nvt 0 0\nf 1/1 2/1 3/1\n"


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("newmtl a\nPr 0.25\nPm 1\n", (0.25, 1.0)),
        ("newmtl a\nPr 0.5\n", (0.5, 0.0)),
        ("newmtl a\nKd 1 1 1\n", None),
        ("newmtl a\nPr shiny\n", None),
        (None, None),
    ],
)
def test_the_finish_of_a_mesh_is_read_from_its_material_file(tmp_path, lines, expected):
    (tmp_path / "shape.obj").write_text(TRIANGLE)
    if lines is not None:
        (tmp_path / "shape.mtl").write_text(lines)
    assert read_mesh(tmp_path / "shape.obj", with_shading=True).finish == expected
    assert read_mesh(tmp_path / "shape.obj").finish is None


CORNERS = "v 0 0 0\nv 1 0 0\nv 0 1 0\n"


@pytest.mark.parametrize(
    ("text", "corner_uvs"),
    [
        (
            f"{CORNERS}v 1 1 0\nvt 0.5 0.5\nf 1/1 2/1 3/1\nf 2 4 3\n",
            [[[0.5, 0.5]] * 3, [[0.0, 0.0]] * 3],  # a corner without coordinates
        ),
        (f"{CORNERS}vt 0.5\nvt 1 1\nf 1/1 2/2 3/7\n", [[[0.5, 0.0], [1.0, 1.0], [0.0, 0.0]]]),
        *((f"{CORNERS}{face}\n", None) for face in ("f 1/1 2/2 3/3", "f 1//1 2//2 3//3", "f 1/-9/-9 2/-9/-9 3/-9/-9")),
        ("v\t0 0 0\nv 1 0 0\nv 0 1 0\nf 1/1 2/2 3/3\n", None),
    ],
)
def test_what_a_file_lacks_for_shading_is_none_or_zero(tmp_path, text, corner_uvs):
    (tmp_path / "m.obj").write_text(text)
    surface = read_mesh(tmp_path / "m.obj", with_shading=True)
    assert surface.corner_normals is None
    assert surface.texture is None
    assert (surface.corner_uvs is None) == (corner_uvs is None)
    if corner_uvs is not None:
        np.testing.assert_array_equal(surface.corner_uvs, corner_uvs)
