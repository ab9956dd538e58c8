"""Every kind of part is found by its shape alone; of generated objects what is found is what their makers wrote."""

import re
from dataclasses import replace

import numpy as np
import pytest

from tests.objects.annotate.conftest import box, cylinder, joint
from tests.skills.builders import HAND
from unlatch.objects.annotate.annotator import AnnotateCfg, annotate_source
from unlatch.objects.annotate.source import read_source
from unlatch.objects.annotate.storage import range_warnings
from unlatch.objects.annotation import HandleType, PartKind
from unlatch.objects.config import ObjectCfg, ObjectSource
from unlatch.objects.library import load_object
from unlatch.objects.procedural.appliances import microwave
from unlatch.objects.procedural.drawer import drawer
from unlatch.objects.validation import articulation_problems
from unlatch.simcore.errors import AssetError, ConfigError
from unlatch.skills.strategies.ranking import derive_strategies

HEAD, TAIL, SPOT = "articulated_object_head", "articulated_object_tail", "link_contact_point"
UP, OUT, SIDE = (0, 0, 1), (1, 0, 0), (0, -1, 0)
# name, kind and handle of the part; where the fingers act, in its link [m]; where a hand comes from
EXPECTED = {
    "door": ("door", "hinge_vertical", "edge", (0.01, 0.478, 0.0), OUT),
    "door_bar": ("door", "hinge_vertical", "bar", (0.06, 0.44, 0.0), OUT),
    "door_floating": ("door", "hinge_vertical", "bar", (0.038, 0.44, 0.0), OUT),
    "door_wide": ("door", "hinge_vertical", "bar", (0.06, 0.42, 0.0), OUT),
    "door_rail": ("door", "hinge_vertical", "bar", (0.06, 0.4, 0.05), OUT),
    "door_back": ("door", "hinge_vertical", "bar", (0.06, 0.44, 0.0), OUT),
    "flap": ("door", "hinge_horizontal", "edge", (0.01, 0.0, 0.368), OUT),
    "flap_bar": ("door", "hinge_horizontal", "bar", (0.06, 0.0, 0.34), OUT),
    "drawer": ("drawer", "slider", "edge", (0.01, 0.0, 0.078), OUT),
    "drawer_back": ("drawer", "slider", "edge", (0.01, 0.0, 0.078), OUT),
    "drawer_knob": ("drawer", "slider", "knob", (0.05, 0.0, 0.0), OUT),
    "lid": ("lid", "lid", "edge", (0.288, 0.0, 0.01), UP),
    # the side that rises; a handle on the other side would be pulled into the body
    "swing_lid": ("lid", "lid", "edge", (0.113, 0.0, 0.0), UP),
    "swing_lid_handle": ("lid", "lid", "edge", (0.113, 0.0, 0.0), UP),
    "swing_door": ("door", "hinge_vertical", "edge", (0.0, 0.233, 0.0), OUT),
    "knob": ("knob", "knob", "knob", (0.018, 0.0, 0.0), OUT),
    "knob_low": ("knob", "knob", "knob", (0.0, 0.0, 0.012), UP),
    "lever": ("lever", "lever", "bar", (0.045, 0.123, 0.0), OUT),
    "press": ("slider", "slider", "knob", (0.02, 0.0, 0.0), UP),
    "rack": ("drawer", "slider", "edge", (0.01, 0.0, 0.158), OUT),
    "sash": ("slider", "slider", "knob", (0.009, -0.115, 0.0), SIDE),
    "sash_pull": ("slider", "slider", "knob", (0.034, 0.11, 0.0), SIDE),
}


def across(part):
    """(3,) the direction in which the fingers close: from head to tail."""
    line = part.keypoint(TAIL).xyz - part.keypoint(HEAD).xyz
    return line / np.linalg.norm(line)


def outward(part):
    """(3,) `cross(tail - head, contact axis)`: where a hand comes from."""
    return np.cross(across(part), part.axis("link0_contact_axis").xyz)


def found_in(path, **cfg):
    return annotate_source(read_source(path), AnnotateCfg(**cfg))


def only_part(path, **cfg):
    (part,) = found_in(path, **cfg).articulation.parts.values()
    return part


def edit(path, *pairs):
    text = path.read_text()
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new)
    path.write_text(text)
    return path


@pytest.mark.parametrize("name", EXPECTED)
def test_a_part_is_found_by_its_shape_whatever_the_pose_of_the_object(write, name):
    part = only_part(write(name))
    *words, head, out = EXPECTED[name]
    assert [part.name, part.kind.value, part.handle.type.value] == words
    np.testing.assert_allclose(part.keypoint(HEAD).xyz, head, atol=0.008)
    np.testing.assert_allclose(outward(part), out, atol=1e-6)
    assert (part.joint, part.link, part.base) == ("j", "b", "a")
    for yaw in (np.pi / 2, -2.0):
        turned = only_part(write(name, yaw=yaw))
        assert (turned.kind, turned.handle.type, turned.openness) == (part.kind, part.handle.type, part.openness), yaw
        np.testing.assert_allclose(turned.keypoint(HEAD).xyz, part.keypoint(HEAD).xyz, atol=0.006)
        np.testing.assert_allclose(outward(turned), outward(part), atol=1e-2)


def test_sizes_follow_a_scale(write):
    once, twice = only_part(write("drawer_knob")), only_part(write("drawer_knob"), scale=2.0)
    np.testing.assert_allclose(twice.keypoint(HEAD).xyz, 2 * once.keypoint(HEAD).xyz, atol=0.03)
    assert twice.openness.open == pytest.approx(2 * once.openness.open)
    assert float(found_in(write("drawer_knob"), size_m=1.0).size_m.max()) == pytest.approx(1.0)
    unit_sized = replace(read_source(write("door_bar")), is_metric=False, category="microwave")
    found = annotate_source(unit_sized)
    assert found.articulation.scale == pytest.approx(0.46 / 0.5, rel=1e-3)
    assert float(found.size_m.max()) == pytest.approx(0.46, rel=1e-3)


def test_both_flaps_of_a_carton_are_closed_where_they_lie_flat(write):
    parts = found_in(write("carton")).articulation.parts
    assert {name: part.kind for name, part in parts.items()} == {"lid": PartKind.lid, "lid_2": PartKind.lid}
    by_joint = {part.joint: part for part in parts.values()}
    for name, side in (("j", 1.0), ("k", -1.0)):
        part = by_joint[name]
        assert (part.openness.closed, part.openness.open) == (0.0, side * 2.5)
        np.testing.assert_allclose(outward(part), [0, 0, 1], atol=1e-6)
        np.testing.assert_allclose(across(part), [0, side, 0], atol=1e-6)


def test_fingers_close_along_the_hinge_at_a_bar_that_runs_across_it(write):
    part = only_part(write("door_rail"))
    np.testing.assert_allclose(across(part), [0, 0, -1], atol=1e-6)
    np.testing.assert_allclose(np.abs(part.axis("link0_contact_axis").xyz), [0, 1, 0], atol=1e-6)


def test_parts_that_open_come_before_parts_that_only_turn_or_are_pressed(write):
    oven, panel = (found_in(write(name)).articulation.parts for name in ("oven", "panel"))
    assert (list(oven), list(panel)) == (["door", "knob"], ["door", "button"])
    assert oven["knob"].handle.type is HandleType.knob
    np.testing.assert_array_equal(panel["door"].keypoint(HEAD).xyz, only_part(write("door_bar")).keypoint(HEAD).xyz)


def test_a_button_is_closed_when_it_is_pressed_and_no_hand_holds_it(write):
    part = only_part(write("button"))
    assert (part.name, part.kind, part.is_button) == ("button", PartKind.slider, True)
    assert (part.openness.closed, part.openness.open) == (0.003, 0.0)
    assert part.handle.type is HandleType.none
    np.testing.assert_allclose(part.keypoint(SPOT).xyz, [0.006, 0.0, 0.0], atol=1e-3)


def test_a_button_that_its_file_draws_far_out_is_pressed_and_a_stud_drawn_in_is_pulled(write):
    part = only_part(path := write("mushroom"))
    assert (part.name, part.is_button, part.openness.closed, part.openness.open) == ("button", True, 0.024, 0.0)
    path.write_text(path.read_text().replace('lower="0.0" upper="0.024"', 'lower="-0.024" upper="0.0"'))
    assert not only_part(path).is_button


@pytest.mark.parametrize("name", ["switch", "rocker", "thick_rocker"])
def test_a_switch_is_pressed_on_the_side_that_rises_however_deep_it_is_in_the_body(write, name):
    part = only_part(write(name))
    assert (part.name, part.kind, part.is_button) == ("switch", PartKind.hinge_horizontal, True)
    if name == "switch":
        assert (part.openness.closed, part.openness.open) == (-0.07, 0.07)
        # about +y, the upper end moves out of the body as the joint position grows
        x, _, z = part.keypoint(SPOT).xyz
        assert z > 0.005
        assert x == pytest.approx(0.008, abs=1e-6)


def test_a_rocker_is_opened_by_a_press_on_its_other_side_and_a_button_by_none(write):
    cfg = ObjectCfg("thing", "thing", ObjectSource.urdf, root=str(write("switch")))
    asset = load_object(cfg, rng=np.random.default_rng(0))
    (part,) = asset.articulation.parts.values()
    spots = [part.keypoint(SPOT).xyz + shift for shift in _pressed_back(asset, part)]
    assert spots
    assert all(z < -0.003 for _, _, z in spots)  # what is pressed to close it is above the hinge
    cfg = ObjectCfg("thing", "thing", ObjectSource.urdf, root=str(write("button")))
    asset = load_object(cfg, rng=np.random.default_rng(0))
    with pytest.raises(ConfigError, match=r"a finger presses it, and a hand cannot hold it. Use skill=close"):
        _pressed_back(asset, asset.articulation.part("button"))


def _pressed_back(asset, part):
    """Shifts from the spot that closes a part to those that open it [m]."""
    found = derive_strategies("open", asset, part, HAND, (0.0, 0.0))
    return [setting.keypoint_shifts[SPOT] for _, setting in found]


@pytest.mark.parametrize("name", ["toggle", "small_wing"])
def test_what_stands_out_more_than_it_is_long_or_turns_in_its_own_plane_is_not_pressed(write, name):
    assert not only_part(write(name)).is_button


def test_a_lid_that_lifts_by_centimetres_is_held_by_its_knob(write):
    part = only_part(write("lifted"))
    assert (part.openness.closed, part.openness.open, part.moves_little, part.is_button) == (0.0, 0.024, True, False)
    assert part.handle.type is HandleType.knob


def test_a_drawer_that_could_be_pushed_further_in_is_closed_when_flush(write):
    openness = only_part(write("inside")).openness
    assert (openness.closed, openness.open) == (0.0, 0.25)


@pytest.mark.slow
@pytest.mark.parametrize(("generator", "name"), [(microwave, "door"), (drawer, "drawer")])
def test_the_annotation_of_a_generated_object_is_found_again(generator, name, tmp_path):
    for seed in range(12):
        made = generator(seed)
        path = tmp_path / f"{seed}" / "object.urdf"
        path.parent.mkdir()
        path.write_text(made.model.to_urdf())
        found, wanted = found_in(path), made.articulation.part(name)
        part = next(p for p in found.articulation.parts.values() if p.joint == wanted.joint)
        assert (part.kind, part.handle.type, part.openness) == (wanted.kind, wanted.handle.type, wanted.openness), seed
        np.testing.assert_allclose(part.keypoint(HEAD).xyz, wanted.keypoint(HEAD).xyz, atol=0.012, err_msg=str(seed))
        np.testing.assert_allclose(outward(part), outward(wanted), atol=1e-6)
        if part.handle.type is not HandleType.knob:  # a round knob can be held either way
            axes = [each.axis("link0_contact_axis").xyz for each in (part, wanted)]
            np.testing.assert_allclose(*axes, atol=1e-6)
        assert articulation_problems(made.articulation, found.model, size_m=0.5) == []


def test_converting_the_same_object_twice_gives_the_same_bytes(write):
    assert len({found_in(write("door_bar")).articulation.to_yaml() for _ in range(2)}) == 1


@pytest.mark.parametrize(
    ("pairs", "words"),
    [
        ([('upper="0.25"', 'upper="0.001"')], "(j: moves by 0.001 m, expected at least 0.002 m)"),
        ([('type="prismatic"', 'type="fixed"')], "(stand (fixed), j (fixed))"),
    ],
)
def test_parts_that_no_skill_fits_are_named_with_the_reason(write, pairs, words):
    with pytest.raises(AssetError, match=re.escape(f"no movable joint that a skill fits {words}")):
        found_in(edit(write("drawer_knob"), *pairs))


def test_a_part_that_does_not_pass_the_check_is_left_out_and_named(write, monkeypatch):
    source = read_source(write("carton"))
    kept, other = annotate_source(source).articulation.parts.values()

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
        found_in(write("drawer_knob"), scale=factor)


def test_scale_and_size_say_the_same():
    with pytest.raises(ConfigError, match="scale and size_m are both set"):
        AnnotateCfg(scale=1.0, size_m=1.0)
    with pytest.raises(ConfigError, match=r"scale=nan is out of range\. Expected 1e-06 to 1000000"):
        AnnotateCfg(scale=float("nan"))


def test_a_part_that_hangs_on_a_fixed_link_names_the_link_with_the_shapes(write):
    glue = '<joint name="glue" type="fixed"><origin xyz="0.01 0 0"/><parent link="b"/><child link="shell"/></joint>'
    shell = ('<link name="b">', '<link name="b"/>\n<link name="shell">')
    part = only_part(edit(write("drawer_knob"), shell, ("</robot>", f"{glue}</robot>")))
    assert part.link == "shell"
    np.testing.assert_allclose(part.keypoint(HEAD).xyz, EXPECTED["drawer_knob"][3], atol=0.008)


def warnings_of(path):
    found = found_in(path)
    return range_warnings(found.model, found.articulation)


FREE = ("door_bar", "drawer", "drawer_back", "flap", "lid", "carton", "knob", "sash", "swing_lid", "oven", "press")


@pytest.mark.parametrize("name", FREE)
def test_parts_that_open_freely_have_no_warning(write, name):
    assert warnings_of(write(name)) == []


def test_a_part_whose_range_leads_it_into_the_body_is_named_with_the_position_at_which_that_begins(write):
    (line,) = warnings_of(edit(write("lid"), ('axis xyz="0 -1 0"', 'axis xyz="0 1 0"')))
    begin = re.match(r"lid moves into the body: more than 5 mm deep from (0\.\d+) rad on, 10 mm deep at ", line)
    assert begin is not None, line
    # the underside is on the front wall at first; 0.28 m from the hinge, it is 5 mm deep after 0.018 rad
    assert float(begin[1]) == pytest.approx(0.018, abs=0.004)
    assert line.endswith("Correct the axis, place or range of joint 'j'.")
    limits = ('lower="0.0"', 'lower="-0.2"'), ('upper="0.25"', 'upper="0.0"')
    (line,) = warnings_of(edit(write("drawer"), *limits))
    # the drawer's back is 0.08 m in front of the wall behind it, and its front 0.2 m
    assert re.search(r"deep from -0\.08\d* m on, ", line), line
    into_the_case = ('xyz="0.2 -0.245 0.2"', 'xyz="0.192 -0.245 0.2"')
    assert warnings_of(edit(write("door"), into_the_case)) == [], "the closed part alone overlaps, by 8 mm"


@pytest.mark.slow
def test_derived_heads_agree_with_those_set_by_hand_on_real_objects(partnet_dir):
    from pathlib import Path

    from benchmarks.annotation import compare
    from unlatch.objects.annotate.source import PARTNET_URDF

    root = Path(partnet_dir)
    folders = sorted({path.parent for path in root.rglob(PARTNET_URDF)})
    found = [compare(f, f.relative_to(root).as_posix(), tolerance_m=0.03) for f in folders]
    results = [result for result in found if result is not None]
    assert results, "no object with keypoints set by hand"
    wrong = [f"{r.name}: {100 * r.distance_m:.1f} cm {r.problem}" for r in results if not r.agrees]
    assert len(results) - len(wrong) >= 0.85 * len(results), wrong
    assert [r.name for r in results if not r.right_part] == []


def test_a_plate_is_held_at_the_small_knob_beside_its_axis(tmp_path):
    base, plate = (
        box("0 0 0.02", "0.3 0.3 0.04"),
        cylinder("0 0 0.01", 0.14, 0.02) + cylinder("0.1 0 0.035", 0.01, 0.03),
    )
    links = f'<link name="a">{base}</link><link name="b">{plate}</link>'
    (tmp_path / "thing.urdf").write_text(
        f'<robot name="r">{links}{joint("revolute", "0 0 0.04", "0 0 1", 0, 3)}</robot>'
    )
    (part,) = annotate_source(read_source(tmp_path / "thing.urdf")).articulation.parts.values()
    np.testing.assert_allclose(part.keypoint("articulated_object_head").xyz[:2], [0.1, 0.0], atol=2e-3)
