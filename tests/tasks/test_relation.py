"""Objects that are placed in, on, beside or facing another one are there, and touch nothing."""

import itertools

import numpy as np
import pytest

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


def generated(name, instance, **keys):
    cfg = ObjectCfg(name=name, category=name, instance=instance, **keys)
    return load_object(cfg, rng=np.random.default_rng(0))


@pytest.fixture(scope="module")
def cabinet():
    rng = np.random.default_rng(4)
    return load_object(ObjectCfg(name="cabinet", category="cabinet", where={"doors": 1, "shelves": 1}), rng=rng)


@pytest.fixture(scope="module")
def bottle():
    rng = np.random.default_rng(0)
    return load_object(ObjectCfg(name="bottle", category="bottle", where={"height_m": {"max": 0.1}}), rng=rng)


@pytest.fixture(scope="module")
def toaster():
    return generated("toaster", "1")


def drawn(base, item, seed, **relation):
    cfg = TaskCfg(
        name="t",
        regions=[RegionCfg(object=base.name)],
        relations=[RelationCfg(object=item.name, of=base.name, **relation)],
    )
    return sample_layout(cfg, {item.name: item, base.name: base}, [], stream(seed, "layout"))


def corners(asset, place):
    box = asset.bounds_obj
    return place.T_world_root @ np.array(list(itertools.product(*box.T)))


def standing(asset, place):
    return PlacedObject(asset, place.T_world_root, place.joint_positions)


def overlaps(a, b, layout):
    """Whether the bounding box of one meets a solid of the other."""
    first, second = layout.objects[a.name], layout.objects[b.name]
    return standing(b, second).meets(a.bounds_obj + LIFTED, first.T_world_root, 0.0)


def test_inside_lies_within_the_other_object_on_one_of_its_boards(cabinet, bottle):
    heights = set()
    for seed in SEEDS:
        layout = drawn(cabinet, bottle, seed, relation=RelationKind.inside)
        assert layout.problem is None
        inner, outer = layout.objects["bottle"], layout.objects["cabinet"]
        points = outer.T_world_root.inverse() @ corners(bottle, inner)
        assert np.all(points >= cabinet.bounds_obj[0])
        assert np.all(points <= cabinet.bounds_obj[1])
        assert not overlaps(bottle, cabinet, layout)
        heights.add(round(float(points[:, 2].min() - FEET_M), 4))
    assert len(heights) == 2  # on the floor, and on the shelf


def test_on_stands_on_the_top(cabinet, bottle):
    for seed in SEEDS:
        layout = drawn(cabinet, bottle, seed, relation=RelationKind.on, yaw_deg=20.0)
        assert layout.problem is None
        top = float(corners(cabinet, layout.objects["cabinet"])[:, 2].max())
        assert corners(bottle, layout.objects["bottle"])[:, 2].min() == pytest.approx(top + FEET_M, abs=2e-4)
        seen = layout.objects["cabinet"].T_world_root.inverse() @ corners(bottle, layout.objects["bottle"])
        pad_m = 0.01  # its corners stand on pads of this width, any part of which may be carried
        assert np.all(seen[:, :2] >= cabinet.bounds_obj[0, :2] - pad_m)
        assert np.all(seen[:, :2] <= cabinet.bounds_obj[1, :2] + pad_m)
        assert not overlaps(bottle, cabinet, layout)


def test_the_middle_of_the_front_is_where_center_and_deviation_say(cabinet, bottle):
    where = {"center_m": [0.1, 0.02], "half_extent_m": [0.03, 0.01]}
    for seed in SEEDS:
        layout = drawn(cabinet, bottle, seed, relation=RelationKind.inside, **where)
        place = layout.objects["bottle"]
        low, high = bottle.bounds_obj
        front = np.array([high[0], (low[1] + high[1]) / 2, low[2]])
        x, y, _ = layout.objects["cabinet"].T_world_root.inverse() @ (place.T_world_root @ front)
        into, left = cabinet.bounds_obj[1, 0] - x, cabinet.bounds_obj[:, 1].mean() - y
        assert 0.07 - 1e-9 <= into <= 0.13 + 1e-9
        assert 0.01 - 1e-9 <= left <= 0.03 + 1e-9
        assert place.drawn["x_m"] == pytest.approx(into)


def test_beside_by_circle_and_facing(cabinet, toaster):
    angles = []
    for seed in SEEDS:
        for relation in (RelationKind.beside, RelationKind.facing):
            layout = drawn(cabinet, toaster, seed, relation=relation, distance_m=[0.6, 0.8], bearing_deg=[-60.0, 60.0])
            assert layout.problem is None
            assert not overlaps(toaster, cabinet, layout)
            to_cabinet = layout.objects["cabinet"].T_world_root.inverse()
            T = to_cabinet @ layout.objects["toaster"].T_world_root
            middles = (T @ toaster.bounds_obj.mean(axis=0))[:2], cabinet.bounds_obj.mean(axis=0)[:2]
            away = middles[0] - middles[1]
            assert 0.6 <= np.linalg.norm(away) <= 0.8
            angles.append(np.arctan2(away[1], away[0]))
            looks = T.rotate([1.0, 0.0, 0.0])[:2]
            wanted = -away / np.linalg.norm(away) if relation is RelationKind.facing else [1.0, 0.0]
            np.testing.assert_allclose(looks, wanted, atol=1e-9)
            bottom = corners(toaster, layout.objects["toaster"])[:, 2].min()
            assert bottom == pytest.approx(FEET_M)  # on the table, whatever the cabinet stands on
    assert np.ptp(angles) > np.deg2rad(90)
    assert np.abs(angles).max() <= np.deg2rad(60)


def test_two_beside_by_region_stand_in_it_look_the_same_way_and_touch_nothing(cabinet, toaster, bottle):
    center, half = np.array([-0.45, 0.1]), np.array([0.1, 0.25])
    where = {"relation": RelationKind.beside, "center_m": center.tolist(), "half_extent_m": half.tolist()}
    items = {item.name: item for item in (toaster, bottle)}
    cfg = TaskCfg(
        name="t",
        regions=[RegionCfg(object="cabinet")],
        relations=[RelationCfg(object=name, of="cabinet", **where) for name in items],
    )
    fronts = []
    for seed in SEEDS:
        layout = sample_layout(cfg, {**items, "cabinet": cabinet}, [], stream(seed, "layout"))
        assert layout.problem is None
        to_cabinet = layout.objects["cabinet"].T_world_root.inverse()
        for name, item in items.items():
            T = to_cabinet @ layout.objects[name].T_world_root
            x, y, _ = T @ np.array([item.bounds_obj[1, 0], item.bounds_obj[:, 1].mean(), 0.0])
            seen = np.array([cabinet.bounds_obj[1, 0] - x, cabinet.bounds_obj[:, 1].mean() - y])
            assert np.all(np.abs(seen - center) <= half + 1e-9)
            np.testing.assert_allclose(T.rotate([1.0, 0.0, 0.0]), [1.0, 0.0, 0.0], atol=1e-9)
            assert not overlaps(item, cabinet, layout)
            fronts.append(seen)
        assert not overlaps(bottle, toaster, layout)
    assert np.all(np.ptp(fronts, axis=0) > half)  # they use the region


def test_facing_by_region_on_a_plinth(cabinet, toaster):
    where = {"center_m": [-0.6, 0.3], "height_m": [0.1, 0.1]}
    layout = drawn(cabinet, toaster, 1, relation=RelationKind.facing, **where)
    place = layout.objects["toaster"]
    assert place.plinth_size_m is not None
    assert place.plinth_size_m[2] == pytest.approx(0.1)
    T = layout.objects["cabinet"].T_world_root.inverse() @ place.T_world_root
    front = T @ np.array([toaster.bounds_obj[1, 0], toaster.bounds_obj[:, 1].mean(), 0.0])
    to_middle = (cabinet.bounds_obj.mean(axis=0) - front)[:2]
    np.testing.assert_allclose(T.rotate([1.0, 0.0, 0.0])[:2], to_middle / np.linalg.norm(to_middle), atol=1e-9)


def test_an_object_without_a_free_place_is_reported_and_recorded(cabinet):
    fridge = generated("refrigerator", "2")
    layout = drawn(cabinet, fridge, 0, relation=RelationKind.inside, tries=7)
    assert layout.problem is not None
    assert "'refrigerator' finds no place inside 'cabinet' in 7 tries: no board of 'cabinet'" in layout.problem
    assert Layout.from_dict(layout.to_dict()).problem == layout.problem


def test_objects_are_placed_clear_of_an_open_door(cabinet, toaster):
    """In front of it, where its door comes when it is open, there is room only while it is closed."""
    met = {}
    for opening in (0.0, 1.2):
        cfg = TaskCfg(
            name="t",
            regions=[RegionCfg(object="cabinet", yaw_deg=0.0, height_m=[0.0, 0.0])],
            relations=[
                RelationCfg(object="toaster", of="cabinet", relation=RelationKind.beside, center_m=[-0.4, 0.0], tries=1)
            ],
            openness=[OpennessCfg(object="cabinet", part="door", range=[opening, opening])],
        )
        met[opening] = sample_layout(cfg, {"cabinet": cabinet, "toaster": toaster}, [], stream(1, "layout")).problem
    assert met[0.0] is None
    assert met[1.2] is not None
    assert "meets 'cabinet'" in met[1.2]


def test_relations_are_placed_each_after_the_one_it_refers_to(cabinet, toaster, bottle):
    cfg = TaskCfg(
        name="t",
        regions=[RegionCfg(object="cabinet")],
        relations=[
            RelationCfg(object="bottle", of="toaster", relation=RelationKind.beside, distance_m=[0.3, 0.4]),
            RelationCfg(object="toaster", of="cabinet", relation=RelationKind.beside, distance_m=[0.7, 0.8]),
        ],
    )
    assert order_relations(cfg.relations) == ["toaster", "bottle"]
    layout = sample_layout(cfg, {"bottle": bottle, "toaster": toaster, "cabinet": cabinet}, [], stream(1, "layout"))
    assert list(layout.objects) == ["bottle", "toaster", "cabinet"]
    assert layout.problem is None
    again = sample_layout(cfg, {"bottle": bottle, "toaster": toaster, "cabinet": cabinet}, [], stream(1, "layout"))
    assert again.to_dict() == layout.to_dict()


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"relation": RelationKind.beside}, r"has neither center_m nor distance_m\. Expected one of"),
        (
            {"relation": RelationKind.facing, "center_m": [0, 0], "distance_m": [1, 2]},
            r"has center_m and distance_m\. Expected one",
        ),
        ({"relation": RelationKind.inside, "distance_m": [1, 2]}, r"distance_m has no effect for relation=inside"),
        ({"relation": RelationKind.on, "height_m": [0, 0.1]}, r"height_m has no effect for relation=on"),
        ({"relation": RelationKind.on, "center_m": [1.0]}, r"center_m has 1 values, expected 2"),
        ({"relation": RelationKind.on, "half_extent_m": [-0.1, 0.0]}, r"half_extent_m\[0\]=-0\.1 is out of range"),
        ({"relation": RelationKind.beside, "distance_m": [2, 1]}, r"distance_m=\[2, 1\] must be low <= high"),
        ({"relation": RelationKind.on, "tries": 0}, r"tries=0 is out of range"),
    ],
)
def test_invalid_relations_are_refused(keys, message):
    with pytest.raises(ConfigError, match=message):
        RelationCfg(object="a", of="b", **keys)


def test_a_circle_of_relations_is_refused():
    entries = [RelationCfg(object=a, of=b, relation=RelationKind.on) for a, b in (("x", "y"), ("y", "z"), ("z", "x"))]
    with pytest.raises(ConfigError, match=r"form a circle: x -> y -> z -> x"):
        order_relations(entries)


def test_a_box_turned_by_an_eighth_needs_more_room(cabinet):
    """Margins are measured about the turned box, not about its own axes' bounds."""
    base = PlacedObject(cabinet, Pose.identity(), {})
    low, high = cabinet.bounds_obj
    side = np.array([[-0.1, -0.1, 0.0], [0.1, 0.1, 0.1]])
    beside = [0.0, high[1] + 0.12, low[2] + 0.1]
    assert not base.meets(side, Pose.from_translation(beside), 0.01)
    assert base.meets(side, Pose.from_rpy(beside, (0.0, 0.0, np.pi / 4)), 0.01)
