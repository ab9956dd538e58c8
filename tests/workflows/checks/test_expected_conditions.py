"""The conditions that a record must state: with the outlines of its objects, or, in older records, without any."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from unlatch.objects.carrying_conditions import ConditionKind, ObjectCondition
from unlatch.objects.config import ObjectCfg
from unlatch.objects.library import load_instance
from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.simcore.recording.verdict import Criteria
from unlatch.workflows.checks.expected_statements import as_recorded

ASSETS = {"apple": load_instance(ObjectCfg(name="apple", category="apple", instance="0"))}
ON_TABLE = ObjectCondition(ConditionKind.on, "apple", 0.01)
LIFTED = ObjectCondition(ConditionKind.lifted, "apple", 0.02)
STATED = [condition.describe(ASSETS) for condition in (ON_TABLE, LIFTED)]
OLDER = [{key: value for key, value in condition.items() if key != "outline"} for condition in STATED]


def differences(goal: Any, *, of_skill: Any) -> list[str]:
    """What a check finds in a record whose goal and whose skill state these conditions."""
    record = EpisodeRecord(0, 0, True, skills=[{"name": "place", "conditions": of_skill}], goal={"conditions": goal})
    expected = as_recorded(STATED, record)
    return list(Criteria({"goal": {"conditions": expected}}).differences(record))


def test_a_record_states_the_outline():
    assert "outline" in STATED[0]
    assert differences(STATED, of_skill=STATED) == []


def test_an_older_record_states_no_outline():
    assert differences(OLDER, of_skill=OLDER) == []


def test_a_forged_outline_is_found():
    forged = deepcopy(STATED)
    forged[0]["outline"][0][2] += 1e-4
    (problem,) = differences(forged, of_skill=STATED)
    assert problem.startswith("goal.conditions[0].outline[0][2] is 0.")


@pytest.mark.parametrize("outline", [[[0.0, 0.0, 0.03, 0.001]], [], None, "none"])
def test_an_outline_of_another_length_or_type_is_found(outline):
    (problem,) = differences([{**STATED[0], "outline": outline}, STATED[1]], of_skill=STATED)
    assert problem.startswith("goal.conditions[0].outline is ")


def test_an_outline_that_only_one_condition_lacks_is_found():
    (problem,) = differences(OLDER, of_skill=STATED)
    assert problem.startswith("goal.conditions[0].outline is nothing in the record, expected ")


@pytest.mark.parametrize("of_skill", [None, "none", 3, ["none"], {"outline": []}])
def test_conditions_that_are_no_list_of_maps_have_no_outline(of_skill):
    assert differences(OLDER, of_skill=of_skill) == []


def test_an_entry_of_skills_that_is_no_map_has_no_conditions():
    record: Any = EpisodeRecord(0, 0, True, skills=["place"], goal={"conditions": OLDER})  # type: ignore[list-item]
    assert as_recorded(STATED[:1], record) == OLDER[:1]
