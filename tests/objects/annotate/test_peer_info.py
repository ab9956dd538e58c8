"""Keypoints that others set by hand are taken over, in both forms, or refused with the key."""

import json

import numpy as np
import pytest

from unlatch.objects.annotate.annotator import AnnotateCfg, annotate_source
from unlatch.objects.annotate.peer_info import PeerInfo, info_problems, make_info, read_peer_info
from unlatch.objects.annotate.source import read_source
from unlatch.simcore.errors import AssetError

HEAD, TAIL, SPOT = "articulated_object_head", "articulated_object_tail", "link_contact_point"
PLACE = [0.06, 0.44, 0.05]


def beside(urdf, info):
    """A source with an `info.json` beside its URDF."""
    (urdf.parent / "info.json").write_text(json.dumps(info))
    return read_source(urdf)


def annotated(urdf, info, *, use_info=True):
    found = annotate_source(beside(urdf, info), AnnotateCfg(use_info=use_info))
    return next(iter(found.articulation.parts.values())), found.articulation.scale


def intern(**values):
    points = {HEAD: [*PLACE, 1.0], TAIL: [0.06, 0.40, 0.05], "base_contact_point": [0.2, 0.0, 0.4]}
    axes = {"object_link0_rot_axis": "-z", "object_link0_contact_axis": "-z", "object_base_front_axis": "x"}
    return {"object_keypoints": points, "object_scale": [0.5, 0.5, 0.5, 1.0], **axes, "joint_index": 0, **values}


def test_gensim2_gives_the_head_in_the_frame_of_the_first_collision_shape(write):
    shape = np.array([0.01, 0.245, 0.0])  # origin of the door's first shape in its link
    info = {"keypoints": {HEAD: (PLACE - shape).tolist()}, "scale": 0.5, "axis": "z"}
    part, scale = annotated(write("door_bar"), info)
    assert scale == 0.5
    head = part.keypoint(HEAD).xyz
    np.testing.assert_allclose(head, 0.5 * np.array(PLACE), atol=1e-9)
    np.testing.assert_allclose(part.keypoint(TAIL).xyz - head, [0, 0.05, 0], atol=1e-9)
    derived, _ = annotated(write("door_bar"), info, use_info=False)
    assert abs(derived.keypoint(HEAD).xyz[2]) < 0.005, "without it, the middle of the bar"


# there, the tail lies towards the hinge and the contact axis points down; here, both point the other way
@pytest.mark.parametrize(
    ("axis", "low", "tail"),
    [("-z", 0, [0.03, 0.24, 0.025]), ("z", 0, [0.03, 0.27, 0.025]), ("y", 0, None), ("-z", 0.015, [0.03, 0.27, 0.025])],
    ids=["theirs", "would point into the door", "another axis", "not at a right angle"],
)
def test_intern_data_engine_gives_head_tail_and_axes_unless_they_break_its_convention(write, axis, low, tail):
    info = intern(object_link0_contact_axis=axis)
    info["object_keypoints"][TAIL][2] -= low
    part, scale = annotated(write("door_bar"), info)
    assert scale == 0.5
    np.testing.assert_allclose(part.keypoint(HEAD).xyz, 0.5 * np.array(PLACE), atol=1e-9)
    np.testing.assert_allclose(part.axis("link0_contact_axis").xyz, [0, 0, 1], atol=1e-9)
    np.testing.assert_allclose(part.axis("base_front_axis").xyz, [1, 0, 0], atol=1e-9)
    if tail is not None:
        np.testing.assert_allclose(part.keypoint(TAIL).xyz, tail, atol=1e-9)


def test_the_joint_may_be_named_either_way_and_without_keypoints_there_is_nothing_to_take_over(write):
    info = {key: value for key, value in intern().items() if key != "joint_index"}
    assert read_peer_info(beside(write("carton"), {**info, "object_revolute_joint_idx": 1})).joint == "k"
    assert read_peer_info(beside(write("door_bar"), {"scale": 0.5})) is None


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"object_link0_contact_axis": "w"}, "object_link0_contact_axis is 'w', expected one of: x, y, z, -x, -y, -z."),
        ({"joint_index": 4}, "joint_index is 4, expected 0 to 0: the URDF has j."),
        ({"object_keypoints": []}, "object_keypoints must be a mapping, got []."),
        ({"object_keypoints": {HEAD: [1, 2]}}, f"object_keypoints.{HEAD} must be a list of 3 numbers, got [1, 2]."),
        ({"object_keypoints": {HEAD: [1, 2, "a"]}}, f"object_keypoints.{HEAD}[2] must be a finite number, got 'a'."),
        ({"object_keypoints": {HEAD: [0.5, 0.44, 0.0]}}, f"keypoint '{HEAD}' lies 0."),  # off the part
    ],
)
def test_wrong_values_are_named_with_their_key(write, values, said):
    with pytest.raises(AssetError) as caught:
        annotated(write("door_bar"), intern(**values))
    assert said in str(caught.value)


@pytest.mark.parametrize("name", ["door_bar", "door_back", "door_right", "drawer", "flap_bar", "lid"])
def test_a_written_file_is_read_as_it_was(write, name):
    path = write(name)
    made = annotate_source(read_source(path))
    part = next(iter(made.articulation.parts.values()))
    source = beside(path, make_info(part, made.model, made.articulation.scale, instance=name))
    assert info_problems(part, read_peer_info(source), made.model, made.articulation.scale) == []
    again = next(iter(annotate_source(source).articulation.parts.values()))
    for key in (HEAD, TAIL, SPOT):
        np.testing.assert_allclose(again.keypoint(key).xyz, part.keypoint(key).xyz, atol=1e-6)
    np.testing.assert_allclose(again.axis("link0_contact_axis").xyz, part.axis("link0_contact_axis").xyz, atol=1e-9)


def test_a_written_file_has_their_signs(write):
    made = annotate_source(read_source(write("door_bar")))
    part = next(iter(made.articulation.parts.values()))
    info = make_info(part, made.model, 1.0, instance="door")
    assert (info["object_link0_contact_axis"], info["object_link0_rot_axis"]) == ("-z", "z")
    # their reader appends the 1 of a homogeneous vector itself
    assert {len(point) for point in info["object_keypoints"].values()} == {3}
    # they look for the links at `object_prim_path`/instance/*
    assert info["object_link_path"] == f"{info['object_prim_path']}/instance/{part.link}"
    assert info["object_keypoints"][TAIL][1] < info["object_keypoints"][HEAD][1], "the hinge is at y = 0"
    peer = PeerInfo("j", {}, {"link0_contact_axis": np.array([0.0, 0.0, 1.0])})
    expected = "expected the direction [0.00, 0.00, -1.00] in the frame of the link."
    assert info_problems(part, peer, made.model, 1.0) == [f"object_link0_contact_axis is 'z', {expected}"]
