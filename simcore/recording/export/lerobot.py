"""Writes, extends and reads LeRobot data sets of version 3.0 without LeRobot."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from unlatch.simcore.errors import FormatVersionError, RecordingError, shorten
from unlatch.simcore.ranges import Count
from unlatch.simcore.recording.episode_folders import absolute_folder
from unlatch.simcore.recording.export import lerobot_tables as tables
from unlatch.simcore.recording.export import lerobot_videos
from unlatch.simcore.recording.export.columns import IMAGE
from unlatch.simcore.recording.export.config import ExportCfg
from unlatch.simcore.recording.export.exporter import Exporter
from unlatch.simcore.recording.export.trajectory import ExportSource, Trajectory
from unlatch.simcore.registry import DISTRIBUTION, installed_version


class FloatType(Enum):
    """How numbers of states and actions are stored."""

    float32 = "float32"
    """32 bits, as every trainer reads numbers."""
    float64 = "float64"
    """64 bits, as in the record; LeRobot's own loader still returns 32 bits."""


@dataclass
class LeRobotCfg(ExportCfg):
    """Configuration of a LeRobot export."""

    codec: lerobot_videos.Codec = lerobot_videos.Codec.h264
    """How images are encoded: `h264` copies the streams of the render set, `av1` encodes like LeRobot."""
    float_type: FloatType = FloatType.float32
    """How numbers of states and actions are stored."""
    data_files_size_in_mb: Count = 100
    """Size limit of a data file [MiB]."""
    video_files_size_in_mb: Count = 200
    """Size limit of a video file [MiB]."""
    chunks_size: Count = 1000
    """Largest number of files in one folder."""


class LeRobotWriter:
    """Writes one set: `add` for every episode, then `finish`."""

    def __init__(self, root: Path, features: tables.Features, cfg: LeRobotCfg, *, fps: int, base: Path | None) -> None:
        """Creates a set in an empty folder; the episodes of `base`, which has the same columns, come first."""
        self._root, self._features, self._cfg, self._fps = root, features, cfg, fps
        self._schema = tables.data_schema(features)
        self._tasks: dict[str, int] = {}
        self._episodes = self._frames = 0
        self._robot: str | None = None
        self._table = tables.EpisodeTable(root / tables.EPISODES_FOLDER)
        self._videos = [key for key, feature in features.items() if feature["dtype"] == tables.VIDEO]
        last = dict.fromkeys(["data", *self._videos], -1)
        if base is not None:
            with tables.report_damage(base):
                last = self._add_base(base)
        places = {key: tables.FilePlace(index + 1, cfg.chunks_size) for key, index in last.items()}
        self._data = tables.DataFiles(root, places["data"], size_mb=cfg.data_files_size_in_mb)
        self._files = {
            key: lerobot_videos.VideoFiles(root, key, places[key], size_mb=cfg.video_files_size_in_mb, fps=fps)
            for key in self._videos
        }

    def _add_base(self, base: Path) -> dict[str, int]:
        """Adds the episodes of another set; returns the number of the last file of each kind."""
        info = tables.read_json(base / tables.INFO_FILE)
        chunk, columns = int(info["chunks_size"]), {"data": "data", **{key: f"videos/{key}" for key in self._videos}}
        self._tasks = {task: index for index, task in enumerate(tables.read_tasks(base))}
        self._episodes, self._frames, self._robot = info["total_episodes"], info["total_frames"], info["robot_type"]
        for name in ("data", "videos"):
            if (base / name).is_dir():
                shutil.copytree(base / name, self._root / name, copy_function=_link_or_copy)
        last = dict.fromkeys(columns, -1)
        for row in tables.read_rows(base / tables.EPISODES_FOLDER):
            self._table.add(row)
            for key, column in columns.items():
                last[key] = max(last[key], row[f"{column}/chunk_index"] * chunk + row[f"{column}/file_index"])
        return last

    def add(self, trajectory: Trajectory, videos: Mapping[str, Path], *, source: str) -> None:
        """Writes an episode with its video files of T+1 frames by key; `source` is the digest of its data set."""
        task = self._tasks.setdefault(trajectory.language, len(self._tasks))
        values = tables.frame_columns(
            trajectory,
            index=self._episodes,
            first_frame=self._frames,
            task=task,
            fps=self._fps,
            float_type=self._cfg.float_type.name,
        )
        plain = {name: np.asarray(values[name]).tolist() for name in self._schema.names}
        self._data.add(pa.Table.from_pydict(plain, schema=self._schema))
        statistics = {key: tables.compute_statistics(tables.as_rows(array)) for key, array in values.items()}
        n = trajectory.n_actions
        row: tables.EpisodeRow = {
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
            statistics[key] = lerobot_videos.image_statistics(videos[key], n)
        for key, found in statistics.items():
            row |= {f"stats/{key}/{name}": np.atleast_1d(value).tolist() for name, value in found.items()}
        row |= {key: getattr(trajectory, key) for key in ("success", "code", "seed", "robot")}
        lists = {"object": trajectory.objects, "part": trajectory.parts, "phrasings": trajectory.phrasings}
        row |= {key: list(names) for key, names in lists.items()}
        self._table.add({**row, tables.SOURCE: source, tables.NUMBER: trajectory.number})
        self._episodes, self._frames = self._episodes + 1, self._frames + n

    def finish(self, robot: str) -> dict[str, Any]:
        """Writes the metadata; returns `info.json`. The name of the robot is that of the base set, if there is one."""
        self._data.close()
        self._table.close()
        for video in self._files.values():
            video.close()
        tables.write_tasks(self._root, list(self._tasks))
        running = {key: tables.RunningStatistics() for key in tables.table_features(self._features)}
        for block in tables.read_blocks(self._root):
            for key, each in running.items():
                each.update(tables.as_rows(tables.column_array(block, key)))
        statistics = {key: each.result() for key, each in running.items()}
        for key in self._videos:
            rows = tables.read_rows(self._root / tables.EPISODES_FOLDER)
            parts = [part for row in rows if (part := tables.statistics_in(row, key)) is not None]
            statistics.update({key: tables.combine_statistics(parts)} if parts else {})
        content = {key: {name: value.tolist() for name, value in each.items()} for key, each in statistics.items()}
        tables.write_json(self._root / tables.STATS_FILE, content)
        info = self._info(robot)
        tables.write_json(self._root / tables.INFO_FILE, info)
        return info

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
            "data_path": tables.DATA_PATH,
            "video_path": tables.VIDEO_PATH if self._videos else None,
            "robot_type": self._robot or robot,
            "splits": {"train": f"0:{self._episodes}"},
        }


def _link_or_copy(source: str, target: str) -> None:
    """Links a file, or copies it if the file system cannot link."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


_CARD = """---
task_categories:
- robotics
tags:
- LeRobot
---

# {title}

Demonstrations made and verified by Unlatch {version}: {total_episodes} episodes, {total_frames} frames at {fps} \
frames per second,
robot `{robot_type}`. LeRobot data set format {codebase_version}.

{description}"""
_DESCRIPTION = """## Conventions

{conventions}

A row is the observation at a moment and the action from there to the next row. An attempt of T actions has
T+1 states; the last state, which no action follows, is not in this set.

## Columns

{columns}
Episodes (`meta/episodes`) have `success`, `code` (failure code), `seed`, `robot`, `object` (name=category:instance),
`part` (object.part that is acted on; `part0` above is the first), `phrasings`, and `unlatch/source`, `unlatch/number`:
data set and number of the episode.
"""


class LeRobotExporter(Exporter):
    """Writes a LeRobot set, or adds to one."""

    cfg: LeRobotCfg
    cfg_type = LeRobotCfg

    def __init__(self, source: ExportSource, cfg: LeRobotCfg) -> None:
        super().__init__(source, cfg)
        layout = source.layout
        videos = {
            IMAGE + name: lerobot_videos.video_feature(size, fps=layout.fps, codec=cfg.codec)
            for name, size in layout.cameras.items()
        }
        self.features: tables.Features = tables.features_of(layout, float_type=cfg.float_type.name, videos=videos)

    def taken(self, target: Path) -> set[int] | None:
        """See `Exporter.taken`."""
        if not tables.is_lerobot_set(target):
            return None
        self._check_compatible(target)
        return {row[tables.NUMBER] for row in self._rows(target) if row.get(tables.SOURCE) == self.source.identity}

    def has_others(self, target: Path) -> bool:
        """See `Exporter.has_others`."""
        return any(row.get(tables.SOURCE) != self.source.identity for row in self._rows(target))

    def _rows(self, target: Path) -> list[tables.EpisodeRow]:
        with tables.report_damage(target):
            return list(tables.read_rows(target / tables.EPISODES_FOLDER, columns=[tables.SOURCE, tables.NUMBER]))

    def is_export(self, target: Path) -> bool:
        """See `Exporter.is_export`."""
        return tables.is_lerobot_set(target)

    def write(self, draft: Path, trajectories: Iterator[Trajectory], *, parts: Path, base: Path | None) -> None:
        """See `Exporter.write`."""
        writer = LeRobotWriter(draft, self.features, self.cfg, fps=self.source.layout.fps, base=base)
        for trajectory in trajectories:
            name = f"{trajectory.number:010d}"
            videos = {
                IMAGE + camera: lerobot_videos.encode_video(
                    images,
                    parts / f"{name}.{camera}.{images.digest[:16]}.mp4",
                    fps=self.source.layout.fps,
                    codec=self.cfg.codec,
                )
                for camera, images in trajectory.images.items()
            }
            writer.add(trajectory, videos, source=self.source.identity)
        info = writer.finish(self.source.layout.robot)
        before = base / tables.CONVENTIONS_FILE if base is not None else None
        ours = {
            **(tables.read_json(before) if before and before.is_file() else {}),
            "title": f"{self.source.task or 'demonstrations'}, {self.source.layout.robot}",
            "version": installed_version(DISTRIBUTION) or "of unknown version",
            "conventions": self.source.layout.convention,
        }
        tables.write_json(draft / tables.CONVENTIONS_FILE, ours)
        card = _CARD.format(**{**info, **ours, "description": describe_set(info, ours)})
        (draft / tables.CARD_FILE).write_text(card, encoding="utf-8")

    def _check_compatible(self, target: Path) -> None:
        """Raises unless an existing set has the same columns, rate and conventions."""
        info, layout = tables.read_json(target / tables.INFO_FILE), self.source.layout
        here = {"codebase_version": "v3.0", "fps": layout.fps, **_comparable_features(self.features)}
        there = {"codebase_version": info.get("codebase_version"), "fps": info.get("fps")}
        there |= _comparable_features(info.get("features", {}))
        if (target / tables.CONVENTIONS_FILE).is_file():
            conventions = tables.read_json(target / tables.CONVENTIONS_FILE).get("conventions", {})
            here |= {f"conventions.{key}": text for key, text in layout.convention.items()}
            there |= {f"conventions.{key}": text for key, text in conventions.items()}
        columns = [found.keys() - tables.BOOKKEEPING for found in (info.get("features", {}), self.features)]
        theirs, ours = (", ".join(sorted(columns[n] - columns[1 - n])) for n in (0, 1))
        if theirs or ours:
            is_of_images = self.source.cfg.render is None and IMAGE in theirs
            images = " Images are those of a render set: render=NAME." if is_of_images else ""
            raise RecordingError(
                f"The columns of '{target}' are not those of this export. Only there: {theirs or 'none'}; only in this "
                f"export: {ours or 'none'}. Expected the same columns.{images} Export with the options of that set, "
                "choose another out=, or replace it with force=true.",
                path=str(target),
            )
        for key in here | there:
            if there.get(key) != here.get(key):
                theirs, ours = (shorten(str(found.get(key, "absent")), 160) for found in (there, here))
                raise RecordingError(
                    f"'{target}' has {key}={theirs}, this export has {ours}. Expected equal values. Choose another "
                    "out=, or export with the conventions in its README.md.",
                    path=str(target),
                    key=key,
                )


def _comparable_features(features: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the properties of columns that must be equal in both sets, by `features.<column>.<property>`."""
    found: dict[str, Any] = {}
    for key, feature in sorted(features.items()):
        own = {**feature, **(feature.get("info") or {})} if key not in tables.BOOKKEEPING else {}
        wanted = ("dtype", "names", "shape", "video.codec", "video.pix_fmt")
        found |= {f"features.{key}.{word}": own[word] for word in wanted if word in own}
    return found


def describe_set(info: Mapping[str, Any], ours: Mapping[str, Any]) -> str:
    """Returns conventions and columns of a set in Markdown, from its `info.json` and `unlatch.json`."""
    conventions = "\n".join(f"- `{key}`: {text}" for key, text in ours["conventions"].items())
    columns = []
    for key, feature in info["features"].items():
        names = ", ".join(feature["names"]) if feature["names"] else "one number"
        columns.append(f"- `{key}` ({feature['dtype']}, {feature['shape']}): {names}\n")
    return _DESCRIPTION.format(**{**info, **ours, "conventions": conventions, "columns": "".join(columns)})


Array = np.ndarray


class LeRobotSet:
    """A LeRobot set on disk, written by any program."""

    def __init__(self, root: Path, info: dict[str, Any]) -> None:
        """Use `open`."""
        self.root = root
        """Its folder."""
        self.info = info
        """Its `info.json`."""
        self.tasks = tables.read_tasks(root)
        """Instructions by their index."""
        rows = list(tables.read_rows(root / tables.EPISODES_FOLDER))
        self.episodes: list[tables.EpisodeRow] = sorted(rows, key=lambda row: row["episode_index"])
        """One row per episode: place, properties and statistics."""

    @classmethod
    def open(cls, path: str | Path) -> LeRobotSet:
        """Opens the set in a folder.

        Raises:
            RecordingError: It is not a LeRobot set, or is damaged.
            FormatVersionError: It has another version.
        """
        root = absolute_folder(path)
        if not tables.is_lerobot_set(root):
            raise RecordingError(
                f"'{root}' is not a LeRobot set: it has no {tables.INFO_FILE}. Expected a folder that "
                "`unlatch export` made. Check the path.",
                path=str(root),
            )
        info = tables.read_json(root / tables.INFO_FILE)
        if info.get("codebase_version") != "v3.0":
            raise FormatVersionError(
                f"'{root}' has format {info.get('codebase_version')}, this reads v3.0. Export it again.",
                path=str(root),
                version=info.get("codebase_version"),
            )
        with tables.report_damage(root):
            return cls(root, info)

    @property
    def fps(self) -> int:
        """Frames per second."""
        return int(self.info["fps"])

    @property
    def video_keys(self) -> list[str]:
        """Columns that are videos."""
        return [key for key, feature in self.info["features"].items() if feature["dtype"] == tables.VIDEO]

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
        with tables.report_damage(path):
            table = pq.read_table(path, filters=[("episode_index", "=", index)])
            columns = {key: tables.column_array(table, key) for key in tables.table_features(self.info["features"])}
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
        return lerobot_videos.read_video(path, first=first, n_frames=row["length"], fps=self.fps)

    def language(self, index: int) -> str:
        """Returns the instruction of an episode."""
        return str(self._row(index)["tasks"][0])

    def _row(self, index: int) -> tables.EpisodeRow:
        if not 0 <= index < len(self.episodes):
            raise RecordingError(
                f"'{self.root}' has no episode {index}. Expected 0 to {len(self.episodes) - 1}.", index=index
            )
        return self.episodes[index]
