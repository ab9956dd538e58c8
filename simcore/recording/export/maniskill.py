"""Exports ManiSkill's format: a folder with `trajectory.h5`, which has groups `traj_i`, and `trajectory.json`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from unlatch.simcore.recording.export.hdf5 import HDF5Exporter, write_images, write_points
from unlatch.simcore.recording.export.trajectory import ACTION, Trajectory

_NAME = "trajectory"


class ManiSkillExporter(HDF5Exporter):
    """Writes a folder with `trajectory.h5` and `trajectory.json`."""

    def write(self, draft: Path, trajectories: Iterator[Trajectory], *, parts: Path, base: Path | None) -> None:
        """See `Exporter.write`."""
        episodes = []
        with self.h5py.File(draft / f"{_NAME}.h5", "w") as file:
            for index, trajectory in enumerate(trajectories):
                self._write_trajectory(file.create_group(f"traj_{index}"), trajectory)
                episodes.append(self._describe_episode(index, trajectory))
        content = {
            "env_info": {
                "env_id": self.source.task or "unlatch",
                "env_kwargs": {"robot_uids": self.source.layout.robot, "control_freq": self.source.layout.fps},
                "max_episode_steps": max(episode["elapsed_steps"] for episode in episodes),
            },
            "commit_info": None,
            "source_type": "motionplanning",
            "source_desc": f"Unlatch; {json.dumps(self.source.layout.convention)}",
            "episodes": episodes,
        }
        (draft / f"{_NAME}.json").write_text(json.dumps(content, indent=2), encoding="utf-8")

    def _write_trajectory(self, group: Any, trajectory: Trajectory) -> None:
        n = trajectory.n_actions
        last = np.arange(n) == n - 1
        columns = {key: column.values for key, column in trajectory.columns.items()}
        group.create_dataset("actions", data=columns.pop(ACTION).astype(np.float32))
        group.create_dataset("terminated", data=last)
        group.create_dataset("truncated", data=np.zeros(n, dtype=bool))
        group.create_dataset("success", data=last & trajectory.success)
        group.create_dataset("fail", data=last & (not trajectory.success))
        observations = group.create_group("obs")
        for key, values in columns.items():
            name = key.removeprefix("observation.")
            if values.ndim == 3:
                write_points(observations, name, values)
            else:
                observations.create_dataset(name, data=values.astype(np.float32))
        for camera, images in trajectory.images.items():
            sensor = observations.require_group(f"sensor_data/{camera}")
            write_images(sensor, "rgb", images, n + 1)

    def _describe_episode(self, index: int, trajectory: Trajectory) -> dict[str, Any]:
        kind, delta_from = self.cfg.action, self.cfg.delta_from
        return {
            "episode_id": index,
            "episode_seed": trajectory.seed,
            # ManiSkill's own control modes are normalized or use other frames
            "control_mode": f"unlatch_{kind.name}" + (f"_from_{delta_from.name}" if kind.is_delta else ""),
            "elapsed_steps": trajectory.n_actions,
            "reset_kwargs": {"options": {"episode": trajectory.number}, "seed": trajectory.seed},
            "success": trajectory.success,
            "fail": not trajectory.success,
            "language": trajectory.language,
        }
