"""Raises an error where a contract is broken."""

from __future__ import annotations

from collections.abc import Sequence

from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.workflows.episode.episode import Episode
from unlatch.workflows.runs.runner import EpisodeRunner


def require(holds: bool, message: str) -> None:
    """Raises an AssertionError with the message unless a condition of a contract holds."""
    if not holds:
        raise AssertionError(message)


def begin_valid_episode(runner: EpisodeRunner, number: int) -> Episode:
    """Begins an episode, which must have a valid layout."""
    episode = runner.episode(number)
    episode.begin()
    task = episode.cfg.task.name
    require(episode.failure is None, f"Episode {number} of '{task}' has no valid layout: {episode.failure}")
    return episode


def require_success(records: Sequence[EpisodeRecord], task: str) -> None:
    """Raises an AssertionError with the reason of every failure unless an episode succeeded."""
    reasons = [f"{record.number}: {record.code}, {record.evidence.get('message')}" for record in records]
    succeeded = any(record.success for record in records)
    require(succeeded, f"None of {len(records)} episodes of '{task}' succeeded. {'; '.join(reasons)}")
