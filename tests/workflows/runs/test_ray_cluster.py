"""Workers on a Ray cluster whose nodes go and come."""

import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import pytest

from unlatch import command_table
from unlatch.simcore.recording.data_set import DataSet
from unlatch.workflows.cli.terminal import OK
from unlatch.workflows.runs import ray_cluster
from unlatch.workflows.runs.executors import EpisodeMaker, Job, Outcome
from unlatch.workflows.runs.worker_processes import WorkerError

pytestmark = [pytest.mark.slow, pytest.mark.integration]

ray = pytest.importorskip("ray")


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_ADDRESS", cluster.address)
        yield cluster
    ray.shutdown()
    cluster.shutdown()


def test_a_lost_node_costs_no_episode(tmp_path, cluster):
    arguments = ["task=close_drawer", "episodes=8", "pictures=0"]
    folder = tmp_path / "set"
    lost_at: list[int] = []
    second = cluster.add_node(num_cpus=1)

    def lose_a_node_in_the_middle() -> None:
        while not (folder / "dataset.json").exists() or len(DataSet.open(folder)) < 2:
            time.sleep(0.05)
        cluster.remove_node(second, allow_graceful=False)
        lost_at.append(len(DataSet.open(folder)))

    thread = threading.Thread(target=lose_a_node_in_the_middle, daemon=True)
    thread.start()
    assert command_table.main(["collect", *arguments, "executor=ray", f"out={folder}"]) == OK
    thread.join()
    assert 2 <= lost_at[0] < 8
    assert command_table.main(["collect", *arguments, "executor=serial", f"out={tmp_path / 'alone'}"]) == OK
    made, alone = (
        {item.number: item.state_sha256 for item in DataSet.open(path).summaries()}
        for path in (folder, tmp_path / "alone")
    )
    assert made == alone
    assert command_table.main(["check", str(folder)]) == OK


def test_a_cluster_that_is_gone_is_refused_at_once(tmp_path, monkeypatch):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{unused.getsockname()[1]}"
    monkeypatch.delenv("RAY_ADDRESS")
    last_started = tmp_path / "ray_current_cluster"
    last_started.write_text(address)
    monkeypatch.setattr(ray_cluster, "_LAST_STARTED", last_started)
    with pytest.raises(WorkerError, match=rf"The Ray cluster {address} cannot be joined.*RAY_ADDRESS=local"):
        next(ray_cluster.RayExecutor().run(job_that_names_its_node(), range(1)))


def job_that_names_its_node() -> Job:
    """Its class is local: Ray sends such a one along, since no worker can import a test."""

    class NodeNamingJob:
        def open(self, worker: str) -> AbstractContextManager[EpisodeMaker]:
            @contextmanager
            def opened() -> Iterator[EpisodeMaker]:
                import ray

                assert os.environ["UNLATCH_WORKER"] == worker.removeprefix("r")
                node = ray.get_runtime_context().get_node_id()
                yield lambda number: Outcome(number, success=True, code=node)

            return opened()

        def record_loss(self, number: int, reason: str, *, code: str = "error") -> Outcome:
            return Outcome(number, success=False, code=code)

    return NodeNamingJob()


@pytest.mark.heavy
def test_a_node_that_joins_later_makes_episodes_too(cluster, monkeypatch):
    monkeypatch.setattr(ray_cluster, "CHECK_PERIOD_S", 0.2)
    used: set[str | None] = set()

    def numbers_until_two_nodes_were_used() -> Iterator[int]:
        for number in range(20_000):
            if len(used) > 1:
                return
            yield number

    late = None
    try:
        for outcome in ray_cluster.RayExecutor().run(job_that_names_its_node(), numbers_until_two_nodes_were_used()):
            used.add(outcome.code)
            late = late or cluster.add_node(num_cpus=1)
        assert late is not None
        assert late.node_id in used
        assert len(used) == 2
    finally:
        if late is not None:
            cluster.remove_node(late)
