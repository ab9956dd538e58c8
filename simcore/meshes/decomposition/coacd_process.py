"""Runs CoACD in a child process, which may crash or hang."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from unlatch.simcore.errors import AssetError
from unlatch.simcore.extras import installed_version
from unlatch.simcore.meshes.decomposition import coacd_child

_CRASHES = (-signal.SIGSEGV, -signal.SIGABRT, -signal.SIGFPE, -signal.SIGILL, 0xC0000005)
"""Exit codes of crashes in native code, the last one on Windows. A killed child is no crash: it may lack memory."""


def run_coacd_child(folder: Path, *, limit_s: float, where: str) -> str | None:
    """Runs a child over the inputs of a folder; returns the input that crashed it, or None.

    Raises:
        AssetError: It does not end, or cannot run.
    """
    started = folder / coacd_child.STARTED_FILE
    started.unlink(missing_ok=True)
    messages = folder / "said.txt"
    with messages.open("w", encoding="utf-8") as output:
        child = subprocess.Popen(
            [sys.executable, str(coacd_child.__file__), str(folder)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=output,
            # its threads share one random generator, so the result would depend on their timing
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )
        try:
            _wait_for_child(child, started, limit_s=limit_s, where=where)
        finally:
            child.kill()
            child.wait()
    if child.returncode == 0:
        return None
    current = _read_text(started)
    last = messages.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-1:]
    if current and child.returncode in _CRASHES and "bad_alloc" not in "".join(last):
        return current
    raise AssetError(
        f"{where}: CoACD ended with code {child.returncode}{f' ({last[0]})' if last else ''}. Expected convex pieces. "
        "Check that the package coacd works here and that there is memory for it.",
        returncode=child.returncode,
    )


def _wait_for_child(child: subprocess.Popen[bytes], started: Path, *, limit_s: float, where: str) -> None:
    """Waits for the end of a child that writes the name of each piece when it starts it."""
    current, since = "", time.monotonic()
    while child.poll() is None:
        if (name := _read_text(started)) != current:
            current, since = name, time.monotonic()
        if time.monotonic() - since > limit_s:
            raise AssetError(
                f"{where}: CoACD is not done with one piece after {limit_s:g} s. Expected seconds. "
                "Try again while the machine does less, or leave this object out.",
                limit_s=limit_s,
            )
        time.sleep(0.02)


def _read_text(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.exists() else ""


def coacd_version() -> str:
    """Returns the installed version of CoACD, on which converted objects depend; `none` if there is none."""
    return installed_version("coacd") or "none"
