"""Ctrl-C once and twice."""

from __future__ import annotations

import io
import signal
from collections.abc import Iterator

import pytest
from rich.console import Console

from unlatch.workflows.runs.progress import Interruption, Progress


@pytest.fixture
def pythons_handler() -> Iterator[None]:
    """Ctrl-C as in a command that was started in a terminal; in the background of a script it is ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("pythons_handler")
def test_the_first_ctrl_c_is_noted_and_the_second_raises():
    with Interruption() as interruption:
        assert not interruption.is_asked()
        signal.raise_signal(signal.SIGINT)
        assert interruption.is_asked()
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_process_that_ignores_ctrl_c_still_ignores_it():
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with Interruption() as interruption:
            signal.raise_signal(signal.SIGINT)
        assert not interruption.asked
    finally:
        signal.signal(signal.SIGINT, before)


def test_the_display_says_what_a_second_ctrl_c_does():
    interruption = Interruption()
    progress = Progress(total=10, interruption=interruption, console=(console := Console(file=io.StringIO(), width=80)))
    with console.capture() as capture:
        console.print(progress)
        interruption.asked = True
        console.print(progress)
    assert capture.get().count("Ctrl-C again: at once") == 1
