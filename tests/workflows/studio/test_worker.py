"""Jobs are done one after the other, the newest of a kind only; a worker that dies is an answer."""

import threading

import pytest

from unlatch.workflows.studio.jobs import RUN, SCENE, JobProblem, StudioJob, TaskText
from unlatch.workflows.studio.worker import JobQueue, WorkerProcess

WAIT_S = 20.0


class Recorder:
    """Does jobs when it is told to."""

    def __init__(self):
        self.done, self.go, self.stopped = [], threading.Semaphore(0), 0

    def do(self, job):
        assert self.go.acquire(timeout=WAIT_S)
        self.done.append(job.task.name)
        return job.task.name

    def stop(self):
        self.stopped += 1
        self.go.release()


def job(name, kind="plan"):
    return StudioJob(kind, TaskText(name, ""))


def collect():
    """A function for answers, and a function that waits for so many of them."""
    answers, arrived = [], threading.Semaphore(0)

    def keep(answer):
        answers.append(answer)
        arrived.release()

    def wait(count):
        for _ in range(count):
            assert arrived.acquire(timeout=WAIT_S)
        return answers

    return keep, wait


@pytest.fixture
def begun():
    """A queue in which a job is going on, what does the jobs, and the two functions of `collect`."""
    runner = Recorder()
    jobs = JobQueue(runner, ("run", "plan"))
    keep, wait = collect()
    jobs.submit(job("first"), keep)
    while jobs.current is None:
        pass
    yield jobs, runner, keep, wait
    jobs.close()
    runner.go.release(9)


def test_a_newer_job_replaces_one_that_waits(begun):
    jobs, runner, keep, wait = begun
    for name in ("second", "third"):
        jobs.submit(job(name), keep)
    assert jobs.is_busy_with("plan")
    runner.go.release(2)
    assert wait(2) == ["first", "third"]


def test_the_most_urgent_kind_comes_first(begun):
    jobs, runner, keep, wait = begun
    jobs.submit(job("plan"), keep)
    jobs.submit(job("run", "run"), keep)
    runner.go.release(3)
    assert wait(3) == ["first", "run", "plan"]


@pytest.mark.parametrize("closes", [False, True])
def test_interrupting_or_closing_gives_up_the_job_and_all_that_wait(begun, closes):
    jobs, runner, keep, wait = begun
    jobs.submit(job("waits", "run"), keep)
    before = threading.active_count()
    if closes:
        jobs.close()
        assert threading.active_count() == before - 1
    else:
        jobs.interrupt()
        wait(1)
        assert not jobs.is_busy_with("run")
    assert (runner.stopped, runner.done) == (1, ["first"])


@pytest.mark.slow
def test_a_process_that_is_killed_is_an_answer_and_the_next_job_has_a_new_one():
    worker = WorkerProcess()
    text = "# @package _global_\ndefaults: [open_microwave]\ntask: {name: mine}\n"
    try:
        first = worker.do(StudioJob(SCENE, TaskText("mine", text)))
        assert first.scene.cfg.task.name == "mine"
        threading.Timer(0.05, worker.stop).start()
        killed = worker.do(StudioJob(RUN, TaskText("mine", text, episode=1)))  # a scene is there sooner
        assert isinstance(killed, JobProblem)
        assert "SIGTERM" in killed.message
        again = worker.do(StudioJob(SCENE, TaskText("mine", text, episode=1)))
        assert again.scene.episode == 1
        refused = worker.do(StudioJob(SCENE, TaskText("mine", "a: &a [*a]\n")))
        assert refused.message.endswith("is nested too deeply for a configuration. Correct the file.")
        assert "\n" not in refused.message
    finally:
        worker.close()
