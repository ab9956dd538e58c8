"""The collision checker: clearances, a carried object as part of the arm, and what another arm sweeps."""

from dataclasses import replace
from functools import cache

import numpy as np
import pybullet as p
import pytest

from unlatch.objects.config import ObjectCfg
from unlatch.objects.library import load_instance, load_object
from unlatch.robots.catalog import ROBOTS
from unlatch.robots.models import model_path
from unlatch.simcore.errors import WorldError
from unlatch.simcore.geometry import Pose
from unlatch.simcore.sim import collision
from unlatch.simcore.sim.collision import BulletCollisionChecker, ObstacleModel, PlannedMotion, RobotModel
from unlatch.simcore.sim.core import NearQuery
from unlatch.simcore.sim.world import World, WorldCfg
from unlatch.simcore.urdf.reader import read_urdf

(ARM,) = ROBOTS.load("franka_panda")().arms
HOME = np.array(ARM.home)
LEFT, RIGHT = ROBOTS.load("dual_panda")().arms
LEFT_HOME, RIGHT_HOME = np.array(LEFT.home), np.array(RIGHT.home)
FINGER = "panda_leftfinger"


@pytest.fixture
def checker():
    with BulletCollisionChecker() as opened:
        yield opened


def links(arm):
    return frozenset((*arm.forbidden_links, *arm.gripper.finger_links))


def robot_model(name="franka_panda", arm=None, **changes):
    cfg = ROBOTS.load(name)()
    arm = arm or cfg.arms[0]
    own = {
        "urdf_path": model_path(cfg),
        "T_world_base": Pose.identity(),
        "arm_joints": tuple(arm.joints),
        "finger_joints": tuple(arm.gripper.joints),
        "finger_links": frozenset(arm.gripper.finger_links),
        "ignored_pairs": frozenset(frozenset(pair) for pair in cfg.self_collision_ignored),
        "home": {joint: q for each in cfg.arms for joint, q in zip(each.joints, each.home, strict=True)},
    }
    return RobotModel(**{**own, **changes})


def board(*, top):
    """A box whose top lies at a height [m]."""
    return ObstacleModel("board", None, Pose.from_translation([0.31, 0.0, top - 0.005]), size_m=(0.1, 0.1, 0.01))


def put_board_below(checker, gap_m):
    """Puts a board so far below the lowest point of the hand at home."""
    checker.load(robot_model(), [board(top=0.3)])
    lowest = checker.deepest_collision(HOME, clearance_m=1.0)
    assert lowest.link_a in ARM.gripper.finger_links
    checker.load(robot_model(), [board(top=0.3 + lowest.distance_m - gap_m)])


class TestClearance:
    @pytest.mark.parametrize("gap_m", [0.002, 0.008, 0.015])
    def test_a_given_clearance_is_measured(self, checker, gap_m):
        put_board_below(checker, gap_m)
        assert checker.deepest_collision(HOME, clearance_m=0.9 * gap_m) is None
        assert checker.deepest_collision(HOME, clearance_m=1.1 * gap_m).distance_m == pytest.approx(gap_m, abs=2e-4)

    def test_the_base_does_not_collide_and_a_folded_elbow_keeps_the_clearance(self, checker):
        put_board_below(checker, 0.3)
        assert checker.deepest_collision(HOME, clearance_m=0.05) is None
        folded = np.array([-0.726, -0.572, 0.715, -3.009, -1.519, 2.046, 1.86])
        for clearance_m in (None, 0.004):
            hit = checker.deepest_collision(folded, clearance_m=clearance_m)
            assert {hit.link_a, hit.link_b} == {"panda_link2", "panda_link5"}

    @pytest.mark.parametrize("name", ["ur5", "ur5e", "xarm6"])
    def test_the_table_under_a_base_that_is_fixed_to_the_root_link_does_not_count(self, checker, name):
        (arm,) = ROBOTS.load(name)().arms
        table = ObstacleModel("table", None, Pose.from_translation([0.0, 0.0, -0.01]), size_m=(2.0, 2.0, 0.02))
        checker.load(robot_model(name, home={}), [table])
        assert checker.deepest_collision(np.array(arm.home), clearance_m=0.018) is None
        lowered = np.array(arm.home)
        lowered[1] += 0.9
        assert checker.deepest_collision(lowered, clearance_m=0.2).link_b == "table"


class TestNearPoints:
    def test_they_are_those_that_pybullet_reports_in_any_configuration(self, checker):
        boards = [
            board(top=0.3),
            replace(board(top=0.5), name="shelf", T_world_root=Pose.from_translation([0, 0.6, 0])),
        ]
        checker.load(robot_model(), boards)
        core, (robot, *others) = checker._world.core, checker._world.bodies.values()
        joints, found = [*ARM.joints, *ARM.gripper.joints], 0
        query = NearQuery(robot.state, [robot.rows[joint] for joint in joints], [each.body_id for each in others])
        rng = np.random.default_rng(0)
        lower, upper = np.array([(robot.joint(joint).lower, robot.joint(joint).upper) for joint in joints]).T
        for distance_m in (None, 0.0025, 0.05, 0.3) * 10:
            query.q[:], query.struct.distance = rng.uniform(lower, upper), -1.0 if distance_m is None else distance_m
            near = core.find_near(query)
            assert np.array_equal(robot.joint_states()[0][query._numbers[0]], query.q)
            points = list(p.getContactPoints(robot.body_id, physicsClientId=core.client))
            for other in others if distance_m is not None else ():
                closest = p.getClosestPoints(robot.body_id, other.body_id, distance_m, physicsClientId=core.client)
                points += [point for point in closest if point[3] >= 0]
            assert [(*row[:4], row[6], tuple(row[7])) for row in near] == [(*q[1:5], q[8], q[5]) for q in points]
            found += len(near)
        assert found > 50


class TestKeptBodies:
    @pytest.fixture
    def loaded(self, monkeypatch):
        """The names of bodies as they are loaded."""
        names, load_urdf, add_box = [], World.load_urdf, World.add_box

        def note_urdf(self, *args, **keys):
            names.append(keys["name"])
            return load_urdf(self, *args, **keys)

        def note_box(self, name, **keys):
            names.append(name)
            return add_box(self, name, **keys)

        monkeypatch.setattr(World, "load_urdf", note_urdf)
        monkeypatch.setattr(World, "add_box", note_box)
        return names

    @pytest.mark.slow
    def test_they_answer_like_new_ones_to_the_last_bit(self, checker, tmp_path):
        cfgs = [ObjectCfg(name="microwave", category="microwave", instance=i, cache_dir=str(tmp_path)) for i in "12"]
        microwaves = [load_object(cfg, rng=np.random.default_rng(0)) for cfg in cfgs]
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

    def test_they_are_kept_while_robot_and_objects_are_the_same(self, checker, loaded, monkeypatch):
        robot = robot_model()
        checker.load(robot, [board(top=0.5)])
        checker.deepest_collision(HOME)
        checker.load(replace(robot, home={**robot.home, ARM.joints[0]: 0.1}), [board(top=0.3)])
        checker.load(robot, [replace(board(top=0.3), name="other board")])
        assert (loaded.count("robot"), loaded.count("board"), loaded.count("other board")) == (1, 2, 1)
        checker.load(robot, [replace(board(top=0.3), name="other board")])
        assert loaded.count("other board") == 1
        checker.load(replace(robot, T_world_base=Pose.from_translation([0.0, 0.0, 0.1])), [board(top=0.3)])
        assert loaded.count("robot") == 2
        monkeypatch.setattr(collision, "_KEPT_FOR", 2)
        for _ in range(4):
            checker.load(robot, [board(top=0.3)])
            checker.deepest_collision(HOME)
        assert loaded.count("robot") == 4

    def test_a_scene_that_is_loaded_again_answers_as_before(self, checker):
        robot, above = robot_model(), board(top=0.5)
        checker.load(robot, [above], ignored_substrings=["board"])
        checker.load(robot, [above])
        hit = checker.deepest_collision(HOME)  # the substrings of the second call count
        assert hit is not None
        checker.overlap()
        checker.load(robot, [above])
        assert checker.deepest_collision(HOME) == hit
        assert checker.queries == 1

    def test_a_body_that_is_not_in_the_world_cannot_be_removed(self):
        with World(WorldCfg()) as world, pytest.raises(WorldError, match=r"'lid' is not in this world. Bodies: \[\]"):
            world.remove("lid")


def turned(arm, angle_rad):
    return np.array([arm.home[0] + angle_rad, *arm.home[1:]])


class TestCarriedObject:
    """A can in the hand at home, and a wall beside it."""

    @pytest.fixture
    def checker(self, checker):
        model = robot_model(ee_link=ARM.ee_link)
        checker.load(model, [])
        head = checker._ee_pose(HOME) @ np.array(ARM.keypoints["tool_head"])
        can = load_instance(ObjectCfg(name="can", category="can", instance="0")).urdf_path
        below, beside = (Pose.from_translation(head + np.array([0.0, y, -0.09])) for y in (0.0, 0.25))
        wall = ObstacleModel("wall", None, beside, size_m=(0.3, 0.02, 0.1))
        checker.load(model, [ObstacleModel("can", can, below), wall], free_object="can")
        return checker

    def test_it_meets_a_wall_that_the_hand_clears(self, checker):
        angles = np.linspace(0.0, 1.0, 60)
        alone = [checker.deepest_collision(turned(ARM, angle), gripper=0.08) for angle in angles]
        assert all(hit is None or hit.link_b != "wall" for hit in alone)
        with checker.carried_from(HOME):
            carried = [checker.deepest_collision(turned(ARM, angle), gripper=0.08) for angle in angles]
            before = turned(ARM, angles[[hit is None for hit in carried].index(False) - 1])
            assert checker.deepest_collision(before, gripper=0.08, clearance_m=0.015).link_a == "can in the hand"
        assert carried[0] is None
        assert {(hit.link_a, hit.link_b) for hit in carried if hit is not None} == {("can in the hand", "wall")}

    def test_it_stays_where_the_hand_has_put_it_and_returns_after_the_block(self, checker):
        before = checker._get_free().root_pose().p
        with checker.carried_from(HOME):
            with checker.released_at(turned(ARM, 0.3)):
                checker.deepest_collision(turned(ARM, -0.5))
                put = checker._get_free().root_pose().p
            assert float(np.linalg.norm(put - before)) > 0.05
            assert np.arctan2(put[1], put[0]) - np.arctan2(before[1], before[0]) == pytest.approx(0.3, abs=1e-3)
        np.testing.assert_allclose(checker._get_free().root_pose().p, before, atol=1e-9)

    def test_a_hand_that_carries_nothing_releases_nothing(self, checker):
        with pytest.raises(WorldError, match="carries nothing that it could release"), checker.released_at(HOME):
            pass


@cache
def dual():
    return robot_model("dual_panda", RIGHT, arm_links=links(RIGHT))


def motion(q, **part):
    fingers = dict.fromkeys(LEFT.gripper.joints, 0.0)
    return PlannedMotion(links=links(LEFT), joints=tuple(LEFT.joints), q=np.atleast_2d(q), fingers=fingers, **part)


def link_pose(name, arm):
    return read_urdf(dual().urdf_path).link_pose(name, dict(zip(arm.joints, arm.home, strict=True)))


class TestSweep:
    """The right arm keeps clear of the space that the left one and its part sweep."""

    def test_an_arm_avoids_the_whole_motion_of_another(self, checker):
        there = np.linspace(0.0, -1.2, 30)
        there_and_back = [turned(LEFT, angle) for angle in (*there, *there[::-1])]
        in_the_way = turned(RIGHT, 1.2)
        checker.load(dual(), [])
        assert checker.deepest_collision(in_the_way) is None  # it is clear of the other arm's present pose
        checker.load(dual(), [], concurrent_motions=[motion(there_and_back)])
        hit = checker.deepest_collision(in_the_way)
        assert hit.link_a.startswith("right_panda_")
        assert hit.link_b.startswith("left_panda_")
        assert hit.link_b.endswith(" on its way")
        assert checker.deepest_collision(RIGHT_HOME) is None
        checker.load(dual(), [])  # which puts the robot back
        assert checker.deepest_collision(in_the_way) is None

    def test_there_is_no_gap_between_two_copies(self, checker):
        way = np.array([turned(LEFT, a) for a in np.linspace(0.0, -1.2, 300)])
        checker.load(dual(), [], concurrent_motions=[motion(way)])
        angles = np.linspace(0.0, 1.2, 13)
        kept = {angle: checker.deepest_collision(turned(RIGHT, angle)) is not None for angle in angles}
        assert len(set(kept.values())) == 2
        with BulletCollisionChecker(clearance_m=0.0) as exact:
            for q in way[::15]:
                exact.load(replace(dual(), home={**dual().home, **dict(zip(LEFT.joints, q.tolist(), strict=True))}), [])
                for angle in angles:
                    assert kept[angle] or exact.deepest_collision(turned(RIGHT, angle)) is None, angle

    def test_a_moved_part_avoids_the_motion_of_another_part(self, checker):
        asset = load_object(ObjectCfg(name="carton", category="carton", instance="3"), rng=np.random.default_rng(0))
        lids, width = list(asset.articulation.parts.values()), float(np.ptp(asset.bounds_obj[:, 1]))
        places = (Pose.from_translation((1.0, y, 0.0)) for y in (0.0, width + 0.05))
        first, second = (ObstacleModel(name, asset.urdf_path, T) for name, T in zip("ab", places, strict=True))
        met = {}
        for mine in lids:
            for other in lids:
                closed, opened = other.openness.closed, other.openness.open
                span = closed + np.linspace(0.0, 0.75, 40) * (opened - closed)
                moves = motion(LEFT_HOME, obstacle="a", joint=other.joint, s=span)
                checker.load(dual(), [first, replace(second, joint=mine.joint)], concurrent_motions=[moves])
                assert checker.deepest_collision(RIGHT_HOME, s=mine.openness.closed) is None
                upright = mine.openness.closed + 0.6 * (mine.openness.open - mine.openness.closed)
                met[mine.name, other.name] = checker.deepest_collision(RIGHT_HOME, s=upright)
        # of each carton the flap on the side of the other one: they open towards each other
        assert [pair for pair, hit in met.items() if hit is not None] == [("lid", "lid_2")]
        assert (met["lid", "lid_2"].link_a, met["lid", "lid_2"].link_b) == ("b/lid", "a/lid_2 on its way")


@pytest.fixture(scope="module")
def pot():
    return load_object(ObjectCfg(name="pot", category="pot", instance="3"), rng=np.random.default_rng(0))


class TestSweptLid:
    """The lid of a pot, half open, whose rim is where a finger of one arm is."""

    @staticmethod
    def put(pot, T_world_finger):
        (lid,) = pot.articulation.parts.values()
        half = 0.5 * lid.openness.open
        rim = read_urdf(pot.urdf_path).link_pose(lid.link, {lid.joint: half}) @ np.array([0.12, 0.0, 0.0])
        return lid, half, ObstacleModel("pot", pot.urdf_path, Pose.from_translation(T_world_finger.p - rim))

    def test_a_part_with_cylinders_is_copied_where_it_is(self, checker, pot):
        lid, half, obstacle = self.put(pot, link_pose(f"right_{FINGER}", RIGHT))
        hits = []
        for opening in (0.0, half):
            moves = motion(LEFT_HOME, obstacle="pot", joint=lid.joint, s=np.full(1, opening))
            checker.load(dual(), [obstacle], concurrent_motions=[moves])
            hits.append(checker.deepest_collision(RIGHT_HOME))
        assert hits[0] is None
        assert hits[1].link_b == "pot/lid on its way"

    def test_a_moved_part_avoids_a_waiting_arm(self, checker, pot):
        lid, half, obstacle = self.put(pot, link_pose(f"left_{FINGER}", LEFT))
        hits = {}
        for name, joint in (("led", lid.joint), ("at rest", None)):
            checker.load(dual(), [replace(obstacle, joint=joint, joint_positions={lid.joint: half})])
            hits[name] = checker.deepest_collision(RIGHT_HOME, s=half)
            assert checker.deepest_collision(RIGHT_HOME, s=lid.openness.closed) is None
        assert hits["at rest"] is None  # this arm did not move the part there
        assert hits["led"].link_a.startswith("left_panda_")
        assert hits["led"].link_b == "pot/lid"
