"""Grasps of a free object: which come first."""

from __future__ import annotations

from itertools import islice
from typing import Any

import numpy as np
import pytest

from unlatch.objects.articulated_object import ObjectAsset
from unlatch.objects.config import ObjectCfg
from unlatch.objects.library import load_instance
from unlatch.robots.franka_panda import franka_panda
from unlatch.robots.hand_shape import hand_shape
from unlatch.simcore.geometry import Pose
from unlatch.skills.strategies.grasps import GraspCandidate, GraspSide, grasp_candidates
from unlatch.solver.planning.work import WorkMeter

HAND = hand_shape("franka_panda", franka_panda().arms[0])
T_WORLD_CUP = Pose.from_translation([0.5, 0.1, 0.0])


@pytest.fixture(scope="module")
def cup() -> ObjectAsset:
    return load_instance(ObjectCfg(name="cup", category="cup", instance="0"))


def first(cup: ObjectAsset, count: int, **more: Any) -> list[GraspCandidate]:
    values: dict[str, Any] = {"side": GraspSide.any, **more}
    found = grasp_candidates(cup, T_WORLD_CUP, HAND, (), p_world_base=np.zeros(3), floor_m=0.0, **values)
    return list(islice(found, count))


def test_a_preferred_grasp_comes_first_at_the_price_of_one(cup: ObjectAsset) -> None:
    wanted = first(cup, 12)[-1].T_world_tool
    meter = WorkMeter(1000)
    (found,) = first(cup, 1, preferred=wanted, meter=meter)
    assert np.linalg.norm(found.T_world_tool.p - wanted.p) < 0.02
    assert float((found.T_world_tool.R * wanted.R).sum()) > 2.9
    assert meter.beside <= 30, "grasps of less cost were fitted before it"


def test_an_avoided_grasp_comes_last(cup: ObjectAsset) -> None:
    best, *_ = first(cup, 1)
    others = first(cup, 12, avoided=[best.T_world_tool])
    assert all(not np.allclose(each.T_world_tool.p, best.T_world_tool.p, atol=1e-6) for each in others)


def test_from_the_side_a_cup_is_held_around_its_outside_and_low_enough_for_a_shelf(cup: ObjectAsset) -> None:
    found = first(cup, 8, side=GraspSide.side)
    assert all(each.T_world_tool.R[2, 0] > -0.65 for each in found)
    assert any(each.width_m > 0.04 for each in found)
