"""Writes LeRobot sets of version 3.0: many episodes in one file; extends existing sets."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from unlatch.simcore.recording.export.lerobot.config import LeRobotCfg
from unlatch.simcore.recording.export.lerobot.data_files import DATA_PATH, DataFiles, FilePlace, read_blocks
from unlatch.simcore.recording.export.lerobot.episode_rows import (
    EpisodeRow,
    EpisodeTable,
    own_columns,
    read_rows,
    report_damage,
    statistics_columns,
    statistics_in,
)
from unlatch.simcore.recording.export.lerobot.features import (
    VIDEO,
    Features,
    as_rows,
    column_array,
    data_schema,
    data_table,
    frame_columns,
    table_features,
)
from unlatch.simcore.recording.export.lerobot.meta_files import (
    EPISODES_FOLDER,
    INFO_FILE,
    STATS_FILE,
    VIDEO_PATH,
    read_json,
    read_tasks,
    write_json,
    write_tasks,
)
from unlatch.simcore.recording.export.lerobot.statistics import (
    RunningStatistics,
    Statistics,
    combine_statistics,
    compute_statistics,
)
from unlatch.simcore.recording.export.lerobot.videos import VideoFiles, image_statistics
from unlatch.simcore.recording.export.trajectory import Trajectory


class LeRobotWriter:
    """Writes one set: `add` for every episode, then `finish`."""

    def __init__(self, root: Path, features: Features, cfg: LeRobotCfg, *, fps: int, base: Path | None) -> None:
        """Creates a set in an empty folder; the episodes of `base`, which has the same columns, come first."""
        self._root, self._features, self._cfg, self._fps = root, features, cfg, fps
        self._schema = data_schema(features)
        self._tasks: dict[str, int] = {}
        self._episodes = self._frames = 0
        self._robot: str | None = None
        self._table = EpisodeTable(root / EPISODES_FOLDER)
        self._videos = [key for key, feature in features.items() if feature["dtype"] == VIDEO]
        last = dict.fromkeys(["data", *self._videos], -1)
        if base is not None:
            with report_damage(base):
                last = self._add_base(base)
        places = {key: FilePlace(index + 1, cfg.chunks_size) for key, index in last.items()}
        self._data = DataFiles(root, places["data"], size_mb=cfg.data_files_size_in_mb)
        self._files = {
            key: VideoFiles(root, key, places[key], size_mb=cfg.video_files_size_in_mb, fps=fps) for key in self._videos
        }

    def _add_base(self, base: Path) -> dict[str, int]:
        """Adds the episodes of another set; returns the number of the last file of each kind."""
        info = read_json(base / INFO_FILE)
        chunk, columns = int(info["chunks_size"]), {"data": "data", **{key: f"videos/{key}" for key in self._videos}}
        self._tasks = {task: index for index, task in enumerate(read_tasks(base))}
        self._episodes, self._frames, self._robot = info["total_episodes"], info["total_frames"], info["robot_type"]
        for name in ("data", "videos"):
            if (base / name).is_dir():
                shutil.copytree(base / name, self._root / name, copy_function=_link_or_copy)
        last = dict.fromkeys(columns, -1)
        for row in read_rows(base / EPISODES_FOLDER):
            self._table.add(row)
            for key, column in columns.items():
                last[key] = max(last[key], row[f"{column}/chunk_index"] * chunk + row[f"{column}/file_index"])
        return last

    def add(self, trajectory: Trajectory, videos: Mapping[str, Path], *, source: str) -> None:
        """Writes an episode with its video files of T+1 frames by key; `source` is the digest of its data set."""
        task = self._tasks.setdefault(trajectory.language, len(self._tasks))
        values = frame_columns(
            trajectory,
            index=self._episodes,
            first_frame=self._frames,
            task=task,
            fps=self._fps,
            float_type=self._cfg.float_type.name,
        )
        self._data.add(data_table(values, self._schema))
        statistics = {key: compute_statistics(as_rows(array)) for key, array in values.items()}
        n = trajectory.n_actions
        row: EpisodeRow = {
            "episode_index": self._episodes,
            "tasks": [trajectory.language],
            "length": n,
            "data/chunk_index": self._data.place.chunk_index,
            "data/file_index": self._data.place.file_index,
            "dataset_from_index": self._frames,
            "dataset_to_index": self._frames + n,
        }
        for key in self._videos:
            begin, end = self._files[key].add(videos[key], n)
            there = self._files[key].place
            row[f"videos/{key}/chunk_index"], row[f"videos/{key}/file_index"] = there.chunk_index, there.file_index
            row[f"videos/{key}/from_timestamp"], row[f"videos/{key}/to_timestamp"] = begin, end
            statistics[key] = image_statistics(videos[key], n)
        self._table.add({**row, **statistics_columns(statistics), **own_columns(trajectory, source=source)})
        self._episodes, self._frames = self._episodes + 1, self._frames + n

    def finish(self, robot: str) -> dict[str, Any]:
        """Writes the metadata; returns `info.json`. The name of the robot is that of the base set, if there is one."""
        self._data.close()
        self._table.close()
        for video in self._files.values():
            video.close()
        write_tasks(self._root, list(self._tasks))
        statistics = {**self._frame_statistics(), **self._video_statistics()}
        write_json(
            self._root / STATS_FILE,
            {key: {name: value.tolist() for name, value in found.items()} for key, found in statistics.items()},
        )
        info = self._info(robot)
        write_json(self._root / INFO_FILE, info)
        return info

    def _frame_statistics(self) -> dict[str, Statistics]:
        running = {key: RunningStatistics() for key in table_features(self._features)}
        for block in read_blocks(self._root):
            for key, statistics in running.items():
                statistics.update(as_rows(column_array(block, key)))
        return {key: statistics.result() for key, statistics in running.items()}

    def _video_statistics(self) -> dict[str, Statistics]:
        found: dict[str, list[Statistics]] = {key: [] for key in self._videos}
        if self._videos:
            for row in read_rows(self._root / EPISODES_FOLDER):
                for key, parts in found.items():
                    part = statistics_in(row, key)
                    if part is not None:
                        parts.append(part)
        return {key: combine_statistics(parts) for key, parts in found.items() if parts}

    def _info(self, robot: str) -> dict[str, Any]:
        return {
            "codebase_version": "v3.0",
            "fps": self._fps,
            "features": self._features,
            "total_episodes": self._episodes,
            "total_frames": self._frames,
            "total_tasks": len(self._tasks),
            "chunks_size": self._cfg.chunks_size,
            "data_files_size_in_mb": self._cfg.data_files_size_in_mb,
            "video_files_size_in_mb": self._cfg.video_files_size_in_mb,
            "data_path": DATA_PATH,
            "video_path": VIDEO_PATH if self._videos else None,
            "robot_type": self._robot or robot,
            "splits": {"train": f"0:{self._episodes}"},
        }


def _link_or_copy(source: str, target: str) -> None:
    """Links a file, or copies it if the file system cannot link."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)
