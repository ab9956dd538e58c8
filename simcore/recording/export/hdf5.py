"""Exports HDF5 files: robomimic's, and the trajectories of ManiSkill."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from unlatch.simcore.errors import ConfigError
from unlatch.simcore.extras import import_extra
from unlatch.simcore.recording.export.config import ExportCfg
from unlatch.simcore.recording.export.exporter import Exporter
from unlatch.simcore.recording.export.trajectory import ACTION, ExportSource, Images, Trajectory


class HDF5Exporter(Exporter):
    """Base class of exporters of HDF5 files."""

    def __init__(self, source: ExportSource, cfg: Any) -> None:
        """Imports h5py, an extra.

        Raises:
            PluginError: It is not installed.
        """
        super().__init__(source, cfg)
        self.h5py = import_extra("h5py", extra="hdf5")


def write_points(group: Any, name: str, values: np.ndarray) -> Any:
    """Writes (frames, points, n) numbers as one compressed array of their type; returns the array."""
    return group.create_dataset(
        name, data=values, chunks=(1, *values.shape[1:]), compression="gzip", compression_opts=1
    )


def write_images(group: Any, name: str, images: Images, n_frames: int) -> Any:
    """Writes the first `n_frames` images as one compressed array (n_frames, H, W, 3) uint8; returns the array.

    One frame is in memory at a time.
    """
    shape = (images.size.height, images.size.width, 3)
    dataset = group.create_dataset(
        name, (n_frames, *shape), np.uint8, chunks=(1, *shape), compression="gzip", compression_opts=1
    )
    for index, frame in enumerate(islice(images.frames(), n_frames)):
        dataset[index] = frame
    return dataset


@dataclass
class RobomimicCfg(ExportCfg):
    """Options of `unlatch export format=robomimic`."""

    valid_every: int = 10
    """With N: episodes N-1, 2N-1, ... are in `/mask/valid`, the others in `/mask/train`; 0: all in `/mask/train`."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.valid_every < 0 or self.valid_every == 1:
            raise ConfigError(
                f"valid_every={self.valid_every} is out of range. Expected 0, or 2 and more.", key="valid_every"
            )


class RobomimicExporter(HDF5Exporter):
    """Writes one HDF5 file; numbers keep the 64 bits of the record."""

    cfg: RobomimicCfg
    cfg_type = RobomimicCfg
    suffix = ".hdf5"

    def is_export(self, target: Path) -> bool:
        """See `Exporter.is_export`."""
        with suppress(OSError), self.h5py.File(target) as file:
            return "data" in file and "conventions" in file["data"].attrs
        return False

    def write(self, draft: Path, trajectories: Iterator[Trajectory], *, parts: Path, base: Path | None) -> None:
        """See `Exporter.write`."""
        masks: dict[str, list[str]] = {"train": [], "valid": []}
        total = 0
        with self.h5py.File(draft, "w") as file:
            data = file.create_group("data")
            for index, trajectory in enumerate(trajectories):
                name = f"demo_{index}"
                self._write_demo(data.create_group(name), trajectory)
                every = self.cfg.valid_every
                masks["valid" if every and index % every == every - 1 else "train"].append(name)
                total += trajectory.n_actions
            data.attrs["total"] = total
            name = self.source.task or "unlatch"
            kwargs = {"task": name, "robot": self.source.layout.robot}
            # robomimic's number for environments of Gymnasium
            environment = {"env_name": name, "env_type": 2, "env_version": "0", "env_kwargs": kwargs}
            data.attrs["env_args"] = json.dumps(environment)
            data.attrs["conventions"] = json.dumps(self.source.layout.convention)
            for key, names in masks.items():
                if names:
                    file.create_dataset(f"mask/{key}", data=np.array(names, dtype="S"))

    def _write_demo(self, demo: Any, trajectory: Trajectory) -> None:
        n = trajectory.n_actions
        demo.attrs["num_samples"] = n
        own = {"code": trajectory.code or "", "object": json.dumps(list(trajectory.objects))}
        for key in ("number", "seed", "success", "code", "language", "robot", "object"):
            demo.attrs[key] = own[key] if key in own else getattr(trajectory, key)
        ends = np.zeros(n)
        ends[-1] = 1.0
        columns = {key: column.values for key, column in trajectory.columns.items()}
        demo.create_dataset("actions", data=columns.pop(ACTION))
        demo.create_dataset("states", data=np.hstack([values[:-1] for values in columns.values() if values.ndim == 2]))
        demo.create_dataset("rewards", data=ends if trajectory.success else np.zeros(n))
        demo.create_dataset("dones", data=ends.astype(np.int64))
        observed, next_observed = demo.create_group("obs"), demo.create_group("next_obs")
        for key, values in columns.items():
            name = key.removeprefix("observation.")
            if values.ndim == 3:
                self._share(write_points(demo, f"_{name}", values), name, observed, next_observed)
            else:
                observed.create_dataset(name, data=values[:-1])
                next_observed.create_dataset(name, data=values[1:])
        for camera, images in trajectory.images.items():
            states = write_images(demo, f"_{camera}", images, n + 1)
            self._share(states, f"{camera}_image", observed, next_observed)

    def _share(self, states: Any, name: str, observed: Any, next_observed: Any) -> None:
        """Makes both groups refer to the same T+1 frames: one copy on disk."""
        n = len(states) - 1
        for group, rows in ((observed, slice(0, n)), (next_observed, slice(1, n + 1))):
            layout = self.h5py.VirtualLayout((n, *states.shape[1:]), states.dtype)
            layout[:] = self.h5py.VirtualSource(states)[rows]
            group.create_virtual_dataset(name, layout)


class ManiSkillExporter(HDF5Exporter):
    """Writes a folder with `trajectory.h5` and `trajectory.json`."""

    def is_export(self, target: Path) -> bool:
        """See `Exporter.is_export`."""
        return (target / "trajectory.h5").is_file()

    def write(self, draft: Path, trajectories: Iterator[Trajectory], *, parts: Path, base: Path | None) -> None:
        """See `Exporter.write`."""
        episodes = []
        with self.h5py.File(draft / "trajectory.h5", "w") as file:
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
        (draft / "trajectory.json").write_text(json.dumps(content, indent=2), encoding="utf-8")

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
