"""Reads the arrays of a record with NumPy alone, for the checks that run without Unlatch."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np


def read_arrays(path: Path) -> dict[str, np.ndarray]:
    """Returns the arrays of a `state.npz` by key; `docs/record_format.md` has the same function."""
    with np.load(path) as file:
        if "layout" not in file:  # version 2
            return dict(file)
        values, arrays = {}, {}
        for name in set(file.files) - {"layout"}:
            steps = np.ascontiguousarray(file[name].T).view(f"<u{len(file[name])}").ravel()
            name = name.removesuffix("_delta_bytes")
            values[name] = np.cumsum(steps, dtype=steps.dtype).view(name)
        for key, (name, shape) in json.loads(file["layout"].tobytes()).items():
            arrays[key], values[name] = np.split(values[name], [math.prod(shape)])
            arrays[key] = arrays[key].reshape(shape, order="F")
    return arrays


def episode_folder(data: Path, number: int) -> Path:
    return data / "episodes" / f"{number // 1000:07d}" / f"{number:010d}"


def read_columns(data: Path, number: int) -> tuple[np.ndarray, np.ndarray]:
    """Returns the actions (T, n + 1) and states (T + 1, n + 1) of an episode by the default conventions."""
    arrays = read_arrays(episode_folder(data, number) / "state.npz")
    (prefix,) = {key.removesuffix(".joint_targets") for key in arrays if key.endswith(".joint_targets")}
    arm = prefix.replace("actions.", "robots.")
    action = np.hstack([arrays[f"{prefix}.joint_targets"], arrays[f"{prefix}.gripper_target"]])
    return action, np.hstack([arrays[f"{arm}.joint_positions"], arrays[f"{arm}.gripper_opening"]])
