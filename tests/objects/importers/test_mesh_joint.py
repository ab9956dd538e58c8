"""A mesh without joints becomes a URDF by the joint that the user states."""

import numpy as np
import pytest
import trimesh

from tests.objects.importers.mesh_samples import SIZE_M, cabinet_boxes, cabinet_scene, write_glb
from unlatch.objects.importers.mesh_object import BASE, PART, MeshJointCfg, write_mesh_urdf
from unlatch.simcore.errors import AssetError, ConfigError
from unlatch.simcore.meshes.mesh_reader import read_mesh
from unlatch.simcore.meshes.obj_file import read_textured_surface
from unlatch.simcore.urdf.reader import read_urdf

DEPTH, WIDTH, _ = SIZE_M
DOOR = MeshJointCfg("hinge", moving=("door",), axis="z", at="-y")


@pytest.fixture
def cabinet(tmp_path):
    return write_glb(tmp_path / "cabinet.glb", cabinet_scene(textured=True))


def bounds(link):
    points = np.concatenate([read_mesh(shape.path).mesh.vertices for shape in link.visuals if shape.path is not None])
    return points.min(axis=0), points.max(axis=0)


def test_a_door_hangs_on_the_stated_side_and_opens_outwards(cabinet, tmp_path):
    made = write_mesh_urdf(cabinet, DOOR, tmp_path)
    model = read_urdf(made.path)
    joint = model.joints["joint"]
    assert (joint.kind, joint.parent, joint.child) == ("revolute", BASE, PART)
    # the door with its handle reaches from the handle's front to the door's back
    low, high = -DEPTH / 2 - 0.06, -DEPTH / 2 - 0.01
    np.testing.assert_allclose(joint.T_parent_joint.p, [(low + high) / 2, -WIDTH / 2, 0.0], atol=1e-6)
    np.testing.assert_allclose(joint.axis, [0.0, 0.0, 1.0])  # the free side, at +y, moves to -x, away from the body
    assert (joint.lower, joint.upper) == pytest.approx((0.0, np.pi / 2))
    seen = bounds(model.links[PART])
    np.testing.assert_allclose(seen[0] + joint.T_parent_joint.p, [low, -WIDTH / 2, -0.2], atol=1e-6)
    np.testing.assert_allclose(seen[1] + joint.T_parent_joint.p, [high, WIDTH / 2, 0.2], atol=1e-6)
    assert made.description == "door, handle, stem: hinge about (0, 0, 1) through (-0.185, -0.2, 0) m, 0 to 1.57 rad"


def test_every_piece_is_in_one_link_and_collides_where_it_is_seen(cabinet, tmp_path):
    model = read_urdf(write_mesh_urdf(cabinet, DOOR, tmp_path).path)
    names = {link: {shape.name for shape in model.links[link].visuals} for link in (BASE, PART)}
    assert names[PART] == {"door", "handle", "stem"}
    assert names[BASE] == set(cabinet_boxes()) - names[PART]
    for link in model.links.values():
        assert [shape.mesh for shape in link.collisions] == [shape.mesh for shape in link.visuals]


def test_the_picture_of_a_piece_is_kept(cabinet, tmp_path):
    model = read_urdf(write_mesh_urdf(cabinet, DOOR, tmp_path).path)
    (door,) = [shape for shape in model.links[PART].visuals if shape.name == "door"]
    assert door.path is not None
    surface = read_textured_surface(door.path, tmp_path)
    assert surface is not None
    assert surface.picture.suffix == ".png"
    # in the frame of the link, whose origin is at the side of the door, the picture lies as it was put on the board
    np.testing.assert_allclose(surface.uvs, surface.vertices[:, 1:] / 0.4 + [[0.0, 0.5]], atol=1e-5)


@pytest.mark.parametrize(
    ("values", "axis", "position", "limits"),
    [
        ({"axis": "-z", "at": "-y"}, [0, 0, -1], [-0.185, -0.2, 0], (0, np.pi / 2)),
        ({"axis": "+z", "at": "+y"}, [0, 0, 1], [-0.185, 0.2, 0], (0, np.pi / 2)),
        ({"axis": "z", "at": "+y"}, [0, 0, -1], [-0.185, 0.2, 0], (0, np.pi / 2)),
        ({"axis": "y", "at": "-z"}, [0, -1, 0], [-0.185, 0, -0.2], (0, np.pi / 2)),
        ({"axis": "x", "at": "centre"}, [1, 0, 0], [-0.185, 0, 0], (0, np.pi / 2)),
        ({"axis": (0, 0, 2), "at": (-0.1, 0.3, 0)}, [0, 0, 1], [-0.1, 0.3, 0], (0, np.pi / 2)),
        ({"axis": "z", "at": "-y", "range": (-0.5, 2.0)}, [0, 0, 1], [-0.185, -0.2, 0], (-0.5, 2.0)),
        ({"kind": "slider", "axis": "x"}, [-1, 0, 0], [-0.185, 0, 0], (0, 0.8 * 0.05)),
    ],
)
def test_axis_place_and_range(cabinet, tmp_path, values, axis, position, limits):
    cfg = MeshJointCfg(**{"kind": "hinge", "moving": ("door",), **values})
    joint = read_urdf(write_mesh_urdf(cabinet, cfg, tmp_path).path).joints["joint"]
    np.testing.assert_allclose(joint.axis, axis, atol=1e-9)
    np.testing.assert_allclose(joint.T_parent_joint.p, position, atol=1e-6)
    assert (joint.lower, joint.upper) == pytest.approx(limits)


def write_boxes(path, boxes, *, word="o"):
    """Writes boxes by name, with size and centre [m], as an OBJ, which has z up."""
    lines, first = [], 1
    for name, (size, centre) in boxes.items():
        box = trimesh.creation.box(size)
        lines += [f"{word} {name}", *(f"v {x} {y} {z}" for x, y, z in box.vertices + np.array(centre))]
        lines += [f"f {a} {b} {c}" for a, b, c in box.faces + first]
        first += len(box.vertices)
    path.write_text("\n".join(lines))
    return path


TROUGH = {
    "floor": ((0.3, 0.4, 0.02), (0.0, 0.0, 0.01)),
    "left": ((0.3, 0.02, 0.2), (0.0, 0.19, 0.1)),
    "right": ((0.3, 0.02, 0.2), (0.0, -0.19, 0.1)),
    "lid": ((0.3, 0.4, 0.01), (0.0, 0.0, 0.205)),
}
"""A trough with a lid on top, 0.3 m along x."""


@pytest.mark.parametrize(
    ("more", "axis", "length"),
    [
        ({}, "x", 0.95 * 0.3),  # a small overlap is left
        ({"knob": ((0.02, 0.02, 0.02), (0.12, 0.0, 0.22))}, "x", 0.95 * 0.3),
        ({"stop": ((0.02, 0.4, 0.1), (0.26, 0.0, 0.2))}, "+x", 0.1),  # 0.1 m in front of the lid
        ({"stop": ((0.02, 0.4, 0.1), (0.26, 0.0, 0.2))}, "-x", 0.95 * 0.3),
        ({"stop": ((0.02, 0.4, 0.1), (0.16, 0.0, 0.2))}, "+x", 0.95 * 0.3),  # stuck: the axis or the place is wrong
    ],
)
def test_a_flat_lid_slides_by_its_length_as_far_as_it_is_free(tmp_path, more, axis, length):
    path = write_boxes(tmp_path / "trough.obj", {**TROUGH, **more})
    moving = ("lid", "knob") if "knob" in more else ("lid",)
    joint = read_urdf(write_mesh_urdf(path, MeshJointCfg("slider", moving, axis), tmp_path).path).joints["joint"]
    assert joint.upper == pytest.approx(length, abs=0.008)
    assert joint.upper <= length + 0.002


@pytest.mark.parametrize(
    ("axis", "at", "said"),
    [
        ("z", "-x", ["For a lid or a door, give an axis along an edge: axis=x or axis=y."]),
        ("z", "centre", []),  # a turntable
        ("y", "-x", []),
    ],
)
def test_an_axis_that_lifts_no_lid_gives_a_warning(tmp_path, axis, at, said):
    path = write_boxes(tmp_path / "trough.obj", TROUGH)
    warnings = write_mesh_urdf(path, MeshJointCfg("hinge", ("lid",), axis, at), tmp_path).warnings
    assert [warning.partition("is not lifted. ")[2] for warning in warnings] == said


@pytest.mark.parametrize("word", ["o", "g"])
def test_an_obj_is_read_by_its_objects_or_groups_with_z_up(tmp_path, word):
    path = write_boxes(tmp_path / "cabinet.obj", cabinet_boxes(), word=word)
    cfg = MeshJointCfg("hinge", moving=("door", "handle", "stem"), axis="z", at="-y")
    joint = read_urdf(write_mesh_urdf(path, cfg, tmp_path).path).joints["joint"]
    np.testing.assert_allclose(joint.T_parent_joint.p, [-0.185, -0.2, 0.0], atol=1e-6)


def test_a_file_of_one_piece_is_split_where_its_triangles_do_not_touch(tmp_path):
    box, lid = trimesh.creation.box((0.3, 0.3, 0.2)), trimesh.creation.box((0.3, 0.3, 0.02))
    lid.apply_translation((0.0, 0.0, 0.12))
    path = tmp_path / "box.stl"
    trimesh.util.concatenate([lid, box]).export(path)
    cfg = MeshJointCfg("hinge", moving=("piece_2",), axis="y", at="-x")
    model = read_urdf(write_mesh_urdf(path, cfg, tmp_path).path)
    np.testing.assert_allclose(bounds(model.links[BASE])[1], [0.15, 0.15, 0.1], atol=1e-6)
    np.testing.assert_allclose(model.joints["joint"].axis, [0.0, -1.0, 0.0])  # the free side, at +x, moves up


def test_the_upward_axis_of_a_file_can_be_stated(tmp_path):
    path = tmp_path / "turned.glb"
    cabinet_scene(y_up=False).export(path)
    made = write_mesh_urdf(path, MeshJointCfg("hinge", ("door",), "z", "-y", up="z"), tmp_path)
    low, high = bounds(read_urdf(made.path).links[BASE])
    np.testing.assert_allclose(high - low, [0.31, 0.42, 0.42], atol=1e-6)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"moving": ()}, "it is not said which part moves. Give moving=NAME or moving=[NAME,NAME]. Pieces, with size"),
        ({"moving": ("dor",)}, "the mesh has no piece 'dor'. Did you mean 'door'?"),
        ({"moving": ("body",)}, "moving=body is the whole mesh. Name the part that moves."),
        ({"axis": None}, "joint=hinge needs an axis. Expected axis=x, y, z or [X,Y,Z]; z points up. Add it."),
        ({"at": None}, "joint=hinge needs the place of its axis. Expected at=-x or another side of the part"),
    ],
)
def test_what_is_missing_is_said(cabinet, tmp_path, values, said):
    cfg = MeshJointCfg(**{"kind": "hinge", "moving": ("door",), "axis": "z", "at": "-y", **values})
    with pytest.raises(ConfigError) as caught:
        write_mesh_urdf(cabinet, cfg, tmp_path / "out")
    assert said in str(caught.value)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"kind": "hing"}, "joint='hing' is no joint. Did you mean 'hinge'? Expected hinge or slider."),
        ({"axis": "w"}, "axis=w is no direction."),
        ({"axis": (0.0, 0.0)}, "axis has 2 numbers. Expected 3."),
        ({"axis": (0.0, 0.0, 0.0)}, "axis has length 0."),
        ({"at": "left"}, "at=left is no place. Expected one of -x, +x, -y, +y, -z, +z, centre, or [X,Y,Z]"),
        ({"range": (1.0, 0.0)}, "range=[1.0, 0.0] does not rise."),
        ({"up": "w"}, "up=w is no axis."),
    ],
)
def test_values_that_describe_no_joint_are_refused(values, said):
    with pytest.raises(ConfigError) as caught:
        MeshJointCfg(**{"kind": "hinge", **values})
    assert said in str(caught.value)


def test_a_mesh_of_one_piece_is_refused(tmp_path):
    trimesh.creation.box((0.1, 0.1, 0.1)).export(tmp_path / "cube.stl")
    with pytest.raises(AssetError, match="the mesh is one piece"):
        write_mesh_urdf(tmp_path / "cube.stl", DOOR, tmp_path)


def test_an_existing_urdf_is_kept_unless_forced(cabinet, tmp_path):
    (tmp_path / "cabinet.urdf").write_text("mine")
    with pytest.raises(AssetError, match=r"exists\. Use it, or give force=true"):
        write_mesh_urdf(cabinet, DOOR, tmp_path)
    assert (tmp_path / "cabinet.urdf").read_text() == "mine"
    assert read_urdf(write_mesh_urdf(cabinet, DOOR, tmp_path, force=True).path).joints
