"""What is written as USD, opened again with OpenUSD: joints, limits, masses, colliders, instances, units."""

import re
import shutil
from pathlib import Path

import numpy as np
import pytest

from tests.objects.builders import edit
from unlatch.objects.importers.asset_converter import CollisionPropertiesCfg, MassPropertiesCfg, RigidBodyPropertiesCfg
from unlatch.objects.importers.mesh_object import MeshConverter, MeshConverterCfg
from unlatch.objects.importers.urdf_converter import UrdfConverter, UrdfConverterCfg
from unlatch.objects.importers.usd_writer import usd_name
from unlatch.objects.procedural.catalog import GENERATORS
from unlatch.objects.procedural.textured_files import textured_files
from unlatch.simcore import extras
from unlatch.simcore.errors import AssetError
from unlatch.simcore.extras import install_command
from unlatch.simcore.meshes.obj_file import linear_light
from unlatch.simcore.urdf.reader import read_urdf

pxr = pytest.importorskip("pxr", reason="USD output needs the package usd-core of the extra usd")


def open_stage(path):
    from pxr import Usd

    stage = Usd.Stage.Open(path)
    assert stage
    return stage


def convert_mesh(path, **values):
    values = {"usd_dir": str(path.parents[1] / "usd"), **values}
    made = MeshConverter(MeshConverterCfg(asset_path=str(path), **values))
    return made, open_stage(made.usd_path)


def convert_urdf(path, **values):
    values = {"usd_dir": str(path.parents[1] / "usd"), "fix_base": True, **values}
    made = UrdfConverter(UrdfConverterCfg(asset_path=str(path), **values))
    return made, open_stage(made.usd_path)


def meshes(stage):
    from pxr import Usd, UsdGeom

    prims = Usd.PrimRange(stage.GetPseudoRoot(), Usd.TraverseInstanceProxies())
    return [prim for prim in prims if prim.IsA(UsdGeom.Mesh)]


def world_points(prim):
    from pxr import UsdGeom

    points = np.array(UsdGeom.Mesh(prim).GetPointsAttr().Get(), dtype=float)
    T = np.array(UsdGeom.XformCache().GetLocalToWorldTransform(prim)).T
    return points @ T[:3, :3].T + T[:3, 3]


def test_a_mesh_has_its_body_at_the_root_and_its_surface_below_in_metres_kilograms_and_z_up(brick):
    from pxr import UsdGeom, UsdPhysics

    props = {"mass_props": MassPropertiesCfg(mass=2.0), "rigid_props": RigidBodyPropertiesCfg(kinematic=True)}
    _, stage = convert_mesh(brick, **props)
    assert (UsdGeom.GetStageMetersPerUnit(stage), UsdPhysics.GetStageKilogramsPerUnit(stage)) == (1.0, 1.0)
    assert UsdGeom.GetStageUpAxis(stage) == "Z"
    root = stage.GetDefaultPrim()
    assert str(root.GetPath()) == "/brick"
    assert UsdPhysics.RigidBodyAPI(root).GetKinematicEnabledAttr().Get() is True
    mass = UsdPhysics.MassAPI(root)
    assert mass.GetMassAttr().Get() == pytest.approx(2.0)
    assert tuple(mass.GetCenterOfMassAttr().Get()) == pytest.approx((0.05, 0.1, 0.15))
    expected = [2.0 / 12 * (a * a + b * b) for a, b in ((0.2, 0.3), (0.1, 0.3), (0.1, 0.2))]
    assert sorted(mass.GetDiagonalInertiaAttr().Get()) == pytest.approx(sorted(expected), rel=1e-4)
    assert stage.GetPrimAtPath("/brick/geometry").IsInstance()
    (mesh,) = meshes(stage)
    np.testing.assert_allclose(world_points(mesh).max(axis=0), (0.1, 0.2, 0.3), atol=1e-6)


def test_groups_that_are_none_add_nothing(brick):
    from pxr import UsdPhysics

    _, stage = convert_mesh(brick)
    root = stage.GetDefaultPrim()
    assert not root.HasAPI(UsdPhysics.RigidBodyAPI)
    assert not root.HasAPI(UsdPhysics.MassAPI)
    (mesh,) = meshes(stage)
    assert mesh.HasAPI(UsdPhysics.CollisionAPI)
    assert not mesh.GetAttribute("physics:collisionEnabled").HasAuthoredValue()
    assert not mesh.GetAttribute("physxCollision:contactOffset").IsValid()


def test_a_density_is_written_as_a_density(brick):
    from pxr import UsdPhysics

    _, stage = convert_mesh(brick, mass_props=MassPropertiesCfg(density=700.0))
    mass = UsdPhysics.MassAPI(stage.GetDefaultPrim())
    assert mass.GetDensityAttr().Get() == pytest.approx(700.0)
    assert not mass.GetMassAttr().HasAuthoredValue()


def test_rigid_and_collision_properties_are_those_of_physx(brick):
    damping = {"disable_gravity": True, "linear_damping": 0.1, "angular_damping": 0.2}
    rigid = RigidBodyPropertiesCfg(**damping, max_linear_velocity=3.0, max_angular_velocity=np.pi)
    collision = CollisionPropertiesCfg(collision_enabled=False, contact_offset=0.02, rest_offset=0.001)
    _, stage = convert_mesh(brick, rigid_props=rigid, collision_props=collision)
    root, (mesh,) = stage.GetDefaultPrim(), meshes(stage)
    expected = {"disableGravity": True, "linearDamping": 0.1, "angularDamping": 0.2}
    expected |= {"maxLinearVelocity": 3.0, "maxAngularVelocity": 180.0}
    assert {name: root.GetAttribute(f"physxRigidBody:{name}").Get() for name in expected} == pytest.approx(expected)
    assert "PhysxRigidBodyAPI" in root.GetMetadata("apiSchemas").GetAddedOrExplicitItems()
    assert mesh.GetAttribute("physics:collisionEnabled").Get() is False
    assert mesh.GetAttribute("physxCollision:contactOffset").Get() == pytest.approx(0.02)
    assert mesh.GetAttribute("physxCollision:restOffset").Get() == pytest.approx(0.001)


@pytest.mark.parametrize(
    "approximation",
    ["convexDecomposition", "convexHull", "boundingCube", "boundingSphere", "meshSimplification", "none"],
)
def test_the_approximation_is_that_of_the_configuration(approximation, brick):
    from pxr import UsdPhysics

    _, stage = convert_mesh(brick, collision_approximation=approximation)
    (mesh,) = meshes(stage)
    assert mesh.HasAPI(UsdPhysics.CollisionAPI) is (approximation != "none")
    if approximation != "none":
        assert UsdPhysics.MeshCollisionAPI(mesh).GetApproximationAttr().Get() == approximation


def test_translation_rotation_and_scale_move_the_mesh(brick):
    half = float(np.sqrt(0.5))
    _, stage = convert_mesh(brick, translation=(0, 0, 1), rotation=(half, 0, 0, half), scale=(2, 1, 1))
    (mesh,) = meshes(stage)
    points = world_points(mesh)
    np.testing.assert_allclose([points.min(axis=0), points.max(axis=0)], [[-0.2, 0, 1], [0, 0.2, 1.3]], atol=1e-6)


@pytest.mark.parametrize("shared", [True, False])
def test_shared_meshes_lie_in_a_file_of_their_own_and_move_along(shared, brick):
    made, _ = convert_mesh(brick, make_instanceable=shared)
    assert (Path(made.usd_dir) / made.usd_instanceable_meshes_path).is_file() is shared
    moved = shutil.move(made.usd_dir, brick.parents[1] / "elsewhere")
    stage = open_stage(str(Path(moved) / made.usd_file_name))
    assert len(meshes(stage)) == 1
    assert stage.GetPrimAtPath("/brick/geometry").IsInstance() is shared


@pytest.mark.parametrize(
    ("given", "name"), [(None, "brick.usd"), ("a", "a.usd"), ("a.usda", "a.usda"), ("a.b", "a.b.usd")]
)
def test_the_file_has_the_name_that_was_given(given, name, brick):
    made, _ = convert_mesh(brick, usd_file_name=given)
    assert Path(made.usd_path) == Path(made.usd_dir) / name
    assert Path(made.usd_path).read_bytes().startswith(b"#usda" if name.endswith(".usda") else b"PXR-USDC")


def test_a_deleted_usd_is_written_again(brick):
    made, _ = convert_mesh(brick)
    Path(made.usd_path).unlink()
    assert convert_mesh(brick)[0].was_converted
    assert not convert_mesh(brick)[0].was_converted
    assert convert_mesh(brick, usd_file_name="other")[0].was_converted


def test_urdf_and_usd_may_lie_apart(brick, tmp_path):
    values = {"usd_dir": str(tmp_path / "u"), "out_dir": str(tmp_path / "o")}
    made, _ = convert_mesh(brick, **values)
    assert {p.suffix for p in (tmp_path / "u").rglob("*.*")} == {".usd", ".json", ""}
    assert not list((tmp_path / "o").rglob("*.usd"))
    assert Path(made.urdf_path).parent == tmp_path / "o"
    assert not convert_mesh(brick, **values)[0].was_converted
    (tmp_path / "o" / "brick.urdf").unlink()
    assert convert_mesh(brick, **values)[0].was_converted


def test_two_conversions_write_the_same_usd(cabinet, tmp_path):
    for name in ("a", "b"):
        convert_urdf(cabinet, usd_dir=str(tmp_path / name))
    files = [{p.relative_to(tmp_path / n): p.read_bytes() for p in (tmp_path / n).rglob("*.usd")} for n in ("a", "b")]
    assert files[0] == files[1]
    assert len(files[0]) == 2


def test_a_urdf_keeps_its_joints(cabinet):
    from pxr import UsdGeom, UsdPhysics

    made, stage = convert_urdf(
        cabinet, default_drive_type="position", default_drive_stiffness=30.0, default_drive_damping=4.0
    )
    hinge = UsdPhysics.RevoluteJoint(stage.GetPrimAtPath("/cabinet/joints/hinge"))
    assert hinge.GetLowerLimitAttr().Get() == pytest.approx(np.degrees(-0.5), rel=1e-5)
    assert hinge.GetUpperLimitAttr().Get() == pytest.approx(np.degrees(1.5), rel=1e-5)
    assert [str(t) for t in hinge.GetBody0Rel().GetTargets()] == ["/cabinet/body"]
    assert [str(t) for t in hinge.GetBody1Rel().GetTargets()] == ["/cabinet/door"]
    drive = UsdPhysics.DriveAPI(hinge.GetPrim(), "angular")
    assert drive.GetStiffnessAttr().Get() == pytest.approx(30.0 * np.pi / 180, rel=1e-5)
    assert drive.GetDampingAttr().Get() == pytest.approx(0.7 * np.pi / 180, rel=1e-5)
    assert drive.GetMaxForceAttr().Get() == pytest.approx(20.0)
    cache, model = UsdGeom.XformCache(), read_urdf(made.urdf_path)

    def frame(relation, position, rotation):
        from pxr import Gf

        (target,) = relation.GetTargets()
        local = Gf.Matrix4d(Gf.Rotation(Gf.Quatd(rotation.Get())), Gf.Vec3d(position.Get()))
        return np.array(local * cache.GetLocalToWorldTransform(stage.GetPrimAtPath(target))).T

    first = frame(hinge.GetBody0Rel(), hinge.GetLocalPos0Attr(), hinge.GetLocalRot0Attr())
    second = frame(hinge.GetBody1Rel(), hinge.GetLocalPos1Attr(), hinge.GetLocalRot1Attr())
    np.testing.assert_allclose(first, second, atol=1e-6)
    assert hinge.GetAxisAttr().Get() == "X"
    axis = model.link_pose("door").R @ model.joints["hinge"].axis
    np.testing.assert_allclose(first[:3, 0], axis, atol=1e-6)


def test_a_urdf_keeps_masses_and_poses(cabinet):
    from pxr import UsdGeom, UsdPhysics

    made, stage = convert_urdf(cabinet, link_density=500.0)
    model = read_urdf(made.urdf_path)
    for name in ("body", "door", "knob"):
        prim = stage.GetPrimAtPath(f"/cabinet/{name}")
        mass = UsdPhysics.MassAPI(prim).GetMassAttr().Get()
        assert mass == pytest.approx(model.links[name].inertial.mass_kg, rel=1e-5)
        pose = np.array(UsdGeom.XformCache().GetLocalToWorldTransform(prim)).T
        np.testing.assert_allclose(pose, model.link_pose(name).matrix, atol=1e-6)
    body = UsdPhysics.MassAPI(stage.GetPrimAtPath("/cabinet/body"))
    assert sorted(body.GetDiagonalInertiaAttr().Get()) == pytest.approx([0.2, 0.3, 0.4])


@pytest.mark.parametrize("fixed", [True, False])
def test_a_fixed_base_is_a_joint_to_the_world(fixed, cabinet):
    from pxr import UsdPhysics

    _, stage = convert_urdf(cabinet, fix_base=fixed)
    joints = [UsdPhysics.FixedJoint(prim) for prim in stage.Traverse() if prim.IsA(UsdPhysics.FixedJoint)]
    to_world = [joint for joint in joints if not joint.GetBody0Rel().GetTargets()]
    assert len(to_world) == int(fixed)
    for joint in to_world:
        assert [str(t) for t in joint.GetBody1Rel().GetTargets()] == ["/cabinet/body"]
    assert stage.GetDefaultPrim().HasAPI(UsdPhysics.ArticulationRootAPI)


@pytest.mark.parametrize("wanted", [True, False])
def test_self_collision_is_that_of_the_articulation(wanted, cabinet):
    _, stage = convert_urdf(cabinet, self_collision=wanted)
    assert stage.GetDefaultPrim().GetAttribute("physxArticulation:enabledSelfCollisions").Get() is wanted


@pytest.mark.slow
def test_colliders_are_the_convex_parts_that_bullet_has(cabinet):
    from pxr import UsdPhysics

    from unlatch.simcore.meshes.obj_file import read_obj

    made, stage = convert_urdf(cabinet, convex_decompose_mesh=True)
    parts = [mesh for mesh in meshes(stage) if mesh.HasAPI(UsdPhysics.CollisionAPI)]
    assert {UsdPhysics.MeshCollisionAPI(part).GetApproximationAttr().Get() for part in parts} == {"convexHull"}
    body = [part for part in parts if str(part.GetPath()).startswith("/cabinet/body/")]
    assert len(body) >= 2
    collider = read_urdf(made.urdf_path).links["body"].collisions[0]
    vertices = read_obj(Path(made.urdf_path).parent / collider.mesh).mesh.vertices
    points = np.concatenate([world_points(part) for part in body])
    np.testing.assert_allclose(np.sort(points, axis=0), np.sort(vertices, axis=0), atol=1e-5)


@pytest.mark.parametrize("shared", [True, False])
def test_copies_of_a_mesh_are_one_prototype_and_so_are_those_of_one_appearance(shared, cabinet, tmp_path):
    made, stage = convert_urdf(cabinet, make_instanceable=shared)
    body, door = (stage.GetPrimAtPath(f"/cabinet/{name}/visuals/visual_0") for name in ("body", "door"))
    assert (body.IsInstance(), door.IsInstance()) == (shared, shared)
    (mesh,) = [m for m in meshes(stage) if str(m.GetPath()).startswith(f"{body.GetPath()}/")]
    np.testing.assert_allclose(np.ptp(world_points(mesh), axis=0), [1.0, 0.4, 1.0], atol=1e-6)
    assert bool((Path(made.usd_dir) / made.usd_instanceable_meshes_path).is_file()) is shared
    text = '<visual><geometry><mesh filename="angle.obj"/></geometry><material name="red"/></visual>\n'
    _, stage = convert_urdf(edit(cabinet, (text, text * 3)), make_instanceable=shared, usd_dir=str(tmp_path / "three"))
    prims = [stage.GetPrimAtPath(f"/cabinet/body/visuals/visual_{n}") for n in range(3)]
    assert not shared or len({str(prim.GetPrototype().GetPath()) for prim in prims}) == 1


def textured_box(folder):
    made = GENERATORS.load("drawer")(4)
    model, files = textured_files(made)
    folder.mkdir()
    for name, data in files.items():
        (folder / name).write_bytes(data)
    (folder / "object.urdf").write_text(model.to_urdf())
    return folder / "object.urdf"


@pytest.mark.parametrize("shared", [True, False])
def test_a_surface_keeps_its_colour_and_its_picture(shared, tmp_path):
    from pxr import UsdGeom, UsdShade

    path = textured_box(tmp_path / "asset")
    made, _ = convert_urdf(path, make_instanceable=shared, usd_dir=str(tmp_path / "usd"))
    shutil.rmtree(tmp_path / "asset")
    moved = Path(shutil.move(made.usd_dir, tmp_path / "elsewhere"))
    stage = open_stage(str(moved / made.usd_file_name))
    model = read_urdf(moved / Path(made.urdf_path).name)
    seen = [mesh for mesh in meshes(stage) if "/visuals/" in str(mesh.GetPath())]
    assert len(seen) == sum(len(link.visuals) for link in model.links.values())
    pictures = set()
    for link, shapes in ((link, item.visuals) for link, item in model.links.items()):
        for number, shape in enumerate(shapes):
            mesh = next(m for m in seen if str(m.GetPath()).startswith(f"/drawer/{link}/visuals/visual_{number}/"))
            material, _ = UsdShade.MaterialBindingAPI(mesh).ComputeBoundMaterial()
            surface, _, _ = material.ComputeSurfaceSource()
            diffuse = surface.GetInput("diffuseColor")
            assert shape.rgba is not None
            linear = [linear_light(value) for value in shape.rgba[:3]]
            np.testing.assert_allclose(tuple(UsdGeom.Mesh(mesh).GetDisplayColorAttr().Get()[0]), linear, atol=1e-6)
            places = UsdGeom.PrimvarsAPI(mesh).GetPrimvar("st")
            if not diffuse.HasConnectedSource():
                np.testing.assert_allclose(tuple(diffuse.Get()), linear, atol=1e-6)
                assert "plain" in str(shape.path)
                continue
            source = UsdShade.Shader(diffuse.GetConnectedSources()[0][0].source.GetPrim())
            file = Path(source.GetInput("file").Get().resolvedPath)
            assert file.resolve() == (moved / "textures" / "wood.png").resolve()
            pictures.add(file)
            np.testing.assert_allclose(tuple(source.GetInput("scale").Get())[:3], linear, atol=1e-6)
            assert len(places.Get()) == len(UsdGeom.Mesh(mesh).GetPointsAttr().Get())
    assert len(pictures) == 1


def test_the_validators_of_openusd_find_nothing(tmp_path):
    UsdValidation = pytest.importorskip("pxr.UsdValidation", reason="this version of usd-core has no validators")
    _, stage = convert_urdf(textured_box(tmp_path / "asset"), make_instanceable=False, usd_dir=str(tmp_path / "usd"))
    validators = UsdValidation.ValidationRegistry().GetOrLoadAllValidators()
    assert len(validators) > 10
    errors = UsdValidation.ValidationContext(validators).Validate(stage)
    assert [f"{error.GetName()}: {error.GetMessage()}" for error in errors] == []


def test_names_that_usd_does_not_take_become_ones_that_it_does():
    taken = set()
    assert [usd_name(n, taken) for n in ("a b", "a-b", "1", "Tür")] == ["a_b", "a_b_1", "_1", "T_r"]


def test_a_missing_package_names_the_extra_before_any_work(cabinet, tmp_path, monkeypatch):
    real = extras.import_module

    def refuse(name):
        if name == "pxr":
            raise ImportError(name)
        return real(name)

    monkeypatch.setattr(extras, "import_module", refuse)
    with pytest.raises(AssetError, match=re.escape(install_command("usd"))):
        convert_urdf(cabinet, usd_dir=str(tmp_path / "none"))
    assert not (tmp_path / "none").exists()
