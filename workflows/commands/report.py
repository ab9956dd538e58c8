"""`unlatch report`: writes a summary page of the results of data sets."""

from __future__ import annotations

import time
from collections.abc import Sequence

from unlatch.workflows.cli.arguments import read_pairs, split_some_paths
from unlatch.workflows.cli.command import run_command
from unlatch.workflows.cli.console import OK, print_line
from unlatch.workflows.viewing.report.write import ReportCfg, write_report


def main(argv: Sequence[str]) -> int:
    """Runs the command; returns its exit code."""
    return run_command(argv, _run)


def _run(arguments: list[str]) -> int:
    paths, pairs = split_some_paths("report", arguments)
    started = time.perf_counter()
    page = write_report(paths, read_pairs(ReportCfg, pairs))
    took = f"{page.stat().st_size / 1e6:.1f} MB, {time.perf_counter() - started:.1f} s"
    print_line(f"report: {page} ({took}), its numbers beside it in {page.with_suffix('.json').name}")
    return OK
