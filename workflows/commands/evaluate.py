"""`unlatch evaluate`: measures how often a policy succeeds, by the rules for demonstrations."""

from __future__ import annotations

from collections.abc import Sequence

from unlatch.workflows.cli.arguments import CommandLine, parse_command_line
from unlatch.workflows.cli.command import run_command
from unlatch.workflows.cli.multirun import run_jobs
from unlatch.workflows.cli.run_report import run_and_report
from unlatch.workflows.runs.evaluate import PREFIX, EvaluateJob, check_policy, identity_of
from unlatch.workflows.runs.schema import EvaluateCfg


def main(argv: Sequence[str]) -> int:
    """Runs the command; returns its exit code."""
    return run_command(argv, lambda arguments: _main(parse_command_line(arguments)))


def _main(line: CommandLine) -> int:
    return run_jobs("evaluate", EvaluateCfg, line, evaluate_and_report, prefix=PREFIX)


def evaluate_and_report(cfg: EvaluateCfg) -> int:
    """Makes the missing episodes of an evaluation and prints a summary.

    Args:
        cfg: The evaluation.

    Returns:
        The exit code: 0, 1 if every attempt ended as `error`, or 130 after Ctrl-C.

    Raises:
        SimCoreError: The input is wrong.
    """
    check_policy(cfg)
    return run_and_report(cfg, lambda data_set: EvaluateJob(cfg, data_set), prefix=PREFIX, identity=identity_of(cfg))
