"""Commands in this process, which has imported what they need, and as processes of their own."""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import runpy
import signal
import site
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO

import pytest

from unlatch import command_table
from unlatch.simcore.registry import Catalog

ROOT = Path(__file__).resolve().parents[2]


class Commands:
    """Runs commands in this process, each as if in one of its own: what it imports and changes is gone afterwards."""

    def run(
        self,
        argv: Sequence[str],
        folder: Path,
        *,
        typed: str = "",
        packages: Path | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> subprocess.CompletedProcess[str]:
        """Runs a command in a folder, which is the first place that modules are looked for in.

        Args:
            argv: `unlatch`, `pytest` or `python` and its arguments.
            folder: The current folder.
            typed: What the command reads as its input.
            packages: Folder of packages that the command sees, too.
            environment: Variables that are set.
        """
        out, err, before = io.StringIO(), io.StringIO(), set(sys.modules)
        with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            patch.chdir(folder)
            for name, value in {"stdin": io.StringIO(typed), "argv": [*argv]}.items():
                patch.setattr(sys, name, value)
            for name, value in {"meta_path": [*sys.meta_path], "path": [str(folder), *sys.path]}.items():
                patch.setattr(sys, name, value)
            for name, value in (environment or {}).items():
                patch.setenv(name, value)
            if packages:
                site.addsitedir(str(packages))
            _forget_plugins()
            code = _exit_code(argv)
        _forget_modules(set(sys.modules) - before, *filter(None, (folder, packages)))
        _forget_plugins()
        return subprocess.CompletedProcess(list(argv), code, out.getvalue(), err.getvalue())


def _exit_code(argv: Sequence[str]) -> int:
    program, *arguments = argv
    try:
        if program == "unlatch":
            return command_table.main(arguments)
        if program == "pytest":
            return int(pytest.main(arguments))
        sys.argv = arguments
        if arguments[0] == "-c":
            exec(compile(arguments[1], "<block of a page>", "exec"), {"__name__": "__main__"})
        else:
            runpy.run_path(arguments[0], run_name="__main__")
    except SystemExit as exc:
        return exc.code if isinstance(exc.code, int) else int(exc.code is not None)
    except Exception:  # noqa: BLE001 - as the interpreter does at its top
        traceback.print_exc()
        return 1
    return 0


def _forget_plugins() -> None:
    """Lets every catalog look again for what is installed."""
    own = [module for name, module in sys.modules.items() if name.startswith("unlatch.")]
    for value in [value for module in own for value in vars(module).values()]:
        if isinstance(value, Catalog):
            value._all = None
    importlib.invalidate_caches()


def _forget_modules(names: set[str], *folders: Path) -> None:
    """Lets modules below folders be imported anew, and those of packages that another test has installed."""
    for name in names:
        file = getattr(sys.modules[name], "__file__", None)
        ours = file and any(Path(file).is_relative_to(place) for place in (ROOT, sys.prefix, sys.base_prefix))
        if file and (not ours or any(Path(file).is_relative_to(folder) for folder in folders)):
            del sys.modules[name]


def start(words: Sequence[str], folder: Path, *, stderr: int | IO[str] = subprocess.PIPE) -> subprocess.Popen[str]:
    """Starts Python with arguments, such as `-m unlatch list`, as the first of a group of processes."""
    return subprocess.Popen(
        [sys.executable, *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        text=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=stderr,
        start_new_session=True,
        # as in a terminal: Ctrl-C is ignored by what a script starts in the background, and by what that starts
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def finish(process: subprocess.Popen[str], typed: str = "", *, limit_s: float = 300.0) -> tuple[int, str, str]:
    """Waits for the end of a process; returns exit code, output, and errors without the lines of a slow start."""
    out, err = process.communicate(typed, timeout=limit_s)
    lines = [line for line in err.splitlines(keepends=True) if " episodes after " not in line]
    return process.returncode, out, "".join(lines)


def run_process(words: Sequence[str], folder: Path, typed: str = "") -> tuple[int, str, str]:
    """Runs Python with arguments; returns exit code, output and errors."""
    return finish(start(words, folder), typed)


def wait_for(condition: Callable[[], object], *, limit_s: float = 120.0) -> None:
    """Waits until a condition holds.

    Raises:
        TimeoutError: It does not within the limit.
    """
    until = time.monotonic() + limit_s
    while not condition():
        if time.monotonic() > until:
            raise TimeoutError(f"nothing happened within {limit_s:g} s")
        time.sleep(0.02)
