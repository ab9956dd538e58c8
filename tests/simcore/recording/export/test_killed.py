"""An export that is killed: nothing half is there, and the same command makes what is missing."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from unlatch import command_table
from unlatch.simcore.recording.data_set import DataSet
from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.simcore.recording.export.lerobot import LeRobotSet

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parents[4]


def test_a_killed_export_leaves_what_was_there_and_goes_on(
    tmp_path: Path, make_set: Callable[..., DataSet], make_record: Callable[..., EpisodeRecord]
):
    out, drafted = tmp_path / "out", tmp_path / ".out.export" / "draft" / "data" / "chunk-000" / "file-001.parquet"
    arguments = ["export", str(tmp_path / "data"), f"out={out}"]
    make_set([0])
    assert command_table.main(arguments) == 0
    data_set = make_set([make_record(number, n_actions=400) for number in range(1, 20)])
    running = subprocess.Popen(
        [sys.executable, "-m", "unlatch", *arguments], cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    while running.poll() is None and not drafted.exists():
        time.sleep(0.002)
    os.kill(running.pid, signal.SIGKILL)
    assert running.wait() == -signal.SIGKILL
    assert drafted.exists()
    assert len(LeRobotSet.open(out)) == 1
    assert command_table.main(arguments) == 0
    found = LeRobotSet.open(out)
    assert [row["unlatch/number"] for row in found.episodes] == list(range(20))
    wanted = data_set.read(19).arrays["actions.panda.left.joint_targets"]
    np.testing.assert_array_equal(found.read(19)["action"][:, :7], wanted.astype(np.float32))
    assert not (tmp_path / ".out.export").exists()
