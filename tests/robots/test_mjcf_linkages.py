"""Joints of an MJCF hand that no motor moves: loops and tendons lead them, and a URDF has them as mimic joints."""

from importlib.util import find_spec

import numpy as np
import pytest

from unlatch.robots.foreign_models import convert_mjcf, load_mjcf
from unlatch.robots.hands import Chain, measure_hand, read_mimics
from unlatch.simcore.urdf.reader import read_urdf

if find_spec("mujoco") is None:
    pytest.skip("MuJoCo, of the extra 'robots', is not there", allow_module_level=True)

SERVO = '<position joint="crank_a" kp="10" ctrlrange="0 0.8" ctrllimited="true"/>'
COUPLED = '<joint joint1="crank_b" joint2="crank_a" polycoef="0 1 0 0 0"/>'


def finger(side, sign, *, free_crank="0 1"):
    """A finger on a parallelogram: crank and rod are parallel, the pad hangs on the rod and is tied to the crank."""
    return f"""<body name="crank_{side}" pos="0 {0.04 * sign} 0">
      <joint name="crank_{side}" axis="{sign} 0 0" range="{free_crank}"/><geom size="0.004" pos="0 0 0.04"/>
      <body name="brace_{side}" pos="0 0 0.04"><joint name="brace_{side}" axis="1 0 0" range="0 1.5" stiffness="0.05"
        springref="-1"/><geom size="0.003"/></body></body>
    <body name="rod_{side}" pos="0 {0.02 * sign} 0.01"><joint name="rod_{side}" axis="{sign} 0 0" range="-1 1"/>
      <geom size="0.004" pos="0 0 0.02"/>
      <body name="pad_{side}" pos="0 0 0.04"><joint name="pad_{side}" axis="{sign} 0 0" range="-1 1"/>
        <geom type="box" size="0.01 0.004 0.02" pos="0 {0.02 * sign} 0.02"/></body></body>"""


def hand_mjcf(*, equality, actuator=SERVO, fingers="", tendon=""):
    return (
        '<mujoco model="hand"><compiler angle="radian" autolimits="true"/><worldbody><body name="palm">'
        f'<geom type="box" size="0.02 0.06 0.005"/>{fingers}</body></worldbody>'
        f"<equality>{equality}</equality><tendon>{tendon}</tendon><actuator>{actuator}</actuator></mujoco>"
    )


def convert(folder, text):
    file = folder / "hand.xml"
    file.write_text(text, encoding="utf-8")
    return convert_mjcf(load_mjcf(file), folder, "hand", where=str(file), is_gripper=True)


def test_a_hand_whose_fingers_are_closed_loops_opens_with_its_motor(tmp_path):
    ties = "".join(f'<connect body1="crank_{s}" body2="pad_{s}" anchor="0 0 0.04"/>' for s in "ab")
    made = convert(tmp_path, hand_mjcf(equality=ties + COUPLED, fingers=finger("a", 1) + finger("b", -1)))
    mimics = read_mimics(made.urdf)
    expected = {"crank_b": 1.0, "rod_a": 1.0, "rod_b": 1.0, "pad_a": -1.0, "pad_b": -1.0}
    assert {name: factor for name, (_, factor, _) in mimics.items()} == pytest.approx(expected, abs=0.01)
    assert {leader for leader, *_ in mimics.values()} == {"crank_a"}
    assert any(line.startswith("rod_a, pad_a: led by crank_a through loops or tendons, in prop") for line in made.lines)
    model = read_urdf(made.urdf)
    joints = tuple(sorted((name for name, joint in model.joints.items() if joint.moves), key=lambda n: n in mimics))
    hand = measure_hand(model, Chain("palm", (), "palm", joints), mimics)
    assert hand.motors == 1
    # a crank of 40 mm moves its pad aside by 40 mm times the sine of its angle
    assert hand.widths_m[-1] - hand.widths_m[0] == pytest.approx(2 * 0.04 * np.sin(1.0), abs=2e-3)


def test_a_joint_that_a_spring_holds_at_its_end_is_fixed_there(tmp_path):
    ends = 'body2="pad_a" anchor="0 0'
    ties = f'<connect body1="crank_a" {ends} 0.04"/><connect body1="brace_a" {ends} 0"/>'
    made = convert(tmp_path, hand_mjcf(equality=ties, fingers=finger("a", 1)))
    assert read_urdf(made.urdf).joints["brace_a"].kind == "fixed"
    (line,) = (line for line in made.lines if "brace_a" in line)
    assert line == "brace_a: held, for loops or tendons do not move them"


def test_tendons_of_an_equality_lead_joints_in_their_ratio(tmp_path):
    pair = '<fixed name="t"><joint joint="crank_a" coef="1"/><joint joint="rod_a" coef="2"/></fixed>'
    made = convert(tmp_path, hand_mjcf(equality='<tendon tendon1="t"/>', fingers=finger("a", 1), tendon=pair))
    mimics = read_mimics(made.urdf)
    assert mimics["rod_a"] == ("crank_a", pytest.approx(-0.5, abs=0.01), pytest.approx(0.0, abs=0.01))
    assert set(mimics) == {"rod_a"}


def test_a_motor_that_is_told_half_of_a_range_has_this_half_alone(tmp_path):
    for told, limits in (("-0.7 0", (-0.7, 0.0)), ("-0.69 0.7", (-0.725, 0.725))):
        servo = f'<position joint="crank_a" kp="10" ctrlrange="{told}"/>'
        text = hand_mjcf(equality="", actuator=servo, fingers=finger("a", 1, free_crank="-0.725 0.725"))
        joint = read_urdf(convert(tmp_path, text).urdf).joints["crank_a"]
        assert (joint.lower, joint.upper) == pytest.approx(limits)


def test_angles_are_read_as_radians_where_degrees_would_hold_all_hinges(tmp_path):
    text = hand_mjcf(equality="", fingers=finger("a", 1))
    for compiler, upper, said in (
        ('angle="radian"', 1.0, False),
        ("", 1.0, True),
        ('angle="degree"', np.radians(1.0), False),
    ):
        made = convert(tmp_path, text.replace('angle="radian"', compiler))
        assert read_urdf(made.urdf).joints["crank_a"].upper == pytest.approx(upper)
        assert any("angles are read as radians" in line for line in made.lines) == said
    wide = text.replace('angle="radian"', "").replace('range="0 1"', 'range="0 57"').replace('"-1 1"', '"-60 60"')
    assert read_urdf(convert(tmp_path, wide).urdf).joints["crank_a"].upper == pytest.approx(np.radians(57))


CRANK_SLIDER = """<body name="crank"><joint name="crank" axis="1 0 0" range="0 {}"/><geom size="0.01"/>
  <body name="rod" pos="0 0 0.04"><joint name="rod" axis="1 0 0"/><geom size="0.01"/></body></body>
<body name="slider" pos="0 0 0.08"><joint name="slider" type="slide" axis="0 0 1" range="-0.2 0.2"/>
  <geom size="0.01"/></body>"""


def test_a_follower_is_fitted_where_the_motor_leads_it(tmp_path):
    tie, servo = '<connect body1="rod" body2="slider" anchor="0 0 0.04"/>', '<position joint="crank" kp="10" {}/>'
    found = []
    for end, told in ((1.5, 'ctrlrange="0 0.5" ctrllimited="true"'), (0.5, "")):
        text = hand_mjcf(equality=tie, actuator=servo.format(told), fingers=CRANK_SLIDER.format(end))
        model = read_urdf(convert(tmp_path, text).urdf)
        assert model.joints["crank"].upper == pytest.approx(0.5)
        found.append(model.joints["slider"].follows)
    told, limited = found
    assert told.joint == "crank"
    assert (told.ratio, told.offset) == pytest.approx((limited.ratio, limited.offset), abs=1e-5)
