"""What `pick` and `place` ask of the planner, without a scene."""

from dataclasses import dataclass, replace
from types import SimpleNamespace

import numpy as np
import pytest

from unlatch.objects.annotation_entries import RegionOpening
from unlatch.simcore.geometry import Pose
from unlatch.skills import place as place_module
from unlatch.skills.carrying import SurroundingRegion
from unlatch.skills.pick import LIFTED_M, Pick, PickCfg
from unlatch.skills.place import Place, PlaceCfg
from unlatch.skills.strategies.free_objects import TurnRange
from unlatch.solver.diagnosis import Diagnosis
from unlatch.solver.plan import KeyframePlan, PlanBudget

HEIGHT_M = 0.11


def lift_under(monkeypatch, shelf_m):
    """Returns the motions that lift a can from a board, with the next board so high above the first one [m]."""
    region = SimpleNamespace(opening=RegionOpening.front, size=np.array([0.36, 0.4, shelf_m]))
    around = SurroundingRegion(region, Pose.from_translation([0.6, 0.0, 0.3]), "refrigerator")
    points = {"bottom_center": np.zeros(3), "top_center": np.array([0.0, 0.0, HEIGHT_M])}
    articulation = SimpleNamespace(keypoint=lambda name: SimpleNamespace(xyz=points[name]))
    bounds = np.array([[-0.03, -0.03, 0.0], [0.03, 0.03, HEIGHT_M]])
    monkeypatch.setattr(Pick, "surrounding_region", lambda self: around)
    monkeypatch.setattr(Pick, "T_world_object", Pose.from_translation([0.65, 0.0, 0.3]))
    skill = Pick.__new__(Pick)
    skill.cfg = PickCfg(name="pick", objects=["can"])
    skill.object = SimpleNamespace(asset=SimpleNamespace(bounds_obj=bounds, articulation=articulation))
    return skill._lift()[0]


@pytest.mark.parametrize("shelf_m", [0.125, 0.14, 0.15])
def test_a_low_shelf_leaves_room_above_what_is_lifted(monkeypatch, shelf_m):
    motions = lift_under(monkeypatch, shelf_m)
    before_way_out = motions[: [mode for mode, _ in motions].index("translate_out")]
    assert sum(value for _, value in before_way_out) < shelf_m - HEIGHT_M
    assert sum(value for mode, value in motions if mode == "move-up") > LIFTED_M


def test_under_a_high_shelf_all_of_the_lift_comes_first(monkeypatch):
    (mode, value), (out, _) = lift_under(monkeypatch, 0.2)
    assert (mode, out) == ("move-up", "translate_out")
    assert value == 0.03


@dataclass(frozen=True)
class _Request:
    budget: PlanBudget
    spot: float


def budgets_of_spots(monkeypatch, stage, *, thorough):
    """Returns how many searches each spot may use if all of them are refused at a stage."""
    seen = []

    def refuse(request, *_):
        seen.append(request.budget.searches)
        return KeyframePlan(False, diagnosis=Diagnosis("motion_blocked", "", {"stage": stage}))

    floor = SimpleNamespace(T_world_floor=Pose.identity(), size=np.ones(2), opens_above=False)
    budget = PlanBudget()
    monkeypatch.setattr(place_module, "find_spots", lambda *_, **__: [np.full(3, each) for each in range(3)])
    monkeypatch.setattr(place_module, "plan_keyframes", refuse)
    monkeypatch.setattr(Place, "_floor", lambda self: floor)
    monkeypatch.setattr(Place, "_target", lambda self: SimpleNamespace(region="inside"))
    monkeypatch.setattr(Place, "_turns_with_room", lambda self, spot, floor: [TurnRange(0.0, np.pi)])
    monkeypatch.setattr(Place, "_request", lambda self, spot, floor, turns, budget: _Request(budget, spot[0]))
    monkeypatch.setattr(Place, "obstacles_near", lambda self, point: [])
    monkeypatch.setattr(Place, "radius_m", 0.03)
    monkeypatch.setattr(Place, "height_m", HEIGHT_M)
    skill = Place.__new__(Place)
    skill.cfg, skill.object_name, skill.suggestion = PlaceCfg(name="place", objects=["can", "cabinet"]), "can", None
    skill.context = SimpleNamespace(checker=None, budget=budget if thorough else replace(budget, thorough=False))
    list(skill.plan_options(np.random.default_rng(0)))
    return seen


def test_a_first_look_searches_a_way_around_things_to_one_spot_only(monkeypatch):
    assert budgets_of_spots(monkeypatch, "transit", thorough=False) == [PlanBudget.searches, 0, 0]


def test_spots_refused_for_other_reasons_keep_their_searches(monkeypatch):
    assert budgets_of_spots(monkeypatch, "contact", thorough=False) == [PlanBudget.searches] * 3


def test_the_full_budget_searches_a_way_to_every_spot(monkeypatch):
    assert budgets_of_spots(monkeypatch, "transit", thorough=True)[:3] == [PlanBudget.searches] * 3
