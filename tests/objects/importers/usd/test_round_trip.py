"""Our own USD, read again: the same joints, masses, inertias, shapes, colours and motions as the URDF beside it.

The tolerances are those of single precision, in which USD keeps positions, rotations and limits.
"""

from pathlib import Path

import numpy as np
import pytest

from unlatch.objects.annotate.source import urdf_of
from unlatch.objects.importers.converted_asset import read_surfaces
from unlatch.objects.importers.urdf_converter import UrdfConverter, UrdfConverterCfg
from unlatch.objects.procedural.catalog import GENERATORS
from unlatch.simcore.urdf.reader import read_urdf

pytest.importorskip("pxr", reason="USD needs the package usd-core of the extra usd")

POSITION_M = 1e-6
ROTATION = 1e-6
LIMIT = 1e-6
RELATIVE = 1e-5
ROUND_M = 2e-5
"""Of points that are compared after rounding to 1e-5 m."""


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("UNLATCH_CACHE_DIR", str(tmp_path / "cache"))


def exported(folder, category, *, fix_base, make_instanceable):
    """A converted object, and what its USD is read as."""
    made = GENERATORS.load(category)(3, name=category)
    (folder / "object.urdf").write_text(made.model.to_urdf())
    converter = UrdfConverter(
        UrdfConverterCfg(
            asset_path=str(folder / "object.urdf"),
            out_dir=str(folder / "out"),
            fix_base=fix_base,
            make_instanceable=make_instanceable,
            usd=True,
        )
    )
    return read_urdf(Path(converter.urdf_path)), read_urdf(urdf_of(Path(converter.usd_path)).path)


def points(model, folder):
    """Vertices (N, 3) of the visuals and of the colliders of each link, in its frame."""

    def corners(meshes):
        return np.unique(np.concatenate([np.zeros((0, 3)), *(mesh.vertices for mesh in meshes)]).round(5), axis=0)

    found = read_surfaces(model, folder, where="the object")
    return {name: (corners(item.visual_meshes), corners(item.collision_meshes)) for name, item in found.items()}


def farthest(first, second):
    """The Hausdorff distance of two sets of points."""
    apart = np.linalg.norm(first[:, None] - second[None], axis=2)
    return float(max(apart.min(axis=0).max(), apart.min(axis=1).max()))


def colours(link):
    return sorted({tuple(np.round(shape.rgba, 4)) for shape in link.visuals if shape.rgba is not None})


@pytest.mark.parametrize(
    ("category", "fix_base", "make_instanceable"),
    [("microwave", True, True), ("drawer", False, False), pytest.param("faucet", True, False, marks=pytest.mark.slow)],
)
def test_an_exported_object_is_read_as_it_was(tmp_path, category, fix_base, make_instanceable):
    before, after = exported(tmp_path, category, fix_base=fix_base, make_instanceable=make_instanceable)
    moving = [joint for joint in before.joints.values() if joint.moves]
    assert moving
    assert sorted(after.links) == sorted(set(before.links) - {"world"})
    for joint in moving:
        other = after.joints[joint.name]
        assert other.kind == joint.kind
        assert (other.parent, other.child) == (joint.parent, joint.child)
        assert other.lower == pytest.approx(joint.lower, abs=LIMIT)
        assert other.upper == pytest.approx(joint.upper, abs=LIMIT)
        assert other.effort == pytest.approx(joint.effort, rel=RELATIVE)
        assert other.friction == pytest.approx(joint.friction, rel=RELATIVE)
        assert other.velocity == pytest.approx(joint.velocity, rel=RELATIVE)
        # the path of the opened part: every pose of its link along the range
        for position in np.linspace(joint.lower, joint.upper, 7):
            first = before.link_pose(joint.child, {joint.name: float(position)})
            second = after.link_pose(joint.child, {joint.name: float(position)})
            np.testing.assert_allclose(second.p, first.p, atol=POSITION_M)
            np.testing.assert_allclose(second.R, first.R, atol=ROTATION)
    shapes_before, shapes_after = points(before, tmp_path / "out"), points(after, tmp_path / "cache")
    for name, link in after.links.items():
        old = before.links[name]
        assert link.inertial is not None
        assert old.inertial is not None
        assert link.inertial.mass_kg == pytest.approx(old.inertial.mass_kg, rel=RELATIVE)
        np.testing.assert_allclose(link.inertial.com_link, old.inertial.com_link, atol=POSITION_M)
        scale = float(np.abs(old.inertial.inertia).max())
        np.testing.assert_allclose(link.inertial.inertia, old.inertial.inertia, atol=RELATIVE * scale)
        for first, second in zip(shapes_before[name], shapes_after[name], strict=True):
            assert farthest(first, second) < ROUND_M
        assert colours(link) == colours(old)


def test_the_damping_of_a_drive_survives(tmp_path):
    made = GENERATORS.load("microwave")(3, name="microwave")
    (tmp_path / "object.urdf").write_text(made.model.to_urdf())
    converter = UrdfConverter(
        UrdfConverterCfg(
            asset_path=str(tmp_path / "object.urdf"),
            out_dir=str(tmp_path / "out"),
            fix_base=False,
            usd=True,
            default_drive_type="velocity",
            default_drive_damping=0.7,
            override_joint_dynamics=True,
        )
    )
    after = read_urdf(urdf_of(Path(converter.usd_path)).path)
    assert [joint.damping for joint in after.joints.values()] == pytest.approx([0.7], rel=RELATIVE)
