"""Ranges of turns of a carried object in which the hand has room."""

import numpy as np
import pytest

from unlatch.simcore.geometry import Pose
from unlatch.skills.strategies.free_objects import turns_with_room

HAND_BESIDE = Pose.from_translation([0.1, 0.0, 0.05])
"""The hand is beside the object, on the side of its x axis."""
STEP_RAD = 2.0 * np.pi / 24


class HalfSpace:
    """An obstacle that fills everything on one side of a plane through the world's origin."""

    def __init__(self, outward):
        self.outward = np.array(outward)

    def meets(self, boxes, T_world_box, *, margin_m):
        return bool(T_world_box.p @ self.outward < margin_m)


def ranges(*obstacles, way=None, allows=lambda T: True):
    places = [np.array(each) for each in way or [[0.0, 0.0, 0.0]]]
    return turns_with_room(
        HAND_BESIDE, np.zeros(3), np.zeros((1, 2, 3)), way=places, obstacles=obstacles, margin_m=0.01, allows=allows
    )


def test_in_free_space_every_turn_has_room():
    (found,) = ranges()
    assert found.half_rad == pytest.approx(np.pi)


@pytest.mark.parametrize("outward", [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]])
def test_beside_a_wall_the_hand_is_turned_away_from_it(outward):
    (found,) = ranges(HalfSpace(outward))
    np.testing.assert_allclose(found.direction, outward, atol=1e-9)
    assert found.half_rad == pytest.approx(0.5 * np.pi, abs=STEP_RAD)
    assert found.half_rad < 0.5 * np.pi


def test_between_two_walls_there_are_two_ranges_and_the_widest_comes_first():
    # the second wall leaves more room before it than the first one
    found = ranges(HalfSpace([0.0, 1.0, 0.0]), allows=lambda T: abs(T.p[0]) > 0.02 and T.p[0] < 0.09)
    assert [round(float(np.sign(each.direction[0]))) for each in found] == [-1, 1]
    assert found[0].half_rad > found[1].half_rad


def test_the_hand_needs_room_all_along_its_way():
    wall = HalfSpace([0.0, 1.0, 0.0])
    (at_once,), (on_the_way,) = ranges(wall), ranges(wall, way=[[0.0, 0.0, 0.0], [0.0, -0.06, 0.0]])
    assert on_the_way.half_rad < at_once.half_rad


def test_a_turn_that_is_not_allowed_is_in_no_range():
    assert not ranges(HalfSpace([1.0, 0.0, 0.0]), allows=lambda T: T.p[0] < 0.0)
