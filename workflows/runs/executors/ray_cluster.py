"""Makes episodes in workers on the nodes of a Ray cluster; nodes may leave and join."""

from __future__ import annotations

import logging
import math
import os
import time
from collections.abc import Generator, Iterable
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from typing import Any

import psutil

from unlatch.simcore.errors import SimCoreError
from unlatch.simcore.extras import import_extra
from unlatch.workflows.runs.executors.executor import Job, Outcome, WorkerLimits
from unlatch.workflows.runs.executors.workers import (
    LostEpisodes,
    NumberSource,
    Worker,
    WorkerError,
    seconds_to_timeout,
)

_CLOSE_S = 5.0
LOOK_EVERY_S = 5.0
"""Period of the check for new nodes [s]."""
_QUIET = {"log_to_driver": False, "logging_level": logging.ERROR}


@dataclass
class _Worker(Worker):
    actor: Any


class RayExecutor:
    """Makes episodes in Ray actors of one CPU each; replaces an actor that dies, alone or with its node.

    It joins the running cluster of `RAY_ADDRESS` or of this host, else it starts one on this machine. Every node must
    see the data set at the same path.
    """

    on_this_host = False

    def __init__(self, workers: int | None = None, limits: WorkerLimits | None = None) -> None:
        """Makes an executor; starts nothing yet.

        Args:
            workers: Actors at a time; an actor waits until a CPU is free. None: one for each CPU of the cluster,
                nodes that join later included.
            limits: Limits of each worker; memory is checked after each episode.

        Raises:
            PluginError: Ray is not installed.
        """
        self.workers = workers
        self.limits = limits or WorkerLimits()
        self._ray = import_extra("ray", extra="ray")
        self._started = 0
        self._cpus = 1
        self._looked_at = -math.inf

    def run(self, job: Job, numbers: Iterable[int], *, most: int | None = None) -> Generator[Outcome]:
        """See `Executor`."""
        source = NumberSource(numbers)
        advice = "Every node needs this version of unlatch. Run with executor=serial to see why."
        lost_episodes = LostEpisodes(job, source, max_retries=self.limits.max_retries, advice=advice)
        joined = self._ray.is_initialized()
        if not joined:
            self._join_cluster()
        pending: dict[Any, _Worker] = {}
        try:
            while any(worker.number is not None for worker in pending.values()) or source.has_more():
                while len(pending) < self._worker_limit(most) and source.has_more():
                    self._start(job, pending)
                wait_s = min([*seconds_to_timeout(pending.values(), self.limits), LOOK_EVERY_S])
                done, _ = self._ray.wait(list(pending), num_returns=1, timeout=wait_s)
                for future in done:
                    worker = pending.pop(future)
                    outcome = self._receive(future, worker, lost_episodes)
                    if outcome is not None:
                        yield outcome
                    self._assign(worker, source, pending)
                self._kill_workers_that_hang(pending)
        finally:
            for worker in pending.values():
                self._ray.kill(worker.actor)
            if not joined:
                self._ray.shutdown()

    def _join_cluster(self) -> None:
        # a running cluster refuses a driver that asks for resources (object_store_memory, num_cpus)
        try:
            self._ray.init(include_dashboard=False, **_QUIET)
        except (ConnectionError, ValueError, RuntimeError) as exc:
            address = os.environ.get("RAY_ADDRESS", "of this host")
            raise WorkerError(
                f"The Ray cluster {address} cannot be joined: {exc}. Expected a running cluster. Start it with "
                "`ray start --head`, or unset RAY_ADDRESS."
            ) from exc

    def _start(self, job: Job, pending: dict[Any, _Worker]) -> None:
        name = f"r{self._started}"
        self._started += 1
        actor = self._ray.remote(num_cpus=1, max_restarts=0)(EpisodeActor).remote(job, name)
        pending[actor.set_up.remote()] = _Worker(actor)

    def _worker_limit(self, most: int | None) -> int:
        """Returns how many workers there may be now: `workers`, or one for each CPU of the nodes that have joined."""
        now = time.monotonic()
        if self.workers is None and now - self._looked_at >= LOOK_EVERY_S:
            self._looked_at = now
            self._cpus = max(int(self._ray.cluster_resources().get("CPU", 0)), 1)
        room = self.workers or self._cpus
        return room if most is None else min(room, most)

    def _receive(self, future: Any, worker: _Worker, lost_episodes: LostEpisodes) -> Outcome | None:
        """Reads the answer of a worker; removes its actor if the worker is gone."""
        try:
            answer: tuple[Outcome | None, float] = self._ray.get(future)
        except self._ray.exceptions.RayTaskError as exc:
            cause = getattr(exc, "cause", None)
            raise (
                cause if isinstance(cause, SimCoreError) else WorkerError(f"A worker was ended by a bug:\n{exc}")
            ) from exc
        except self._ray.exceptions.RayError as exc:
            worker.actor = None
            code, reason = worker.replaced_because or ("error", f"worker lost: {type(exc).__name__}")
            return lost_episodes.count(worker.number, code, reason)
        outcome, used_mb = answer
        lost_episodes.count_setup()
        if outcome is not None:
            worker.end()
            if self._is_spent(worker, used_mb):
                self._dismiss(worker)
                worker.actor = None
        return outcome

    def _is_spent(self, worker: _Worker, used_mb: float) -> bool:
        most_mb = self.limits.worker_memory_mb
        return worker.made == self.limits.recycle_after or (most_mb is not None and used_mb > most_mb)

    def _assign(self, worker: _Worker, source: NumberSource, pending: dict[Any, _Worker]) -> None:
        """Gives a live worker its next episode; ends a worker if there is none."""
        if worker.actor is None:
            return
        number = source.take()
        if number is None:
            self._dismiss(worker)
            return
        worker.begin(number)
        pending[worker.actor.make.remote(number)] = worker

    def _dismiss(self, worker: _Worker) -> None:
        """Lets an idle worker clean up, then ends it."""
        with suppress(self._ray.exceptions.RayError):
            self._ray.get(worker.actor.close.remote(), timeout=_CLOSE_S)
        self._ray.kill(worker.actor)

    def _kill_workers_that_hang(self, pending: dict[Any, _Worker]) -> None:
        for worker in pending.values():
            if worker.replaced_because is None and worker.is_late(self.limits):
                reason = f"worker killed: it was not done after episode_timeout_s={self.limits.episode_timeout_s:g}"
                worker.replaced_because = ("timeout", reason)
                self._ray.kill(worker.actor)

    def __repr__(self) -> str:
        return f"RayExecutor(workers={self.workers})"


class EpisodeActor:
    """A worker in a process of its own, on some node."""

    def __init__(self, job: Job, name: str) -> None:
        self._job = job
        self._name = name
        self._stack = ExitStack()

    def set_up(self) -> tuple[None, float]:
        """Builds what all episodes need; returns None and the memory in use [MB]."""
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
