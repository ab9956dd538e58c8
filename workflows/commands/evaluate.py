"""`unlatch evaluate`: measures how often a policy succeeds, by the rules for demonstrations."""

from __future__ import annotations

from functools import partial

from unlatch.workflows.cli.command import run_command
from unlatch.workflows.cli.command_line import parse_command_line
from unlatch.workflows.cli.console import print_line
from unlatch.workflows.cli.multirun import run_jobs
from unlatch.workflows.cli.run_report import run_and_report
from unlatch.workflows.runs.evaluate import PREFIX, EvaluateJob, identity_of, serve_policy
from unlatch.workflows.runs.run import RunRequest
from unlatch.workflows.runs.schema import EvaluateCfg


@run_command
def main(arguments: list[str], debug: bool) -> int:
    """Runs the command; returns its exit code."""
    line = parse_command_line(arguments, command="evaluate")
    words = ("unlatch", "evaluate", *arguments)

    def run(cfg: EvaluateCfg) -> int:
        with serve_policy(cfg) as served:
            job = partial(EvaluateJob, cfg, policy=None if served is None else served.address)
            request = RunRequest(cfg, job, prefix=PREFIX, identity=identity_of(cfg), command=words)
            code = run_and_report(request, debug=debug, pdb=line.pdb)
        if served is not None and served.statistics is not None and served.statistics.batches:
            print_line(f"policy: {served.statistics}")
        return code

    return run_jobs("evaluate", EvaluateCfg, line, run, prefix=PREFIX)
