"""Makes episodes in worker processes that may die without ending the run. The loop over them serves a cluster, too."""

from __future__ import annotations

import logging
import multiprocessing.resource_tracker
import os
import pickle
import signal
import time
import traceback
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from multiprocessing.connection import Connection, wait
from typing import Any, ClassVar, Generic, TypeVar

import cloudpickle
import psutil
from loky.backend.context import get_context
from loky.backend.process import LokyProcess
from loky.backend.resource_tracker import ensure_running

from unlatch.simcore.errors import UnlatchError
from unlatch.simcore.process import WORKER_VARIABLE
from unlatch.workflows.runs.executors import Job, Outcome, WorkerLimits, never_ended

logger = logging.getLogger(__name__)

_SETUP_TRIES = 3
"""Number of workers that may die during setup, one after the other, before the run ends."""


class WorkerError(UnlatchError):
    """A worker cannot be set up, or a bug ended it."""

    exit_code = 1


@dataclass(kw_only=True, eq=False)
class Worker:
    """The state of one worker."""

    label: str
    """How messages name it, such as `w0 (pid 4711)`."""
    number: int | None = None
    """Number of its current episode; None during setup and while it is idle."""
    made: int = 0
    """Number of finished episodes."""
    since: float = 0.0
    """Start of its current episode, on the monotonic clock [s]."""
    used_mb: float = 0.0
    """Memory in use when it was last measured [MB]."""
    ready: bool = False
    """Whether its setup is done."""
    gone: bool = False
    """Whether it has ended."""
    exceeded_limit: tuple[str, str] | None = None
    """Failure code and reason of a worker that was killed because it exceeded a limit."""


AnyWorker = TypeVar("AnyWorker", bound=Worker)


class EpisodeQueue:
    """Hands out episode numbers one by one; a lost episode is retried a few times, then recorded as lost."""

    def __init__(
        self, job: Job, numbers: Iterable[int], *, max_retries: int, is_ended: Callable[[], bool] = never_ended
    ) -> None:
        self.failed_setups = 0
        """Number of workers in a row that died during setup."""
        self._job = job
        self._numbers = iter(numbers)
        self._put_back: list[int] = []
        self._max_retries = max_retries
        self._is_ended = is_ended
        self._losses: Counter[int] = Counter()

    def take(self) -> int | None:
        """Returns the next number, one that was put back first; None if there is none, or the run is ended."""
        if self._is_ended():
            return None
        return self._put_back.pop() if self._put_back else next(self._numbers, None)

    def put_back(self, number: int) -> None:
        """Makes a number the next one."""
        self._put_back.append(number)

    def has_more(self) -> bool:
        """Returns whether there is a next number."""
        number = self.take()
        if number is not None:
            self.put_back(number)
        return number is not None

    def count_loss(self, number: int, code: str, reason: str, *, worker: str) -> Outcome | None:
        """Counts the loss of an episode and says so; returns its outcome if it is recorded as lost, None if it is
        retried.

        Args:
            number: Episode number.
            code: Failure code of the episode if it is recorded as lost.
            reason: How its worker died, or why it was replaced; it begins with `worker`.
            worker: The worker's label.
        """
        self._losses[number] += 1
        tries = self._losses[number]
        died = f"Worker {worker} {reason.removeprefix('worker ')}"
        if tries <= self._max_retries:
            logger.warning("%s; episode %d is made again, retry %d of %d", died, number, tries, self._max_retries)
            self.put_back(number)
            return None
        logger.warning("%s; episode %d is recorded as `%s`, as max_retries=%d", died, number, code, self._max_retries)
        return self._job.record_loss(number, reason if tries == 1 else f"{reason}, {tries} times", code=code)


class WorkerExecutor(ABC, Generic[AnyWorker]):
    """Makes episodes in workers and replaces workers that die, hang or use too much memory.

    The episode of a replaced worker is made again; after `max_retries` retries it is recorded as `error` or `timeout`.
    A subclass starts, stops and kills its workers and exchanges messages with them.
    """

    name_prefix: ClassVar[str]
    """Beginning of the workers' names."""
    setup_advice: ClassVar[str]
    """What the user should do if workers die during setup."""

    def __init__(self, limits: WorkerLimits | None) -> None:
        self.limits = limits or WorkerLimits()
        self._names = (f"{self.name_prefix}{number}" for number in count())

    def run(
        self,
        job: Job,
        numbers: Iterable[int],
        *,
        max_episodes: int | None = None,
        is_ended: Callable[[], bool] = never_ended,
    ) -> Generator[Outcome]:
        """See `Executor`."""
        queue = EpisodeQueue(job, numbers, max_retries=self.limits.max_retries, is_ended=is_ended)
        workers: list[AnyWorker] = []
        try:
            while any(worker.number is not None for worker in workers) or queue.has_more():
                while len(workers) < self._most_workers(max_episodes) and queue.has_more():
                    workers.append(self._start_worker(job, next(self._names)))
                for worker in self._wait_for_events(workers):
                    outcome = self._receive(worker)
                    if outcome is not None:
                        worker.number, worker.made = None, worker.made + 1
                        yield outcome
                    if worker.gone or worker.exceeded_limit is not None:
                        workers.remove(worker)
                        lost = self._count_end(worker, queue)
                        if lost is not None:
                            yield lost
                    elif worker.ready and worker.number is None and not self._assign(worker, queue):
                        workers.remove(worker)
                        self._stop_workers([worker])
                self._kill_workers_beyond_limits(workers)
        finally:
            self._stop_workers(workers)

    @abstractmethod
    def _most_workers(self, max_episodes: int | None) -> int:
        """Returns how many workers there may be now; `max_episodes` is the largest count of numbers."""

    @abstractmethod
    def _start_worker(self, job: Job, name: str) -> AnyWorker:
        """Starts a worker, which sets itself up."""

    @abstractmethod
    def _wait_for_events(self, workers: Sequence[AnyWorker]) -> list[AnyWorker]:
        """Waits a short time for messages and ends of workers; returns the workers concerned."""

    @abstractmethod
    def _receive(self, worker: AnyWorker) -> Outcome | None:
        """Reads one message of a worker and notes whether it is `ready` or `gone`; returns the outcome of an episode.

        Raises:
            UnlatchError: No episode can be made, or a bug ended the worker.
        """

    @abstractmethod
    def _send_number(self, worker: AnyWorker, number: int) -> None:
        """Lets a worker make an episode.

        Raises:
            ConnectionError: The worker has died.
        """

    @abstractmethod
    def _reason_of_death(self, worker: AnyWorker) -> str:
        """Returns why a worker died; releases what belongs to it."""

    @abstractmethod
    def _stop_workers(self, workers: Sequence[AnyWorker]) -> None:
        """Ends workers: idle ones clean up first, the others end at once. Finished episodes stay whole."""

    @abstractmethod
    def _kill_worker(self, worker: AnyWorker) -> None:
        """Kills a worker at once."""

    def _assign(self, worker: AnyWorker, queue: EpisodeQueue) -> bool:
        """Gives an idle worker its next episode; returns False if the worker must end instead."""
        if worker.made == 0:
            queue.failed_setups = 0  # its setup has just succeeded
        too_large = self.limits.worker_memory_mb is not None and worker.used_mb > self.limits.worker_memory_mb
        number = None if too_large or worker.made == self.limits.recycle_after else queue.take()
        if number is None:
            return False
        try:
            self._send_number(worker, number)
        except ConnectionError:
            queue.put_back(number)  # it died between two episodes: another worker makes this one
        else:
            worker.number, worker.since = number, time.monotonic()
        return True

    def _count_end(self, worker: AnyWorker, queue: EpisodeQueue) -> Outcome | None:
        """Counts what a dead worker lost; returns the outcome of an episode that is recorded as lost.

        Raises:
            WorkerError: Several workers in a row died during setup.
        """
        reason = self._reason_of_death(worker)
        if worker.number is not None:
            code, reason = worker.exceeded_limit or ("error", reason)
            return queue.count_loss(worker.number, code, reason, worker=worker.label)
        died = f"Worker {worker.label} {reason.removeprefix('worker ')}"
        logger.warning("%s %s; no episode is lost", died, "between two episodes" if worker.ready else "during setup")
        if not worker.ready:
            queue.failed_setups += 1
            if queue.failed_setups == _SETUP_TRIES:
                raise WorkerError(f"{_SETUP_TRIES} workers in a row died during setup ({reason}). {self.setup_advice}")
        return None

    def _kill_workers_beyond_limits(self, workers: Sequence[AnyWorker]) -> None:
        """Kills busy workers that exceed a limit; `run` then handles their end like any other."""
        timeout_s, most_mb = self.limits.episode_timeout_s, self.limits.worker_memory_mb
        for worker in workers:
            if worker.number is None or worker.exceeded_limit is not None:
                continue
            if timeout_s is not None and time.monotonic() - worker.since > timeout_s:
                reason = f"worker killed: it was not done after episode_timeout_s={timeout_s:g}"
                worker.exceeded_limit = ("timeout", reason)
            elif most_mb is not None and worker.used_mb > most_mb:
                reason = f"worker killed: it used {worker.used_mb:.0f} MB, worker_memory_mb={most_mb}"
                worker.exceeded_limit = ("error", reason)
            if worker.exceeded_limit is not None:
                self._kill_worker(worker)


_THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")

READY = "ready"
DONE = "done"
REFUSED = "refused"
BROKEN = "broken"


@dataclass(eq=False)
class _Worker(Worker):
    name: str
    process: LokyProcess
    connection: Connection


class ProcessExecutor(WorkerExecutor[_Worker]):
    """Makes episodes in worker processes; see `WorkerExecutor`."""

    on_this_host = True
    name_prefix = "w"
    setup_advice = "Run with executor=serial to see why."

    def __init__(self, workers: int = 2, limits: WorkerLimits | None = None) -> None:
        super().__init__(limits)
        self.workers = workers

    def _most_workers(self, max_episodes: int | None) -> int:
        return min(self.workers, max_episodes or self.workers)

    def _start_worker(self, job: Job, name: str) -> _Worker:
        # a policy or a sensor that is defined in the caller's main module is sent by value
        packed = cloudpickle.dumps(job)
        variables = {WORKER_VARIABLE: name.removeprefix(self.name_prefix)}
        process, connection = start_child(_run_worker, packed, name, name=name, variables=variables)
        return _Worker(name, process, connection, label=f"{name} (pid {process.pid})")

    def _wait_for_events(self, workers: Sequence[_Worker]) -> list[_Worker]:
        sources = [source for worker in workers for source in (worker.connection, worker.process.sentinel)]
        ready = set(wait(sources, 0.5))  # period of the check of limits [s]
        for worker in workers if self.limits.worker_memory_mb is not None else ():
            with suppress(psutil.Error):  # it is gone already
                worker.used_mb = psutil.Process(worker.process.pid).memory_info().rss / 1e6
        return [worker for worker in workers if ready.intersection((worker.connection, worker.process.sentinel))]

    def _receive(self, worker: _Worker) -> Outcome | None:
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
            return None
        if kind == DONE:
            return value
        if kind == REFUSED:
            error: UnlatchError = value
            raise error
        raise WorkerError(f"Worker {worker.name} was ended by a bug:\n{value}")

    def _send_number(self, worker: _Worker, number: int) -> None:
        worker.connection.send(number)

    def _reason_of_death(self, worker: _Worker) -> str:
        worker.connection.close()
        self._join(worker)  # it may have closed its pipe without exiting
        return describe_exit(worker.process.exitcode)

    def _stop_workers(self, workers: Sequence[_Worker]) -> None:
        for worker in workers:
            if worker.number is not None or not worker.ready:
                worker.process.terminate()
            worker.connection.close()
        for worker in workers:
            self._join(worker)

    def _join(self, worker: _Worker) -> None:
        """Waits until a worker has ended; kills it if that takes too long."""
        worker.process.join(2.0)  # time in which a worker ends by itself once its pipe is closed [s]
        if worker.process.is_alive():
            self._kill_worker(worker)
            worker.process.join()

    def _kill_worker(self, worker: _Worker) -> None:
        with suppress(ProcessLookupError):  # loky's processes have `terminate` only
            os.kill(worker.process.pid, signal.SIGKILL)

    def __repr__(self) -> str:
        return f"ProcessExecutor(workers={self.workers})"


def _run_worker(connection: Connection, packed: bytes, name: str) -> None:
    """Sets a worker up, then makes the episode of each number that it receives, until the driver closes the pipe."""
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
    except UnlatchError as exc:
        _send(connection, REFUSED, _make_picklable(exc))
    except ConnectionError:
        return  # the driver is gone
    except Exception:  # noqa: BLE001 - the driver ends the run with it
        _send(connection, BROKEN, traceback.format_exc())


def start_child(
    target: Callable[..., None], *args: Any, name: str, variables: Mapping[str, str] | None = None
) -> tuple[LokyProcess, Connection]:
    """Starts a process that ignores Ctrl-C and does not import the caller's main module.

    Numerical libraries have one thread there, unless the user has set how many: two workers on two cores must not use
    four threads. The libraries read that when they are loaded.

    Args:
        target: Called there with its end of a pipe.
        args: What it is called with, too.
        name: Name of the process after `unlatch-`.
        variables: Environment variables that it has in addition.

    Returns:
        The process, and the caller's end of the pipe.
    """
    context = get_context("loky")  # "loky_init_main" is the one that imports the main module
    ours, theirs = context.Pipe()
    process = context.Process(
        target=_run_child,
        args=(target, theirs, *args),
        name=f"unlatch-{name}",
        daemon=True,
        env={**{key: "1" for key in _THREAD_VARIABLES if key not in os.environ}, **(variables or {})},
    )
    # starting the trackers of resources, which the first process does, unblocks Ctrl-C
    ensure_running()
    multiprocessing.resource_tracker.ensure_running()
    # the process inherits that Ctrl-C is blocked, so that it cannot die before it ignores Ctrl-C
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        process.start()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    theirs.close()
    return process, ours


def _run_child(target: Callable[..., None], *args: Any) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the parent decides
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    target(*args)


def _send(connection: Connection, kind: str, value: Any) -> None:
    with suppress(ConnectionError):  # the driver is gone
        connection.send((kind, value))


def _make_picklable(exc: UnlatchError) -> UnlatchError:
    """Returns the error, or one with its message only if its values cannot be pickled."""
    try:
        pickle.loads(pickle.dumps(exc))
    except Exception:  # noqa: BLE001 - pickling a value may raise anything; the message still gets through
        return UnlatchError(exc.message)
    return exc


def describe_exit(exitcode: int | None) -> str:
    """Returns how a worker ended, from the exit code of its process."""
    if exitcode is not None and exitcode < 0:
        try:
            return f"worker killed by {signal.Signals(-exitcode).name}"
        except ValueError:
            return f"worker killed by signal {-exitcode}"
    return f"worker ended with exit code {exitcode}"
