"""Joints that follow others become mechanisms, and rails of telescopic drawers are no parts."""

import numpy as np
import pytest

from tests.objects.annotate.conftest import BAR, CASE, DOOR, DOOR_RIGHT, FRONT, OBJECTS, boxes, joint
from unlatch.objects import ObjectCfg, SceneObject, load_object
from unlatch.objects.annotate.annotator import AnnotateCfg, annotate_source
from unlatch.objects.annotate.couplings import reachable_ends, stated_couplings
from unlatch.objects.annotate.source import read_source
from unlatch.objects.config import ObjectSource
from unlatch.objects.mechanism_problems import mechanism_problems
from unlatch.objects.mechanisms import Mimic
from unlatch.simcore.geometry import Pose
from unlatch.simcore.sim.world import World, WorldCfg

RAILS = boxes(("-0.16 0.21 0", "0.3 0.006 0.03"), ("-0.16 -0.21 0", "0.3 0.006 0.03"))
SLIDE = joint("prismatic", "0 0 0", "1 0 0", 0.0, 0.2).replace('parent link="a"', 'parent link="c"')
RAIL = joint("prismatic", "0.2 0 0.2", "1 0 0", 0.0, 0.1, name="rail", child="c")
HINGED = joint("revolute", "0.2 -0.245 0.2", "0 0 -1", 0.0, 1.6)
FOLLOWING = joint("revolute", "0.2 0.245 0.2", "0 0 1", 0.0, 1.6, name="k", child="c")


def following(text, leader, ratio=1.0, offset=0.0):
    return text.replace("</joint>", f'<mimic joint="{leader}" multiplier="{ratio}" offset="{offset}"/></joint>')


def doors(second):
    # half as wide, so that both fit
    left, right = DOOR.replace("0.49", "0.24").replace("0.245", "0.12") + BAR.replace("0.44", "0.2"), DOOR_RIGHT
    right = right.replace("0.49", "0.24").replace("-0.245", "-0.12").replace("-0.44", "-0.2")
    return CASE, {"b": left, "c": right}, HINGED + second


@pytest.fixture
def annotate(write, monkeypatch):
    def annotated(thing, **options):
        monkeypatch.setitem(OBJECTS, "thing", thing)
        return annotate_source(read_source(write("thing")), AnnotateCfg(**options))

    return annotated


@pytest.mark.parametrize("order", ["123", "321"])
def test_leaves_that_follow_each_other_in_a_row_are_closed_with_the_first_in_any_order(tmp_path, order):
    leaf = boxes(("0 0.2 0", "0.02 0.4 1.8"))
    shapes = {"a": boxes(("0 0 1", "0.1 1.2 2")), "b": leaf, "c": leaf, "d": leaf}
    second = joint("revolute", "0 0.4 0", "0 0 1", -3, 0, name="j2", child="c").replace('"a"', '"b"')
    third = joint("revolute", "0 0.4 0", "0 0 1", 0, 3, name="j3", child="d").replace('"a"', '"c"')
    joints = {
        "1": joint("revolute", "0.05 -0.6 1", "0 0 1", 0, 1.5, name="j1"),
        "2": following(second, "j1", -2.0),
        "3": following(third, "j2", -1.0),
    }
    links = "".join(f'<link name="{name}">{shape}</link>' for name, shape in shapes.items())
    path = tmp_path / "thing.urdf"
    path.write_text(f'<robot name="r">{links}{"".join(joints[i] for i in order)}</robot>')
    given = {"j1": (0.0, 1.0), "j2": (-3.0, 0.0), "j3": (3.0, 0.0)}
    assert reachable_ends(read_source(path).model, given) == {"j1": (0.0, 1.0), "j2": (0.0, -2.0), "j3": (0.0, 2.0)}


TELESCOPIC = {
    "stated": following(RAIL, "j", 0.5) + SLIDE,
    "stated_backwards": RAIL + following(SLIDE, "rail", 2.0),
    "hidden": RAIL + SLIDE,
}
MIMICS = {
    "stated": Mimic("rail", "j", 0.5),
    "stated_backwards": Mimic("j", "rail", 2.0),
    "hidden": Mimic("rail", "j", 0.5),
}


@pytest.mark.parametrize("name", TELESCOPIC)
def test_a_rail_is_not_taken_for_the_drawer_and_both_move_together(annotate, name):
    found = annotate((CASE, {"c": RAILS, "b": FRONT}, TELESCOPIC[name]))
    assert [(part.name, part.joint) for part in found.articulation.parts.values()] == [("drawer", "j")]
    assert found.articulation.mechanisms == {"mimic": MIMICS[name]}
    assert found.refused == {"rail": "is a rail on which 'j' slides"}


def test_a_tray_that_slides_in_a_drawer_makes_no_rail_of_it(annotate):
    tray = boxes(("-0.15 0 0.05", "0.1 0.3 0.01"))
    found = annotate((CASE, {"c": FRONT, "b": tray}, RAIL.replace('"0.1"', '"0.25"') + SLIDE))
    assert "rail" in {part.joint for part in found.articulation.parts.values()}
    assert found.articulation.mechanisms == {}


def test_both_of_two_doors_that_follow_each_other_are_parts(annotate):
    found = annotate(doors(following(FOLLOWING, "j")))
    assert {part.joint for part in found.articulation.parts.values()} == {"j", "k"}
    assert found.articulation.mechanisms == {"mimic": Mimic("k", "j")}


def test_a_part_opens_as_far_as_what_follows_it(annotate):
    found = annotate(doors(following(FOLLOWING.replace('"1.6"', '"1.2"'), "j")))
    opened = {part.joint: part.openness.open for part in found.articulation.parts.values()}
    assert opened == pytest.approx({"j": 1.2, "k": 1.2})
    parts = found.articulation.joint_ranges()
    assert mechanism_problems(found.articulation.mechanisms, parts=parts, model=found.model) == []


def test_lengths_of_a_coupling_scale_with_the_object(annotate):
    rack = following(joint("revolute", "0.2 0.245 0.2", "0 0 1", 0.0, 1.6, name="k", child="c"), "j", 4.0)
    found = annotate((CASE, {"c": DOOR_RIGHT, "b": FRONT}, OBJECTS["drawer"][2] + rack), scale=2.0)
    assert found.articulation.mechanisms["mimic"] == Mimic("k", "j", 2.0)


@pytest.mark.parametrize(
    ("second", "said"),
    [
        (following(FOLLOWING, "nobody"), "joint 'k' follows 'nobody', which is not in the file: it moves by itself"),
        (following(FOLLOWING, "stand"), "joint 'k' follows 'stand', which does not move: it moves by itself"),
        (following(FOLLOWING, "j", 0.0), "joint 'k' follows 'j', with a ratio of 0: it moves by itself"),
        (following(FOLLOWING, "k"), "joint 'k' follows 'k', which follows it, too: it moves by itself"),
    ],
)
def test_a_coupling_that_cannot_be_is_named(annotate, second, said):
    found = annotate(doors(second))
    assert found.articulation.mechanisms == {}
    assert found.notices == (said,)


def test_joints_that_follow_each_other_in_a_ring_keep_all_but_one(annotate):
    found = annotate(doors(following(FOLLOWING, "j")))
    model = found.model
    ring = {
        **model.joints,
        "j": type(model.joints["j"])(**{**vars(model.joints["j"]), "follows": model.joints["k"].follows}),
    }
    couplings, notices = stated_couplings(type(model)(model.name, model.links, ring))
    assert len(couplings) == 1
    assert len(notices) == 1


@pytest.mark.integration
def test_a_loaded_telescopic_drawer_opens_with_its_rail(write, monkeypatch):
    monkeypatch.setitem(OBJECTS, "thing", (CASE, {"c": RAILS, "b": FRONT}, TELESCOPIC["hidden"]))
    cfg = ObjectCfg(name="it", source=ObjectSource.urdf, root=str(write("thing")), scale=1.0)
    asset = load_object(cfg, rng=np.random.default_rng(0))
    with World(WorldCfg()) as world:
        body = world.load_urdf(asset.urdf_path, name="it", T_world_root=Pose.identity())
        item = SceneObject(body, asset, world=world)
        item.drives.set_effort("j", 60.0)
        world.step(240)
        assert item.joint_position("j") > 0.05
        assert item.joint_position("rail") == pytest.approx(0.5 * item.joint_position("j"), abs=2e-3)


def test_the_second_leaf_of_a_folding_door_is_closed_with_the_first_and_no_part_of_its_own(annotate):
    first = HINGED.replace('"1.6"', '"1.4"')
    second = joint("revolute", "0 0.245 0", "0 0 1", 0.0, 2.8, name="k", child="c").replace('link="a"', 'link="b"')
    leaf = boxes(("0 0.12 0", "0.012 0.24 0.38"))
    found = annotate((CASE, {"b": leaf, "c": leaf}, first + following(second, "j", 2.0)))
    (part,) = found.articulation.parts.values()
    assert (part.joint, part.openness.closed, part.openness.open) == ("j", 0.0, 1.4)
    assert found.refused == {"k": "hangs on the part of joint 'j', which it follows"}
    assert found.articulation.mechanisms == {"mimic": Mimic("k", "j", 2.0)}
