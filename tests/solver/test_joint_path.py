"""The way of a hand that leads several joints in one grasp: the motion of the held link, and where the part is."""

from contextlib import nullcontext
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from unlatch.simcore.geometry import Pose, matrix_from_axis_angle
from unlatch.solver.joint_path import JointPath, PathGeometry, in_part_positions
from unlatch.solver.motion import Clearance
from unlatch.solver.plan import Keyframe, KeyframePlan, Segment

Z, X = np.array([0.0, 0.0, 1.0]), np.array([1.0, 0.0, 0.0])
LEVER_AT = np.array([0.0, 0.35, 0.1])
PATH = JointPath(
    (-0.8, 0.0, 0.2, 0.5, 1.6), {"lever": (0.0, 0.6, 0.6, 0.0, 0.0), "door": (0.0, 0.0, 0.2, 0.5, 1.6)}, -0.8,
    {"lever": ("lever", "rad"), "door": ("door", "rad")},
)  # fmt: skip


def pose_at(positions):
    """A lever about x on a door about z, both in the base frame."""
    door = Pose(matrix_from_axis_angle(Z, positions["door"]), np.array([0.5, 0.0, 0.3]))
    return door @ Pose(matrix_from_axis_angle(X, positions["lever"]), LEVER_AT)


def geometry(position=-0.8):
    return PathGeometry(
        prismatic=False, origin=np.array([0.5, 0.0, 0.3]), axis=Z, position=position, lower=0.0, upper=1.6, path=PATH,
        pose_at=pose_at,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("s", "lever", "door"), [(-0.8, 0.0, 0.0), (-0.4, 0.3, 0.0), (0.1, 0.6, 0.1), (0.35, 0.3, 0.35), (1.0, 0.0, 1.0)]
)
def test_the_lever_turns_before_the_door_and_returns_while_it_opens(s, lever, door):
    assert PATH.at(s) == pytest.approx({"lever": lever, "door": door})


def test_a_path_towards_negative_positions_is_the_mirror_image():
    mirrored = JointPath(tuple(-s for s in PATH.way), {"door": tuple(-s for s in PATH.positions["door"])}, 0.8, {})
    assert mirrored.at(-1.0) == pytest.approx({"door": -1.0})
    assert mirrored.at(0.4) == pytest.approx({"door": 0.0})


@pytest.mark.parametrize(("start", "to"), [(-0.8, -0.3), (-0.8, 1.2), (0.3, 0.9)])
def test_the_held_link_moves_as_its_joints_say(start, to):
    R, t = geometry(start).motion(to - start)
    point = pose_at(PATH.at(start)) @ np.array([0.05, 0.1, 0.0])
    assert R @ point + t == pytest.approx(pose_at(PATH.at(to)) @ np.array([0.05, 0.1, 0.0]))


def test_the_corners_of_the_way_are_among_its_places():
    places = geometry().places(1.2, 24)
    assert (places[0], places[-1]) == (-0.8, 1.2)
    assert np.all(np.diff(places) > 0.0)
    assert {0.0, 0.2, 0.5} <= set(places.tolist())


@pytest.mark.parametrize(
    ("reached", "told"),
    [
        (-0.8, ("lever", 0.0, 0.0, 0.6, "rad")),
        (-0.4, ("lever", 0.0, 0.3, 0.6, "rad")),
        (0.35, ("door", 0.0, 0.35, 1.2, "rad")),
    ],
)
def test_a_message_names_the_joint_that_stops(reached, told):
    what, *places, unit = geometry().progress(reached, 1.2)
    assert (what, *np.round(places, 9), unit) == told


def test_the_target_of_a_coupled_part_that_stops_at_once_is_not_its_limit():
    leaves = {"door": (0.0, 1.6), "leaf": (0.0, -1.6)}
    path = JointPath((0.0, 1.6), leaves, 0.2, {"door": ("door", "rad")})
    assert replace(geometry(0.2), path=path).progress(0.2, 0.6) == ("door", 0.2, 0.2, pytest.approx(0.6), "rad")


def test_a_part_that_stops_on_its_way_is_named_though_its_lever_is_there_too():
    what, *places, _ = geometry(0.3).progress(0.3, 1.2)
    assert (what, *np.round(places, 9)) == ("door", 0.3, 0.3, 1.2)


def test_a_part_that_meets_something_while_its_lever_turns_is_not_said_to_move():
    class Wall:
        def deepest_collision(self, q, **_):
            return SimpleNamespace(link_a="hand", link_b="wall", distance_m=-0.01, where=(0.0, 0.0, 0.0))

        def allow(self, links):
            return nullcontext()

    clearance = Clearance(
        Wall(), contact_links=(), s0=-0.8, gripper_m=0.08, held_gripper_m=0.03, joint=geometry()
    )  # fmt: skip
    hit = clearance.check_follow(np.zeros((2, 7)), np.array([-0.8, -0.4]))
    assert hit.message == "while lever moves, at joint position 0.300 hand meets wall"
    assert (hit.evidence["what"], hit.evidence["reached_s"]) == ("lever", pytest.approx(0.3))


def test_a_plan_tells_the_positions_of_the_part():
    keyframes = tuple(Keyframe(Pose.identity(), np.zeros(7), "post", s) for s in (-0.8, 1.2))
    segment = Segment("follow", np.zeros((3, 7)), np.array([-0.8, 0.1, 1.2]), Pose.identity())
    plan = in_part_positions(KeyframePlan(True, keyframes=keyframes, segments=(segment,)), PATH, "door")
    assert [each.s for each in plan.keyframes] == pytest.approx([0.0, 1.2])
    assert plan.segments[0].s.tolist() == pytest.approx([0.0, 0.1, 1.2])
