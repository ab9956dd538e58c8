"""Makes episodes in workers on the nodes of a Ray cluster, any of which may go."""

from __future__ import annotations

import logging
import math
import os
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from typing import Any

import psutil

from unlatch.simcore.errors import SimCoreError
from unlatch.simcore.extras import import_extra
from unlatch.workflows.runs.executors.executor import Job, Outcome, WorkerLimits
from unlatch.workflows.runs.executors.losses import Losses, NumberSource

_SETUP_TRIES = 3
_CLOSE_S = 5.0
_LOOK_S = 5.0
"""So often it is looked whether nodes have joined [s]."""
_QUIET = {"log_to_driver": False, "logging_level": logging.ERROR}


class ClusterError(SimCoreError):
    """Workers cannot be set up on the cluster, or a bug ended one."""

    exit_code = 1


@dataclass
class _Worker:
    actor: Any
    number: int | None = None
    """The episode it is making; None while it is being set up."""
    made: int = 0
    """Episodes so far."""
    since: float = 0.0
    """When it was given the present one."""
    verdict: tuple[str, str] | None = None
    """Code and reason, where it is being replaced."""


class RayExecutor:
    """Makes episodes in Ray actors of one CPU each; one that is gone, with its node or alone, is replaced.

    A running cluster is joined without any resource of our own being asked for: that of `RAY_ADDRESS`, or the one that
    was started on this host; else one of this machine alone is started. Every node sees the data set at the same path.
    """

    on_this_host = False

    def __init__(self, workers: int | None = None, limits: WorkerLimits | None = None) -> None:
        """Makes an executor; nothing is started yet.

        Args:
            workers: Actors at a time, those that find no room wait for it; None: one a CPU of the cluster,
                those of nodes that join later too.
            limits: What each may take; memory is looked at after each episode.

        Raises:
            PluginError: Ray is not installed.
        """
        self.workers = workers
        self.limits = limits or WorkerLimits()
        self._ray = import_extra("ray", extra="ray")
        self._started = 0
        self._failed_setups = 0
        self._cpus = 1
        self._looked = -math.inf

    def run(self, job: Job, numbers: Iterable[int], *, most: int | None = None) -> Iterator[Outcome]:
        """See `Executor`."""
        source = NumberSource(numbers)
        losses = Losses(job, source, max_retries=self.limits.max_retries)
        joined = self._ray.is_initialized()
        if not joined:
            self._join()
        pending: dict[Any, _Worker] = {}
        try:
            while any(worker.number is not None for worker in pending.values()) or source.has_more():
                while len(pending) < self._room(most) and source.has_more():
                    self._start(job, pending)
                done, _ = self._ray.wait(list(pending), num_returns=1, timeout=self._patience(pending))
                for future in done:
                    worker = pending.pop(future)
                    outcome = self._hear(future, worker, losses)
                    if outcome is not None:
                        yield outcome
                    self._assign(worker, source, pending)
                self._replace_those_that_hang(pending)
        finally:
            for worker in pending.values():
                self._ray.kill(worker.actor)
            if not joined:
                self._ray.shutdown()

    def _join(self) -> None:
        # no resource is named: a running cluster refuses a driver that asks for any (object_store_memory, num_cpus)
        try:
            self._ray.init(include_dashboard=False, **_QUIET)
        except (ConnectionError, ValueError, RuntimeError) as exc:
            address = os.environ.get("RAY_ADDRESS", "of this host")
            raise ClusterError(
                f"The Ray cluster {address} cannot be joined: {exc}. Expected one that runs. Start it with `ray start "
                "--head`, or unset RAY_ADDRESS."
            ) from exc

    def _start(self, job: Job, pending: dict[Any, _Worker]) -> None:
        name = f"r{self._started}"
        self._started += 1
        actor = self._ray.remote(num_cpus=1, max_restarts=0)(EpisodeActor).remote(job, name)
        pending[actor.set_up.remote()] = _Worker(actor)

    def _room(self, most: int | None) -> int:
        """How many workers there may be now: one a CPU of the nodes that have joined so far, where none are named."""
        now = time.monotonic()
        if self.workers is None and now - self._looked >= _LOOK_S:
            self._looked = now
            self._cpus = max(int(self._ray.cluster_resources().get("CPU", 0)), 1)
        room = self.workers or self._cpus
        return room if most is None else min(room, most)

    def _patience(self, pending: dict[Any, _Worker]) -> float:
        """How long to wait for events before limits and nodes are looked at [s]."""
        if self.limits.episode_timeout_s is None:
            return _LOOK_S
        now = time.monotonic()
        busy = [worker for worker in pending.values() if worker.number is not None]
        left = [worker.since + self.limits.episode_timeout_s - now for worker in busy]
        return max(min([*left, _LOOK_S]), 0.0)

    def _hear(self, future: Any, worker: _Worker, losses: Losses) -> Outcome | None:
        """Takes what a worker has to say, or notices that it is gone: then it has no actor."""
        try:
            said: tuple[Outcome | None, float] = self._ray.get(future)
        except self._ray.exceptions.RayTaskError as exc:
            cause = getattr(exc, "cause", None)
            raise (
                cause if isinstance(cause, SimCoreError) else ClusterError(f"A worker was ended by a bug:\n{exc}")
            ) from exc
        except self._ray.exceptions.RayError as exc:
            worker.actor = None
            code, reason = worker.verdict or ("error", f"worker lost: {type(exc).__name__}")
            return self._lose(worker, losses, code, reason)
        outcome, used_mb = said
        self._failed_setups = 0
        if outcome is not None:
            worker.number = None
            worker.made += 1
            if self._is_spent(worker, used_mb):
                self._dismiss(worker)
                worker.actor = None
        return outcome

    def _lose(self, worker: _Worker, losses: Losses, code: str, reason: str) -> Outcome | None:
        if worker.number is not None:
            return losses.count(worker.number, code, reason)
        self._failed_setups += 1
        if self._failed_setups >= _SETUP_TRIES:
            raise ClusterError(
                f"Workers die while they are being set up ({reason}), {_SETUP_TRIES} times in a row. Every node needs "
                "this version of unlatch. Run with executor=serial to see why."
            )
        return None

    def _is_spent(self, worker: _Worker, used_mb: float) -> bool:
        most_mb = self.limits.worker_memory_mb
        return worker.made == self.limits.recycle_after or (most_mb is not None and used_mb > most_mb)

    def _assign(self, worker: _Worker, source: NumberSource, pending: dict[Any, _Worker]) -> None:
        """Gives a worker that is there its next episode. One without work ends."""
        if worker.actor is None:
            return
        number = source.take()
        if number is None:
            self._dismiss(worker)
            return
        worker.number, worker.since = number, time.monotonic()
        pending[worker.actor.make.remote(number)] = worker

    def _dismiss(self, worker: _Worker) -> None:
        """Has a worker that is idle clear up, and ends it."""
        with suppress(self._ray.exceptions.RayError):
            self._ray.get(worker.actor.close.remote(), timeout=_CLOSE_S)
        self._ray.kill(worker.actor)

    def _replace_those_that_hang(self, pending: dict[Any, _Worker]) -> None:
        timeout_s = self.limits.episode_timeout_s
        for worker in pending.values():
            if timeout_s is None or worker.number is None or worker.verdict is not None:
                continue
            if time.monotonic() - worker.since > timeout_s:
                worker.verdict = ("timeout", f"worker killed: it was not done after episode_timeout_s={timeout_s:g}")
                self._ray.kill(worker.actor)

    def __repr__(self) -> str:
        return f"RayExecutor(workers={self.workers})"


class EpisodeActor:
    """A worker on some node; lives in a process of its own."""

    def __init__(self, job: Job, name: str) -> None:
        """Sets nothing up yet.

        Args:
            job: What is made.
            name: Name of the worker, unique in the run.
        """
        self._job = job
        self._name = name
        self._stack = ExitStack()

    def set_up(self) -> tuple[None, float]:
        """Builds what is needed for all episodes; returns the memory in use [MB]."""
        self._make_episode = self._stack.enter_context(self._job.open(self._name))
        return None, _used_mb()

    def close(self) -> None:
        """Clears up what `set_up` built."""
        self._stack.close()

    def make(self, number: int) -> tuple[Outcome, float]:
        """Makes an episode; returns its outcome and the memory in use [MB]."""
        return self._make_episode(number), _used_mb()


def _used_mb() -> float:
    return float(psutil.Process().memory_info().rss / 1e6)
