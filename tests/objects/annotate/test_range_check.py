"""A part whose range leads it into the body is named, with the position at which that begins."""

import re

import pytest

from tests.objects.annotate.conftest import OBJECTS
from unlatch.objects.annotate.annotator import annotate_source
from unlatch.objects.annotate.source import read_source
from unlatch.objects.annotate.storage import range_warnings

FREE = ("door_bar", "drawer", "drawer_back", "flap", "lid", "carton", "knob", "sash", "swing_lid", "oven", "press")


def warnings_of(path):
    found = annotate_source(read_source(path))
    return range_warnings(found.model, found.articulation)


@pytest.mark.parametrize("name", FREE)
def test_parts_that_open_freely_have_no_warning(write, name):
    assert name in OBJECTS
    assert warnings_of(write(name)) == []


def test_a_lid_that_turns_down_into_its_box_is_named_with_its_position(write):
    path = write("lid")
    path.write_text(path.read_text().replace('axis xyz="0 -1 0"', 'axis xyz="0 1 0"'))
    (line,) = warnings_of(path)
    begin = re.match(r"lid moves into the body: more than 5 mm deep from (0\.\d+) rad on, 10 mm deep at ", line)
    assert begin is not None, line
    # the underside is on the front wall at first; 0.28 m from the hinge, it is 5 mm deep after 0.018 rad
    assert float(begin[1]) == pytest.approx(0.018, abs=0.004)
    assert line.endswith("Correct the axis, place or range of joint 'j'.")


def test_an_overlap_of_the_closed_part_alone_gives_no_warning(write):
    path = write("door")
    path.write_text(path.read_text().replace('xyz="0.2 -0.245 0.2"', 'xyz="0.192 -0.245 0.2"'))  # 8 mm into the case
    assert warnings_of(path) == []


def test_a_slider_that_goes_through_a_wall_is_named_with_its_position(write):
    path = write("drawer")
    path.write_text(path.read_text().replace('lower="0.0"', 'lower="-0.2"').replace('upper="0.25"', 'upper="0.0"'))
    (line,) = warnings_of(path)
    # the drawer's back is 0.08 m in front of the wall behind it, and its front 0.2 m
    assert re.search(r"deep from -0\.08\d* m on, ", line), line
