"""`unlatch merge`: joins data sets of the same configuration, such as shards from different disks."""

from __future__ import annotations

import time
from dataclasses import dataclass

from unlatch.simcore.errors import count_noun
from unlatch.workflows.cli.arguments import read_pairs
from unlatch.workflows.cli.command import command
from unlatch.workflows.cli.command_line import split_some_paths
from unlatch.workflows.cli.console import FAILED, OK, print_line, print_note
from unlatch.workflows.runs.merge import merge


@dataclass
class MergeCfg:
    """Options of `unlatch merge`."""

    link: bool = False
    """Whether files are linked where the file system can do that."""


@command
def main(arguments: list[str]) -> int:
    """Runs the command; returns its exit code."""
    (out, *sources), pairs = split_some_paths("merge", arguments, least=2)
    cfg = read_pairs(MergeCfg, pairs)
    started = time.perf_counter()
    report = merge(out, sources, link=cfg.link, notify=print_note)
    seconds = time.perf_counter() - started
    print_line(
        f"{count_noun(report.episodes, 'episode')}, {report.taken} taken in {seconds:.1f} s: {report.data_set.path}"
    )
    return FAILED if report.left_out else OK
