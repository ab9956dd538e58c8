"""Every field of the URDF converter by its effect in Bullet or in the written model."""

import json
from pathlib import Path

import numpy as np
import pybullet as p
import pytest

from unlatch.objects.importers.urdf_converter import UrdfConverter, UrdfConverterCfg
from unlatch.simcore.errors import AssetError, ConfigError
from unlatch.simcore.urdf.reader import read_urdf

KNOB_M3 = 0.04 * 0.05 * 0.06
DOOR_M3 = 0.076 / 8
DOOR_FACE_M2 = (0.19 + 0.4 * 4 / 2) / 4


def convert(path, **values):
    values = {"fix_base": True, "out_dir": str(path.parents[1] / "out"), **values}
    return UrdfConverter(UrdfConverterCfg(asset_path=str(path), **values))


def model_of(made):
    return read_urdf(made.urdf_path)


def drive(made):
    return json.loads(Path(made.physics_path).read_text())["drives"]["hinge"]


def load(client, made, **flags):
    body = p.loadURDF(made.urdf_path, flags=p.URDF_USE_INERTIA_FROM_FILE, physicsClientId=client, **flags)
    links = {
        p.getJointInfo(body, n, physicsClientId=client)[12].decode(): n
        for n in range(p.getNumJoints(body, physicsClientId=client))
    }
    return body, links


@pytest.mark.parametrize(("fixed", "falls"), [(True, False), (False, True)])
def test_only_a_fixed_base_stays_where_it_is(fixed, falls, cabinet, client):
    body, links = load(client, convert(cabinet, fix_base=fixed))
    p.setGravity(0, 0, -9.81, physicsClientId=client)
    where = links.get("body", -1)

    def height():
        if where < 0:
            return p.getBasePositionAndOrientation(body, physicsClientId=client)[0][2]
        return p.getLinkState(body, where, physicsClientId=client)[0][2]

    before = height()
    for _ in range(120):
        p.stepSimulation(physicsClientId=client)
    assert (before - height() > 0.5) is falls
    assert falls or height() == pytest.approx(before, abs=1e-6)


def test_fix_base_must_be_given():
    with pytest.raises(ConfigError, match="fix_base"):
        UrdfConverterCfg(asset_path="a.urdf")


def test_density_is_for_links_without_inertial_only(cabinet):
    links = model_of(convert(cabinet, link_density=500.0)).links
    assert links["door"].inertial.mass_kg == pytest.approx(500 * DOOR_M3, rel=1e-4)
    assert links["knob"].inertial.mass_kg == pytest.approx(500 * KNOB_M3, rel=1e-4)
    assert links["body"].inertial.mass_kg == pytest.approx(8.0)


def test_a_thin_link_has_at_least_the_mass_of_its_face(cabinet):
    links = model_of(convert(cabinet, link_density=500.0, link_face_density=40.0)).links
    assert links["door"].inertial.mass_kg == pytest.approx(40 * DOOR_FACE_M2, rel=1e-4)  # 500 kg/m^3 give half of it
    assert links["knob"].inertial.mass_kg == pytest.approx(40 * 0.05 * 0.06, rel=1e-4)
    assert links["body"].inertial.mass_kg == pytest.approx(8.0)  # stated by the file


def test_without_density_a_missing_inertial_comes_from_the_volume_with_a_notice(cabinet):
    made = convert(cabinet)
    assert model_of(made).links["door"].inertial.mass_kg == pytest.approx(1000 * DOOR_M3, rel=1e-4)
    assert any("no inertial on door, knob" in notice for notice in made.notices)


def test_the_fallback_may_be_the_identity(cabinet, client):
    body, links = load(client, convert(cabinet, inertia_fallback="identity"))
    mass, _, inertia = p.getDynamicsInfo(body, links["door"], physicsClientId=client)[:3]
    assert mass == pytest.approx(1.0)
    assert inertia == pytest.approx((1.0, 1.0, 1.0))


@pytest.mark.parametrize(("imported", "moments"), [(True, [0.2, 0.3, 0.4]), (False, None)])
def test_the_tensor_is_the_files_or_that_of_the_shape(imported, moments, cabinet, client):
    body, links = load(client, convert(cabinet, import_inertia_tensor=imported))
    mass, _, inertia = p.getDynamicsInfo(body, links["body"], physicsClientId=client)[:3]
    assert mass == pytest.approx(8.0)
    if moments is not None:
        assert sorted(inertia) == pytest.approx(moments)
    else:
        assert abs(sorted(inertia)[2] - 0.4) > 0.3  # an L of 8 kg and a metre has more than a box of the file


def test_a_mass_without_an_inertia_is_kept(edited):
    path = edited(('<inertia ixx="0.2" iyy="0.3" izz="0.4" ixy="0" ixz="0" iyz="0"/>', ""))
    inertial = model_of(convert(path)).links["body"].inertial
    assert inertial.mass_kg == pytest.approx(8.0)
    assert np.linalg.eigvalsh(inertial.inertia)[0] > 0.1


@pytest.mark.parametrize("izz", ["-0.4", "9.0"])
def test_an_impossible_inertia_is_replaced_with_a_notice(izz, edited):
    made = convert(edited(('izz="0.4"', f'izz="{izz}"')))
    moments = np.linalg.eigvalsh(model_of(made).links["body"].inertial.inertia)
    assert moments[0] > 0
    assert moments[0] + moments[1] >= moments[2]
    assert any("link 'body'" in notice for notice in made.notices)


@pytest.mark.parametrize(("decompose", "height"), [(False, 0.5), pytest.param(True, 0.1, marks=pytest.mark.slow)])
def test_a_decomposed_mesh_leaves_its_corner_free(decompose, height, cabinet, client):
    load(client, convert(cabinet, convex_decompose_mesh=decompose))
    (hit,) = p.rayTestBatch([(0.6, 0.2, 2.0)], [(0.6, 0.2, -1.0)], physicsClientId=client)
    assert hit[3][2] == pytest.approx(height, abs=0.012)


def test_merged_links_keep_mass_centre_and_shape(cabinet, tmp_path, client):
    apart = convert(cabinet, link_density=500.0)
    merged = convert(cabinet, link_density=500.0, merge_fixed_joints=True, out_dir=str(tmp_path / "merged"))
    model, before = model_of(merged), model_of(apart)
    assert set(model.links) == {"world", "body", "door"}
    assert set(model.joints) == {"fixed_base", "hinge"}
    one, door, knob = model.links["door"].inertial, before.links["door"].inertial, before.links["knob"].inertial
    assert one.mass_kg == pytest.approx(door.mass_kg + knob.mass_kg)
    com = (door.mass_kg * door.com_link + knob.mass_kg * (knob.com_link + np.array([0.1, 0, 0]))) / one.mass_kg
    np.testing.assert_allclose(one.com_link, com, atol=1e-7)

    def about_origin(inertial, shift):
        d = inertial.com_link + shift
        return inertial.inertia + inertial.mass_kg * (d @ d * np.eye(3) - np.outer(d, d))

    expected = about_origin(door, np.zeros(3)) + about_origin(knob, np.array([0.1, 0, 0]))
    np.testing.assert_allclose(about_origin(one, np.zeros(3)), expected, atol=1e-7)
    body, links = load(client, merged)
    low = p.getAABB(body, links["door"], physicsClientId=client)[0]
    assert low[1] < 0.5 - 0.02  # the knob sticks out behind the hinge


@pytest.mark.parametrize(
    "mark",
    [
        ('type="fixed">', 'type="fixed" dont_collapse="true">'),
        ('type="fixed">', 'type="fixed"><dont_collapse value="true"/>'),
        ('type="fixed">', 'type="fixed"><dont_collapse>true</dont_collapse>'),
    ],
)
def test_a_joint_marked_dont_collapse_stays(mark, edited):
    model = model_of(convert(edited(mark), merge_fixed_joints=True, fix_base=False))
    assert set(model.links) == {"body", "door", "knob"}


def test_dont_collapse_false_is_merged(edited):
    path = edited(('type="fixed">', 'type="fixed" dont_collapse="false">'))
    assert "knob" not in model_of(convert(path, merge_fixed_joints=True)).links


@pytest.mark.parametrize(
    ("values", "stiffness", "damping"),
    [
        ({}, 0.0, 0.0),
        ({"default_drive_type": "none", "override_joint_dynamics": True}, 0.0, 0.0),
        ({"default_drive_type": "position"}, 30.0, 0.7),
        ({"default_drive_type": "position", "override_joint_dynamics": True}, 30.0, 4.0),
        ({"default_drive_type": "velocity"}, 0.0, 0.7),
        ({"default_drive_type": "velocity", "override_joint_dynamics": True}, 0.0, 4.0),
    ],
)
def test_drives_by_type_and_override(values, stiffness, damping, cabinet):
    made = convert(cabinet, default_drive_stiffness=30.0, default_drive_damping=4.0, **values)
    found = drive(made)
    assert (found["stiffness"], found["damping"]) == (stiffness, damping)
    assert (found["max_effort"], found["max_velocity"]) == (20.0, 3.0)
    override = values.get("override_joint_dynamics", False)
    assert model_of(made).joints["hinge"].damping == pytest.approx(4.0 if override else 0.7)


def test_the_configured_damping_fills_in_where_the_file_has_none(edited):
    made = convert(
        edited(('<dynamics damping="0.7" friction="0.2"/>', "")),
        default_drive_type="velocity",
        default_drive_damping=4.0,
    )
    assert drive(made)["damping"] == 4.0


def test_self_collision_is_stated_beside_the_urdf(cabinet, tmp_path):
    for wanted in (True, False):
        made = convert(cabinet, self_collision=wanted, out_dir=str(tmp_path / str(wanted)))
        assert json.loads(Path(made.physics_path).read_text())["self_collision"] is wanted


def test_joints_keep_frame_limits_and_axis(cabinet):
    before, after = read_urdf(cabinet).joints["hinge"], model_of(convert(cabinet)).joints["hinge"]
    assert (after.lower, after.upper, after.friction) == (-0.5, 1.5, 0.2)
    np.testing.assert_allclose(after.axis, [0, 1, 0], atol=1e-9)
    for position in (-0.5, 0.0, 1.5):
        np.testing.assert_allclose(after.child_pose(position).matrix, before.child_pose(position).matrix, atol=1e-8)


def test_scale_keeps_the_density(cabinet, tmp_path, client):
    one, half = (
        convert(cabinet, link_density=500.0),
        convert(cabinet, link_density=500.0, scale=0.5, out_dir=str(tmp_path / "half")),
    )
    for name in ("body", "door", "knob"):
        big, small = model_of(one).links[name].inertial, model_of(half).links[name].inertial
        assert small.mass_kg == pytest.approx(big.mass_kg / 8, rel=1e-5)
        np.testing.assert_allclose(small.inertia, big.inertia / 32, atol=2e-8)
    sizes = []
    for made in (one, half):
        body, links = load(client, made)
        low, high = np.array(p.getAABB(body, links["body"], physicsClientId=client))
        sizes.append(high - low)
    np.testing.assert_allclose(sizes[1], sizes[0] / 2, atol=0.01)
    np.testing.assert_allclose(model_of(half).joints["hinge"].T_parent_joint.p, [0, 0.25, 0.1], atol=1e-9)


def test_a_link_without_colliders_gets_them_from_what_is_seen(edited, client):
    text = '<collision><geometry><mesh filename="angle.obj"/></geometry></collision>\n'
    body, links = load(client, convert(edited((text, ""))))
    assert len(p.getCollisionShapeData(body, links["body"], physicsClientId=client)) >= 1


def test_no_movable_joint_is_a_rigid_object_with_a_note(edited):
    made = convert(edited(('type="revolute"', 'type="fixed"')))
    assert any("rigid object" in notice for notice in made.notices)


def test_a_notice_names_mimic_joints_that_are_not_carried_over(edited):
    made = convert(edited(("<limit lower", '<mimic joint="screw"/><limit lower')))
    assert "<mimic> is not carried over: hinge moves by itself" in made.notices


@pytest.mark.parametrize("suffix", ["stl", "ply", "glb"])
def test_meshes_of_other_formats_come_out_as_obj(suffix, edited, client):
    import trimesh

    path = edited(("angle.obj", f"angle.{suffix}"))
    trimesh.load_mesh(path.parent / "angle.obj").export(path.parent / f"angle.{suffix}")
    made = convert(path)
    assert {shape.mesh.rpartition(".")[2] for shape in model_of(made).links["body"].visuals} == {"obj"}
    body, links = load(client, made)
    low, high = np.array(p.getAABB(body, links["body"], physicsClientId=client))
    np.testing.assert_allclose(high - low, [1.0, 0.4, 1.0], atol=0.02)  # not turned: a URDF says where things are


BAD = {
    "broken XML": (("</robot>", "</robo"), "not well-formed XML"),
    "entity bomb": (
        ("<robot name", '<!DOCTYPE r [<!ENTITY a "x"><!ENTITY b "&a;&a;&a;">]><robot name'),
        "DOCTYPE or an ENTITY",
    ),
    "missing mesh": (("angle.obj", "gone.obj"), "file 'gone.obj' is missing"),
    "path escape": (("angle.obj", "../../etc/passwd"), "leads out of the asset's folder"),
    "absolute path": (("angle.obj", "/etc/passwd"), "not a path relative"),
    "URL": (("angle.obj", "http://example.org/a.obj"), "not a path relative"),
    "zero scale": (("0.5 0.5 0.5", "0.5 0 0.5"), "scale 0.5 0 0.5"),
    "negative size": (("0.04 0.05 0.06", "0.04 -0.05 0.06"), "expected numbers above 0"),
    "NaN size": (("0.04 0.05 0.06", "0.04 nan 0.06"), "finite numbers"),
    "joint loop": (('<parent link="body"/>', '<parent link="knob"/>'), "root links|loop"),
    "unknown link": (('<child link="knob"/>', '<child link="nob"/>'), "names link 'nob'"),
    "negative mass": (('<mass value="8"/>', '<mass value="-8"/>'), "mass of -8 kg"),
    "NaN mass": (('<mass value="8"/>', '<mass value="nan"/>'), "nan"),
    "1 km": (('<geometry><box size="0.04', '<geometry><box size="1000'), "m large, expected"),
    "limits swapped": (('lower="-0.5" upper="1.5"', 'lower="1.5" upper="-0.5"'), "above the upper one"),
    "unknown joint": (('type="revolute"', 'type="ball"'), "is of type 'ball'"),
    "zero axis": (("0 2 0", "0 0 0"), "axis of length 0"),
    "negative damping": (('damping="0.7"', 'damping="-0.7"'), "damping=-0.7"),
    "no shape": (("", ""), "no link has a shape"),
    "unknown format": (("angle.obj", "angle.txt"), "not a supported mesh format"),
}


@pytest.mark.parametrize("name", list(BAD))
def test_bad_input_is_one_clear_error_and_leaves_nothing(name, edited, cabinet):
    (old, new), message = BAD[name]
    if name == "no shape":
        cabinet.write_text('<robot name="r"><link name="a"/></robot>')
    else:
        (cabinet.parent / "angle.txt").write_text("x")
        edited((old, new))
    before = sorted(cabinet.parents[1].rglob("*"))
    with pytest.raises(AssetError, match=message) as caught:
        convert(cabinet)
    assert "cabinet.urdf" in caught.value.message
    assert sorted(cabinet.parents[1].rglob("*")) == before


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("v 0 0 0\nv nan 0 0\nv 0 1 0\nf 1 2 3\n", "not finite"),
        ("", "no triangle"),
        ("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 7\n", "vertex 7 of 3"),
    ],
)
def test_a_damaged_mesh_of_a_urdf_is_named(content, message, cabinet):
    (cabinet.parent / "angle.obj").write_text(content)
    with pytest.raises(AssetError, match=message):
        convert(cabinet)
    assert not (cabinet.parents[1] / "out").exists()


@pytest.mark.slow  # CoACD closes it over a grid first
def test_an_open_mesh_is_no_error(cabinet, client):
    path = cabinet.parent / "angle.obj"
    lines = path.read_text().splitlines()
    path.write_text("\n".join(lines[:-3]))  # three triangles are missing
    load(client, convert(cabinet, convex_decompose_mesh=True))


def test_unicode_names_are_kept(edited, client):
    path = edited(('"door"', '"Tür 扉"'), ('"hinge"', '"Gelenk ß"'))
    made = convert(path, default_drive_type="position")
    assert "Tür 扉" in model_of(made).links
    _, links = load(client, made)
    assert "Tür 扉" in links


def test_names_that_are_alike_as_files_keep_their_own_colliders(edited):
    path = edited(
        ('"door"', '"a b"'), ('"knob"', '"a_b"'), ('<box size="0.04 0.05 0.06"/>', '<mesh filename="angle.obj"/>')
    )
    links = model_of(convert(path)).links
    files = {name: links[name].collisions[0].mesh for name in ("a b", "a_b")}
    assert len(set(files.values())) == 2
    assert all((path.parents[1] / "out" / file).is_file() for file in files.values())


@pytest.mark.parametrize(
    ("values", "key"),
    [
        ({"link_density": -1.0}, "link_density"),
        ({"default_drive_stiffness": float("nan")}, "default_drive_stiffness"),
        ({"default_drive_damping": -2.0}, "default_drive_damping"),
        ({"default_drive_type": "effort"}, "default_drive_type"),
        ({"inertia_fallback": "guess"}, "inertia_fallback"),
        ({"scale": 0.0}, "scale"),
    ],
)
def test_a_wrong_value_names_its_field(values, key):
    with pytest.raises(ConfigError) as caught:
        UrdfConverterCfg(asset_path="a.urdf", fix_base=True, **values)
    assert caught.value.values["key"] == key
    assert key in caught.value.message
