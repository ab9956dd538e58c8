"""The live display."""

import io

from rich.console import Console

from unlatch.workflows.runs.executors.executor import Outcome
from unlatch.workflows.runs.progress import Progress


def shown(console: Console, progress: Progress) -> str:
    with console.capture() as capture:
        console.print(progress)
    return capture.get()


def test_the_display_counts_attempts_successes_and_failures_by_code():
    console = Console(file=io.StringIO(), width=100)
    progress = Progress(total=10, done=2, console=console)
    assert "starting workers" in shown(console, progress)
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


def test_without_a_terminal_nothing_is_written():
    stream = io.StringIO()
    with Progress(total=1, console=Console(file=stream)) as progress:
        progress.update(Outcome(0, True))
    assert stream.getvalue() == ""


def test_on_a_terminal_the_display_disappears_at_the_end():
    stream = io.StringIO()
    with Progress(total=1, console=Console(file=stream, force_terminal=True, width=80)) as progress:
        progress.update(Outcome(0, True))
    assert stream.getvalue().endswith("\x1b[2K") or "\x1b[2K" in stream.getvalue()


def test_with_successes_only_the_display_counts_successes() -> None:
    stream = io.StringIO()
    console = Console(file=stream, force_terminal=True, width=80)
    with Progress(total=5, done=2, successes_only=True, console=console) as progress:
        progress.update(Outcome(0, False, "slipped"))
        assert progress.left_s is None
        progress.update(Outcome(1, True))
        console.print(progress)
    assert "3/5" in stream.getvalue()
