"""Every kind of part is found by its shape alone; of generated objects what is found is what their makers wrote."""

from dataclasses import replace

import numpy as np
import pytest

from unlatch.objects.annotate.annotator import AnnotateCfg, annotate_source
from unlatch.objects.annotate.source import read_source
from unlatch.objects.annotation import HandleType, PartKind
from unlatch.objects.procedural.appliances import microwave
from unlatch.objects.procedural.drawer import drawer
from unlatch.objects.validation import articulation_problems
from unlatch.simcore.errors import AssetError, ConfigError

EXPECTED = {
    "door": ("door", PartKind.hinge_vertical, HandleType.edge),
    "door_bar": ("door", PartKind.hinge_vertical, HandleType.bar),
    "door_floating": ("door", PartKind.hinge_vertical, HandleType.bar),
    "door_wide": ("door", PartKind.hinge_vertical, HandleType.bar),
    "door_rail": ("door", PartKind.hinge_vertical, HandleType.bar),
    "door_back": ("door", PartKind.hinge_vertical, HandleType.bar),
    "flap": ("door", PartKind.hinge_horizontal, HandleType.edge),
    "flap_bar": ("door", PartKind.hinge_horizontal, HandleType.bar),
    "drawer": ("drawer", PartKind.slider, HandleType.edge),
    "drawer_back": ("drawer", PartKind.slider, HandleType.edge),
    "drawer_knob": ("drawer", PartKind.slider, HandleType.knob),
    "lid": ("lid", PartKind.lid, HandleType.edge),
    "swing_lid": ("lid", PartKind.lid, HandleType.edge),
    "swing_lid_handle": ("lid", PartKind.lid, HandleType.edge),
    "swing_door": ("door", PartKind.hinge_vertical, HandleType.edge),
    "knob": ("knob", PartKind.knob, HandleType.knob),
    "knob_low": ("knob", PartKind.knob, HandleType.knob),
    "lever": ("lever", PartKind.lever, HandleType.bar),
    "press": ("slider", PartKind.slider, HandleType.knob),
    "rack": ("drawer", PartKind.slider, HandleType.edge),
    "sash": ("slider", PartKind.slider, HandleType.knob),
    "sash_pull": ("slider", PartKind.slider, HandleType.knob),
}
HEADS = {
    "door": (0.01, 0.478, 0.0),
    "door_bar": (0.06, 0.44, 0.0),
    "door_floating": (0.038, 0.44, 0.0),
    "door_wide": (0.06, 0.42, 0.0),
    "door_rail": (0.06, 0.4, 0.05),
    "door_back": (0.06, 0.44, 0.0),
    "flap": (0.01, 0.0, 0.368),
    "flap_bar": (0.06, 0.0, 0.34),
    "drawer": (0.01, 0.0, 0.078),
    "drawer_back": (0.01, 0.0, 0.078),
    "drawer_knob": (0.05, 0.0, 0.0),
    "lid": (0.288, 0.0, 0.01),
    # the side that rises; a handle on the other side would be pulled into the body
    "swing_lid": (0.113, 0.0, 0.0),
    "swing_lid_handle": (0.113, 0.0, 0.0),
    "swing_door": (0.0, 0.233, 0.0),
    "knob": (0.018, 0.0, 0.0),
    "knob_low": (0.0, 0.0, 0.012),
    "lever": (0.045, 0.123, 0.0),
    "press": (0.02, 0.0, 0.0),
    "rack": (0.01, 0.0, 0.158),
    "sash": (0.009, -0.115, 0.0),
    "sash_pull": (0.034, 0.11, 0.0),
}
"""Where the fingers act, in the frame of the moving link [m]."""
OUTWARD = {
    "door": (1, 0, 0),
    "door_bar": (1, 0, 0),
    "door_floating": (1, 0, 0),
    "door_wide": (1, 0, 0),
    "door_rail": (1, 0, 0),
    "door_back": (1, 0, 0),
    "flap": (1, 0, 0),
    "flap_bar": (1, 0, 0),
    "drawer": (1, 0, 0),
    "drawer_back": (1, 0, 0),
    "drawer_knob": (1, 0, 0),
    "lid": (0, 0, 1),
    "swing_lid": (0, 0, 1),
    "swing_lid_handle": (0, 0, 1),
    "swing_door": (1, 0, 0),
    "knob": (1, 0, 0),
    "knob_low": (0, 0, 1),
    "lever": (1, 0, 0),
    "press": (0, 0, 1),
    "rack": (1, 0, 0),
    "sash": (0, -1, 0),
    "sash_pull": (0, -1, 0),
}
"""`cross(tail - head, contact axis)`: where a hand comes from."""


def outward(part):
    across = part.keypoint("articulated_object_tail").xyz - part.keypoint("articulated_object_head").xyz
    return np.cross(across / np.linalg.norm(across), part.axis("link0_contact_axis").xyz)


def only_part(found):
    (part,) = found.articulation.parts.values()
    return part


@pytest.mark.parametrize("name", EXPECTED)
def test_a_part_is_found_by_its_shape(write, name):
    part = only_part(annotate_source(read_source(write(name))))
    assert (part.name, part.kind, part.handle.type) == EXPECTED[name]
    np.testing.assert_allclose(part.keypoint("articulated_object_head").xyz, HEADS[name], atol=0.008)
    np.testing.assert_allclose(outward(part), OUTWARD[name], atol=1e-6)
    assert (part.joint, part.link, part.base) == ("j", "b", "a")


@pytest.mark.parametrize("name", EXPECTED)
def test_the_annotation_does_not_depend_on_the_pose_of_the_object(write, name):
    before = only_part(annotate_source(read_source(write(name))))
    for yaw in (np.pi / 2, -2.0):
        after = only_part(annotate_source(read_source(write(name, yaw=yaw))))
        assert (after.kind, after.handle.type) == (before.kind, before.handle.type), yaw
        assert after.openness == before.openness
        np.testing.assert_allclose(
            after.keypoint("articulated_object_head").xyz, before.keypoint("articulated_object_head").xyz, atol=0.006
        )
        np.testing.assert_allclose(outward(after), outward(before), atol=1e-2)


def test_sizes_follow_a_scale(write):
    once = only_part(annotate_source(read_source(write("drawer_knob"))))
    twice = only_part(annotate_source(read_source(write("drawer_knob")), AnnotateCfg(scale=2.0)))
    np.testing.assert_allclose(
        twice.keypoint("articulated_object_head").xyz, 2 * once.keypoint("articulated_object_head").xyz, atol=0.03
    )
    assert twice.openness.open == pytest.approx(2 * once.openness.open)
    sized = annotate_source(read_source(write("drawer_knob")), AnnotateCfg(size_m=1.0))
    assert float(sized.size_m.max()) == pytest.approx(1.0)


def test_both_flaps_of_a_carton_are_closed_where_they_lie_flat(write):
    found = annotate_source(read_source(write("carton")))
    assert [part.kind for part in found.articulation.parts.values()] == [PartKind.lid, PartKind.lid]
    assert set(found.articulation.parts) == {"lid", "lid_2"}
    by_joint = {part.joint: part for part in found.articulation.parts.values()}
    assert (by_joint["j"].openness.closed, by_joint["j"].openness.open) == (0.0, 2.5)
    assert (by_joint["k"].openness.closed, by_joint["k"].openness.open) == (0.0, -2.5)
    for part, side in ((by_joint["j"], 1.0), (by_joint["k"], -1.0)):
        np.testing.assert_allclose(outward(part), [0, 0, 1], atol=1e-6)
        across = part.keypoint("articulated_object_tail").xyz - part.keypoint("articulated_object_head").xyz
        np.testing.assert_allclose(across / np.linalg.norm(across), [0, side, 0], atol=1e-6)


def test_fingers_close_along_the_hinge_at_a_bar_that_runs_across_it(write):
    part = only_part(annotate_source(read_source(write("door_rail"))))
    across = part.keypoint("articulated_object_tail").xyz - part.keypoint("articulated_object_head").xyz
    np.testing.assert_allclose(across / np.linalg.norm(across), [0, 0, -1], atol=1e-6)
    np.testing.assert_allclose(np.abs(part.axis("link0_contact_axis").xyz), [0, 1, 0], atol=1e-6)


def test_parts_that_open_come_before_parts_that_only_turn(write):
    found = annotate_source(read_source(write("oven")))
    assert list(found.articulation.parts) == ["door", "knob"]
    assert found.articulation.part("knob").handle.type is HandleType.knob


def test_a_button_is_closed_when_it_is_pressed_and_no_hand_holds_it(write):
    part = only_part(annotate_source(read_source(write("button"))))
    assert (part.name, part.kind, part.is_button) == ("button", PartKind.slider, True)
    assert (part.openness.closed, part.openness.open) == (0.003, 0.0)
    assert part.handle.type is HandleType.none
    np.testing.assert_allclose(part.keypoint("link_contact_point").xyz, [0.006, 0.0, 0.0], atol=1e-3)


def test_a_flat_switch_is_pressed_on_the_side_that_rises(write):
    part = only_part(annotate_source(read_source(write("switch"))))
    assert (part.name, part.kind, part.is_button) == ("switch", PartKind.hinge_horizontal, True)
    assert (part.openness.closed, part.openness.open) == (-0.07, 0.07)
    # about +y, the upper end moves out of the body as the joint position grows
    spot = part.keypoint("link_contact_point").xyz
    assert spot[2] > 0.005
    assert spot[0] == pytest.approx(0.008, abs=1e-6)


@pytest.mark.parametrize("name", ["rocker", "thick_rocker"])
def test_a_rocker_is_pressed_however_deep_it_is_in_the_body(write, name):
    part = only_part(annotate_source(read_source(write(name))))
    assert (part.name, part.kind, part.is_button) == ("switch", PartKind.hinge_horizontal, True)


@pytest.mark.parametrize("name", ["toggle", "small_wing"])
def test_what_stands_out_more_than_it_is_long_or_turns_in_its_own_plane_is_not_pressed(write, name):
    part = only_part(annotate_source(read_source(write(name))))
    assert not part.is_button


def test_a_button_beside_a_door_comes_after_it(write):
    parts = annotate_source(read_source(write("panel"))).articulation.parts
    assert list(parts) == ["door", "button"]
    alone = only_part(annotate_source(read_source(write("door_bar"))))
    np.testing.assert_array_equal(
        parts["door"].keypoint("articulated_object_head").xyz, alone.keypoint("articulated_object_head").xyz
    )


def test_a_lid_that_lifts_by_centimetres_is_held_by_its_knob(write):
    part = only_part(annotate_source(read_source(write("lifted"))))
    assert (part.openness.closed, part.openness.open) == (0.0, 0.024)
    assert part.moves_little
    assert not part.is_button
    assert part.handle.type is HandleType.knob


def test_a_drawer_that_could_be_pushed_further_in_is_closed_when_flush(write):
    part = only_part(annotate_source(read_source(write("inside"))))
    assert (part.openness.closed, part.openness.open) == (0.0, 0.25)


@pytest.mark.slow
@pytest.mark.parametrize(("generator", "name"), [(microwave, "door"), (drawer, "drawer")])
def test_the_annotation_of_a_generated_object_is_found_again(generator, name, tmp_path):
    for seed in range(12):
        made = generator(seed)
        path = tmp_path / f"{seed}" / "object.urdf"
        path.parent.mkdir()
        path.write_text(made.model.to_urdf())
        found = annotate_source(read_source(path))
        wanted = made.articulation.part(name)
        part = next(p for p in found.articulation.parts.values() if p.joint == wanted.joint)
        assert part.kind is wanted.kind, seed
        assert part.handle.type is wanted.handle.type, seed
        assert part.openness == wanted.openness, seed
        np.testing.assert_allclose(
            part.keypoint("articulated_object_head").xyz,
            wanted.keypoint("articulated_object_head").xyz,
            atol=0.012,
            err_msg=str(seed),
        )
        np.testing.assert_allclose(outward(part), outward(wanted), atol=1e-6)
        if part.handle.type is not HandleType.knob:  # a round knob can be held either way
            np.testing.assert_allclose(
                part.axis("link0_contact_axis").xyz, wanted.axis("link0_contact_axis").xyz, atol=1e-6
            )
        assert articulation_problems(made.articulation, found.model, size_m=0.5) == []


def test_converting_the_same_object_twice_gives_the_same_bytes(write):
    texts = {annotate_source(read_source(write("door_bar"))).articulation.to_yaml() for _ in range(2)}
    assert len(texts) == 1


def test_parts_that_no_skill_fits_are_named_with_the_reason(write):
    path = write("drawer_knob")
    text = path.read_text().replace('upper="0.25"', 'upper="0.001"')
    path.write_text(text)
    with pytest.raises(AssetError) as caught:
        annotate_source(read_source(path))
    assert "no movable joint that a skill fits (j: moves by 0.001 m, expected at least 0.002 m)" in str(caught.value)
    path.write_text(text.replace('type="prismatic"', 'type="fixed"'))
    with pytest.raises(AssetError, match=r"no movable joint that a skill fits \(stand \(fixed\), j \(fixed\)\)"):
        annotate_source(read_source(path))


def test_a_part_that_does_not_pass_the_check_is_left_out_and_named(write, monkeypatch):
    source = read_source(write("carton"))
    (first, kept), (second, other) = annotate_source(source).articulation.parts.items()
    assert (first, second) == ("lid", "lid_2")

    def problems(articulation, *_, **__):
        return [f"part '{part.name}': is bad." for part in articulation.parts.values() if part.joint in bad]

    monkeypatch.setattr("unlatch.objects.annotate.annotator.articulation_problems", problems)
    bad = {kept.joint}
    found = annotate_source(source)
    assert {part.name: part.joint for part in found.articulation.parts.values()} == {"lid": other.joint}
    assert found.refused == {kept.joint: "its annotation does not pass the check: part 'lid': is bad."}
    bad = {kept.joint, other.joint}
    with pytest.raises(AssetError, match=r"part 'lid': is bad\. \(1 more\)"):
        annotate_source(source)


@pytest.mark.parametrize(("factor", "said"), [(2000.0, "1000 m"), (1e-5, "5e-06 m")])
def test_absurd_sizes_are_refused(write, factor, said):
    with pytest.raises(AssetError, match=f"the largest extent is {said}, expected 0.01 to 10 m"):
        annotate_source(read_source(write("drawer_knob")), AnnotateCfg(scale=factor))


def test_scale_and_size_say_the_same():
    with pytest.raises(ConfigError, match="scale and size_m are both set"):
        AnnotateCfg(scale=1.0, size_m=1.0)
    with pytest.raises(ConfigError, match=r"scale=nan is out of range\. Expected 1e-06 to 1000000"):
        AnnotateCfg(scale=float("nan"))


def test_a_part_that_hangs_on_a_fixed_link_names_the_link_with_the_shapes(write):
    path = write("drawer_knob")
    text = path.read_text().replace('<link name="b">', '<link name="b"/>\n<link name="shell">')
    path.write_text(
        text.replace(
            "</robot>",
            '<joint name="glue" type="fixed"><origin xyz="0.01 0 0"/><parent link="b"/><child link="shell"/></joint>'
            "</robot>",
        )
    )
    part = only_part(annotate_source(read_source(path)))
    assert part.link == "shell"
    np.testing.assert_allclose(part.keypoint("articulated_object_head").xyz, HEADS["drawer_knob"], atol=0.008)


def test_an_annotation_of_unit_size_objects_is_in_metres(write):
    source = replace(read_source(write("door_bar")), is_metric=False, category="microwave")
    found = annotate_source(source)
    assert found.articulation.scale == pytest.approx(0.46 / 0.5, rel=1e-3)
    assert float(found.size_m.max()) == pytest.approx(0.46, rel=1e-3)
