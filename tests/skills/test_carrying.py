"""Skills that carry, without a scene: what they choose, what they ask of the planner, and when a thing has slipped."""

from dataclasses import dataclass, replace
from types import SimpleNamespace

import numpy as np
import pytest

from unlatch.objects.annotation_entries import RegionOpening
from unlatch.simcore.geometry import Pose
from unlatch.skills import place as place_module
from unlatch.skills.carrying import CarryingSkill, SurroundingRegion
from unlatch.skills.pick import LIFTED_M, Pick, PickCfg
from unlatch.skills.place import Place, PlaceCfg
from unlatch.skills.strategies.free_objects import TurnRange
from unlatch.solver.diagnosis import Diagnosis
from unlatch.solver.plan import KeyframePlan, PlanBudget

HEIGHT_M = 0.11
ROOT_BELOW_M = 0.12
"""How far the root of a held object is from the spot between the pads [m]."""


@pytest.fixture
def patch(monkeypatch):
    def patched(kind, **values):
        for name, value in values.items():
            monkeypatch.setattr(kind, name, value, raising=False)

    return patched


@pytest.mark.parametrize("found", [[False, True, False, True], [True, False]])
def test_plan_takes_the_first_choice_that_has_a_plan_and_plan_next_goes_on_with_the_others(patch, found):
    plans = [SimpleNamespace(found=each, diagnosis=None) for each in found]
    patch(
        Pick,
        load_checker=lambda self: None,
        plan_options=lambda self, rng: iter(plans),
        make_commands=lambda self, plan: [plan],
        refuse=lambda self, plan: setattr(self, "refused", plan),
    )
    skill = Pick.__new__(Pick)
    first, *others = [plan for plan in plans if plan.found]
    assert CarryingSkill.plan(skill, None)
    assert skill.commands == [first]
    assert skill.plan_next() == bool(others)
    assert skill.commands == others
    assert others or skill.refused is plans[1]


@pytest.mark.parametrize(("scale", "lift_m"), [(1.0, 0.1), (0.5, 0.05), (0.1, LIFTED_M)])
def test_a_small_arm_lifts_by_less_but_enough(patch, scale, lift_m):
    patch(Pick, surrounding_region=lambda self: None)
    skill = Pick.__new__(Pick)
    skill.cfg, skill.context = PickCfg(name="pick", objects=["can"]), SimpleNamespace(scale=scale)
    assert skill._lift() == ([["move-up", pytest.approx(lift_m)]], {})


def lift_under(patch, shelf_m):
    """Returns the motions that lift a can from a board, with the next board so high above the first one [m]."""
    region = SimpleNamespace(opening=RegionOpening.front, size=np.array([0.36, 0.4, shelf_m]))
    around = SurroundingRegion(region, Pose.from_translation([0.6, 0.0, 0.3]), "refrigerator")
    points = {"bottom_center": np.zeros(3), "top_center": np.array([0.0, 0.0, HEIGHT_M])}
    articulation = SimpleNamespace(keypoint=lambda name: SimpleNamespace(xyz=points[name]))
    bounds = np.array([[-0.03, -0.03, 0.0], [0.03, 0.03, HEIGHT_M]])
    patch(Pick, surrounding_region=lambda self: around, T_world_object=Pose.from_translation([0.65, 0.0, 0.3]))
    skill = Pick.__new__(Pick)
    skill.cfg, skill.context = PickCfg(name="pick", objects=["can"]), SimpleNamespace(scale=1.0)
    skill.object = SimpleNamespace(asset=SimpleNamespace(bounds_obj=bounds, articulation=articulation))
    return skill._lift()[0]


@pytest.mark.parametrize("shelf_m", [0.125, 0.14, 0.15])
def test_a_low_shelf_leaves_room_above_what_is_lifted(patch, shelf_m):
    motions = lift_under(patch, shelf_m)
    before_way_out = motions[: [mode for mode, _ in motions].index("translate_out")]
    assert sum(value for _, value in before_way_out) < shelf_m - HEIGHT_M
    assert sum(value for mode, value in motions if mode == "move-up") > LIFTED_M


def test_under_a_high_shelf_all_of_the_lift_comes_first(patch):
    up, (out, _) = lift_under(patch, 0.2)
    assert (tuple(up), out) == (("move-up", 0.03), "translate_out")


@dataclass(frozen=True)
class _Request:
    budget: PlanBudget
    spot: float


@pytest.mark.parametrize(
    ("stage", "thorough", "searches"),
    [("transit", False, [1, 0, 0]), ("contact", False, [1, 1, 1]), ("transit", True, [1, 1, 1])],
    ids=["a first look searches a way to one spot only", "refused for other reasons", "the full budget"],
)
def test_how_many_searches_each_refused_spot_may_use(patch, stage, thorough, searches):
    seen = []

    def refuse(request, *_):
        seen.append(request.budget.searches)
        return KeyframePlan(False, diagnosis=Diagnosis("motion_blocked", "", {"stage": stage}))

    floor = SimpleNamespace(T_world_floor=Pose.identity(), size=np.ones(2), opens_above=False)
    spots = [np.full(3, each) for each in range(3)]
    patch(place_module, find_spots=lambda *_, **__: spots, plan_keyframes=refuse)
    patch(
        Place,
        _floor=lambda self: floor,
        _target=lambda self: SimpleNamespace(region="inside"),
        _turns_with_room=lambda self, spot, floor: [TurnRange(0.0, np.pi)],
        _request=lambda self, spot, floor, turns, budget: _Request(budget, spot[0]),
        obstacles_near=lambda self, point: [],
        radius_m=0.03,
        height_m=HEIGHT_M,
    )
    skill = Place.__new__(Place)
    skill.cfg, skill.object_name, skill.suggestion = PlaceCfg(name="place", objects=["can", "cabinet"]), "can", None
    skill.context = SimpleNamespace(checker=None, budget=replace(PlanBudget(), thorough=thorough))
    list(skill.plan_options(np.random.default_rng(0)))
    assert seen[:3] == [PlanBudget.searches * each for each in searches]
    assert thorough or len(seen) == 3


@pytest.mark.parametrize(
    ("turn_rad", "shift_m", "codes"),
    [(0.3, 0.0, []), (0.0, 0.015, []), (0.0, 0.025, ["slipped"]), (0.7, 0.0, ["slipped"])],
    ids=["a turn between the pads", "a small shift", "a large shift", "a large turn"],
)
def test_slip_is_measured_at_the_spot_between_the_pads(patch, turn_rad, shift_m, codes):
    head, below = np.array([0.0, 0.0, 0.1]), np.array([0.0, 0.0, ROOT_BELOW_M])
    here = SimpleNamespace(pose=Pose(np.eye(3), head + below))
    keypoints = SimpleNamespace(keypoints={"tool_head": head.tolist()})
    arm = SimpleNamespace(T_base_ee=Pose.identity(), T_world_base=Pose.identity(), cfg=keypoints)
    body = SimpleNamespace(body=SimpleNamespace(root_pose=lambda: here.pose))
    patch(Pick, is_carrying=True, object=body, phase=SimpleNamespace(name="follow"), object_name="cup")
    skill, found = Pick.__new__(Pick), []
    skill.context = SimpleNamespace(arm=arm, frames=lambda seconds: 5)
    force = SimpleNamespace(force_max_n=SimpleNamespace(get_value=lambda: 1.0))
    skill.views = SimpleNamespace(fingers_link=force)
    skill._T_ee_object, skill._lost_frames = None, 0
    skill.fail = lambda code, message, **evidence: found.append(code)
    CarryingSkill.check_frame(skill)
    R = Pose.from_rpy([0.0] * 3, [turn_rad, 0.0, 0.0]).R
    here.pose = Pose(R, head + R @ below + [shift_m, 0.0, 0.0])
    CarryingSkill.check_frame(skill)
    assert found == codes
