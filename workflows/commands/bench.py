"""`unlatch bench`: runs the benchmark of success rates quoted in the README."""

from __future__ import annotations

from collections.abc import Sequence

from unlatch.workflows.cli.command import run_command
from unlatch.workflows.cli.console import banner_hidden

HELP = """usage: unlatch bench success [key=value ...]

Runs the benchmark of success rates. The same command again continues an interrupted benchmark.

  success    Prints, for each of the four tasks: the success rate with a 95 % interval, failure codes, how often the
             recomputed verdict agrees, times by stage, and the time of execution compared with a replay of the same
             actions without sensors.
             n=400 workers=null seed=0 out=data/bench-success tasks=[...] real=0 (attempts with each PartNet-Mobility
             category; UNLATCH_PARTNET_DIR names their folder)
"""

BENCHES = ("success",)
"""What can be measured."""


def main(argv: Sequence[str]) -> int:
    """Runs the command; returns its exit code."""
    return run_command(argv, HELP, _main)


def _main(arguments: list[str]) -> int:
    from unlatch.simcore.errors import ConfigError, close_matches

    name = arguments[0] if arguments else ""
    if name not in BENCHES:
        raise ConfigError(
            f"bench '{name}' is unknown.{close_matches(name, BENCHES)} Expected one of: {', '.join(BENCHES)}."
        )
    from unlatch.workflows.cli.arguments import read_pairs

    with banner_hidden():
        from unlatch.workflows.runs.success_bench import SuccessBenchCfg, bench_success

    return bench_success(read_pairs(SuccessBenchCfg, arguments[1:]))
