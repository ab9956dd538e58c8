"""Triangles of mesh files."""

from __future__ import annotations

from pathlib import Path

import pytest

from unlatch.simcore.errors import AssetError
from unlatch.simcore.meshes.obj_file import read_obj


def test_obj_polygons_and_negative_indices(tmp_path: Path) -> None:
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
        ("v 0 0 nan", "not finite"),
    ],
)
def test_damaged_meshes_are_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "a.obj"
    path.write_text(text)
    with pytest.raises(AssetError, match=message):
        read_obj(path)


def test_corners_name_what_they_have_in_every_notation(tmp_path: Path) -> None:
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
