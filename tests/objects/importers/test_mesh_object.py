"""Every field of the mesh converter by its effect, and a mesh that becomes a URDF by the joint that the user states."""

import json
from pathlib import Path

import numpy as np
import pybullet as p
import pytest
import trimesh

from tests.objects.importers.mesh_samples import SIZE_M, cabinet_boxes, cabinet_scene, write_glb
from unlatch.objects.importers.asset_converter import CollisionPropertiesCfg, MassPropertiesCfg, RigidBodyPropertiesCfg
from unlatch.objects.importers.mesh_object import (
    BASE,
    LINK,
    PART,
    MeshConverter,
    MeshConverterCfg,
    MeshJointCfg,
    write_mesh_urdf,
)
from unlatch.objects.importers.urdf_converter import UrdfConverter, UrdfConverterCfg
from unlatch.simcore.errors import AssetError, ConfigError
from unlatch.simcore.meshes.mesh_reader import read_mesh
from unlatch.simcore.meshes.obj_file import read_textured_surface
from unlatch.simcore.urdf.reader import read_urdf

AABB_MARGIN_M = 5e-3
"""Bullet's boxes around compounds of hulls are up to so much larger."""
HALF = float(np.sqrt(0.5))


@pytest.fixture
def out(tmp_path):
    return tmp_path / "out"


def convert(path, out, **values):
    return MeshConverter(MeshConverterCfg(asset_path=str(path), out_dir=str(out), **values))


@pytest.fixture
def load(client):
    """Loads what was converted; returns its bounds, and mass, centre and moments of inertia."""

    def loaded(made):
        body = p.loadURDF(made.urdf_path, flags=p.URDF_USE_INERTIA_FROM_FILE, physicsClientId=client)
        mass, _, inertia, com = p.getDynamicsInfo(body, -1, physicsClientId=client)[:4]
        return np.array(p.getAABB(body, physicsClientId=client)), mass, com, inertia

    return loaded


def hit(client, x, y):
    """Height at which a ray from above meets something."""
    (result,) = p.rayTestBatch([(x, y, 2.0)], [(x, y, -1.0)], physicsClientId=client)
    return None if result[0] < 0 else result[3][2]


@pytest.mark.parametrize(
    ("props", "mass"),
    [({"mass": 2.5}, 2.5), ({"density": 500.0}, 3.0), ({"mass": 1.0, "density": 500.0}, 1.0)],
)
def test_the_mass_is_that_of_the_configuration_or_by_volume(brick, out, load, props, mass):
    _, found, com, inertia = load(convert(brick, out, mass_props=MassPropertiesCfg(**props)))
    assert found == pytest.approx(mass, rel=1e-5)
    assert com == pytest.approx((0.05, 0.1, 0.15))
    expected = [mass / 12 * (a * a + b * b) for a, b in ((0.2, 0.3), (0.1, 0.3), (0.1, 0.2))]
    assert sorted(inertia) == pytest.approx(sorted(expected), rel=1e-4)


def test_without_mass_properties_none_are_added(brick, out):
    assert read_urdf(convert(brick, out).urdf_path).links[LINK].inertial is None


def test_scale_then_rotation_then_translation(brick, out, load):
    quarter_turn = (HALF, 0.0, 0.0, HALF)  # about z: x goes to y
    made = convert(brick, out, scale=(2.0, 1.0, 1.0), rotation=quarter_turn, translation=(0.0, 0.0, 1.0))
    np.testing.assert_allclose(load(made)[0], [[-0.2, 0, 1.0], [0, 0.2, 1.3]], atol=AABB_MARGIN_M)
    shape = read_urdf(made.urdf_path).links[LINK].visuals[0]
    np.testing.assert_allclose(shape.T_link_shape @ (np.array([0.1, 0, 0]) * shape.size), [0, 0.2, 1.0], atol=1e-6)


def test_a_mirrored_mesh_keeps_its_mass(brick, out, load):
    bounds, mass, *_ = load(convert(brick, out, scale=(-1.0, 1.0, 1.0), mass_props=MassPropertiesCfg(density=1000.0)))
    assert mass == pytest.approx(6.0, rel=1e-4)
    np.testing.assert_allclose(bounds, [[-0.1, 0, 0], [0, 0.2, 0.3]], atol=AABB_MARGIN_M)


# down through the open side of the angle, whose floor is 0.1 m thick; its hull reaches to 0.55 there
@pytest.mark.parametrize(
    ("approximation", "height"),
    [
        ("convexDecomposition", 0.1),
        ("convexHull", 0.5),
        ("boundingCube", 1.0),
        ("boundingSphere", 1.222),
        ("meshSimplification", 0.1),
        ("none", None),
    ],
)
def test_a_ray_meets_the_collider_where_its_approximation_has_its_surface(
    approximation, height, angle, out, load, client
):
    load(convert(angle, out, collision_approximation=approximation))
    assert hit(client, 0.6, 0.2) == (None if height is None else pytest.approx(height, abs=0.012))


@pytest.mark.parametrize("enabled", [True, False])
def test_a_disabled_collider_is_left_out(brick, out, load, client, enabled):
    load(convert(brick, out, collision_props=CollisionPropertiesCfg(collision_enabled=enabled)))
    assert hit(client, 0.05, 0.1) == (pytest.approx(0.3, abs=2e-3) if enabled else None)


def test_physics_that_a_urdf_cannot_hold_is_written_beside_it_and_a_material_kept(brick, out):
    rigid, collision = {"disable_gravity": True, "linear_damping": 0.5}, {"contact_offset": 0.02, "rest_offset": 0.001}
    props = {"rigid_props": RigidBodyPropertiesCfg(**rigid), "collision_props": CollisionPropertiesCfg(**collision)}
    made = convert(brick, out, **props)
    physics = json.loads(Path(made.physics_path).read_text())
    assert (physics["rigid"], physics["collision"]) == (rigid, collision)
    assert read_urdf(made.urdf_path).links[LINK].visuals[0].rgba == pytest.approx((0.2, 0.4, 0.6, 1.0))
    assert (out / "source" / "skin.png").read_bytes() == b"pixels"
    assert (out / "source" / "brick.mtl").is_file()


@pytest.mark.parametrize("name", ["Möbel Tür.obj", "扉.obj", "a b.stl"])
def test_names_of_any_alphabet_work(name, brick, out, load):
    path = brick.with_name(name)
    if path.suffix == ".stl":
        trimesh.load_mesh(brick).export(path)
    else:
        brick.rename(path)
    bounds, *_ = load(convert(path, out / path.stem, mass_props=MassPropertiesCfg(mass=1.0)))
    np.testing.assert_allclose(bounds, [[0, 0, 0], [0.1, 0.2, 0.3]], atol=AABB_MARGIN_M)


@pytest.mark.parametrize("factor", [1e4, 1e-5])
def test_an_absurd_size_is_refused(factor, brick, out):
    with pytest.raises(AssetError, match="m large, expected"):
        convert(brick, out, scale=(factor, factor, factor))
    assert not out.exists()


NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("make", "values", "key"),
    [
        *((MeshConverterCfg, {"scale": scale}, "scale") for scale in ((0.0, 1.0, 1.0), (1.0, 1.0), (NAN, 1.0, 1.0))),
        (MeshConverterCfg, {"rotation": (0.0, 0.0, 0.0, 0.0)}, "rotation"),
        (MeshConverterCfg, {"rotation": (1.0, 0.0, 0.0)}, "rotation"),
        (MeshConverterCfg, {"translation": (0.0, 0.0, INF)}, "translation"),
        (MeshConverterCfg, {"collision_approximation": "concave"}, "collision_approximation"),
        (MassPropertiesCfg, {"mass": 0.0}, "mass_props.mass"),
        (MassPropertiesCfg, {"density": -1.0}, "mass_props.density"),
        (RigidBodyPropertiesCfg, {"linear_damping": -0.1}, "rigid_props.linear_damping"),
        (RigidBodyPropertiesCfg, {"angular_damping": NAN}, "rigid_props.angular_damping"),
        (RigidBodyPropertiesCfg, {"max_linear_velocity": 0.0}, "rigid_props.max_linear_velocity"),
        (RigidBodyPropertiesCfg, {"max_angular_velocity": -1.0}, "rigid_props.max_angular_velocity"),
        (CollisionPropertiesCfg, {"contact_offset": -0.1}, "collision_props.contact_offset"),
        (CollisionPropertiesCfg, {"contact_offset": 0.1, "rest_offset": 0.1}, "collision_props.rest_offset"),
    ],
)
def test_a_wrong_value_names_its_field(make, values, key):
    with pytest.raises(ConfigError) as caught:
        make(**values, **({"asset_path": "a.obj"} if make is MeshConverterCfg else {}))
    assert caught.value.values["key"] == key
    assert key in caught.value.message


@pytest.mark.parametrize(("shared", "count"), [(True, 1), (False, 2)])
def test_copies_share_one_file_only_if_instanceable(brick, out, shared, count):
    visual = "<visual><geometry><mesh filename='brick.obj'/></geometry></visual>"
    urdf = brick.with_name("two.urdf")
    urdf.write_text(f"<robot name='two'><link name='l'>{visual * 2}</link></robot>")
    where = {"asset_path": str(urdf), "out_dir": str(out)}
    UrdfConverter(UrdfConverterCfg(**where, fix_base=False, make_instanceable=shared))
    names = [shape.mesh for shape in read_urdf(out / "two.urdf").links["l"].visuals]
    assert len(set(names)) == count
    assert all((out / name).is_file() for name in names)


DEPTH, WIDTH, _ = SIZE_M
DOOR = {"kind": "hinge", "moving": ("door",), "axis": "z", "at": "-y"}


@pytest.fixture
def scene(tmp_path):
    return write_glb(tmp_path / "cabinet.glb", cabinet_scene(textured=True))


def jointed(path, folder, **values):
    """The URDF of a mesh whose part has a joint, and the joint."""
    made = write_mesh_urdf(path, MeshJointCfg(**values), folder)
    model = read_urdf(made.path)
    return made, model, model.joints["joint"]


def bounds(link):
    points = np.concatenate([read_mesh(shape.path).mesh.vertices for shape in link.visuals if shape.path is not None])
    return np.array([points.min(axis=0), points.max(axis=0)])


def test_a_door_hangs_on_the_stated_side_and_opens_outwards(scene, tmp_path):
    made, model, joint = jointed(scene, tmp_path, **DOOR)
    assert (joint.kind, joint.parent, joint.child) == ("revolute", BASE, PART)
    # the door with its handle reaches from the handle's front to the door's back
    low, high = -DEPTH / 2 - 0.06, -DEPTH / 2 - 0.01
    np.testing.assert_allclose(joint.T_parent_joint.p, [(low + high) / 2, -WIDTH / 2, 0.0], atol=1e-6)
    np.testing.assert_allclose(joint.axis, [0.0, 0.0, 1.0])  # the free side, at +y, moves to -x, away from the body
    assert (joint.lower, joint.upper) == pytest.approx((0.0, np.pi / 2))
    seen = bounds(model.links[PART]) + joint.T_parent_joint.p
    np.testing.assert_allclose(seen, [[low, -WIDTH / 2, -0.2], [high, WIDTH / 2, 0.2]], atol=1e-6)
    assert made.description == "door, handle, stem: hinge about (0, 0, 1) through (-0.185, -0.2, 0) m, 0 to 1.57 rad"
    names = {link: {shape.name for shape in model.links[link].visuals} for link in (BASE, PART)}
    assert names[PART] == {"door", "handle", "stem"}
    assert names[BASE] == set(cabinet_boxes()) - names[PART]
    for link in model.links.values():  # every piece collides where it is seen
        assert [shape.mesh for shape in link.collisions] == [shape.mesh for shape in link.visuals]
    (door,) = [shape for shape in model.links[PART].visuals if shape.name == "door"]
    surface = read_textured_surface(door.path, tmp_path)
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
def test_axis_place_and_range(scene, tmp_path, values, axis, position, limits):
    _, _, joint = jointed(scene, tmp_path, **{"kind": "hinge", "moving": ("door",), **values})
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
STOP, STUCK = ({"stop": ((0.02, 0.4, 0.1), (x, 0.0, 0.2))} for x in (0.26, 0.16))


@pytest.mark.parametrize(
    ("more", "axis", "length"),
    [
        ({}, "x", 0.95 * 0.3),  # a small overlap is left
        ({"knob": ((0.02, 0.02, 0.02), (0.12, 0.0, 0.22))}, "x", 0.95 * 0.3),
        (STOP, "+x", 0.1),  # 0.1 m in front of the lid
        (STOP, "-x", 0.95 * 0.3),
        (STUCK, "+x", 0.95 * 0.3),  # the axis or the place is wrong
    ],
)
def test_a_flat_lid_slides_by_its_length_as_far_as_it_is_free(tmp_path, more, axis, length):
    path = write_boxes(tmp_path / "trough.obj", {**TROUGH, **more})
    moving = tuple({"lid", "knob"} & {"lid", *more})
    _, _, joint = jointed(path, tmp_path, kind="slider", moving=moving, axis=axis)
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
    made, *_ = jointed(path, tmp_path, kind="hinge", moving=("lid",), axis=axis, at=at)
    assert [warning.partition("is not lifted. ")[2] for warning in made.warnings] == said


@pytest.mark.parametrize("word", ["o", "g"])
def test_an_obj_is_read_by_its_objects_or_groups_with_z_up(tmp_path, word):
    path = write_boxes(tmp_path / "cabinet.obj", cabinet_boxes(), word=word)
    _, _, joint = jointed(path, tmp_path, **{**DOOR, "moving": ("door", "handle", "stem")})
    np.testing.assert_allclose(joint.T_parent_joint.p, [-0.185, -0.2, 0.0], atol=1e-6)


def test_a_file_of_one_piece_is_split_where_its_triangles_do_not_touch(tmp_path):
    box, lid = trimesh.creation.box((0.3, 0.3, 0.2)), trimesh.creation.box((0.3, 0.3, 0.02))
    lid.apply_translation((0.0, 0.0, 0.12))
    trimesh.util.concatenate([lid, box]).export(tmp_path / "box.stl")
    _, model, joint = jointed(tmp_path / "box.stl", tmp_path, kind="hinge", moving=("piece_2",), axis="y", at="-x")
    np.testing.assert_allclose(bounds(model.links[BASE])[1], [0.15, 0.15, 0.1], atol=1e-6)
    np.testing.assert_allclose(joint.axis, [0.0, -1.0, 0.0])  # the free side, at +x, moves up
    box.export(tmp_path / "cube.stl")
    with pytest.raises(AssetError, match="the mesh is one piece"):
        jointed(tmp_path / "cube.stl", tmp_path, **DOOR)


def test_the_upward_axis_of_a_file_can_be_stated(tmp_path):
    cabinet_scene(y_up=False).export(tmp_path / "turned.glb")
    _, model, _ = jointed(tmp_path / "turned.glb", tmp_path, **DOOR, up="z")
    np.testing.assert_allclose(np.ptp(bounds(model.links[BASE]), axis=0), [0.31, 0.42, 0.42], atol=1e-6)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"moving": ()}, "it is not said which part moves. Give moving=NAME or moving=[NAME,NAME]. Pieces, with size"),
        ({"moving": ("dor",)}, "the mesh has no piece 'dor'. Did you mean 'door'?"),
        ({"moving": ("body",)}, "moving=body is the whole mesh. Name the part that moves."),
        ({"axis": None}, "joint=hinge needs an axis. Expected axis=x, y, z or [X,Y,Z]; z points up. Add it."),
        ({"at": None}, "joint=hinge needs the place of its axis. Expected at=-x or another side of the part"),
        (
            {"kind": "hing"},
            "joint='hing' is not a joint. Did you mean 'hinge'? Known: hinge, slider. Name one of them.",
        ),
        ({"axis": "w"}, "axis=w is no direction."),
        ({"axis": (0.0, 0.0)}, "axis has 2 numbers. Expected 3."),
        ({"axis": (0.0, 0.0, 0.0)}, "axis has length 0."),
        ({"at": "left"}, "at=left is no place. Expected one of -x, +x, -y, +y, -z, +z, centre, or [X,Y,Z]"),
        ({"range": (1.0, 0.0)}, "range=[1.0, 0.0] does not rise."),
        ({"up": "w"}, "up=w is no axis."),
    ],
)
def test_values_that_describe_no_joint_of_the_mesh_are_refused(scene, out, values, said):
    with pytest.raises(ConfigError) as caught:
        jointed(scene, out, **{**DOOR, **values})
    assert said in str(caught.value)
    assert not out.exists()


def test_an_existing_urdf_is_kept_unless_forced(scene, tmp_path):
    (tmp_path / "cabinet.urdf").write_text("mine")
    with pytest.raises(AssetError, match=r"exists\. Use it, or give force=true"):
        jointed(scene, tmp_path, **DOOR)
    assert (tmp_path / "cabinet.urdf").read_text() == "mine"
    assert read_urdf(write_mesh_urdf(scene, MeshJointCfg(**DOOR), tmp_path, force=True).path).joints
