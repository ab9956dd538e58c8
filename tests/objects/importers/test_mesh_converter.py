"""Every field of the mesh converter by its effect in Bullet or in the written files."""

import json
from pathlib import Path

import numpy as np
import pybullet as p
import pytest

from unlatch.objects.importers.asset_converter import CollisionPropertiesCfg, MassPropertiesCfg, RigidBodyPropertiesCfg
from unlatch.objects.importers.mesh_object import LINK, MeshConverter, MeshConverterCfg
from unlatch.simcore.errors import AssetError, ConfigError
from unlatch.simcore.urdf.reader import read_urdf

AABB_MARGIN_M = 5e-3
"""Bullet's boxes around compounds of hulls are up to so much larger."""


@pytest.fixture
def out(tmp_path):
    return tmp_path / "out"


def convert(path, out, **values):
    return MeshConverter(MeshConverterCfg(asset_path=str(path), out_dir=str(out), **values))


def load(client, made):
    return p.loadURDF(made.urdf_path, flags=p.URDF_USE_INERTIA_FROM_FILE, physicsClientId=client)


def bounds(client, body):
    return np.array(p.getAABB(body, physicsClientId=client))


def hit(client, start, end):
    (result,) = p.rayTestBatch([start], [end], physicsClientId=client)
    return None if result[0] < 0 else result[3][2]


def test_the_mass_is_that_of_the_configuration(brick, out, client):
    body = load(client, convert(brick, out, mass_props=MassPropertiesCfg(mass=2.5)))
    mass, _, inertia, com = p.getDynamicsInfo(body, -1, physicsClientId=client)[:4]
    assert mass == pytest.approx(2.5)
    assert com == pytest.approx((0.05, 0.1, 0.15))
    expected = [2.5 / 12 * (0.2**2 + 0.3**2), 2.5 / 12 * (0.1**2 + 0.3**2), 2.5 / 12 * (0.1**2 + 0.2**2)]
    assert sorted(inertia) == pytest.approx(sorted(expected), rel=1e-4)


def test_a_density_gives_a_mass_by_volume_and_a_given_mass_wins(brick, tmp_path, client):
    body = load(client, convert(brick, tmp_path / "a", mass_props=MassPropertiesCfg(density=500.0)))
    assert p.getDynamicsInfo(body, -1, physicsClientId=client)[0] == pytest.approx(3.0, rel=1e-5)
    body = load(client, convert(brick, tmp_path / "b", mass_props=MassPropertiesCfg(mass=1.0, density=500.0)))
    assert p.getDynamicsInfo(body, -1, physicsClientId=client)[0] == pytest.approx(1.0)


def test_without_mass_properties_none_are_added(brick, out):
    assert read_urdf(convert(brick, out).urdf_path).links[LINK].inertial is None


def test_scale_then_rotation_then_translation(brick, out, client):
    half = np.sqrt(0.5)
    made = convert(
        brick, out, scale=(2.0, 1.0, 1.0), rotation=(half, 0.0, 0.0, half), translation=(0.0, 0.0, 1.0)
    )  # a quarter turn about z: x goes to y
    np.testing.assert_allclose(bounds(client, load(client, made)), [[-0.2, 0, 1.0], [0, 0.2, 1.3]], atol=AABB_MARGIN_M)
    made_shape = read_urdf(made.urdf_path).links[LINK].visuals[0]
    np.testing.assert_allclose(
        made_shape.T_link_shape @ (np.array([0.1, 0, 0]) * made_shape.size), [0, 0.2, 1.0], atol=1e-6
    )


def test_a_mirrored_mesh_keeps_its_mass(brick, out, client):
    made = convert(brick, out, scale=(-1.0, 1.0, 1.0), mass_props=MassPropertiesCfg(density=1000.0))
    body = load(client, made)
    assert p.getDynamicsInfo(body, -1, physicsClientId=client)[0] == pytest.approx(6.0, rel=1e-4)
    np.testing.assert_allclose(bounds(client, body), [[-0.1, 0, 0], [0, 0.2, 0.3]], atol=AABB_MARGIN_M)


IN_CORNER = ((0.6, 0.2, 2.0), (0.6, 0.2, -1.0))
"""A ray down through the open side of the angle, whose floor is 0.1 m thick; its hull reaches to 0.55 there."""


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
def test_a_ray_meets_the_collider_where_its_approximation_has_its_surface(approximation, height, angle, out, client):
    load(client, convert(angle, out, collision_approximation=approximation))
    found = hit(client, *IN_CORNER)
    assert (found is None) == (height is None)
    if height is not None:
        assert found == pytest.approx(height, abs=0.012)


def test_a_disabled_collider_is_left_out(brick, tmp_path, client):
    off = CollisionPropertiesCfg(collision_enabled=False)
    load(client, convert(brick, tmp_path / "off", collision_props=off))
    assert hit(client, (0.05, 0.1, 1.0), (0.05, 0.1, -1.0)) is None
    load(client, convert(brick, tmp_path / "on", collision_props=CollisionPropertiesCfg(collision_enabled=True)))
    assert hit(client, (0.05, 0.1, 1.0), (0.05, 0.1, -1.0)) == pytest.approx(0.3, abs=2e-3)


def test_physics_that_a_urdf_cannot_hold_is_written_beside_it(brick, out):
    made = convert(
        brick,
        out,
        rigid_props=RigidBodyPropertiesCfg(disable_gravity=True, linear_damping=0.5),
        collision_props=CollisionPropertiesCfg(contact_offset=0.02, rest_offset=0.001),
    )
    physics = json.loads(Path(made.physics_path).read_text())
    assert physics["rigid"] == {"disable_gravity": True, "linear_damping": 0.5}
    assert physics["collision"] == {"contact_offset": 0.02, "rest_offset": 0.001}


def test_an_obj_keeps_material_and_texture(brick, out):
    made = convert(brick, out)
    shape = read_urdf(made.urdf_path).links[LINK].visuals[0]
    assert shape.rgba == pytest.approx((0.2, 0.4, 0.6, 1.0))
    assert (out / "source" / "skin.png").read_bytes() == b"pixels"
    assert (out / "source" / "brick.mtl").is_file()


@pytest.mark.parametrize("name", ["Möbel Tür.obj", "扉.obj", "a b.stl"])
def test_names_of_any_alphabet_work(name, brick, out, client):
    path = brick.with_name(name)
    if path.suffix == ".stl":
        import trimesh

        trimesh.load_mesh(brick).export(path)
    else:
        brick.rename(path)
    made = convert(path, out / path.stem, mass_props=MassPropertiesCfg(mass=1.0))
    body = p.loadURDF(made.urdf_path, physicsClientId=client)
    np.testing.assert_allclose(bounds(client, body), [[0, 0, 0], [0.1, 0.2, 0.3]], atol=AABB_MARGIN_M)


@pytest.mark.parametrize("factor", [1e4, 1e-5])
def test_an_absurd_size_is_refused(factor, brick, out):
    with pytest.raises(AssetError, match="m large, expected"):
        convert(brick, out, scale=(factor, factor, factor))
    assert not out.exists()


@pytest.mark.parametrize(
    ("values", "key"),
    [
        ({"scale": (0.0, 1.0, 1.0)}, "scale"),
        ({"scale": (1.0, 1.0)}, "scale"),
        ({"scale": (float("nan"), 1.0, 1.0)}, "scale"),
        ({"rotation": (0.0, 0.0, 0.0, 0.0)}, "rotation"),
        ({"rotation": (1.0, 0.0, 0.0)}, "rotation"),
        ({"translation": (0.0, 0.0, float("inf"))}, "translation"),
        ({"collision_approximation": "concave"}, "collision_approximation"),
    ],
)
def test_a_wrong_value_names_its_field(values, key):
    with pytest.raises(ConfigError, match=key) as caught:
        MeshConverterCfg(asset_path="a.obj", **values)
    assert caught.value.values["key"] == key


@pytest.mark.parametrize(
    ("make", "key"),
    [
        (lambda: MassPropertiesCfg(mass=0.0), "mass_props.mass"),
        (lambda: MassPropertiesCfg(density=-1.0), "mass_props.density"),
        (lambda: RigidBodyPropertiesCfg(linear_damping=-0.1), "rigid_props.linear_damping"),
        (lambda: RigidBodyPropertiesCfg(angular_damping=float("nan")), "rigid_props.angular_damping"),
        (lambda: RigidBodyPropertiesCfg(max_linear_velocity=0.0), "rigid_props.max_linear_velocity"),
        (lambda: RigidBodyPropertiesCfg(max_angular_velocity=-1.0), "rigid_props.max_angular_velocity"),
        (lambda: CollisionPropertiesCfg(contact_offset=-0.1), "collision_props.contact_offset"),
        (lambda: CollisionPropertiesCfg(contact_offset=0.1, rest_offset=0.1), "collision_props.rest_offset"),
    ],
)
def test_a_wrong_property_names_its_field(make, key):
    with pytest.raises(ConfigError) as caught:
        make()
    assert caught.value.values["key"] == key
    assert key in caught.value.message


def test_copies_share_one_file_only_if_instanceable(brick, tmp_path):
    urdf = (
        "<robot name='two'><link name='l'>" + "<visual><geometry><mesh filename='brick.obj'/></geometry></visual>" * 2
    )
    (brick.parent / "two.urdf").write_text(urdf + "</link></robot>")
    from unlatch.objects.importers.urdf_converter import UrdfConverter, UrdfConverterCfg

    for shared, count in ((True, 1), (False, 2)):
        out = tmp_path / str(shared)
        UrdfConverter(
            UrdfConverterCfg(
                asset_path=str(brick.parent / "two.urdf"), out_dir=str(out), fix_base=False, make_instanceable=shared
            )
        )
        names = [shape.mesh for shape in read_urdf(out / "two.urdf").links["l"].visuals]
        assert len(set(names)) == count
        assert all((out / name).is_file() for name in names)
