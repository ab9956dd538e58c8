"""An object that lies on another side: one consistent model, annotation and box."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.objects.builders import generated
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
HEAD = "articulated_object_head"

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


def on(cfg, side):
    return load_instance(replace(cfg, rests_on=side))


def link_pose(asset, part):
    return asset.model.link_pose(asset.articulation.part(part).link, asset.articulation.closed_positions())


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
    standing, named = generated(category, 3), generated(category, 3, rests_on=side)
    assert (named.content_hash, named.friction) == (standing.content_hash, standing.friction)
    assert named.rests_on is RestsOn.bottom


@pytest.mark.parametrize(
    ("category", "side"),
    [
        *(("cabinet", side) for side in OTHER_SIDES),
        *((name, OTHER_SIDES[i % len(OTHER_SIDES)]) for i, name in enumerate(sorted(GENERATORS.own_names()))),
    ],
)
def test_a_generated_object_lies_on_a_side_with_a_valid_annotation(category, side):
    standing, lying = generated(category, 1), generated(category, 1, rests_on=side)
    assert validate_articulation(lying) == []
    assert list(lying.articulation.parts) == list(standing.articulation.parts)
    np.testing.assert_allclose(np.sort(lying.size_m), np.sort(standing.size_m), atol=1e-6)
    assert lying.bounds_obj[0, 2] == pytest.approx(standing.bounds_obj[0, 2])
    assert lying.mass_kg == pytest.approx(standing.mass_kg)
    for part in lying.articulation.parts.values():
        axis = lying.model.link_pose(part.base).rotate(part.axis("base_front_axis").xyz)
        assert abs(axis[2]) < 1e-6, "the front of a part is level; the text of a URDF has nine decimals"


KINDS = {"back": "hinge_horizontal", "front": "hinge_horizontal", "left": "hinge_vertical", "right": "hinge_vertical"}


@pytest.mark.parametrize("side", OTHER_SIDES)
def test_the_written_model_is_the_standing_one_turned_and_its_lid_becomes_a_flap_or_a_door(chest, side):
    standing, lying = load_instance(chest), on(chest, side)
    before, after = (shape_cloud(a.model, a.articulation.closed_positions()) for a in (standing, lying))
    extents = np.ptp(before @ side.down_rotation.T, axis=0)
    np.testing.assert_allclose(np.sort(np.ptp(after, axis=0)[:2]), np.sort(extents[:2]), atol=1e-6)
    assert np.ptp(after[:, 2]) == pytest.approx(extents[2], abs=1e-6)
    np.testing.assert_allclose(closed_bounds(lying.model, lying.articulation), lying.bounds_obj, atol=2e-5)
    assert on(chest, side).content_hash == lying.content_hash != standing.content_hash
    old, new = standing.articulation.part("lid"), lying.articulation.part("lid")
    assert (old.kind, new.kind.value) == (PartKind.lid, KINDS.get(side.value, "lid"))
    if side is not RestsOn.top:
        np.testing.assert_allclose(outward_of(new, lying.model, lying.articulation), [1, 0, 0], atol=1e-6)
    for name in (HEAD, "articulated_object_tail", "link_contact_point"):  # they stay where they are on the object
        np.testing.assert_allclose(new.keypoint(name).xyz, old.keypoint(name).xyz, atol=1e-9)
    heights = [
        (link_pose(asset, "lid") @ old.keypoint(HEAD).xyz - asset.bounds_obj.mean(axis=0)) @ np.array(DOWN[down])
        for asset, down in ((standing, side), (lying, RestsOn.bottom))
    ]
    assert heights[0] == pytest.approx(heights[1], abs=1e-5), "as near to the side that is down as before"


@pytest.mark.parametrize("side", OTHER_SIDES)
def test_the_frame_of_gensim2_lies_down_with_the_object(chest, side):
    for cfg, part in ((chest, "lid"), (ObjectCfg("o", "microwave", instance="3"), "door")):
        standing, lying = load_instance(cfg), on(cfg, side)
        at_link = [link_pose(asset, part).R.T @ asset.R_obj_peer for asset in (lying, standing)]
        np.testing.assert_allclose(*at_link, atol=1e-6)
        np.testing.assert_allclose(standing.R_obj_peer, np.diag([-1.0, -1.0, 1.0]), atol=1e-12)  # x into the front
        np.testing.assert_allclose(lying.R_obj_peer[:, 2] @ [0, 0, 1], side.down_rotation[2, 2], atol=1e-6)


def test_a_door_that_is_a_lid_now_stays_where_it_is_let_go():
    standing, lying = generated("microwave", 3), generated("microwave", 3, rests_on=RestsOn.back)
    (joint,) = lying.friction
    door = lying.articulation.part("door")
    assert door.kind is PartKind.lid
    inertial = lying.model.links[door.link].inertial
    arm = link_pose(lying, "door").rotate(inertial.com_link)
    moment = 9.81 * inertial.mass_kg * float(np.hypot(arm[0], arm[1]))
    assert lying.friction[joint] > moment > standing.friction[joint]


def test_an_annotation_of_ones_own_is_turned_along(chest):
    file = Path(str(chest.root))
    made = annotate_source(read_source(file)).articulation
    lid, edge = made.part("lid"), FramedVector.of("link", [0.1, -0.2, 0.01])
    hood = replace(lid, name="hood", keypoints={**lid.keypoints, "edge": edge})
    write_articulation(replace(made, parts={"hood": hood}), file.parent)
    turned = on(chest, RestsOn.back).articulation.part("hood")
    assert turned.kind is PartKind.hinge_horizontal
    np.testing.assert_allclose(turned.keypoint("edge").xyz, edge.xyz, atol=1e-9)


def test_stated_regions_are_dropped_because_a_floor_is_a_wall_now(chest):
    asset = load_instance(chest)
    floor = Region(RegionKind.surface, asset.model.root, Pose.identity(), np.full(3, 0.1), RegionOpening.above)
    stated = replace(asset.articulation, regions={"floor": floor})
    lying = turn_object(asset.model, stated, asset.bounds_obj, RestsOn.back, front_part=None)
    assert lying.articulation.regions is None, "they are found from the geometry when they are needed"


def test_a_free_thing_that_lies_knows_which_way_up_it_stands():
    lying = generated("mug", 1, rests_on=RestsOn.left)
    np.testing.assert_allclose(lying.articulation.up_axis, RestsOn.left.down_rotation @ [0, 0, 1], atol=1e-9)


def test_only_closed_sides_on_which_an_object_neither_rolls_nor_falls_over_are_stable(chest):
    assert [side.value for side in stable_sides(load_instance(chest))] == ["back", "left", "right", "front"]
    for category, opening in (("drawer", "front"), ("microwave", "front"), ("box", "top")):
        named = load_instance(ObjectCfg("o", category))
        assert opening not in [side.value for side in stable_sides(named)], category
    assert stable_sides(load_instance(ObjectCfg("o", "bottle"))) == []
    assert stable_sides(load_instance(ObjectCfg("o", "laptop"))) == []
    assert suits_any_side(load_instance(chest))
    assert not suits_any_side(load_instance(ObjectCfg("o", "refrigerator"))), "nobody lays it down"
