"""Derives the `goal` and the `settle` that a record must have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from unlatch.configs.schema import EpisodeCfg
from unlatch.objects.articulated_object import ObjectAsset
from unlatch.simcore.recording.criteria import undetermined
from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.simcore.recording.episode_json.fields import GOAL_RESULT_FIELDS
from unlatch.workflows.episode.criteria import goal_conditions, goal_rules, settle_frames, settle_limits


class ExpectedGoal:
    """The goal of one episode, from its task and its objects."""

    def __init__(
        self,
        cfg: EpisodeCfg,
        assets: Mapping[str, ObjectAsset],
        record: EpisodeRecord,
        skills: Sequence[Mapping[str, Any]],
    ) -> None:
        """Finds the joints that must rest.

        Args:
            cfg: The episode, with its derived task.
            assets: The episode's objects by name.
            record: The record.
            skills: The expected entries of its `skills`.
        """
        self._cfg, self._record = cfg, record
        self._conditions = as_recorded(goal_conditions(cfg.task, assets), record)
        acted_on = [(item["object"], item.get("joint_index")) for item in (*self._conditions, *skills)]
        self._max_changes = settle_limits(assets, acted_on)

    def statement(self, *, goes_on: bool) -> dict[str, Any]:
        """Returns what `goal` must state; `goes_on` says whether the episode goes on after a broken rule."""
        if not goes_on:
            return {"conditions": self._conditions}
        return {
            **undetermined(GOAL_RESULT_FIELDS),
            "conditions": self._conditions,
            **goal_rules(self._cfg),
            "max_changes": self._max_changes if self._record.skills else {},
        }

    def settle(self) -> dict[str, Any]:
        """Returns what `settle` must state: a success has settled in the last frames, for as long as the task says."""
        return {
            "frame_start": max(0, self._record.n_actions - settle_frames(self._cfg)),
            "frame_end": self._record.n_actions,
            "max_change": min(self._max_changes.values(), default=None),
            "max_changes": self._max_changes,
        }


def as_recorded(conditions: list[dict[str, Any]], record: EpisodeRecord) -> list[dict[str, Any]]:
    """Returns conditions on free objects as a record must state them.

    Older records have no outline of any object: their conditions are judged by the bounding box. If one condition of a
    record has an outline, all must have it.
    """
    if any("outline" in condition for condition in conditions) and not _has_outlines(record):
        return [{key: value for key, value in condition.items() if key != "outline"} for condition in conditions]
    return conditions


def _has_outlines(record: EpisodeRecord) -> bool:
    stated = [part.get("conditions") for part in (record.goal, *record.skills) if isinstance(part, Mapping)]
    entries = [entry for conditions in stated if isinstance(conditions, list) for entry in conditions]
    return any(isinstance(entry, Mapping) and "outline" in entry for entry in entries)
