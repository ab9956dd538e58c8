"""Errors keep their values, travel between processes and share one base."""

import importlib
import math
import pickle

import pytest

from unlatch.simcore import errors
from unlatch.simcore.errors import (
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
)

ALL_ERRORS = [e for e in vars(errors).values() if isinstance(e, type) and issubclass(e, Exception)]


@pytest.mark.parametrize("error", ALL_ERRORS, ids=lambda e: e.__name__)
def test_every_error_derives_from_the_base_and_has_a_docstring(error):
    assert issubclass(error, UnlatchError)
    assert error.__doc__


def test_values_of_an_error_are_attributes():
    error = ConfigError("`episodes` is 0.", key="episodes", value=0)
    assert (error.key, error.value, str(error)) == ("episodes", 0, "`episodes` is 0.")
    assert error.values == {"key": "episodes", "value": 0}


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


def test_close_matches_suggest_similar_names():
    assert close_matches("opn", ["open", "close", "rotate"]) == " Did you mean 'open'?"


def test_close_matches_list_several_and_stay_silent_for_nonsense():
    assert close_matches("door_a", ["door_b", "door_c"]) == " Did you mean 'door_b' or 'door_c'?"
    assert close_matches("xyz", ["open", "close"]) == ""


@pytest.mark.parametrize(
    ("name", "available", "proposed"),
    [
        ("panda", ["franka_panda", "pony", "dual_panda", "bandit"], ["franka_panda", "dual_panda"]),
        ("ur5-E", ["ur5", "ur5e", "baxter"], ["ur5e", "ur5"]),
        ("door", ["press_door_lever", "dorm_floor"], ["press_door_lever"]),
        ("microwave_open", ["open_box", "open_microwave"], ["open_microwave"]),
        ("object", ["object_name_list_long", "objects"], ["objects", "object_name_list_long"]),
        ("collct", ["collect", "doctor", "completion"], ["collect"]),
        ("mgu", ["mug", "cup"], ["mug"]),
        ("ur6", ["ur5", "xarm6"], ["ur5"]),
        ("microw", ["microwave", "bowl"], ["microwave"]),
        ("open_fridge", ["open_drawer", "open_refrigerator"], ["open_refrigerator"]),
    ],
)
def test_the_nearest_names_are_proposed_a_contained_word_counts_as_near(
    name: str, available: list[str], proposed: list[str]
):
    names = " or ".join(f"'{each}'" for each in proposed)
    assert close_matches(name, available) == f" Did you mean {names}?"


@pytest.mark.parametrize(
    ("name", "available"),
    [
        ("fps", ["push", "pose", "path"]),
        ("horizon", ["observation", "randomization"]),
        ("steps", ["attempts", "sweep", "sensors"]),
        ("gui", ["goal", "grid"]),
        ("x", ["y", "xy"]),
        ("policy_step", ["policy_timeout_s"]),
        ("", ["open"]),
    ],
)
def test_names_that_nobody_mistakes_for_one_another_are_not_proposed(name: str, available: list[str]) -> None:
    assert close_matches(name, available) == ""


def test_a_close_name_takes_the_place_of_a_list_that_a_command_prints():
    assert describe_choices("opn", ["open", "close"]) == " Did you mean 'open'? Known: open, close."
    listed = describe_choices("opn", ["open", "close"], listed_by="unlatch list skills")
    assert listed == " Did you mean 'open'? `unlatch list skills` lists all."
    assert describe_choices("xyz", ["open"], heading="Keys there", listed_by="--help") == " Keys there: open."
    assert describe_choices("xyz", []) == " Known: none."


@pytest.mark.parametrize(
    ("value", "high", "message"),
    [
        (0, 10, "workers=0 is out of range. Expected 1 to 10."),
        (float("nan"), 10, "workers=nan is out of range. Expected 1 to 10."),
        (0.5, math.inf, "workers=0.5 is out of range. Expected 1 or more."),
    ],
)
def test_a_value_out_of_its_range_raises_an_error_with_its_key(value: float, high: float, message: str):
    with pytest.raises(ConfigError) as caught:
        check_range("workers", value, 1, high)
    assert (caught.value.message, caught.value.key) == (message, "workers")


@pytest.mark.parametrize("value", [None, 1, 10])
def test_a_value_in_its_range_passes(value: float | None):
    check_range("workers", value, 1, 10)


@pytest.mark.parametrize(
    ("value", "high", "message"),
    [
        (0.0, 1.0, "force_n=0 is out of range. Expected above 0, at most 1 N."),
        (-1.0, math.inf, "force_n=-1 is out of range. Expected above 0 N."),
    ],
)
def test_a_range_may_exclude_its_lowest_value_and_name_its_unit(value: float, high: float, message: str):
    with pytest.raises(ConfigError) as caught:
        check_range("force_n", value, 0.0, high, above=True, unit="N")
    assert caught.value.message == message


@pytest.mark.parametrize("module", ["unlatch", "unlatch.simcore.errors"])
def test_the_base_of_all_errors_has_its_old_name_for_one_version(module: str) -> None:
    name = "SimCoreError"
    with pytest.warns(DeprecationWarning, match=f"{name} is named UnlatchError"):
        assert getattr(importlib.import_module(module), name) is UnlatchError
