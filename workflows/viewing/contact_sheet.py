"""A contact sheet: a few episodes of a data set, each at its start, at its first contact and at its end."""

from __future__ import annotations

from bisect import insort
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from unlatch.configs.schema import EpisodeCfg
from unlatch.simcore.recording.data_set.data_set import DataSet
from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.simcore.sim.collision import BulletCollisionChecker
from unlatch.simcore.sim.visuals.pictures import take_picture
from unlatch.workflows.runs.corrupt_episodes import CorruptEpisodes
from unlatch.workflows.viewing.picture import SheetRow, compose_sheet, write_picture
from unlatch.workflows.viewing.scene_picture import open_record

TILE = (320, 240)
"""Width and height of one picture [pixels]."""
_CONTACT_N = 0.1


def contact_sheet(
    cfg: EpisodeCfg, data_set: DataSet, numbers: Sequence[int], *, path: Path, rows: int = 4
) -> list[int]:
    """Draws the first state, the first contact and the last state of at most `rows` episodes, and writes the picture.

    Returns:
        The episodes that are drawn.

    Raises:
        RecordingError: The picture cannot be written.
    """
    chosen = choose_episodes(data_set, numbers, rows=rows)
    sheet = []
    with BulletCollisionChecker() as checker:
        for number in chosen:
            record = data_set.read(number)
            if record.arrays:
                sheet.append(_draw_episode(cfg, record, checker))
    write_picture(compose_sheet(sheet), path)
    return chosen


def _draw_episode(cfg: EpisodeCfg, record: EpisodeRecord, checker: BulletCollisionChecker) -> SheetRow:
    pictures = []
    with open_record(cfg, record, checker) as recorded:
        for frame in (0, contact_frame(record), record.n_actions):
            recorded.show(frame)
            view = recorded.episode.scene.view()
            pictures.append(take_picture(recorded.world, view, width=TILE[0], height=TILE[1]))
    instruction = f': "{record.instruction}"' if record.instruction else ""
    return SheetRow(f"episode {record.number}, {record.outcome}{instruction}", record.success, pictures)


def choose_episodes(data_set: DataSet, numbers: Sequence[int], *, rows: int) -> list[int]:
    """Chooses the first successes, and one failure if there is any."""
    asked = set(numbers)
    good: list[int] = []
    bad: list[int] = []
    for item in data_set.each_summary(CorruptEpisodes().add):
        if item.number in asked and item.n_actions > 0:
            first = good if item.success else bad
            insort(first, item.number)
            del first[rows:]
    wanted_bad = max(1, rows - len(good)) if bad else 0
    return sorted([*good[: rows - min(wanted_bad, rows)], *bad[:wanted_bad]][:rows])


def contact_frame(record: EpisodeRecord) -> int:
    """Returns the first state in which the fingers touch the part, or the middle one if they never do."""
    forces = [array for key, array in record.arrays.items() if key.endswith(".fingers_link.force_max_n")]
    if forces:
        touching = np.flatnonzero(np.max(forces, axis=0) > _CONTACT_N)
        if len(touching):
            return int(touching[0]) + 1  # an interval's force belongs to the state at its end
    return record.n_actions // 2
