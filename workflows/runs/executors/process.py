"""Makes episodes in worker processes that may die without ending the run.

Each worker is a process of loky, which does not import the caller's main module: a script needs no `__main__` guard,
and a notebook or standard input works. Each worker has a pipe of its own, so a worker that dies costs its own episode
only. Ready-made pools do not give that: the pools of loky and of the standard library fail every running task when one
worker dies, Pebble's workers share one pipe behind a lock that a killed worker may hold, and none limits memory.
"""

from __future__ import annotations

import os
import pickle
import signal
import traceback
from collections.abc import Generator, Iterable
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any

import cloudpickle
import psutil
from loky.backend.context import get_context
from loky.backend.process import LokyProcess

from unlatch.simcore.errors import SimCoreError
from unlatch.workflows.runs.executors.executor import Job, Outcome, WorkerLimits
from unlatch.workflows.runs.executors.workers import (
    LostEpisodes,
    NumberSource,
    Worker,
    WorkerError,
    seconds_to_timeout,
)

_STOP_S = 2.0
_LOOK_AT_MEMORY_EVERY_S = 0.5
"""Period of the memory check, if memory is limited [s]."""
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")

READY = "ready"
DONE = "done"
REFUSED = "refused"
BROKEN = "broken"


@dataclass
class _Worker(Worker):
    name: str
    process: LokyProcess
    connection: Connection
    ready: bool = False
    gone: bool = False


class ProcessExecutor:
    """Makes episodes in worker processes.

    A worker that dies, hangs or exceeds its memory limit is replaced. Its episode is made again; after `max_retries`
    retries it is recorded as `error` or `timeout`.
    """

    on_this_host = True

    def __init__(self, workers: int = 2, limits: WorkerLimits | None = None) -> None:
        self.workers = workers
        self.limits = limits or WorkerLimits()
        self._context = get_context("loky")  # "loky_init_main" is the one that imports the main module
        self._started = 0

    def run(self, job: Job, numbers: Iterable[int], *, most: int | None = None) -> Generator[Outcome]:
        """See `Executor`."""
        source = NumberSource(numbers)
        advice = "Run with executor=serial to see why."
        lost_episodes = LostEpisodes(job, source, max_retries=self.limits.max_retries, advice=advice)
        workers: list[_Worker] = []
        try:
            for _ in range(min(self.workers, most or self.workers) if source.has_more() else 0):
                workers.append(self._start(job))
            while workers:
                for worker in self._next_events(workers):
                    outcome = self._receive(worker, lost_episodes)
                    if outcome is not None:
                        yield outcome
                    if worker.gone:
                        workers.remove(worker)
                        lost = self._clean_up(worker, lost_episodes)
                        if lost is not None:
                            yield lost
                        if source.has_more():
                            workers.append(self._start(job))
                    elif worker.replaced_because is not None:
                        continue  # killed while its last outcome was on the way: it gets no further episode
                    elif worker.ready and worker.number is None:
                        if worker.made == self.limits.recycle_after:
                            if source.has_more():
                                workers.append(self._start(job))
                        elif self._assign(worker, source):
                            continue
                        workers.remove(worker)
                        self._stop([worker])
                self._kill_workers_beyond_limits(workers)
        finally:
            self._stop(workers)

    def _start(self, job: Job) -> _Worker:
        ours, theirs = self._context.Pipe()
        name = f"w{self._started}"
        self._started += 1
        # a policy or a sensor that is defined in the caller's main module is sent by value
        packed = cloudpickle.dumps(job)
        # numerical libraries read it when they are loaded: two workers on two cores must not use four threads
        threads = {key: "1" for key in _THREADS if key not in os.environ}
        process = self._context.Process(
            target=_run_worker, args=(theirs, packed, name), name=f"unlatch-{name}", daemon=True, env=threads
        )
        process.start()
        theirs.close()
        return _Worker(name, process, ours)

    def _next_events(self, workers: list[_Worker]) -> list[_Worker]:
        """Waits for messages or ends of workers, or the next check of limits; returns the workers concerned."""
        times = seconds_to_timeout(workers, self.limits)
        if self.limits.worker_memory_mb is not None:
            times.append(_LOOK_AT_MEMORY_EVERY_S)
        sources = [source for worker in workers for source in (worker.connection, worker.process.sentinel)]
        ready = set(wait(sources, min(times, default=None)))
        return [worker for worker in workers if ready.intersection((worker.connection, worker.process.sentinel))]

    def _kill_workers_beyond_limits(self, workers: list[_Worker]) -> None:
        """Kills workers that exceed a limit; `run` then handles their end like any other."""
        for worker in workers:
            if worker.number is None or worker.replaced_because is not None:
                continue
            worker.replaced_because = self._broken_limit(worker)
            if worker.replaced_because is not None:
                _kill(worker)

    def _broken_limit(self, worker: _Worker) -> tuple[str, str] | None:
        timeout_s, most_mb = self.limits.episode_timeout_s, self.limits.worker_memory_mb
        if worker.is_late(self.limits):
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

    @staticmethod
    def _receive(worker: _Worker, lost_episodes: LostEpisodes) -> Outcome | None:
        """Reads one message of a worker; marks the worker as gone if it has ended."""
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
            lost_episodes.count_setup()
            return None
        if kind == DONE:
            worker.end()
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
            source.put_back(number)  # it died between two episodes: another worker makes this one
        else:
            worker.begin(number)
        return True

    @staticmethod
    def _clean_up(worker: _Worker, lost_episodes: LostEpisodes) -> Outcome | None:
        """Cleans up after a dead worker; its episode is queued again or recorded as lost."""
        worker.connection.close()
        worker.process.join(_STOP_S)
        if worker.process.is_alive():  # it closed its pipe but did not exit
            _kill(worker)
            worker.process.join()
        code, reason = worker.replaced_because or ("error", _describe_exit(worker.process.exitcode))
        is_idle = worker.number is None and worker.ready
        return None if is_idle else lost_episodes.count(worker.number, code, reason)

    @staticmethod
    def _stop(workers: list[_Worker]) -> None:
        """Ends workers: an idle one by closing its pipe, the others by force. Finished episodes stay whole."""
        for worker in workers:
            if worker.number is not None or not worker.ready:
                worker.process.terminate()
            worker.connection.close()
        for worker in workers:
            worker.process.join(_STOP_S)
            if worker.process.is_alive():
                _kill(worker)
                worker.process.join()

    def __repr__(self) -> str:
        return f"ProcessExecutor(workers={self.workers})"


def _kill(worker: _Worker) -> None:
    """Kills a worker; loky's processes have `terminate` only."""
    with suppress(ProcessLookupError):
        os.kill(worker.process.pid, signal.SIGKILL)


def _run_worker(connection: Connection, packed: bytes, name: str) -> None:
    """Sets a worker up, then makes the episode of each number that it receives, until the driver closes the pipe."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the driver decides
    try:
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
        _send(connection, REFUSED, _sendable(exc))
    except (BrokenPipeError, ConnectionError):
        return  # the driver is gone
    except Exception:  # noqa: BLE001 - the driver ends the run with it
        _send(connection, BROKEN, traceback.format_exc())


def _send(connection: Connection, kind: str, value: Any) -> None:
    try:
        connection.send((kind, value))
    except (BrokenPipeError, ConnectionError):
        return


def _sendable(exc: SimCoreError) -> SimCoreError:
    """Returns the error, or one with its message only if its values cannot be pickled."""
    try:
        pickle.loads(pickle.dumps(exc))
    except Exception:  # noqa: BLE001 - pickling a value may raise anything; the message still gets through
        return SimCoreError(exc.message)
    return exc


def _describe_exit(exitcode: int | None) -> str:
    if exitcode is not None and exitcode < 0:
        try:
            return f"worker killed by {signal.Signals(-exitcode).name}"
        except ValueError:
            return f"worker killed by signal {-exitcode}"
    return f"worker ended with exit code {exitcode}"
