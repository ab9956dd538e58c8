"""The live display."""

import io
import time
from collections.abc import Callable

from rich.console import Console

from unlatch.workflows.runs.executors import Outcome
from unlatch.workflows.runs.progress import FrameCount, Progress, StepProgress


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20.0
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def shown(console: Console, progress: Progress) -> str:
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


def test_without_a_terminal_a_short_run_writes_nothing():
    stream = io.StringIO()
    with Progress(total=1, console=Console(file=stream)) as progress:
        progress.update(Outcome(0, True))
    assert stream.getvalue() == ""


def test_without_a_terminal_a_long_run_writes_lines(monkeypatch):
    monkeypatch.setattr("unlatch.workflows.runs.progress.FIRST_LINE_S", 0.05)
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


def test_a_function_is_called_in_place_of_lines(monkeypatch):
    monkeypatch.setattr("unlatch.workflows.runs.progress.FIRST_LINE_S", 0.01)
    stream, calls = io.StringIO(), []
    with Progress(total=1, report=calls.append, console=Console(file=stream)) as progress:
        progress.update(Outcome(0, True))
        time.sleep(0.1)
    assert (calls, stream.getvalue()) == ([progress], "")


def test_a_run_of_errors_has_no_pace():
    console = Console(file=io.StringIO(), width=100)
    progress = Progress(total=4, console=console)
    progress.update(Outcome(0, False, "error"))
    assert "an hour" not in progress.line()
    assert "/h" not in shown(console, progress)
    progress.update(Outcome(1, True))
    assert "an hour" in progress.line()
    assert "/h" in shown(console, progress)


def test_on_a_terminal_the_display_disappears_at_the_end():
    stream = io.StringIO()
    with Progress(total=1, console=Console(file=stream, force_terminal=True, width=80)) as progress:
        progress.update(Outcome(0, True))
    assert stream.getvalue().endswith("\x1b[2K") or "\x1b[2K" in stream.getvalue()


def test_with_successes_only_the_display_counts_successes():
    stream = io.StringIO()
    console = Console(file=stream, force_terminal=True, width=80)
    with Progress(total=5, done=2, successes_only=True, console=console) as progress:
        progress.update(Outcome(0, False, "slipped"))
        assert progress.left_s is None
        progress.update(Outcome(1, True))
        console.print(progress)
    assert "3/5" in stream.getvalue()


def test_before_the_first_episode_ends_the_frames_give_rate_and_time_left():
    frames = [0]
    console = Console(file=io.StringIO(), width=80)
    progress = Progress(total=4, console=console, frames=FrameCount(2000, lambda: frames[0]))
    assert progress.line() == "0/4 episodes after 0 s, 0 of 2,000 frames"
    assert progress.left_s is None
    frames[0] = 500
    assert progress.left_s is not None
    for text in (progress.line(), shown(console, progress)):
        assert "500" in text
        assert "a second" in text
        assert "left" in text
    assert len(shown(console, progress).splitlines()) == 2


def test_without_a_terminal_steps_are_counted_in_lines(monkeypatch):
    monkeypatch.setattr("unlatch.workflows.runs.progress.FIRST_LINE_S", 0.05)
    stream = io.StringIO()
    with StepProgress("pictures", console=Console(file=stream, width=20)) as progress:
        wait_for(lambda: "unlatch: no pictures yet after 0 s\n" in stream.getvalue())
        progress.begin(4000)
        wait_for(lambda: "unlatch: 0 of 4,000 pictures after 0 s\n" in stream.getvalue())
        progress.advance()
        wait_for(lambda: "unlatch: 1 of 4,000 pictures after" in stream.getvalue())
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
