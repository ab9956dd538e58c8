"""`unlatch report`: writes a summary page of the results of data sets."""

from __future__ import annotations

import time

from unlatch.workflows.cli.arguments import read_pairs, split_some_paths
from unlatch.workflows.cli.command import command
from unlatch.workflows.cli.console import OK, print_line
from unlatch.workflows.viewing.report.write import ReportCfg, write_report


@command
def main(arguments: list[str]) -> int:
    """Runs the command; returns its exit code."""
    paths, pairs = split_some_paths("report", arguments)
    started = time.perf_counter()
    page = write_report(paths, read_pairs(ReportCfg, pairs))
    took = f"{page.stat().st_size / 1e6:.1f} MB, {time.perf_counter() - started:.1f} s"
    print_line(f"report: {page} ({took}), its numbers beside it in {page.with_suffix('.json').name}")
    return OK
