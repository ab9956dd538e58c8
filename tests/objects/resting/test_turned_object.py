"""An object that lies on another side: one consistent model, annotation and box."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from unlatch.objects.annotate.annotator import annotate_source
from unlatch.objects.annotate.source import read_source
from unlatch.objects.annotation import FramedVector, PartKind, write_articulation
from unlatch.objects.annotation_entries import Region, RegionKind, RegionOpening
from unlatch.objects.config import OTHER_SIDES, ObjectCfg, ObjectSource, RestsOn
from unlatch.objects.importers.urdf_object import closed_bounds
from unlatch.objects.library import load_instance
from unlatch.objects.procedural.catalog import GENERATORS
from unlatch.objects.turned_object import outward_of, stable_sides, suits_any_side, turn_object
from unlatch.objects.validation import validate_articulation
from unlatch.simcore.errors import UnlatchError
from unlatch.simcore.geometry import Pose
from unlatch.simcore.meshes.shape_surface import shape_cloud

DOWN = {
    RestsOn.bottom: [0, 0, -1],
    RestsOn.back: [-1, 0, 0],
    RestsOn.left: [0, -1, 0],
    RestsOn.right: [0, 1, 0],
    RestsOn.front: [1, 0, 0],
    RestsOn.top: [0, 0, 1],
}
"""Outward normal of each side of a standing object: x out of the front, y to the right as seen from in front."""

CHEST = """<robot name="chest">
  <link name="case">
    <visual><origin xyz="0 0 0.01"/><geometry><box size="0.3 0.2 0.02"/></geometry></visual>
    <visual><origin xyz="0 0.09 0.1"/><geometry><box size="0.3 0.02 0.16"/></geometry></visual>
    <visual><origin xyz="0 -0.09 0.1"/><geometry><box size="0.3 0.02 0.16"/></geometry></visual>
    <visual><origin xyz="0.14 0 0.1"/><geometry><box size="0.02 0.16 0.16"/></geometry></visual>
    <visual><origin xyz="-0.14 0 0.1"/><geometry><box size="0.02 0.16 0.16"/></geometry></visual>
  </link>
  <link name="cover"><visual><origin xyz="0 -0.1 0.01"/><geometry><box size="0.3 0.2 0.02"/></geometry></visual></link>
  <joint name="hinge" type="revolute"><parent link="case"/><child link="cover"/><origin xyz="0 0.1 0.18"/>
    <axis xyz="-1 0 0"/><limit lower="0" upper="1.6"/></joint>
</robot>
"""


@pytest.fixture
def chest(tmp_path):
    path = tmp_path / "chest" / "chest.urdf"
    path.parent.mkdir()
    path.write_text(CHEST)
    return ObjectCfg("thing", "box", ObjectSource.urdf, root=str(path), cache_dir=str(tmp_path / "cache"))


def points_by_link(asset):
    return shape_cloud(asset.model, asset.articulation.closed_positions())


@pytest.mark.parametrize("side", DOWN)
def test_the_named_side_is_down_after_the_rotation(side):
    R = side.down_rotation
    np.testing.assert_array_equal(R @ DOWN[side], [0, 0, -1])
    np.testing.assert_array_equal(R @ R.T, np.eye(3))
    assert np.linalg.det(R) == pytest.approx(1.0)


def test_any_names_no_side():
    with pytest.raises(UnlatchError, match=r"rests_on=any names no side. Choose one of bottom, back, left"):
        _ = RestsOn.any.down_rotation


@pytest.mark.parametrize("side", [RestsOn.bottom, RestsOn.any])
@pytest.mark.parametrize("category", ["microwave", "mug"])
def test_an_object_that_stands_has_the_bytes_of_before(category, side):
    cfg = ObjectCfg("o", category, instance="3")
    standing, named = load_instance(cfg), load_instance(replace(cfg, rests_on=side))
    assert named.content_hash == standing.content_hash
    assert named.friction == standing.friction
    assert named.rests_on is RestsOn.bottom


@pytest.mark.parametrize(
    ("category", "side"),
    [
        *((name, side) for name in ("cabinet", "pot") for side in OTHER_SIDES),
        *((name, OTHER_SIDES[i % len(OTHER_SIDES)]) for i, name in enumerate(sorted(GENERATORS.own_names()))),
    ],
)
def test_a_generated_object_lies_on_a_side_with_a_valid_annotation(category, side):
    cfg = ObjectCfg("o", category, instance="1")
    standing, lying = load_instance(cfg), load_instance(replace(cfg, rests_on=side))
    assert validate_articulation(lying) == []
    assert list(lying.articulation.parts) == list(standing.articulation.parts)
    np.testing.assert_allclose(np.sort(lying.size_m), np.sort(standing.size_m), atol=1e-6)
    assert lying.bounds_obj[0, 2] == pytest.approx(standing.bounds_obj[0, 2])
    assert lying.mass_kg == pytest.approx(standing.mass_kg)
    for part in lying.articulation.parts.values():
        axis = lying.model.link_pose(part.base).rotate(part.axis("base_front_axis").xyz)
        assert abs(axis[2]) < 1e-6, "the front of a part is level; the text of a URDF has nine decimals"


@pytest.mark.parametrize("side", OTHER_SIDES)
def test_the_written_model_is_the_standing_one_turned(chest, side):
    standing, lying = load_instance(chest), load_instance(replace(chest, rests_on=side))
    before, after = points_by_link(standing), points_by_link(lying)
    turned = before @ side.down_rotation.T
    extents = np.ptp(turned, axis=0)
    np.testing.assert_allclose(np.sort(np.ptp(after, axis=0)[:2]), np.sort(extents[:2]), atol=1e-6)
    assert np.ptp(after[:, 2]) == pytest.approx(extents[2], abs=1e-6)
    np.testing.assert_allclose(closed_bounds(lying.model, lying.articulation), lying.bounds_obj, atol=2e-5)
    assert lying.content_hash != standing.content_hash
    again = load_instance(replace(chest, rests_on=side))
    assert again.content_hash == lying.content_hash


def peer_frame_at_link(asset, part):
    """Returns (3, 3) the rotation of the frame in which GenSim2 states axes, in that of the link of a part."""
    pose = asset.model.link_pose(asset.articulation.part(part).link, asset.articulation.closed_positions())
    return pose.R.T @ asset.R_obj_peer


@pytest.mark.parametrize("side", OTHER_SIDES)
def test_the_frame_of_gensim2_lies_down_with_the_object(chest, side):
    for cfg, part in ((chest, "lid"), (ObjectCfg("o", "microwave", instance="3"), "door")):
        standing, lying = load_instance(cfg), load_instance(replace(cfg, rests_on=side))
        np.testing.assert_allclose(peer_frame_at_link(lying, part), peer_frame_at_link(standing, part), atol=1e-6)
        np.testing.assert_allclose(standing.R_obj_peer, np.diag([-1.0, -1.0, 1.0]), atol=1e-12)  # x into the front
        np.testing.assert_allclose(lying.R_obj_peer[:, 2] @ [0, 0, 1], side.down_rotation[2, 2], atol=1e-6)


def test_the_lid_of_a_chest_becomes_a_flap_or_a_door_that_opens_to_the_robot(chest):
    assert load_instance(chest).articulation.part("lid").kind is PartKind.lid
    kinds = {}
    for side in OTHER_SIDES:
        lying = load_instance(replace(chest, rests_on=side))
        part = lying.articulation.part("lid")
        kinds[side.value] = part.kind.value
        if side is not RestsOn.top:
            np.testing.assert_allclose(outward_of(part, lying.model, lying.articulation), [1, 0, 0], atol=1e-6)
    assert kinds == {
        "back": "hinge_horizontal",
        "front": "hinge_horizontal",
        "left": "hinge_vertical",
        "right": "hinge_vertical",
        "top": "lid",
    }


def test_keypoints_stay_where_they_are_on_the_object(chest):
    standing = load_instance(chest)
    for side in OTHER_SIDES:
        lying = load_instance(replace(chest, rests_on=side))
        before, after = standing.articulation.part("lid"), lying.articulation.part("lid")
        for name in ("articulated_object_head", "articulated_object_tail", "link_contact_point"):
            np.testing.assert_allclose(after.keypoint(name).xyz, before.keypoint(name).xyz, atol=1e-9)
        heads = [
            asset.model.link_pose(part.link, asset.articulation.closed_positions())
            @ part.keypoint("articulated_object_head").xyz
            for asset, part in ((standing, before), (lying, after))
        ]
        heights = [
            (head - asset.bounds_obj.mean(axis=0)) @ np.array(DOWN[down])
            for head, asset, down in zip(heads, (standing, lying), (side, RestsOn.bottom), strict=True)
        ]
        assert heights[0] == pytest.approx(heights[1], abs=1e-5), "as near to the side that is down as before"


def test_a_door_that_is_a_lid_now_stays_where_it_is_let_go():
    cfg = ObjectCfg("o", "microwave", instance="3")
    standing, lying = load_instance(cfg), load_instance(replace(cfg, rests_on=RestsOn.back))
    (joint,) = lying.friction
    door = lying.articulation.part("door")
    assert door.kind is PartKind.lid
    T = lying.model.link_pose(door.link, lying.articulation.closed_positions())
    inertial = lying.model.links[door.link].inertial
    assert inertial is not None
    arm = T.rotate(inertial.com_link)
    moment = 9.81 * inertial.mass_kg * float(np.hypot(arm[0], arm[1]))
    assert lying.friction[joint] > moment > standing.friction[joint]


def test_an_annotation_of_ones_own_is_turned_along(chest):
    file = Path(str(chest.root))
    made = annotate_source(read_source(file)).articulation
    lid = made.part("lid")
    edge = replace(lid, name="hood", keypoints={**lid.keypoints, "edge": FramedVector.of("link", [0.1, -0.2, 0.01])})
    write_articulation(replace(made, parts={"hood": edge}), file.parent)
    lying = load_instance(replace(chest, rests_on=RestsOn.back))
    hood = lying.articulation.part("hood")
    assert hood.kind is PartKind.hinge_horizontal
    np.testing.assert_allclose(hood.keypoint("edge").xyz, [0.1, -0.2, 0.01], atol=1e-9)


def test_stated_regions_are_dropped_because_a_floor_is_a_wall_now(chest):
    asset = load_instance(chest)
    floor = Region(RegionKind.surface, asset.model.root, Pose.identity(), np.full(3, 0.1), RegionOpening.above)
    stated = replace(asset.articulation, regions={"floor": floor})
    lying = turn_object(asset.model, stated, asset.bounds_obj, RestsOn.back, front_part=None)
    assert lying.articulation.regions is None, "they are found from the geometry when they are needed"


def test_a_free_thing_that_lies_knows_which_way_up_it_stands():
    lying = load_instance(ObjectCfg("o", "mug", instance="1", rests_on=RestsOn.left))
    np.testing.assert_allclose(lying.articulation.up_axis, RestsOn.left.down_rotation @ [0, 0, 1], atol=1e-9)


def test_a_chest_lies_stably_on_its_closed_sides_only(chest):
    asset = load_instance(chest)
    assert [side.value for side in stable_sides(asset)] == ["back", "left", "right", "front"]
    assert suits_any_side(asset)


@pytest.mark.parametrize(("category", "missing"), [("drawer", "front"), ("microwave", "front"), ("box", "top")])
def test_no_side_has_the_part_that_opens_down(category, missing):
    assert missing not in [side.value for side in stable_sides(load_instance(ObjectCfg("o", category)))]


def test_a_bottle_rolls_and_a_laptop_falls_over():
    assert stable_sides(load_instance(ObjectCfg("o", "bottle"))) == []
    assert stable_sides(load_instance(ObjectCfg("o", "laptop"))) == []


def test_nobody_lays_a_refrigerator_down():
    assert not suits_any_side(load_instance(ObjectCfg("o", "refrigerator")))
