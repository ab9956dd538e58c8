"""Meshes of robots in formats that Bullet cannot read."""

import os

import numpy as np
import pytest
import trimesh

from unlatch.robots.changed_models import changed_model
from unlatch.robots.models import repair_inertias
from unlatch.simcore.errors import AssetError, WorldError
from unlatch.simcore.geometry import Pose
from unlatch.simcore.meshes.shape_surface import shape_mesh
from unlatch.simcore.process import hold_native_output
from unlatch.simcore.sim.world import World, WorldCfg
from unlatch.simcore.urdf.reader import read_urdf

SIZE = (0.1, 0.2, 0.3)


def coloured_box(place_m: float, rgba: tuple[int, int, int, int]) -> trimesh.Trimesh:
    """A box with a colour, at a place along x [m]."""
    box = trimesh.creation.box(extents=SIZE)
    box.apply_translation((place_m, 0.0, 0.0))
    material = trimesh.visual.material.PBRMaterial(baseColorFactor=rgba)
    box.visual = trimesh.visual.TextureVisuals(material=material)
    return box


def model_of(folder, *, visual="", collision=""):
    """The link of the made model of a robot with a visual and a collider."""
    shapes = "".join(f"<{tag}>{text}</{tag}>" for tag, text in (("visual", visual), ("collision", collision)) if text)
    (folder / "a.urdf").write_text(f'<robot name="a"><link name="b">{shapes}</link></robot>')
    return changed_model("a", folder / "a.urdf", repair_inertias)


def mesh(name: str, *, scale: str = "1 1 1") -> str:
    return f'<geometry><mesh filename="{name}" scale="{scale}"/></geometry>'


RED = '<material name="red"><color rgba="1 0 0 1"/></material>'


@pytest.mark.parametrize(("material", "colours"), [("", [(1.0, 0, 0, 1), (0, 0, 1.0, 1)]), (RED, [(1.0, 0, 0, 1)])])
def test_a_glb_becomes_a_visual_for_each_of_its_colours_unless_the_urdf_states_one(tmp_path, material, colours):
    scene = trimesh.Scene([coloured_box(0.0, (255, 0, 0, 255)), coloured_box(1.0, (0, 0, 255, 255))])
    scene.export(tmp_path / "two.glb")
    urdf = model_of(tmp_path, visual=mesh("two.glb", scale="2 2 2") + material)
    visuals = read_urdf(urdf).links["b"].visuals
    assert sorted(shape.rgba for shape in visuals) == [pytest.approx(colour) for colour in sorted(colours)]
    corners = np.concatenate([shape_mesh(shape).vertices for shape in visuals])
    # in the axes of the file, without a turn from y up to z up
    np.testing.assert_allclose([corners.min(axis=0), corners.max(axis=0)], [[-0.1, -0.2, -0.3], [2.1, 0.2, 0.3]])
    with World(WorldCfg(), visuals=True) as world:
        assert world.load_urdf(urdf, name="a", T_world_root=Pose.identity()).name == "a"


@pytest.mark.parametrize("order", [("visual", "collision"), ("collision", "visual")])
def test_a_mesh_that_is_a_visual_and_a_collider_keeps_its_colours_and_its_whole_shape(tmp_path, order):
    scene = trimesh.Scene([coloured_box(0.0, (255, 0, 0, 255)), coloured_box(1.0, (0, 0, 255, 255))])
    scene.export(tmp_path / "two.glb")
    link = read_urdf(model_of(tmp_path, **{tag: mesh("two.glb") for tag in order})).links["b"]
    (collider,) = link.collisions
    np.testing.assert_allclose(np.ptp(shape_mesh(collider).vertices, axis=0), (1.1, *SIZE[1:]), atol=1e-6)
    assert len(link.visuals) == 2
    for visual in link.visuals:
        np.testing.assert_allclose(np.ptp(shape_mesh(visual).vertices, axis=0), SIZE, atol=1e-6)


@pytest.mark.parametrize("name", ["c.ply", "c.glb", "c.STL"])
def test_a_collider_of_any_format_is_a_hull_that_bullet_reads(tmp_path, name):
    trimesh.creation.box(extents=SIZE).export(tmp_path / name, file_type=name[2:].lower())
    (shape,) = read_urdf(model_of(tmp_path, collision=mesh(name))).links["b"].collisions
    assert shape.path.suffix == ".obj"
    np.testing.assert_allclose(np.ptp(shape_mesh(shape).vertices, axis=0), SIZE, atol=1e-6)


@pytest.mark.parametrize(
    ("name", "text"),
    [("c.off", "'.off' is not a supported mesh format. Known: .dae"), ("c.glb", "no readable GLB mesh")],
)
@pytest.mark.parametrize("tag", ["visual", "collision"])
def test_a_mesh_that_nothing_reads_is_named(tmp_path, name, text, tag):
    (tmp_path / name).write_bytes(b"OFF nothing")
    with pytest.raises(AssetError) as caught:
        model_of(tmp_path, **{tag: mesh(name)})
    assert f"{tmp_path / name}: {text}" in str(caught.value)


def test_the_reason_of_bullet_is_in_the_error_and_not_on_the_terminal(tmp_path, capfd):
    urdf = tmp_path / "a.urdf"
    urdf.write_text(f'<robot name="a"><link name="b"><visual>{mesh("b.glb")}</visual></link></robot>')
    with World(WorldCfg(), visuals=True) as world, pytest.raises(WorldError, match="invalid mesh filename extension"):
        world.load_urdf(urdf, name="a", T_world_root=Pose.identity())
    assert capfd.readouterr() == ("", "")


def test_what_native_libraries_print_is_held_back_only_where_they_fail(capfd):
    with hold_native_output():
        os.write(1, b"to stdout")
        os.write(2, b"to stderr")
    assert capfd.readouterr() == ("to stdout", "to stderr")
    said: list[list[str]] = []

    def fail() -> None:
        with hold_native_output() as held:
            os.write(2, b"the reason")
            said.append(held)
            int("nothing")

    with pytest.raises(ValueError, match="nothing"):
        fail()
    assert said == [["", "the reason"]]
    assert capfd.readouterr() == ("", "")
