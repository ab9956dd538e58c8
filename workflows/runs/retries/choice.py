"""Chooses which episodes of earlier runs are made again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from unlatch.simcore.errors import RecordingError, count_noun
from unlatch.simcore.recording.data_set.data_set import DataSet
from unlatch.workflows.runs.retries.code_versions import CodeVersions
from unlatch.workflows.runs.schema import Retry

_MOST_REASONS = 3
"""Largest number of reasons in a message."""


@dataclass(frozen=True)
class Retries:
    """Episodes that are made again, and why."""

    numbers: list[int]
    """Their numbers, sorted."""
    reasons: Counter[str]
    """How many of them have each reason."""
    are_errors: bool = True
    """Whether all of them ended as `error`."""

    def text(self) -> str:
        """Says in one line how many episodes are made again, and why."""
        count = count_noun(len(self.numbers), "episode")
        named = [reason for reason, _ in self.reasons.most_common(_MOST_REASONS)]
        more = [f"{len(self.reasons) - _MOST_REASONS} more reasons"] if len(self.reasons) > _MOST_REASONS else []
        which = f"{count} ended as `error`; " if self.are_errors else f"{count} of earlier runs; "
        return f"{which}made again now: {'; '.join([*named, *more])}"


def choose_retries(data_set: DataSet, candidates: Sequence[int], retry: Retry, code: CodeVersions) -> Retries:
    """Chooses among episodes of earlier runs.

    Args:
        data_set: Their data set.
        candidates: Numbers of those that ended as `error`, or of all with `Retry.all`; sorted.
        retry: Whether all of these are chosen, none, or those whose code has changed.
        code: The code that would make them now.
    """
    if retry is Retry.never:
        return Retries([], Counter())
    if retry is Retry.all:
        return Retries(list(candidates), Counter({"retry=all": len(candidates)}), are_errors=False)
    if retry is Retry.error:
        return Retries(list(candidates), Counter({"retry=error": len(candidates)}))
    numbers, reasons = [], Counter[str]()
    for number in candidates:
        try:
            changes = code.changes_since(data_set.read(number, arrays=False).evidence)
        except RecordingError:  # another writer is replacing it
            continue
        if changes:
            numbers.append(number)
            reasons.update(changes)
    return Retries(numbers, reasons)
