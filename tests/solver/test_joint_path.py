"""The way of a hand that leads several joints in one grasp: the motion of the held link, and where the part is."""

import numpy as np
import pytest

from unlatch.simcore.geometry import Pose, matrix_from_axis_angle
from unlatch.solver.joint_path import JointPath, PathGeometry, in_part_positions
from unlatch.solver.plan import Keyframe, KeyframePlan, Segment

Z, X = np.array([0.0, 0.0, 1.0]), np.array([1.0, 0.0, 0.0])
LEVER_AT = np.array([0.0, 0.35, 0.1])
PATH = JointPath(
    (-0.8, 0.0, 0.2, 0.5, 1.6), {"lever": (0.0, 0.6, 0.6, 0.0, 0.0), "door": (0.0, 0.0, 0.2, 0.5, 1.6)}, -0.8
)


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
    mirrored = JointPath(tuple(-s for s in PATH.way), {"door": tuple(-s for s in PATH.positions["door"])}, 0.8)
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


def test_how_far_a_way_leads_is_said_by_joint():
    said = geometry().describe_way(-0.8, 0.1, 1.2)
    assert said == (
        "the joints can be led from (lever 0.000, door 0.000) to (lever 0.600, door 0.100) of (lever 0.000, door "
        "1.200) only"
    )


def test_a_plan_tells_the_positions_of_the_part():
    keyframes = tuple(Keyframe(Pose.identity(), np.zeros(7), "post", s) for s in (-0.8, 1.2))
    segment = Segment("follow", np.zeros((3, 7)), np.array([-0.8, 0.1, 1.2]), Pose.identity())
    plan = in_part_positions(KeyframePlan(True, keyframes=keyframes, segments=(segment,)), PATH, "door")
    assert [each.s for each in plan.keyframes] == pytest.approx([0.0, 1.2])
    assert plan.segments[0].s.tolist() == pytest.approx([0.0, 0.1, 1.2])
