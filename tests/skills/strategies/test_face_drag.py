"""Where closed fingertips drag a part by friction, and that nothing else is left to do then."""

import numpy as np
import pytest

from unlatch.objects.annotation import SPOT, Handle, HandleType, PartKind
from unlatch.objects.procedural.links import LinkBuilder
from unlatch.robots.catalog import load_robot
from unlatch.robots.hand_shape import hand_shape
from unlatch.simcore.errors import ConfigError
from unlatch.simcore.geometry import Pose
from unlatch.skills.strategies.hand_fit import HandFit
from unlatch.skills.strategies.pushing import MET_EARLY_M, drag_spots
from unlatch.skills.strategies.ranking import derive_strategies, dragged_start

HAND = hand_shape(load_robot("franka_panda"), load_robot("franka_panda").arms[0])
GREY = (0.5, 0.5, 0.5, 1.0)
CLOSED = (0.0, 0.0)


def sliding_panel(make_object, *, handle=False, bridge=False, shelf=False):
    """A panel in a frame whose front, the plane x = 0, it does not leave: it slides along y by 0.25 m.

    It may have a bar, a broad bridge across the middle of its way, or a shelf before all of it.
    """
    body, panel = LinkBuilder("body"), LinkBuilder("panel")
    body.box("left", (-0.1, -0.32, 0.0), (0.0, -0.3, 0.4), rgba=GREY)
    body.box("right", (-0.1, 0.3, 0.0), (0.0, 0.32, 0.4), rgba=GREY)
    body.box("low", (-0.1, -0.32, -0.02), (0.0, 0.32, 0.0), rgba=GREY)
    body.box("high", (-0.1, -0.32, 0.4), (0.0, 0.32, 0.42), rgba=GREY)
    if bridge:
        body.box("bridge", (0.02, -0.05, -0.02), (0.04, 0.05, 0.2), rgba=GREY)
    if shelf:
        body.box("shelf", (0.01, -0.32, 0.0), (0.03, 0.32, 0.4), rgba=GREY)
    panel.box("panel", (-0.02, -0.298, 0.002), (0.0, 0.0, 0.398), rgba=GREY)
    head, size = np.array([-0.01, -0.01, 0.2]), np.array([0.024, 0.02, 0.396])
    type_ = HandleType.edge
    if handle:
        panel.box("bar", (0.05, -0.03, 0.12), (0.06, -0.02, 0.28), rgba=GREY)
        head, size, type_ = np.array([0.055, -0.025, 0.2]), np.array([0.01, 0.01, 0.16]), HandleType.bar
    return make_object(
        body,
        panel,
        kind=PartKind.slider,
        axis=[0.0, 1.0, 0.0],
        upper=0.25,
        head=head,
        across=[0.0, 1.0, 0.0] if handle else [0.0, 0.0, -1.0],
        along=[0.0, 0.0, 1.0] if handle else [-1.0, 0.0, 0.0],
        spot=[0.0, -0.1, 0.2],
        handle=Handle(type_, size, Pose.from_translation(head)),
    )


def turntable(make_object, *, radius_m=0.14):
    """A square table in a frame of the same height, which turns about the vertical; nothing of it can be held."""
    body, table = LinkBuilder("body"), LinkBuilder("table")
    body.box("below", (-0.2, -0.2, 0.0), (0.2, 0.2, 0.04), rgba=GREY)
    table.box("table", (-radius_m, -radius_m, 0.045), (radius_m, radius_m, 0.07), rgba=GREY)
    return make_object(
        body,
        table,
        kind=PartKind.knob,
        axis=[0.0, 0.0, 1.0],
        upper=3.0,
        head=np.array([0.0, 0.0, 0.06]),
        across=[0.0, 1.0, 0.0],
        along=[-1.0, 0.0, 0.0],
        spot=[0.0, 0.0, 0.07],
        handle=Handle(HandleType.none, np.zeros(3)),
    )


def test_a_panel_with_nothing_to_hold_is_dragged_by_its_front(make_object):
    asset, part = sliding_panel(make_object)
    drags = {name: s for name, s in derive_strategies("open", asset, part, HAND, CLOSED) if name.startswith("drag")}
    assert list(drags)[:2] == ["drag", "drag_2"]
    for setting in drags.values():
        x, y, z = part.keypoint(SPOT).xyz + setting.keypoint_shifts[SPOT]
        assert (x, setting.press_direction) == (pytest.approx(MET_EARLY_M), [-1.0, 0.0, 0.0])
        assert -0.298 + 0.015 <= y <= -0.015
        assert 0.002 + 0.015 <= z <= 0.398 - 0.015
        assert (setting.approach_width_m, setting.slips) == (0.0, ["fixed"])


def test_friction_is_the_last_resort(make_object):
    names = [name for name, _ in derive_strategies("open", *sliding_panel(make_object), HAND, CLOSED)]
    assert [name.startswith("drag") for name in names] == sorted(name.startswith("drag") for name in names)
    with_bar = derive_strategies("open", *sliding_panel(make_object, handle=True), HAND, CLOSED)
    assert with_bar
    assert not any(name.startswith("drag") for name, _ in with_bar)


@pytest.mark.slow
def test_a_panel_that_only_friction_opens_starts_closed(make_object):
    asset, part = sliding_panel(make_object)
    assert dragged_start(asset, part, HAND, (0.085, 0.102)) == CLOSED
    asset, part = sliding_panel(make_object, handle=True)
    assert dragged_start(asset, part, HAND, (0.085, 0.102)) == (0.085, 0.102)


def test_the_hand_keeps_clear_of_what_it_would_meet_on_the_way(make_object):
    asset, part = sliding_panel(make_object, bridge=True)
    spots = drag_spots(HandFit(asset, part, HAND, approach_m=0.0), CLOSED, 0.225)
    assert spots
    assert min(spot.point[2] for spot in spots) > 0.2, "the fingertips would be dragged below the bridge"
    asset, part = sliding_panel(make_object, shelf=True)
    assert drag_spots(HandFit(asset, part, HAND, approach_m=0.0), CLOSED, 0.225) == []


@pytest.mark.parametrize(("skill", "end"), [("open", 0.75), ("rotate", 1.8), ("close", 0.0)])
def test_a_flush_table_is_turned_by_fingertips_off_its_axis(make_object, skill, end):
    asset, part = turntable(make_object)
    start = (0.6, 0.6) if skill == "close" else CLOSED
    strategies = derive_strategies(skill, asset, part, HAND, start)
    assert [name for name, _ in strategies] == ["drag", "drag_2", "drag_3", "drag_4"]
    for _, setting in strategies:
        x, y, z = part.keypoint(SPOT).xyz + setting.keypoint_shifts[SPOT]
        assert z == pytest.approx(0.07 + MET_EARLY_M)
        assert np.hypot(x, y) > 0.03
        assert setting.press_direction == [0.0, 0.0, -1.0]
        assert setting.follow_joint.to == pytest.approx(end)


@pytest.mark.parametrize(
    ("skill", "message"), [("open", "neither a handle nor an edge"), ("rotate", "nothing of it fits between fingers")]
)
def test_a_face_that_is_smaller_than_fingertips_and_their_lever_is_refused(make_object, skill, message):
    with pytest.raises(ConfigError, match=message):
        derive_strategies(skill, *turntable(make_object, radius_m=0.025), HAND, CLOSED)
