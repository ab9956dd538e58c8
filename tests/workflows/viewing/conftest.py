"""Data sets with pictures."""

from pathlib import Path

import pytest

from unlatch import command_table


@pytest.fixture(scope="session")
def noisy_drawers(tmp_path_factory) -> Path:
    """A data set of three drawers whose places are misjudged: the hand grasps one, and misses the others."""
    folder = tmp_path_factory.mktemp("noisy") / "drawers"
    words = [
        "task=open_drawer",
        "seed=9100",
        "only=[0,4,14]",
        "replan=0",
        "randomization.perception.position_std_m=0.012",
    ]
    assert command_table.main(["collect", *words, "executor=serial", "pictures=0", f"out={folder}"]) == 0
    return folder
