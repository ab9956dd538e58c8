"""Worker processes: every episode once, whatever dies."""

import os
import re
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from unlatch.simcore.errors import ConfigError, PluginError
from unlatch.simcore.extras import install_command
from unlatch.workflows.runs.executors import EXECUTORS, EpisodeMaker, Outcome, SerialExecutor, WorkerLimits
from unlatch.workflows.runs.worker_processes import ProcessExecutor, WorkerError


@dataclass
class NumberJob:
    """Succeeds for even numbers; the worker dies, raises or refuses where it is told to."""

    dies_at: int | None = None
    raises_at: int | None = None
    refuses_at: int | None = None
    dies_in_setup: bool = False
    sleep_s: float = 0.0
    hangs_at: int | None = None
    grows_at: int | None = None
    once: str | None = None
    """A file: what is told to die or hang does so only while it is not there, and makes it."""

    @contextmanager
    def open(self, worker: str) -> Iterator[EpisodeMaker]:
        if self.dies_in_setup:
            os.kill(os.getpid(), signal.SIGKILL)

        def make(number: int) -> Outcome:
            time.sleep(self.sleep_s)
            if self.once is not None and number in (self.dies_at, self.hangs_at):
                if Path(self.once).exists():
                    return Outcome(number, number % 2 == 0)
                Path(self.once).touch()
            if number == self.hangs_at:
                time.sleep(600.0)
            if number == self.grows_at:
                kept = bytearray(400_000_000)
                time.sleep(600.0)
                del kept
            if number == self.dies_at:
                os.kill(os.getpid(), signal.SIGSEGV)
            if number == self.raises_at:
                raise ZeroDivisionError("a bug")
            if number == self.refuses_at:
                raise ConfigError("task.x=1 is out of range. Expected 2.", key="task.x")
            assert os.environ["OMP_NUM_THREADS"] == "1"
            return Outcome(number, number % 2 == 0, None if number % 2 == 0 else "slipped")

        yield make

    def record_loss(self, number: int, reason: str, *, code: str = "error") -> Outcome:
        return Outcome(number, False, f"{code}: {reason}")


@pytest.mark.slow
def test_every_episode_is_made_once_and_has_the_outcome_of_the_serial_executor(monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    parallel = sorted(ProcessExecutor(workers=2).run(NumberJob(), range(20)), key=lambda outcome: outcome.number)
    assert "OMP_NUM_THREADS" not in os.environ, "the settings of the driver do not change"
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert parallel == list(SerialExecutor().run(NumberJob(), range(20)))


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_a_worker_that_dies_is_one_lost_episode(workers):
    outcomes = {o.number: o for o in ProcessExecutor(workers=workers).run(NumberJob(dies_at=2), range(6))}
    assert sorted(outcomes) == list(range(6))
    assert outcomes[2].code == "error: worker killed by SIGSEGV"
    assert [n for n, o in outcomes.items() if o.code and o.code.startswith("error")] == [2]


@pytest.mark.slow
def test_a_lost_episode_is_made_again_and_its_worker_is_named(tmp_path, caplog):
    job = NumberJob(dies_at=2, once=str(tmp_path / "died"))
    outcomes = {o.number: o for o in ProcessExecutor(2, WorkerLimits(max_retries=1)).run(job, range(6))}
    assert sorted(outcomes) == list(range(6))
    assert outcomes[2] == Outcome(2, True)
    (line,) = caplog.messages
    said = r"Worker w[01] \(pid \d+\) killed by SIGSEGV; episode 2 is made again, retry 1 of 1"
    assert re.fullmatch(said, line)


@pytest.mark.slow
def test_an_episode_that_kills_every_worker_is_recorded_after_the_retries(caplog):
    executor = ProcessExecutor(1, WorkerLimits(max_retries=2))
    outcomes = {o.number: o for o in executor.run(NumberJob(dies_at=0), range(3))}
    assert outcomes[0].code == "error: worker killed by SIGSEGV, 3 times"
    assert outcomes[2].success
    assert len(caplog.messages) == 3
    assert caplog.messages[-1].endswith("killed by SIGSEGV; episode 0 is recorded as `error`, as max_retries=2")


@pytest.mark.slow
def test_an_episode_that_hangs_is_a_timeout_and_the_others_go_on():
    executor = ProcessExecutor(2, WorkerLimits(episode_timeout_s=1.5))
    began = time.perf_counter()
    outcomes = {o.number: o for o in executor.run(NumberJob(hangs_at=1), range(6))}
    assert sorted(outcomes) == list(range(6))
    assert outcomes[1].code == "timeout: worker killed: it was not done after episode_timeout_s=1.5"
    assert sum(outcome.success for outcome in outcomes.values()) == 3
    assert time.perf_counter() - began < 60.0


@pytest.mark.slow
def test_a_worker_that_grows_too_large_is_replaced():
    executor = ProcessExecutor(1, WorkerLimits(worker_memory_mb=300))
    outcomes = {o.number: o for o in executor.run(NumberJob(grows_at=1), range(3))}
    told = re.fullmatch(r"error: worker killed: it used (\d+) MB, worker_memory_mb=300", outcomes[1].code or "")
    assert told is not None, outcomes[1]
    assert int(told[1]) > 300  # while it grew, so anything above
    assert outcomes[2].success


@dataclass
class WorkerNumberJob(NumberJob):
    """Tells the number of its worker, which decides on its graphics card."""

    @contextmanager
    def open(self, worker: str) -> Iterator[EpisodeMaker]:
        yield lambda number: Outcome(number, True, f"{worker} {os.environ['UNLATCH_WORKER']}")


@pytest.mark.slow
def test_workers_are_recycled_and_every_worker_knows_its_number():
    outcomes = ProcessExecutor(1, WorkerLimits(recycle_after=2)).run(WorkerNumberJob(), range(3))
    assert [outcome.code for outcome in outcomes] == ["w0 0", "w0 0", "w1 1"]


@pytest.mark.slow
def test_numbers_are_taken_when_a_worker_is_free():
    taken = []

    def numbers() -> Iterator[int]:
        for number in range(100):
            if len(seen) >= 4:
                return
            taken.append(number)
            yield number

    seen: list[Outcome] = []
    for outcome in ProcessExecutor(2).run(NumberJob(sleep_s=0.05), numbers()):
        seen.append(outcome)
    assert len(seen) == len(taken) <= 6


@pytest.mark.slow
def test_workers_that_die_during_setup_end_the_run():
    with pytest.raises(WorkerError, match=r"worker killed by SIGKILL.*executor=serial"):
        list(ProcessExecutor(workers=1).run(NumberJob(dies_in_setup=True), range(6)))


@pytest.mark.slow
def test_an_error_of_a_worker_reaches_the_driver_as_the_same_error_and_a_bug_with_its_traceback():
    with pytest.raises(ConfigError, match=r"task.x=1 is out of range") as caught:
        list(ProcessExecutor(workers=1).run(NumberJob(refuses_at=1), range(3)))
    assert caught.value.key == "task.x"
    with pytest.raises(WorkerError, match=r"(?s)ended by a bug.*ZeroDivisionError: a bug"):
        list(ProcessExecutor(workers=1).run(NumberJob(raises_at=1), range(3)))


@pytest.mark.slow
def test_closing_the_iterator_stops_the_workers_at_once():
    executor = ProcessExecutor(workers=2)
    outcomes = executor.run(NumberJob(sleep_s=0.2), range(100))
    next(outcomes)
    start = time.perf_counter()
    outcomes.close()
    assert time.perf_counter() - start < 10.0


def test_a_missing_ray_is_named_with_its_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(PluginError, match=re.escape(install_command("ray"))):
        EXECUTORS.load("ray")()
