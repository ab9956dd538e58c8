"""Makes episodes in worker processes that may die without taking the run with them.

Pools of the standard library and of joblib lose every task when one worker dies of native code; here each worker has a
pipe of its own, and a worker that is gone is one lost episode and one replacement.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import time
import traceback
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnContext, SpawnProcess
from typing import Any

import psutil

from unlatch.simcore.errors import SimCoreError
from unlatch.workflows.cli.console import banner_hidden
from unlatch.workflows.runs.executors.executor import Job, Outcome, WorkerLimits
from unlatch.workflows.runs.executors.losses import Losses, NumberSource

_SETUP_TRIES = 3
_STOP_S = 2.0
_MEMORY_LOOK_S = 0.5
"""So often the memory of workers is looked at, where it is limited [s]."""
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")

READY = "ready"
DONE = "done"
REFUSED = "refused"
BROKEN = "broken"


class WorkerError(SimCoreError):
    """A worker cannot be set up, or a bug ended it."""

    exit_code = 1


@dataclass
class _Worker:
    name: str
    process: SpawnProcess
    connection: Connection
    number: int | None = None
    """The episode it is making; None while it is being set up or waits."""
    ready: bool = False
    gone: bool = False
    made: int = 0
    """Episodes so far."""
    since: float = 0.0
    """When it began the present one."""
    verdict: tuple[str, str] | None = None
    """Code and reason, where it is being replaced."""


class ProcessExecutor:
    """Makes episodes in processes of its own.

    One that dies, hangs or grows beyond its limits is replaced; its episode is made again, and after `max_retries`
    kept as `error` or `timeout`.
    """

    on_this_host = True

    def __init__(self, workers: int = 2, limits: WorkerLimits | None = None) -> None:
        """Makes an executor; nothing is started yet.

        Args:
            workers: Processes at a time.
            limits: What each may take; None: all it wants.
        """
        self.workers = workers
        self.limits = limits or WorkerLimits()
        self._context: SpawnContext = multiprocessing.get_context("spawn")
        self._started = 0
        self._failed_setups = 0

    def run(self, job: Job, numbers: Iterable[int], *, most: int | None = None) -> Iterator[Outcome]:
        """See `Executor`."""
        source = NumberSource(numbers)
        losses = Losses(job, source, max_retries=self.limits.max_retries)
        workers: list[_Worker] = []
        try:
            for _ in range(min(self.workers, most or self.workers) if source.has_more() else 0):
                workers.append(self._start(job))
            while workers:
                for worker in self._next_events(workers):
                    outcome = self._hear(worker)
                    if outcome is not None:
                        yield outcome
                    if worker.gone:
                        workers.remove(worker)
                        lost = self._bury(worker, losses)
                        if lost is not None:
                            yield lost
                        if source.has_more():
                            workers.append(self._start(job))
                    elif worker.verdict is not None:
                        continue  # killed while its last outcome was on the way: it gets no more, its end is heard of
                    elif worker.ready and worker.number is None:
                        if worker.made == self.limits.recycle_after:
                            if source.has_more():
                                workers.append(self._start(job))
                        elif self._assign(worker, source):
                            continue
                        workers.remove(worker)
                        self._stop([worker])
                self._replace_those_beyond(workers)
        finally:
            self._stop(workers)

    def _start(self, job: Job) -> _Worker:
        ours, theirs = self._context.Pipe()
        name = f"w{self._started}"
        self._started += 1
        packed = pickle.dumps(job)
        # read when the child loads its numerical libraries: two workers on two cores must not use four threads
        before = {key: os.environ.get(key) for key in _THREADS}
        os.environ.update({key: "1" for key in _THREADS if before[key] is None})
        try:
            process = self._context.Process(
                target=_work, args=(theirs, packed, name), name=f"unlatch-{name}", daemon=True
            )
            process.start()
        finally:
            for key in (key for key, value in before.items() if value is None):
                del os.environ[key]
        theirs.close()
        return _Worker(name, process, ours)

    def _next_events(self, workers: list[_Worker]) -> list[_Worker]:
        """Workers that have something to say or are gone; waits for at least one, or until limits are looked at."""
        sources: dict[Any, _Worker] = {}
        for worker in workers:
            sources[worker.connection] = worker
            sources[worker.process.sentinel] = worker
        return list(
            {id(sources[source]): sources[source] for source in wait(list(sources), self._patience(workers))}.values()
        )

    def _patience(self, workers: list[_Worker]) -> float | None:
        """How long to wait for events before limits are looked at [s]."""
        times = [] if self.limits.worker_memory_mb is None else [_MEMORY_LOOK_S]
        if self.limits.episode_timeout_s is not None:
            now = time.monotonic()
            left = [
                worker.since + self.limits.episode_timeout_s - now for worker in workers if worker.number is not None
            ]
            times += [max(seconds, 0.0) for seconds in left]
        return min(times) if times else None

    def _replace_those_beyond(self, workers: list[_Worker]) -> None:
        """Kills workers that are beyond their limits; their end is heard of as any other's."""
        for worker in workers:
            if worker.number is None or worker.verdict is not None:
                continue
            worker.verdict = self._beyond(worker)
            if worker.verdict is not None:
                worker.process.kill()

    def _beyond(self, worker: _Worker) -> tuple[str, str] | None:
        timeout_s, most_mb = self.limits.episode_timeout_s, self.limits.worker_memory_mb
        if timeout_s is not None and time.monotonic() - worker.since > timeout_s:
            return "timeout", f"worker killed by SIGKILL: it was not done after episode_timeout_s={timeout_s:g}"
        if most_mb is None:
            return None
        try:
            used_mb = psutil.Process(worker.process.pid).memory_info().rss / 1e6
        except psutil.Error:
            return None  # it is gone already
        if used_mb <= most_mb:
            return None
        return "error", f"worker killed by SIGKILL: it used {used_mb:.0f} MB, worker_memory_mb={most_mb}"

    def _hear(self, worker: _Worker) -> Outcome | None:
        """Takes one message of a worker, or notices that it is gone."""
        try:
            if not worker.connection.poll():
                worker.gone = not worker.process.is_alive()
                return None
            kind, value = worker.connection.recv()
        except (EOFError, ConnectionError):
            worker.gone = True
            return None
        if kind == READY:
            worker.ready = True
            self._failed_setups = 0
            return None
        if kind == DONE:
            worker.number = None
            worker.made += 1
            outcome: Outcome = value
            return outcome
        if kind == REFUSED:
            error: SimCoreError = value
            raise error
        raise WorkerError(f"Worker {worker.name} was ended by a bug:\n{value}")

    @staticmethod
    def _assign(worker: _Worker, source: NumberSource) -> bool:
        number = source.take()
        if number is None:
            return False
        try:
            worker.connection.send(number)
        except (BrokenPipeError, ConnectionError):
            source.put_back(number)  # it died between two episodes; its sentinel tells, another one makes this
        else:
            worker.number, worker.since = number, time.monotonic()
        return True

    def _bury(self, worker: _Worker, losses: Losses) -> Outcome | None:
        """Clears up after a dead worker; the episode that it was making is made again, or kept as lost."""
        worker.connection.close()
        worker.process.join(_STOP_S)
        if worker.process.is_alive():  # it hung up without ending
            worker.process.kill()
            worker.process.join()
        code, reason = worker.verdict or ("error", _death(worker.process.exitcode))
        if worker.number is not None:
            return losses.count(worker.number, code, reason)
        if not worker.ready:
            self._failed_setups += 1
            if self._failed_setups >= _SETUP_TRIES:
                raise WorkerError(
                    f"Workers die while they are being set up ({reason}), {_SETUP_TRIES} times in a row. "
                    "Run with executor=serial to see why."
                )
        return None

    @staticmethod
    def _stop(workers: list[_Worker]) -> None:
        """Ends workers: idle ones by themselves, the others by force. What they have written stays whole."""
        for worker in workers:
            if worker.number is not None or not worker.ready:
                worker.process.terminate()
            worker.connection.close()
        for worker in workers:
            worker.process.join(_STOP_S)
            if worker.process.is_alive():
                worker.process.kill()
                worker.process.join()

    def __repr__(self) -> str:
        return f"ProcessExecutor(workers={self.workers})"


def _work(connection: Connection, packed: bytes, name: str) -> None:
    """The life of a worker: set up, then one episode for each number that comes, until the driver hangs up."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the driver decides
    try:
        with banner_hidden():  # what a job holds may be a plugin's, whose module loads the engine
            job: Job = pickle.loads(packed)
        with job.open(name) as make_episode:
            connection.send((READY, None))
            while True:
                try:
                    number = connection.recv()
                except (EOFError, ConnectionError):
                    return
                connection.send((DONE, make_episode(number)))
    except SimCoreError as exc:
        _say(connection, REFUSED, _sendable(exc))
    except (BrokenPipeError, ConnectionError):
        return  # the driver is gone
    except Exception:  # noqa: BLE001 - told to the driver, which ends the run with it
        _say(connection, BROKEN, traceback.format_exc())


def _say(connection: Connection, kind: str, value: Any) -> None:
    try:
        connection.send((kind, value))
    except (BrokenPipeError, ConnectionError):
        return


def _sendable(exc: SimCoreError) -> SimCoreError:
    """The error itself, or its message alone where its values cannot be pickled."""
    try:
        pickle.loads(pickle.dumps(exc))
    except Exception:  # noqa: BLE001 - whatever a value's pickling raises, the message still gets through
        return SimCoreError(exc.message)
    return exc


def _death(exitcode: int | None) -> str:
    if exitcode is not None and exitcode < 0:
        try:
            return f"worker killed by {signal.Signals(-exitcode).name}"
        except ValueError:
            return f"worker killed by signal {-exitcode}"
    return f"worker ended with exit code {exitcode}"
