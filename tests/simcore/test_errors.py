"""Errors keep their values and say what to do; ranges of fields name their key."""

from __future__ import annotations

import importlib
import math
import pickle
from dataclasses import dataclass, field
from typing import Annotated

import pytest

from unlatch.simcore import errors
from unlatch.simcore.errors import (
    MISSING,
    ConfigError,
    FormatVersionError,
    GeometryError,
    HubError,
    NoSolutionError,
    RecordingError,
    SolverError,
    UnknownEntryError,
    UnlatchError,
    check_range,
    close_matches,
    describe_choices,
    unknown_entry,
)
from unlatch.simcore.ranges import Fraction, Positive, Range, check_ranges, find_range

ALL_ERRORS = [e for e in vars(errors).values() if isinstance(e, type) and issubclass(e, Exception)]


@pytest.mark.parametrize("error", ALL_ERRORS, ids=lambda e: e.__name__)
def test_every_error_derives_from_the_base_and_has_a_docstring(error):
    assert issubclass(error, UnlatchError)
    assert error.__doc__


def test_values_of_an_error_are_attributes():
    error = ConfigError("`episodes` is 0.", key="episodes", value=0)
    assert (error.key, error.value, str(error)) == ("episodes", 0, "`episodes` is 0.")
    assert error.values == {"key": "episodes", "value": 0}


def test_an_unknown_entry_has_the_attributes_that_are_given_and_takes_no_misspelt_keyword():
    error = unknown_entry("No arm 'lft'.", "lft", ["left"], error=ConfigError, advice="Rename it.", arm="lft")
    assert str(error) == "No arm 'lft'. Did you mean 'left'? Known: left. Rename it."
    assert error.values == {"available": ["left"], "arm": "lft"}
    with pytest.raises(TypeError, match="advise"):
        unknown_entry("No arm 'lft'.", "lft", ["left"], error=ConfigError, advise="Rename it.")


def test_an_error_survives_the_way_from_a_worker_process():
    error = UnknownEntryError("Unknown skill 'opn'.", name="opn", available=["open"])
    back = pickle.loads(pickle.dumps(error))  # what multiprocessing does
    assert type(back) is UnknownEntryError
    assert (str(back), back.name, back.available) == (str(error), "opn", ["open"])


@pytest.mark.parametrize(
    ("error", "bases"),
    [
        (NoSolutionError, (SolverError,)),
        (FormatVersionError, (RecordingError,)),
        (HubError, (UnlatchError,)),
        (GeometryError, (ValueError,)),
    ],
)
def test_an_error_is_caught_by_the_wider_kinds(error, bases):
    assert issubclass(error, bases)


NEAREST = [
    # a contained word counts as near
    ("opn", "open close rotate", "open"),
    ("door_a", "door_b door_c", "door_b door_c"),
    ("panda", "franka_panda pony dual_panda bandit", "franka_panda dual_panda"),
    ("ur5-E", "ur5 ur5e baxter", "ur5e ur5"),
    ("door", "press_door_lever dorm_floor", "press_door_lever"),
    ("microwave_open", "open_box open_microwave", "open_microwave"),
    ("object", "object_name_list_long objects", "objects object_name_list_long"),
    ("collct", "collect doctor completion", "collect"),
    ("mgu", "mug cup", "mug"),
    ("ur6", "ur5 xarm6", "ur5"),
    ("microw", "microwave bowl", "microwave"),
    ("open_fridge", "open_drawer open_refrigerator", "open_refrigerator"),
    # names that nobody mistakes for one another
    ("xyz", "open close", ""),
    ("fps", "push pose path", ""),
    ("horizon", "observation randomization", ""),
    ("steps", "attempts sweep sensors", ""),
    ("gui", "goal grid", ""),
    ("x", "y xy", ""),
    ("policy_step", "policy_timeout_s", ""),
    ("", "open", ""),
]


@pytest.mark.parametrize(("name", "available", "proposed"), NEAREST)
def test_the_nearest_names_are_proposed(name, available, proposed):
    names = " or ".join(f"'{each}'" for each in proposed.split())
    assert close_matches(name, available.split()) == (f" Did you mean {names}?" if names else "")


def test_a_close_name_takes_the_place_of_a_list_that_a_command_prints():
    assert describe_choices("opn", ["open", "close"]) == " Did you mean 'open'? Known: open, close."
    listed = describe_choices("opn", ["open", "close"], listed_by="unlatch list skills")
    assert listed == " Did you mean 'open'? `unlatch list skills` lists all."
    assert describe_choices("xyz", ["open"], heading="Keys there", listed_by="--help") == " Keys there: open."
    assert describe_choices("xyz", []) == " Known: none."


def test_of_many_names_none_of_which_is_close_the_command_is_named_that_lists_them():
    names = [f"task_{number}" for number in range(31)]
    assert describe_choices("xyz", names, listed_by="unlatch list tasks") == " `unlatch list tasks` lists all 31."
    assert describe_choices("xyz", names[:30], listed_by="unlatch list tasks").startswith(" Known: task_0, ")


@pytest.mark.parametrize(
    ("value", "high", "settings", "message"),
    [
        (0, 10, {}, "workers=0 is out of range. Expected 1 to 10."),
        (float("nan"), 10, {}, "workers=nan is out of range. Expected 1 to 10."),
        (0.5, math.inf, {}, "workers=0.5 is out of range. Expected 1 or more."),
        (1.0, 2.0, {"above": True, "unit": "N"}, "workers=1 is out of range. Expected above 1, at most 2 N."),
        (-1.0, math.inf, {"above": True, "unit": "N"}, "workers=-1 is out of range. Expected above 1 N."),
    ],
)
def test_a_value_out_of_its_range_raises_an_error_with_its_key(value, high, settings, message):
    with pytest.raises(ConfigError) as caught:
        check_range("workers", value, 1, high, **settings)
    assert (caught.value.message, caught.value.key) == (message, "workers")
    for good in (None, 1, 10):
        check_range("workers", good, 1, 10)


@pytest.mark.parametrize("module", ["unlatch", "unlatch.simcore.errors"])
def test_the_base_of_all_errors_has_its_old_name_for_one_version(module):
    name = "SimCoreError"
    with pytest.warns(DeprecationWarning, match=f"{name} is named UnlatchError"):
        assert getattr(importlib.import_module(module), name) is UnlatchError


@dataclass
class Base:
    share: Fraction | None = None


@dataclass
class Lamp(Base):
    power_w: Annotated[float, Range(1.0, 60.0, unit="W")] = 5.0
    sizes_m: list[Positive] = field(default_factory=list)
    weights: dict[str, Positive] = field(default_factory=dict)
    needed: Positive = MISSING
    name: str = "lamp"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"power_w": 0.5}, "lamp.power_w=0.5 is out of range. Expected 1 to 60 W."),
        ({"power_w": float("nan")}, "lamp.power_w=nan is out of range."),
        ({"share": 1.5}, "lamp.share=1.5 is out of range. Expected 0 to 1."),
        ({"sizes_m": [1.0, 0.0]}, "lamp.sizes_m[1]=0 is out of range. Expected above 0."),
        ({"weights": {"a": -1.0}}, "lamp.weights.a=-1 is out of range. Expected above 0."),
    ],
)
def test_a_value_out_of_its_range_is_named_with_its_key(changes, message):
    with pytest.raises(ConfigError) as caught:
        check_ranges(Lamp(**changes), "lamp")
    assert caught.value.message.startswith(message)


def test_values_that_are_left_out_pass():
    check_ranges(Lamp(power_w=60.0, share=None, sizes_m=[0.1]))


def test_a_type_without_a_range_has_none():
    assert find_range(str) is None
    assert find_range(list[int] | None) is None
    assert find_range(list[Fraction] | None) == Range(0.0, 1.0)
