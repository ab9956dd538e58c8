"""Mechanisms in an annotation: they are read, written and checked against the joints of the URDF."""

import pytest

from unlatch.objects.annotation_reader import MappingReader, articulation_from_dict, read_mechanism
from unlatch.objects.mechanism_problems import explain_held, mechanism_problems
from unlatch.objects.mechanisms import (
    Condition,
    Measure,
    Mimic,
    closed_position,
    follow,
    rest_position,
    rest_positions,
    spring_at,
)
from unlatch.objects.procedural.appliances import microwave
from unlatch.objects.turned_object import scaled_mechanism
from unlatch.simcore.errors import AssetError
from unlatch.simcore.geometry import Pose
from unlatch.simcore.urdf.model import Joint, Link, UrdfModel

LATCH = {"kind": "latch", "joint": "hinge", "by": "lever", "free_at": 0.6}
ONE_OF_EACH = [
    {"kind": "mimic", "joint": "hinge", "follows": "lever", "ratio": -1.5, "offset": 1.4},
    {**LATCH, "play": 0.01, "snaps": False, "strength": 80.0},
    {"kind": "push_latch", "joint": "drawer", "press": 0.003, "pops_to": 0.04, "effort": 9.0},
    {"kind": "release", "joint": "hinge", "by": "button", "at": 0.004, "pops_to": 0.3, "effort": 2.0},
    {"kind": "interlock", "joints": ["hinge", "drawer"]},
    {"kind": "interlock", "joint": "hinge", "by": "lever", "range": [0.2, 0.4]},
    {"kind": "press_and_turn", "joint": "hinge", "by": "button", "at": 0.002},
    {"kind": "detent", "joint": "lever", "positions": [0.0, 0.4, 0.8], "effort": 0.05, "reach": 0.1},
    {"kind": "spring", "joint": "lever", "rest": -0.1, "stiffness": 1.5, "damping": 0.02},
    {"kind": "closer", "joint": "hinge", "effort": 18.0, "speed": 0.5},
    {"kind": "soft_close", "joint": "drawer", "effort": 12.0, "reach": 0.04, "speed": 0.1},
]


def read(data):
    return read_mechanism(MappingReader(data, where="FILE", key="mechanisms.m"))


@pytest.fixture
def model():
    """A hinge, a drawer that can be pressed in by 5 mm, a lever and a button."""
    ranges = {"hinge": (0.0, 1.6), "drawer": (-0.005, 0.4), "lever": (-0.1, 0.9), "button": (-0.005, 0.0)}
    kinds = {"drawer": "prismatic", "button": "prismatic"}
    joints = {
        name: Joint(name, kinds.get(name, "revolute"), "body", f"{name}_link", Pose.identity(), lower=low, upper=high)
        for name, (low, high) in ranges.items()
    }
    joints["plate"] = Joint("plate", "fixed", "body", "plate_link", Pose.identity())
    links = {name: Link(name) for name in ("body", *(joint.child for joint in joints.values()))}
    return UrdfModel(name="object", links=links, joints=joints)


def problems(model, *mechanisms):
    found = {f"m{i}": read(data) for i, data in enumerate(mechanisms)}
    return mechanism_problems(found, parts={"hinge": (0.0, 1.5)}, model=model)


@pytest.mark.parametrize("data", ONE_OF_EACH, ids=lambda data: data["kind"])
def test_a_mechanism_reads_back_as_written_and_fits_the_joints(model, data):
    assert read(data).to_dict() == data
    assert problems(model, data) == []


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({"kind": "latc"}, "mechanisms.m.kind is 'latc', expected one of: mimic, latch, .* Did you mean 'latch'?"),
        ({**LATCH, "free_at": -1.0}, "mechanisms.m is not possible: free_at=-1 is out of range. Expected above 0"),
        ({**LATCH, "by": "hinge"}, "joint 'hinge' is named twice"),
        ({"kind": "interlock", "joints": ["a"]}, "needs either `joints` with at least two"),
        ({"kind": "interlock", "joint": "a", "by": "b", "range": [1, 0]}, "expected the least position first"),
        ({"kind": "detent", "joint": "a", "positions": [1, 0], "effort": 1, "reach": 0.1}, "in rising order"),
        ({"kind": "detent", "joint": "a", "positions": [0, 1], "effort": 1, "reach": 0.6}, "Give at most 0.5"),
        ({"kind": "mimic", "joint": "a", "follows": "b", "ratio": 0.0}, "ratio is 0"),
    ],
)
def test_an_impossible_mechanism_is_refused_with_its_key(data, said):
    with pytest.raises(AssetError, match=said) as caught:
        read(data)
    assert str(caught.value).startswith("FILE: mechanisms.m")


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({**LATCH, "by": "levr"}, "joint 'levr' is not in the URDF. Did you mean 'lever'? Joints: hinge, drawer,"),
        ({**LATCH, "by": "plate"}, "joint 'plate' is fixed and cannot move"),
        ({**LATCH, "free_at": 1.2}, "free_at is 1.2 rad, but joint 'lever' moves by 0.9 rad from its rest"),
        ({**ONE_OF_EACH[2], "press": 0.01}, "press is 0.01 m, but joint 'drawer' moves by 0.005 m beyond closed"),
        ({**ONE_OF_EACH[5], "range": [1.0, 2.0]}, "range is [1.0, 2.0], outside the limits -0.1 to 0.9 of joint"),
        ({**ONE_OF_EACH[7], "positions": [0.0, 1.0]}, "positions is [0.0, 1.0], outside the limits"),
        (
            {**ONE_OF_EACH[0], "ratio": 2.0, "offset": 0.0},
            "while 'lever' moves from -0.1 to 0.9 rad, ratio 2 and offset 0 lead joint 'hinge' from -0.2 to 1.8 rad. "
            "Expected positions within its limits 0 to 1.6. Correct ratio and offset, or widen the limits.",
        ),
        (
            {"kind": "mimic", "joint": "drawer", "follows": "hinge", "ratio": 0.3},  # of a part, its opening counts
            "while 'hinge' moves from 0 to 1.5 rad, ratio 0.3 and offset 0 lead joint 'drawer' from 0 to 0.45 m",
        ),
    ],
)
def test_values_that_joints_cannot_reach_are_problems(model, data, said):
    (found,) = problems(model, data)
    assert found.startswith(f"mechanism 'm0' ({data['kind']}): ")
    assert said in found


def test_joints_that_follow_each_other_are_a_problem(model):
    first, second = {**ONE_OF_EACH[0]}, {"kind": "mimic", "joint": "lever"}
    (found,) = problems(model, first, {**second, "follows": "hinge"})
    assert found.startswith("mechanism 'm1' (mimic): joint 'lever' follows two joints, or itself")


@pytest.mark.parametrize(
    ("others", "said"),
    [
        ([{**LATCH, "joint": "lever", "by": "hinge"}], "joint 'lever' waits for 'hinge', which waits for 'lever'"),
        (
            [
                {**LATCH, "joint": "lever", "by": "button", "free_at": 0.004},
                {**LATCH, "joint": "button", "by": "hinge"},
            ],
            "joint 'button' waits for 'hinge', which waits for 'button': neither ever moves",
        ),
        (
            [{**ONE_OF_EACH[5]}, {**ONE_OF_EACH[5], "range": [0.6, 0.8]}],
            "joint 'hinge' moves only while 'lever' is from 0.6 to 0.8 rad, and another one asks for 0.2 to 0.4: never",
        ),
        ([{**LATCH, "joint": "lever", "by": "hinge", "free_at": 0.002}], None),  # the play is enough
        ([{**LATCH, "joint": "lever", "by": "button", "free_at": 0.004}], None),
        ([{**ONE_OF_EACH[4], "joints": ["lever", "drawer"]}], None),
    ],
)
def test_what_would_hold_a_joint_for_ever_is_a_problem(model, others, said):
    found = problems(model, LATCH, *others)
    assert len(found) == (said is not None)
    assert said is None or said in found[0]


def test_conditions_say_what_frees_a_joint():
    (latch,) = read(LATCH).conditions()
    assert (latch.joint, latch.by, latch.while_moving) == ("hinge", "lever", False)
    assert [latch.holds(position, 0.2, 1.0) for position in (0.2, 0.7, 0.85, -0.5)] == [False, False, True, True]
    first, second = read(ONE_OF_EACH[4]).conditions()
    assert {(first.joint, first.by), (second.joint, second.by)} == {("hinge", "drawer"), ("drawer", "hinge")}
    dial = Condition("hinge", "lever", Measure.position, 0.2, 0.4, while_moving=True)
    assert read(ONE_OF_EACH[5]).conditions() == (dial,)
    assert [dial.holds(position, 1.0, -1.0) for position in (0.1, 0.3, 0.5)] == [False, True, False]
    assert [first.holds(position, 0.0, 1.0) for position in (-0.005, 0.002, 0.1)] == [True, True, False]
    assert read(ONE_OF_EACH[8]).conditions() == ()


def test_the_rest_of_a_joint_is_that_of_its_part_or_the_position_nearest_to_zero(model):
    parts = {"hinge": (1.6, 0.0)}
    assert closed_position("hinge", parts=parts, model=model) == (1.6, -1.0)
    assert closed_position("drawer", parts=parts, model=model) == (0.0, 1.0)
    assert closed_position("button", parts=parts, model=model) == (0.0, -1.0)


def explain(model, joint, mechanism, **positions):
    found = {"m": read(mechanism)}
    names = {"hinge": "door", "drawer": "tray"}
    rest = rest_positions(found, parts={}, model=model)
    return explain_held(joint, found, {**rest, **positions}, parts={}, names=names, model=model)


@pytest.mark.parametrize(
    ("joint", "data", "positions", "said"),
    [
        ("hinge", LATCH, {"lever": 0.1}, "door is latched: lever at 0.1 of the 0.6 rad that free it"),
        ("hinge", LATCH, {"lever": 0.7}, None),
        ("lever", LATCH, {"lever": 0.1}, None),
        ("drawer", ONE_OF_EACH[2], {}, "tray is shut: pressed in by 0.003 m and let go, it pops out"),
        ("drawer", ONE_OF_EACH[2], {"drawer": 0.05}, None),
        ("hinge", ONE_OF_EACH[3], {}, "door is shut: button at 0 of the 0.004 m that free it"),
        (
            "drawer",
            ONE_OF_EACH[4],
            {"hinge": 0.5},
            "tray is locked: door is open by 0.5 rad, and one is open at a time",
        ),
        ("hinge", ONE_OF_EACH[5], {}, "door is locked: lever at 0 rad, which frees it from 0.2 to 0.4 rad"),
        ("hinge", ONE_OF_EACH[6], {}, "door is locked: button at 0 of the 0.002 m that free it and stays there"),
    ],
)
def test_what_holds_a_joint_is_explained_with_numbers(model, joint, data, positions, said):
    assert explain(model, joint, data, **positions) == ([] if said is None else [said])


def test_what_holds_the_joint_that_would_free_a_part_is_explained_too(model):
    found = {
        "bolt": read(LATCH),
        "wheels": read({**ONE_OF_EACH[5], "joint": "lever", "by": "drawer", "range": [0.2, 0.3]}),
    }
    rest = rest_positions(found, parts={}, model=model)
    assert explain_held("hinge", found, rest, parts={}, names={}, model=model) == [
        "hinge is latched: lever at 0 of the 0.6 rad that free it",
        "lever is locked: drawer at 0 m, which frees it from 0.2 to 0.3 m",
    ]
    both = {"a": read(LATCH), "b": read({**LATCH, "joint": "lever", "by": "hinge"})}
    assert len(explain_held("hinge", both, rest, parts={}, names={}, model=model)) == 2


def test_joints_that_follow_others_rest_where_these_put_them(model):
    chain = [
        {"kind": "mimic", "joint": "lever", "follows": "hinge", "ratio": 2.0},
        {"kind": "mimic", "joint": "hinge", "follows": "drawer", "ratio": 3.0, "offset": 0.1},
    ]
    found = {f"m{i}": read(data) for i, data in enumerate(chain)}
    assert follow(found, {"drawer": 0.1}) == pytest.approx({"drawer": 0.1, "hinge": 0.4, "lever": 0.8})
    assert rest_positions(found, parts={}, model=model) == pytest.approx({"drawer": 0.0, "hinge": 0.1, "lever": 0.2})


def test_springs_at_one_joint_add(model):
    pair = {"stiffness": 1.0, "rest": -0.3, "damping": 0.1}, {"stiffness": 3.0, "rest": 0.5, "damping": 0.2}
    found = {f"m{i}": read({"kind": "spring", "joint": "lever", **values}) for i, values in enumerate(pair)}
    assert vars(spring_at("lever", found)) == pytest.approx(
        {"joint": "lever", "rest": 0.3, "stiffness": 4.0, "damping": 0.3}
    )
    assert rest_position("lever", found, parts={}, model=model) == (pytest.approx(0.3), 1.0)


def test_a_name_that_no_record_can_have_is_refused():
    data = {**microwave(3).articulation.to_dict(), "mechanisms": {"the bolt": LATCH}}
    with pytest.raises(AssetError, match=r"FILE: mechanisms\.the bolt has a name with other characters than letters"):
        articulation_from_dict(data, where="FILE")


@pytest.mark.parametrize(
    ("data", "grown"),
    [
        (ONE_OF_EACH[0], {}),
        ({**ONE_OF_EACH[0], "follows": "drawer", "ratio": 3.0}, {"ratio": 1.5}),
        (ONE_OF_EACH[2], {"press": 0.006, "pops_to": 0.08, "effort": 72.0, "play": 0.002}),
        ({**ONE_OF_EACH[3], "strength": 50.0}, {"at": 0.008, "effort": 32.0, "strength": 800.0}),
        (ONE_OF_EACH[8], {"stiffness": 24.0, "damping": 0.02 * 2**4.5}),
        (ONE_OF_EACH[10], {"effort": 96.0, "reach": 0.08, "speed": 0.1 * 2**0.5}),
    ],
    ids=lambda data: data.get("kind", ""),
)
def test_lengths_and_efforts_of_a_mechanism_grow_with_its_object(data, grown):
    found = vars(scaled_mechanism(read(data), 2.0, slides={"drawer", "button"}))
    assert found == pytest.approx({**vars(read(data)), **grown})


def test_a_follower_that_is_led_moves_what_it_follows():
    found = {"second": Mimic("b", "a", ratio=-2.0, offset=0.5), "third": Mimic("c", "b", ratio=0.5)}
    assert follow(found, {"a": 0.0, "b": -0.5, "c": 0.0}, led=["b"]) == {"a": 0.5, "b": -0.5, "c": -0.25}
    assert follow(found, {"a": 0.1, "b": 0.0, "c": 0.0}) == {
        "a": 0.1,
        "b": pytest.approx(0.3),
        "c": pytest.approx(0.15),
    }


def test_a_joint_with_a_spring_rests_where_it_pulls(model):
    found = {"m": read({"kind": "spring", "joint": "button", "rest": 0.1, "stiffness": 1.0})}
    assert rest_position("button", found, parts={"button": (-0.005, 0.0)}, model=model) == (0.0, -1.0)
