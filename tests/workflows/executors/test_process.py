"""Worker processes: every episode once, whatever dies."""

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pytest

from simcore.errors import ConfigError
from workflows.executors.executor import EpisodeMaker, Outcome
from workflows.executors.process import ProcessExecutor, WorkerError
from workflows.executors.serial import SerialExecutor

pytestmark = pytest.mark.slow


@dataclass
class NumberJob:
    """Succeeds for even numbers; the worker dies, raises or refuses where it is told to."""

    dies_at: int | None = None
    raises_at: int | None = None
    refuses_at: int | None = None
    dies_in_setup: bool = False
    sleep_s: float = 0.0

    @contextmanager
    def open(self, worker: str) -> Iterator[EpisodeMaker]:
        if self.dies_in_setup:
            os.kill(os.getpid(), signal.SIGKILL)

        def make(number: int) -> Outcome:
            time.sleep(self.sleep_s)
            if number == self.dies_at:
                os.kill(os.getpid(), signal.SIGSEGV)
            if number == self.raises_at:
                raise ZeroDivisionError("a bug")
            if number == self.refuses_at:
                raise ConfigError("task.x=1 is out of range. Expected 2.", key="task.x")
            assert os.environ["OMP_NUM_THREADS"] == "1"
            return Outcome(number, number % 2 == 0, None if number % 2 == 0 else "slipped")

        yield make

    def lost(self, number: int, reason: str) -> Outcome:
        return Outcome(number, False, f"error: {reason}")


def test_every_episode_is_made_once():
    outcomes = list(ProcessExecutor(workers=2).run(NumberJob(), range(20)))
    assert sorted(outcome.number for outcome in outcomes) == list(range(20))
    assert sum(outcome.success for outcome in outcomes) == 10


def test_the_outcomes_are_those_of_the_serial_executor(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    parallel = sorted(ProcessExecutor(workers=2).run(NumberJob(), [3, 1, 4]), key=lambda outcome: outcome.number)
    assert parallel == sorted(SerialExecutor().run(NumberJob(), [3, 1, 4]), key=lambda outcome: outcome.number)


@pytest.mark.parametrize("workers", [1, 2])
def test_a_worker_that_dies_is_one_lost_episode(workers: int):
    outcomes = {o.number: o for o in ProcessExecutor(workers=workers).run(NumberJob(dies_at=2), range(6))}
    assert sorted(outcomes) == list(range(6))
    assert outcomes[2].code == "error: worker killed by SIGSEGV"
    assert [n for n, o in outcomes.items() if o.code and o.code.startswith("error")] == [2]


def test_workers_that_die_while_being_set_up_end_the_run():
    with pytest.raises(WorkerError, match=r"worker killed by SIGKILL.*executor=serial"):
        list(ProcessExecutor(workers=1).run(NumberJob(dies_in_setup=True), range(6)))


def test_a_refusal_of_a_worker_reaches_the_driver_as_the_same_error():
    with pytest.raises(ConfigError, match=r"task.x=1 is out of range") as caught:
        list(ProcessExecutor(workers=1).run(NumberJob(refuses_at=1), range(3)))
    assert caught.value.key == "task.x"


def test_a_bug_in_a_worker_is_shown_with_its_traceback():
    with pytest.raises(WorkerError, match=r"(?s)ended by a bug.*ZeroDivisionError: a bug"):
        list(ProcessExecutor(workers=1).run(NumberJob(raises_at=1), range(3)))


def test_closing_the_iterator_stops_the_workers_at_once():
    executor = ProcessExecutor(workers=2)
    outcomes = executor.run(NumberJob(sleep_s=0.2), range(100))
    next(outcomes)
    start = time.perf_counter()
    outcomes.close()
    assert time.perf_counter() - start < 10.0


def test_no_thread_setting_of_the_driver_is_changed(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    list(ProcessExecutor(workers=1).run(NumberJob(), [0]))
    assert "OMP_NUM_THREADS" not in os.environ
