"""Where the packages of `package://` lie, and what stays out of reach."""

from __future__ import annotations

from pathlib import Path

import pytest

from unlatch.simcore.errors import AssetError
from unlatch.simcore.urdf.reader import asset_folder, model_folder, package_path, read_urdf

ROBOT = '<robot name="r"><link name="a"><visual><geometry><mesh filename="{}"/></geometry></visual></link></robot>'
MANIFEST = '<?xml version="1.0"?>\n<package format="2">\n  <name> {} </name>\n</package>\n'


@pytest.fixture
def urdf(tmp_path: Path) -> Path:
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


def test_a_folder_above_the_urdf_with_the_name_is_the_package(urdf: Path):
    model = read_urdf(names(urdf, "package://shelf/meshes/a.obj"))
    assert model.links["a"].visuals[0].path == (urdf.parents[1] / "meshes" / "a.obj").resolve()
    assert model_folder(urdf, model) == urdf.parents[1].resolve()


def test_a_folder_above_the_urdf_whose_manifest_has_the_name_is_the_package(urdf: Path):
    (urdf.parents[1] / "package.xml").write_text(MANIFEST.format("shelf_description"))
    folder, rest = package_path(urdf, "package://shelf_description/meshes/a.obj", where="x")
    assert (folder, rest) == (urdf.parents[1].resolve(), "meshes/a.obj")


def test_an_unreadable_manifest_names_no_package(urdf: Path):
    (urdf.parents[1] / "package.xml").write_text("<package><name>shelf_description")
    with pytest.raises(AssetError, match="the package 'shelf_description' of"):
        package_path(urdf, "package://shelf_description/meshes/a.obj", where="x")


def test_a_relative_path_stays_in_the_named_package(urdf: Path):
    text = ROBOT.format("package://shelf/meshes/a.obj")
    urdf.write_text(
        text.replace("</visual>", '</visual><visual><geometry><mesh filename="../meshes/a.obj"/></geometry></visual>')
    )
    first, second = read_urdf(urdf).links["a"].visuals
    assert first.path == second.path
    with pytest.raises(AssetError, match="leads out of the asset's folder"):
        read_urdf(names(urdf, "../meshes/a.obj"))


def test_the_nearest_package_wins_and_a_folder_beside_the_urdf_comes_first(urdf: Path):
    inner = urdf.parent / "shelf" / "urdf" / "b.urdf"
    inner.parent.mkdir(parents=True)
    assert package_path(inner, "package://shelf/a.obj", where="x")[0] == (urdf.parent / "shelf").resolve()
    assert package_path(urdf, "package://shelf/a.obj", where="x")[0] == (urdf.parent / "shelf").resolve()


def test_the_asset_s_folder_is_the_uppermost_package(urdf: Path):
    given = ["package://urdf/a.obj", "package://shelf/meshes/a.obj", "b.obj"]
    assert asset_folder(urdf, given, where="x") == urdf.parents[1].resolve()
    assert asset_folder(urdf, given[2:], where="x") == urdf.parent.resolve()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("package://other/meshes/a.obj", "the package 'other' of 'package://other/meshes/a.obj' is missing"),
        ("package://../../secret.obj", "is not a file of a package. Expected package://NAME/PATH."),
        ("package://..", "is not a file of a package"),
        ("package://", "is not a file of a package"),
        ("package:///etc/passwd", "is not a file of a package"),
        ("package://shelf", "is not a file of a package"),
        ("package://./meshes/a.obj", "is not a file of a package"),
        ("package://shelf/../secret.obj", "leads out of the asset's folder"),
        ("package://shelf//etc/passwd", "is not a path relative to the asset's folder"),
        ("package://shelf/no.obj", "file 'no.obj' is missing in"),
    ],
)
def test_names_outside_the_packages_around_the_urdf_are_refused(urdf: Path, name: str, message: str):
    with pytest.raises(AssetError) as caught:
        read_urdf(names(urdf, name))
    assert message in str(caught.value)
    assert str(urdf) in str(caught.value)


def test_a_symbolic_link_in_a_package_does_not_lead_out_of_it(urdf: Path):
    (urdf.parents[1] / "meshes" / "b.obj").symlink_to(urdf.parents[2] / "secret.obj")
    with pytest.raises(AssetError, match="leads out of the asset's folder"):
        read_urdf(names(urdf, "package://shelf/meshes/b.obj"))
    (urdf.parent / "linked").symlink_to(urdf.parents[2])
    with pytest.raises(AssetError, match="leads out of the asset's folder"):
        read_urdf(names(urdf, "package://linked/secret.obj"))


def test_the_home_folder_and_its_parents_are_no_packages(urdf: Path, monkeypatch: pytest.MonkeyPatch):
    assert package_path(urdf, "package://ws/secret.obj", where="x")[0] == urdf.parents[2].resolve()
    monkeypatch.setenv("HOME", str(urdf.parents[2]))
    monkeypatch.setenv("USERPROFILE", str(urdf.parents[2]))
    with pytest.raises(AssetError, match="the package 'ws' of"):
        package_path(urdf, "package://ws/secret.obj", where="x")
    top = urdf.resolve().parts[1]
    with pytest.raises(AssetError, match=f"the package '{top}' of"):
        package_path(urdf, f"package://{top}/x.obj", where="x")


def test_packages_are_refused_if_files_must_be_beside_the_urdf(urdf: Path):
    with pytest.raises(AssetError, match="is not a path relative to the asset's folder"):
        read_urdf(names(urdf, "package://shelf/meshes/a.obj"), packages=False)
