"""A part's kind follows from its shape; its names decide only where two kinds fit, and only as whole words."""

import numpy as np
import pytest

from benchmarks.part_kinds import DRAW, drawn_words, is_same
from tests.objects.annotate.conftest import OBJECTS, boxes, cylinder, joint
from unlatch.objects.annotate.annotator import annotate_source
from unlatch.objects.annotate.kinds import PartShape, turning_kind
from unlatch.objects.annotate.source import read_source
from unlatch.objects.annotation import HandleType, PartKind

UP, OUT = np.array([0.0, 0.0, 1.0]), np.array([1.0, 0.0, 0.0])


def shape(offset, width, **true):
    given = dict.fromkeys(("is_sheet", "is_loop", "stands_free", "covers"), False) | true
    return PartShape(reach=0.1, offset=offset, along=width, width=width, radial=OUT, **given)


SHAPES = {
    "door": shape(0.5, 1.2, is_sheet=True),
    "knob": shape(0.0, 0.8, stands_free=True),
    "lever": shape(0.45, 0.1, stands_free=True),
    "bail": shape(0.5, 1.5, is_sheet=True, is_loop=True),
    "stubby": shape(0.3, 0.3, stands_free=True),
    "stapler": shape(0.5, 0.14, covers=True),
}


def kind_of(name, names=""):
    return turning_kind(SHAPES[name], names, UP, OUT)[0].value


@pytest.mark.slow
def test_objects_of_every_kind_are_recognized_in_many_sizes_turned_and_in_other_units():
    rows = list(drawn_words(4 * len(DRAW), np.random.default_rng(7)))
    assert [row for row in rows if not is_same(*row[:2])] == []


@pytest.mark.parametrize("names", ["", "knob", "lever handle", "wheel", "block panel", "oven knob collider"])
def test_no_name_changes_what_the_shape_says(names):
    kinds = {name: kind_of(name, names) for name in ("door", "knob", "lever")}
    assert kinds == {"door": "hinge_vertical", "knob": "knob", "lever": "lever"}


@pytest.mark.parametrize("bolt", ["-0.03 -0.04 0", "-0.06 -0.04 0"], ids=["in the leaf", "behind the leaf"])
def test_the_bolt_of_a_lever_does_not_count_as_its_other_arm(bolt, write, monkeypatch):
    leaf = boxes(("0 0 0.2", "0.05 0.4 0.4"))
    hub = cylinder("0 0 0", 0.02, 0.14, rpy="0 1.5708 0")
    lever = hub + boxes(("0.05 0.06 0", "0.016 0.12 0.016"), (bolt, "0.02 0.08 0.02"))
    hinge = joint("revolute", "0.025 -0.1 0.2", "-1 0 0", 0.0, 1.0)
    monkeypatch.setitem(OBJECTS, "thing", (leaf, {"b": lever}, hinge))
    (part,) = annotate_source(read_source(write("thing"))).articulation.parts.values()
    assert (part.kind, part.handle.type) == (PartKind.lever, HandleType.bar)
    assert part.handle.size[1] == pytest.approx(0.016, abs=1e-3)


@pytest.mark.parametrize(
    ("name", "names", "kind"),
    [
        ("stubby", "", "lever"),
        ("stubby", "volume knob", "knob"),
        ("stubby", "doorknob knobs", "lever"),  # no whole word
        ("stubby", "knob lever", "lever"),  # two words that disagree
        ("stapler", "", "hinge_vertical"),
        ("stapler", "switch", "lever"),
        ("bail", "", "lever"),
        ("bail", "visor screen", "hinge_vertical"),
    ],
)
def test_where_two_kinds_fit_a_whole_word_decides_and_without_one_the_shape(name, names, kind):
    assert kind_of(name, names) == kind


def test_the_reason_says_whether_shape_or_name_decided():
    assert turning_kind(SHAPES["door"], "knob", UP, OUT)[1] == "a panel that turns about its edge"
    _, reason = turning_kind(SHAPES["stubby"], "knob", UP, OUT)
    assert reason == "by its shape a lever or a knob, and it is called 'knob'"


@pytest.mark.parametrize(
    ("axis", "outward", "kind"),
    [((0, 0, 1), (1, 0, 0), "hinge_vertical"), ((0, 1, 0), (1, 0, 0), "hinge_horizontal"), ((0, 1, 0), UP, "lid")],
)
def test_gravity_tells_doors_flaps_and_lids_apart(axis, outward, kind):
    assert PartKind.of_hinge(np.array(axis, float), np.array(outward, float)).value == kind


def test_a_tray_behind_a_closed_door_is_left_out_and_one_in_an_open_case_is_a_drawer(write):
    inside, alone = annotate_source(read_source(write("oven_rack"))), annotate_source(read_source(write("tray")))
    assert inside.refused == {"k": "is inside of the closed object"}
    assert alone.reasons == {"drawer": "drawer: it slides"}


def test_a_wheel_that_the_object_stands_on_is_left_out_and_one_in_its_front_is_turned(write):
    assert annotate_source(read_source(write("cart"))).refused == {"k": "is a wheel on the ground"}
    assert annotate_source(read_source(write("hand_wheel"))).reasons == {"knob": "knob: it turns about its middle"}
