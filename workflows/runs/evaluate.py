"""Evaluates a policy: it acts in the episodes of a task and is judged by the rules of demonstrations."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import cloudpickle

from unlatch.configs.dataclass_reader import read_dataclass
from unlatch.configs.schema import EpisodeCfg
from unlatch.simcore.errors import ConfigError
from unlatch.simcore.recording.data_set import DataSet
from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.simcore.recording.json_values import plain
from unlatch.workflows.gym.config import ActionCfg, ObservationCfg, SuccessWhen
from unlatch.workflows.policies.catalog import (
    Policy,
    PolicySpaces,
    load_policy,
    parse_spec,
)
from unlatch.workflows.policies.lerobot import PREFIX as CHECKPOINT
from unlatch.workflows.policies.lerobot import frames_between_predictions
from unlatch.workflows.policies.processes import (
    InferenceProcess,
    InferenceStatistics,
    is_batched,
    open_inference_process,
)
from unlatch.workflows.policies.takeover import let_act
from unlatch.workflows.runs.executors import make_executor
from unlatch.workflows.runs.loading import config_as
from unlatch.workflows.runs.progress import OnProgress
from unlatch.workflows.runs.run import RunDisplay, RunRequest, output_folder, run_episodes
from unlatch.workflows.runs.runner import RecordingJob
from unlatch.workflows.runs.schema import EnvCfg, EvaluateCfg
from unlatch.workflows.runs.statistics import RunStatistics, SuccessMeasure

if TYPE_CHECKING:
    from unlatch.workflows.gym.env import UnlatchEnv

T = TypeVar("T")

PREFIX = "eval-"
"""Beginning of the default folder's name."""


@dataclass(frozen=True, kw_only=True)
class EvaluationResult(RunStatistics):
    """How often a policy succeeded, by two measures of success, how far it led the parts, and its attempts.

    `goal` counts the attempts in which the part is where it should be, and stays there, whatever rules were broken;
    `clean` those of them without a broken rule: the success of a demonstration.
    """

    data: DataSet
    """Every attempt, recorded like a demonstration."""
    clean: SuccessMeasure
    inference: InferenceStatistics | None = None
    """How a batched policy was asked; None: each worker has its own policy."""

    @property
    def success_rate(self) -> float:
        """Share of attempts that succeeded, 0 to 1."""
        return self.clean.rate

    @property
    def failures(self) -> dict[str, int]:
        """Number of failures by failure code, the most frequent first."""
        return self.codes

    def __str__(self) -> str:
        goal = "" if self.goal is None else f"goal {self.goal}; "
        share = "" if self.share is None else f"share {self.share}; "
        return f"{goal}clean {self.clean}; {share}failures: {self.codes_text()}"


def evaluate(
    cfg: EpisodeCfg,
    policy: Any,
    *,
    episodes: int | None = None,
    out: str | Path | None = None,
    workers: int | None = None,
    observation: ObservationCfg | Mapping[str, Any] | None = None,
    action: ActionCfg | Mapping[str, Any] | None = None,
    success_when: SuccessWhen | str | None = None,
    end_at_violation: bool | None = None,
    batch: bool | None = None,
    progress: OnProgress = None,
) -> EvaluationResult:
    """Lets a policy act in the episodes of a task, and counts its successes by the rules of demonstrations.

    Every attempt is recorded. Attempts that exist already are not made again. Needs the extra `gym`.

    Args:
        cfg: The configuration, see `load`.
        policy: The policy, sent to the workers by value (cloudpickle), so it may be defined in the calling script:
            - a function of the observation (a dictionary of arrays by record key) that returns the action, of the shape
              of `action_space`, or None to end the episode;
            - an object with `act(observation)` and optionally `reset(observation, info)` and `close()`;
            - an object with `act_batch(observations, slots)` and optionally `reset(slot, observation, info)` and
              `close()`: one process asks it for the actions of all workers;
            - a class of such objects, called with `observation_space` and `action_space`;
            - a spec as on the command line: `module:name`, `lerobot:PATH`, `openpi://host:port`, `tcp://host:port`,
              `recorded:DATA`, `planner`, `never_looks`, `random`.
        episodes: Episodes 0 to `episodes - 1` are made; None: as configured, 20 by default.
        out: Folder of the data set. None: as configured, or `data/eval-<task>-<robot>-s<seed>`; if the policy is an
            object and this folder exists, a number is appended to its name. Attempts in a folder given here count and
            are not made again if a policy of the same name made them, even if the object is another one.
        workers: Worker processes; None: as configured, one for each CPU core by default.
        observation: What the policy sees, with the keys of the command line, such as `{"columns": True}`; None: as
            configured.
        action: What the numbers of an action mean, such as `{"mode": "joint_delta"}`; None: as configured.
        success_when: `held`: the policy succeeds once the goal has held for `task.settle_s`. `still`: the arms must
            also stand still in that time, as in a demonstration. None: `still` for recorded actions and the planner,
            else `held`.
        end_at_violation: Whether the first forbidden contact, overload or overspeed ends an episode; None: as
            configured, no by default, so that the result has `goal`, `clean` and `share`.
        batch: Whether one process runs the policy for all workers; None: as configured, if it has `act_batch` by
            default.
        progress: True: a live display on stderr. A function: called after each episode with a `Progress`. None:
            nothing is shown.

    Returns:
        Counts of successes and failures, and the data set.

    Raises:
        ConfigError: The policy cannot be found or sent to a worker, or a value is wrong. Nothing is written.
        PluginError: Gymnasium is not installed.
        RecordingError: The folder holds another evaluation, or cannot be written.

    Example:
        >>> def stay(observation):
        ...     return np.append(observation["robots.franka_panda.left.joint_positions"], 0.04)
        >>> result = unlatch.evaluate(unlatch.load("close_drawer"), stay, episodes=4, workers=2)
        >>> result.successes, result.n
        (0, 4)
    """
    run = config_as(
        EvaluateCfg,
        cfg,
        policy=policy if isinstance(policy, str) else describe_policy(policy),
        episodes=episodes,
        out=None if out is None else str(out),
        workers=workers,
        observation=_read_options(ObservationCfg, observation, "observation"),
        action=_read_options(ActionCfg, action, "action"),
        success_when=success_when,
        end_at_violation=end_at_violation,
        batch=batch,
    )
    target = None if isinstance(policy, str) else policy
    if target is not None:
        _check_sendable(target)
        run = run if run.out is not None else replace(run, out=str(_free_folder(run)))
    with serve_policy(run, target) as served:
        request = RunRequest(
            run,
            lambda data_set: EvaluateJob(run, data_set, target if served is None else served.address),
            policy=target,
            prefix=PREFIX,
            identity=identity_of(run),
        )
        result = run_episodes(request, RunDisplay(progress))
    counts = vars(result.statistics())
    return EvaluationResult(
        **{**counts, "clean": counts["clean"] or SuccessMeasure(counts["n"], counts["successes"])},
        data=result.data_set,
        inference=None if served is None else served.statistics,
    )


def _read_options(schema: type[T], options: T | Mapping[str, Any] | None, where: str) -> T | None:
    return read_dataclass(schema, options, where=where) if isinstance(options, Mapping) else options


def describe_policy(policy: Any) -> str:
    """Returns a name for a policy that is an object, for the header of its data set."""
    named = policy if hasattr(policy, "__qualname__") else type(policy)
    return f"object {named.__module__}.{named.__qualname__}"


def _check_sendable(policy: Any) -> None:
    try:
        cloudpickle.dumps(policy)
    except Exception as exc:
        raise ConfigError(
            f"policy={describe_policy(policy)} cannot be sent to a worker: {exc}. Expected an object that can be "
            "pickled. Give a class, which each worker calls, or a spec such as 'module:name'.",
            key="policy",
        ) from exc


def _free_folder(cfg: EvaluateCfg) -> Path:
    """Returns an unused folder: nothing shows whether an earlier evaluation had the same policy object."""
    first = output_folder(cfg, prefix=PREFIX)
    folder, count = first, 1
    while folder.exists():
        count += 1
        folder = first.with_name(f"{first.name}-{count}")
    return folder


@contextmanager
def serve_policy(cfg: EvaluateCfg, policy: Any = None) -> Iterator[InferenceProcess | None]:
    """Starts the process of a batched policy, and ends it on exit; None: each worker makes its own policy.

    `policy` replaces that of the configuration.

    Raises:
        ConfigError: The policy cannot be made.
    """
    chosen = cfg.policy if policy is None else policy
    batched = _is_batched(cfg, chosen)
    with closing(make_env_of(cfg)) as env:
        spaces = PolicySpaces(env.observation_space, env.action_space, cfg.action.mode)
        if not batched:
            load_policy(chosen, env, timeout_s=cfg.policy_timeout_s).close()  # errors come before anything is written
    if not batched:
        yield None
        return
    with open_inference_process(chosen, spaces) as running:
        yield running


def _is_batched(cfg: EvaluateCfg, chosen: Any) -> bool:
    batched = cfg.batch if cfg.batch is not None else is_batched(chosen)
    if batched and isinstance(chosen, str) and parse_spec(chosen)[0] not in ("lerobot", "module"):
        raise ConfigError(
            f"batch=true needs a policy of yours or of LeRobot, got policy={chosen}. Remove batch.", key="batch"
        )
    if batched and not make_executor(cfg.executor.name, workers=cfg.workers, limits=cfg.executor).on_this_host:
        raise ConfigError(
            f"batch=true needs workers on this host, but those of executor={cfg.executor.name} may be elsewhere. Set "
            "batch=false, or serve the policy with policy=tcp://host:port.",
            key="batch",
        )
    return batched


def identity_of(cfg: EvaluateCfg) -> dict[str, Any]:
    """Returns the part of the header that an evaluation adds: its policy, observation, action and `success_when`."""
    values = {"policy": cfg.policy, "observation": plain(_chosen_observation(cfg)), "action": plain(cfg.action)}
    rules = {"success_when": chosen_success_when(cfg).value, "end_at_violation": cfg.end_at_violation}
    return {"evaluate": {**values, **rules}}


def make_env_of(cfg: EvaluateCfg) -> UnlatchEnv:
    """Makes the environment of an evaluation.

    Raises:
        ConfigError: The policy's spec cannot be read, or it names no checkpoint.
    """
    from unlatch.workflows.gym.env import UnlatchEnv

    chosen = {"success_when": chosen_success_when(cfg), "observation": _chosen_observation(cfg)}
    return UnlatchEnv(cfg=config_as(EnvCfg, cfg, **chosen))


def _chosen_observation(cfg: EvaluateCfg) -> ObservationCfg:
    """Returns what the policy of an evaluation sees; by default, a checkpoint gets images when it predicts.

    Raises:
        ConfigError: The policy's spec cannot be read, or it names no checkpoint.
    """
    observation, every = cfg.observation, 1
    if observation.images_every is not None:
        return observation
    if observation.has_images and cfg.policy.startswith(CHECKPOINT):
        kind, address = parse_spec(cfg.policy)
        every = frames_between_predictions(address) if kind == "lerobot" else 1
    return replace(observation, images_every=every)


def chosen_success_when(cfg: EvaluateCfg) -> SuccessWhen:
    """Returns when the policy of an evaluation succeeds; by default, demonstrations are judged as in `unlatch collect`.

    Raises:
        ConfigError: The policy's spec cannot be read.
    """
    if cfg.success_when is not None:
        return cfg.success_when
    return SuccessWhen.still if cfg.policy.startswith("recorded:") or cfg.policy == "planner" else SuccessWhen.held


@dataclass(frozen=True)
class EvaluateJob(RecordingJob):
    """Makes episodes in which a policy acts."""

    cfg: EvaluateCfg
    policy: Any = None
    """The policy, if it is an object; None: that of the configuration."""

    @contextmanager
    def open_episode_source(self) -> Iterator[Callable[[int], EpisodeRecord]]:
        """See `RecordingJob`."""
        chosen = self.cfg.policy if self.policy is None else self.policy
        with closing(make_env_of(self.cfg)) as env:
            env.options = replace(env.options, on_bug=self.options.on_bug, on_state=self.options.on_state)
            with closing(load_policy(chosen, env, timeout_s=self.cfg.policy_timeout_s)) as policy:
                yield partial(run_episode, env, policy)


def run_episode(env: UnlatchEnv, policy: Policy, number: int) -> EpisodeRecord:
    """Lets a policy act in one episode until it is over or the policy returns None; returns the record.

    See `let_act` for errors.
    """
    if not let_act(env, policy, number):
        env.finish()
    return env.record()
