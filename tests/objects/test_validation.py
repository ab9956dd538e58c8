"""The validator catches each fault, with its distance or angle."""

from dataclasses import replace

import numpy as np
import pytest

from unlatch.objects.annotation import FramedVector, Openness, PartKind
from unlatch.objects.config import ObjectCfg
from unlatch.objects.library import load_object
from unlatch.objects.procedural.appliances import microwave
from unlatch.objects.procedural.drawer import drawer
from unlatch.objects.validation import articulation_problems, check_articulation, validate_articulation
from unlatch.simcore.errors import AssetError
from unlatch.simcore.geometry import Pose
from unlatch.simcore.urdf.model import Joint, Link


def _problems(part, *, generator=microwave, model=None):
    made = generator(11)
    articulation = replace(made.articulation, parts={part.name: part})
    return articulation_problems(articulation, model or made.model, size_m=0.5)


def _door():
    return microwave(11).articulation.part("door")


def _keypoint(part, name, shift):
    old = part.keypoints[name]
    return replace(part, keypoints={**part.keypoints, name: FramedVector(old.frame, old.xyz + np.array(shift))})


def _axis(part, name, xyz):
    return replace(part, axes={**part.axes, name: FramedVector.of("link", xyz)})


@pytest.mark.parametrize("generator", [microwave, drawer])
def test_generated_annotations_have_no_problem(generator):
    for seed in range(50):
        made = generator(seed)
        assert articulation_problems(made.articulation, made.model, size_m=0.4) == [], seed


def test_unknown_joint_and_link():
    assert _problems(replace(_door(), joint="hinge")) == [
        "part 'door': joint 'hinge' is not in the URDF. Joints: door_hinge."
    ]
    assert _problems(replace(_door(), base="frame")) == [
        "part 'door': link 'frame' is not in the URDF. Links: body, door."
    ]


def test_a_joint_that_does_not_move():
    made = microwave(11)
    joint = made.model.joints["door_hinge"]
    fixed = replace(made.model, joints={"door_hinge": replace(joint, kind="fixed")})
    assert _problems(_door(), model=fixed)[0] == (
        "part 'door': joint 'door_hinge' is fixed; a part needs a revolute, prismatic or continuous joint."
    )
    stuck = replace(made.model, joints={"door_hinge": replace(joint, lower=0.0, upper=0.0)})
    assert "part 'door': joint 'door_hinge' cannot move: limits 0 to 0 rad." in _problems(_door(), model=stuck)


def test_kind_and_links_must_fit_the_joint():
    assert _problems(replace(_door(), kind=PartKind.slider))[0] == (
        "part 'door': kind is slider, but joint 'door_hinge' is revolute."
    )
    assert _problems(replace(_door(), link="body"))[0] == (
        "part 'door': link 'body' is not moved by joint 'door_hinge', whose child is 'door'."
    )
    assert _problems(replace(_door(), base="door"))[0] == "part 'door': base 'door' moves with joint 'door_hinge'."


def test_openness_outside_the_limits():
    upper = microwave(11).model.joints["door_hinge"]
    beyond = 3.0 if upper.upper > 0 else -3.0
    found = _problems(replace(_door(), openness=Openness(closed=0.0, open=beyond)))
    assert found == [
        f"part 'door': openness open is {beyond:g} rad, outside the limits {upper.lower:g} to {upper.upper:g} rad "
        "of joint 'door_hinge'."
    ]
    assert _problems(replace(_door(), openness=Openness(closed=0.0, open=0.0)))[0] == (
        "part 'door': openness closed and open are both 0 rad."
    )


def test_a_keypoint_off_the_part_is_named_with_its_distance():
    found = _problems(_keypoint(_door(), "link_contact_point", (0.05, 0.0, 0.0)))
    assert found == [
        "part 'door': keypoint 'link_contact_point' lies 0.0500 m from the surface of link 'door', "
        "at most 0.0100 m is allowed."
    ]
    assert "'articulated_object_head' lies" in _problems(_keypoint(_door(), "articulated_object_head", (0.2, 0, 0)))[0]
    assert "of link 'body'" in _problems(_keypoint(_door(), "base_contact_point", (0, 0, 0.1)))[0]


def test_a_missing_keypoint_or_axis():
    door = _door()
    lacking = replace(door, keypoints={k: v for k, v in door.keypoints.items() if k != "articulated_object_tail"})
    assert _problems(lacking) == ["part 'door': keypoint 'articulated_object_tail' is missing."]
    lacking = replace(door, axes={k: v for k, v in door.axes.items() if k != "link0_contact_axis"})
    assert _problems(lacking) == ["part 'door': axis 'link0_contact_axis' is missing."]


def test_a_keypoint_in_the_wrong_frame():
    door = _door()
    head = FramedVector("base", door.keypoints["articulated_object_head"].xyz)
    found = _problems(replace(door, keypoints={**door.keypoints, "articulated_object_head": head}))
    assert found == ["part 'door': keypoint 'articulated_object_head' is in frame 'base', expected 'link'."]


def test_axes_must_fit_the_joint_and_each_other():
    door = _door()
    assert _problems(_axis(door, "link0_rot_axis", (0.0, np.sin(0.2), np.cos(0.2))))[0] == (
        "part 'door': link0_rot_axis is 11.5 degrees off the axis of joint 'door_hinge'."
    )
    assert _problems(_axis(door, "link0_contact_axis", (0.0, 1.0, 0.0)))[0] == (
        "part 'door': link0_contact_axis is not at a right angle to head to tail."
    )
    turned = -door.axes["link0_contact_axis"].xyz
    assert _problems(_axis(door, "link0_contact_axis", tuple(turned)))[0] == (
        "part 'door': (tail - head) x link0_contact_axis does not point to where the part opens."
    )
    assert _problems(_keypoint(door, "articulated_object_tail", (0.0, 0.0, 0.05)))[0].startswith(
        "part 'door': head to tail is 45.0 degrees off the plane across link0_rot_axis."
    )


def test_axes_are_of_unit_length_and_keypoints_finite():
    door = _door()
    assert _problems(_axis(door, "link0_contact_axis", (0.0, 0.0, 0.5))) == [
        "part 'door': axis 'link0_contact_axis' has length 0.5000, expected 1."
    ]
    found = _problems(_keypoint(door, "link_contact_point", (float("nan"), 0.0, 0.0)))
    assert found[0].startswith("part 'door': keypoint 'link_contact_point' is [nan, ")


def test_links_fixed_to_the_part_belong_to_it():
    made = microwave(11)
    slab = made.model.links["door"]
    joint = Joint("glue", "fixed", "door", "shell", Pose.from_translation([0.01, 0.02, 0.03]))
    shapes = tuple(replace(s, T_link_shape=joint.T_parent_joint.inverse() @ s.T_link_shape) for s in slab.collisions)
    links = {**made.model.links, "door": Link("door"), "shell": Link("shell", shapes, shapes)}
    model = replace(made.model, links=links, joints={**made.model.joints, "glue": joint})
    assert _problems(_door(), model=model) == []
    loose = replace(model, joints={**made.model.joints, "glue": replace(joint, kind="revolute", upper=1.0)})
    assert "'articulated_object_head' lies inf m" in _problems(_door(), model=loose)[0]


def test_a_drawer_that_pulls_inwards():
    part = drawer(11).articulation.part("drawer")
    assert _problems(_axis(part, "link0_move_axis", (-1.0, 0.0, 0.0)), generator=drawer)[0] == (
        "part 'drawer': link0_move_axis is 180.0 degrees off the opening direction of joint 'drawer_slide'."
    )


def test_the_check_raises_with_the_folder_and_the_number_of_problems(cache_dir):
    asset = load_object(
        ObjectCfg(name="m", category="microwave", instance="11", cache_dir=cache_dir), rng=np.random.default_rng(0)
    )
    assert validate_articulation(asset) == []
    door = _keypoint(asset.articulation.part("door"), "link_contact_point", (0.3, 0.0, 0.0))
    door = replace(door, openness=Openness(0.0, 0.0))
    bad = replace(asset, articulation=replace(asset.articulation, parts={"door": door}))
    with pytest.raises(AssetError) as caught:
        check_articulation(bad)
    assert str(caught.value) == (
        f"{asset.urdf_path.parent}: part 'door': openness closed and open are both 0 rad. (1 more)"
    )
