"""A free object that the hand carries is part of the arm in collision checks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from unlatch.objects.config import ObjectCfg
from unlatch.objects.library import load_instance
from unlatch.robots.catalog import ROBOTS
from unlatch.robots.models import model_path
from unlatch.simcore.errors import WorldError
from unlatch.simcore.geometry import Pose
from unlatch.simcore.sim.collision import BulletCollisionChecker, ObstacleModel, RobotModel

ROBOT = ROBOTS.load("franka_panda")()
(ARM,) = ROBOT.arms
HOME = np.array(ARM.home)


@pytest.fixture(scope="module")
def can() -> Path:
    return load_instance(ObjectCfg(name="can", category="can", instance="0")).urdf_path


@pytest.fixture
def checker(can: Path) -> Iterator[BulletCollisionChecker]:
    model = RobotModel(
        urdf_path=model_path(ROBOT),
        T_world_base=Pose.identity(),
        arm_joints=tuple(ARM.joints),
        finger_joints=tuple(ARM.gripper.joints),
        finger_links=frozenset(ARM.gripper.finger_links),
        ignored_pairs=frozenset(frozenset(pair) for pair in ROBOT.self_collision_ignored),
        home=dict(zip(ARM.joints, HOME.tolist(), strict=True)),
        ee_link=ARM.ee_link,
    )
    with BulletCollisionChecker() as made:
        made.load(model, [])
        T_world_ee = made._ee_pose(HOME)
        head = T_world_ee @ np.array(ARM.keypoints["tool_head"])
        below = Pose.from_translation(head - np.array([0.0, 0.0, 0.09]))
        wall = Pose.from_translation(head + np.array([0.0, 0.25, -0.09]))
        made.load(
            model,
            [
                ObstacleModel("can", can, below),
                ObstacleModel("wall", None, wall, size_m=(0.3, 0.02, 0.1)),
            ],
            free_object="can",
        )
        yield made


def turned(angle_rad: float) -> np.ndarray:
    q = HOME.copy()
    q[0] += angle_rad
    return q


def test_what_is_carried_meets_a_wall_that_the_hand_clears(checker: BulletCollisionChecker) -> None:
    angles = np.linspace(0.0, 1.0, 60)
    alone = [checker.deepest_collision(turned(angle), gripper=0.08) for angle in angles]
    assert all(hit is None or hit.link_b != "wall" for hit in alone)
    with checker.carried_from(HOME):
        carried = [checker.deepest_collision(turned(angle), gripper=0.08) for angle in angles]
    assert carried[0] is None
    assert {(hit.link_a, hit.link_b) for hit in carried if hit is not None} == {("can in the hand", "wall")}


def test_it_stays_where_the_hand_has_put_it_and_returns_after_the_block(checker: BulletCollisionChecker) -> None:
    before = checker._get_free().root_pose()
    with checker.carried_from(HOME):
        with checker.released_at(turned(0.3)):
            checker.deepest_collision(turned(-0.5))
            put = checker._get_free().root_pose()
        assert float(np.linalg.norm(put.p - before.p)) > 0.05
        assert np.arctan2(put.p[1], put.p[0]) - np.arctan2(before.p[1], before.p[0]) == pytest.approx(0.3, abs=1e-3)
    np.testing.assert_allclose(checker._get_free().root_pose().p, before.p, atol=1e-9)


def test_a_hand_that_carries_nothing_releases_nothing(checker: BulletCollisionChecker) -> None:
    with pytest.raises(WorldError, match="carries nothing that it could release"), checker.released_at(HOME):
        pass
