"""`unlatch convert`: converts meshes and URDFs into objects that are ready for simulation."""

from __future__ import annotations

import time
from pathlib import Path

from unlatch.simcore.errors import count_noun
from unlatch.workflows.assets.convert import ConvertCfg, convert_all, find_jobs
from unlatch.workflows.cli.arguments import read_pairs
from unlatch.workflows.cli.command import command
from unlatch.workflows.cli.command_line import split_paths
from unlatch.workflows.cli.console import BAD_INPUT, OK, print_line, print_note


@command
def main(arguments: list[str]) -> int:
    """Runs the command; returns its exit code."""
    (path,), pairs = split_paths("convert", arguments, count=1)
    cfg = read_pairs(ConvertCfg, pairs)
    started = time.perf_counter()
    jobs = find_jobs(Path(path), cfg)
    failed = fresh = 0
    for number, outcome in enumerate(convert_all(jobs, workers=cfg.workers), start=1):
        count = f"[{number}/{len(jobs)}] " if len(jobs) > 1 else ""
        if outcome.failed:
            print_note(f"unlatch: {count}{outcome.name}: {' '.join(outcome.message.split())}")
        else:
            print_line(f"{count}{outcome.name}: {outcome.message}")
        for notice in outcome.notices:
            print_note(f"unlatch: {outcome.name}: {notice}")
        failed += outcome.failed
        fresh += outcome.was_converted
    if len(jobs) > 1:
        print_line(
            f"{count_noun(len(jobs), 'object')}: {fresh} converted, {len(jobs) - fresh - failed} up to date, "
            f"{failed} failed; {time.perf_counter() - started:.1f} s"
        )
    return BAD_INPUT if failed else OK
