"""The wall time of runs, and the pace that follows from it."""

from __future__ import annotations

import pytest

from unlatch.workflows.runs import progress as run_clock
from unlatch.workflows.runs.executors import Outcome
from unlatch.workflows.runs.progress import Progress, RunClock, RunTime, copy_run_times, pace_of, read_run_times


@pytest.fixture
def now(monkeypatch) -> list[float]:
    """The time of the clock, which tests set [s since 1970]."""
    moment = [1000.0]
    monkeypatch.setattr(run_clock.time, "time", lambda: moment[0])
    return moment


def episode(number: int, seconds: float = 2.0) -> Outcome:
    return Outcome(number, True, None, {"plan": 250.0 * seconds, "execute": 750.0 * seconds})


def test_the_first_batch_counts_and_start_up_does_not(tmp_path, now):
    clock = RunClock(tmp_path, "host-run")
    progress = Progress(total=4, report=None, clock=clock)
    for number, moment in enumerate((1010.0, 1010.0, 1012.0, 1012.0)):
        now[0] = moment
        clock.count(episode(number))
        progress.update(episode(number))
    assert read_run_times(tmp_path) == [RunTime(8.0, 1008.0, 1012.0, 4)] == [clock.times]
    # two workers made four episodes of 2 s in 4 s; the gaps between the ends add up to 2 s only
    assert pace_of(read_run_times(tmp_path)).per_hour == pytest.approx(3600.0) == progress.per_hour


def test_a_killed_run_is_known_up_to_its_last_episode(tmp_path, now):
    clock = RunClock(tmp_path, "host-run")
    now[0] = 1005.0
    clock.count(episode(0))
    now[0] = 5000.0  # killed in its second episode
    assert pace_of(read_run_times(tmp_path)).worked_s == pytest.approx(2.0)


def test_pauses_between_runs_do_not_count_and_runs_at_the_same_time_count_once():
    first, second = RunTime(1.0, 100.0, 200.0, 10), RunTime(1.0, 5000.0, 5100.0, 10)
    assert pace_of([second, first]).per_hour == pytest.approx(360.0)
    shard = RunTime(1.0, 150.0, 250.0, 20)
    both = pace_of([first, shard])
    assert (both.worked_s, both.began, both.ended) == (150.0, 100.0, 250.0)
    assert both.per_hour == pytest.approx(3600.0 * 30 / 150.0)
    inside = RunTime(1.0, 120.0, 130.0, 5)
    assert pace_of([first, inside]).worked_s == pytest.approx(100.0)


def test_a_merged_set_has_the_pace_of_its_runs_however_often_it_is_merged(tmp_path, now):
    for name, began in (("a", 1000.0), ("b", 2000.0)):
        now[0] = began
        clock = RunClock(tmp_path / name, "host-run")
        now[0] = began + 2.0
        clock.count(episode(0))
        for _ in range(2):
            copy_run_times(tmp_path / name, tmp_path / "merged")
    assert pace_of(read_run_times(tmp_path / "merged")).per_hour == pytest.approx(1800.0)


def test_episodes_that_ended_as_error_take_time_and_do_not_count(tmp_path, now):
    clock = RunClock(tmp_path, "host-run")
    now[0] = 1010.0
    clock.count(Outcome(0, False, "error"))
    assert pace_of(read_run_times(tmp_path)).per_hour is None
    now[0] = 1020.0
    clock.count(Outcome(1, False, "slipped"))
    assert pace_of(read_run_times(tmp_path)).per_hour == pytest.approx(360.0)


def test_without_runs_there_is_no_pace(tmp_path):
    assert pace_of(read_run_times(tmp_path)).per_hour is None


def test_a_run_that_made_only_errors_does_not_lower_the_pace():
    errors, mended = RunTime(1.0, 0.0, 100.0, 0), RunTime(1.0, 200.0, 236.0, 2)
    assert pace_of([errors]).per_hour is None
    pace = pace_of([errors, mended])
    assert (pace.per_hour, pace.worked_s, pace.began, pace.ended) == (200.0, 36.0, 0.0, 236.0)
