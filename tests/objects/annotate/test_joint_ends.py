"""Which end of a joint's range counts as closed."""

import pytest

from unlatch.objects.annotate.joints import joint_ends
from unlatch.objects.annotate.source import ObjectGeometry, read_source

BODY = '<visual><origin xyz="0.22 0 0"/><geometry><box size="0.4 0.4 0.2"/></geometry></visual>'
KNOB = '<visual><geometry><box size="0.03 0.01 0.05"/></geometry></visual>'
URDF = """<robot name="stove"><link name="body">{body}</link><link name="knob">{knob}</link>
<joint name="turn" type="revolute"><parent link="body"/><child link="knob"/><axis xyz="1 0 0"/>
<limit lower="{lower}" upper="{upper}" effort="1" velocity="1"/></joint></robot>"""


@pytest.mark.parametrize("body", [BODY, ""], ids=["with its body", "alone"])
@pytest.mark.parametrize(("lower", "upper", "opened"), [(-1.5, 0.0, -1.5), (0.0, 1.5, 1.5)])
def test_a_knob_is_closed_where_its_file_draws_it_at_one_end_with_and_without_its_body(
    body, lower, upper, opened, tmp_path
):
    file = tmp_path / "mobility.urdf"
    file.write_text(URDF.format(body=body, knob=KNOB, lower=lower, upper=upper))
    geometry = ObjectGeometry(read_source(file))
    assert joint_ends(geometry, geometry.model.joints["turn"]) == (0.0, opened)


@pytest.mark.parametrize("tilt", ["0", "0.4"])
def test_a_wheel_that_turns_both_ways_is_closed_where_its_file_draws_it(tilt, tmp_path):
    wheel = '<visual><origin rpy="0 1.5708 0"/><geometry><cylinder radius="0.15" length="0.02"/></geometry></visual>'
    text = URDF.format(body=BODY, knob=wheel, lower=-3.0, upper=3.0)
    file = tmp_path / "wheel.urdf"
    file.write_text(text.replace('<axis xyz="1 0 0"/>', f'<origin rpy="0 {tilt} 0"/><axis xyz="1 0 0"/>'))
    geometry = ObjectGeometry(read_source(file))
    closed, opened = joint_ends(geometry, geometry.model.joints["turn"])
    assert (closed, abs(opened)) == (0.0, 3.0)


def test_a_lid_that_opens_in_front_of_a_tank_is_closed_where_it_lies(tmp_path):
    bowl = '<visual><geometry><box size="0.35 0.36 0.4"/></geometry></visual>'
    tank = '<visual><origin xyz="-0.25 0 0.2"/><geometry><box size="0.16 0.4 0.8"/></geometry></visual>'
    lid = '<visual><origin xyz="0.17 0 0.01"/><geometry><box size="0.35 0.36 0.02"/></geometry></visual>'
    text = URDF.format(body=bowl + tank, knob=lid, lower=0.0, upper=1.5)
    file = tmp_path / "toilet.urdf"
    file.write_text(text.replace('<axis xyz="1 0 0"/>', '<origin xyz="-0.16 0 0.2"/><axis xyz="0 -1 0"/>'))
    geometry = ObjectGeometry(read_source(file))
    assert joint_ends(geometry, geometry.model.joints["turn"]) == (0.0, 1.5)
