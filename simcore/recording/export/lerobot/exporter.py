"""LeRobot data sets, format v3.0, written without LeRobot: see `ecosystem` pages of that project for the layout."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from simcore.errors import RecordingError
from simcore.recording.export.exporter import Exporter
from simcore.recording.export.lerobot import info as files
from simcore.recording.export.lerobot.card import card
from simcore.recording.export.lerobot.config import LeRobotCfg
from simcore.recording.export.lerobot.data_files import DATA_PATH, DataFiles, FilePlace, read_blocks
from simcore.recording.export.lerobot.episode_rows import (
    NUMBER,
    SOURCE,
    EpisodeTable,
    read_rows,
    row_of,
    statistics_columns,
)
from simcore.recording.export.lerobot.features import (
    BOOKKEEPING,
    Features,
    column_array,
    data_schema,
    data_table,
    features_of,
    in_table,
)
from simcore.recording.export.lerobot.statistics import RunningStatistics, statistics_of
from simcore.recording.export.source import Source
from simcore.recording.export.trajectory import ACTION, Trajectory

Array = np.ndarray


class LeRobotExporter(Exporter):
    """Writes a LeRobot set, or adds to one."""

    cfg_type = LeRobotCfg

    def __init__(self, source: Source, cfg: LeRobotCfg) -> None:
        super().__init__(source, cfg)
        self.cfg: LeRobotCfg = cfg
        self.features: Features = features_of(source.layout, float_type=cfg.float_type.name, videos={})

    def taken(self, target: Path) -> set[int] | None:
        """See `Exporter`."""
        if not files.is_set(target):
            return None
        self._check_same(target)
        rows = read_rows(target / files.EPISODES, columns=[SOURCE, NUMBER])
        return {row[NUMBER] for row in rows if row.get(SOURCE) == self.source.identity}

    def write(self, draft: Path, trajectories: Iterator[Trajectory], *, parts: Path, base: Path | None) -> None:
        """See `Exporter`."""
        there = _Base.read(base) if base is not None else _Base.nothing()
        if base is not None:
            _link_tree(base, draft, ("data", "videos"))
        schema = data_schema(self.features)
        table = EpisodeTable(draft / files.EPISODES)
        if base is not None:
            for row in read_rows(base / files.EPISODES):
                table.add(row)
        data = DataFiles(
            draft, FilePlace(there.data_files, self.cfg.chunks_size), size_mb=self.cfg.data_files_size_in_mb
        )
        tasks = {task: index for index, task in enumerate(there.tasks)}
        frames, episodes = there.frames, there.episodes
        for trajectory in trajectories:
            task = tasks.setdefault(trajectory.language, len(tasks))
            values = self._values(trajectory, episode=episodes, first=frames, task=task)
            data.add(data_table(values, schema))
            n = trajectory.n_actions
            table.add(
                {
                    "episode_index": episodes,
                    "tasks": [trajectory.language],
                    "length": n,
                    "data/chunk_index": data.place.chunk_index,
                    "data/file_index": data.place.file_index,
                    "dataset_from_index": frames,
                    "dataset_to_index": frames + n,
                    **statistics_columns({key: statistics_of(_rows(array)) for key, array in values.items()}),
                    **row_of(trajectory, source=self.source.identity),
                }
            )
            frames, episodes = frames + n, episodes + 1
        data.close()
        table.close()
        self._write_meta(draft, base, list(tasks), frames=frames, episodes=episodes)

    def _values(self, trajectory: Trajectory, *, episode: int, first: int, task: int) -> dict[str, Array]:
        """The columns of an episode's T rows."""
        n = trajectory.n_actions
        steps = np.arange(n)
        columns = trajectory.columns
        values = {key: column.values if key == ACTION else column.values[:-1] for key, column in columns.items()}
        numbers = {"float32": np.float32, "float64": np.float64}[self.cfg.float_type.name]
        return {
            **{key: array.astype(numbers) for key, array in values.items()},
            "timestamp": (steps / self.source.layout.fps).astype(np.float32),
            "frame_index": steps,
            "episode_index": np.full(n, episode),
            "index": first + steps,
            "task_index": np.full(n, task),
        }

    def _write_meta(self, draft: Path, base: Path | None, tasks: list[str], *, frames: int, episodes: int) -> None:
        files.write_tasks(draft, tasks)
        running = {key: RunningStatistics() for key in in_table(self.features)}
        for block in read_blocks(draft):
            for key, statistics in running.items():
                statistics.update(_rows(column_array(block, key)))
        files.write_json(
            draft / files.STATS,
            {key: {name: value.tolist() for name, value in item.result().items()} for key, item in running.items()},
        )
        info = self._info(frames=frames, episodes=episodes, tasks=len(tasks))
        if base is not None:
            info["robot_type"] = files.read_json(base / files.INFO).get("robot_type")
        files.write_json(draft / files.INFO, info)
        ours = self._ours()
        files.write_json(draft / files.OURS, ours)
        (draft / "README.md").write_text(card(info, ours), encoding="utf-8")

    def _info(self, *, frames: int, episodes: int, tasks: int) -> dict[str, Any]:
        return {
            "codebase_version": "v3.0",
            "fps": self.source.layout.fps,
            "features": self.features,
            "total_episodes": episodes,
            "total_frames": frames,
            "total_tasks": tasks,
            "chunks_size": self.cfg.chunks_size,
            "data_files_size_in_mb": self.cfg.data_files_size_in_mb,
            "video_files_size_in_mb": self.cfg.video_files_size_in_mb,
            "data_path": DATA_PATH,
            "video_path": None,
            "robot_type": self.source.layout.robot,
            "splits": {"train": f"0:{episodes}"},
        }

    def _ours(self) -> dict[str, Any]:
        task = self.source.config.get("task")
        name = task.get("name") if isinstance(task, Mapping) else None
        return {
            "title": f"{name or 'demonstrations'}, {self.source.layout.robot}",
            "version": _version(),
            "conventions": self.source.layout.convention,
        }

    def _check_same(self, target: Path) -> None:
        """Raises unless the episodes can be added to a set.

        Raises:
            RecordingError: It has other columns, another rate or other conventions.
        """
        info = files.read_json(target / files.INFO)
        wanted = {"codebase_version": "v3.0", "fps": self.source.layout.fps}
        for key, value in wanted.items():
            if info.get(key) != value:
                raise _differs(target, key, info.get(key), value)
        theirs = info.get("features", {})
        for key in sorted(theirs.keys() | self.features.keys()):
            for word in ("dtype", "shape", "names"):
                there, here = theirs.get(key, {}).get(word), self.features.get(key, {}).get(word)
                if key not in BOOKKEEPING and there != here:
                    raise _differs(target, f"features.{key}.{word}", there, here)
        if (target / files.OURS).is_file():
            conventions = files.read_json(target / files.OURS).get("conventions", {})
            for key, value in self.source.layout.convention.items():
                if conventions.get(key) != value:
                    raise _differs(target, f"conventions.{key}", conventions.get(key), value)


class _Base:
    """What a set that is extended has."""

    def __init__(self, *, episodes: int, frames: int, tasks: list[str], data_files: int) -> None:
        self.episodes = episodes
        self.frames = frames
        self.tasks = tasks
        self.data_files = data_files

    @classmethod
    def nothing(cls) -> _Base:
        return cls(episodes=0, frames=0, tasks=[], data_files=0)

    @classmethod
    def read(cls, root: Path) -> _Base:
        info = files.read_json(root / files.INFO)
        last = max(
            (
                row["data/chunk_index"] * info["chunks_size"] + row["data/file_index"]
                for row in read_rows(root / files.EPISODES, columns=["data/chunk_index", "data/file_index"])
            ),
            default=-1,
        )
        return cls(
            episodes=info["total_episodes"],
            frames=info["total_frames"],
            tasks=files.read_tasks(root),
            data_files=last + 1,
        )


def _rows(values: Array) -> Array:
    """(N, n) of (N, n) or (N,)."""
    return values.reshape(len(values), -1)


def _link_tree(base: Path, draft: Path, names: tuple[str, ...]) -> None:
    """Links the files of folders into another place, or copies them where the file system cannot link."""
    for name in names:
        if (base / name).is_dir():
            shutil.copytree(base / name, draft / name, copy_function=_link)


def _link(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


def _differs(target: Path, key: str, there: Any, here: Any) -> RecordingError:
    return RecordingError(
        f"'{target}' has {key}={_short(there)}, this export {_short(here)}. Expected the same, to add to it. Choose "
        "another out=, or export with the conventions in its README.md.",
        path=str(target),
        key=key,
    )


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 160 else f"{text[:157]}..."


def _version() -> str:
    try:
        return version("unlatch")
    except PackageNotFoundError:
        return "of unknown version"
