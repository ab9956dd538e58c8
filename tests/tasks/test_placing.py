"""Objects that are placed in, on, beside or facing another one are there, and touch nothing."""

import itertools

import numpy as np
import pytest

from tests.objects.builders import generated
from unlatch.objects.config import ObjectCfg
from unlatch.objects.library import load_object
from unlatch.simcore.errors import ConfigError
from unlatch.simcore.geometry import Pose
from unlatch.simcore.rng import stream
from unlatch.tasks.layout import Layout, sample_layout
from unlatch.tasks.placing import PlacedObject
from unlatch.tasks.task import OpennessCfg, RegionCfg, RelationCfg, RelationKind, TaskCfg, order_relations

FEET_M = 0.004
SEEDS = range(30)
LIFTED = np.array([[0.0, 0.0, 1e-3], [0.0, 0.0, 0.0]])
INSIDE, ON, BESIDE, FACING = RelationKind.inside, RelationKind.on, RelationKind.beside, RelationKind.facing


@pytest.fixture(scope="module")
def cabinet():
    cfg = ObjectCfg(name="cabinet", category="cabinet", where={"doors": 1, "shelves": 1})
    return load_object(cfg, rng=np.random.default_rng(4))


@pytest.fixture(scope="module")
def bottle():
    cfg = ObjectCfg(name="bottle", category="bottle", where={"height_m": {"max": 0.1}})
    return load_object(cfg, rng=np.random.default_rng(0))


@pytest.fixture(scope="module")
def toaster():
    return generated("toaster", 1)


def drawn(base, items, seed, *, of=None, region=None, openness=(), **relation):
    """A layout of objects with the same relation to a base, or each to another one."""
    relations = [RelationCfg(object=item.name, of=(of or {}).get(item.name, base.name), **relation) for item in items]
    cfg = TaskCfg(
        name="t", regions=[region or RegionCfg(object=base.name)], relations=relations, openness=list(openness)
    )
    return sample_layout(cfg, {each.name: each for each in (*items, base)}, [], stream(seed, "layout"))


def corners(asset, layout):
    return layout.objects[asset.name].T_world_root @ np.array(list(itertools.product(*asset.bounds_obj.T)))


def seen_from(base, item, layout):
    """The pose of an object in the frame of another one."""
    return layout.objects[base.name].T_world_root.inverse() @ layout.objects[item.name].T_world_root


def front_of(base, item, T):
    """(2,) where the middle of the front is, into the base from its front and to its left [m]."""
    x, y, _ = T @ np.array([item.bounds_obj[1, 0], item.bounds_obj[:, 1].mean(), item.bounds_obj[0, 2]])
    return np.array([base.bounds_obj[1, 0] - x, base.bounds_obj[:, 1].mean() - y])


def assert_free(layout, *assets):
    """No bounding box of an object meets a solid of another one."""
    assert layout.problem is None
    for a, b in itertools.combinations(assets, 2):
        first, second = layout.objects[a.name], layout.objects[b.name]
        other = PlacedObject(b, second.T_world_root, second.joint_positions)
        assert not other.meets(a.bounds_obj + LIFTED, first.T_world_root, 0.0)


def test_inside_lies_within_the_other_object_on_one_of_its_boards(cabinet, bottle):
    heights = set()
    for seed in SEEDS:
        layout = drawn(cabinet, [bottle], seed, relation=INSIDE)
        assert_free(layout, bottle, cabinet)
        points = layout.objects["cabinet"].T_world_root.inverse() @ corners(bottle, layout)
        assert np.all((points >= cabinet.bounds_obj[0]) & (points <= cabinet.bounds_obj[1]))
        heights.add(round(float(points[:, 2].min() - FEET_M), 4))
    assert len(heights) == 2  # on the floor, and on the shelf


def test_on_stands_on_the_top(cabinet, bottle):
    pad_m = 0.01  # its corners stand on pads of this width, any part of which may be carried
    for seed in SEEDS:
        layout = drawn(cabinet, [bottle], seed, relation=ON, yaw_deg=20.0)
        assert_free(layout, bottle, cabinet)
        top = float(corners(cabinet, layout)[:, 2].max())
        assert corners(bottle, layout)[:, 2].min() == pytest.approx(top + FEET_M, abs=2e-4)
        seen = (layout.objects["cabinet"].T_world_root.inverse() @ corners(bottle, layout))[:, :2]
        assert np.all((seen >= cabinet.bounds_obj[0, :2] - pad_m) & (seen <= cabinet.bounds_obj[1, :2] + pad_m))


def test_the_middle_of_the_front_is_where_center_and_deviation_say(cabinet, bottle):
    for seed in SEEDS:
        layout = drawn(cabinet, [bottle], seed, relation=INSIDE, center_m=[0.1, 0.02], half_extent_m=[0.03, 0.01])
        into, left = front_of(cabinet, bottle, seen_from(cabinet, bottle, layout))
        assert 0.07 - 1e-9 <= into <= 0.13 + 1e-9
        assert 0.01 - 1e-9 <= left <= 0.03 + 1e-9
        assert layout.objects["bottle"].drawn["x_m"] == pytest.approx(into)


def test_beside_by_circle_and_facing(cabinet, toaster):
    angles, circle = [], {"distance_m": [0.6, 0.8], "bearing_deg": [-60.0, 60.0]}
    for seed, relation in itertools.product(SEEDS, (BESIDE, FACING)):
        layout = drawn(cabinet, [toaster], seed, relation=relation, **circle)
        assert_free(layout, toaster, cabinet)
        T = seen_from(cabinet, toaster, layout)
        away = (T @ toaster.bounds_obj.mean(axis=0))[:2] - cabinet.bounds_obj.mean(axis=0)[:2]
        assert 0.6 <= np.linalg.norm(away) <= 0.8
        angles.append(np.arctan2(away[1], away[0]))
        wanted = -away / np.linalg.norm(away) if relation is FACING else [1.0, 0.0]
        np.testing.assert_allclose(T.rotate([1.0, 0.0, 0.0])[:2], wanted, atol=1e-9)
        # on the table, whatever the cabinet stands on
        assert corners(toaster, layout)[:, 2].min() == pytest.approx(FEET_M)
    assert np.ptp(angles) > np.deg2rad(90)
    assert np.abs(angles).max() <= np.deg2rad(60)


def test_two_beside_by_region_stand_in_it_look_the_same_way_and_touch_nothing(cabinet, toaster, bottle):
    center, half, fronts = np.array([-0.45, 0.1]), np.array([0.1, 0.25]), []
    where = {"relation": BESIDE, "center_m": center.tolist(), "half_extent_m": half.tolist()}
    for seed in SEEDS:
        layout = drawn(cabinet, [toaster, bottle], seed, **where)
        assert_free(layout, bottle, toaster, cabinet)
        for item in (toaster, bottle):
            T = seen_from(cabinet, item, layout)
            fronts.append(front_of(cabinet, item, T))
            assert np.all(np.abs(fronts[-1] - center) <= half + 1e-9)
            np.testing.assert_allclose(T.rotate([1.0, 0.0, 0.0]), [1.0, 0.0, 0.0], atol=1e-9)
    assert np.all(np.ptp(fronts, axis=0) > half)  # they use the region


def test_facing_by_region_on_a_plinth(cabinet, toaster):
    layout = drawn(cabinet, [toaster], 1, relation=FACING, center_m=[-0.6, 0.3], height_m=[0.1, 0.1])
    assert layout.objects["toaster"].plinth_size_m[2] == pytest.approx(0.1)
    T = seen_from(cabinet, toaster, layout)
    front = T @ np.array([toaster.bounds_obj[1, 0], toaster.bounds_obj[:, 1].mean(), 0.0])
    to_middle = (cabinet.bounds_obj.mean(axis=0) - front)[:2]
    np.testing.assert_allclose(T.rotate([1.0, 0.0, 0.0])[:2], to_middle / np.linalg.norm(to_middle), atol=1e-9)


def test_an_object_without_a_free_place_is_reported_and_recorded(cabinet):
    layout = drawn(cabinet, [generated("refrigerator", 2)], 0, relation=INSIDE, tries=7)
    assert "'refrigerator' finds no place inside 'cabinet' in 7 tries: no board of 'cabinet'" in layout.problem
    assert Layout.from_dict(layout.to_dict()).problem == layout.problem


@pytest.mark.parametrize(("opening", "problem"), [(0.0, None), (1.2, "meets 'cabinet'")])
def test_objects_are_placed_clear_of_an_open_door(cabinet, toaster, opening, problem):
    """In front of it, where its door comes when it is open, there is room only while it is closed."""
    openness = [OpennessCfg(object="cabinet", part="door", range=[opening, opening])]
    level = RegionCfg(object="cabinet", yaw_deg=0.0, height_m=[0.0, 0.0])
    where = {"relation": BESIDE, "center_m": [-0.4, 0.0], "tries": 1}
    found = drawn(cabinet, [toaster], 1, region=level, openness=openness, **where).problem
    assert found is None if problem is None else problem in found


def test_relations_are_placed_each_after_the_one_it_refers_to(cabinet, toaster, bottle):
    far = {"relation": BESIDE, "distance_m": [0.5, 0.8], "of": {"bottle": "toaster"}}
    layout, again = (drawn(cabinet, [bottle, toaster], 1, **far) for _ in range(2))
    assert list(layout.objects) == ["bottle", "toaster", "cabinet"]
    assert layout.problem is None
    assert again.to_dict() == layout.to_dict()


def relations(*pairs):
    return [RelationCfg(object=a, of=b, relation=ON) for a, b in pairs]


def test_relations_are_ordered_and_a_circle_of_them_is_refused():
    assert order_relations(relations(("x", "y"), ("y", "z"))) == ["y", "x"]
    with pytest.raises(ConfigError, match=r"form a circle: x -> y -> z -> x"):
        order_relations(relations(("x", "y"), ("y", "z"), ("z", "x")))


@pytest.mark.parametrize(
    ("relation", "keys", "message"),
    [
        (BESIDE, {}, r"has neither center_m nor distance_m\. Expected one of"),
        (FACING, {"center_m": [0, 0], "distance_m": [1, 2]}, r"has center_m and distance_m\. Expected one"),
        (INSIDE, {"distance_m": [1, 2]}, r"distance_m has no effect for relation=inside"),
        (ON, {"height_m": [0, 0.1]}, r"height_m has no effect for relation=on"),
        (ON, {"center_m": [1.0]}, r"center_m has 1 values, expected 2"),
        (ON, {"half_extent_m": [-0.1, 0.0]}, r"half_extent_m\[0\]=-0\.1 is out of range"),
        (BESIDE, {"distance_m": [2, 1]}, r"distance_m=\[2, 1\] must be low <= high"),
        (ON, {"tries": 0}, r"tries=0 is out of range"),
    ],
)
def test_invalid_relations_are_refused(relation, keys, message):
    with pytest.raises(ConfigError, match=message):
        RelationCfg(object="a", of="b", relation=relation, **keys)


def test_a_box_turned_by_an_eighth_needs_more_room(cabinet):
    """Margins are measured about the turned box, not about its own axes' bounds."""
    base, (low, high) = PlacedObject(cabinet, Pose.identity(), {}), cabinet.bounds_obj
    side, beside = np.array([[-0.1, -0.1, 0.0], [0.1, 0.1, 0.1]]), [0.0, high[1] + 0.12, low[2] + 0.1]
    assert not base.meets(side, Pose.from_translation(beside), 0.01)
    assert base.meets(side, Pose.from_rpy(beside, (0.0, 0.0, np.pi / 4)), 0.01)
