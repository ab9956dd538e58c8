"""An arm keeps clear of the space that another arm and its part sweep."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from unlatch.objects.config import ObjectCfg
from unlatch.objects.library import load_object
from unlatch.robots.catalog import load_robot
from unlatch.robots.description import ArmCfg
from unlatch.robots.models import model_path
from unlatch.simcore.geometry import Pose
from unlatch.simcore.sim.collision import BulletCollisionChecker, ObstacleModel, PlannedMotion, RobotModel
from unlatch.simcore.urdf.reader import read_urdf

LEFT, RIGHT = load_robot("dual_panda").arms


@pytest.fixture
def checker() -> Iterator[BulletCollisionChecker]:
    with BulletCollisionChecker() as opened:
        yield opened


def links(arm: ArmCfg) -> frozenset[str]:
    return frozenset((*arm.forbidden_links, *arm.gripper.finger_links))


def model(arm: ArmCfg) -> RobotModel:
    cfg = load_robot("dual_panda")
    home = {joint: q for each in cfg.arms for joint, q in zip(each.joints, each.home, strict=True)}
    return RobotModel(
        urdf_path=model_path("dual_panda"),
        T_world_base=Pose.identity(),
        arm_joints=tuple(arm.joints),
        finger_joints=tuple(arm.gripper.joints),
        finger_links=frozenset(arm.gripper.finger_links),
        ignored_pairs=frozenset(frozenset(pair) for pair in cfg.self_collision_ignored),
        home=home,
        arm_links=links(arm),
    )


def motion(q: np.ndarray) -> PlannedMotion:
    return PlannedMotion(
        links=links(LEFT), joints=tuple(LEFT.joints), q=q, fingers=dict.fromkeys(LEFT.gripper.joints, 0.0)
    )


def turned(arm: ArmCfg, angle_rad: float) -> np.ndarray:
    return np.array([angle_rad, *arm.home[1:]])


def test_an_arm_avoids_the_whole_motion_of_another(checker: BulletCollisionChecker):
    there_and_back = np.array([turned(LEFT, a) for a in (*np.linspace(0.0, -1.2, 30), *np.linspace(-1.2, 0.0, 30))])
    in_the_way = turned(RIGHT, 1.2)
    checker.load(model(RIGHT), [])
    assert checker.deepest_collision(in_the_way) is None  # it is clear of the other arm's present pose
    checker.load(model(RIGHT), [], concurrent_motions=[motion(there_and_back)])
    hit = checker.deepest_collision(in_the_way)
    assert hit is not None
    assert hit.link_a.startswith("right_panda_")
    assert hit.link_b.startswith("left_panda_")
    assert hit.link_b.endswith(" on its way")
    assert checker.deepest_collision(np.array(RIGHT.home)) is None


def test_there_is_no_gap_between_two_copies(checker: BulletCollisionChecker):
    way = np.array([turned(LEFT, a) for a in np.linspace(0.0, -1.2, 300)])
    checker.load(model(RIGHT), [], concurrent_motions=[motion(way)])
    angles = np.linspace(0.0, 1.2, 13)
    kept = {angle: checker.deepest_collision(turned(RIGHT, angle)) is not None for angle in angles}
    assert len(set(kept.values())) == 2
    with BulletCollisionChecker(clearance_m=0.0) as exact:
        for q in way[::15]:
            at = {**model(RIGHT).home, **dict(zip(LEFT.joints, q.tolist(), strict=True))}
            exact.load(replace(model(RIGHT), home=at), [])
            for angle in angles:
                assert kept[angle] or exact.deepest_collision(turned(RIGHT, angle)) is None, angle


def test_a_moved_part_avoids_the_motion_of_another_part(checker: BulletCollisionChecker):
    asset = load_object(ObjectCfg(name="carton", category="carton", instance="3"), rng=np.random.default_rng(0))
    lids = list(asset.articulation.parts.values())
    width = float(np.ptp(asset.bounds_obj[:, 1]))
    obstacles = [
        ObstacleModel("a", asset.urdf_path, Pose.from_translation((1.0, 0.0, 0.0))),
        ObstacleModel("b", asset.urdf_path, Pose.from_translation((1.0, width + 0.05, 0.0)), joint=lids[0].joint),
    ]
    met = {}
    for mine in lids:
        obstacles[1] = replace(obstacles[1], joint=mine.joint)
        for other in lids:
            span = other.openness.closed + np.linspace(0.0, 0.75, 40) * (other.openness.open - other.openness.closed)
            still = np.array(LEFT.home)[None]
            checker.load(
                model(RIGHT),
                obstacles,
                concurrent_motions=[replace(motion(still), obstacle="a", joint=other.joint, s=span)],
            )
            assert checker.deepest_collision(np.array(RIGHT.home), s=mine.openness.closed) is None
            upright = mine.openness.closed + 0.6 * (mine.openness.open - mine.openness.closed)
            met[mine.name, other.name] = checker.deepest_collision(np.array(RIGHT.home), s=upright)
    # of each carton the flap on the side of the other one: they open towards each other
    assert [pair for pair, hit in met.items() if hit is not None] == [("lid", "lid_2")]
    assert (met["lid", "lid_2"].link_a, met["lid", "lid_2"].link_b) == ("b/lid", "a/lid_2 on its way")


def test_a_part_with_cylinders_is_copied_where_it_is(checker: BulletCollisionChecker):
    asset = load_object(ObjectCfg(name="pot", category="pot", instance="3"), rng=np.random.default_rng(0))
    (lid,) = asset.articulation.parts.values()
    hand = np.array(RIGHT.home)
    T_world_hand = kinematics_pose(hand)
    T_root_lid = read_urdf(asset.urdf_path).link_pose(lid.link, {lid.joint: 0.5 * lid.openness.open})
    above = T_root_lid @ np.array([0.12, 0.0, 0.0])
    obstacle = ObstacleModel("pot", asset.urdf_path, Pose.from_translation(T_world_hand.p - above))
    still = motion(np.array(LEFT.home)[None])
    hits = {}
    for opening in (0.0, 0.5):
        s = np.full(1, opening * lid.openness.open)
        checker.load(
            model(RIGHT), [obstacle], concurrent_motions=[replace(still, obstacle="pot", joint=lid.joint, s=s)]
        )
        hits[opening] = checker.deepest_collision(hand)
    assert hits[0.0] is None
    assert hits[0.5] is not None
    assert hits[0.5].link_b == "pot/lid on its way"


def test_a_moved_part_avoids_a_waiting_arm(checker: BulletCollisionChecker):
    asset = load_object(ObjectCfg(name="pot", category="pot", instance="3"), rng=np.random.default_rng(0))
    (lid,) = asset.articulation.parts.values()
    half = 0.5 * lid.openness.open
    T_root_lid = read_urdf(asset.urdf_path).link_pose(lid.link, {lid.joint: half})
    at = dict(zip(LEFT.joints, LEFT.home, strict=True))
    waiting = read_urdf(model_path("dual_panda")).link_pose("left_panda_leftfinger", at)
    obstacle = ObstacleModel(
        "pot", asset.urdf_path, Pose.from_translation(waiting.p - T_root_lid @ np.array([0.12, 0.0, 0.0]))
    )
    home = np.array(RIGHT.home)
    hits = {}
    for name, joint in (("led", lid.joint), ("at rest", None)):
        checker.load(model(RIGHT), [replace(obstacle, joint=joint, joint_positions={lid.joint: half})])
        hits[name] = checker.deepest_collision(home, s=half)
        assert checker.deepest_collision(home, s=lid.openness.closed) is None
    assert hits["at rest"] is None  # this arm did not move the part there
    assert hits["led"] is not None
    assert hits["led"].link_a.startswith("left_panda_")
    assert hits["led"].link_b == "pot/lid"


def kinematics_pose(q: np.ndarray) -> Pose:
    urdf = read_urdf(model_path("dual_panda"))
    return urdf.link_pose("right_panda_leftfinger", dict(zip(RIGHT.joints, q.tolist(), strict=True)))


def test_loading_puts_the_robot_back(checker: BulletCollisionChecker):
    q = np.array([turned(LEFT, -1.2)])
    checker.load(model(RIGHT), [], concurrent_motions=[motion(q)])
    checker.load(model(RIGHT), [])
    assert checker.deepest_collision(turned(RIGHT, 1.2)) is None
