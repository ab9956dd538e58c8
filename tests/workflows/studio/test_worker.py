"""Jobs are done one after the other, the newest of a kind only; a worker that dies is an answer."""

import threading

import pytest

from unlatch.workflows.studio.jobs import SCENE, JobProblem, StudioJob, TaskText
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


def begin_job(jobs, name, keep):
    """Submits a job and waits until it is going on."""
    jobs.submit(job(name), keep)
    while jobs.current is None:
        pass


@pytest.fixture
def queue():
    runner = Recorder()
    made = JobQueue(runner, ("run", "plan"))
    yield made, runner
    made.close()
    runner.go.release(9)


def test_a_newer_job_replaces_one_that_waits(queue):
    jobs, runner = queue
    keep, wait = collect()
    begin_job(jobs, "first", keep)
    for name in ("second", "third"):
        jobs.submit(job(name), keep)
    assert jobs.is_busy_with("plan")
    runner.go.release(2)
    assert wait(2) == ["first", "third"]


def test_the_most_urgent_kind_comes_first(queue):
    jobs, runner = queue
    keep, wait = collect()
    begin_job(jobs, "going on", keep)
    jobs.submit(job("plan"), keep)
    jobs.submit(job("run", "run"), keep)
    runner.go.release(3)
    assert wait(3) == ["going on", "run", "plan"]


def test_interrupting_gives_up_the_job_and_all_that_wait(queue):
    jobs, runner = queue
    keep, wait = collect()
    begin_job(jobs, "going on", keep)
    jobs.submit(job("waits", "run"), keep)
    jobs.interrupt()
    wait(1)
    assert runner.stopped == 1
    assert runner.done == ["going on"]
    assert not jobs.is_busy_with("run")


def test_closing_gives_up_the_job_and_ends_the_thread(queue):
    jobs, runner = queue
    keep, _ = collect()
    begin_job(jobs, "going on", keep)
    jobs.submit(job("waits", "run"), keep)
    before = threading.active_count()
    jobs.close()
    assert threading.active_count() == before - 1
    assert runner.stopped == 1
    assert runner.done == ["going on"]


@pytest.mark.slow
def test_a_process_that_is_killed_is_an_answer_and_the_next_job_has_a_new_one():
    worker = WorkerProcess()
    text = "# @package _global_\ndefaults: [open_microwave]\ntask: {name: mine}\n"
    try:
        first = worker.do(StudioJob(SCENE, TaskText("mine", text)))
        assert first.scene.cfg.task.name == "mine"
        threading.Timer(0.05, worker.stop).start()
        killed = worker.do(StudioJob(SCENE, TaskText("mine", text, episode=1)))
        assert isinstance(killed, JobProblem)
        assert "SIGTERM" in killed.message
        again = worker.do(StudioJob(SCENE, TaskText("mine", text, episode=1)))
        assert again.scene.episode == 1
    finally:
        worker.close()


@pytest.mark.slow
def test_a_text_that_holds_itself_is_an_error_of_one_line():
    worker = WorkerProcess()
    try:
        answer = worker.do(StudioJob(SCENE, TaskText("mine", "a: &a [*a]\n")))
    finally:
        worker.close()
    assert answer.message.endswith("is nested too deeply for a configuration. Correct the file.")
    assert "\n" not in answer.message
