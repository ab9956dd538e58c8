"""`unlatch evaluate`: measures how often a policy succeeds, by the rules for demonstrations."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from unlatch.workflows.cli.arguments import FLAGS, CommandLine, parse_command_line
from unlatch.workflows.cli.command import run_command
from unlatch.workflows.cli.console import banner_hidden
from unlatch.workflows.runs.executors.executor import EpisodeMaker, Outcome
from unlatch.workflows.runs.run import keep_lost, make_data_set, run_jobs, writer_name

if TYPE_CHECKING:
    from unlatch.simcore.recording.data_set.data_set import DataSet
    from unlatch.workflows.gym.config import SuccessWhen
    from unlatch.workflows.gym.env import UnlatchEnv
    from unlatch.workflows.policies.policy import Policy
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

_PREFIX = "eval-"


def main(argv: Sequence[str]) -> int:
    """Runs the command; returns its exit code."""
    return run_command(argv, HELP, lambda arguments: _main(parse_command_line(arguments)))


def _main(line: CommandLine) -> int:
    from unlatch.workflows.runs.schema import EvaluateCfg

    return run_jobs("evaluate", EvaluateCfg, line, evaluate, prefix=_PREFIX)


def evaluate(cfg: EvaluateCfg) -> int:
    """Makes the missing episodes of an evaluation and says what came of it.

    Args:
        cfg: The evaluation.

    Returns:
        The exit code: 0, or 130 after Ctrl-C.

    Raises:
        SimCoreError: The input is at fault.
    """
    from unlatch.simcore.recording.json_values import plain

    with banner_hidden():
        from unlatch.workflows.policies.catalog import load_policy

    with closing(make_env(cfg)) as env, closing(load_policy(cfg.policy, env, timeout_s=cfg.policy_timeout_s)):
        pass  # a policy that is not there is a mistake in the input: nothing is written
    of = {"evaluate": {key: plain(getattr(cfg, key)) for key in ("policy", "observation", "action")}}
    of["evaluate"]["success_when"] = success_when(cfg).value
    return make_data_set(cfg, lambda data_set: EvaluateJob(cfg, data_set), prefix=_PREFIX, of=of)


def make_env(cfg: EvaluateCfg) -> UnlatchEnv:
    """The environment of an evaluation.

    Args:
        cfg: The evaluation.
    """
    with banner_hidden():
        from unlatch.workflows.gym.env import UnlatchEnv
    from unlatch.workflows.runs.schema import EnvCfg

    values = {item.name: getattr(cfg, item.name) for item in fields(EnvCfg)}
    return UnlatchEnv(cfg=EnvCfg(**{**values, "success_when": success_when(cfg)}))


def success_when(cfg: EvaluateCfg) -> SuccessWhen:
    """When the policy of an evaluation has succeeded: recorded actions as they were recorded, unless told otherwise.

    Args:
        cfg: The evaluation.

    Raises:
        ConfigError: The policy cannot be read.
    """
    from unlatch.workflows.gym.config import SuccessWhen
    from unlatch.workflows.policies.catalog import check_spec

    default = SuccessWhen.still if check_spec(cfg.policy)[0] == "recorded" else SuccessWhen.held
    return cfg.success_when or default


@dataclass(frozen=True)
class EvaluateJob:
    """Episodes in which a policy acts, written into one data set; see `Job`."""

    cfg: EvaluateCfg
    """The evaluation."""
    data_set: DataSet
    """Where they go."""

    @contextmanager
    def open(self, worker: str) -> Iterator[EpisodeMaker]:
        """See `Job`."""
        from unlatch.simcore.recording.data_set.data_set import DataSet
        from unlatch.workflows.policies.catalog import load_policy

        cfg = self.cfg
        with (
            closing(make_env(cfg)) as env,
            closing(load_policy(cfg.policy, env, timeout_s=cfg.policy_timeout_s)) as policy,
            DataSet.open(self.data_set.path, worker=writer_name(worker)) as data_set,
        ):

            def make_episode(number: int) -> Outcome:
                run_episode(env, policy, number)
                record = env.record()
                data_set.write(record)
                return Outcome(number, record.success, record.code, dict(record.timings_ms))

            yield make_episode

    def lost(self, number: int, reason: str, *, code: str = "error") -> Outcome:
        """See `Job`."""
        return keep_lost(self.data_set, self.cfg.seed, number, reason, code=code)


def run_episode(env: UnlatchEnv, policy: Policy, number: int) -> None:
    """Lets a policy act in one episode, until the episode is over or the policy has nothing more to do.

    Args:
        env: The environment; it holds the episode afterwards.
        policy: The policy; an exception in it ends the episode with code `error`, not the run.
        number: Episode number.

    Raises:
        SimCoreError: No episode can be made: the configuration, an action's shape or the policy's server is at fault.
    """
    from unlatch.simcore.errors import SimCoreError

    observation, info = env.reset(options={"episode": number})
    over = info["code"] is not None
    start = time.perf_counter()
    try:
        if not over:
            policy.reset(observation, info)
        while not over:
            action = policy.act(observation)
            if action is None:
                break
            observation, _, terminated, truncated, _ = env.step(action)
            over = terminated or truncated
    except SimCoreError:
        raise
    except Exception as exc:  # noqa: BLE001 - somebody else's code: a bug in it ends this episode, not the run
        env.episode.fail_with_bug(exc)
    env.finish()
    env.episode.timings_ms["execute"] += 1e3 * (time.perf_counter() - start)
