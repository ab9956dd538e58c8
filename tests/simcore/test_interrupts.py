"""Ctrl-C ends a process at once while it imports modules, and is noted later; the exit code is 130."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from unlatch.simcore import process as interrupts


@pytest.fixture(autouse=True)
def pythons_handler(monkeypatch):
    """Ctrl-C as in a command that was started in a terminal; in the background of a script it is ignored."""
    monkeypatch.setattr(interrupts, "_was_pressed", False)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def run_script(*lines: str) -> tuple[int, str]:
    script = "\n".join(["import signal, sys", "from unlatch.simcore import process as interrupts", *lines])
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    return done.returncode, done.stderr


def test_ctrl_c_during_imports_ends_the_process_with_one_line():
    code, err = run_script("interrupts.end_at_ctrl_c()", "try: signal.raise_signal(signal.SIGINT)", "finally: 1 / 0")
    assert (code, err) == (130, "unlatch: interrupted\n")


def test_the_exit_code_is_130_also_if_the_exception_came_through_exec():
    code, err = run_script(
        "interrupts.end_at_ctrl_c()",
        "interrupts.raise_at_ctrl_c()",
        "try: exec('signal.raise_signal(signal.SIGINT)')",
        "except KeyboardInterrupt: interrupts.end_interrupted()",
    )
    assert (code, err) == (130, "")


def test_ctrl_c_raises_and_is_noted_once_the_modules_are_imported():
    interrupts.end_at_ctrl_c()
    interrupts.raise_at_ctrl_c()
    assert not interrupts.was_pressed()
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)
    assert interrupts.was_pressed()


def test_a_process_that_ignores_ctrl_c_still_ignores_it():
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    interrupts.end_at_ctrl_c()
    interrupts.raise_at_ctrl_c()
    signal.raise_signal(signal.SIGINT)
    assert not interrupts.was_pressed()
