"""Writes LeRobot sets of version 2.1: one Parquet and one MP4 file an episode, for readers that know no later one."""

from __future__ import annotations

import json
from collections.abc import Mapping
from io import TextIOWrapper
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from unlatch.simcore.recording.export.lerobot import info as files
from unlatch.simcore.recording.export.lerobot.config import LeRobotCfg
from unlatch.simcore.recording.export.lerobot.data_files import FilePlace
from unlatch.simcore.recording.export.lerobot.episode_rows import row_of
from unlatch.simcore.recording.export.lerobot.features import VIDEO, Features, data_schema, data_table
from unlatch.simcore.recording.export.lerobot.frames import EpisodePlace, as_rows, frame_columns
from unlatch.simcore.recording.export.lerobot.statistics import Statistics, statistics_of
from unlatch.simcore.recording.export.lerobot.videos import copy_video, image_statistics
from unlatch.simcore.recording.export.trajectory import Trajectory

_DATA = "data/chunk-{episode_chunk:03d}/episode_{episode_index:06d}.parquet"
_VIDEO = "videos/chunk-{episode_chunk:03d}/{video_key}/episode_{episode_index:06d}.mp4"
_STATISTICS = ("min", "max", "mean", "std", "count")


class WriterV21:
    """Writes one set: `add` for every episode, then `finish`."""

    def __init__(self, root: Path, features: Features, cfg: LeRobotCfg, *, fps: int) -> None:
        """Begins a set.

        Args:
            root: Its folder, empty.
            features: Its columns.
            cfg: How it is written.
            fps: Frames a second.
        """
        self._root, self._features, self._cfg, self._fps = root, features, cfg, fps
        self._schema = data_schema(features)
        self._videos = [key for key, feature in features.items() if feature["dtype"] == VIDEO]
        self._tasks: dict[str, int] = {}
        self._episodes = self._frames = 0
        (root / "meta").mkdir()
        self._lists = {name: self._list(name) for name in ("episodes", "episodes_stats")}

    def _list(self, name: str) -> TextIOWrapper:
        return (self._root / "meta" / f"{name}.jsonl").open("w", encoding="utf-8")

    def add(self, trajectory: Trajectory, videos: Mapping[str, Path], *, source: str) -> None:
        """Writes an episode.

        Args:
            trajectory: The episode.
            videos: By key of a video, the file with its T+1 frames.
            source: Digest of the data set that it comes from.
        """
        task = self._tasks.setdefault(trajectory.language, len(self._tasks))
        place = EpisodePlace(self._episodes, self._frames, task)
        values = frame_columns(trajectory, place, fps=self._fps, float_type=self._cfg.float_type.name)
        path = self._path(_DATA)
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(data_table(values, self._schema), path, compression="snappy")
        n = trajectory.n_actions
        statistics = {key: statistics_of(as_rows(array)) for key, array in values.items()}
        for key in self._videos:
            copy_video(videos[key], self._path(_VIDEO, video_key=key), n, fps=self._fps)
            statistics[key] = image_statistics(videos[key], n)
        row = {"episode_index": self._episodes, "tasks": [trajectory.language], "length": n}
        _write_line(self._lists["episodes"], {**row, **row_of(trajectory, source=source)})
        told = {key: _as_lists(found) for key, found in statistics.items()}
        _write_line(self._lists["episodes_stats"], {"episode_index": self._episodes, "stats": told})
        self._episodes, self._frames = self._episodes + 1, self._frames + n

    def _path(self, template: str, **words: str) -> Path:
        chunk = FilePlace(self._episodes, self._cfg.chunks_size).chunk_index
        return self._root / template.format(episode_chunk=chunk, episode_index=self._episodes, **words)

    def finish(self, robot: str) -> dict[str, Any]:
        """Writes what stands beside the frames; returns `info.json`.

        Args:
            robot: Name of the robot.
        """
        for file in self._lists.values():
            file.close()
        with self._list("tasks") as file:
            for task, index in self._tasks.items():
                _write_line(file, {"task_index": index, "task": task})
        info = {
            "codebase_version": "v2.1",
            "robot_type": robot,
            "total_episodes": self._episodes,
            "total_frames": self._frames,
            "total_tasks": len(self._tasks),
            "total_videos": self._episodes * len(self._videos),
            "total_chunks": -(-self._episodes // self._cfg.chunks_size),
            "chunks_size": self._cfg.chunks_size,
            "fps": self._fps,
            "splits": {"train": f"0:{self._episodes}"},
            "data_path": _DATA,
            "video_path": _VIDEO if self._videos else None,
            "features": self._features,
        }
        files.write_json(self._root / files.INFO, info)
        return info


def _as_lists(statistics: Statistics) -> dict[str, Any]:
    return {name: statistics[name].tolist() for name in _STATISTICS}


def _write_line(file: TextIOWrapper, content: Mapping[str, Any]) -> None:
    file.write(json.dumps(content, ensure_ascii=False) + "\n")
