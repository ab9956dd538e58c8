"""Roughness and metalness of an OBJ are those of its material file."""

from __future__ import annotations

from pathlib import Path

import pytest

from unlatch.simcore.meshes.mesh_reader import read_mesh

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
def test_the_finish_of_a_mesh_is_read_from_its_material_file(tmp_path: Path, lines, expected) -> None:
    (tmp_path / "shape.obj").write_text(TRIANGLE)
    if lines is not None:
        (tmp_path / "shape.mtl").write_text(lines)
    assert read_mesh(tmp_path / "shape.obj", with_shading=True).finish == expected
    assert read_mesh(tmp_path / "shape.obj").finish is None
