"""Errors keep their values, travel between processes and share one base."""

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
    SimCoreError,
    SolverError,
    UnknownEntryError,
    check_range,
    close_matches,
)

ALL_ERRORS = [e for e in vars(errors).values() if isinstance(e, type) and issubclass(e, Exception)]


@pytest.mark.parametrize("error", ALL_ERRORS, ids=lambda e: e.__name__)
def test_every_error_derives_from_the_base_and_has_a_docstring(error):
    assert issubclass(error, SimCoreError)
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
        (HubError, (SimCoreError,)),
        (GeometryError, (ValueError,)),
    ],
)
def test_an_error_is_caught_by_the_wider_kinds(error, bases):
    assert issubclass(error, bases)


def test_close_matches_suggest_similar_names():
    assert close_matches("opn", ["open", "close", "rotate"]) == " Did you mean 'open'?"


def test_close_matches_list_several_and_stay_silent_for_nonsense():
    assert close_matches("door_a", ["door_b", "door_c"]) == " Did you mean 'door_c' or 'door_b'?"
    assert close_matches("xyz", ["open", "close"]) == ""


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
