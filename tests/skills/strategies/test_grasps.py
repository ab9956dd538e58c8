"""Grasps of a free object: which come first, and that the search for room ends where the work of the plan is spent."""

from dataclasses import replace
from itertools import islice

import numpy as np
import pytest

from unlatch.objects.config import ObjectCfg
from unlatch.objects.library import load_instance, load_object
from unlatch.robots.catalog import load_robot
from unlatch.robots.hand_shape import hand_shape
from unlatch.simcore.geometry import Pose
from unlatch.skills.strategies.free_objects import GraspSide, grasp_candidates
from unlatch.solver.plan import WorkMeter, work_of

HAND = hand_shape("franka_panda", load_robot("franka_panda").arms[0])
FIT = work_of({"fits": 1})
T_WORLD_CUP = Pose.from_translation([0.5, 0.1, 0.0])


@pytest.fixture(scope="module")
def can(tmp_path_factory):
    cfg = ObjectCfg(name="can", category="can", instance="0", cache_dir=str(tmp_path_factory.mktemp("cache")))
    return load_object(cfg, rng=np.random.default_rng(0))


def candidates(asset, meter, *, floor_m=0.0):
    height_m = -float(asset.bounds_obj[0, 2])
    return grasp_candidates(
        asset,
        Pose(np.eye(3), np.array([0.5, 0.0, height_m])),
        HAND,
        [],
        p_world_base=np.zeros(3),
        floor_m=floor_m,
        side=GraspSide.any,
        meter=meter,
    )


@pytest.mark.slow
def test_grasps_are_the_same_with_a_limit_that_is_not_reached(can):
    meter = WorkMeter(10**9)
    limited = [found.T_world_tool.p for found in candidates(can, meter)]
    assert len(limited) > 1
    np.testing.assert_array_equal(limited, [found.T_world_tool.p for found in candidates(can, None)])
    assert meter.beside >= FIT * len(limited)


def test_each_grasp_that_is_checked_counts_and_none_is_checked_once_the_work_is_spent(can):
    meter = WorkMeter(3 * FIT)
    assert list(candidates(can, meter, floor_m=10.0)) == []  # below the floor, no grasp has room
    assert meter.beside == 3 * FIT
    assert meter.is_spent
    assert list(candidates(can, meter)) == []
    assert meter.beside == 3 * FIT


def test_the_allowance_of_a_meter_is_spent_first(can):
    meter = replace(WorkMeter(2 * FIT), allowance=5 * FIT)
    assert list(candidates(can, meter, floor_m=10.0)) == []
    assert meter.beside == 7 * FIT


@pytest.fixture(scope="module")
def cup():
    return load_instance(ObjectCfg(name="cup", category="cup", instance="0"))


def first(cup, count, **more):
    values = {"side": GraspSide.any, **more}
    found = grasp_candidates(cup, T_WORLD_CUP, HAND, (), p_world_base=np.zeros(3), floor_m=0.0, **values)
    return list(islice(found, count))


def test_a_preferred_grasp_comes_first_at_the_price_of_one(cup):
    wanted = first(cup, 12)[-1].T_world_tool
    meter = WorkMeter(1000)
    (found,) = first(cup, 1, preferred=wanted, meter=meter)
    assert np.linalg.norm(found.T_world_tool.p - wanted.p) < 0.02
    assert float((found.T_world_tool.R * wanted.R).sum()) > 2.9
    assert meter.beside <= 30, "grasps of less cost were fitted before it"


@pytest.mark.slow
def test_of_grasps_near_a_preferred_one_the_nearest_comes_first(cup):
    for wanted in first(cup, 24):
        (found,) = first(cup, 1, preferred=wanted.T_world_tool)
        np.testing.assert_allclose(found.T_world_tool.p, wanted.T_world_tool.p, atol=1e-9)
        np.testing.assert_allclose(found.T_world_tool.R, wanted.T_world_tool.R, atol=1e-9)


def test_an_avoided_grasp_comes_last(cup):
    best, *_ = first(cup, 1)
    others = first(cup, 12, avoided=[best.T_world_tool])
    assert all(not np.allclose(each.T_world_tool.p, best.T_world_tool.p, atol=1e-6) for each in others)


@pytest.mark.slow
def test_from_the_side_a_cup_is_held_around_its_outside_and_low_enough_for_a_shelf(cup):
    found = first(cup, 8, side=GraspSide.side)
    assert all(each.T_world_tool.R[2, 0] > -0.65 for each in found)
    assert any(each.width_m > 0.04 for each in found)
