"""Keypoints that others set by hand are taken over, in both forms, or refused with the key."""

import json

import numpy as np
import pytest

from unlatch.objects.annotate.annotator import AnnotateCfg, annotate_source
from unlatch.objects.annotate.peer_info import PeerInfo, info_problems, make_info, read_peer_info
from unlatch.objects.annotate.source import read_source
from unlatch.simcore.errors import AssetError

HEAD = [0.06, 0.44, 0.05]


def annotated(write, info, *, use_info=True, name="door_bar"):
    path = write(name)
    (path.parent / "info.json").write_text(json.dumps(info))
    found = annotate_source(read_source(path), AnnotateCfg(use_info=use_info))
    return next(iter(found.articulation.parts.values())), found.articulation.scale


def test_gensim2_gives_the_head_in_the_frame_of_the_first_collision_shape(write):
    shape = np.array([0.01, 0.245, 0.0])  # origin of the door's first shape in its link
    info = {"keypoints": {"articulated_object_head": (HEAD - shape).tolist()}, "scale": 0.5, "axis": "z"}
    part, scale = annotated(write, info)
    assert scale == 0.5
    head = part.keypoint("articulated_object_head").xyz
    np.testing.assert_allclose(head, 0.5 * np.array(HEAD), atol=1e-9)
    np.testing.assert_allclose(part.keypoint("articulated_object_tail").xyz - head, [0, 0.05, 0], atol=1e-9)
    derived, _ = annotated(write, info, use_info=False)
    assert abs(derived.keypoint("articulated_object_head").xyz[2]) < 0.005, "without it, the middle of the bar"


def intern(**values):
    return {
        "object_keypoints": {
            "articulated_object_head": [*HEAD, 1.0],
            "articulated_object_tail": [0.06, 0.40, 0.05],
            "base_contact_point": [0.2, 0.0, 0.4],
        },
        "object_scale": [0.5, 0.5, 0.5, 1.0],
        "object_link0_rot_axis": "-z",
        "object_link0_contact_axis": "-z",
        "object_base_front_axis": "x",
        "joint_index": 0,
        **values,
    }


def test_intern_data_engine_gives_head_tail_and_axes_in_the_link(write):
    part, scale = annotated(write, intern())
    assert scale == 0.5
    np.testing.assert_allclose(part.keypoint("articulated_object_head").xyz, 0.5 * np.array(HEAD), atol=1e-9)
    # there, the tail lies towards the hinge and the contact axis points down; here, both point the other way
    np.testing.assert_allclose(part.keypoint("articulated_object_tail").xyz, [0.03, 0.24, 0.025], atol=1e-9)
    np.testing.assert_allclose(part.axis("link0_contact_axis").xyz, [0, 0, 1], atol=1e-9)
    np.testing.assert_allclose(part.axis("base_front_axis").xyz, [1, 0, 0], atol=1e-9)


def test_a_tail_that_breaks_their_convention_is_not_used(write):
    part, _ = annotated(write, intern(object_link0_contact_axis="z"))  # would point into the door
    np.testing.assert_allclose(part.keypoint("articulated_object_tail").xyz, [0.03, 0.27, 0.025], atol=1e-9)
    part, _ = annotated(write, intern(object_link0_contact_axis="y"))  # not at a right angle
    np.testing.assert_allclose(part.axis("link0_contact_axis").xyz, [0, 0, 1], atol=1e-9)


def test_the_joint_may_be_named_either_way(write):
    info = intern()
    del info["joint_index"]
    path = write("carton")
    (path.parent / "info.json").write_text(json.dumps({**info, "object_revolute_joint_idx": 1}))
    peer = read_peer_info(read_source(path))
    assert peer is not None
    assert peer.joint == "k"


def test_without_keypoints_there_is_nothing_to_take_over(write):
    path = write("door_bar")
    (path.parent / "info.json").write_text('{"scale": 0.5}')
    assert read_peer_info(read_source(path)) is None


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"object_link0_contact_axis": "w"}, "object_link0_contact_axis is 'w', expected one of: x, y, z, -x, -y, -z."),
        ({"joint_index": 4}, "joint_index is 4, expected 0 to 0: the URDF has j."),
        ({"object_keypoints": []}, "object_keypoints must be a mapping, got []."),
        (
            {"object_keypoints": {"articulated_object_head": [1, 2]}},
            "object_keypoints.articulated_object_head must be a list of 3 numbers, got [1, 2].",
        ),
        (
            {"object_keypoints": {"articulated_object_head": [1, 2, "a"]}},
            "object_keypoints.articulated_object_head[2] must be a finite number, got 'a'.",
        ),
    ],
)
def test_wrong_values_are_named_with_their_key(write, values, said):
    with pytest.raises(AssetError) as caught:
        annotated(write, intern(**values))
    assert said in str(caught.value)


def test_a_head_off_the_part_is_refused_by_the_validator(write):
    far = {"articulated_object_head": [0.5, 0.44, 0.0]}
    with pytest.raises(
        AssetError, match=r"keypoint 'articulated_object_head' lies 0\.\d+ m from the surface of link 'b'"
    ):
        annotated(write, intern(object_keypoints=far))


@pytest.mark.parametrize("name", ["door_bar", "door_back", "drawer", "flap_bar", "lid"])
def test_a_written_file_is_read_as_it_was(write, name):
    path = write(name)
    made = annotate_source(read_source(path))
    part = next(iter(made.articulation.parts.values()))
    info = make_info(part, made.model, made.articulation.scale, instance=name)
    (path.parent / "info.json").write_text(json.dumps(info))
    source = read_source(path)
    peer = read_peer_info(source)
    assert peer is not None
    assert info_problems(part, peer, made.model, made.articulation.scale) == []
    again = next(iter(annotate_source(source).articulation.parts.values()))
    for key in ("articulated_object_head", "articulated_object_tail", "link_contact_point"):
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
    head, tail = (np.array(info["object_keypoints"][f"articulated_object_{end}"]) for end in ("head", "tail"))
    assert tail[1] < head[1], "the hinge is at y = 0"
    peer = PeerInfo("j", {}, {"link0_contact_axis": np.array([0.0, 0.0, 1.0])})
    (problem,) = info_problems(part, peer, made.model, 1.0)
    assert (
        problem
        == "object_link0_contact_axis is 'z', expected the direction [0.00, 0.00, -1.00] in the frame of the link."
    )
