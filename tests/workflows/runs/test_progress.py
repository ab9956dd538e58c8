"""The live display."""

import io
import signal
import time
from collections.abc import Callable, Iterator

import pytest
from rich.console import Console

from unlatch.workflows.runs import progress as run_clock
from unlatch.workflows.runs.executors import Outcome
from unlatch.workflows.runs.progress import (
    Interruption,
    Progress,
    RunClock,
    RunTime,
    copy_run_times,
    pace_of,
    read_run_times,
)
from unlatch.workflows.runs.step_progress import StepProgress


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20.0
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def shown(console: Console, progress: Progress | StepProgress) -> str:
    with console.capture() as capture:
        console.print(progress)
    return capture.get()


def test_the_display_counts_attempts_successes_and_failures_by_code():
    console = Console(file=io.StringIO(), width=100)
    progress = Progress(total=10, done=2, console=console)
    assert "no episode has ended yet, 0 s" in shown(console, progress)
    for number, code in enumerate([None, None, "slipped", None, "slipped", "collision"]):
        progress.update(Outcome(number, code is None, code))
    text = shown(console, progress)
    assert "8/10" in text
    assert "3 succeeded (50 %)" in text
    assert "slipped 2   collision 1" in text
    assert "/h" in text
    assert "left" in text
    assert progress.left_s is not None
    assert len(text.splitlines()) == 2
    progress.interruption = Interruption()
    assert "Ctrl-C again: at once" not in shown(console, progress)
    progress.interruption.asked = True
    assert "Ctrl-C again: at once" in shown(console, progress)


def test_without_a_terminal_a_long_run_writes_lines_and_a_short_one_nothing(monkeypatch):
    short = io.StringIO()
    with Progress(total=1, console=Console(file=short)) as progress:
        progress.update(Outcome(0, True))
    assert short.getvalue() == ""
    monkeypatch.setattr("unlatch.workflows.runs.progress.FIRST_LINE_S", 0.05)
    calls: list[Progress] = []
    with Progress(total=1, report=calls.append, console=Console(file=short)) as progress:
        progress.update(Outcome(0, True))
        time.sleep(0.1)
    assert (calls, short.getvalue()) == ([progress], ""), "a function is called in place of lines"
    stream = io.StringIO()
    with Progress(total=3, console=Console(file=stream, width=20)) as progress:
        wait_for(lambda: "unlatch: 0/3 episodes after 0 s; no episode has ended yet\n" in stream.getvalue())
        progress.update(Outcome(0, True))
        progress.update(Outcome(1, False, "slipped"))
        wait_for(lambda: "unlatch: 2/3 episodes after 0 s, 1 of 2 succeeded" in stream.getvalue())
    *_, last = stream.getvalue().splitlines()
    assert last.endswith("an hour, 0:00:00 left, slipped 1")
    written = stream.getvalue()
    time.sleep(0.2)
    assert stream.getvalue() == written


def test_a_run_of_errors_has_no_pace():
    console = Console(file=io.StringIO(), width=100)
    progress = Progress(total=4, console=console)
    progress.update(Outcome(0, False, "error"))
    assert "an hour" not in progress.line()
    assert "/h" not in shown(console, progress)
    progress.update(Outcome(1, True))
    assert "an hour" in progress.line()
    assert "/h" in shown(console, progress)


def test_on_a_terminal_the_display_disappears_at_the_end_and_counts_successes_where_they_are_asked_for():
    stream = io.StringIO()
    console = Console(file=stream, force_terminal=True, width=80)
    with Progress(total=5, done=2, successes_only=True, console=console) as progress:
        progress.update(Outcome(0, False, "slipped"))
        assert progress.left_s is None
        progress.update(Outcome(1, True))
        console.print(progress)
    assert "3/5" in stream.getvalue()
    assert "\x1b[2K" in stream.getvalue()


def test_without_a_terminal_steps_are_counted_in_lines(monkeypatch):
    monkeypatch.setattr("unlatch.workflows.runs.progress.FIRST_LINE_S", 0.05)
    stream = io.StringIO()
    with StepProgress("pictures", console=Console(file=stream, width=20)) as progress:
        wait_for(lambda: "unlatch: no pictures yet after 0 s\n" in stream.getvalue())
        progress.begin(4000)
        wait_for(lambda: "unlatch: 0 of 4,000 pictures after 0 s\n" in stream.getvalue())
        progress.advance()
        wait_for(lambda: "unlatch: 1 of 4,000 pictures after" in stream.getvalue())
        assert "1/4,000 pictures" in shown(Console(file=io.StringIO(), width=80), progress)
        progress.end()
        written = stream.getvalue()
        progress.update(3999, 4000)
        time.sleep(0.2)
    assert written.splitlines()[-1].endswith("left")
    assert stream.getvalue() == written


def test_on_a_terminal_steps_are_shown_in_a_line_that_disappears():
    stream = io.StringIO()
    console = Console(file=stream, force_terminal=True, width=80)
    with StepProgress("images", console=console) as progress:
        progress.update(1, 3)
        progress.update(2, 3)
        console.print(progress)
    assert "2/3 images" in stream.getvalue()
    assert "a second" in stream.getvalue()
    assert "\x1b[2K" in stream.getvalue()


@pytest.fixture
def pythons_handler() -> Iterator[None]:
    """Ctrl-C as in a command that was started in a terminal; in the background of a script it is ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("pythons_handler")
def test_the_first_ctrl_c_is_noted_and_the_second_raises_unless_the_process_ignores_both():
    with Interruption() as interruption:
        assert not interruption.is_asked()
        signal.raise_signal(signal.SIGINT)
        assert interruption.is_asked()
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with Interruption() as interruption:
        signal.raise_signal(signal.SIGINT)
    assert not interruption.asked


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


def test_a_killed_run_is_known_up_to_its_last_episode_however_often_it_is_merged(tmp_path, now):
    for name, began in (("a", 1000.0), ("b", 2000.0)):
        now[0] = began
        clock = RunClock(tmp_path / name, "host-run")
        now[0] = began + 5.0
        clock.count(episode(0))
        now[0] = began + 500.0  # killed in its second episode
        for _ in range(2):
            copy_run_times(tmp_path / name, tmp_path / "merged")
    assert pace_of(read_run_times(tmp_path / "a")).worked_s == pytest.approx(2.0)
    assert pace_of(read_run_times(tmp_path / "merged")).per_hour == pytest.approx(1800.0)


FIRST = RunTime(1.0, 100.0, 200.0, 10)


@pytest.mark.parametrize(
    ("runs", "per_hour", "worked_s", "began", "ended"),
    [
        ([], None, 0.0, None, None),
        ([RunTime(1.0, 5000.0, 5100.0, 10), FIRST], 360.0, 200.0, 100.0, 5100.0),  # the pause does not count
        ([FIRST, RunTime(1.0, 150.0, 250.0, 20)], 720.0, 150.0, 100.0, 250.0),  # at the same time: once
        ([FIRST, RunTime(1.0, 120.0, 130.0, 5)], 540.0, 100.0, 100.0, 200.0),  # inside of the other
        ([RunTime(1.0, 0.0, 100.0, 0)], None, 0.0, 0.0, 100.0),  # only errors
        ([RunTime(1.0, 0.0, 100.0, 0), RunTime(1.0, 200.0, 236.0, 2)], 200.0, 36.0, 0.0, 236.0),
    ],
)
def test_the_pace_of_runs_counts_the_time_in_which_episodes_were_made(runs, per_hour, worked_s, began, ended):
    pace = pace_of(runs)
    assert pace.per_hour == (per_hour if per_hour is None else pytest.approx(per_hour))
    if runs:
        assert (pace.worked_s, pace.began, pace.ended) == (pytest.approx(worked_s), began, ended)


def test_episodes_that_ended_as_error_take_time_and_do_not_count(tmp_path, now):
    clock = RunClock(tmp_path, "host-run")
    now[0] = 1010.0
    clock.count(Outcome(0, False, "error"))
    assert pace_of(read_run_times(tmp_path)).per_hour is None
    now[0] = 1020.0
    clock.count(Outcome(1, False, "slipped"))
    assert pace_of(read_run_times(tmp_path)).per_hour == pytest.approx(360.0)
