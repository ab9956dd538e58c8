"""Any URDF as an object of a scene."""

import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from unlatch.objects.annotate.annotator import annotate_source
from unlatch.objects.annotate.source import category_of, read_category, read_source, with_freed_joints
from unlatch.objects.annotation import ANNOTATION_FILE, FramedVector
from unlatch.objects.annotation_entries import FixedHandle, FreedJoint, Region, RegionKind, RegionOpening
from unlatch.objects.config import ObjectCfg, ObjectSource, RestsOn
from unlatch.objects.friction import joint_problems
from unlatch.objects.importers.urdf_object import describe_doubts
from unlatch.objects.library import describe_object_set, load_object
from unlatch.simcore.errors import AssetError, ConfigError
from unlatch.simcore.geometry import Pose
from unlatch.simcore.urdf.reader import read_urdf

# the front looks to -y, a grip is fixed to the door by a joint, a button is pressed from above
CABINET = """<robot name="cabinet">
  <link name="case">
    <visual><origin xyz="0 0 0.01"/><geometry><box size="0.4 0.3 0.02"/></geometry></visual>
    <visual><origin xyz="0 0 0.39"/><geometry><box size="0.4 0.3 0.02"/></geometry></visual>
    <visual><origin xyz="-0.19 0 0.2"/><geometry><box size="0.02 0.3 0.36"/></geometry></visual>
    <visual><origin xyz="0.19 0 0.2"/><geometry><box size="0.02 0.3 0.36"/></geometry></visual>
    <visual><origin xyz="0 0.14 0.2"/><geometry><box size="0.36 0.02 0.36"/></geometry></visual>
  </link>
  <link name="panel">
    <visual><origin xyz="0.2 -0.01 0.2"/><geometry><box size="0.4 0.02 0.4"/></geometry></visual>
  </link>
  <link name="grip">
    <visual><origin xyz="0 -0.05 0"/><geometry><box size="0.016 0.016 0.16"/></geometry></visual>
    <visual><origin xyz="0 -0.02 0.07"/><geometry><box size="0.016 0.05 0.016"/></geometry></visual>
    <visual><origin xyz="0 -0.02 -0.07"/><geometry><box size="0.016 0.05 0.016"/></geometry></visual>
  </link>
  <link name="button"><visual><geometry><box size="0.04 0.04 0.02"/></geometry></visual></link>
  <joint name="hinge" type="revolute"><parent link="case"/><child link="panel"/><origin xyz="-0.2 -0.15 0"/>
    <axis xyz="0 0 -1"/><limit lower="0" upper="1.6"/></joint>
  <joint name="screws" type="fixed"><parent link="panel"/><child link="grip"/><origin xyz="0.36 0 0.2"/></joint>
  <joint name="press" type="prismatic"><parent link="case"/><child link="button"/><origin xyz="0 0 0.41"/>
    <axis xyz="0 0 -1"/><limit lower="0" upper="0.005"/></joint>
</robot>
"""


@pytest.fixture
def urdf(tmp_path):
    path = tmp_path / "cabinet" / "cabinet.urdf"
    path.parent.mkdir()
    path.write_text(CABINET)
    return path


@pytest.fixture
def cfg(urdf, tmp_path):
    return ObjectCfg("thing", "cabinet", ObjectSource.urdf, root=str(urdf), cache_dir=str(tmp_path / "cache"))


def load(cfg):
    return load_object(cfg, rng=np.random.default_rng(0))


def test_the_front_is_turned_to_x_and_fixed_links_are_merged(cfg):
    asset = load(cfg)
    assert [path.name for path in Path(cfg.root).parent.iterdir()] == ["cabinet.urdf"]  # nothing is written beside it
    model = read_urdf(asset.urdf_path)
    door = asset.articulation.part("door")
    assert list(model.links) == ["object_root", "panel", "button"]
    assert [joint.name for joint in model.joints.values()] == ["hinge", "press"]
    assert asset.articulation.part("button").is_button
    assert (door.link, door.base) == ("panel", "object_root")
    np.testing.assert_allclose(door.axes["base_front_axis"].xyz, [1.0, 0.0, 0.0], atol=1e-6)
    np.testing.assert_allclose(asset.bounds_obj[1, 0], 0.208, atol=1e-3)  # the grip stands out of the front
    head = model.link_pose("panel") @ door.keypoints["articulated_object_head"].xyz
    # 16 cm left of the middle as the object looks: its +x in the file is +y here
    np.testing.assert_allclose(head, [0.2, 0.16, 0.2], atol=0.01)


def test_the_second_time_it_comes_from_the_cache_and_a_changed_file_is_noticed(cfg, urdf):
    first, set_before = load(cfg), describe_object_set(cfg)
    written = first.urdf_path.stat().st_mtime_ns
    assert load(cfg).urdf_path.stat().st_mtime_ns == written
    urdf.write_text(CABINET.replace('upper="1.6"', 'upper="1.2"'))
    second = load(cfg)
    assert second.content_hash != first.content_hash
    assert describe_object_set(cfg) != set_before
    assert second.articulation.part("door").openness.open == pytest.approx(1.2)


@pytest.mark.slow
def test_a_process_reads_it_once_until_a_file_changes_or_an_annotation_comes(cfg, urdf, monkeypatch):
    load(cfg)
    later_ns = time.time_ns() + 3_600_000_000_000
    monkeypatch.setattr(time, "time_ns", lambda: later_ns)  # no file has changed lately
    first = load(cfg)
    assert load(cfg) is first
    assert load(replace(cfg, name="other")).name == "other"
    annotation = urdf.with_name(ANNOTATION_FILE)
    annotation.write_text(annotate_source(read_source(urdf)).articulation.to_yaml())
    given = load(cfg)
    assert given.parameters["annotation"] == "given"
    annotation.unlink()
    urdf.write_text(CABINET.replace('upper="1.6"', 'upper="1.2"'))
    changed = load(cfg)
    assert changed.articulation.part("door").openness != first.articulation.part("door").openness
    assert changed.content_hash != first.content_hash
    changed.urdf_path.write_text("<robot/>")
    assert load(cfg).content_hash == changed.content_hash  # the damaged file of the cache is made again
    assert load(cfg).urdf_path.read_text() != "<robot/>"


def test_meshes_may_lie_in_the_package_around_the_urdf(cfg, urdf):
    package = urdf.parent / "cabinet_description"
    (package / "urdf").mkdir(parents=True)
    (package / "meshes").mkdir()
    mesh = package / "meshes" / "button.obj"
    mesh.write_text("v 0 0 0\nv 0.03 0 0\nv 0 0.03 0\nv 0 0 0.01\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 3 1 4\n")
    named = '<mesh filename="package://cabinet_description/meshes/button.obj"/>'
    inner = package / "urdf" / "cabinet.urdf"
    inner.write_text(CABINET.replace('<box size="0.04 0.04 0.02"/>', named))
    inside = replace(cfg, root=str(inner))
    first = load(inside)
    assert load(inside).content_hash == first.content_hash
    mesh.write_text(mesh.read_text().replace("0.03", "0.04"))
    assert load(inside).content_hash != first.content_hash


def test_an_annotation_beside_the_urdf_is_used_unchanged(cfg, urdf):
    made = annotate_source(read_source(urdf)).articulation
    door = made.part("door")
    raised = {
        name: replace(point, xyz=point.xyz + np.array([0.0, 0.0, 0.03]))
        for name, point in door.keypoints.items()
        if name.startswith("articulated")
    }
    own = replace(made, parts={"gate": replace(door, name="gate", keypoints={**door.keypoints, **raised})})
    (urdf.parent / ANNOTATION_FILE).write_text(own.to_yaml())
    asset = load(cfg)
    assert list(asset.articulation.parts) == ["gate"]
    moved = asset.articulation.part("gate").keypoints["articulated_object_head"].xyz
    np.testing.assert_allclose(moved, [0.36, -0.05, 0.23], atol=1e-6)
    assert asset.parameters["annotation"] == "given"


def test_stated_places_and_fixed_handles_turn_with_the_front(cfg, urdf):
    shelf = Region(
        RegionKind.inside,
        "case",
        Pose.from_translation((0.1, -0.02, 0.02)),
        np.array([0.1, 0.2, 0.3]),
        RegionOpening.front,
        part="door",
    )
    bar = FixedHandle(
        "case", np.array([0.1, 0.0, 0.41]), np.array([1.0, 0.0, 0.0]), np.array([0.0, -1.0, 0.0]), thickness_m=0.01
    )
    made = annotate_source(read_source(urdf)).articulation
    keypoints = {"lamp": FramedVector.of("obj", (0.1, -0.02, 0.4))}
    own = replace(made, regions={"shelf": shelf}, handles={"bar": bar}, keypoints=keypoints)
    (urdf.parent / ANNOTATION_FILE).write_text(own.to_yaml())
    asset = load(cfg)
    # the front looks to -y in the file, and to +x here; the case has become part of the root
    region, handle = asset.regions["shelf"], asset.articulation.handles["bar"]
    assert {region.link, handle.link} == {asset.model.root}
    np.testing.assert_allclose(region.T_link_region.p, [0.02, 0.1, 0.02], atol=1e-6)
    np.testing.assert_allclose(region.T_link_region.R[:, 0], [0.0, 1.0, 0.0], atol=1e-6)
    np.testing.assert_allclose(handle.middle, [0.0, 0.1, 0.41], atol=1e-6)
    np.testing.assert_allclose([handle.along, handle.out], [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]], atol=1e-6)
    np.testing.assert_allclose(asset.articulation.keypoint("lamp").xyz, [0.02, 0.1, 0.4], atol=1e-6)


def test_an_annotation_that_does_not_fit_is_refused_and_one_of_another_urdf_left_alone(cfg, urdf):
    text, file = annotate_source(read_source(urdf)).articulation.to_yaml(), urdf.parent / ANNOTATION_FILE
    file.write_text(text.replace("joint: hinge", "joint: henge"))
    with pytest.raises(AssetError, match=r"joint 'henge' is not in the URDF"):
        load(cfg)
    file.write_text(text.replace("file: cabinet.urdf", "file: other.urdf"))
    assert load(cfg).parameters["annotation"] == "derived"
    file.write_text(text)
    with pytest.raises(ConfigError, match=r"object.scale=2 contradicts the scale 1 in "):
        load(replace(cfg, scale=2.0))


def test_a_released_lid_stays(cfg, urdf):
    upright = load(cfg)
    urdf.write_text(CABINET.replace('<axis xyz="0 0 -1"/><limit lower="0" upper="1.6"/>', LYING))
    lying = load(cfg)
    mass = read_urdf(lying.urdf_path).links["panel"].inertial.mass_kg
    # the panel's middle lies 0.2 m from an axis along its lower edge
    assert lying.friction["hinge"] == pytest.approx(1.3 * mass * 9.81 * 0.2, rel=0.05)
    assert upright.friction["hinge"] == pytest.approx(0.3)


LYING = '<axis xyz="1 0 0"/><limit lower="0" upper="1.6"/>'


def test_an_instance_or_a_part_that_is_not_there_is_refused(cfg):
    assert load(replace(cfg, instance="cabinet")).instance == "cabinet"  # as a replay names it
    with pytest.raises(ConfigError, match=r"object.instance='7' does not fit .*, which holds 'cabinet'"):
        load(replace(cfg, instance="7"))
    with pytest.raises(ConfigError, match=r"object.part='dor' is not a part of .*Did you mean 'door'"):
        load(replace(cfg, part="dor"))
    with pytest.raises(ConfigError, match=r"object.part=door has no meaning for source=procedural"):
        ObjectCfg("a", "b", part="door")


@pytest.mark.parametrize(
    ("folder", "category"),
    [
        ("Microwave/7310", "microwave"),
        ("guitar_rotate/obj_3", "guitar"),
        ("newuser/my_oven", "oven"),
        ("newuser/thing", "object"),
        ("newuser/thing2", "object"),
        ("newuser/door2", "door"),
        ("newuser/cabinet_v2", "cabinet"),
        ("safe_rotate/mine", "safe"),
        ("2024/7310", "object"),
    ],
)
def test_the_category_is_the_folder_of_a_data_set_and_no_other_folder(tmp_path, folder, category):
    assert category_of(tmp_path / folder, is_partnet=True) == category
    assert category_of(tmp_path / folder, is_partnet=False) == "object"


STATED = """schema: 1
category: cabinet
urdf: {file: cabinet.urdf, scale: 1.2}
freed_joints:
  screws: {kind: revolute, lower: 0.0, upper: 1.2}
mechanisms:
  bolt: {kind: latch, joint: hinge, by: screws, free_at: 0.7}
"""


@pytest.fixture
def locked(urdf):
    """The cabinet with a grip that its file fixes and that an annotation without parts frees."""
    axis = '<origin xyz="0.36 0 0.2"/><axis xyz="0 1 0"/></joint>'
    urdf.write_text(CABINET.replace('<origin xyz="0.36 0 0.2"/></joint>', axis))
    path = urdf.with_name(ANNOTATION_FILE)
    path.write_text(STATED)
    return path


def test_an_annotation_without_parts_frees_a_fixed_joint_and_the_parts_are_derived(cfg, locked):
    asset = load(cfg)
    assert asset.articulation.mechanisms["bolt"].by == "screws"
    assert {part.joint for part in asset.articulation.parts.values()} == {"hinge", "screws", "press"}
    joint = read_urdf(asset.urdf_path).joints["screws"]
    assert (joint.kind, joint.lower, joint.upper, tuple(joint.axis)) == ("revolute", 0.0, 1.2, (0.0, 1.0, 0.0))
    assert asset.bounds_obj[1, 2] == pytest.approx(1.2 * 0.415, abs=1e-3)  # the button is pressed
    assert asset.explain_held("door", asset.rest_positions) == [
        "door is latched: knob at 0 of the 0.7 rad that free it"
    ]


def test_freed_joints_come_after_those_that_move_in_the_file(urdf):
    urdf.write_text(CABINET.replace('<origin xyz="0.36 0 0.2"/></joint>', '<axis xyz="0 1 0"/></joint>'))
    freed = with_freed_joints(read_urdf(urdf), {"screws": FreedJoint("revolute", 0.0, 1.2)}, where="here")
    assert [joint.name for joint in freed.joints.values() if joint.moves] == ["hinge", "press", "screws"]


def test_a_part_with_a_push_latch_is_closed_where_it_is_not_pressed(cfg, urdf):
    urdf.write_text(CABINET.replace('lower="0" upper="1.6"', 'lower="-0.02" upper="1.6"'))
    latch = "{kind: push_latch, joint: hinge, press: 0.02, pops_to: 0.3, effort: 1.0}"
    urdf.with_name(ANNOTATION_FILE).write_text(
        f"schema: 1\ncategory: cabinet\nurdf: {{file: cabinet.urdf}}\nmechanisms: {{touch: {latch}}}\n"
    )
    assert load(cfg).articulation.part("door").openness.closed == pytest.approx(0.0)


RAIL = """<robot name="desk">
  <link name="desk"><visual><origin xyz="0 0.2 0.2"/><geometry><box size="0.4 0.02 0.4"/></geometry></visual></link>
  <link name="rail"><visual><geometry><box size="0.3 0.3 0.01"/></geometry></visual></link>
  <link name="drawer"><visual><geometry><box size="0.36 0.36 0.1"/></geometry></visual>
    <visual><origin xyz="0 -0.22 0"/><geometry><box size="0.1 0.02 0.01"/></geometry></visual></link>
  <joint name="rail_slide" type="prismatic"><parent link="desk"/><child link="rail"/><origin xyz="0 0 0.1"/>
    <axis xyz="0 -1 0"/><limit lower="0" upper="0.12"/><mimic joint="drawer_slide"/></joint>
  <joint name="drawer_slide" type="prismatic"><parent link="rail"/><child link="drawer"/><origin xyz="0 0 0.1"/>
    <axis xyz="0 -1 0"/><limit lower="0" upper="0.12"/></joint>
</robot>
"""


@pytest.mark.parametrize("rests_on", list(RestsOn), ids=lambda side: side.value)
def test_a_rail_that_is_no_part_has_the_friction_that_an_episode_asks_for(cfg, urdf, rests_on):
    urdf.write_text(RAIL)
    asset = load_object(replace(cfg, rests_on=rests_on), rng=np.random.default_rng(0))
    assert [part.joint for part in asset.articulation.parts.values()] == ["drawer_slide"]
    assert list(joint_problems(asset)) == []


def test_a_freed_joint_without_an_axis_is_refused(cfg, locked, urdf):
    urdf.write_text(CABINET)
    with pytest.raises(AssetError, match=r"joint 'screws' states no <axis> in the URDF.*Add <axis"):
        load(cfg)


def test_an_annotation_hides_no_doubt(cfg, urdf):
    urdf.write_text(CABINET.replace('upper="1.6"', 'upper="90"'))
    annotation = urdf.with_name(ANNOTATION_FILE)
    annotation.write_text(annotate_source(read_source(urdf)).articulation.to_yaml())
    assert any(part.joint == "hinge" for part in load(cfg).articulation.parts.values())
    assert any("they are degrees" in line for line in describe_doubts(cfg))


def test_mechanisms_alone_hide_no_doubt(cfg, locked, urdf):
    assert describe_doubts(cfg) == []
    urdf.write_text(urdf.read_text().replace('upper="1.6"', 'upper="90"'))
    (line,) = describe_doubts(cfg)
    assert "they are degrees" in line


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("  screws: {kind", "  screw: {kind", "freed_joints: joint 'screw' is not in the URDF. Did you mean 'screws'?"),
        ("  screws: {kind", "  hinge: {kind", "joint 'hinge' is revolute in the URDF and moves already. Remove"),
        ("revolute", "hinge", r"freed_joints.screws.kind is 'hinge', expected revolute or prismatic."),
        ("lower: 0.0", "lower: 2.0", "freed_joints.screws.lower is 2 and upper 1.2, expected the lower limit first"),
        ("free_at: 0.7", "free_at: 1.7", "free_at is 1.7 rad, but joint 'screws' moves by 1.2 rad from its rest"),
    ],
)
def test_what_cannot_be_freed_is_named(cfg, locked, old, new, said):
    locked.write_text(STATED.replace(old, new))
    with pytest.raises(AssetError) as caught:
        load(cfg)
    assert said in str(caught.value)
    assert ANNOTATION_FILE in str(caught.value)


@pytest.mark.parametrize(
    ("name", "file", "word"),
    [
        ("toy_box", "model", "box"),
        ("r", "a_cabinet", "cabinet"),
        ("table_scene", "door_cabinet", "cabinet"),
        ("ToyCabinet", "model", "cabinet"),
        ("washing_machine", "model", "washingmachine"),
        ("trash_can", "model", "trashcan"),
        ("robot", "my_fridge", "refrigerator"),
        ("open", "x", ""),
    ],
)
def test_a_category_in_the_name_of_a_urdf_is_only_its_word(name, file, word, tmp_path):
    path = tmp_path / f"{file}.urdf"
    path.write_text(f'<robot name="{name}"><link name="a"/></robot>')
    assert read_category(path) == read_source(path).category == "object"
    assert read_source(path).word == word
    assert read_source(path, category="safe").word == ""
