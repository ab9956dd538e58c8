"""Opens an exported file with robomimic's own reader and compares it with the record.

Run by `make check-robomimic`, in an environment of its own: `python tests/peers/check_robomimic.py DATA FILE.hdf5`
"""

from __future__ import annotations

import sys
from pathlib import Path

import h5py
import numpy as np
from record_arrays import read_columns
from robomimic.utils import file_utils, obs_utils
from robomimic.utils.dataset import SequenceDataset

LOW_DIM = ("state", "environment_state", "keypoints")
HORIZON = 4


def main() -> None:
    """Runs all checks."""
    data, file = Path(sys.argv[1]), Path(sys.argv[2])
    env_args = file_utils.get_env_metadata_from_dataset(str(file))
    with h5py.File(file) as opened:
        images = [key for key in opened["data/demo_0/obs"] if key.endswith("_image")]
        numbers = [int(opened[f"data/demo_{index}"].attrs["number"]) for index in range(len(opened["data"]))]
    obs_utils.initialize_obs_utils_with_obs_specs([{"obs": {"low_dim": list(LOW_DIM), "rgb": images}}])
    dataset = SequenceDataset(
        hdf5_path=str(file),
        obs_keys=(*LOW_DIM, *images),
        dataset_keys=("actions", "rewards", "dones"),
        frame_stack=1,
        seq_length=HORIZON,
        pad_seq_length=True,
        goal_mode=None,
        hdf5_cache_mode=None,
        hdf5_use_swmr=False,
        load_next_obs=True,
    )
    count = 0
    for index, number in enumerate(numbers):
        action, state = read_columns(data, number)
        for t in range(len(action)):
            item = dataset[dataset._demo_id_to_start_indices[f"demo_{index}"] + t]
            # padded at the end with the last one
            rows = np.minimum(np.arange(t, t + HORIZON), len(action) - 1)
            assert np.array_equal(item["actions"], action[rows]), (index, t)
            assert np.array_equal(item["obs"]["state"], state[rows]), (index, t)
            assert np.array_equal(item["next_obs"]["state"], state[rows + 1]), (index, t)
            count += 1
    assert count == len(dataset)
    valid = SequenceDataset(
        hdf5_path=str(file),
        obs_keys=LOW_DIM,
        dataset_keys=("actions",),
        frame_stack=1,
        seq_length=1,
        hdf5_use_swmr=False,
        filter_by_attribute="train",
    )
    shapes = {key: list(value.shape) for key, value in dataset[0]["obs"].items()}
    print(f"env_args: {env_args}")
    print(f"equal to the record: {count} samples of {len(numbers)} episodes, {len(valid)} in mask/train; {shapes}")


if __name__ == "__main__":
    main()
