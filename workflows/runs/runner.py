"""Makes episodes of one configuration, one after the other, and writes them into a data set: the job of a worker."""

from __future__ import annotations

import platform
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np

from unlatch.configs.schema import EpisodeCfg
from unlatch.simcore.errors import ConfigError, UnlatchError
from unlatch.simcore.recording.data_set import DataSet
from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.simcore.rng import episode_seed
from unlatch.simcore.sim.collision import BulletCollisionChecker
from unlatch.simcore.sim.world import World
from unlatch.skills.layout_search import LayoutSearchCfg
from unlatch.skills.skill import Skill
from unlatch.workflows.episode.attempt import Attempt
from unlatch.workflows.episode.episode import Episode, EpisodeOptions
from unlatch.workflows.runs.code_versions import CodeVersions
from unlatch.workflows.runs.executors import EpisodeMaker, Outcome
from unlatch.workflows.runs.schema import CollectCfg, RunCfg

Array = np.ndarray

WARM_UP_WORK = 1500
"""Largest work of planning before the first episode; see `planner.work`."""


class EpisodeRunner:
    """Makes episodes of one configuration; a context manager, one in each worker.

    An episode depends only on the configuration and its number: world, checker and skills are reset for each.
    """

    def __init__(self, cfg: EpisodeCfg, options: EpisodeOptions | None = None) -> None:
        """Makes a runner without an open world; its episodes have these options."""
        self.cfg = cfg
        self.options = options or EpisodeOptions()
        self._stack = ExitStack()
        self._world = World(cfg.world)
        self._checker = BulletCollisionChecker()

    def __enter__(self) -> EpisodeRunner:
        self._stack.enter_context(self._world)
        self._stack.enter_context(self._checker)
        return self

    def __exit__(self, *exc: object) -> None:
        self._stack.close()

    def run(self, number: int) -> EpisodeRecord:
        """Makes one episode; returns a record of it even if it fails with a bug.

        Raises:
            ConfigError: The configuration names something that does not exist; no episode can be made.
        """
        attempt = Attempt(self.episode(number))
        try:
            attempt.run()
        except ConfigError:
            raise
        except Exception as exc:  # noqa: BLE001 - the one such place: a bug or a damaged object ends this episode only
            attempt.episode.fail_with_bug(exc)
        return attempt.episode.record()

    def plan(self, number: int) -> Skill:
        """Plans the first skill of an episode as `run` would, without executing it.

        Returns:
            The skill, which holds its plan or its failure.

        Raises:
            UnlatchError: The layout is invalid.
        """
        return self._plan_first_skill(self.episode(number))

    def _plan_first_skill(self, episode: Episode) -> Skill:
        episode.begin()
        if episode.failure is not None:
            raise UnlatchError(f"{episode.failure.code}: {episode.failure.message}.")
        return Attempt(episode).plan()

    def warm_up(self) -> None:
        """Plans in one layout and drops the plan, so that one-time compilation does not count as planning time."""
        skills = [
            replace(entry, candidates=1, best_of=1) if isinstance(entry, LayoutSearchCfg) else entry
            for entry in self.cfg.skills
        ]
        planner = replace(self.cfg.planner, work=min(self.cfg.planner.work, WARM_UP_WORK))
        cfg = replace(self.cfg, skills=skills, planner=planner)
        with suppress(Exception):  # if episode 0 has an error, its own planning reports it
            self._plan_first_skill(Episode(cfg, 0, self._world, self._checker))

    def episode(self, number: int, options: EpisodeOptions | None = None) -> Episode:
        """Returns an episode in this runner's world that has not begun; it ends when the next one begins.

        `options` replace those of the runner.
        """
        return Episode(self.cfg, number, self._world, self._checker, options or self.options)


def writer_name(worker: str) -> str:
    """Returns a name for a worker's index that no worker on another host has.

    Appending to one file is safe within one host only.
    """
    host = re.sub(r"[^A-Za-z0-9]+", "-", platform.node().partition(".")[0]).strip("-")[:40] or "host"
    return f"{host}-{worker}"


class FollowUp(Protocol):
    """What a worker does with each episode once its record is written, such as drawing images of it."""

    def open_follow_up(self) -> AbstractContextManager[Callable[[EpisodeRecord], None]]:
        """Builds what a worker needs; returns the function that is called with each written record."""
        ...


@dataclass(frozen=True)
class RecordingJob(ABC):
    """Makes episodes and writes them into one data set; see `Job`."""

    cfg: RunCfg
    data_set: DataSet
    code: CodeVersions = field(default=CodeVersions({}), kw_only=True)
    """The code that makes the episodes, noted in those that end as `error`."""
    options: EpisodeOptions = field(default=EpisodeOptions(), kw_only=True)
    """Those of its episodes. They are sent to the workers: only a serial run can have `on_bug`."""
    follow_up: FollowUp | None = field(default=None, kw_only=True)
    """What is done with each written episode; None: nothing."""

    @abstractmethod
    def open_episode_source(self) -> AbstractContextManager[Callable[[int], EpisodeRecord]]:
        """Builds what a worker needs; returns the function that makes the episode of a number."""

    @contextmanager
    def open(self, worker: str) -> Iterator[EpisodeMaker]:
        """See `Job`."""
        with (
            self.open_episode_source() as make_record,
            DataSet.open(self.data_set.path, worker=writer_name(worker)) as data_set,
            nullcontext() if self.follow_up is None else self.follow_up.open_follow_up() as follow_up,
        ):
            data_set.replaceable = self.data_set.replaceable
            data_set.replaces_outcomes = self.data_set.replaces_outcomes

            def make_episode(number: int) -> Outcome:
                record = make_record(number)
                self.code.note_in(record)
                if data_set.write(record) and follow_up is not None:
                    follow_up(record)
                return Outcome(number, record.success, record.code, dict(record.timings_ms))

            yield make_episode

    def record_loss(self, number: int, reason: str, *, code: str = "error") -> Outcome:
        """See `Job`."""
        evidence = {"message": f"Episode {number} was lost: {reason}.", "reason": reason}
        seed = episode_seed(self.cfg.seed, number)
        record = EpisodeRecord(number=number, seed=seed, success=False, code=code, evidence=evidence)
        self.code.note_in(record)
        self.data_set.write(record)
        return Outcome(number, False, code)


@dataclass(frozen=True)
class CollectJob(RecordingJob):
    """Makes demonstrations of one configuration."""

    cfg: CollectCfg

    @contextmanager
    def open_episode_source(self) -> Iterator[Callable[[int], EpisodeRecord]]:
        """See `RecordingJob`."""
        if self.cfg.policy is not None:
            from unlatch.workflows.policies.takeover import open_corrections

            with open_corrections(self.cfg, self.options) as run:
                yield run
            return
        with EpisodeRunner(self.cfg, self.options) as runner:
            runner.warm_up()
            yield runner.run
