"""Configuration of runs: how many episodes, where they go, who makes them, and where their page is served."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Annotated, Any

from unlatch.configs.schema import EpisodeCfg
from unlatch.simcore.catalogs import AUTO
from unlatch.simcore.errors import MISSING, ConfigError, count_noun
from unlatch.simcore.ranges import Count, Range, Ranged
from unlatch.simcore.recording.episode_folders import MAX_NUMBER
from unlatch.workflows.gym.config import ActionCfg, ObservationCfg, SuccessWhen
from unlatch.workflows.images.render_config import ImagesCfg
from unlatch.workflows.runs.executors import WorkerLimits

DEFAULT_PORT = 8090
"""Port of the page if none is given."""
LOCAL_HOST = "127.0.0.1"
"""Address that only this computer reaches."""
MAX_PORT = 65535
SERIAL = "serial"
"""Name of no launcher: this process runs the jobs of a multirun."""


_SHARD = re.compile(r"([0-9]{1,9})/([0-9]{1,9})\Z")
MAX_WORKERS = 1024
"""Most workers of one run."""
MAX_EPISODES_OF_RUN = 10_000_000
"""Most episodes of one run; their numbers take about a gigabyte."""


@dataclass
class ExecutorCfg(WorkerLimits):
    """The executor that makes the episodes of a run, with the limits of its workers."""

    name: str = "process"
    """Name in the executor catalog."""
    episode_timeout_s: Annotated[float, Range(1.0)] | None = 600.0
    max_retries: Annotated[int, Range(0)] = 2


def take_shard(items: Sequence[Any], shard: str | None, *, noun: str) -> Sequence[Any]:
    """Returns the share of some items that a text such as `3/16` names: every sixteenth, from the third on; None: all.

    Raises:
        ConfigError: The text cannot be read, or the share is empty.
    """
    if shard is None:
        return items
    match = _SHARD.match(shard)
    found = items[int(match[1]) - 1 :: int(match[2])] if match and 1 <= int(match[1]) <= int(match[2]) else None
    if found:
        return found
    what = "cannot be read" if found is None else f"has no {noun}s: there are {count_noun(len(items), noun)}"
    raise ConfigError(f"shard={shard} {what}. Expected 1/n to n/n, n not above the number of {noun}s.", key="shard")


class Retry(Enum):
    """Which episodes of earlier runs a run makes again."""

    changed = "changed"
    """Those that ended as `error` and whose code has changed since: that of Unlatch, a plugin or the policy."""
    error = "error"
    """Those that ended as `error`."""
    all = "all"
    """Every episode that is asked for, however it ended."""
    never = "never"
    """None."""


@dataclass
class LauncherCfg(Ranged, where="launcher"):
    """The launcher that runs the jobs of a multirun."""

    name: str = SERIAL
    """Name in the catalog of launchers."""
    jobs_at_once: Count | None = None
    """Jobs at a time, for a launcher without such a setting; the next jobs begin when all of these have ended."""
    settings: dict[str, Any] = field(default_factory=dict)
    """Settings of Hydra's launcher by their names in Hydra; null: the launcher's default."""


@dataclass
class RunCfg(EpisodeCfg):
    """A run: many episodes in one data set. The keys added here do not change an episode and may differ on resume."""

    episodes: Annotated[int, Range(1, MAX_NUMBER)] = 20
    """Episodes 0 to episodes-1 are made."""
    only: list[int] | None = None
    """Only these episode numbers are made, instead of the first `episodes`."""
    shard: str | None = None
    """Share of the episodes that this run makes: `3/16` is every sixteenth, from the third on. Runs on other hosts can
    make the other shares in the same folder."""
    retry: Retry = Retry.changed
    """Which episodes of earlier runs are made again: `changed` (those that ended as `error` and whose code, of Unlatch,
    a plugin or the policy, has changed since), `error` (those that ended as `error`), `all` (every one) or `never`."""
    workers: Annotated[int, Range(1, MAX_WORKERS)] | None = None
    """Worker processes; null: one for each CPU core."""
    out: str | None = None
    """Folder of the data set; null: `data/<task>-<robot>-s<seed>`."""
    pictures: Annotated[int, Range(0, 20)] = 4
    """Episodes on the picture that is drawn at the end; 0: no picture."""
    executor: ExecutorCfg = field(default_factory=ExecutorCfg)
    """The executor that makes the episodes."""
    launcher: LauncherCfg = field(default_factory=LauncherCfg)
    """The launcher that runs the jobs of a multirun."""
    sweep_dir: str | None = None
    """Folder for the data sets of a multirun; each is named after the values that differ."""
    sweep: dict[str, Any] = field(default_factory=dict)
    """In an experiment that is a multirun: lists of values by key; -m sweeps over them like `key=a,b`."""
    live: bool = False
    """Whether a page in the browser shows the run while it is made."""
    live_host: str = LOCAL_HOST
    """With `live`: the address at which the page is served; `0.0.0.0`: other computers can open it, too."""
    live_port: Annotated[int, Range(0, MAX_PORT)] | None = DEFAULT_PORT
    """With `live`: the port of the page; if it is taken, the next free one. null: no page is served, and `unlatch
    watch` shows the current episode."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.out is not None and not self.out.strip():
            raise ConfigError("out='' is empty. Expected a folder, or null for data/<task>-<robot>-s<seed>.", key="out")
        if self.only == []:
            raise ConfigError("only=[] is empty. Expected episode numbers, or null for all. Change it.", key="only")
        wrong = [number for number in self.only or () if not 0 <= number <= MAX_NUMBER]
        if wrong:
            raise ConfigError(
                f"only={self.only} holds {wrong[0]}. Expected numbers from 0 to {MAX_NUMBER}.", key="only"
            )
        self._asked()

    def numbers(self) -> list[int]:
        """Returns the episode numbers asked for, sorted; for a shard, its share.

        Raises:
            ConfigError: They are too many for the memory of one run.
        """
        asked = self._asked()
        if len(asked) > MAX_EPISODES_OF_RUN:
            shares = math.ceil(len(asked) / MAX_EPISODES_OF_RUN)
            can_share = self.shard is None and self.most_episodes == self.episodes
            share = (
                "" if not can_share else f", or share them between runs: shard=1/{shares} to shard={shares}/{shares}"
            )
            raise ConfigError(
                f"This run has up to {len(asked):,} episodes. Expected at most {MAX_EPISODES_OF_RUN:,} in one run. "
                f"Ask for fewer{share}.",
                key="episodes",
            )
        return list(asked)

    def _asked(self) -> Sequence[int]:
        asked = range(self.most_episodes) if self.only is None else sorted(set(self.only))
        return take_shard(asked, self.shard, noun="episode")

    @property
    def most_episodes(self) -> int:
        """The most episodes that are made."""
        return self.episodes


@dataclass
class CollectCfg(RunCfg):
    """`unlatch collect`."""

    successes: Annotated[int, Range(1, MAX_NUMBER)] | None = None
    """Number of successes after which the run ends, instead of after `episodes`; null: `episodes` decides."""
    attempts: Annotated[int, Range(1, MAX_NUMBER)] | None = None
    """With `successes`: largest number of episodes that are made; null: four times `successes`."""
    give_up_after: Annotated[int, Range(1, MAX_NUMBER)] | None = 50
    """The run ends if its first attempts all failed; this is their number. null: it goes on."""
    rehearse: bool = True
    """Whether an object that is a file is tried first, and episodes plan from what worked; see `unlatch rehearse`."""
    policy: str | None = None
    """A policy that acts first, as in `unlatch evaluate`; the planner takes over from it. null: the planner alone."""
    takeover: str = "random"
    """With `policy`, when the planner takes over: `random` (a drawn frame of the first 180), `failing` (the policy is
    about to fail), a frame such as `40`, or a range of frames such as `40-90`, of which one is drawn."""
    label_every: Annotated[int, Range(0, 1000)] = 0
    """With `policy`: the planner plans every so many frames from where the policy is, and its targets label the frames
    until its next plan. 0: the policy's own frames have no labels."""
    policy_timeout_s: Annotated[float, Range(0.01, 86400.0)] = 60.0
    """Time limit for one answer of a policy server (`tcp://`) [s]."""
    observation: ObservationCfg = field(default_factory=ObservationCfg)
    """With `policy`: what it sees."""
    action: ActionCfg = field(default_factory=ActionCfg)
    """With `policy`: what the numbers of its actions mean."""
    cameras: list[Any] | None = None
    """Cameras whose images are drawn: short for `images.cameras` with `render`. null: those of `images`."""
    render: bool = False
    """Whether images are drawn of each success, by the worker that made it."""
    images: ImagesCfg = field(default_factory=ImagesCfg)
    """With `render`: cameras, modalities and name of the render set."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.label_every and self.policy is None:
            raise ConfigError(
                f"label_every={self.label_every} has no effect without a policy. Set policy, or remove label_every.",
                key="label_every",
            )
        self._check_images()
        if self.successes is None:
            if self.attempts is not None:
                raise ConfigError(
                    f"attempts={self.attempts} has no effect without successes. Set successes, or use episodes.",
                    key="attempts",
                )
            return
        for key in ("only", "shard"):
            if getattr(self, key) is not None:
                raise ConfigError(
                    f"successes={self.successes} decides how many episodes are made, and {key}={getattr(self, key)} "
                    "decides which ones. Remove one of them.",
                    key="successes",
                )
        if self.attempts is not None and self.attempts < self.successes:
            raise ConfigError(
                f"attempts={self.attempts} is less than successes={self.successes}. Raise it, or remove it.",
                key="attempts",
            )

    def _check_images(self) -> None:
        if self.cameras is not None:
            self.render = True
            if self.images.cameras not in (None, self.cameras):
                raise ConfigError(
                    f"cameras={self.cameras} and images.cameras={self.images.cameras} are both given. Expected one of "
                    "them: they are the same cameras. Remove one.",
                    key="cameras",
                )
            self.images = replace(self.images, cameras=self.cameras)
        if self.images.cameras is not None and not self.render:
            raise ConfigError(
                f"images.cameras={self.images.cameras} has no effect without images. Set render=true, or render later: "
                "unlatch render DATA.",
                key="images.cameras",
            )

    @property
    def most_episodes(self) -> int:
        """The most episodes that are made."""
        if self.successes is None:
            return self.episodes
        return min(self.attempts or 4 * self.successes, MAX_NUMBER)


@dataclass
class EvaluateCfg(RunCfg):
    """`unlatch evaluate`."""

    policy: str = MISSING
    """`module:name`, `lerobot:PATH`, `openpi://host:port`, `tcp://host:port`, `recorded:DATA`, `planner`,
    `never_looks` or `random`."""
    policy_timeout_s: Annotated[float, Range(0.01, 86400.0)] = 60.0
    """Time limit for one answer of a policy server or of the process of a batched policy [s]."""
    batch: bool | None = None
    """Whether one process runs the policy for all workers and gives it their observations in batches, by
    `act_batch(observations, slots)`. null: if the policy has this method. false: each worker has its own policy."""
    observation: ObservationCfg = field(default_factory=ObservationCfg)
    """What the policy sees."""
    action: ActionCfg = field(default_factory=ActionCfg)
    """What the numbers of an action mean."""
    success_when: SuccessWhen | None = None
    """`held`: the goal has held for `task.settle_s`. `still`: in addition, the targets of all arms have not changed in
    that time, as in a demonstration. null: `still` for recorded actions and the planner, else `held`.
    """
    end_at_violation: bool = False
    """Whether the first forbidden contact, overload or overspeed ends an episode. false: it goes on until the goal is
    reached or the time is over, so that one run measures both `goal` and `clean`."""


@dataclass
class EnvCfg(EpisodeCfg):
    """A Gymnasium environment."""

    observation: ObservationCfg = field(default_factory=ObservationCfg)
    """What a policy sees."""
    action: ActionCfg = field(default_factory=ActionCfg)
    """What the numbers of an action mean."""
    success_when: SuccessWhen = SuccessWhen.held
    """`held`: the goal has held for `task.settle_s`. `still`: in addition, the targets of all arms have not changed in
    that time, as in a demonstration.
    """
    end_at_violation: bool = True
    """Whether the first forbidden contact, overload or overspeed ends an episode. false: it goes on until the goal is
    reached or the time is over."""


@dataclass
class OneEpisodeCfg(EpisodeCfg):
    """A command about one episode."""

    episode: Annotated[int, Range(0, MAX_NUMBER)] = 0
    """Episode number."""


@dataclass
class PlanCfg(OneEpisodeCfg):
    """`unlatch plan`."""

    picture: bool = False
    """Whether keyframes and path are drawn."""
    out: str | None = None
    """The picture's file; null: `plan-<task>-s<seed>-<episode>.png` in the current directory."""


@dataclass
class PreviewCfg(OneEpisodeCfg):
    """`unlatch preview`."""

    out: str | None = None
    """The picture's file; null: `preview-<task>-s<seed>-<episode>.png` in the current directory."""
    renderer: str = AUTO
    """Name in the catalog of renderers, or `auto`."""
