"""`unlatch phases`: draws one picture of a recorded episode, phase by phase."""

from __future__ import annotations

import time
from collections.abc import Sequence

from unlatch.simcore.recording.data_set.data_set import DataSet
from unlatch.workflows.cli.arguments import read_pairs, split_paths
from unlatch.workflows.cli.command import run_command
from unlatch.workflows.cli.console import OK, print_line
from unlatch.workflows.viewing.phases import PhasesCfg, draw_phases

HELP = """usage: unlatch phases DATA [key=value ...]

Draws what happened in one recorded episode: one picture for the end of each phase of each skill, close to the hand and
the part, with the time and how far open the part is. Below, phases and openings are drawn over time. In a failed
episode the moment of the failure is marked, and the title gives the reason. Needs no screen.

  episode=0      episode number
  columns=5      largest number of pictures in a row
  out=FILE.png   default: DATA/phases-<episode>.png
"""


def main(argv: Sequence[str]) -> int:
    """Runs the command; returns its exit code."""
    return run_command(argv, HELP, _run)


def _run(arguments: list[str]) -> int:
    (path,), pairs = split_paths("phases", arguments, count=1)
    started = time.perf_counter()
    file, moments = draw_phases(DataSet.open(path), read_pairs(PhasesCfg, pairs))
    print_line(f"phases: {file} ({moments} moments, {time.perf_counter() - started:.1f} s)")
    return OK
