"""Makes the columns of one exported episode: T rows of observations, actions and LeRobot's bookkeeping."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unlatch.simcore.recording.export.trajectory import ACTION, Trajectory

Array = np.ndarray


@dataclass(frozen=True)
class EpisodePlace:
    """Place of an episode in a set."""

    index: int
    """Index of the episode."""
    first_frame: int
    """Index of its first frame among all frames."""
    task: int
    """Index of its instruction."""


def frame_columns(trajectory: Trajectory, place: EpisodePlace, *, fps: int, float_type: str) -> dict[str, Array]:
    """Returns the columns of an episode, (T, n) or (T,) each.

    Args:
        trajectory: The episode, T+1 states; the last one is left out.
        place: Its place in the set.
        fps: Frames per second.
        float_type: Type of its numbers.
    """
    n = trajectory.n_actions
    steps = np.arange(n)
    columns = trajectory.columns
    values = {key: column.values if key == ACTION else column.values[:-1] for key, column in columns.items()}
    return {
        **{key: array.astype(np.dtype(float_type)) for key, array in values.items()},
        "timestamp": (steps / fps).astype(np.float32),
        "frame_index": steps,
        "episode_index": np.full(n, place.index),
        "index": place.first_frame + steps,
        "task_index": np.full(n, place.task),
    }


def as_rows(values: Array) -> Array:
    """Returns values (N, n) or (N,) as (N, n)."""
    return values.reshape(len(values), -1)
