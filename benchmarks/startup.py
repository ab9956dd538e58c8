"""Measures how fast a new process starts.

- Wall time of `unlatch --help` and `unlatch list`: median of five runs each.
- CPU time of the first episode of a new process with a warm cache, without a picture: driver, one worker, and what they
  start. In turns with a process that only imports the same engine libraries.
"""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from unlatch.workflows.cli.terminal import run_guarded

LIMIT_S = 1.5
FIRST_EPISODE_LIMIT_S = 4.0
"""CPU time of the first episode [s]."""
RUNS = 5
COMMANDS = (
    ["--help"],
    ["collect", "--help"],
    *(["list", what] for what in ("tasks", "skills", "robots", "objects", "sensors", "terms")),
)
FIRST_EPISODE = ["-m", "unlatch", "collect", "task=open_microwave", "episodes=1", "workers=1", "pictures=0", "out=data"]
BARE = ["-c", "import pybullet, casadi, numpy, hydra"]


def main() -> int:
    """Prints the times; exit code 1 if a command or the first episode is above its limit."""
    worst = 0.0
    for arguments in COMMANDS:
        middle = statistics.median(_run(["-m", "unlatch", *arguments])[0] for _ in range(RUNS))
        worst = max(worst, middle)
        print(f"unlatch {' '.join(arguments):<16} {middle:.2f} s")
    print(f"slowest {worst:.2f} s, allowed {LIMIT_S} s")
    _run(FIRST_EPISODE, UNLATCH_COMPILE="now")  # fills the cache
    times = [(_run(FIRST_EPISODE)[1], _run(BARE)[1]) for _ in range(RUNS)]
    first, bare = (statistics.median(column) for column in zip(*times, strict=True))
    print(
        f"first episode of a process {first:.2f} s of CPU time, allowed {FIRST_EPISODE_LIMIT_S} s; a bare process that "
        f"imports the engine libraries {bare:.2f} s, ratio {first / bare:.1f}"
    )
    return int(worst > LIMIT_S or first > FIRST_EPISODE_LIMIT_S)


def _run(arguments: Sequence[str], **variables: str) -> tuple[float, float]:
    """Returns wall time and CPU time of a Python process and of those that it waits for [s]."""
    start, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    with tempfile.TemporaryDirectory() as folder:
        env = {**os.environ, **variables}
        subprocess.run([sys.executable, *arguments], cwd=Path(folder), env=env, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.perf_counter() - start, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    sys.exit(run_guarded(main, usage=__doc__))
