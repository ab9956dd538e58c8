"""`unlatch evaluate`: measures how often a policy succeeds, by the rules for demonstrations."""

from __future__ import annotations

from collections.abc import Sequence

from unlatch.workflows.cli.arguments import FLAGS, CommandLine, parse_command_line
from unlatch.workflows.cli.command import run_command
from unlatch.workflows.cli.multirun import run_jobs
from unlatch.workflows.cli.run_report import run_and_report
from unlatch.workflows.runs.evaluate import PREFIX, EvaluateJob, check_policy, identity_of
from unlatch.workflows.runs.schema import EvaluateCfg

HELP = f"""usage: unlatch evaluate task=TASK policy=POLICY [key=value ...]

Runs a policy in the episodes of a task, and judges it by the rules of `unlatch collect`: the same scenes, contact
checks, success and failure codes. Writes every attempt into a new data set. Needs the extra `gym`.

  policy=module:name      a function of the observation, or a class with act(observation); in this folder or installed
  policy=tcp://host:port  a server with a Python of its own, such as examples/policy_server.py
  policy=recorded:DATA    the actions of a data set
  policy=random           uniform over the action space
  observation.keys=[...]  observed record keys; default: robots.*, objects.*.root_*, parts.*, keypoints.*,
                          sensors.*
  action.mode=...         joint_position (as recorded), joint_delta or ee_delta
  success_when=still      an episode succeeds only when the arms also stand still; default: held
  episodes=20 seed=0      episodes 0 to 19 of the run with this seed
  workers=2               processes; each has its own policy or connection
  out=DIR                 default: data/eval-<task>-<robot>-s<seed>

{FLAGS}"""


def main(argv: Sequence[str]) -> int:
    """Runs the command; returns its exit code."""
    return run_command(argv, HELP, lambda arguments: _main(parse_command_line(arguments)))


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
