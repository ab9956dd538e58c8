"""Checks a data set against its own configuration; `unlatch check` prints what is found."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from unlatch.simcore.errors import UnlatchError
from unlatch.simcore.recording.check import Problem, check_dataset
from unlatch.simcore.recording.data_set.data_set import DataSet
from unlatch.workflows.checks.criteria_source import UNDERIVED, CriteriaSource
from unlatch.workflows.runs.recorded_config import format_ranges


def check_data_set(data_set: DataSet, *, on_episode: Callable[[int, int], None] | None = None) -> list[Problem]:
    """Returns all problems of a data set: those of `check_dataset`, judged by criteria of its configuration.

    If the configuration cannot be read, that is a problem, and the records are judged by what they state themselves.
    """
    try:
        derive = CriteriaSource.of(data_set).derive
    except UnlatchError as exc:
        text = f"dataset.json: the criteria of its episodes cannot be derived: {exc.message}"
        return [Problem(None, text), *check_dataset(data_set.path, on_episode=on_episode)]
    return list(_join_underived(check_dataset(data_set.path, derive=derive, on_episode=on_episode)))


def _join_underived(problems: Sequence[Problem]) -> Iterator[Problem]:
    """Yields the problems; one reason for which the criteria of several episodes cannot be derived is one problem."""
    numbers: dict[str, list[int]] = {}
    for problem in problems:
        if problem.number is not None and problem.message.startswith(UNDERIVED):
            numbers.setdefault(problem.message, []).append(problem.number)
    for problem in problems:
        same = numbers.get(problem.message, [])
        if len(same) < 2:
            yield problem
        elif problem.number == same[0]:
            yield Problem(None, f"{format_ranges(same).capitalize()}: {problem.message}")
