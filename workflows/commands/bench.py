"""`unlatch bench`: runs the benchmark of success rates quoted in the README."""

from __future__ import annotations

from unlatch.simcore.errors import ConfigError, close_matches
from unlatch.workflows.cli.arguments import read_pairs
from unlatch.workflows.cli.command import command
from unlatch.workflows.cli.console import OK, print_line, result_console
from unlatch.workflows.commands.collect import collect_and_report
from unlatch.workflows.runs.success_bench import SuccessBenchCfg, bench_runs, cost_table, measure, success_table

BENCHES = ("success",)
"""The benchmarks."""


@command
def main(arguments: list[str]) -> int:
    """Runs the command; returns its exit code."""
    name = arguments[0] if arguments else ""
    if name not in BENCHES:
        raise ConfigError(
            f"bench '{name}' is unknown.{close_matches(name, BENCHES)} Expected one of: {', '.join(BENCHES)}."
        )
    results = []
    for name, cfg in bench_runs(read_pairs(SuccessBenchCfg, arguments[1:])):
        print_line(f"== {name}")
        code = collect_and_report(cfg)
        if code != OK:
            return code
        results.append(measure(name, cfg))
    for table in (success_table(results), cost_table(results)):
        result_console().print(table)
    return OK
