"""The columns of a LeRobot set: their description in `info.json` and their Arrow types."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from unlatch.simcore.recording.export.source import ExportLayout
from unlatch.simcore.recording.export.trajectory import Trajectory

Array = np.ndarray
Features = dict[str, dict[str, Any]]
"""Content of `info.json` by key: `dtype`, `shape`, `names`, and `info` for videos."""

VIDEO = "video"
BOOKKEEPING = {
    "timestamp": "float32",
    "frame_index": "int64",
    "episode_index": "int64",
    "index": "int64",
    "task_index": "int64",
}
"""Columns of every set, with their types."""


def features_of(layout: ExportLayout, *, float_type: str, videos: Mapping[str, dict[str, Any]]) -> Features:
    """Returns the features of an export: its columns of numbers of one type, the videos by key, the bookkeeping."""
    features: Features = {
        key: {"dtype": float_type, "shape": list(layout.shapes[key]), "names": _axis_names(names, layout.shapes[key])}
        for key, names in layout.names.items()
    }
    features.update(videos)
    features.update({key: {"dtype": dtype, "shape": [1], "names": None} for key, dtype in BOOKKEEPING.items()})
    return features


def table_features(features: Features) -> Features:
    """Returns the features that are columns of the data files."""
    return {key: feature for key, feature in features.items() if feature["dtype"] != VIDEO}


def data_schema(features: Features) -> pa.Schema:
    """Returns the Arrow schema of the data files."""
    return pa.schema([pa.field(key, _column_type(feature)) for key, feature in table_features(features).items()])


def data_table(values: Mapping[str, Array], schema: pa.Schema) -> pa.Table:
    """Makes an Arrow table from an (N, n), (N, points, n) or (N,) array of each field of the schema."""
    columns = []
    for field in schema:
        if pa.types.is_list(field.type):
            columns.append(_nested_array(values[field.name], field.type))
        elif pa.types.is_fixed_size_list(field.type):
            flat = np.ascontiguousarray(values[field.name], dtype=field.type.value_type.to_pandas_dtype()).ravel()
            columns.append(pa.FixedSizeListArray.from_arrays(pa.array(flat), type=field.type))
        else:
            columns.append(pa.array(np.asarray(values[field.name]).ravel(), type=field.type))
    return pa.Table.from_arrays(columns, schema=schema)


def frame_columns(
    trajectory: Trajectory, *, index: int, first_frame: int, task: int, fps: int, float_type: str
) -> dict[str, Array]:
    """Returns the columns of an episode, (T, n) or (T,) each; the last of its T+1 states is left out.

    Args:
        trajectory: The episode.
        index: Its index in the set.
        first_frame: Index of its first frame among all frames.
        task: Index of its instruction.
        fps: Frames per second.
        float_type: Type of its numbers.
    """
    steps = np.arange(trajectory.n_actions)
    values = {key: column.values[: len(steps)] for key, column in trajectory.columns.items()}
    return {
        **{key: array.astype(np.dtype(float_type)) for key, array in values.items()},
        "timestamp": (steps / fps).astype(np.float32),
        "frame_index": steps,
        "episode_index": np.full(len(steps), index),
        "index": first_frame + steps,
        "task_index": np.full(len(steps), task),
    }


def as_rows(values: Array) -> Array:
    """Returns values (N, n) or (N,) as (N, n), and point clouds (N, points, n) as (N * points, n)."""
    return values.reshape(-1, values.shape[-1]) if values.ndim == 3 else values.reshape(len(values), -1)


def column_array(table: pa.Table, key: str) -> Array:
    """Returns the numbers of a column: (N, n) for lists, (N, points, n) for lists of lists, (N,) for numbers."""
    column = table.column(key).combine_chunks()
    if pa.types.is_list(column.type):
        flat = column.flatten().flatten().to_numpy(zero_copy_only=False)
        points = len(column[0]) if len(column) else 0
        return flat.reshape(len(column), points, -1 if len(flat) else 0)
    if pa.types.is_fixed_size_list(column.type):
        return column.flatten().to_numpy(zero_copy_only=False).reshape(len(column), column.type.list_size)
    return column.to_numpy(zero_copy_only=False)


def _column_type(feature: Mapping[str, Any]) -> pa.DataType:
    number = pa.from_numpy_dtype(np.dtype(feature["dtype"]))
    if len(feature["shape"]) == 2:
        return pa.list_(pa.list_(number))  # as `datasets.Array2D` stores it
    return number if feature["shape"] == [1] else pa.list_(number, feature["shape"][0])


def _axis_names(names: tuple[str, ...], shape: tuple[int, ...]) -> list[str]:
    """Returns the names of the numbers of a row; for a point cloud, those of its two axes."""
    return list(names) if len(shape) == 1 else ["point", ",".join(names)]


def _nested_array(values: Array, kind: pa.DataType) -> pa.ListArray:
    """Returns (N, points, n) numbers as lists of lists."""
    n_rows, n_points, n = values.shape
    flat = pa.array(np.ascontiguousarray(values).ravel(), type=kind.value_type.value_type)
    points = pa.ListArray.from_arrays(np.arange(0, n_rows * n_points * n + 1, n, dtype=np.int32), flat)
    return pa.ListArray.from_arrays(np.arange(0, n_rows * n_points + 1, n_points, dtype=np.int32), points)
