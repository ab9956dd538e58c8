"""A glTF whose nodes have joints is read as a URDF, in either of two extensions."""

from contextlib import suppress

import numpy as np
import pytest

from tests.objects.importers.mesh_samples import SIZE_M, cabinet_scene, write_glb
from unlatch.objects.annotate.annotator import AnnotateCfg, annotate_source
from unlatch.objects.annotate.source import has_urdf, read_source, urdf_of
from unlatch.simcore.errors import AssetError
from unlatch.simcore.meshes.mesh_reader import read_mesh
from unlatch.simcore.urdf.reader import read_urdf

DEPTH, WIDTH, _ = SIZE_M
HINGE = [-DEPTH / 2 - 0.02, -WIDTH / 2, 0.0]
"""Place of the hinge in `body`, whose z points up in the turned file."""


def number(content, name):
    return next(k for k, node in enumerate(content["nodes"]) if node.get("name") == name)


def hang_on_hinge(content, values):
    """Puts a node at the hinge between body and door, with these values; returns its number."""
    door, body = number(content, "door"), number(content, "body")
    content["nodes"].append({"name": "hinge", "translation": HINGE, "children": [door], **values})
    hinge = len(content["nodes"]) - 1
    content["nodes"][body]["children"] = [k if k != door else hinge for k in content["nodes"][body]["children"]]
    content["nodes"][door]["translation"] = [-v for v in HINGE]
    return hinge


def add_articulation(content, **stage):
    stages = [
        {"name": "turn", "type": "zRotate", "minimumValue": 0.0, "maximumValue": 90.0, "initialValue": 0.0, **stage}
    ]
    content["extensionsUsed"] = ["AGI_articulations"]
    content["extensions"] = {"AGI_articulations": {"articulations": [{"name": "swing", "stages": stages}]}}
    hang_on_hinge(content, {"extensions": {"AGI_articulations": {"articulationName": "swing"}}})


def add_physics_joint(content, *, limits=None, flip=False):
    """Makes the door a rigid body of 2 kg; its joint node hangs below `body`, or with `flip` below the door."""
    hinge = hang_on_hinge(content, {"extensions": {"KHR_physics_rigid_bodies": {"motion": {"mass": 2.0}}}})
    frame = {"name": "pivot", "translation": HINGE}
    content["nodes"].append(frame)
    pivot = len(content["nodes"]) - 1
    content["nodes"][number(content, "body")]["children"].append(pivot)
    at, other = (hinge, pivot) if flip else (pivot, hinge)
    values = content["nodes"][at].setdefault("extensions", {}).setdefault("KHR_physics_rigid_bodies", {})
    values["joint"] = {"connectedNode": other, "joint": 0}
    door = [
        {"linearAxes": [0, 1, 2], "min": 0.0, "max": 0.0},
        {"angularAxes": [0, 1], "min": 0.0, "max": 0.0},
        {"angularAxes": [2], "min": -1.5 if flip else 0.0, "max": 0.0 if flip else 1.5},
    ]
    content["extensionsUsed"] = ["KHR_physics_rigid_bodies"]
    content["extensions"] = {"KHR_physics_rigid_bodies": {"physicsJoints": [{"limits": limits or door}]}}


def part_bounds(model, link, position):
    """Returns the corners of what is seen of a link below the root, at a position of its joint."""
    joint = model.parent_joint(link)
    assert joint is not None
    T = joint.child_pose(position)
    points = [read_mesh(s.path).mesh.vertices for s in model.links[link].visuals if s.path is not None]
    placed = np.concatenate(points) @ T.R.T + T.p
    return placed.min(axis=0), placed.max(axis=0)


def model_of(path, edit):
    return read_urdf(urdf_of(write_glb(path, cabinet_scene(), edit)).path)


@pytest.mark.parametrize("edit", [add_articulation, add_physics_joint, lambda c: add_physics_joint(c, flip=True)])
def test_a_door_is_read_with_its_hinge(tmp_path, edit):
    path = write_glb(tmp_path / "cabinet.glb", cabinet_scene(), edit)
    assert has_urdf(path)
    model = read_urdf(urdf_of(path).path)
    assert {name: len(link.visuals) for name, link in model.links.items()} == {"world": 5, "hinge": 3}
    (joint,) = model.joints.values()
    assert (joint.kind, joint.parent, joint.child) == ("revolute", "world", "hinge")
    np.testing.assert_allclose(joint.T_parent_joint.p, HINGE, atol=1e-6)
    right_angle = np.pi / 2 if joint.upper > 1 else -np.pi / 2
    closed, opened = (part_bounds(model, "hinge", position) for position in (0.0, right_angle))
    np.testing.assert_allclose(closed[0], [-DEPTH / 2 - 0.06, -WIDTH / 2, -0.2], atol=1e-6)
    np.testing.assert_allclose(closed[1], [-DEPTH / 2 - 0.01, WIDTH / 2, 0.2], atol=1e-6)
    # at a right angle, the free side points away from the body
    np.testing.assert_allclose(opened[0][0], HINGE[0] - WIDTH, atol=1e-6)


def test_the_limits_of_both_extensions(tmp_path):
    first, second = (
        model_of(tmp_path / f"{edit.__name__}.glb", edit) for edit in (add_articulation, add_physics_joint)
    )
    assert (first.joints["swing"].lower, first.joints["swing"].upper) == pytest.approx((0.0, np.pi / 2))
    assert (second.joints["pivot"].lower, second.joints["pivot"].upper) == pytest.approx((0.0, 1.5))
    assert second.links["hinge"].inertial.mass_kg == 2.0
    assert first.links["hinge"].inertial is None


def test_a_drawer_and_a_knob(tmp_path):
    def slide(content):
        add_articulation(content, type="xTranslate", minimumValue=-0.2, maximumValue=0.0)
        content["nodes"][number(content, "hinge")]["scale"] = [2.0, 2.0, 2.0]

    (joint,) = model_of(tmp_path / "a.glb", slide).joints.values()
    # a stage is in the units of its node, which is twice as large
    assert (joint.kind, joint.lower, joint.upper) == ("prismatic", pytest.approx(-0.4), 0.0)
    spin = {"type": "xRotate", "minimumValue": -180.0, "maximumValue": 180.0}
    (joint,) = model_of(tmp_path / "b.glb", lambda c: add_articulation(c, **spin)).joints.values()
    assert joint.kind == "continuous"


def test_the_part_is_annotated_and_a_plain_mesh_is_no_object(tmp_path):
    source = read_source(write_glb(tmp_path / "cabinet.glb", cabinet_scene(), add_articulation))
    (part,) = annotate_source(source, AnnotateCfg()).articulation.parts.values()
    assert (part.kind.name, part.joint, part.handle.type.name) == ("hinge_vertical", "swing", "bar")
    plain = write_glb(tmp_path / "plain.glb", cabinet_scene())
    assert not has_urdf(plain)
    with pytest.raises(AssetError, match=r"Say which part moves: unlatch annotate \S+/plain\.glb joint=hinge"):
        read_source(plain)


def _without_joints(content):
    content["extensionsUsed"] = ["AGI_articulations"]


def _two_ways(content):
    add_physics_joint(
        content, limits=[{"linearAxes": [0, 1, 2], "min": 0, "max": 0}, {"angularAxes": [0], "min": 0, "max": 0}]
    )


def _no_such_node(content):
    add_physics_joint(content)
    content["nodes"][number(content, "pivot")]["extensions"]["KHR_physics_rigid_bodies"]["joint"]["connectedNode"] = 99


def _own_child(content):
    content["nodes"][number(content, "door")]["children"] = [number(content, "door")]


def _unknown_name(content):
    add_articulation(content)
    content["extensions"]["AGI_articulations"]["articulations"][0]["name"] = "other"


def _without_end(content):
    kept = {"min": 0, "max": 0}
    add_physics_joint(content, limits=[{"angularAxes": [0, 1, 2], **kept}, {"linearAxes": [1, 2], **kept}])


def _mirrored(content):
    add_articulation(content)
    content["nodes"][number(content, "hinge")]["scale"] = [-1.0, 1.0, 1.0]


def _chain(content):
    first = len(content["nodes"])
    content["nodes"] += [{}] + [{"children": [first + k]} for k in range(3000)]


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        (_without_end, "(pivot) slides without end: -inf to inf. Expected a limit with min and max."),
        (_mirrored, "(hinge) has a joint and a transform that is not finite, makes it flat, or mirrors it."),
        (_chain, "no readable GLB mesh"),
        (_without_joints, "has no joint that moves"),
        (_two_ways, "(pivot) has a joint that moves in 2 ways: turns about y, turns about z. Expected one."),
        (_no_such_node, "(pivot) has a joint with connectedNode 99, which does not exist."),
        (_own_child, "no readable GLB mesh (node "),
        (_unknown_name, "(hinge) names the articulation 'swing'. Known: other."),
        (
            lambda c: add_articulation(c, type="zRotat"),
            "(hinge) has a stage of the unknown type 'zRotat'. Did you mean 'zRotate'",
        ),
        (
            lambda c: add_articulation(c, type="twist"),
            "Expected one of xRotate, yRotate, zRotate, xTranslate, yTranslate, zTranslate. Correct it.",
        ),
        (lambda c: add_articulation(c, type="uniformScale"), "moves in 0 ways by the articulation 'swing'."),
        (lambda c: add_articulation(c, maximumValue="far"), "has a stage with maximumValue=far. Expected a number."),
    ],
)
def test_what_no_urdf_has_is_refused(tmp_path, edit, said):
    path = write_glb(tmp_path / "cabinet.glb", cabinet_scene(), edit)
    with pytest.raises(AssetError) as caught:
        urdf_of(path)
    assert said in str(caught.value)


@pytest.mark.parametrize("wrong", [None, 3, "text", [1], {}, [[]], {"stages": None}, {"limits": [3]}])
@pytest.mark.parametrize(
    "place",
    [
        ("AGI_articulations", "articulations"),
        ("AGI_articulations", "articulations", 0, "stages"),
        ("KHR_physics_rigid_bodies", "physicsJoints"),
        ("KHR_physics_rigid_bodies", "physicsJoints", 0, "limits"),
        ("KHR_physics_rigid_bodies", "physicsJoints", 0, "limits", 0, "linearAxes"),
        ("KHR_physics_rigid_bodies", "physicsJoints", 0, "limits", 0, "min"),
    ],
)
def test_values_of_another_type_are_refused_or_read(tmp_path, place, wrong):
    def spoil(content):
        (add_articulation if place[0] == "AGI_articulations" else add_physics_joint)(content)
        at = content["extensions"]
        for key in place[:-1]:
            at = at[key]
        at[place[-1]] = wrong

    path = write_glb(tmp_path / "cabinet.glb", cabinet_scene(), spoil)
    with suppress(AssetError):  # no other exception
        assert read_urdf(urdf_of(path).path).joints


def test_damaged_files_are_refused(tmp_path):
    whole = write_glb(tmp_path / "whole.glb", cabinet_scene(), add_articulation).read_bytes()
    for cut in (0, 10, 30, 200, len(whole) - 500):
        path = tmp_path / "cut.glb"
        path.write_bytes(whole[:cut])
        with pytest.raises(AssetError):
            urdf_of(path)
