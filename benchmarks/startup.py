"""Measures the time of `unlatch --help` and `unlatch list` in a new process: median of five runs each."""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time

LIMIT_S = 1.5
COMMANDS = (
    ["--help"],
    ["collect", "--help"],
    *(["list", what] for what in ("tasks", "skills", "robots", "objects", "sensors", "terms")),
)


def main() -> int:
    """Prints the times; exit code 1 if a command is above the limit."""
    worst = 0.0
    for arguments in COMMANDS:
        times = []
        for _ in range(5):
            start = time.perf_counter()
            with tempfile.TemporaryDirectory() as folder:
                subprocess.run(
                    [sys.executable, "-m", "unlatch", *arguments], cwd=folder, check=True, capture_output=True
                )
            times.append(time.perf_counter() - start)
        middle = statistics.median(times)
        worst = max(worst, middle)
        print(f"unlatch {' '.join(arguments):<16} {middle:.2f} s")
    print(f"slowest {worst:.2f} s, allowed {LIMIT_S} s")
    return int(worst > LIMIT_S)


if __name__ == "__main__":
    sys.exit(main())
