"""The small files of a LeRobot set: `info.json`, the tasks and our own conventions."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from unlatch.simcore.errors import RecordingError
from unlatch.simcore.files import read_bounded
from unlatch.simcore.recording.json_values import decode_json_object

INFO_FILE = "meta/info.json"
STATS_FILE = "meta/stats.json"
TASKS_FILE = "meta/tasks.parquet"
EPISODES_FOLDER = "meta/episodes"
CONVENTIONS_FILE = "meta/unlatch.json"
"""Our conventions; LeRobot does not read this file."""
CARD_FILE = "README.md"
"""The card: what the set contains, for people."""
VIDEO_PATH = "videos/{video_key}/chunk-{chunk_index:03d}/file-{file_index:03d}.mp4"
_MAX_BYTES = 64 << 20


def read_json(path: Path) -> dict[str, Any]:
    """Reads a JSON file of a set.

    Raises:
        RecordingError: It is missing or damaged.
    """
    return decode_json_object(read_bounded(path, limit=_MAX_BYTES), where=str(path))


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Writes a JSON file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, indent=4, ensure_ascii=False), encoding="utf-8")


def is_lerobot_set(folder: Path) -> bool:
    """Whether a folder is a LeRobot set of any version."""
    return (folder / INFO_FILE).is_file()


def read_tasks(root: Path) -> list[str]:
    """Reads the instructions of a set in the order of their indices.

    Raises:
        RecordingError: The table is missing or damaged.
    """
    path = root / TASKS_FILE
    try:
        table = pq.read_table(path)
        # pandas' name of an unnamed index
        (column,) = [name for name in table.column_names if name in ("task", "__index_level_0__")]
        pairs = zip(table.column("task_index").to_pylist(), table.column(column).to_pylist(), strict=True)
    except (OSError, pa.ArrowException, KeyError, ValueError) as exc:
        raise RecordingError(
            f"File '{path}' cannot be read: {exc}. Expected a table of 'task' and 'task_index'. Restore it.",
            path=str(path),
        ) from exc
    return [task for _, task in sorted(pairs)]


def write_tasks(root: Path, tasks: Sequence[str]) -> None:
    """Writes the instructions as a table that pandas reads with the instruction as index."""
    table = pa.table({"task_index": pa.array(range(len(tasks)), pa.int64()), "task": pa.array(tasks, pa.string())})
    keys = ("name", "field_name", "pandas_type", "numpy_type", "metadata")
    columns = [("task_index", "task_index", "int64", "int64", None), ("task", "task", "unicode", "object", None)]
    metadata = {
        "index_columns": ["task"],
        "column_indexes": [dict(zip(keys, (None, None, "unicode", "object", {"encoding": "UTF-8"}), strict=True))],
        "columns": [dict(zip(keys, column, strict=True)) for column in columns],
        "creator": {"library": "pyarrow", "version": pa.__version__},
        "pandas_version": "2.0.0",
    }
    path = root / TASKS_FILE
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table.replace_schema_metadata({"pandas": json.dumps(metadata)}), path)
