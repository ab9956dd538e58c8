"""Makes episodes in workers on the nodes of a Ray cluster; nodes may leave and join."""

from __future__ import annotations

import logging
import math
import os
import socket
import time
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from unlatch.simcore.errors import UnlatchError
from unlatch.simcore.extras import import_extra
from unlatch.simcore.process import WORKER_VARIABLE
from unlatch.workflows.runs.executors import Job, Outcome, WorkerLimits, never_ended
from unlatch.workflows.runs.worker_processes import Worker, WorkerError, WorkerExecutor

CHECK_PERIOD_S = 1.0
"""Period of the checks for new nodes and of limits [s]."""
_ANSWER_S = 10.0
"""Time in which the cluster's head must accept a connection [s]; `ray.init` itself waits for more than ten minutes."""
_LAST_STARTED = Path("/tmp/ray/ray_current_cluster")
"""Where `ray start --head` leaves its address; it stays behind when the head is killed."""
_QUIET = {"log_to_driver": False, "logging_level": logging.ERROR}


@dataclass(eq=False)
class _Worker(Worker):
    actor: Any
    answer: Any
    """Ray's future of the worker's next answer."""


class RayExecutor(WorkerExecutor[_Worker]):
    """Makes episodes in Ray actors of one CPU each; see `WorkerExecutor`. An actor may die alone or with its node.

    It joins the running cluster of `RAY_ADDRESS` or of this host, else it starts one on this machine. Every node must
    see the data set at the same path.
    """

    on_this_host = False
    name_prefix = "r"
    setup_advice = "Every node needs this version of unlatch. Run with executor=serial to see why."

    def __init__(self, workers: int | None = None, limits: WorkerLimits | None = None) -> None:
        """Makes an executor; starts nothing yet.

        Args:
            workers: Actors at a time; an actor waits until a CPU is free. None: one for each CPU of the cluster,
                nodes that join later included.
            limits: Limits of each worker; memory is checked after each episode.

        Raises:
            PluginError: Ray is not installed.
        """
        super().__init__(limits)
        self.workers = workers
        self._ray = import_extra("ray", extra="ray")
        self._cpus = 1
        self._looked_at = -math.inf

    def run(
        self,
        job: Job,
        numbers: Iterable[int],
        *,
        max_episodes: int | None = None,
        is_ended: Callable[[], bool] = never_ended,
    ) -> Generator[Outcome]:
        """See `Executor`."""
        joined = self._ray.is_initialized()
        if not joined:
            self._join_cluster()
        try:
            yield from super().run(job, numbers, max_episodes=max_episodes, is_ended=is_ended)
        finally:
            if not joined:
                self._ray.shutdown()

    def _join_cluster(self) -> None:
        address = os.environ.get("RAY_ADDRESS") or _last_started_address()
        try:
            # something must listen at an address `HOST:PORT`; other forms of address are left to Ray
            host, _, port = address.rpartition(":")
            if host and "/" not in host and port.isdecimal():
                socket.create_connection((host.strip("[]"), int(port)), timeout=_ANSWER_S).close()
            # a running cluster refuses a driver that asks for resources (object_store_memory, num_cpus)
            self._ray.init(include_dashboard=False, **_QUIET)
        except (OSError, ValueError, RuntimeError) as exc:
            raise WorkerError(
                f"The Ray cluster {address or 'of this host'} cannot be joined: {exc}. Expected a running cluster. "
                "Start it with `ray start --head`, or set RAY_ADDRESS=local for a cluster on this machine alone."
            ) from exc

    def _most_workers(self, max_episodes: int | None) -> int:
        now = time.monotonic()
        if self.workers is None and now - self._looked_at >= CHECK_PERIOD_S:
            self._looked_at = now
            self._cpus = max(int(self._ray.cluster_resources().get("CPU", 0)), 1)
        room = self.workers or self._cpus
        return room if max_episodes is None else min(room, max_episodes)

    def _start_worker(self, job: Job, name: str) -> _Worker:
        actor = self._ray.remote(num_cpus=1, max_restarts=0)(EpisodeActor).remote(job, name)
        return _Worker(actor, actor.set_up.remote(), label=name)

    def _wait_for_events(self, workers: Sequence[_Worker]) -> list[_Worker]:
        done, _ = self._ray.wait([worker.answer for worker in workers], num_returns=1, timeout=CHECK_PERIOD_S)
        return [worker for worker in workers if worker.answer in done]

    def _receive(self, worker: _Worker) -> Outcome | None:
        outcome: Outcome | None
        try:
            outcome, worker.used_mb = self._ray.get(worker.answer)
        except self._ray.exceptions.RayTaskError as exc:
            cause = getattr(exc, "cause", None)
            raise (
                cause if isinstance(cause, UnlatchError) else WorkerError(f"A worker was ended by a bug:\n{exc}")
            ) from exc
        except self._ray.exceptions.RayError as exc:
            worker.gone, worker.answer = True, exc
            return None
        worker.ready = True
        return outcome

    def _send_number(self, worker: _Worker, number: int) -> None:
        worker.answer = worker.actor.make.remote(number)

    def _reason_of_death(self, worker: _Worker) -> str:
        return f"worker lost: {type(worker.answer).__name__}"

    def _stop_workers(self, workers: Sequence[_Worker]) -> None:
        for worker in workers:
            if worker.ready and worker.number is None:
                with suppress(self._ray.exceptions.RayError):
                    # time in which an idle worker cleans up before it is ended [s]
                    self._ray.get(worker.actor.close.remote(), timeout=5.0)
            self._kill_worker(worker)

    def _kill_worker(self, worker: _Worker) -> None:
        self._ray.kill(worker.actor)

    def __repr__(self) -> str:
        return f"RayExecutor(workers={self.workers})"


def _last_started_address() -> str:
    """Returns the address of the last cluster that was started on this host, or an empty string."""
    try:
        return _LAST_STARTED.read_text(encoding="utf-8").strip()
    except OSError:
        return ""


class EpisodeActor:
    """A worker in a process of its own, on some node."""

    def __init__(self, job: Job, name: str) -> None:
        self._job = job
        self._name = name
        self._stack = ExitStack()

    def set_up(self) -> tuple[None, float]:
        """Builds what all episodes need; returns None and the memory in use [MB]."""
        os.environ[WORKER_VARIABLE] = self._name.removeprefix(RayExecutor.name_prefix)
        self._make_episode = self._stack.enter_context(self._job.open(self._name))
        return None, _used_mb()

    def close(self) -> None:
        """Releases what `set_up` built."""
        self._stack.close()

    def make(self, number: int) -> tuple[Outcome, float]:
        """Makes an episode; returns its outcome and the memory in use [MB]."""
        return self._make_episode(number), _used_mb()


def _used_mb() -> float:
    return float(psutil.Process().memory_info().rss / 1e6)
