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


@pytest.mark.parametrize(("lower", "upper"), [(-0.005, 2.1), (-2.1, 0.005)])
@pytest.mark.parametrize("body", [BODY.replace("0.22 0 0", "0 0.16 0"), ""], ids=["beside its body", "alone"])
def test_a_knob_is_closed_where_its_file_draws_it_also_if_its_limits_leave_play(body, lower, upper, tmp_path):
    file = tmp_path / "mobility.urdf"
    file.write_text(URDF.format(body=body, knob=KNOB, lower=lower, upper=upper))
    geometry = ObjectGeometry(read_source(file))
    assert joint_ends(geometry, geometry.model.joints["turn"]) == tuple(sorted((lower, upper), key=abs))


@pytest.mark.parametrize("roll", ["1.5707963", "1.5708", "1.57079", "1.57"])
@pytest.mark.parametrize(("lower", "upper"), [(-1.57, 0.0), (0.0, 1.57)])
def test_rounding_of_an_upright_axis_does_not_decide_which_end_of_a_small_door_is_closed(lower, upper, roll, tmp_path):
    stand = f'<origin rpy="{roll} 0 0"/><parent link="root"/><child link="body"/>'
    links = '<link name="root"/><link name="body"><visual><geometry><box size="1 1 1"/></geometry></visual></link>'
    door = '<visual><origin xyz="0.02 0 0"/><geometry><box size="0.04 0.3 0.01"/></geometry></visual>'
    file = tmp_path / "safe.urdf"
    file.write_text(
        f'<robot name="safe">{links}<link name="door">{door}</link><joint name="stand" type="fixed">{stand}</joint>'
        f'<joint name="turn" type="revolute"><origin xyz="0.505 0 0"/><parent link="body"/><child link="door"/>'
        f'<axis xyz="0 1 0"/><limit lower="{lower}" upper="{upper}" effort="1" velocity="1"/></joint></robot>'
    )
    geometry = ObjectGeometry(read_source(file))
    closed, opened = joint_ends(geometry, geometry.model.joints["turn"])
    assert (abs(closed), opened) == (1.57, 0.0)  # across the face of the body, and not out of it


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


@pytest.mark.parametrize("axis", ["0 0 1", "0 0 -1"])
def test_a_leaf_on_a_leaf_is_closed_where_both_are_drawn_in_a_row(axis, tmp_path):
    case = '<visual><origin xyz="-0.2 0 0"/><geometry><box size="0.4 0.4 0.4"/></geometry></visual>'
    leaf = '<visual><origin xyz="0.01 0.1 0"/><geometry><box size="0.02 0.2 0.4"/></geometry></visual>'
    joint = (
        '<joint name="{0}" type="revolute"><origin xyz="0 {1} 0"/><parent link="{2}"/><child link="{0}"/>'
        '<axis xyz="{3}"/><limit lower="0" upper="{4}" effort="1" velocity="1"/></joint>'
    )
    file = tmp_path / "folding.urdf"
    file.write_text(
        f'<robot name="f"><link name="case">{case}</link><link name="first">{leaf}</link>'
        f'<link name="second">{leaf}</link>'
        f"{joint.format('first', -0.2, 'case', '0 0 -1', 1.5)}{joint.format('second', 0.2, 'first', axis, 2.9)}</robot>"
    )
    geometry = ObjectGeometry(read_source(file))
    assert joint_ends(geometry, geometry.model.joints["second"]) == (0.0, 2.9)


@pytest.mark.parametrize("kind", ["revolute", "fixed"])
def test_a_door_on_a_cabinet_that_turns_is_closed_at_the_cabinet_also_where_it_is_drawn_open(kind, tmp_path):
    file = tmp_path / "swivel.urdf"
    limit = '<limit lower="{}" upper="{}" effort="1" velocity="1"/></joint>'
    shape = '<visual><origin xyz="{}"/><geometry><box size="{}"/></geometry></visual>'
    file.write_text(
        f'<robot name="r"><link name="foot">{shape.format("0 0 0", "0.4 0.4 0.02")}</link>'
        f'<link name="case">{shape.format("0 0 0.2", "0.4 0.4 0.36")}</link>'
        f'<link name="door">{shape.format("0.01 0.2 0.2", "0.02 0.4 0.36")}'
        f'</link><joint name="spin" type="{kind}"><parent link="foot"/><child link="case"/><axis xyz="0 0 1"/>'
        f'{limit.format(-3.0, 3.0)}<joint name="hinge" type="revolute"><origin xyz="0.2 -0.2 0" rpy="0 0 -1.57"/>'
        f'<parent link="case"/><child link="door"/><axis xyz="0 0 1"/>{limit.format(0.0, 1.57)}</robot>'
    )
    geometry = ObjectGeometry(read_source(file))
    assert joint_ends(geometry, geometry.model.joints["hinge"]) == (1.57, 0.0)
