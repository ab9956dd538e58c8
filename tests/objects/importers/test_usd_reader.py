"""USD files in the manner of Isaac Sim: nested Xforms, instanceable payloads, other units and axes; and our own."""

import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest

from tests.objects.builders import edit
from unlatch.command_table import main
from unlatch.objects.annotate.annotator import annotate_source
from unlatch.objects.annotate.peer_info import with_info_file
from unlatch.objects.annotate.source import read_source, urdf_of
from unlatch.objects.annotate.storage import load_annotation, with_mark
from unlatch.objects.config import ObjectCfg, ObjectSource
from unlatch.objects.importers.converted_asset import read_surfaces
from unlatch.objects.importers.urdf_converter import UrdfConverter, UrdfConverterCfg
from unlatch.objects.library import load_instance
from unlatch.objects.procedural.catalog import GENERATORS
from unlatch.objects.procedural.textured_files import textured_files
from unlatch.simcore import extras
from unlatch.simcore.errors import AssetError
from unlatch.simcore.extras import install_command
from unlatch.simcore.meshes.obj_file import linear_light, read_textured_surface, srgb_light
from unlatch.simcore.meshes.shape_surface import shape_cloud, shape_mesh
from unlatch.simcore.recording.data_set import DataSet
from unlatch.simcore.urdf.model import ShapeKind, UrdfModel
from unlatch.simcore.urdf.reader import read_urdf

pytest.importorskip("pxr", reason="USD needs the package usd-core of the extra usd")

DATA = Path(__file__).parents[2] / "data" / "usd"


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("UNLATCH_CACHE_DIR", str(tmp_path / "cache"))


def write_cabinet(folder, *, meters=1.0, up="Z"):
    """A cabinet of 0.4 x 0.5 x 0.6 m with a door of 2 cm; the hinge is at y = 0.25 m, the front is at +x."""

    def place(*xyz):
        """A vector in metres with z up, in the units and axes of the file."""
        x, y, z = (v / meters for v in xyz)
        return f"({x:.9g}, {y:.9g}, {z:.9g})" if up == "Z" else f"({x:.9g}, {z:.9g}, {-y:.9g})"

    corners = [(x, y, z) for x in (0.0, 0.02) for y in (-0.25, 0.25) for z in (-0.3, 0.3)]
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
    (folder / "Props").mkdir(parents=True, exist_ok=True)
    door = (DATA / "door.usda.txt").read_text() % {"points": ", ".join(place(*c) for c in corners)}
    (folder / "Props" / "door.usda").write_text(door)
    (folder / "cabinet.usda").write_text((DATA / "cabinet.usda.txt").read_text() % values)
    return folder / "cabinet.usda"


@pytest.fixture
def cabinet(tmp_path):
    return write_cabinet(tmp_path / "asset")


@pytest.fixture
def props(cabinet):
    """The file of the door, to which the cabinet refers."""
    return cabinet.parent / "Props" / "door.usda"


def read(path):
    return read_urdf(urdf_of(path).path)


def notices(path):
    return urdf_of(path).notices


def extents(model, positions=None):
    return np.ptp(shape_cloud(model, positions or {}), axis=0)


def points_of(model, link):
    return shape_cloud(UrdfModel("one", {link: model.links[link]}, {}), {})


@pytest.mark.parametrize(("meters", "up"), [(1.0, "Z"), (0.01, "Z"), (1.0, "Y"), (0.01, "Y")])
def test_a_cabinet_is_the_same_in_all_units_and_axes(tmp_path, meters, up):
    path = write_cabinet(tmp_path / "asset", meters=meters, up=up)
    model = read(path)
    assert notices(path) == ()
    assert list(model.links) == ["body", "door"]
    (hinge,) = model.joints.values()
    assert (hinge.name, hinge.kind, hinge.parent, hinge.child) == ("hinge", "revolute", "body", "door")
    assert (hinge.lower, hinge.upper) == pytest.approx((0.0, np.pi / 2), abs=1e-6)
    assert (hinge.damping, hinge.friction, hinge.effort) == pytest.approx((0.4, 0.3, 5.0), rel=1e-5)
    np.testing.assert_allclose(extents(model), (0.42, 0.5, 0.6), atol=1e-6)
    door = model.links["door"].inertial
    assert door.mass_kg == pytest.approx(2.0)
    # the link of the door begins at its hinge, and has the axes of its body
    R = model.link_pose("door").R
    np.testing.assert_allclose(R @ door.com_link, (0.01, -0.20, 0.0), atol=1e-6)
    np.testing.assert_allclose(R @ door.inertia @ R.T, np.diag([0.06, 0.05, 0.02]), atol=1e-6)
    np.testing.assert_allclose(model.link_pose("door").p, (0.2, 0.25, 0.0), atol=1e-6)
    # a quarter turn about the vertical axis at its edge: the door stands out to the front
    cloud = model.link_pose("door", {"hinge": np.pi / 2}) @ points_of(model, "door")
    np.testing.assert_allclose(cloud.min(axis=0), (0.2, 0.25, -0.3), atol=1e-6)
    np.testing.assert_allclose(cloud.max(axis=0), (0.2 + 0.5, 0.25 + 0.02, 0.3), atol=1e-6)


def test_triangles_face_outwards_and_colours_are_srgb(cabinet):
    model = read(cabinet)
    (panel,), (shell,) = model.links["door"].visuals, model.links["body"].visuals
    assert shape_mesh(panel).volume == pytest.approx(0.02 * 0.5 * 0.6)
    assert (shell.kind, shell.size) == (ShapeKind.box, pytest.approx((0.4, 0.5, 0.6)))
    assert shell.rgba == pytest.approx((0.735357, 0.537099, 0.388573, 1.0), abs=1e-4)


def test_a_door_that_stands_open_in_the_file_has_the_same_joint(cabinet):
    closed, mass = read(cabinet), "            float physics:mass = 2"
    turned = '            double xformOp:rotateZ = 30\n            uniform token[] xformOpOrder = ["xformOp:rotateZ"]\n'
    opened = read(edit(cabinet, (mass, turned + mass)))
    first, second = closed.link_pose("door", {"hinge": 0.4}), opened.link_pose("door", {"hinge": 0.4})
    np.testing.assert_allclose(second.R, first.R, atol=1e-6)
    np.testing.assert_allclose(second.p, first.p, atol=1e-6)


def test_exchanged_bodies_of_a_joint_turn_the_other_way(cabinet):
    body, door = "= </Root/body>", "= </Root/front/door>"
    edit(cabinet, (f"body0 {body}", f"body0 {door}"), (f"body1 {door}", f"body1 {body}"))
    edit(cabinet, ("localPos0", "localPosX"), ("localPos1", "localPos0"), ("localPosX", "localPos1"))
    model = read(cabinet)
    np.testing.assert_allclose(model.joints["hinge"].axis, (0.0, 0.0, -1.0), atol=1e-9)
    np.testing.assert_allclose(model.link_pose("door").p, (0.2, 0.25, 0.0), atol=1e-6)


def test_a_variant_an_instance_in_a_scene_and_a_package_are_read_like_the_file(cabinet, tmp_path):
    from pxr import UsdUtils

    alone, folder = read(cabinet), cabinet.parent
    for name in ("kitchen.usda", "world.usda"):
        shutil.copyfile(DATA / name, folder / name)
    # an opinion of the referencing file, its selected variant, is stronger than that of the file it refers to
    assert np.degrees(read(folder / "kitchen.usda").joints["hinge"].upper) == pytest.approx(120.0, abs=1e-4)
    model = read(folder / "world.usda")
    assert notices(folder / "world.usda") == ("left out, no surface that can be read: 1 of type Plane",)
    assert list(model.links) == list(alone.links)
    np.testing.assert_allclose(extents(model, {"hinge": 0.5}), extents(alone, {"hinge": 0.5}), atol=1e-6)
    package = tmp_path / "cabinet.usdz"
    assert UsdUtils.CreateNewUsdzPackage(str(cabinet), str(package))
    clouds = [shape_cloud(each, {"hinge": 0.5}) for each in (read(package), alone)]
    np.testing.assert_allclose(*clouds, atol=1e-9)


def test_static_geometry_is_the_root_of_joints_to_the_world(cabinet):
    edit(cabinet, ("            rel physics:body0 = </Root/body>\n", ""))
    edit(cabinet, ('"body" ( prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"] )', '"body"'))
    text = cabinet.read_text()
    text = text[: text.index("        def PhysicsFixedJoint")] + text[text.index("        def PhysicsRevoluteJoint") :]
    # a joint without a first body is placed in the stage
    cabinet.write_text(text.replace("localPos0 = (0.2, 0.25, 0)", "localPos0 = (3.2, 1.25, 0.3)"))
    model = read(cabinet)
    assert list(model.links) == ["world", "door"]
    assert [shape.kind for shape in model.links["world"].collisions] == [ShapeKind.box]
    np.testing.assert_allclose(extents(model), (0.42, 0.5, 0.6), atol=1e-6)


def test_an_unlimited_joint_turns_on_and_a_limit_on_one_side_allows_one_turn(cabinet):
    edit(cabinet, ("            float physics:upperLimit = 90\n", ""))
    assert read(cabinet).joints["hinge"].upper == pytest.approx(2 * np.pi)
    assert notices(cabinet) == ("/Root/joints/hinge has one limit: it turns by at most 360 degrees",)
    edit(cabinet, ("            float physics:lowerLimit = 0\n", ""))
    assert read(cabinet).joints["hinge"].kind == "continuous"


def test_a_slider_is_in_metres(tmp_path):
    path = write_cabinet(tmp_path / "asset", meters=0.01)
    edit(path, ("PhysicsRevoluteJoint", "PhysicsPrismaticJoint"), ("angular", "linear"))
    joint = read(edit(path, ('physics:axis = "Z"', 'physics:axis = "X"'), ("Limit = 90", "Limit = 25"))).joints["hinge"]
    assert (joint.kind, joint.lower, joint.upper) == ("prismatic", 0.0, pytest.approx(0.25))
    assert joint.axis.tolist() == [1.0, 0.0, 0.0]


def test_approximations_are_the_shapes_that_engines_use(cabinet, props):
    assert read(cabinet).links["door"].collisions[0].kind is ShapeKind.mesh
    radius, used = np.linalg.norm([0.01, 0.25, 0.3]), '"convexHull"'
    for name, kind, size in (
        ('"boundingCube"', ShapeKind.box, (0.02, 0.5, 0.6)),
        ('"boundingSphere"', ShapeKind.sphere, (radius,)),
    ):
        edit(props, (used, name))
        (shape,) = read(cabinet).links["door"].collisions
        assert (shape.kind, shape.size) == (kind, pytest.approx(size))
        used = name


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
def test_primitives_have_their_sizes(cabinet, kind, values, extents):
    text = cabinet.read_text()
    start, end = text.index('            def Xform "geometry"'), text.index('    def Scope "joints"')
    shape = f'def {kind} "shape" ( prepend apiSchemas = ["PhysicsCollisionAPI"] )\n {{\n {values}\n }}\n }}\n }}\n'
    cabinet.write_text(text[:start] + shape + text[end:])
    # round shapes are compared with a polyhedron that lies inside them
    np.testing.assert_allclose(np.ptp(points_of(read(cabinet), "door"), axis=0), extents, rtol=0.01)


def test_a_change_of_a_referenced_file_is_noticed(cabinet, props):
    first = urdf_of(cabinet).path
    assert urdf_of(cabinet).path == first
    edit(props, ("0.02", "0.03"))
    second = urdf_of(cabinet).path
    assert second != first
    assert extents(read_urdf(second))[0] == pytest.approx(0.43)


FOLLOWER = (
    """    def Xform "leaf" ( prepend apiSchemas = ["PhysicsRigidBodyAPI"] )
    {
        def Cube "shape" ( prepend apiSchemas = ["PhysicsCollisionAPI"] )
        {
            double size = 0.1
        }
    }
""",
    """        def PhysicsRevoluteJoint "second"
        {
            rel physics:body0 = </Root/body>
            rel physics:body1 = </Root/leaf>
            uniform token physics:axis = "Z"
            float physics:lowerLimit = -90
            float physics:upperLimit = 90
            %s
        }
""",
)


@pytest.mark.parametrize(
    ("stated", "follows"),
    [
        (
            "rel physxMimicJoint:rotZ:referenceJoint = </Root/joints/hinge>\n"
            "float physxMimicJoint:rotZ:gearing = 0.5\nfloat physxMimicJoint:rotZ:offset = -10",
            (-0.5, 10.0),
        ),
        (
            "rel newton:mimicJoint = </Root/joints/hinge>\n"
            "float newton:mimicCoef0 = 20\nfloat newton:mimicCoef1 = -0.5",
            (-0.5, 20.0),
        ),
        ("rel newton:mimicJoint = </Root/joints/anchor>", None),
        ("rel newton:mimicJoint = </Root/joints/hinge>\nbool newton:mimicEnabled = 0", None),
    ],
    ids=["physx", "newton", "fixed", "off"],
)
def test_a_joint_follows_another_one_as_the_file_states(cabinet, stated, follows):
    body, joint = FOLLOWER
    anchor = '        def PhysicsFixedJoint "anchor"'
    edit(cabinet, ('    def Scope "joints"', body + '    def Scope "joints"'), (anchor, joint % stated + anchor))
    found = read(cabinet).joints["second"].follows
    if follows is None:
        assert found is None
        said = "/Root/joints/second moves by itself: newton:mimicJoint names </Root/joints/anchor>, which is fixed"
        assert notices(cabinet) == ((said,) if "anchor" in stated else ())
    else:
        ratio, offset_deg = follows
        assert (found.joint, found.ratio, found.offset) == ("hinge", ratio, pytest.approx(np.deg2rad(offset_deg)))


LOOP = """        def PhysicsRevoluteJoint "again"
        {
            rel physics:body0 = </Root/body>
            rel physics:body1 = </Root/front/door>
            %s
        }
"""


def test_a_joint_that_closes_a_loop_is_left_out_only_if_the_file_says_so(cabinet):
    anchor, original = '        def PhysicsFixedJoint "anchor"', cabinet.read_text()
    edit(cabinet, (anchor, LOOP % "" + anchor))
    with pytest.raises(AssetError, match=r"closes a loop of joints\. Expected a tree\."):
        read(cabinet)
    cabinet.write_text(original.replace(anchor, LOOP % "uniform bool physics:excludeFromArticulation = 1" + anchor))
    assert list(read(cabinet).joints) == ["hinge"]
    assert notices(cabinet) == ("/Root/joints/again is left out: it closes a loop",)


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
        ("#usda 1.0", "not a usd", r"cabinet\.usda: no readable USD \(.+\)\. Expected a file that"),
    ],
)
def test_what_cannot_be_read_is_said_with_its_place(cabinet, old, new, message):
    with pytest.raises(AssetError, match=message):
        read(edit(cabinet, (old, new)))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("int[] faceVertexIndices = [2,", "int[] faceVertexIndices = [9,", r"panel names point 9 of 8\. Export"),
        ("Counts = [4,", "Counts = [5,", r"panel has 24 faceVertexIndices, faceVertexCounts want 25"),
        ("points = [(0,", "points = [(nan,", r"panel has a point that is not finite"),
    ],
)
def test_a_damaged_mesh_is_named(cabinet, props, old, new, message):
    edit(props, (old, new))
    with pytest.raises(AssetError, match=message):
        read(cabinet)


def test_two_objects_in_one_file_are_refused(cabinet):
    both = cabinet.with_name("both.usda")
    objects = "".join(f'def Xform "{name}" ( references = @./cabinet.usda@ )\n{{\n}}\n' for name in "AB")
    both.write_text(f"#usda 1.0\n( metersPerUnit = 1 )\n{objects}")
    # two cabinets that both stand in the world, and two that do not
    anchored = "            rel physics:body1 = </Root/body>\n        }"
    edit(cabinet, (anchored, "        uniform bool physics:jointEnabled = 0\n }"))
    message = r"holds several objects: nothing connects /A/joints/hinge and /B/joints/hinge"
    with pytest.raises(AssetError, match=message):
        read(both)


def test_without_openusd_the_extra_is_named(cabinet, monkeypatch):
    def missing(name):
        raise ImportError(f"No module named '{name}'")

    monkeypatch.setattr(extras, "import_module", missing)
    with pytest.raises(AssetError, match=r"A USD object needs package 'pxr'.*" + re.escape(install_command("usd"))):
        urdf_of(cabinet)


def loaded(root):
    return load_instance(ObjectCfg(name="object", category="object", source=ObjectSource.urdf, root=str(root)))


def test_a_usd_is_an_object_like_its_urdf_and_an_annotation_beside_it_is_used(tmp_path, cabinet):
    usd = write_cabinet(tmp_path / "other", meters=0.01, up="Y")
    found, same = loaded(usd), loaded(urdf_of(usd).path)
    assert (found.instance, list(found.articulation.parts)) == ("cabinet", ["door"])
    np.testing.assert_allclose(found.bounds_obj, same.bounds_obj)
    assert found.friction == same.friction
    file = cabinet.with_name("articulation.yaml")
    file.write_text(with_mark(annotate_source(read_source(cabinet)).articulation).to_yaml())
    assert "file: cabinet.usda" in file.read_text()
    assert load_annotation(file).problems == []
    assert loaded(cabinet.parent).parameters["annotation"] == "given"


@pytest.mark.e2e
def test_an_episode_opens_a_usd(tmp_path):
    usd, out = write_cabinet(tmp_path / "asset", meters=0.01, up="Y"), tmp_path / "data"
    code = main(["collect", f"object={usd}", "skill=open", "episodes=1", "pictures=0", "executor=serial", f"out={out}"])
    assert code == 0
    assert [summary.success for summary in DataSet.open(out).summaries()] == [True]


def colour(shape):
    return (*(linear_light(v) for v in shape.rgba[:3]), shape.rgba[3])


def test_each_material_of_a_mesh_has_its_colour():
    model = read(DATA / "materials.usda")
    (second, first), (plain,) = model.links["body"].visuals, model.links["door"].visuals
    assert colour(first) == pytest.approx((0.25, 0.5, 1.0, 0.5), abs=1e-4)
    assert colour(second) == pytest.approx((0.0, 1.0, 0.0, 1.0), abs=1e-4)
    assert colour(plain) == pytest.approx((1.0, 0.0, 0.0, 1.0), abs=1e-4)
    values = np.linspace(0.0, 1.0, 41)
    assert [linear_light(srgb_light(v)) for v in values] == pytest.approx(values, abs=1e-6)


POSITION_M, ROTATION, LIMIT, RELATIVE = 1e-6, 1e-6, 1e-6, 1e-5
"""Those of single precision, in which USD keeps positions, rotations and limits."""
ROUND_M = 2e-5
"""Of points that are compared after rounding to 1e-5 m."""


@pytest.fixture
def exported(tmp_path):
    """Converts a generated object; returns it, and what its USD is read as."""

    def make(category, seed=3, *, textured=False, **values):
        made = GENERATORS.load(category)(seed, name=category)
        model, files = textured_files(made) if textured else (made.model, {})
        (tmp_path / "in").mkdir()
        for name, data in {"object.urdf": model.to_urdf().encode(), **files}.items():
            (tmp_path / "in" / name).write_bytes(data)
        where = {"asset_path": str(tmp_path / "in" / "object.urdf"), "out_dir": str(tmp_path / "out")}
        converter = UrdfConverter(UrdfConverterCfg(**where, usd=True, **values))
        return read_urdf(Path(converter.urdf_path)), read(Path(converter.usd_path))

    return make


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
    ("category", "fix_base", "shared"),
    [("microwave", True, True), ("drawer", False, False), pytest.param("faucet", True, False, marks=pytest.mark.slow)],
)
def test_an_exported_object_is_read_as_it_was(tmp_path, exported, category, fix_base, shared):
    before, after = exported(category, fix_base=fix_base, make_instanceable=shared)
    moving = [joint for joint in before.joints.values() if joint.moves]
    assert moving
    assert sorted(after.links) == sorted(set(before.links) - {"world"})
    for joint in moving:
        other = after.joints[joint.name]
        assert (other.kind, other.parent, other.child) == (joint.kind, joint.parent, joint.child)
        assert (other.lower, other.upper) == pytest.approx((joint.lower, joint.upper), abs=LIMIT)
        for key in ("effort", "friction", "velocity"):
            assert getattr(other, key) == pytest.approx(getattr(joint, key), rel=RELATIVE)
        # the path of the opened part: every pose of its link along the range
        for position in np.linspace(joint.lower, joint.upper, 7):
            first, second = (each.link_pose(joint.child, {joint.name: float(position)}) for each in (before, after))
            np.testing.assert_allclose(second.p, first.p, atol=POSITION_M)
            np.testing.assert_allclose(second.R, first.R, atol=ROTATION)
    shapes_before, shapes_after = points(before, tmp_path / "out"), points(after, tmp_path / "cache")
    for name, link in after.links.items():
        new, old = link.inertial, before.links[name].inertial
        assert new.mass_kg == pytest.approx(old.mass_kg, rel=RELATIVE)
        np.testing.assert_allclose(new.com_link, old.com_link, atol=POSITION_M)
        np.testing.assert_allclose(new.inertia, old.inertia, atol=RELATIVE * float(np.abs(old.inertia).max()))
        for first, second in zip(shapes_before[name], shapes_after[name], strict=True):
            assert farthest(first, second) < ROUND_M
        assert colours(link) == colours(before.links[name])


def test_the_damping_of_a_drive_survives(exported):
    drive = {"default_drive_type": "velocity", "default_drive_damping": 0.7, "override_joint_dynamics": True}
    _, after = exported("microwave", fix_base=False, **drive)
    assert [joint.damping for joint in after.joints.values()] == pytest.approx([0.7], rel=RELATIVE)


def test_pictures_survive_an_export(tmp_path, exported):
    before, after = exported("drawer", 4, textured=True, fix_base=False)

    def textured(link):
        """Picture and number of triangles of each textured shape."""
        found = [read_textured_surface(shape.path, tmp_path) for shape in link.visuals if shape.path is not None]
        return sorted((item.picture.read_bytes(), len(item.faces)) for item in found if item is not None)

    for name, link in before.links.items():
        assert textured(after.links[name]) == textured(link)
    assert any(textured(link) for link in before.links.values())


def test_keypoints_of_an_info_file_are_in_the_frame_of_the_prim(cabinet):
    """The link begins at its joint, the prim where its author put it."""
    source = read_source(cabinet)
    model = source.model
    joint = next(joint for joint in model.joints.values() if joint.moves)
    affine = source.frames[joint.child]
    part = next(iter(annotate_source(source).articulation.parts.values()))
    head = part.keypoint("articulated_object_head").xyz
    in_prim = np.linalg.solve(affine, [*head, 1.0])[:3]
    shifted = in_prim + np.linalg.solve(affine[:3, :3], [0.0, 0.0, 0.01])
    info = {"object_keypoints": {"articulated_object_head": shifted.tolist()}, "joint_index": 0}
    cabinet.with_name("info.json").write_text(json.dumps(info))
    own = next(iter(annotate_source(read_source(cabinet)).articulation.parts.values()))
    np.testing.assert_allclose(
        own.keypoint("articulated_object_head").xyz, head + np.array([0.0, 0.0, 0.01]), atol=1e-6
    )
    asset = loaded(cabinet)
    derived = next(iter(asset.articulation.parts.values()))
    given = with_info_file(derived, asset, cabinet.with_name("info.json"))
    moved = given.keypoint("articulated_object_head").xyz - derived.keypoint("articulated_object_head").xyz
    np.testing.assert_allclose(moved, [0.0, 0.0, 0.01], atol=1e-6)
    assert not np.allclose(affine, np.eye(4)), "the test would pass without a change of frames"
