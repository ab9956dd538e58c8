"""`unlatch report`: writes a summary page of the results of data sets."""

from __future__ import annotations

import time
from collections.abc import Sequence

from unlatch.workflows.cli.arguments import read_pairs, split_some_paths
from unlatch.workflows.cli.command import run_command
from unlatch.workflows.cli.console import OK, print_line
from unlatch.workflows.viewing.report.write import ReportCfg, write_report

HELP = """usage: unlatch report DATA [DATA ...] [key=value ...]

Writes one self-contained page, and a JSON file with its numbers: success rates with confidence intervals by task,
robot, randomization, category and instance; failure codes; where attempts fail; curves; pictures of successes and of
each failure code; times; and the commands that reproduce any episode. Two data sets are compared side by side. More
than two are counted together. A folder that contains data sets, such as that of a sweep, stands for all of them.

  pictures=1     strips of pictures for each outcome; 0: none, which needs no simulator and is quick
  out=FILE.html  default: DATA/report.html; for several data sets, report.html in the current directory
"""


def main(argv: Sequence[str]) -> int:
    """Runs the command; returns its exit code."""
    return run_command(argv, HELP, _run)


def _run(arguments: list[str]) -> int:
    paths, pairs = split_some_paths("report", arguments)
    started = time.perf_counter()
    page = write_report(paths, read_pairs(ReportCfg, pairs))
    took = f"{page.stat().st_size / 1e6:.1f} MB, {time.perf_counter() - started:.1f} s"
    print_line(f"report: {page} ({took}), its numbers beside it in {page.with_suffix('.json').name}")
    return OK
