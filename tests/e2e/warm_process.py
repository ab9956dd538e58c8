"""Runs commands, each in a copy of one process that has everything imported (`warm_commands.py`)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


class WarmProcess:
    """A process that runs commands one after the other, each in a copy of itself."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        environment = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", **os.environ, "PYTHONPATH": str(ROOT)}
        script = [sys.executable, str(Path(__file__).with_name("warm_commands.py"))]
        self._process = subprocess.Popen(
            script, cwd=ROOT, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def run(
        self,
        argv: Sequence[str],
        folder: Path,
        *,
        typed: str = "",
        site: Path | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> subprocess.CompletedProcess[str]:
        """Runs a command in a folder, which is the first place that modules are looked for in.

        Args:
            argv: `unlatch`, `pytest` or `python` and its arguments.
            folder: The current folder.
            typed: What the command reads as its input.
            site: Folder of packages that the command sees, too.
            environment: Variables that are set.
        """
        assert self._process.stdin
        assert self._process.stdout
        files = {name: self._folder / name for name in ("typed", "out", "err")}
        files["typed"].write_text(typed, encoding="utf-8")
        request = {
            "argv": list(argv),
            "cwd": str(folder),
            "site": None if site is None else str(site),
            "environment": {**(environment or {})},
            **{name: str(path) for name, path in files.items()},
        }
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        code = self._process.stdout.readline()
        assert code, "the process that runs commands is gone"
        out, err = (files[name].read_text(encoding="utf-8", errors="replace") for name in ("out", "err"))
        return subprocess.CompletedProcess(list(argv), int(code), out, err)

    def close(self) -> None:
        """Ends the process."""
        assert self._process.stdin
        self._process.stdin.close()
        assert self._process.wait(timeout=60) == 0
