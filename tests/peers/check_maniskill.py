"""Opens an exported folder with ManiSkill's own dataset class and compares it with the record.

Run by `make check-maniskill`, in an environment of its own: `python tests/peers/check_maniskill.py DATA FOLDER`
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
from mani_skill.trajectory.dataset import ManiSkillTrajectoryDataset
from record_arrays import read_columns


def main() -> None:
    """Runs all checks."""
    data, folder = Path(sys.argv[1]), Path(sys.argv[2])
    about = json.loads((folder / "trajectory.json").read_text(encoding="utf-8"))
    numbers = sorted(int(path.parent.name) for path in (data / "episodes").glob("*/*/state.npz"))
    dataset = ManiSkillTrajectoryDataset(dataset_file=str(folder / "trajectory.h5"), load_count=-1, success_only=True)
    count = 0
    for number, episode in zip(numbers, about["episodes"], strict=True):
        action, state = read_columns(data, number)
        assert episode["elapsed_steps"] == len(action), episode
        for t in range(len(action)):
            item = dataset[count + t]
            assert np.array_equal(np.asarray(item["action"]), action[t].astype(np.float32)), (number, t)
            assert np.array_equal(np.asarray(item["obs"]["state"]), state[t].astype(np.float32)), (number, t)
        assert bool(item["success"])
        count += len(action)
    assert count == len(dataset)
    print(f"equal to the record: {count} samples of {len(numbers)} episodes")


if __name__ == "__main__":
    main()
