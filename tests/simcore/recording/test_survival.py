"""Killed at any point and written by several processes at once, a data set stays whole."""

import os
import signal
import time

import numpy as np
import pytest

from unlatch.simcore.errors import RecordingError
from unlatch.simcore.recording.check import check_dataset
from unlatch.simcore.recording.data_set import DataSet
from unlatch.simcore.temporary_folders import LockedArea, clean_areas

HEADER = {"seed": 7}
CALLS = ("open", "write", "pwrite", "fsync", "mkdir", "rename", "link", "unlink", "rmdir", "close")
EPISODES = 2


def fork(function):
    """Starts a function in a forked process and returns its process id; its exit status is what it returns."""
    pid = os.fork()
    if pid == 0:
        status = 99
        try:
            status = function() or 0
        finally:
            os._exit(status)
    return pid


def status_of(pid):
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def kill_before_call(count):
    """Lets this process kill itself before the given number of calls into the file system."""
    left = [count]

    def counting(real):
        def call(*args, **kwargs):
            if left[0] == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            left[0] -= 1
            return real(*args, **kwargs)

        return call

    for name in CALLS:
        setattr(os, name, counting(getattr(os, name)))


def make_missing(folder, make_record, *, total, worker="main"):
    with DataSet.create_or_resume(folder, header=HEADER, worker=worker) as data_set:
        return sum(data_set.write(make_record(number)) for number in data_set.missing(range(total)))


def assert_complete(folder, total):
    data_set = DataSet.open(folder)
    assert data_set.numbers() == list(range(total))
    assert check_dataset(folder) == []
    assert [summary.number for summary in data_set.summaries()] == list(range(total))
    assert list((folder / ".tmp").iterdir()) == []


def survive_kill_before_call(folder, make_record, count):
    """Whether the writer was killed, not done, before that call; the data set is whole and completed either way."""

    def work():
        kill_before_call(count)
        make_missing(folder, make_record, total=EPISODES)

    status = status_of(fork(work))
    assert status in (0, -signal.SIGKILL)
    if (folder / "dataset.json").exists():
        assert check_dataset(folder) == []
    make_missing(folder, make_record, total=EPISODES)
    assert_complete(folder, EPISODES)
    return status != 0


@pytest.mark.parametrize("count", [1, 9, 17, 25])
def test_killed_before_a_call_it_has_no_half_written_episode_and_the_rerun_completes_it(tmp_path, make_record, count):
    assert survive_kill_before_call(tmp_path / "data", make_record, count)


@pytest.mark.slow
def test_killed_before_each_of_its_calls_it_is_completed_by_the_rerun(tmp_path, make_record):
    count = 0
    while survive_kill_before_call(tmp_path / str(count), make_record, count):
        count += 1
    assert count > 30  # there were so many moments at which it was killed


@pytest.mark.slow
def test_a_writer_that_is_killed_repeatedly_completes_the_set(tmp_path, make_record):
    folder = tmp_path / "data"
    for moment_s in np.random.default_rng(0).uniform(0.003, 0.12, size=12):
        pid = fork(lambda: make_missing(folder, make_record, total=100_000) and 0)
        time.sleep(moment_s)  # the moment of the kill is what is tested
        os.kill(pid, signal.SIGKILL)
        assert status_of(pid) == -signal.SIGKILL
        if (folder / "dataset.json").exists():
            assert check_dataset(folder) == []
    made = DataSet.open(folder).numbers()
    assert made == list(range(len(made)))
    make_missing(folder, make_record, total=len(made) + 3)
    assert_complete(folder, len(made) + 3)


def test_two_writers_at_once_make_every_episode_once(tmp_path, make_record):
    folder, total = tmp_path / "data", 12
    pids = [
        fork(lambda worker=worker: make_missing(folder, make_record, total=total, worker=worker))
        for worker in ("w0", "w1")
    ]
    made = [status_of(pid) for pid in pids]
    assert sum(made) == total  # what one wrote the other did not
    assert_complete(folder, total)


@pytest.mark.slow
def test_eight_writers_that_begin_in_the_other_order_make_every_episode_once(tmp_path, make_record):
    folder, total = tmp_path / "data", 40

    def work(worker):
        with DataSet.create_or_resume(folder, header=HEADER, worker=f"w{worker}") as data_set:
            numbers = range(total) if worker % 2 else reversed(range(total))
            return sum(data_set.write(make_record(number)) for number in numbers)

    made = [status_of(pid) for pid in [fork(lambda worker=worker: work(worker)) for worker in range(8)]]
    assert sum(made) == total
    assert_complete(folder, total)


@pytest.mark.slow
def claiming_child(folder, numbers):
    """Starts a process that claims episodes and waits; returns its process id."""
    reading, writing = os.pipe()

    def claim_and_wait():
        data_set = DataSet.create_or_resume(folder, header=HEADER, worker="other")
        data_set.claim(numbers, advice="or go away.")
        os.write(writing, b"1")
        time.sleep(60.0)

    pid = fork(claim_and_wait)
    os.close(writing)
    assert os.read(reading, 1) == b"1"
    os.close(reading)
    return pid


def kill(pid):
    os.kill(pid, signal.SIGKILL)
    status_of(pid)


@pytest.mark.parametrize(
    ("numbers", "asked", "both"),
    [
        (range(10), range(10), 0),
        (range(1, 10, 2), range(10), 1),
        ([2, 5, 9], range(5, 10), 5),
        (range(4, 5), [1, 4], 4),
    ],
)
def test_a_second_run_of_an_episode_is_refused_until_the_first_one_is_killed(tmp_path, numbers, asked, both):
    pid = claiming_child(tmp_path / "set", list(numbers))
    with DataSet.create_or_resume(tmp_path / "set", header=HEADER) as data_set:
        try:
            message = f"Another run has claimed episode {both} of .*: process {pid} on .* or go away"
            with pytest.raises(RecordingError, match=message):
                data_set.claim(list(asked), advice="or go away.")
        finally:
            kill(pid)
        data_set.claim(list(asked), advice="")


@pytest.mark.parametrize(("numbers", "asked"), [(range(0, 10, 2), range(1, 10, 2)), (range(4), [4, 9]), (range(4), [])])
def test_runs_of_different_episodes_share_a_data_set(tmp_path, numbers, asked):
    pid = claiming_child(tmp_path / "set", list(numbers))
    try:
        with DataSet.create_or_resume(tmp_path / "set", header=HEADER) as data_set:
            data_set.claim(list(asked), advice="")
            data_set.claim(list(asked), advice="")
    finally:
        kill(pid)


def test_a_run_that_has_ended_leaves_no_claim(tmp_path):
    for _ in range(2):
        with DataSet.create_or_resume(tmp_path / "set", header=HEADER) as data_set:
            data_set.claim([0, 1, 2], advice="")
    assert list((tmp_path / "set" / ".tmp").iterdir()) == []


def test_of_two_configurations_that_begin_at_once_one_is_refused(tmp_path):
    for attempt in range(5):
        folder = tmp_path / str(attempt)

        def begin(seed, folder=folder):
            try:
                DataSet.create_or_resume(folder, header={"seed": seed}).close()
            except RecordingError as exc:
                return 2 if "seed: there" in str(exc) else 3
            return 1

        statuses = [status_of(pid) for pid in [fork(lambda seed=seed: begin(seed)) for seed in (1, 2)]]
        assert sorted(statuses) == [1, 2]


def test_a_forked_child_of_a_writer_has_its_own_scratch(tmp_path, make_record):
    with DataSet.create_or_resume(tmp_path / "data", header=HEADER) as data_set:
        data_set.write(make_record(0))

        def child():
            wrote = data_set.write(make_record(1))
            data_set.close()
            return 0 if wrote else 1

        assert status_of(fork(child)) == 0
        assert data_set.write(make_record(2))
    assert_complete(tmp_path / "data", 3)


def test_scratch_of_a_running_writer_is_not_removed(tmp_path):
    area = LockedArea(tmp_path / ".tmp")
    (area.folder / "half").mkdir()
    assert clean_areas(tmp_path / ".tmp") == 0
    assert (area.folder / "half").is_dir()
    area.close()
    assert list((tmp_path / ".tmp").iterdir()) == []


def test_scratch_of_a_killed_writer_is_removed_by_the_next_one(tmp_path, make_record):
    def die():
        area = LockedArea(tmp_path / ".tmp")
        (area.folder / "half").mkdir()
        (area.folder / "half" / "state.npz").write_bytes(b"x")
        os.kill(os.getpid(), signal.SIGKILL)

    assert status_of(fork(die)) == -signal.SIGKILL
    assert len(list((tmp_path / ".tmp").iterdir())) == 2
    assert clean_areas(tmp_path / ".tmp") == 1
    assert list((tmp_path / ".tmp").iterdir()) == []


def test_a_run_that_was_killed_before_it_wrote_its_header_is_taken_over(tmp_path):
    (tmp_path / "data" / ".tmp" / "0123").mkdir(parents=True)
    with DataSet.create_or_resume(tmp_path / "data", header=HEADER) as data_set:
        assert data_set.numbers() == []


def replace_error(folder, make_record, *, worker="main"):
    with DataSet.create_or_resume(folder, header=HEADER, worker=worker) as data_set:
        data_set.replace_errors([0])
        return data_set.write(make_record(0))


def survive_kill_while_replacing(folder, make_record, count):
    """Whether the writer was killed before that call; whenever it was, the old episode is there, or the new one."""
    with DataSet.create_or_resume(folder, header=HEADER) as data_set:
        data_set.write(make_record(0, success=False, code="error", arrays={}, skills=[], goal={}, settle=None))

    def work():
        kill_before_call(count)
        replace_error(folder, make_record)

    status = status_of(fork(work))
    assert status in (0, -signal.SIGKILL)
    data_set = DataSet.create_or_resume(folder, header=HEADER)
    data_set.close()
    codes = [data_set.read(0).code]
    assert codes == [item.code for item in data_set.summaries()]
    assert check_dataset(folder) == []
    assert list((folder / "replaced").glob("*")) == []
    replace_error(folder, make_record)
    assert [item.code for item in data_set.summaries()] == [None]
    assert_complete(folder, 1)
    return codes, status != 0


@pytest.mark.slow
def test_killed_before_each_of_its_calls_a_replacing_writer_leaves_the_old_episode_or_the_new_one(
    tmp_path, make_record
):
    seen, count, killed = [], 0, True
    while killed:
        codes, killed = survive_kill_while_replacing(tmp_path / str(count), make_record, count)
        seen += codes
        count += 1
    assert sorted(set(seen), key=str) == [None, "error"]
    assert seen == sorted(seen, key=lambda code: code is None)  # the new one replaces the old one once, and stays


def test_an_episode_that_is_moved_aside_returns_when_its_writer_was_killed(tmp_path, make_record):
    folder = tmp_path / "data"
    with DataSet.create_or_resume(folder, header=HEADER) as data_set:
        data_set.write(make_record(0, success=False, code="error"))
        (folder / "replaced").mkdir()
        data_set.folder_of(0).rename(folder / "replaced" / "0000000000")
        assert data_set.numbers() == []
    with DataSet.create_or_resume(folder, header=HEADER) as data_set:
        assert data_set.read(0).code == "error"
        assert list((folder / "replaced").iterdir()) == []


def test_two_writers_at_once_replace_an_error_and_lose_nothing(tmp_path, make_record):
    folder, total = tmp_path / "data", 12
    with DataSet.create_or_resume(folder, header=HEADER) as data_set:
        for number in range(total):
            data_set.write(make_record(number, success=False, code="error", arrays={}, skills=[], goal={}, settle=None))

    def work(worker):
        with DataSet.create_or_resume(folder, header=HEADER, worker=worker) as data_set:
            data_set.replace_errors(range(total))
            numbers = range(total) if worker == "w0" else reversed(range(total))
            return sum(data_set.write(make_record(number)) for number in numbers)

    made = [status_of(pid) for pid in [fork(lambda worker=worker: work(worker)) for worker in ("w0", "w1")]]
    assert sum(made) <= total  # the second writer may move an episode back that the first one has just moved aside
    with DataSet.create_or_resume(folder, header=HEADER) as data_set:
        left = [item.number for item in data_set.summaries() if item.code == "error"]
        assert len(left) == total - sum(made)
        data_set.replace_errors(left)
        assert all(data_set.write(make_record(number)) for number in left)
    assert_complete(folder, total)
