"""`unlatch view`: writes one recorded episode as a file to look at."""

from __future__ import annotations

import time

from unlatch.simcore.recording.data_set.data_set import DataSet
from unlatch.workflows.cli.arguments import read_pairs, split_paths
from unlatch.workflows.cli.command import command
from unlatch.workflows.cli.console import OK, print_line, print_note
from unlatch.workflows.viewing.viewers.view import ViewCfg, write_view


@command
def main(arguments: list[str]) -> int:
    """Runs the command; returns its exit code."""
    (path,), pairs = split_paths("view", arguments, count=1)
    started = time.perf_counter()
    file, notices = write_view(DataSet.open(path), read_pairs(ViewCfg, pairs))
    for notice in notices:
        print_note(f"unlatch: {notice}")
    print_line(f"view: {file} ({file.stat().st_size / 1e6:.1f} MB, {time.perf_counter() - started:.1f} s)")
    return OK
