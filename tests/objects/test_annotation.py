"""The format of articulation.yaml."""

import numpy as np
import pytest
import yaml

from unlatch.objects.annotation import HandleType, PartKind, write_articulation
from unlatch.objects.annotation_reader import articulation_from_dict, read_articulation
from unlatch.objects.procedural.appliances import microwave
from unlatch.simcore.errors import AssetError


@pytest.fixture
def data():
    loaded = yaml.safe_load(microwave(3).articulation.to_yaml())
    return loaded


def test_a_written_annotation_reads_back_the_same(tmp_path):
    made = microwave(3).articulation
    write_articulation(made, tmp_path)
    read = read_articulation(tmp_path)
    assert read.to_dict() == made.to_dict()
    door = read.part("door")
    assert door.kind is PartKind.hinge_vertical
    assert door.handle.type is HandleType.bar
    np.testing.assert_allclose(
        door.keypoint("articulated_object_head").xyz,
        made.part("door").keypoint("articulated_object_head").xyz,
        atol=1e-9,
    )
    assert door.handle.T_link_handle is not None
    assert made.part("door").handle.T_link_handle is not None
    assert door.handle.T_link_handle.is_close(made.part("door").handle.T_link_handle, atol_m=1e-8, atol_rad=1e-7)


def test_arrays_cannot_be_changed():
    door = microwave(3).articulation.part("door")
    with pytest.raises(ValueError, match="read-only"):
        door.keypoint("articulated_object_head").xyz[0] = 1.0


def test_further_entries_are_kept(data):
    data["notes"] = "drawn by hand"
    assert articulation_from_dict(data, where="a.yaml").to_dict()["notes"] == "drawn by hand"


def test_unknown_part_and_keypoint_name_the_known_ones(data):
    read = articulation_from_dict(data, where="a.yaml")
    with pytest.raises(AssetError) as caught:
        read.part("dor")
    assert str(caught.value) == "No part 'dor' in microwave '3'. Did you mean 'door'? Known: door."
    with pytest.raises(AssetError) as caught:
        read.part("door").keypoint("head")
    assert str(caught.value) == (
        "No keypoint 'head' in part 'door'. Did you mean 'articulated_object_head'? Known: articulated_object_head, "
        "articulated_object_tail, link_contact_point, base_contact_point."
    )


def _set(data, path, value):
    *above, last = path.split(".")
    for key in above:
        data = data[key]
    if value is KeyError:
        del data[last]
    else:
        data[last] = value


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("schema", 2, "a.yaml: schema is 2, expected 1. Write the annotation again with this version."),
        ("category", KeyError, "a.yaml: category is missing."),
        ("scale", "big", "a.yaml: scale must be a finite number, got 'big'."),
        ("parts", {}, "a.yaml: parts is empty. Name at least one part, or set `free: true` for an object to carry."),
        ("parts.door.joint", 3, "a.yaml: parts.door.joint must be a name, got 3."),
        (
            "parts.door.kind",
            "hinge",
            "a.yaml: parts.door.kind is 'hinge', expected one of: hinge_vertical, hinge_horizontal, slider, knob, "
            "lever, lid.",
        ),
        ("parts.door.joints", 1, "a.yaml: parts.door.joints is not a known key. Did you mean 'joint'?"),
        (
            "parts.door.axes.link0_rot_axis.xyz",
            [0, 0, 2],
            "a.yaml: parts.door.axes.link0_rot_axis.xyz has length 2.0000, expected a unit vector.",
        ),
        (
            "parts.door.keypoints.articulated_object_head.xyz",
            [0.0, 1.0],
            "a.yaml: parts.door.keypoints.articulated_object_head.xyz must be a list of 3 numbers, got [0.0, 1.0].",
        ),
        (
            "parts.door.keypoints.articulated_object_head.xyz",
            [0.0, 1.0, float("nan")],
            "a.yaml: parts.door.keypoints.articulated_object_head.xyz[2] must be a finite number, got nan.",
        ),
        (
            "parts.door.keypoints.articulated_object_head.frame",
            "world",
            "a.yaml: parts.door.keypoints.articulated_object_head.frame is 'world', expected one of: link, base, obj.",
        ),
        ("parts.door.openness.open", KeyError, "a.yaml: parts.door.openness.open is missing."),
        (
            "parts.door.handle.size",
            [0.1, -0.1, 0.1],
            "a.yaml: parts.door.handle.size has a negative extent: [0.1, -0.1, 0.1].",
        ),
    ],
)
def test_a_fault_is_named_with_its_full_key(data, path, value, message):
    _set(data, path, value)
    with pytest.raises(AssetError) as caught:
        articulation_from_dict(data, where="a.yaml")
    assert str(caught.value) == message


def test_files_that_are_no_annotation_are_refused(tmp_path):
    path = tmp_path / "articulation.yaml"
    with pytest.raises(AssetError, match="the annotation cannot be read"):
        read_articulation(path)
    path.write_text("a: [1, 2")
    with pytest.raises(AssetError, match="no readable YAML"):
        read_articulation(path)
    path.write_text("!!python/object/apply:os.system ['true']")
    with pytest.raises(AssetError, match="no readable YAML"):
        read_articulation(path)
    path.write_text("- 1")
    with pytest.raises(AssetError, match=r"the file must be a mapping, got \[1\]"):
        read_articulation(path)
    path.write_text("x" * 1_000_001)
    with pytest.raises(AssetError, match="1000001 bytes, at most 1000000 are read"):
        read_articulation(path)
