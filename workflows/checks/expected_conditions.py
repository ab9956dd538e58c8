"""What the conditions on free objects in a record must state, derived from the task or the skill and the objects."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from unlatch.objects.articulated_object import ObjectAsset
from unlatch.objects.carrying.conditions import ObjectCondition
from unlatch.simcore.recording.episode import EpisodeRecord


def describe_conditions(
    conditions: Iterable[ObjectCondition], assets: Mapping[str, ObjectAsset], record: EpisodeRecord
) -> list[dict[str, Any]]:
    """Returns conditions on free objects as a record must state them.

    Older records have no outline of any object: their conditions are judged by the bounding box. If one condition of a
    record has an outline, all must have it.
    """
    found = [condition.describe(assets) for condition in conditions]
    if any("outline" in condition for condition in found) and not _has_outlines(record):
        return [{key: value for key, value in condition.items() if key != "outline"} for condition in found]
    return found


def _has_outlines(record: EpisodeRecord) -> bool:
    stated = [part.get("conditions") for part in (record.goal, *record.skills) if isinstance(part, Mapping)]
    entries = [entry for conditions in stated if isinstance(conditions, list) for entry in conditions]
    return any(isinstance(entry, Mapping) and "outline" in entry for entry in entries)
