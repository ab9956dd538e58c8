"""Dataclasses of what a run is, beside the episode: how many, where to, by whom."""

from __future__ import annotations

from dataclasses import dataclass, field

from omegaconf import MISSING

from configs.schema import EpisodeCfg
from simcore.errors import ConfigError
from simcore.recording.storage import MAX_NUMBER
from workflows.gym.config import ActionCfg, ObservationCfg

MAX_WORKERS = 1024
"""Most workers of one run."""


@dataclass
class ExecutorCfg:
    """Who makes the episodes of a run."""

    name: str = "process"
    """Name in the executor catalog."""


@dataclass
class RunCfg(EpisodeCfg):
    """Many episodes into one data set; what is added here says nothing about an episode and may differ on resume."""

    episodes: int = 20
    """Episodes 0 to episodes-1 are made."""
    only: list[int] | None = None
    """Make just these episode numbers, in place of the first `episodes`."""
    workers: int | None = None
    """Processes that make episodes; null: one a CPU core."""
    out: str | None = None
    """Folder of the data set; null: data/<task>-<robot>-s<seed>."""
    pictures: int = 4
    """Episodes on the picture that is drawn at the end; 0 draws none."""
    executor: ExecutorCfg = field(default_factory=ExecutorCfg)
    """Who makes the episodes."""

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

    def _check_only(self, only: list[int]) -> None:
        if not only:
            raise ConfigError("only=[] is empty. Expected episode numbers, or null for all. Change it.", key="only")
        for number in only:
            if not 0 <= number <= MAX_NUMBER:
                raise ConfigError(f"only={only} holds {number}. Expected numbers from 0 to {MAX_NUMBER}.", key="only")

    def numbers(self) -> list[int]:
        """The episode numbers asked for, sorted."""
        return sorted(set(self.only)) if self.only is not None else list(range(self.episodes))


@dataclass
class CollectCfg(RunCfg):
    """`unlatch collect`."""


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

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_episode_number(self.episode)


def _check_episode_number(number: int) -> None:
    if not 0 <= number <= MAX_NUMBER:
        raise ConfigError(f"episode={number} is out of range. Expected 0 to {MAX_NUMBER}.", key="episode")
