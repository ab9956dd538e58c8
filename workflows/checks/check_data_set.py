"""Checks a data set against its own configuration; `unlatch check` prints what is found."""

from __future__ import annotations

from collections.abc import Callable

from unlatch.simcore.errors import SimCoreError
from unlatch.simcore.recording.check import Problem, check_dataset
from unlatch.simcore.recording.data_set.data_set import DataSet
from unlatch.workflows.checks.criteria_source import CriteriaSource


def check_data_set(data_set: DataSet, *, on_episode: Callable[[int, int], None] | None = None) -> list[Problem]:
    """Returns all problems of a data set: those of `check_dataset`, judged by criteria of its configuration.

    If the configuration cannot be read, that is a problem, and the records are judged by what they state themselves.
    """
    try:
        derive = CriteriaSource.of(data_set).derive
    except SimCoreError as exc:
        text = f"dataset.json: the criteria of its episodes cannot be derived: {exc.message}"
        return [Problem(None, text), *check_dataset(data_set.path, on_episode=on_episode)]
    return check_dataset(data_set.path, derive=derive, on_episode=on_episode)
