"""Dataclasses of what a run is, beside the episode: how many, where to, by whom."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from omegaconf import MISSING

from unlatch.configs.schema import EpisodeCfg
from unlatch.simcore.errors import ConfigError
from unlatch.simcore.recording.data_set.shards import MAX_NUMBER
from unlatch.workflows.gym.config import ActionCfg, ObservationCfg, SuccessWhen
from unlatch.workflows.images.render_config import ImagesCfg
from unlatch.workflows.runs.executors.executor import WorkerLimits

_SHARD = re.compile(r"([0-9]{1,9})/([0-9]{1,9})\Z")
MAX_WORKERS = 1024
"""Most workers of one run."""


@dataclass
class ExecutorCfg:
    """Who makes the episodes of a run."""

    name: str = "process"
    """Name in the executor catalog."""
    episode_timeout_s: float | None = 600.0
    """Wall time after which an episode hangs: its worker is replaced [s]; null: never."""
    worker_memory_mb: int | None = None
    """Resident memory beyond which a worker is replaced [MB]; null: any."""
    max_retries: int = 2
    """How often an episode is made again whose worker died or was replaced, before it is kept as `error` or
    `timeout`."""
    recycle_after: int | None = None
    """Episodes after which a worker gives way to a new one; null: it lives as long as the run."""

    def __post_init__(self) -> None:
        for key, low in (
            ("episode_timeout_s", 1.0),
            ("worker_memory_mb", 100),
            ("max_retries", 0),
            ("recycle_after", 1),
        ):
            value = getattr(self, key)
            if value is not None and value < low:
                raise ConfigError(
                    f"executor.{key}={value:g} is out of range. Expected {low:g} or more. Raise it.",
                    key=f"executor.{key}",
                )

    def limits(self) -> WorkerLimits:
        """What an executor is given."""
        return WorkerLimits(self.episode_timeout_s, self.worker_memory_mb, self.max_retries, self.recycle_after)


@dataclass
class LauncherCfg:
    """Who runs the jobs of a multirun."""

    name: str = "serial"
    """Name in the catalog of launchers."""
    jobs_at_once: int | None = None
    """Jobs at a time, for a launcher that knows no such limit: the next ones begin when all of these have ended."""
    settings: dict[str, Any] = field(default_factory=dict)
    """Settings of Hydra's launcher, by its own names; null: its default."""

    def __post_init__(self) -> None:
        if self.jobs_at_once is not None and self.jobs_at_once < 1:
            raise ConfigError(
                f"launcher.jobs_at_once={self.jobs_at_once} is out of range. Expected 1 or more.",
                key="launcher.jobs_at_once",
            )


@dataclass
class RunCfg(EpisodeCfg):
    """Many episodes into one data set; what is added here says nothing about an episode and may differ on resume."""

    episodes: int = 20
    """Episodes 0 to episodes-1 are made."""
    only: list[int] | None = None
    """Make just these episode numbers, in place of the first `episodes`."""
    shard: str | None = None
    """`3/16`: of the episodes asked for, every sixteenth, from the third on; other shards make the others, on any host,
    into the same folder."""
    workers: int | None = None
    """Processes that make episodes; null: one a CPU core."""
    out: str | None = None
    """Folder of the data set; null: data/<task>-<robot>-s<seed>."""
    pictures: int = 4
    """Episodes on the picture that is drawn at the end; 0 draws none."""
    executor: ExecutorCfg = field(default_factory=ExecutorCfg)
    """Who makes the episodes."""
    launcher: LauncherCfg = field(default_factory=LauncherCfg)
    """Who runs the jobs of a multirun."""
    sweep_dir: str | None = None
    """Folder that the data sets of a multirun lie below, each named after what tells it from the others."""
    sweep: dict[str, Any] = field(default_factory=dict)
    """Of an experiment that is a multirun: lists of values by key, swept over with -m as `key=a,b` would be."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 1 <= self.episodes <= MAX_NUMBER:
            raise ConfigError(
                f"episodes={self.episodes} is out of range. Expected 1 to {MAX_NUMBER}. Ask for at least one.",
                key="episodes",
            )
        if self.workers is not None and not 1 <= self.workers <= MAX_WORKERS:
            raise ConfigError(f"workers={self.workers} is out of range. Expected 1 to {MAX_WORKERS}.", key="workers")
        if self.out is not None and not self.out.strip():
            raise ConfigError("out='' is empty. Expected a folder, or null for data/<task>-<robot>-s<seed>.", key="out")
        if not 0 <= self.pictures <= 20:
            raise ConfigError(f"pictures={self.pictures} is out of range. Expected 0 to 20.", key="pictures")
        if self.only is not None:
            self._check_only(self.only)
        if self.shard is not None:
            self._check_shard(self.shard)

    def _check_only(self, only: list[int]) -> None:
        if not only:
            raise ConfigError("only=[] is empty. Expected episode numbers, or null for all. Change it.", key="only")
        for number in only:
            if not 0 <= number <= MAX_NUMBER:
                raise ConfigError(f"only={only} holds {number}. Expected numbers from 0 to {MAX_NUMBER}.", key="only")

    def _check_shard(self, shard: str) -> None:
        match = _SHARD.match(shard)
        if match is None or not 1 <= int(match[1]) <= int(match[2]):
            raise ConfigError(
                f"shard={shard} is no share. Expected which of how many, as 1/16 to 16/16. Change it.", key="shard"
            )
        if not self.numbers():
            raise ConfigError(
                f"shard={shard} leaves none of the episodes asked for. Expected at most as many shards as episodes. "
                "Ask for more episodes, or for fewer shards.",
                key="shard",
            )

    def numbers(self) -> list[int]:
        """The episode numbers asked for, sorted; of a shard, its share."""
        asked = sorted(set(self.only)) if self.only is not None else list(range(self.most_episodes))
        if self.shard is None:
            return asked
        which, of = (int(word) for word in self.shard.split("/"))
        return asked[which - 1 :: of]

    @property
    def most_episodes(self) -> int:
        """So many episodes are made at most."""
        return self.episodes


@dataclass
class CollectCfg(RunCfg):
    """`unlatch collect`."""

    successes: int | None = None
    """Episodes are made until so many have succeeded, in place of the first `episodes`; null: no such end."""
    attempts: int | None = None
    """With `successes`: so many episodes are made at most; null: four times as many."""
    give_up_after: int | None = 50
    """A run stops whose first so many attempts all failed; null: it goes on."""
    render: bool = False
    """Whether the successes are rendered at the end."""
    images: ImagesCfg = field(default_factory=ImagesCfg)
    """With `render`: by which cameras, into which render set."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for key in ("successes", "attempts", "give_up_after"):
            value = getattr(self, key)
            if value is not None and not 1 <= value <= MAX_NUMBER:
                raise ConfigError(f"{key}={value} is out of range. Expected 1 to {MAX_NUMBER}, or null.", key=key)
        if self.successes is None:
            if self.attempts is not None:
                raise ConfigError(
                    f"attempts={self.attempts} says nothing without successes. Set successes, or use episodes.",
                    key="attempts",
                )
            return
        for key in ("only", "shard"):
            if getattr(self, key) is not None:
                raise ConfigError(
                    f"successes={self.successes} goes on until enough have succeeded, {key}={getattr(self, key)} names "
                    "which episodes are made. Remove one of them.",
                    key="successes",
                )
        if self.attempts is not None and self.attempts < self.successes:
            raise ConfigError(
                f"attempts={self.attempts} is less than successes={self.successes}. Raise it, or remove it.",
                key="attempts",
            )

    @property
    def most_episodes(self) -> int:
        """So many episodes are made at most."""
        if self.successes is None:
            return self.episodes
        return min(self.attempts or 4 * self.successes, MAX_NUMBER)


@dataclass
class EvaluateCfg(RunCfg):
    """`unlatch evaluate`."""

    policy: str = MISSING
    """`module:name`, `tcp://host:port`, `recorded:DATA` or `random`."""
    policy_timeout_s: float = 60.0
    """How long a policy behind `tcp://` may take for one answer [s]."""
    observation: ObservationCfg = field(default_factory=ObservationCfg)
    """What the policy sees."""
    action: ActionCfg = field(default_factory=ActionCfg)
    """What it says."""
    success_when: SuccessWhen | None = None
    """`held`: the goal has held for `task.settle_s`; `still`: and no target of an arm has changed in that time, as in a
    demonstration; null: `still` of recorded actions, else `held`."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0.01 <= self.policy_timeout_s <= 86400.0:
            raise ConfigError(
                f"policy_timeout_s={self.policy_timeout_s} is out of range. Expected 0.01 to 86400.",
                key="policy_timeout_s",
            )


@dataclass
class EnvCfg(EpisodeCfg):
    """A Gymnasium environment."""

    observation: ObservationCfg = field(default_factory=ObservationCfg)
    """What a policy sees."""
    action: ActionCfg = field(default_factory=ActionCfg)
    """What it says."""
    success_when: SuccessWhen = SuccessWhen.held
    """`held`: the goal has held for `task.settle_s`; `still`: and no target of an arm has changed in that time, as in a
    demonstration."""


@dataclass
class PlanCfg(EpisodeCfg):
    """`unlatch plan`."""

    episode: int = 0
    """Episode number."""
    picture: bool = False
    """Whether to draw keyframes and path."""
    out: str | None = None
    """File of the picture; null: plan-<task>-s<seed>-<episode>.png in the current directory."""

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_episode_number(self.episode)


@dataclass
class PreviewCfg(EpisodeCfg):
    """`unlatch preview`."""

    episode: int = 0
    """Episode number."""
    out: str | None = None
    """File of the picture; null: preview-<task>-s<seed>-<episode>.png in the current directory."""
    renderer: str = "tiny"
    """Name in the catalog of renderers."""

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_episode_number(self.episode)


def _check_episode_number(number: int) -> None:
    if not 0 <= number <= MAX_NUMBER:
        raise ConfigError(f"episode={number} is out of range. Expected 0 to {MAX_NUMBER}.", key="episode")
