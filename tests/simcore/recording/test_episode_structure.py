"""Types of the values of `episode.json`: each value that does not fit its table is named with its place."""

import pytest

from unlatch.simcore.recording.check import not_compared
from unlatch.simcore.recording.episode_fields import EPISODE_FIELDS
from unlatch.simcore.recording.episode_structure import CLOCK, PLANNER, Field, kind_problems, sources
from unlatch.simcore.recording.keys import KEYS

PLACE = {"x": Field(float, "Where."), "name": Field((str, None), "Who.", optional=True)}


@pytest.mark.parametrize(
    ("value", "kind", "said"),
    [
        (True, int, "v is True, expected integer."),
        (1.0, int, "v is 1.0, expected integer."),
        ((1 << 64) - 1, int, None),
        (1 << 64, int, "v is 18446744073709551616, expected integer."),
        (0.5, float, None),
        (10**400, float, f"v is {'1' + 76 * '0'}..., expected number."),
        ("nan", float, "v is 'nan', expected number."),
        (None, (str, None), None),
        (3, (str, None), "v is 3, expected text or null."),
        (0, bool, "v is 0, expected true or false."),
        ({"a": 1, "b": None}, {str: int}, "v.b is None, expected integer."),
        ([], {str: int}, "v is [], expected map of integer."),
        ({"x": 1.0, "name": None}, PLACE, None),
        ({"x": 1.0, "z": 2.0}, PLACE, "v.z is not a key of this format. Expected one of x, name."),
        ({}, PLACE, "v.x is missing, expected number."),
        ([{"x": "far"}], [PLACE], "v[0].x is 'far', expected number."),
        ({"deep": [1, {"a": None}]}, {str: object}, None),
    ],
)
def test_a_value_of_another_type_is_named_with_its_place(value, kind, said):
    assert list(kind_problems(value, kind, "v", complete=True)) == ([] if said is None else [said])


def test_a_record_that_is_not_complete_may_lack_keys_and_one_that_diverged_finite_numbers():
    assert list(kind_problems({}, PLACE, "v")) == []
    for value in ("nan", "inf", "-inf", 0.5):
        assert list(kind_problems({"x": value}, PLACE, "v", finite=False)) == []


def test_the_source_of_each_key_is_listed_and_what_is_below_a_key_of_the_planner_is_not():
    found = dict(sources(EPISODE_FIELDS))
    assert (found["skills[].plan"], found["timings_ms"], found["skills[].s_end"]) == (PLANNER, CLOCK, "configuration")
    assert not [place for place in found if place.startswith("skills[].plan.")]


def test_a_check_lists_all_that_it_does_not_compare_and_less_with_a_replay():
    without, with_replay = not_compared(replay=False), not_compared(replay=True)
    assert set(with_replay) < set(without)
    listed = [place for places in without.values() for place in places]
    assert len(listed) == len(set(listed))
    assert {"contacts.*", "actions.*", "timings_ms", "skills[].plan"} <= set(listed)
    words = {spec.pattern.partition(".")[0] for spec in KEYS}
    assert {place.partition(".")[0] for place in listed if place.endswith(".*")} <= words
