"""The validator catches each fault, with its distance or angle."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from tests.objects.builders import generated
from unlatch.objects.annotation import FramedVector, Openness, PartKind
from unlatch.objects.friction import joint_problems
from unlatch.objects.procedural.appliances import microwave
from unlatch.objects.procedural.catalog import GENERATORS
from unlatch.objects.procedural.drawer import drawer
from unlatch.objects.validation import articulation_problems, check_articulation, check_classes, validate_articulation
from unlatch.simcore.errors import AssetError, ConfigError
from unlatch.simcore.geometry import Pose
from unlatch.simcore.urdf.model import Joint, Link

MADE = microwave(11)
DOOR, HINGE = MADE.articulation.part("door"), MADE.model.joints["door_hinge"]
HEAD, TAIL, SPOT = "articulated_object_head", "articulated_object_tail", "link_contact_point"


def problems(part, *, made=MADE, model=None):
    articulation = replace(made.articulation, parts={part.name: part})
    return articulation_problems(articulation, model or made.model, size_m=0.5)


def keypoint(name, *shift, part=DOOR):
    old = part.keypoints[name]
    return replace(part, keypoints={**part.keypoints, name: FramedVector(old.frame, old.xyz + np.array(shift))})


def axis(name, *xyz, part=DOOR):
    return replace(part, axes={**part.axes, name: FramedVector.of("link", xyz)})


def without(kind, name):
    return replace(DOOR, **{kind: {key: value for key, value in getattr(DOOR, kind).items() if key != name}})


def with_hinge(**values):
    return replace(MADE.model, joints={"door_hinge": replace(HINGE, **values)})


BEYOND = 3.0 if HINGE.upper > 0 else -3.0
LIMITS = f"outside the limits {HINGE.lower:g} to {HINGE.upper:g} rad of joint 'door_hinge'."
PULLED = drawer(11).articulation.part("drawer")
INTO, SLANTED = -DOOR.axes["link0_contact_axis"].xyz, (np.sin(0.2), np.cos(0.2))
BASE_HEAD = replace(DOOR, keypoints={**DOOR.keypoints, HEAD: FramedVector("base", DOOR.keypoints[HEAD].xyz)})

# the first problem of a part
FAULTS = {
    "unknown joint": (replace(DOOR, joint="hinge"), "joint 'hinge' is not in the URDF. Joints: door_hinge."),
    "unknown link": (replace(DOOR, base="frame"), "link 'frame' is not in the URDF. Links: body, door."),
    "another kind": (replace(DOOR, kind=PartKind.slider), "kind is slider, but joint 'door_hinge' is revolute."),
    "a link that stays": (replace(DOOR, link="body"), "link 'body' is not moved by joint 'door_hinge', whose child is"),
    "a base that moves": (replace(DOOR, base="door"), "base 'door' moves with joint 'door_hinge'."),
    "beyond the limits": (replace(DOOR, openness=Openness(0.0, BEYOND)), f"openness open is {BEYOND:g} rad, {LIMITS}"),
    "no range": (replace(DOOR, openness=Openness(0.0, 0.0)), "openness closed and open are both 0 rad."),
    "a point off the part": (
        keypoint(SPOT, 0.05, 0.0, 0.0),
        f"keypoint '{SPOT}' lies 0.0500 m from the surface of link 'door', at most 0.0100 m is allowed.",
    ),
    "a head off the part": (keypoint(HEAD, 0.2, 0.0, 0.0), f"keypoint '{HEAD}' lies 0."),
    "a point off the base": (keypoint("base_contact_point", 0, 0, 0.1), "keypoint 'base_contact_point' lies 0."),
    "no tail": (without("keypoints", TAIL), f"keypoint '{TAIL}' is missing."),
    "no axis": (without("axes", "link0_contact_axis"), "axis 'link0_contact_axis' is missing."),
    "another frame": (BASE_HEAD, f"keypoint '{HEAD}' is in frame 'base', expected 'link'."),
    "an axis off the joint": (axis("link0_rot_axis", 0.0, *SLANTED), "link0_rot_axis is 11.5 degrees off the axis of"),
    "no right angle": (axis("link0_contact_axis", 0.0, 1.0, 0.0), "link0_contact_axis is not at a right angle to head"),
    "inwards": (axis("link0_contact_axis", *INTO), "(tail - head) x link0_contact_axis does not point to where"),
    "a tail off the plane": (keypoint(TAIL, 0.0, 0.0, 0.05), "head to tail is 45.0 degrees off the plane across"),
    "a short axis": (
        axis("link0_contact_axis", 0.0, 0.0, 0.5),
        "axis 'link0_contact_axis' has length 0.5000, expected",
    ),
    "not a number": (keypoint(SPOT, float("nan"), 0.0, 0.0), f"keypoint '{SPOT}' is [nan, "),
}
SEVERAL = {
    *("another kind", "a link that stays", "a base that moves", "no range", "not a number", "a head off the part"),
    *("a point off the base", "an axis off the joint", "no right angle", "inwards", "a tail off the plane"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_of_a_part_is_named(name):
    part, said = FAULTS[name]
    found = problems(part)
    assert found[0].startswith(f"part 'door': {said}")
    assert len(found) == 1 or name in SEVERAL


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"kind": "fixed"}, "joint 'door_hinge' is fixed; a part needs a revolute, prismatic or continuous joint."),
        ({"lower": 0.0, "upper": 0.0}, "joint 'door_hinge' cannot move: limits 0 to 0 rad."),
    ],
)
def test_a_joint_that_does_not_move_is_named(values, said):
    assert f"part 'door': {said}" in problems(DOOR, model=with_hinge(**values))


def test_a_drawer_that_pulls_inwards_is_named():
    inwards = axis("link0_move_axis", -1.0, 0.0, 0.0, part=PULLED)
    assert problems(inwards, made=drawer(11))[0] == (
        "part 'drawer': link0_move_axis is 180.0 degrees off the opening direction of joint 'drawer_slide'."
    )


def test_links_fixed_to_the_part_belong_to_it():
    slab = MADE.model.links["door"]
    glue = Joint("glue", "fixed", "door", "shell", Pose.from_translation([0.01, 0.02, 0.03]))
    shapes = tuple(replace(s, T_link_shape=glue.T_parent_joint.inverse() @ s.T_link_shape) for s in slab.collisions)
    links = {**MADE.model.links, "door": Link("door"), "shell": Link("shell", shapes, shapes)}
    fixed, loose = (
        replace(MADE.model, links=links, joints={**MADE.model.joints, "glue": joint})
        for joint in (glue, replace(glue, kind="revolute", upper=1.0))
    )
    assert problems(DOOR, model=fixed) == []
    assert f"'{HEAD}' lies inf m" in problems(DOOR, model=loose)[0]


CAN = GENERATORS.load("can")(0)
BOTTOM, TOP = (CAN.articulation.keypoints[name] for name in ("bottom_center", "top_center"))


@pytest.mark.parametrize(
    ("points", "weightless", "said"),
    [
        ({"bottom_center": BOTTOM, "top_center": TOP}, True, "free is true, but its links have no mass."),
        ({"bottom_center": BOTTOM}, False, "keypoint 'top_center' is missing, which a free object needs."),
        (
            {"bottom_center": BOTTOM, "top_center": BOTTOM},
            False,
            "keypoints bottom_center and top_center are less than",
        ),
        (
            {"bottom_center": BOTTOM, "top_center": replace(TOP, frame="link")},
            False,
            "keypoint 'top_center' is in frame",
        ),
    ],
)
def test_a_fault_of_a_free_object_is_named(points, weightless, said):
    assert articulation_problems(CAN.articulation, CAN.model, size_m=0.1) == []
    links = {name: replace(link, inertial=None) for name, link in CAN.model.links.items()}
    model = replace(CAN.model, links=links) if weightless else CAN.model
    (problem,) = articulation_problems(replace(CAN.articulation, keypoints=points), model, size_m=0.1)
    assert problem.startswith(said)


def test_the_check_raises_with_the_folder_and_the_number_of_problems():
    asset = generated("microwave", 11)
    assert validate_articulation(asset) == []
    door = replace(keypoint(SPOT, 0.3, 0.0, 0.0, part=asset.articulation.part("door")), openness=Openness(0.0, 0.0))
    with pytest.raises(AssetError) as caught:
        check_articulation(replace(asset, articulation=replace(asset.articulation, parts={"door": door})))
    said = "part 'door': openness closed and open are both 0 rad. (1 more)"
    assert str(caught.value) == f"{asset.urdf_path.parent}: {said}"


@pytest.mark.parametrize(("category", "least"), [("microwave", 0.2), ("drawer", 1.0)])
def test_joints_that_move_more_easily_than_real_ones_are_refused(category, least):
    asset = generated(category, name="thing")
    assert list(joint_problems(asset)) == []
    name = next(iter(asset.friction))
    (problem,) = joint_problems(replace(asset, friction={**asset.friction, name: 0.9 * least}))
    assert f"Joint '{name}' of object 'thing'" in problem.message
    assert f"expected at least {least:g} N" in problem.message


def test_a_joint_that_a_detent_holds_may_move_easily():
    asset = generated("light_switch")
    assert max(asset.friction.values()) < 0.2
    assert list(joint_problems(asset)) == []
    (problem,) = joint_problems(replace(asset, articulation=replace(asset.articulation, mechanisms={})))
    assert "expected at least 0.2 N m" in problem.message


SCENE = SimpleNamespace(seen_bodies=lambda: [SimpleNamespace(semantic_class=name) for name in ("kiosk", "table")])


@pytest.mark.parametrize(("name", "meant"), [("tabel", "table"), ("microwav", "microwave"), ("kioskk", "kiosk")])
def test_a_misspelt_semantic_class_is_refused_and_one_that_another_episode_may_have_is_not(name, meant):
    with pytest.raises(ConfigError, match=f"leave_out has '{name}'.*'{meant}'.*those here: kiosk, table"):
        check_classes(["table", name], SCENE, key="leave_out")
    check_classes(["robot", "kiosk", "drawer", "distractor", "my_table", "letterbox"], SCENE, key="leave_out")
