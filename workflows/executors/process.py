"""Makes episodes in worker processes that may die without taking the run with them.

Pools of the standard library and of joblib lose every task when one worker dies of native code; here each worker has a
pipe of its own, and a worker that is gone is one lost episode and one replacement.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnContext, SpawnProcess
from typing import Any

from simcore.errors import SimCoreError
from workflows.executors.executor import Job, Outcome

_SETUP_TRIES = 3
_STOP_S = 2.0
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


class ProcessExecutor:
    """Makes episodes in processes of its own; one that dies is replaced, its episode recorded as `error`."""

    def __init__(self, workers: int = 2) -> None:
        """Makes an executor; nothing is started yet.

        Args:
            workers: Processes at a time.
        """
        self.workers = workers
        self._context: SpawnContext = multiprocessing.get_context("spawn")
        self._started = 0
        self._failed_setups = 0

    def run(self, job: Job, numbers: Sequence[int]) -> Iterator[Outcome]:
        """See `Executor`."""
        waiting = list(reversed(numbers))
        workers: list[_Worker] = []
        try:
            for _ in range(min(self.workers, len(waiting))):
                workers.append(self._start(job))
            while workers:
                for worker in self._next_events(workers):
                    outcome = self._hear(worker)
                    if outcome is not None:
                        yield outcome
                    if worker.gone:
                        workers.remove(worker)
                        lost = self._bury(worker, job)
                        if lost is not None:
                            yield lost
                        if len(workers) < len(waiting):
                            workers.append(self._start(job))
                    elif worker.ready and worker.number is None and not self._assign(worker, waiting):
                        workers.remove(worker)
                        self._stop([worker])
        finally:
            self._stop(workers)

    def _start(self, job: Job) -> _Worker:
        ours, theirs = self._context.Pipe()
        name = f"w{self._started}"
        self._started += 1
        # read when the child loads its numerical libraries: two workers on two cores must not use four threads
        before = {key: os.environ.get(key) for key in _THREADS}
        os.environ.update({key: "1" for key in _THREADS if before[key] is None})
        try:
            process = self._context.Process(target=_work, args=(theirs, job, name), name=f"unlatch-{name}", daemon=True)
            process.start()
        finally:
            for key in (key for key, value in before.items() if value is None):
                del os.environ[key]
        theirs.close()
        return _Worker(name, process, ours)

    @staticmethod
    def _next_events(workers: list[_Worker]) -> list[_Worker]:
        """Workers that have something to say or are gone; waits for at least one."""
        sources: dict[Any, _Worker] = {}
        for worker in workers:
            sources[worker.connection] = worker
            sources[worker.process.sentinel] = worker
        return list({id(sources[source]): sources[source] for source in wait(list(sources))}.values())

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
            outcome: Outcome = value
            return outcome
        if kind == REFUSED:
            error: SimCoreError = value
            raise error
        raise WorkerError(f"Worker {worker.name} was ended by a bug:\n{value}")

    @staticmethod
    def _assign(worker: _Worker, waiting: list[int]) -> bool:
        if not waiting:
            return False
        number = waiting.pop()
        try:
            worker.connection.send(number)
        except (BrokenPipeError, ConnectionError):
            waiting.append(number)  # it died between two episodes; its sentinel tells, another one makes this
        else:
            worker.number = number
        return True

    def _bury(self, worker: _Worker, job: Job) -> Outcome | None:
        """Clears up after a dead worker, and records the episode that it was making."""
        worker.connection.close()
        worker.process.join(_STOP_S)
        if worker.process.is_alive():  # it hung up without ending
            worker.process.kill()
            worker.process.join()
        reason = _death(worker.process.exitcode)
        if worker.number is not None:
            return job.lost(worker.number, reason)
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


def _work(connection: Connection, job: Job, name: str) -> None:
    """The life of a worker: set up, then one episode for each number that comes, until the driver hangs up."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the driver decides
    try:
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
