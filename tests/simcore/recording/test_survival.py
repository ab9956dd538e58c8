"""Killed at any point and written by several processes at once, a data set stays whole."""

import os
import signal
import time

import numpy as np
import pytest

from tests.simcore.recording.builders import make_record, never_began
from tests.simcore.recording.forks import fork, in_child, kill, status_of
from unlatch.simcore.errors import RecordingError
from unlatch.simcore.recording.check import check_dataset
from unlatch.simcore.recording.data_set import DataSet

CALLS = ("open", "write", "pwrite", "fsync", "mkdir", "rename", "link", "unlink", "rmdir", "close")
EPISODES = 1


def create(folder, worker="main", seed=7):
    return DataSet.create_or_resume(folder, header={"seed": seed}, worker=worker)


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


def write_missing(folder, total, worker="main"):
    with create(folder, worker) as data_set:
        return sum(data_set.write(make_record(number)) for number in data_set.missing(range(total)))


def write_all(folder, numbers, worker, *, replace=False):
    """Writes episodes in the given order; returns how many of them were written."""
    with create(folder, worker) as data_set:
        if replace:
            data_set.replace_errors(numbers)
        return sum(data_set.write(make_record(number)) for number in numbers)


def assert_complete(folder, total):
    data_set = DataSet.open(folder)
    assert data_set.numbers() == list(range(total))
    assert check_dataset(folder) == []
    assert [summary.number for summary in data_set.summaries()] == list(range(total))
    assert list((folder / ".tmp").iterdir()) == []


def is_killed(work, count):
    """Runs a writer in a process that is killed before a call; returns whether it was not done by then."""

    def run():
        kill_before_call(count)
        work()

    status = in_child(run)
    assert status in (0, -signal.SIGKILL)
    return status != 0


def survive_kill_before_call(folder, count):
    """Whether the writer was killed before that call; the data set is whole and completed either way."""
    killed = is_killed(lambda: write_missing(folder, EPISODES), count)
    if (folder / "dataset.json").exists():
        assert check_dataset(folder) == []
    write_missing(folder, EPISODES)
    assert_complete(folder, EPISODES)
    return killed


class TestKilled:
    @pytest.mark.parametrize("count", [1, 9, 17, 25])
    def test_before_a_call_it_has_no_half_written_episode_and_the_rerun_completes_it(self, tmp_path, count):
        assert survive_kill_before_call(tmp_path / "data", count)

    @pytest.mark.slow
    def test_before_each_of_its_calls_it_is_completed_by_the_rerun(self, tmp_path):
        count = 0
        while survive_kill_before_call(tmp_path / str(count), count):
            count += 1
        assert count > 20  # there were so many moments at which it was killed

    @pytest.mark.slow
    def test_repeatedly_it_completes_the_set(self, tmp_path):
        folder = tmp_path / "data"
        for moment_s in np.random.default_rng(0).uniform(0.003, 0.12, size=6):
            pid = fork(lambda: write_missing(folder, 100_000) and 0)
            time.sleep(moment_s)  # the moment of the kill is what is tested
            kill(pid)
            if (folder / "dataset.json").exists():
                assert check_dataset(folder) == []
        made = DataSet.open(folder).numbers()
        assert made == list(range(len(made)))
        write_missing(folder, len(made) + 3)
        assert_complete(folder, len(made) + 3)

    @pytest.mark.slow
    def test_before_each_of_its_calls_a_replacing_writer_leaves_the_old_episode_or_the_new_one(self, tmp_path):
        seen, count, killed = [], 0, True
        while killed:
            folder = tmp_path / str(count)
            with create(folder) as data_set:
                data_set.write(never_began("error"))
            killed = is_killed(lambda folder=folder: write_all(folder, [0], "main", replace=True), count)
            data_set = create(folder)
            data_set.close()
            seen.append(data_set.read(0).code)
            assert [item.code for item in data_set.summaries()] == seen[-1:]
            assert check_dataset(folder) == []
            assert list((folder / "replaced").glob("*")) == []
            write_all(folder, [0], "main", replace=True)
            assert [item.code for item in data_set.summaries()] == [None]
            assert_complete(folder, 1)
            count += 1
        assert sorted(set(seen), key=str) == [None, "error"]
        assert seen == sorted(seen, key=lambda code: code is None)  # the new one replaces the old one once, and stays

    def test_between_moving_an_episode_aside_and_writing_the_new_one_the_old_one_returns(self, tmp_path):
        folder = tmp_path / "data"
        with create(folder) as data_set:
            data_set.write(make_record(0, success=False, code="error"))
            (folder / "replaced").mkdir()
            data_set.folder_of(0).rename(folder / "replaced" / "0000000000")
            assert data_set.numbers() == []
        with create(folder) as data_set:
            assert data_set.read(0).code == "error"
            assert list((folder / "replaced").iterdir()) == []


def made_by(*works):
    """Starts processes at once; returns how many episodes each wrote."""
    return [status_of(pid) for pid in [fork(work) for work in works]]


class TestSeveralWriters:
    def test_two_at_once_make_every_episode_once(self, tmp_path):
        orders = {"w0": range(8), "w1": range(7, -1, -1)}
        made = made_by(*(lambda w=w: write_all(tmp_path / "data", orders[w], w) for w in orders))
        assert sum(made) == 8  # what one wrote the other did not
        assert_complete(tmp_path / "data", 8)

    def test_two_at_once_replace_an_error_and_lose_nothing(self, tmp_path):
        folder, total = tmp_path / "data", 8
        with create(folder) as data_set:
            for number in range(total):
                data_set.write(never_began("error", number))
        made = made_by(
            lambda: write_all(folder, range(total), "w0", replace=True),
            lambda: write_all(folder, range(total - 1, -1, -1), "w1", replace=True),
        )
        assert sum(made) <= total  # the second writer may move an episode back that the first one has just moved aside
        left = [item.number for item in DataSet.open(folder).summaries() if item.code == "error"]
        assert len(left) == total - sum(made)
        assert write_all(folder, left, "main", replace=True) == len(left)
        assert_complete(folder, total)

    def test_of_two_configurations_that_begin_at_once_one_is_refused(self, tmp_path):
        def begin(seed):
            try:
                create(tmp_path / "data", seed=seed).close()
            except RecordingError as exc:
                return 2 if "seed: there" in str(exc) else 3
            return 1

        assert sorted(made_by(lambda: begin(1), lambda: begin(2))) == [1, 2]

    def test_a_forked_child_has_its_own_scratch(self, tmp_path):
        with create(tmp_path / "data") as data_set:
            data_set.write(make_record(0))
            assert in_child(lambda: [data_set.write(make_record(1)), data_set.close()][0] and 1) == 1
            assert data_set.write(make_record(2))
        assert_complete(tmp_path / "data", 3)


def claiming_child(folder, numbers):
    """Starts a process that claims episodes and waits; returns its process id."""
    reading, writing = os.pipe()

    def claim_and_wait():
        data_set = create(folder, "other")
        data_set.claim(numbers, advice="or go away.")
        os.write(writing, b"1")
        time.sleep(60.0)

    pid = fork(claim_and_wait)
    os.close(writing)
    assert os.read(reading, 1) == b"1"
    os.close(reading)
    return pid


class TestClaims:
    @pytest.mark.parametrize(
        ("numbers", "asked", "both"),
        [
            (range(1, 10, 2), range(10), 1),
            ([2, 5, 9], range(5, 10), 5),
            (range(4, 5), [1, 4], 4),
            # runs of different episodes share a data set
            (range(0, 10, 2), range(1, 10, 2), None),
            (range(4), [], None),
        ],
    )
    def test_a_second_run_of_an_episode_is_refused_until_the_first_one_is_killed(self, tmp_path, numbers, asked, both):
        pid = claiming_child(tmp_path / "set", list(numbers))
        with create(tmp_path / "set") as data_set:
            try:
                if both is None:
                    data_set.claim(list(asked), advice="")
                else:
                    message = f"Another run has claimed episode {both} of .*: process {pid} on .* or go away"
                    with pytest.raises(RecordingError, match=message):
                        data_set.claim(list(asked), advice="or go away.")
            finally:
                kill(pid)
            data_set.claim(list(asked), advice="")

    def test_a_run_that_has_ended_leaves_no_claim(self, tmp_path):
        for _ in range(2):
            with create(tmp_path / "set") as data_set:
                data_set.claim([0, 1, 2], advice="")
        assert list((tmp_path / "set" / ".tmp").iterdir()) == []
