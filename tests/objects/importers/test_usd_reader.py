"""USD files written by hand, in the manner of Isaac Sim: nested Xforms, instanceable payloads, other units and axes."""

import re

import numpy as np
import pytest

from unlatch.command_table import main
from unlatch.objects.annotate.annotator import annotate_source
from unlatch.objects.annotate.source import read_source, urdf_of
from unlatch.objects.annotate.storage import load_annotation, with_mark
from unlatch.objects.config import ObjectCfg, ObjectSource
from unlatch.objects.library import load_object
from unlatch.simcore import registry as extras
from unlatch.simcore.errors import AssetError
from unlatch.simcore.meshes.shape_surface import shape_cloud
from unlatch.simcore.recording.data_set import DataSet
from unlatch.simcore.registry import install_command
from unlatch.simcore.urdf.model import ShapeKind, UrdfModel
from unlatch.simcore.urdf.reader import read_urdf

pytest.importorskip("pxr", reason="USD needs the package usd-core of the extra usd")

DOOR_MESH = """#usda 1.0
( defaultPrim = "door" )
def Xform "door"
{
    def Mesh "panel" ( prepend apiSchemas = ["PhysicsCollisionAPI", "PhysicsMeshCollisionAPI"] )
    {
        point3f[] points = [%(points)s]
        int[] faceVertexCounts = [4, 4, 4, 4, 4, 4]
        int[] faceVertexIndices = [2, 3, 1, 0, 5, 7, 6, 4, 1, 5, 4, 0, 6, 7, 3, 2, 4, 6, 2, 0, 3, 7, 5, 1]
        token orientation = "leftHanded"
        uniform token physics:approximation = "convexHull"
    }
}
"""

CABINET = """#usda 1.0
(
    defaultPrim = "Root"
    metersPerUnit = %(meters)g
    kilogramsPerUnit = 1
    upAxis = "%(up)s"
)
def Xform "Root" ( prepend apiSchemas = ["PhysicsArticulationRootAPI"] )
{
    double3 xformOp:translate = %(origin)s
    uniform token[] xformOpOrder = ["xformOp:translate"]
    def Xform "body" ( prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"] )
    {
        float physics:mass = 6
        def Cube "shell" ( prepend apiSchemas = ["PhysicsCollisionAPI"] )
        {
            double size = %(one)g
            double3 xformOp:scale = %(shell)s
            uniform token[] xformOpOrder = ["xformOp:scale"]
            color3f[] primvars:displayColor = [(0.5, 0.25, 0.125)]
        }
    }
    def Xform "front"
    {
        double3 xformOp:translate = %(front)s
        uniform token[] xformOpOrder = ["xformOp:translate"]
        def Xform "door" ( prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"] )
        {
            float physics:mass = 2
            point3f physics:centerOfMass = %(com)s
            float3 physics:diagonalInertia = %(moments)s
            def Xform "geometry" ( instanceable = true
                prepend payload = @./Props/door.usda@ )
            {
            }
        }
    }
    def Scope "joints"
    {
        def PhysicsFixedJoint "anchor"
        {
            rel physics:body1 = </Root/body>
        }
        def PhysicsRevoluteJoint "hinge" ( prepend apiSchemas = ["PhysicsDriveAPI:angular", "PhysxJointAPI"] )
        {
            uniform token physics:axis = "%(up)s"
            rel physics:body0 = </Root/body>
            rel physics:body1 = </Root/front/door>
            point3f physics:localPos0 = %(pin0)s
            point3f physics:localPos1 = %(pin1)s
            float physics:lowerLimit = 0
            float physics:upperLimit = 90
            float drive:angular:physics:damping = %(damping)g
            float drive:angular:physics:maxForce = %(force)g
            float physxJoint:jointFriction = %(friction)g
        }
    }
}
"""

KITCHEN = """#usda 1.0
(
    defaultPrim = "Root"
    metersPerUnit = 1
    upAxis = "Z"
)
def Xform "Root" (
    variants = {
        string size = "wide"
    }
    prepend variantSets = "size"
    prepend references = @./cabinet.usda@
)
{
    variantSet "size" = {
        "narrow" {
            over "joints" {
                over "hinge" {
                    float physics:upperLimit = 45
                }
            }
        }
        "wide" {
            over "joints" {
                over "hinge" {
                    float physics:upperLimit = 120
                }
            }
        }
    }
}
"""


def vector(xyz, meters, up):
    """A vector in metres with z up, in the units and axes of a file."""
    x, y, z = (v / meters for v in xyz)
    return f"({x:.9g}, {y:.9g}, {z:.9g})" if up == "Z" else f"({x:.9g}, {z:.9g}, {-y:.9g})"


def write_cabinet(folder, *, meters=1.0, up="Z"):
    """A cabinet of 0.4 x 0.5 x 0.6 m with a door of 2 cm; the hinge is at y = 0.25 m, the front is at +x."""

    def place(*xyz):
        return vector((xyz[0], xyz[1], xyz[2]), meters, up)

    corners = [(x, y, z) for x in (0.0, 0.02) for y in (-0.25, 0.25) for z in (-0.3, 0.3)]
    (folder / "Props").mkdir(parents=True, exist_ok=True)
    (folder / "Props" / "door.usda").write_text(DOOR_MESH % {"points": ", ".join(place(*c) for c in corners)})
    moments = (0.06, 0.05, 0.02) if up == "Z" else (0.06, 0.02, 0.05)
    scale = ", ".join(f"{v:g}" for v in ((0.4, 0.5, 0.6) if up == "Z" else (0.4, 0.6, 0.5)))
    values = {
        "meters": meters,
        "up": up,
        "one": 1.0 / meters,
        "origin": place(3.0, 1.0, 0.3),
        "shell": f"({scale})",
        "front": place(0.2, 0.0, 0.0),
        "com": place(0.01, 0.05, 0.0),
        "moments": "(" + ", ".join(f"{v / meters**2:.9g}" for v in moments) + ")",
        "pin0": place(0.2, 0.25, 0.0),
        "pin1": place(0.0, 0.25, 0.0),
        "damping": np.radians(0.4) / meters**2,
        "force": 5.0 / meters**2,
        "friction": 0.3 / meters**2,
    }
    (folder / "cabinet.usda").write_text(CABINET % values)
    return folder / "cabinet.usda"


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("UNLATCH_CACHE_DIR", str(tmp_path / "cache"))


def read(path):
    made = urdf_of(path)
    return read_urdf(made.path), made


def changed(path, old, new):
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    return path


UNITS = pytest.mark.parametrize(("meters", "up"), [(1.0, "Z"), (0.01, "Z"), (1.0, "Y"), (0.01, "Y")])


@UNITS
def test_a_cabinet_is_the_same_in_all_units_and_axes(tmp_path, meters, up):
    model, made = read(write_cabinet(tmp_path / "asset", meters=meters, up=up))
    assert made.notices == ()
    assert list(model.links) == ["body", "door"]
    (hinge,) = model.joints.values()
    assert (hinge.name, hinge.kind, hinge.parent, hinge.child) == ("hinge", "revolute", "body", "door")
    assert (hinge.lower, hinge.upper) == pytest.approx((0.0, np.pi / 2), abs=1e-6)
    assert hinge.damping == pytest.approx(0.4, rel=1e-5)
    assert hinge.friction == pytest.approx(0.3, rel=1e-5)
    assert hinge.effort == pytest.approx(5.0, rel=1e-5)
    cloud = shape_cloud(model, {})
    np.testing.assert_allclose(np.ptp(cloud, axis=0), (0.42, 0.5, 0.6), atol=1e-6)
    door = model.links["door"].inertial
    assert door is not None
    assert door.mass_kg == pytest.approx(2.0)
    # the link of the door begins at its hinge, and has the axes of its body
    R = model.link_pose("door").R
    np.testing.assert_allclose(R @ door.com_link, (0.01, -0.20, 0.0), atol=1e-6)
    np.testing.assert_allclose(R @ door.inertia @ R.T, np.diag([0.06, 0.05, 0.02]), atol=1e-6)
    np.testing.assert_allclose(model.link_pose("door").p, (0.2, 0.25, 0.0), atol=1e-6)


@UNITS
def test_the_door_opens_about_its_hinge(tmp_path, meters, up):
    model, _ = read(write_cabinet(tmp_path / "asset", meters=meters, up=up))
    positions = {"hinge": np.pi / 2}
    cloud = model.link_pose("door", positions) @ _points_of(model, "door")
    # a quarter turn about the vertical axis at its edge: the door stands out to the front
    np.testing.assert_allclose(cloud.min(axis=0), (0.2, 0.25, -0.3), atol=1e-6)
    np.testing.assert_allclose(cloud.max(axis=0), (0.2 + 0.5, 0.25 + 0.02, 0.3), atol=1e-6)


def _points_of(model, link):
    return shape_cloud(UrdfModel("one", {link: model.links[link]}, {}), {})


def test_triangles_face_outwards_and_colours_are_srgb(tmp_path):
    from unlatch.simcore.meshes.shape_surface import shape_mesh

    model, _ = read(write_cabinet(tmp_path / "asset"))
    (panel,) = model.links["door"].visuals
    assert shape_mesh(panel).volume == pytest.approx(0.02 * 0.5 * 0.6)
    (shell,) = model.links["body"].visuals
    assert shell.kind is ShapeKind.box
    assert shell.size == pytest.approx((0.4, 0.5, 0.6))
    assert shell.rgba == pytest.approx((0.735357, 0.537099, 0.388573, 1.0), abs=1e-4)


def test_a_door_that_stands_open_in_the_file_has_the_same_joint(tmp_path):
    path = write_cabinet(tmp_path / "asset")
    closed, _ = read(path)
    opened, _ = read(
        changed(
            path,
            "            float physics:mass = 2",
            "            double xformOp:rotateZ = 30\n            uniform token[] xformOpOrder = "
            '["xformOp:rotateZ"]\n            float physics:mass = 2',
        )
    )
    first, second = closed.link_pose("door", {"hinge": 0.4}), opened.link_pose("door", {"hinge": 0.4})
    np.testing.assert_allclose(second.R, first.R, atol=1e-6)
    np.testing.assert_allclose(second.p, first.p, atol=1e-6)


def test_exchanged_bodies_of_a_joint_turn_the_other_way(tmp_path):
    path = write_cabinet(tmp_path / "asset")
    text = path.read_text()
    text = text.replace("body0 = </Root/body>", "body0 = </Root/front/door>")
    text = text.replace("body1 = </Root/front/door>", "body1 = </Root/body>")
    text = text.replace("localPos0", "localPosX").replace("localPos1", "localPos0").replace("localPosX", "localPos1")
    path.write_text(text)
    model, _ = read(path)
    np.testing.assert_allclose(model.joints["hinge"].axis, (0.0, 0.0, -1.0), atol=1e-9)
    np.testing.assert_allclose(model.link_pose("door").p, (0.2, 0.25, 0.0), atol=1e-6)


def test_a_variant_of_the_file_is_read_as_selected(tmp_path):
    write_cabinet(tmp_path / "asset")
    wrapped = tmp_path / "asset" / "kitchen.usda"
    wrapped.write_text(KITCHEN)
    model, _ = read(wrapped)
    # an opinion of the referencing file is stronger than that of the file it refers to
    assert np.degrees(model.joints["hinge"].upper) == pytest.approx(120.0, abs=1e-4)


WORLD = """#usda 1.0
(
    metersPerUnit = 1
    upAxis = "Z"
)
def Xform "World"
{
    def Xform "cabinet" (
        instanceable = true
        prepend references = @./cabinet.usda@
    )
    {
        double3 xformOp:translate = (1, 2, 3)
        uniform token[] xformOpOrder = ["xformOp:translate"]
    }
    def DistantLight "light"
    {
    }
    def Plane "ground" ( prepend apiSchemas = ["PhysicsCollisionAPI"] )
    {
    }
}
"""


def test_an_instance_of_a_whole_object_in_a_scene_is_the_object(tmp_path):
    path = write_cabinet(tmp_path / "asset")
    alone, _ = read(path)
    (tmp_path / "asset" / "world.usda").write_text(WORLD)
    model, made = read(tmp_path / "asset" / "world.usda")
    assert made.notices == ("left out, no surface that can be read: 1 of type Plane",)
    assert list(model.links) == list(alone.links)
    np.testing.assert_allclose(
        np.ptp(shape_cloud(model, {"hinge": 0.5}), axis=0),
        np.ptp(shape_cloud(alone, {"hinge": 0.5}), axis=0),
        atol=1e-6,
    )


def test_a_package_is_read_like_its_files(tmp_path):
    from pxr import UsdUtils

    path = write_cabinet(tmp_path / "asset")
    package = tmp_path / "cabinet.usdz"
    assert UsdUtils.CreateNewUsdzPackage(str(path), str(package))
    first, second = read(path)[0], read(package)[0]
    np.testing.assert_allclose(shape_cloud(second, {"hinge": 0.5}), shape_cloud(first, {"hinge": 0.5}), atol=1e-9)


def test_static_geometry_is_the_root_of_joints_to_the_world(tmp_path):
    path = write_cabinet(tmp_path / "asset")
    text = path.read_text().replace("            rel physics:body0 = </Root/body>\n", "")
    text = text.replace('"body" ( prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"] )', '"body"')
    text = text[: text.index("        def PhysicsFixedJoint")] + text[text.index("        def PhysicsRevoluteJoint") :]
    # a joint without a first body is placed in the stage
    path.write_text(text.replace("localPos0 = (0.2, 0.25, 0)", "localPos0 = (3.2, 1.25, 0.3)"))
    model, _ = read(path)
    assert list(model.links) == ["world", "door"]
    assert [shape.kind for shape in model.links["world"].collisions] == [ShapeKind.box]
    np.testing.assert_allclose(np.ptp(shape_cloud(model, {}), axis=0), (0.42, 0.5, 0.6), atol=1e-6)


def test_an_unlimited_joint_turns_on_and_a_limit_on_one_side_allows_one_turn(tmp_path):
    path = write_cabinet(tmp_path / "asset")
    changed(path, "            float physics:upperLimit = 90\n", "")
    model, made = read(path)
    assert model.joints["hinge"].upper == pytest.approx(2 * np.pi)
    assert made.notices == ("/Root/joints/hinge has one limit: it turns by at most 360 degrees",)
    model, _ = read(changed(path, "            float physics:lowerLimit = 0\n", ""))
    assert model.joints["hinge"].kind == "continuous"


def test_a_slider_is_in_metres(tmp_path):
    path = write_cabinet(tmp_path / "asset", meters=0.01)
    text = path.read_text().replace("PhysicsRevoluteJoint", "PhysicsPrismaticJoint").replace("angular", "linear")
    path.write_text(text.replace('physics:axis = "Z"', 'physics:axis = "X"').replace("Limit = 90", "Limit = 25"))
    joint = read(path)[0].joints["hinge"]
    assert (joint.kind, joint.lower, joint.upper) == ("prismatic", 0.0, pytest.approx(0.25))
    assert joint.axis.tolist() == [1.0, 0.0, 0.0]


def test_approximations_are_the_shapes_that_engines_use(tmp_path):
    path = write_cabinet(tmp_path / "asset")
    props = tmp_path / "asset" / "Props" / "door.usda"
    box = read(path)[0]
    assert box.links["door"].collisions[0].kind is ShapeKind.mesh
    changed(props, '"convexHull"', '"boundingCube"')
    (cube,) = read(path)[0].links["door"].collisions
    assert cube.kind is ShapeKind.box
    assert cube.size == pytest.approx((0.02, 0.5, 0.6))
    changed(props, '"boundingCube"', '"boundingSphere"')
    (ball,) = read(path)[0].links["door"].collisions
    assert ball.kind is ShapeKind.sphere
    assert ball.size == pytest.approx((np.linalg.norm([0.01, 0.25, 0.3]),))


@pytest.mark.parametrize(
    ("kind", "values", "extents"),
    [
        ("Sphere", "double radius = 0.1", (0.2, 0.2, 0.2)),
        ("Cylinder", 'double radius = 0.1\n double height = 0.5\n uniform token axis = "X"', (0.5, 0.2, 0.2)),
        ("Capsule", 'double radius = 0.1\n double height = 0.5\n uniform token axis = "Y"', (0.2, 0.7, 0.2)),
        ("Cone", 'double radius = 0.1\n double height = 0.5\n uniform token axis = "Z"', (0.2, 0.2, 0.5)),
        ("Cube", "double size = 0.3", (0.3, 0.3, 0.3)),
    ],
)
def test_primitives_have_their_sizes(tmp_path, kind, values, extents):
    path = write_cabinet(tmp_path / "asset")
    text = path.read_text()
    start, end = text.index('            def Xform "geometry"'), text.index('    def Scope "joints"')
    shape = f'def {kind} "shape" ( prepend apiSchemas = ["PhysicsCollisionAPI"] )\n {{\n {values}\n }}\n }}\n }}\n'
    path.write_text(text[:start] + shape + text[end:])
    model, _ = read(path)
    # round shapes are compared with a polyhedron that lies inside them
    np.testing.assert_allclose(np.ptp(_points_of(model, "door"), axis=0), extents, rtol=0.01)


def test_a_change_of_a_referenced_file_is_noticed(tmp_path):
    path = write_cabinet(tmp_path / "asset")
    first = urdf_of(path).path
    assert urdf_of(path).path == first
    changed(tmp_path / "asset" / "Props" / "door.usda", "0.02", "0.03")
    second = urdf_of(path).path
    assert second != first
    assert np.ptp(shape_cloud(read_urdf(second), {}), axis=0)[0] == pytest.approx(0.43)


LOOP = """        def PhysicsRevoluteJoint "again"
        {
            rel physics:body0 = </Root/body>
            rel physics:body1 = </Root/front/door>
            %s
        }
        def PhysicsFixedJoint "anchor\""""


def test_a_joint_that_closes_a_loop_is_left_out_only_if_the_file_says_so(tmp_path):
    path = write_cabinet(tmp_path / "asset")
    original = path.read_text()
    anchor = '        def PhysicsFixedJoint "anchor"'
    path.write_text(original.replace(anchor, LOOP % ""))
    with pytest.raises(AssetError, match=r"closes a loop of joints\. Expected a tree\."):
        read(path)
    path.write_text(original.replace(anchor, LOOP % "uniform bool physics:excludeFromArticulation = 1"))
    model, made = read(path)
    assert list(model.joints) == ["hinge"]
    assert made.notices == ("/Root/joints/again is left out: it closes a loop",)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("@./Props/door.usda@", "@./Props/missing.usda@", r"1 broken references\. Could not open .*missing\.usda"),
        ("PhysicsRevoluteJoint", "PhysicsSphericalJoint", r"/Root/joints/hinge is a PhysicsSphericalJoint\. Expected"),
        ("PhysicsRevoluteJoint", "PhysicsFixedJoint", r"has no joint that moves \(2 rigid bodies and 2 fixed joints\)"),
        ("body1 = </Root/front/door>", "body1 = </Root/gone>", r"physics:body1 </Root/gone>, which does not exist"),
        ("Limit = 90", "Limit = -5", r"has physics:lowerLimit 0 above physics:upperLimit -5\. Exchange them"),
        ("Limit = 90", "Limit = nan", r"hinge has physics:upperLimit=nan\. Expected a number"),
        ("mass = 2", "mass = -2", r"/Root/front/door has physics:mass=-2\. Expected 0 or more"),
        ("metersPerUnit = 1", "metersPerUnit = 0", r"metersPerUnit is 0\. Expected a positive number"),
        ("(0.4, 0.5, 0.6)", "(0, 0.5, 0.6)", r"/Root/body/shell has a transform that is not finite or makes it flat"),
        ("double size = 1", "double size = -1", r"/Root/body/shell has size=-1\.0\. Expected a number above 0"),
        ('#usda 1.0', "not a usd", r"cabinet\.usda: no readable USD \(.+\)\. Expected a file that"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_said_with_its_place(tmp_path, old, new, message):
    path = changed(write_cabinet(tmp_path / "asset"), old, new)
    with pytest.raises(AssetError, match=message):
        read(path)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("int[] faceVertexIndices = [2,", "int[] faceVertexIndices = [9,", r"panel names point 9 of 8\. Export"),
        ("Counts = [4,", "Counts = [5,", r"panel has 24 faceVertexIndices, faceVertexCounts want 25"),
        ("points = [(0,", "points = [(nan,", r"panel has a point that is not finite"),
    ],
)  # fmt: skip
def test_a_damaged_mesh_is_named(tmp_path, old, new, message):
    path = write_cabinet(tmp_path / "asset")
    changed(tmp_path / "asset" / "Props" / "door.usda", old, new)
    with pytest.raises(AssetError, match=message):
        read(path)


def test_two_objects_in_one_file_are_refused(tmp_path):
    path = write_cabinet(tmp_path / "asset")
    both = tmp_path / "asset" / "both.usda"
    both.write_text(
        '#usda 1.0\n( metersPerUnit = 1 )\ndef Xform "A" ( references = @./cabinet.usda@ )\n{\n}\n'
        'def Xform "B" ( references = @./cabinet.usda@ )\n{\n}\n'
    )
    # two cabinets that both stand in the world, and two that do not
    changed(
        path,
        "            rel physics:body1 = </Root/body>\n        }",
        "        uniform bool physics:jointEnabled = 0\n }",
    )
    with pytest.raises(
        AssetError, match=r"holds several objects: nothing connects /A/joints/hinge and /B/joints/hinge"
    ):
        read(both)


def test_without_openusd_the_extra_is_named(tmp_path, monkeypatch):
    path = write_cabinet(tmp_path / "asset")

    def missing(name):
        raise ImportError(f"No module named '{name}'")

    monkeypatch.setattr(extras, "import_module", missing)
    with pytest.raises(AssetError, match=r"A USD object needs package 'pxr'.*" + re.escape(install_command("usd"))):
        urdf_of(path)


def test_a_usd_is_an_object_like_its_urdf(tmp_path):
    usd = write_cabinet(tmp_path / "asset", meters=0.01, up="Y")
    rng = np.random.default_rng(0)
    found = load_object(ObjectCfg(name="object", category="object", source=ObjectSource.urdf, root=str(usd)), rng=rng)
    other = urdf_of(usd).path
    same = load_object(ObjectCfg(name="object", category="object", source=ObjectSource.urdf, root=str(other)), rng=rng)
    assert found.instance == "cabinet"
    assert list(found.articulation.parts) == ["door"]
    np.testing.assert_allclose(found.bounds_obj, same.bounds_obj)
    assert found.friction == same.friction


def test_an_annotation_beside_a_usd_is_used(tmp_path):
    usd = write_cabinet(tmp_path / "asset")
    file = usd.with_name("articulation.yaml")
    file.write_text(with_mark(annotate_source(read_source(usd)).articulation).to_yaml())
    assert "file: cabinet.usda" in file.read_text()
    assert load_annotation(file).problems == []
    cfg = ObjectCfg(name="object", category="object", source=ObjectSource.urdf, root=str(usd.parent))
    assert load_object(cfg, rng=np.random.default_rng(0)).parameters["annotation"] == "given"


@pytest.mark.e2e
def test_an_episode_opens_a_usd(tmp_path):
    usd = write_cabinet(tmp_path / "asset", meters=0.01, up="Y")
    out = tmp_path / "data"
    code = main(["collect", f"object={usd}", "skill=open", "episodes=1", "pictures=0", "executor=serial", f"out={out}"])
    assert code == 0
    assert [summary.success for summary in DataSet.open(out).summaries()] == [True]
