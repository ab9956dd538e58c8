"""Reads LeRobot sets of version 3.0, one episode at a time, with pyarrow and PyAV."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from unlatch.simcore.errors import FormatVersionError, RecordingError
from unlatch.simcore.recording.data_set.location import absolute_folder
from unlatch.simcore.recording.export.lerobot.episode_rows import EpisodeRow, read_rows, report_damage
from unlatch.simcore.recording.export.lerobot.features import VIDEO, column_array, table_features
from unlatch.simcore.recording.export.lerobot.meta_files import (
    EPISODES_FOLDER,
    INFO_FILE,
    is_lerobot_set,
    read_json,
    read_tasks,
)
from unlatch.simcore.recording.export.lerobot.videos import read_video

Array = np.ndarray


class LeRobotSet:
    """A LeRobot set on disk, written by any program."""

    def __init__(self, root: Path, info: dict[str, Any]) -> None:
        """Use `open`."""
        self.root = root
        """Its folder."""
        self.info = info
        """Its `info.json`."""
        self.tasks = read_tasks(root)
        """Instructions by their index."""
        rows = list(read_rows(root / EPISODES_FOLDER))
        self.episodes: list[EpisodeRow] = sorted(rows, key=lambda row: row["episode_index"])
        """One row per episode: place, properties and statistics."""

    @classmethod
    def open(cls, path: str | Path) -> LeRobotSet:
        """Opens the set in a folder.

        Raises:
            RecordingError: It is not a LeRobot set, or is damaged.
            FormatVersionError: It has another version.
        """
        root = absolute_folder(path)
        if not is_lerobot_set(root):
            raise RecordingError(
                f"'{root}' is not a LeRobot set: it has no {INFO_FILE}. Expected a folder that `unlatch export` "
                "made. Check the path.",
                path=str(root),
            )
        info = read_json(root / INFO_FILE)
        if info.get("codebase_version") != "v3.0":
            raise FormatVersionError(
                f"'{root}' has format {info.get('codebase_version')}, this reads v3.0. Export it again.",
                path=str(root),
                version=info.get("codebase_version"),
            )
        with report_damage(root):
            return cls(root, info)

    @property
    def fps(self) -> int:
        """Frames per second."""
        return int(self.info["fps"])

    @property
    def video_keys(self) -> list[str]:
        """Columns that are videos."""
        return [key for key, feature in self.info["features"].items() if feature["dtype"] == VIDEO]

    def __len__(self) -> int:
        return len(self.episodes)

    def read(self, index: int) -> dict[str, Array]:
        """Returns the columns of the episode of an index: (T, n) for lists, (T,) for numbers.

        Raises:
            RecordingError: Its data file is missing, or has another number of rows.
        """
        row = self._row(index)
        place = {"chunk_index": row["data/chunk_index"], "file_index": row["data/file_index"]}
        path = self.root / str(self.info["data_path"]).format(**place)
        try:
            table = pq.read_table(path, filters=[("episode_index", "=", index)])
            columns = {key: column_array(table, key) for key in table_features(self.info["features"])}
        except (OSError, KeyError, pa.ArrowException) as exc:
            raise RecordingError(f"File '{path}' cannot be read: {exc}. Export the set again.", path=str(path)) from exc
        if len(table) != row["length"]:
            raise RecordingError(
                f"File '{path}' has {len(table)} rows of episode {index}, expected {row['length']}. Export it again.",
                path=str(path),
                index=index,
            )
        return columns

    def frames(self, index: int, key: str) -> Iterator[Array]:
        """Yields the T images (H, W, 3) uint8 of the video `key` of an episode, one in memory at a time.

        Raises:
            RecordingError: There is no such video, or it is damaged.
        """
        if key not in self.video_keys:
            raise RecordingError(f"'{self.root}' has no video '{key}'. It has: {', '.join(self.video_keys)}.", key=key)
        row = self._row(index)
        place = {word: row[f"videos/{key}/{word}"] for word in ("chunk_index", "file_index")}
        path = self.root / str(self.info["video_path"]).format(video_key=key, **place)
        first = round(row[f"videos/{key}/from_timestamp"] * self.fps)
        return read_video(path, first=first, n_frames=row["length"], fps=self.fps)

    def language(self, index: int) -> str:
        """Returns the instruction of an episode."""
        return str(self._row(index)["tasks"][0])

    def _row(self, index: int) -> EpisodeRow:
        if not 0 <= index < len(self.episodes):
            raise RecordingError(
                f"'{self.root}' has no episode {index}. Expected 0 to {len(self.episodes) - 1}.", index=index
            )
        return self.episodes[index]
