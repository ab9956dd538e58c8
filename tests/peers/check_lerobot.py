"""Opens an exported set with LeRobot itself, compares it with the record, and merges it with a set that LeRobot wrote.

Run by `make check-lerobot`, in an environment of its own that has LeRobot and not Unlatch: records are read with NumPy
and JSON alone. `python tests/peers/check_lerobot.py DATA EXPORTED`
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

os.environ["HF_HUB_OFFLINE"] = "1"
import numpy as np
import torch
from lerobot.datasets import LeRobotDataset, aggregate_datasets
from lerobot.utils.constants import DEFAULT_FEATURES
from record_arrays import episode_folder, read_columns

DELTAS = {"action": [0.0, 1 / 30, 2 / 30], "observation.state": [-1 / 30, 0.0]}


def recorded(data: Path, number: int) -> dict[str, np.ndarray]:
    """State and action of an episode by the default conventions, out of its record."""
    action, state = read_columns(data, number)
    language = json.loads((episode_folder(data, number) / "episode.json").read_text())["language"][0]
    return {"observation.state": state[:-1], "action": action, "language": language}


def opened(name: str, root: Path, **keys: Any) -> LeRobotDataset:
    """A set as LeRobot opens it; by PyAV, since torchcodec wants an FFmpeg of the system's."""
    return LeRobotDataset(f"unlatch/{name}", root=root, video_backend="pyav", **keys)


def compare(data: Path, exported: Path) -> int:
    """Every frame of every episode, one by one as LeRobot gives it; returns how many."""
    dataset = opened("checked", exported, delta_timestamps=DELTAS)
    count = 0
    for episode in dataset.meta.episodes:
        truth = recorded(data, episode["unlatch/number"])
        first, last = episode["dataset_from_index"], episode["dataset_to_index"]
        assert last - first == len(truth["action"])
        frames = [dataset.hf_dataset[index] for index in range(first, last)]
        for key in ("observation.state", "action"):
            got = torch.stack([frame[key] for frame in frames]).numpy()
            assert np.array_equal(got, truth[key].astype(np.float32)), f"{key} of episode {episode['episode_index']}"
        item = dataset[first + 5]
        assert np.array_equal(item["action"].numpy(), truth["action"][5:8].astype(np.float32))
        assert np.array_equal(item["observation.state"].numpy(), truth["observation.state"][4:6].astype(np.float32))
        assert item["task"] == truth["language"]
        assert episode["success"] in (True, False)
        count += len(frames)
    return count


def iterate(exported: Path) -> dict[str, list[int]]:
    """One pass of a DataLoader with windows of time, pictures included; returns the shapes of a batch."""
    dataset = opened("checked", exported, delta_timestamps=DELTAS)
    seen, shapes = 0, {}
    for batch in torch.utils.data.DataLoader(dataset, batch_size=32, shuffle=True):
        seen += len(batch["index"])
        shapes = shapes or {key: list(value.shape) for key, value in batch.items() if hasattr(value, "shape")}
        for key in dataset.meta.video_keys:
            assert 0.0 <= float(batch[key].min()) < float(batch[key].max()) <= 1.0
    assert seen == len(dataset)
    return shapes


def merge(exported: Path, folder: Path) -> str:
    """Joins the set with one that LeRobot writes from its first episode; returns what came of it."""
    ours = opened("checked", exported)
    if any(ours.meta.features[key]["info"]["video.codec"] != "av1" for key in ours.meta.video_keys):
        return "not tried: LeRobot writes AV1 and joins videos of one codec only (export with codec=av1)"
    features = {key: {**value} for key, value in ours.meta.features.items() if key not in DEFAULT_FEATURES}
    theirs = LeRobotDataset.create(
        "lerobot/own", fps=ours.fps, features=features, root=folder / "own", robot_type=ours.meta.robot_type
    )
    last = ours.meta.episodes[0]["dataset_to_index"]
    for index in range(last):
        frame = ours[index]
        values = {key: frame[key].numpy() for key in features if not key.startswith("observation.images")}
        for key in ours.meta.video_keys:
            values[key] = (frame[key].permute(1, 2, 0).numpy() * 255).round().astype(np.uint8)
        theirs.add_frame({**values, "task": frame["task"]})
    theirs.save_episode()
    theirs.finalize()
    aggregate_datasets(
        ["unlatch/checked", "lerobot/own"],
        "unlatch/joined",
        roots=[exported, folder / "own"],
        aggr_root=folder / "joined",
    )
    joined = opened("joined", folder / "joined")
    assert len(joined) == len(ours) + last
    for index in (0, len(ours) - 1):
        assert torch.equal(joined[index]["action"], ours[index]["action"])
    for index in (0, last - 1):
        assert torch.equal(joined[len(ours) + index]["action"], ours[index]["action"])
        for key in ours.meta.video_keys:
            assert joined[len(ours) + index][key].shape == ours[index][key].shape
    return f"{joined.num_episodes} episodes, {len(joined)} frames"


def main() -> None:
    """Runs all checks."""
    data, exported = Path(sys.argv[1]), Path(sys.argv[2])
    print(f"equal to the record: {compare(data, exported)} frames")
    print(f"a batch of the DataLoader: {iterate(exported)}")
    with tempfile.TemporaryDirectory() as folder:
        print(f"merged with a set of LeRobot's own: {merge(exported, Path(folder))}")


if __name__ == "__main__":
    main()
