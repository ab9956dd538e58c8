"""Chooses which episodes that ended as `error` are made again."""

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

    def text(self) -> str:
        """Says in one line how many episodes are made again, and why."""
        count = count_noun(len(self.numbers), "episode")
        named = [reason for reason, _ in self.reasons.most_common(_MOST_REASONS)]
        more = [f"{len(self.reasons) - _MOST_REASONS} more reasons"] if len(self.reasons) > _MOST_REASONS else []
        return f"{count} ended as `error`; made again now: {'; '.join([*named, *more])}"


def choose_retries(data_set: DataSet, errors: Sequence[int], retry: Retry, code: CodeVersions) -> Retries:
    """Chooses among the episodes that ended as `error`.

    Args:
        data_set: Their data set.
        errors: Their numbers, sorted.
        retry: Whether all are chosen, none, or those whose code has changed.
        code: The code that would make them now.
    """
    if retry is Retry.never:
        return Retries([], Counter())
    if retry is Retry.error:
        return Retries(list(errors), Counter({"retry=error": len(errors)}))
    numbers, reasons = [], Counter[str]()
    for number in errors:
        try:
            changes = code.changes_since(data_set.read(number, arrays=False).evidence)
        except RecordingError:  # another writer is replacing it
            continue
        if changes:
            numbers.append(number)
            reasons.update(changes)
    return Retries(numbers, reasons)
