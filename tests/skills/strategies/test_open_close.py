"""Derived settings for opening: how the hand holds knobs and edges, and what it may do on them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from unlatch.objects.annotation import Handle, HandleType, Part, PartKind
from unlatch.objects.config import ObjectCfg
from unlatch.objects.library import load_object
from unlatch.skills.strategies.open_close import grasp_setting
from unlatch.skills.strategies.rotate import rotate_setting


def part_of(category: str, name: str) -> Part:
    """A part of a generated object."""
    asset = load_object(ObjectCfg(category, category, instance="0"), rng=np.random.default_rng(0))
    return asset.articulation.parts[name]


def blade() -> Part:
    """A knob with flat faces."""
    part = part_of("safe", "knob")
    return replace(part, handle=Handle(HandleType.knob, np.array([0.02, 0.012, 0.04]), part.handle.T_link_handle))


@pytest.mark.parametrize("along", [False, True])
def test_pads_meet_the_faces_of_a_blade_flat_whichever_skill_turns_it(along: bool):
    opened = grasp_setting(blade(), (0.0, 0.0), along=along)
    point, closing, _ = opened.constraint_list
    assert point.tolerance <= 0.0005
    assert closing.tool_names()["axis_to_keypoint_name"] == "tool_side"
    # a finger closes at 0.05 m/s; 9 mm from the axis, it turns a blade at 5.5 rad/s until the blade is in line
    assert closing.tolerance <= 0.005
    assert opened.constraint_list == rotate_setting(blade(), None, along=along).constraint_list


def test_a_round_handle_of_a_drawer_is_held_across_and_a_round_knob_at_any_angle():
    knob = part_of("safe", "knob")
    drawer = replace(knob, kind=PartKind.slider)
    assert len(grasp_setting(knob, (0.0, 0.0)).constraint_list) == 2
    assert len(grasp_setting(drawer, (0.0, 0.0)).constraint_list) == 3


def test_a_panel_may_turn_between_the_pads_but_not_pry_them_apart():
    lid = part_of("laptop", "lid")
    assert grasp_setting(lid, (0.4, 0.4)).slips == ["side"]
    assert grasp_setting(part_of("drawer", "drawer"), (0.0, 0.0)).slips == []
