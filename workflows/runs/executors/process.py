"""Makes episodes in worker processes that may die without ending the run.

Each worker is a process of loky, which does not import the caller's main module: a script needs no `__main__` guard,
and a notebook or standard input works. Each worker has a pipe of its own, so a worker that dies costs its own episode
only. Ready-made pools lack this. The pools of loky and of the standard library fail every running task when one worker
dies. Pebble's workers share one pipe behind a lock that a killed worker may hold. No pool limits memory.
"""

from __future__ import annotations

import multiprocessing.resource_tracker
import os
import pickle
import signal
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any

import cloudpickle
import psutil
from loky.backend.context import get_context
from loky.backend.process import LokyProcess
from loky.backend.resource_tracker import ensure_running

from unlatch.simcore.errors import UnlatchError
from unlatch.simcore.native_output import WORKER_VARIABLE
from unlatch.workflows.runs.executors.executor import Job, Outcome, WorkerLimits
from unlatch.workflows.runs.executors.workers import Worker, WorkerError, WorkerExecutor

_STOP_S = 2.0
"""Time in which a worker ends by itself once its pipe is closed [s]."""
_CHECK_PERIOD_S = 0.5
"""Period of the check of limits [s]."""
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
        self._context = get_context("loky")  # "loky_init_main" is the one that imports the main module

    def _most_workers(self, max_episodes: int | None) -> int:
        return min(self.workers, max_episodes or self.workers)

    def _start_worker(self, job: Job, name: str) -> _Worker:
        ours, theirs = self._context.Pipe()
        # a policy or a sensor that is defined in the caller's main module is sent by value
        packed = cloudpickle.dumps(job)
        process = self._context.Process(
            target=_run_worker,
            args=(theirs, packed, name),
            name=f"unlatch-{name}",
            daemon=True,
            env={**single_thread_variables(), WORKER_VARIABLE: name.removeprefix(self.name_prefix)},
        )
        with blocking_ctrl_c():
            process.start()
        theirs.close()
        return _Worker(name, process, ours, label=f"{name} (pid {process.pid})")

    def _wait_for_events(self, workers: Sequence[_Worker]) -> list[_Worker]:
        sources = [source for worker in workers for source in (worker.connection, worker.process.sentinel)]
        ready = set(wait(sources, _CHECK_PERIOD_S))
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
            outcome: Outcome = value
            return outcome
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
        worker.process.join(_STOP_S)
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
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the driver decides
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})  # see `blocking_ctrl_c`
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


@contextmanager
def blocking_ctrl_c() -> Iterator[None]:
    """Blocks Ctrl-C; a process that begins meanwhile inherits that, so that it cannot die before it ignores Ctrl-C."""
    # starting the trackers of resources, which the first process does, unblocks it
    ensure_running()
    multiprocessing.resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


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


def single_thread_variables() -> dict[str, str]:
    """Returns environment variables that give numerical libraries one thread, except those that the user has set.

    The libraries read them when they are loaded: two workers on two cores must not use four threads.
    """
    return {key: "1" for key in _THREAD_VARIABLES if key not in os.environ}


def describe_exit(exitcode: int | None) -> str:
    """Returns how a worker ended, from the exit code of its process."""
    if exitcode is not None and exitcode < 0:
        try:
            return f"worker killed by {signal.Signals(-exitcode).name}"
        except ValueError:
            return f"worker killed by signal {-exitcode}"
    return f"worker ended with exit code {exitcode}"
