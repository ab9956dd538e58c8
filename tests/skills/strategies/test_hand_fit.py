"""How a hand takes a part, read off its colliders."""

from dataclasses import dataclass

import numpy as np
import pytest

from unlatch.objects.annotation import Handle, HandleType, PartKind
from unlatch.objects.config import ObjectCfg
from unlatch.objects.library import load_object
from unlatch.objects.procedural.links import LinkBuilder
from unlatch.robots.catalog import load_robot
from unlatch.robots.hand_shape import hand_shape
from unlatch.simcore.geometry import Pose
from unlatch.skills.strategies.hand_fit import LEAST_HELD_M, TIP_ROOM_M, HandFit
from unlatch.skills.strategies.open_close import start_range, widened_start
from unlatch.skills.strategies.ranking import derive_strategies

HAND = hand_shape("franka_panda", load_robot("franka_panda").arms[0])
GREY = (0.5, 0.5, 0.5, 1.0)
BAR_M = 0.01
"""Thickness of the bar."""


@dataclass(frozen=True)
class Drawer:
    """A drawer whose front is the plane x = 0, closed, and a top that stands over it."""

    overhang_m: float = 0.0
    """How far the top stands out before the front."""
    above_m: float = 0.03
    """Height of the top above the middle of the bar, or above the upper edge of the front."""
    standoff_m: float = 0.04
    """Free gap behind the bar."""
    handle: HandleType = HandleType.bar

    def made(self, make_object):
        """The object."""
        body, link = LinkBuilder("body"), LinkBuilder("drawer")
        is_edge = self.handle is HandleType.edge
        top = (0.1 if is_edge else 0.0) + self.above_m
        body.box("top", (-0.4, -0.3, top), (self.overhang_m, 0.3, top + 0.02), rgba=GREY)
        body.box("side", (-0.4, -0.3, -0.3), (-0.01, -0.25, top), rgba=GREY)
        link.box("front", (-0.02, -0.2, -0.1), (0.0, 0.2, 0.1 if is_edge else min(0.1, top - 0.002)), rgba=GREY)
        if is_edge:
            head, size = np.array([-0.01, 0.0, 0.088]), np.array([0.024, 0.02, 0.4])
        else:
            head = np.array([self.standoff_m + BAR_M / 2, 0.0, 0.0])
            half = np.array([BAR_M / 2, 0.07, BAR_M / 2])
            link.box("bar", head - half, head + half, rgba=GREY)
            size = np.array([BAR_M, BAR_M, 0.14])
        return make_object(
            body,
            link,
            kind=PartKind.slider,
            axis=[1.0, 0.0, 0.0],
            upper=0.3,
            head=head,
            across=[0.0, 0.0, -1.0],
            along=[0.0, 1.0, 0.0],
            spot=[0.0, 0.1, 0.0],
            handle=Handle(self.handle, size, Pose.from_translation(head)),
        )


def hand_fit_of(drawer, make_object):
    asset, part = drawer.made(make_object)
    return HandFit(asset, part, HAND, approach_m=0.1)


def test_a_free_bar_is_taken_on_its_head(make_object):
    grasp = hand_fit_of(Drawer(), make_object).grasp(0.0)
    assert (grasp.width_m, grasp.setback_m) == (pytest.approx(BAR_M + 0.03), 0.0)


@pytest.mark.parametrize("standoff", [0.001, 0.003])
def test_fingertips_stay_off_the_front_behind_a_flat_bar(make_object, standoff):
    grasp = hand_fit_of(Drawer(standoff_m=standoff), make_object).grasp(0.0)
    tips = standoff + BAR_M / 2 + grasp.setback_m - HAND.tip_m
    assert TIP_ROOM_M <= tips <= TIP_ROOM_M + 1e-3
    assert standoff + BAR_M - tips >= LEAST_HELD_M - 1e-3  # the pads still reach over the bar


def test_a_bar_that_lies_on_the_front_cannot_be_taken(make_object):
    assert hand_fit_of(Drawer(standoff_m=-0.004), make_object).grasp(0.0) is None


@pytest.mark.parametrize(("above", "fits"), [(0.042, True), (0.03, False)])
def test_fingers_open_less_below_an_overhanging_top(make_object, above, fits):
    grasp = hand_fit_of(Drawer(overhang_m=0.06, above_m=above), make_object).grasp(0.0)
    assert (grasp is not None) == fits
    assert grasp is None or grasp.width_m < BAR_M + 0.03


@pytest.mark.slow
def test_an_edge_opens_until_a_finger_fits_behind_it(make_object):
    start = {}
    for overhang in (0.0, 0.06):
        asset, part = Drawer(overhang_m=overhang, above_m=0.004, handle=HandleType.edge).made(make_object)
        fit = HandFit(asset, part, HAND, approach_m=0.06)
        asked = start_range("open", part, asset)
        start[overhang] = widened_start(asked, part, fit)
        grasps = [fit.grasp(opening) for opening in start[overhang]]
        strategies = derive_strategies("open", asset, part, HAND, start[overhang])
        assert strategies[0][0] == "edge"
        assert strategies[0][1].approach_width_m == min(grasp.width_m for grasp in grasps)
        held = [setting for name, setting in strategies if name.startswith("edge")]
        shifts = [setting.keypoint_shifts.get("articulated_object_head") for setting in held]
        assert shifts == [None, [0.0, 0.12, 0.0], [0.0, -0.12, 0.0]]
    assert start[0.0] == asked
    assert start[0.06][0] > start[0.0][0] + 0.02


@pytest.mark.slow
def test_a_handle_that_no_hand_fits_while_closed_starts_ajar(make_object):
    asset, part = Drawer(overhang_m=0.06, above_m=0.03).made(make_object)
    fit = HandFit(asset, part, HAND, approach_m=0.1)
    low, high = widened_start((0.0, 0.0), part, fit)
    assert 0.0 < low < high <= 0.6 * 1.2 * 0.3 + 1e-9
    assert fit.grasp(low) is not None
    assert fit.grasp(0.0) is None
    free, free_part = Drawer().made(make_object)
    assert widened_start((0.0, 0.0), free_part, HandFit(free, free_part, HAND, approach_m=0.1)) == (0.0, 0.0)


def test_only_the_part_may_be_between_the_fingers(make_object):
    asset, part = Drawer().made(make_object)
    assert HandFit(asset, part, HAND, approach_m=0.1).grasp(0.0) is not None
    urdf = asset.urdf_path.read_text()
    rail = '<collision><origin xyz="0.045 0 -0.009"/><geometry><box size="0.006 0.3 0.006"/></geometry></collision>'
    asset.urdf_path.write_text(urdf.replace('<link name="body">', f'<link name="body">{rail}'))
    assert HandFit(asset, part, HAND, approach_m=0.1).grasp(0.0) is None


@pytest.mark.slow
def test_a_part_in_which_no_hand_fits_keeps_its_start(make_object):
    asset, part = Drawer(standoff_m=-0.004).made(make_object)
    assert widened_start((0.0, 0.0), part, HandFit(asset, part, HAND, approach_m=0.1)) == (0.0, 0.0)
    ((name, setting),) = derive_strategies("open", asset, part, HAND, (0.0, 0.0))
    assert name == "bar"
    assert setting.approach_width_m is None


def test_a_knob_of_a_door_is_held_along_the_hinge_first_and_never_wedged():
    asset = load_object(
        ObjectCfg(name="cabinet", category="cabinet", instance="97320000"), rng=np.random.default_rng(0)
    )
    part = asset.articulation.part("door")
    assert part.handle.type is HandleType.knob
    along, across, *_ = derive_strategies("open", asset, part, HAND, (0.0, 0.0))
    assert (along[0], across[0]) == ("knob_along_hinge", "knob")
    closing = next(c for c in along[1].constraint_list if c.tool_names().get("axis_to_keypoint_name") == "tool_side")
    assert closing.target_axis == "link0_contact_axis"
    assert (along[1].slips, across[1].slips) == (["side", "fixed"], ["fixed", "side"])


def test_a_place_beside_the_head_lies_on_the_part():
    asset = load_object(ObjectCfg(name="door", category="door", instance="7"), rng=np.random.default_rng(0))
    part = asset.articulation.part("door")
    fit = HandFit(asset, part, HAND, approach_m=0.06)
    _, along, _ = fit.axes_link()
    heights = fit.solids.vertices(part.link) @ along
    head = float(part.keypoint("articulated_object_head").xyz @ along)
    assert len(fit.shifts()) == 1  # its lever stands low, the other place lay below the door
    for shift in fit.shifts():
        assert heights.min() < head + shift < heights.max()


def lever_of_toaster(make_object, *, has_roof, roof_m=0.12):
    """A lever that slides up along a wall; a roof may stand out over it, at a height `roof_m`."""
    body, link = LinkBuilder("body"), LinkBuilder("lever")
    body.box("wall", (-0.2, -0.1, -0.2), (0.0, 0.1, 0.14), rgba=GREY)
    if has_roof:
        body.box("roof", (0.0, -0.1, roof_m), (0.15, 0.1, roof_m + 0.02), rgba=GREY)
    head, half = np.array([0.02, 0.0, 0.0]), np.array([0.015, 0.017, 0.005])
    link.box("lever", head - half, head + half, rgba=GREY)
    return make_object(
        body,
        link,
        kind=PartKind.slider,
        axis=[0.0, 0.0, 1.0],
        upper=0.1,
        head=head,
        across=[0.0, 1.0, 0.0],
        along=[-1.0, 0.0, 0.0],
        spot=[0.02, 0.0, 0.005],
        handle=Handle(HandleType.knob, 2 * half[[2, 1, 0]], Pose.from_translation(head)),
    )


def test_a_lever_below_a_roof_is_taken_from_the_front(make_object):
    asset, part = lever_of_toaster(make_object, has_roof=True)
    assert HandFit(asset, part, HAND, approach_m=0.1).grasp(0.0) is None
    strategies = dict(derive_strategies("open", asset, part, HAND, (0.0, 0.0)))
    assert list(strategies) == ["front", "front_2"]  # no knob, where the hand does not fit
    _, closing, palm = strategies["front"].constraint_list
    assert (closing.target_axis, palm.target_axis) == ([0.0, 0.0, 1.0], [1.0, 0.0, 0.0])


def test_a_lever_that_a_hand_from_above_fits_is_taken_from_there_first(make_object):
    asset, part = lever_of_toaster(make_object, has_roof=False)
    names = [name for name, _ in derive_strategies("open", asset, part, HAND, (0.0, 0.0))]
    assert names == ["knob", "front", "front_2"]


def test_a_drawer_has_no_grasp_along_its_front(make_object):
    assert hand_fit_of(Drawer(handle=HandleType.knob), make_object).front_directions() is None


def wheel(make_object, *, spoke_m):
    """A door with a lock wheel of four spokes of length `spoke_m`, held near the middle of the wheel."""
    body, leaf = LinkBuilder("body"), LinkBuilder("leaf")
    body.box("back", (-0.4, 0.0, -0.3), (-0.38, 0.5, 0.3), rgba=GREY)
    leaf.box("panel", (-0.02, 0.0, -0.3), (0.0, 0.4, 0.3), rgba=GREY)
    leaf.box("hub", (0.0, 0.24, -0.01), (0.05, 0.26, 0.01), rgba=GREY)
    leaf.box("upright", (0.035, 0.242, -spoke_m), (0.05, 0.258, spoke_m), rgba=GREY)
    leaf.box("across", (0.035, 0.25 - spoke_m, -0.008), (0.05, 0.25 + spoke_m, 0.008), rgba=GREY)
    head = np.array([0.0425, 0.25, -0.01])
    return make_object(
        body,
        leaf,
        kind=PartKind.hinge_vertical,
        axis=[0.0, 0.0, -1.0],
        upper=1.5,
        head=head,
        across=[0.0, 1.0, 0.0],
        along=[0.0, 0.0, 1.0],
        spot=[0.0, 0.3, 0.1],
        handle=Handle(HandleType.bar, np.array([0.015, 0.016, 2 * spoke_m]), Pose.from_translation(head)),
    )


@pytest.mark.slow
def test_a_wheel_is_held_at_a_spoke_beside_the_others(make_object):
    asset, part = wheel(make_object, spoke_m=0.055)
    fit = HandFit(asset, part, HAND, approach_m=0.1)
    assert fit.grasp(0.0) is None  # at the head, the fingers meet the spokes that run across
    assert widened_start((0.0, 0.0), part, fit) == (0.0, 0.0)
    strategies = derive_strategies("open", asset, part, HAND, (0.0, 0.0))
    held = [(name, setting) for name, setting in strategies if setting.approach_width_m]
    assert len(held) == 2
    assert [name for name, _ in strategies[:2]] == [name for name, _ in held]
    for _, setting in held:
        height = part.keypoint("articulated_object_head").xyz[2] + setting.keypoint_shifts["articulated_object_head"][2]
        assert 0.018 < abs(height) < 0.055  # beyond the spokes across, half a finger away, and on the upright


@pytest.mark.slow
def test_a_wheel_whose_spokes_are_too_short_for_fingers_is_held_nowhere(make_object):
    asset, part = wheel(make_object, spoke_m=0.025)
    assert HandFit(asset, part, HAND, approach_m=0.1).grasp_shifts((0.0, 0.0)) == [0.0]


def test_a_lever_is_led_down_by_a_grasp_where_no_push_fits(make_object):
    asset, part = lever_of_toaster(make_object, has_roof=True, roof_m=0.17)
    strategies = derive_strategies("close", asset, part, HAND, (0.04, 0.06))
    assert [name for name, _ in strategies] == ["front", "front_2", "push"]
    _, grasp = strategies[0]
    assert grasp.approach_width_m
    assert grasp.follow_joint is not None
    assert grasp.follow_joint.to == 0.0
    assert grasp.success_threshold == pytest.approx(0.01)


@pytest.mark.parametrize(("is_round", "shifts"), [(False, {"edge+9cm", "edge-9cm"}), (True, set())])
def test_the_edge_of_a_panel_is_also_held_beside_its_head_but_not_off_a_round_rim(make_object, is_round, shifts):
    body, link = LinkBuilder("body"), LinkBuilder("door")
    body.box("wall", (-0.4, 0.0, -0.2), (-0.05, 0.36, 0.2), rgba=GREY)
    if is_round:
        link.cylinder("disc", (0.01, 0.15, 0.0), axis="x", radius=0.15, length=0.02, rgba=GREY)
    else:
        link.box("panel", (0.0, 0.0, -0.15), (0.02, 0.3, 0.15), rgba=GREY)
    head = np.array([0.01, 0.288, 0.0])
    R_handle = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    asset, part = make_object(
        body,
        link,
        kind=PartKind.hinge_vertical,
        axis=(0, 0, -1),
        upper=1.6,
        head=head,
        across=(0, 1, 0),
        along=(0, 0, 1),
        spot=(0.02, 0.2, 0.0),
        handle=Handle(HandleType.edge, np.array([0.024, 0.02, 0.3]), Pose(R_handle, head)),
    )
    names = [name for name, _ in derive_strategies("open", asset, part, HAND, (0.4, 0.48))]
    assert names[0] == "edge"
    assert {name for name in names if name.endswith("cm")} == shifts
