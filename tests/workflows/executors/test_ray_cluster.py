"""Workers on a Ray cluster of two nodes, one of which goes."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

import unlatch
from simcore.recording.storage import DataSet
from workflows.console import OK

pytestmark = [pytest.mark.slow, pytest.mark.integration]

ray = pytest.importorskip("ray")


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[SimpleNamespace]:
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    second = cluster.add_node(num_cpus=1)
    monkeypatch.setenv("RAY_ADDRESS", cluster.address)
    yield SimpleNamespace(lose_a_node=lambda: cluster.remove_node(second, allow_graceful=False))
    ray.shutdown()
    cluster.shutdown()


def test_the_set_is_complete_although_a_node_was_lost(tmp_path: Path, cluster: SimpleNamespace):
    arguments = ["task=close_drawer", "episodes=8", "pictures=0"]
    folder = tmp_path / "set"
    lost_at: list[int] = []

    def lose_a_node_in_the_middle() -> None:
        while not (folder / "dataset.json").exists() or len(DataSet.open(folder)) < 2:
            time.sleep(0.05)
        cluster.lose_a_node()
        lost_at.append(len(DataSet.open(folder)))

    thread = threading.Thread(target=lose_a_node_in_the_middle, daemon=True)
    thread.start()
    assert unlatch.main(["collect", *arguments, "executor=ray", f"out={folder}"]) == OK
    thread.join()
    assert 2 <= lost_at[0] < 8
    assert unlatch.main(["collect", *arguments, "executor=serial", f"out={tmp_path / 'alone'}"]) == OK
    made, alone = (
        {item.number: item.state_sha256 for item in DataSet.open(path).summaries()}
        for path in (folder, tmp_path / "alone")
    )
    assert made == alone
    assert unlatch.main(["check", str(folder)]) == OK
