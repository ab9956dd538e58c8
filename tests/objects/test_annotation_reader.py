"""The format of articulation.yaml: parts, and handles that stand still."""

import numpy as np
import pytest
import yaml

from tests.objects.builders import generated
from unlatch.objects.annotation import HandleType, PartKind, write_articulation
from unlatch.objects.annotation_reader import articulation_from_dict, articulation_from_yaml, read_articulation
from unlatch.objects.procedural.appliances import microwave
from unlatch.simcore.errors import AssetError
from unlatch.simcore.meshes.solids import Solids

HEAD = "articulated_object_head"


@pytest.fixture
def data():
    return yaml.safe_load(microwave(3).articulation.to_yaml())


@pytest.fixture(scope="module")
def pot():
    return generated("pot", 1)


def test_a_written_annotation_reads_back_the_same(tmp_path):
    made = microwave(3).articulation
    write_articulation(made, tmp_path)
    read = read_articulation(tmp_path)
    assert read.to_dict() == made.to_dict()
    door, own = read.part("door"), made.part("door")
    assert (door.kind, door.handle.type) == (PartKind.hinge_vertical, HandleType.bar)
    np.testing.assert_allclose(door.keypoint(HEAD).xyz, own.keypoint(HEAD).xyz, atol=1e-9)
    assert door.handle.T_link_handle.is_close(own.handle.T_link_handle, atol_m=1e-8, atol_rad=1e-7)
    with pytest.raises(ValueError, match="read-only"):
        door.keypoint(HEAD).xyz[0] = 1.0


def test_further_entries_are_kept_and_unknown_parts_and_keypoints_name_the_known_ones(data):
    read = articulation_from_dict({**data, "notes": "drawn by hand"}, where="a.yaml")
    assert read.to_dict()["notes"] == "drawn by hand"
    with pytest.raises(AssetError) as caught:
        read.part("dor")
    assert str(caught.value) == "No part 'dor' in microwave. Did you mean 'door'? Known: door."
    with pytest.raises(AssetError) as caught:
        read.part("door").keypoint("head")
    known = "articulated_object_head, articulated_object_tail, link_contact_point, base_contact_point"
    assert str(caught.value) == f"No keypoint 'head' in part 'door'. Did you mean '{HEAD}'? Known: {known}."


def refused(data, path, value):
    """The message of an annotation with another value at a path, or without it."""
    *above, last = path.split(".")
    inner = data
    for key in above:
        inner = inner[key]
    inner[last] = value
    if value is KeyError:
        del inner[last]
    with pytest.raises(AssetError) as caught:
        articulation_from_dict(data, where="a.yaml")
    return str(caught.value)


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("schema", 2, "schema is 2, expected 1. Write the annotation again with this version."),
        ("category", KeyError, "category is missing."),
        ("parts.door.joint", 3, "parts.door.joint must be a name, got 3."),
        ("scale", "big", "scale must be a finite number, got 'big'."),
        (
            "parts",
            {},
            "parts is empty. Name at least one part, set `free: true` for an object to carry, or state `mechanisms` "
            "alone.",
        ),
        ("parts.door.kind", "hinge", "expected one of: hinge_vertical, hinge_horizontal, slider, knob, lever, lid."),
        (
            "parts.door.joints",
            1,
            "Did you mean 'joint'? Known: joint, link, base, kind, keypoints, axes, handle, openness",
        ),
        ("parts.door.axes.link0_rot_axis.xyz", [0, 0, 2], "has length 2.0000, expected a unit vector."),
        (f"parts.door.keypoints.{HEAD}.xyz", [0.0, 1.0], "must be a list of 3 numbers, got [0.0, 1.0]."),
        (f"parts.door.keypoints.{HEAD}.xyz", [0.0, 1.0, float("nan")], "xyz[2] must be a finite number, got nan."),
        (f"parts.door.keypoints.{HEAD}.frame", "world", "is 'world', expected one of: link, base, obj."),
        ("parts.door.handle.size", [0.1, -0.1, 0.1], "has a negative extent: [0.1, -0.1, 0.1]."),
    ],
)
def test_a_fault_is_named_with_its_full_key(data, path, value, message):
    said = refused(data, path, value)
    assert said.startswith(f"a.yaml: {path}")
    assert message in said


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("along", [1.0, 1.0, 0.0], "along has length 1.4142, expected a unit vector."),
        ("thickness_m", 0.0, "thickness_m is 0.0, expected a value above 0."),
    ],
)
def test_an_invalid_handle_is_refused(pot, key, value, message):
    said = refused(pot.articulation.to_dict(), f"handles.left_handle.{key}", value)
    assert f"handles.left_handle.{message}" in said


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "the annotation cannot be read"),
        ("a: [1, 2", "no readable YAML"),
        ("!!python/object/apply:os.system ['true']", "no readable YAML"),
        ("- 1", r"the file must be a mapping, got \[1\]"),
        ("x" * 1_000_001, "1000001 bytes, at most 1000000 are read"),
    ],
)
def test_files_that_are_no_annotation_are_refused(tmp_path, text, message):
    path = tmp_path / "articulation.yaml"
    if text is not None:
        path.write_text(text)
    with pytest.raises(AssetError, match=message):
        read_articulation(path)


def test_handles_that_stand_still_are_read_as_they_were_written_and_are_in_the_model(pot):
    read = articulation_from_yaml(pot.articulation.to_yaml(), where="articulation.yaml")
    vertices = Solids.from_urdf(pot.urdf_path).vertices("body")
    signs = {"left_handle": -1.0, "right_handle": 1.0}  # as seen from before the object, at its +x
    assert list(read.handles) == list(signs)
    for name, handle in pot.articulation.handles.items():
        assert read.fixed_handle(name).to_dict() == handle.to_dict()
        assert np.sign(handle.middle[1]) == signs[name]
        furthest = float((vertices @ handle.out).max())
        assert float(handle.middle @ handle.out) + handle.thickness_m / 2 == pytest.approx(furthest, abs=1e-3)
    with pytest.raises(AssetError, match=r"^No handle 'rigt_handle' in pot\. Did you mean 'right_handle'"):
        pot.articulation.fixed_handle("rigt_handle")
