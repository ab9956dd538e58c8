"""`unlatch phases`: draws one picture of a recorded episode, phase by phase."""

from __future__ import annotations

import time

from unlatch.simcore.recording.data_set.data_set import DataSet
from unlatch.workflows.cli.arguments import read_pairs, split_paths
from unlatch.workflows.cli.command import command
from unlatch.workflows.cli.console import OK, print_line
from unlatch.workflows.viewing.phases import PhasesCfg, draw_phases


@command
def main(arguments: list[str]) -> int:
    """Runs the command; returns its exit code."""
    (path,), pairs = split_paths("phases", arguments, count=1)
    started = time.perf_counter()
    file, moments = draw_phases(DataSet.open(path), read_pairs(PhasesCfg, pairs))
    print_line(f"phases: {file} ({moments} moments, {time.perf_counter() - started:.1f} s)")
    return OK
