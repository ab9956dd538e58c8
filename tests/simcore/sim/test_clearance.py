"""The clearance of the collision checker: that of the engine's contact points, or a measured one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from unlatch.objects.config import ObjectCfg
from unlatch.objects.library import load_object
from unlatch.robots.catalog import ROBOTS, load_robot
from unlatch.robots.models import model_path
from unlatch.simcore.errors import WorldError
from unlatch.simcore.geometry import Pose
from unlatch.simcore.sim import collision
from unlatch.simcore.sim.bodies import Body
from unlatch.simcore.sim.collision import BulletCollisionChecker, ObstacleModel, RobotModel
from unlatch.simcore.sim.world import World, WorldCfg

ARM = load_robot("franka_panda").arms[0]
HOME = np.array(ARM.home)


@pytest.fixture
def checker() -> Iterator[BulletCollisionChecker]:
    with BulletCollisionChecker() as opened:
        yield opened


def robot_model() -> RobotModel:
    return RobotModel(
        urdf_path=model_path("franka_panda"),
        T_world_base=Pose.identity(),
        arm_joints=tuple(ARM.joints),
        finger_joints=tuple(ARM.gripper.joints),
        finger_links=frozenset(ARM.gripper.finger_links),
        ignored_pairs=frozenset(frozenset(pair) for pair in load_robot("franka_panda").self_collision_ignored),
        home=dict(zip(ARM.joints, ARM.home, strict=True)),
    )


def load(checker: BulletCollisionChecker, gap_m: float) -> None:
    """Puts a board so far below the lowest point of the hand at home."""
    robot = robot_model()
    checker.load(robot, [board(top=0.3)])
    lowest = checker.deepest_collision(HOME, clearance_m=1.0)
    assert lowest is not None
    assert lowest.link_a in ARM.gripper.finger_links
    checker.load(robot, [board(top=0.3 + lowest.distance_m - gap_m)])


def board(*, top: float) -> ObstacleModel:
    """A box whose top lies at a height [m]."""
    return ObstacleModel("board", None, Pose.from_translation([0.31, 0.0, top - 0.005]), size_m=(0.1, 0.1, 0.01))


@pytest.mark.parametrize("gap_m", [0.002, 0.008, 0.015])
def test_a_given_clearance_is_measured(checker: BulletCollisionChecker, gap_m: float):
    load(checker, gap_m)
    assert checker.deepest_collision(HOME, clearance_m=0.9 * gap_m) is None
    hit = checker.deepest_collision(HOME, clearance_m=1.1 * gap_m)
    assert hit is not None
    assert hit.distance_m == pytest.approx(gap_m, abs=2e-4)


def test_the_base_of_the_robot_does_not_collide(checker: BulletCollisionChecker):
    load(checker, 0.3)
    assert checker.deepest_collision(HOME, clearance_m=0.05) is None


@pytest.mark.parametrize("name", ["ur5", "ur5e", "xarm6"])
def test_the_table_under_a_base_that_is_fixed_to_the_root_link_does_not_count(
    checker: BulletCollisionChecker, name: str
):
    cfg = ROBOTS.load(name)()
    (arm,) = cfg.arms
    robot = RobotModel(
        urdf_path=model_path(name),
        T_world_base=Pose.identity(),
        arm_joints=tuple(arm.joints),
        finger_joints=tuple(arm.gripper.joints),
        finger_links=frozenset(arm.gripper.finger_links),
        ignored_pairs=frozenset(frozenset(pair) for pair in cfg.self_collision_ignored),
        home={},
    )
    table = ObstacleModel("table", None, Pose.from_translation([0.0, 0.0, -0.01]), size_m=(2.0, 2.0, 0.02))
    checker.load(robot, [table])
    assert checker.deepest_collision(np.array(arm.home), clearance_m=0.018) is None
    lowered = np.array(arm.home)
    lowered[1] += 0.9
    hit = checker.deepest_collision(lowered, clearance_m=0.2)
    assert hit is not None
    assert hit.link_b == "table"


def test_a_folded_elbow_keeps_the_given_clearance(checker: BulletCollisionChecker):
    load(checker, 0.3)
    folded = np.array([-0.726, -0.572, 0.715, -3.009, -1.519, 2.046, 1.86])
    for clearance_m in (None, 0.004):
        hit = checker.deepest_collision(folded, clearance_m=clearance_m)
        assert hit is not None
        assert {hit.link_a, hit.link_b} == {"panda_link2", "panda_link5"}


@pytest.mark.slow
def test_kept_bodies_answer_like_new_ones_to_the_last_bit(checker: BulletCollisionChecker, tmp_path: Path):
    microwaves = [
        load_object(
            ObjectCfg(name="microwave", category="microwave", instance=instance, cache_dir=str(tmp_path)),
            rng=np.random.default_rng(0),
        )
        for instance in ("1", "2")
    ]
    rng, hits = np.random.default_rng(0), 0
    for middle in [rng.uniform(ARM.lower, ARM.upper) for _ in range(12)]:
        for turn in range(12):  # so near to each other that contacts of the last question would change some answers
            microwave = microwaves[turn // 2 % 2]  # the robot is kept, and every second time the microwave, too
            joint = microwave.articulation.part("door").joint
            T_world_root = Pose.from_rpy([rng.uniform(0.49, 0.51), 0.1, 0.1], [0.0, 0.0, 0.3])
            opened = ObstacleModel("microwave", microwave.urdf_path, T_world_root, None, joint, {joint: 0.5})
            q = middle + rng.uniform(-0.01, 0.01, len(middle))
            checker.load(robot_model(), [board(top=0.3), opened])
            with BulletCollisionChecker() as new:
                new.load(robot_model(), [board(top=0.3), opened])
                expected = new.deepest_collision(q, gripper=0.04)
            assert checker.deepest_collision(q, gripper=0.04) == expected
            hits += expected is not None
    assert hits > 20


def test_bodies_are_kept_while_robot_and_objects_are_the_same(
    checker: BulletCollisionChecker, monkeypatch: pytest.MonkeyPatch
):
    loaded: list[str] = []
    load_urdf = World.load_urdf

    def note(self: World, *args: Any, **kwargs: Any) -> Body:
        loaded.append(kwargs["name"])
        return load_urdf(self, *args, **kwargs)

    monkeypatch.setattr(World, "load_urdf", note)
    robot = robot_model()
    checker.load(robot, [board(top=0.5)])
    checker.deepest_collision(HOME)
    checker.load(replace(robot, home={**robot.home, ARM.joints[0]: 0.1}), [board(top=0.3)])
    checker.load(robot, [replace(board(top=0.3), name="other board")])
    assert loaded == ["robot"]
    checker.load(replace(robot, T_world_base=Pose.from_translation([0.0, 0.0, 0.1])), [board(top=0.3)])
    assert loaded == ["robot"] * 2
    monkeypatch.setattr(collision, "_KEPT_FOR", 2)
    for _ in range(4):
        checker.load(robot, [board(top=0.3)])
        checker.deepest_collision(HOME)
    assert loaded == ["robot"] * 4


def test_a_body_that_is_not_in_the_world_cannot_be_removed():
    with World(WorldCfg()) as world, pytest.raises(WorldError, match=r"Body 'lid' is not in this world. Bodies: \[\]"):
        world.remove("lid")


def test_the_same_scene_is_loaded_again_only_after_a_question(
    checker: BulletCollisionChecker, monkeypatch: pytest.MonkeyPatch
):
    loaded: list[str] = []
    add_box = World.add_box
    monkeypatch.setattr(
        World, "add_box", lambda self, name, **box: (loaded.append(name), add_box(self, name, **box))[1]
    )
    robot, above = robot_model(), board(top=0.5)
    checker.load(robot, [above], ignored_substrings=["board"])
    checker.load(robot, [board(top=0.5)])
    assert loaded == ["board"]
    hit = checker.deepest_collision(HOME)  # the substrings of the second call count
    assert hit is not None
    for ask in (lambda: checker.deepest_collision(HOME), checker.overlap):
        del loaded[:]
        checker.load(robot, [above])
        assert loaded == ["board"]
        ask()
    checker.load(robot, [above])
    assert checker.deepest_collision(HOME) == hit
    assert checker.queries == 1
    for changed in (board(top=0.3), replace(above, size_m=(0.1, 0.1, 0.02)), replace(above, name="other")):
        checker.load(robot, [above])
        del loaded[:]
        checker.load(robot, [changed])
        assert loaded == [changed.name]
