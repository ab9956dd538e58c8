"""Grasps of a free object, and turns of a carried one in which the hand has room."""

from dataclasses import replace
from itertools import islice

import numpy as np
import pytest

from tests.objects.builders import generated
from tests.skills.builders import HAND
from unlatch.simcore.geometry import Pose
from unlatch.skills.strategies.free_objects import GraspSide, grasp_candidates, turns_with_room
from unlatch.solver.plan import WorkMeter, work_of

FIT = work_of({"fits": 1})


@pytest.fixture(scope="module")
def can():
    asset = generated("can")
    return asset, Pose.from_translation([0.5, 0.0, -float(asset.bounds_obj[0, 2])])


@pytest.fixture(scope="module")
def cup():
    return generated("cup"), Pose.from_translation([0.5, 0.1, 0.0])


def candidates(placed, **more):
    values = {"side": GraspSide.any, "floor_m": 0.0, "p_world_base": np.zeros(3), **more}
    return grasp_candidates(*placed, HAND, [], **values)


def first(placed, count, **more):
    return list(islice(candidates(placed, **more), count))


@pytest.mark.parametrize("allowance", [0, 5])
def test_each_grasp_that_is_checked_counts_and_none_is_checked_once_work_and_allowance_are_spent(can, allowance):
    meter = replace(WorkMeter(3 * FIT), allowance=allowance * FIT)
    assert list(candidates(can, meter=meter, floor_m=10.0)) == []  # below the floor, no grasp has room
    assert meter.beside == (3 + allowance) * FIT
    assert meter.is_spent
    assert list(candidates(can, meter=meter)) == []
    assert meter.beside == (3 + allowance) * FIT


def test_a_preferred_grasp_comes_first_at_the_price_of_one_and_an_avoided_one_last(cup):
    found, meter = first(cup, 12), WorkMeter(1000)
    best, wanted = found[0].T_world_tool, found[-1].T_world_tool
    (preferred,) = first(cup, 1, preferred=wanted, meter=meter)
    assert np.linalg.norm(preferred.T_world_tool.p - wanted.p) < 0.02
    assert float((preferred.T_world_tool.R * wanted.R).sum()) > 2.9
    assert meter.beside <= 30, "grasps of less cost were fitted before it"
    others = first(cup, 12, avoided=[best])
    assert all(not np.allclose(each.T_world_tool.p, best.p, atol=1e-6) for each in others)


@pytest.mark.slow
def test_of_grasps_near_a_preferred_one_the_nearest_comes_first(cup):
    for wanted in first(cup, 24):
        (found,) = first(cup, 1, preferred=wanted.T_world_tool)
        np.testing.assert_allclose(found.T_world_tool.p, wanted.T_world_tool.p, atol=1e-9)
        np.testing.assert_allclose(found.T_world_tool.R, wanted.T_world_tool.R, atol=1e-9)


@pytest.mark.slow
def test_from_the_side_a_cup_is_held_around_its_outside_and_low_enough_for_a_shelf(cup):
    found = first(cup, 8, side=GraspSide.side)
    assert all(each.T_world_tool.R[2, 0] > -0.65 for each in found)
    assert any(each.width_m > 0.04 for each in found)


STEP_RAD = 2.0 * np.pi / 24


class HalfSpace:
    """An obstacle that fills everything on one side of a plane through the world's origin."""

    def __init__(self, *outward):
        self.outward = np.array(outward)

    def meets(self, boxes, T_world_box, *, margin_m):
        return bool(T_world_box.p @ self.outward < margin_m)


def ranges(*obstacles, way=((0.0, 0.0, 0.0),), allows=lambda T: True):
    beside = Pose.from_translation([0.1, 0.0, 0.05])  # the hand, on the side of the object's x axis
    more = {"way": [np.array(each) for each in way], "margin_m": 0.01, "allows": allows}
    return turns_with_room(beside, np.zeros(3), np.zeros((1, 2, 3)), obstacles=obstacles, **more)


@pytest.mark.parametrize("outward", [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
def test_every_turn_has_room_in_free_space_and_beside_a_wall_the_hand_is_turned_away_from_it(outward):
    (free,), (found,) = ranges(), ranges(HalfSpace(*outward))
    assert free.half_rad == pytest.approx(np.pi)
    np.testing.assert_allclose(found.direction, outward, atol=1e-9)
    assert 0.5 * np.pi - STEP_RAD <= found.half_rad < 0.5 * np.pi


def test_between_two_walls_there_are_two_ranges_and_the_widest_comes_first():
    # the second wall leaves more room before it than the first one
    found = ranges(HalfSpace(0.0, 1.0, 0.0), allows=lambda T: abs(T.p[0]) > 0.02 and T.p[0] < 0.09)
    assert [round(float(np.sign(each.direction[0]))) for each in found] == [-1, 1]
    assert found[0].half_rad > found[1].half_rad
    assert not ranges(HalfSpace(1.0, 0.0, 0.0), allows=lambda T: T.p[0] < 0.0)


def test_the_hand_needs_room_all_along_its_way():
    wall = HalfSpace(0.0, 1.0, 0.0)
    (at_once,), (on_the_way,) = ranges(wall), ranges(wall, way=[[0.0, 0.0, 0.0], [0.0, -0.06, 0.0]])
    assert on_the_way.half_rad < at_once.half_rad
