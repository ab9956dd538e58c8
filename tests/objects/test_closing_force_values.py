"""Catch and gasket in annotations, and the values of a category."""

from dataclasses import replace

import numpy as np
import pytest
import yaml

from tests.objects.builders import generated
from unlatch.objects.annotation_entries import Catch, ClosingForces, Gasket
from unlatch.objects.annotation_reader import articulation_from_dict, articulation_from_yaml
from unlatch.objects.closing_force_values import (
    CLOSING_FORCE_RANGES,
    closing_reach,
    draw_closing_forces,
    handle_lever_m,
    with_category_forces,
)
from unlatch.objects.validation import validate_articulation
from unlatch.simcore.errors import AssetError

MOST_OPENING_N = 66.7
"""16 CFR 1750.5: the door of a refrigerator opens with this force."""
MOST_CLOSING_N = 30.0
"""Less than a hand pushes with."""


@pytest.fixture(scope="module")
def oven():
    return generated("microwave")


def with_entry(asset, entry):
    """Reads the annotation of an object again, with another entry `closing_forces` at its first part."""
    data = yaml.safe_load(asset.articulation.to_yaml())
    part = next(iter(data["parts"].values()))
    part.pop("closing_forces", None)
    if entry is not None:
        part["closing_forces"] = entry
    return articulation_from_dict(data, where="here.yaml")


def door_of(asset, articulation, *, category="microwave", instance="0"):
    """The door of an annotation with the values of a category where it states none."""
    return with_category_forces(articulation, asset.model, category=category, instance=instance).part("door")


def test_a_file_keeps_what_it_states(oven):
    entry = {"catch": {"leave_n": 25.0, "reach_m": 0.005, "enter_n": 12.0}, "gasket": {"pull_n": -3.0, "reach_m": 0.01}}
    articulation = with_entry(oven, entry)
    assert articulation.part("door").closing_forces == ClosingForces(Catch(25.0, 0.005, 12.0), Gasket(-3.0, 0.01))
    assert articulation.to_dict()["parts"]["door"]["closing_forces"] == entry


def test_a_catch_reaches_as_far_as_the_handle_moves_by_its_reach(oven):
    part = with_entry(oven, {"catch": {"leave_n": 25.0, "reach_m": 0.005}}).part("door")
    origin, head = oven.model.joints[part.joint].T_parent_joint.p, part.keypoint("articulated_object_head").xyz
    lever_m = np.hypot(*(oven.model.link_pose(part.link) @ head - origin)[:2])
    assert 0.3 < lever_m < 0.6
    assert closing_reach(part, oven.model) == pytest.approx(0.005 / lever_m)


@pytest.mark.parametrize("entry", [{}, {"catch": {"leave_n": 0.0, "reach_m": 0.0}}])
def test_a_part_has_no_catch_where_its_file_says_so(oven, entry):
    articulation = with_entry(oven, entry)
    part = door_of(oven, articulation)
    assert (part.peak_opening_force_n, part.peak_closing_force_n, closing_reach(part, oven.model)) == (0.0, 0.0, 0.0)
    again = articulation_from_yaml(articulation.to_yaml(), where="again").part("door")
    assert again.closing_forces == part.closing_forces


def test_a_file_that_states_nothing_gets_the_same_values_of_its_category_every_time(oven):
    silent = with_entry(oven, None)
    assert silent.part("door").closing_forces is None
    first, again, other = (
        door_of(oven, silent, category="Microwave", instance=name) for name in ("7128", "7128", "7167")
    )
    assert first.closing_forces == again.closing_forces != other.closing_forces
    assert 15.0 <= first.peak_opening_force_n <= 40.0
    unknown = door_of(oven, silent, category="object", instance="7128")
    assert (unknown.closing_forces, unknown.peak_opening_force_n) == (None, 0.0)


def test_a_part_without_a_stop_gets_no_values_and_may_state_none(oven):
    door = oven.articulation.part("door")
    ajar = replace(door, openness=replace(door.openness, closed=0.5 * door.openness.open))
    stated = replace(oven, articulation=replace(oven.articulation, parts={"door": ajar}))
    (problem,) = validate_articulation(stated)
    assert "closing_forces need a part that closes at a limit of its joint" in problem
    assert f"`closed` is {0.5 * door.openness.open:g} rad, the limit is 0 rad, the handle is 0." in problem
    silent = replace(oven.articulation, parts={"door": replace(ajar, closing_forces=None)})
    assert door_of(oven, silent).closing_forces is None


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        ({"catch": {"leave_n": 10.0, "reach_m": 0.0}}, r"closing_forces is not possible: catch\.reach_m is 0"),
        ({"catch": {"leave_n": -1.0, "reach_m": 0.1}}, r"catch\.leave_n is -1, expected 0 or more"),
        ({"catch": {"leave_n": 0.0, "enter_n": 4.0, "reach_m": 0.1}}, r"catch\.enter_n is 4, but leave_n is 0"),
        ({"gasket": {"pull_n": 3.0, "reach_m": 0.0}}, r"gasket\.reach_m is 0"),
        ({"gasket": {"pull_n": -3.0, "reach_m": 0.01}}, r"pushes the closed part open with 3 N more"),
    ],
)
def test_an_impossible_entry_is_refused(oven, entry, problem):
    with pytest.raises(AssetError, match=rf"here\.yaml: .*{problem}"):
        with_entry(oven, entry)


@pytest.mark.parametrize("key", list(CLOSING_FORCE_RANGES), ids=lambda key: f"{key[0]}-{key[1].name}")
def test_values_hold_closed_can_be_opened_and_closed_again(key):
    for seed in range(50):
        forces = draw_closing_forces(*key, np.random.default_rng(seed))
        assert 0.0 < forces.peak_opening_force_n <= MOST_OPENING_N
        assert forces.peak_closing_force_n <= MOST_CLOSING_N
        assert 0.0 < forces.reach_m <= 0.04


@pytest.mark.parametrize("category", ["drawer", "washing_machine"])
def test_generated_objects_state_their_forces_and_record_them(category):
    first, second = generated(category, 0), generated(category, 1)
    name, part = next(iter(first.articulation.parts.items()))
    assert part.closing_forces is not None
    assert part.closing_forces == generated(category, 0).articulation.part(name).closing_forces
    assert part.closing_forces != second.articulation.part(name).closing_forces
    for what, values in part.closing_forces.to_dict().items():
        for key, value in values.items():
            assert first.parameters[f"{name}_{what}_{key}"] == value


def test_the_lever_of_a_door_is_from_its_hinge_to_its_handle(oven):
    lever = handle_lever_m(oven.articulation.part("door"), oven.model)
    width, panel, inset = (float(oven.parameters[key]) for key in ("width_m", "panel_m", "handle_inset_m"))
    assert width - panel - inset <= lever <= np.hypot(width - panel - inset, 0.15)
    drawer = generated("drawer")
    assert handle_lever_m(drawer.articulation.part("drawer"), drawer.model) == 1.0
