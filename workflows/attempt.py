"""A demonstration: skills plan and move the arms through one episode."""

from __future__ import annotations

import time

from simcore.errors import SimCoreError
from simcore.recording.episode import EpisodeRecord
from skills.command import Phase
from skills.failure import Failure, earliest
from skills.skill import Skill
from workflows.episode import Episode
from workflows.ways import first_planned


class Attempt:
    """One demonstration in the making: `run`, then `record`."""

    def __init__(self, episode: Episode) -> None:
        """Takes an episode that has not begun.

        Args:
            episode: The episode.
        """
        self.episode = episode

    def run(self) -> None:
        """The whole episode: every skill of the chain, then settling."""
        episode = self.episode
        episode.begin()
        failure = episode.failure
        while failure is None and not episode.judge.over and len(episode.judge.stages) < len(episode.cfg.skills):
            failure = self._run_skill(len(episode.judge.stages))
        if failure is None and not episode.judge.over:
            failure = self._settle()
        episode.conclude(failure)

    def plan(self, index: int = 0) -> Skill:
        """Makes the skill of an index, begins its stage and plans; the skill holds its plan or its failure."""
        episode = self.episode
        start = time.perf_counter()
        made = episode.begin_stage(index)
        stage, index = episode.judge.stages[-1], len(episode.judge.stages) - 1
        stage.skill, stage.refused = skill, _ = first_planned(episode, index, episode.streams["planner"], made=made)
        episode.timings_ms["plan"] += 1e3 * (time.perf_counter() - start)
        return skill

    def _run_skill(self, index: int) -> Failure | None:
        """One skill, from its plan to its end; what went wrong beside the judge's rules."""
        episode, judge = self.episode, self.episode.judge
        self._skill = skill = self.plan(index)
        if skill.is_feasible() and skill.is_ready():
            start = time.perf_counter()
            skill.start()
            while not (skill.is_done() or judge.over):
                phase = skill.phase
                episode.advance({skill.context.arm.name: skill.next_action()}, skill=skill)
                skill.update()
                episode.keep(phase=phase, command_index=skill.executor.index)
            episode.timings_ms["execute"] += 1e3 * (time.perf_counter() - start)
        elif skill.failure is None:
            skill.fail("plan_infeasible", f"Skill '{skill.cfg.name}' made no commands and gave no reason")
        if not (judge.over or skill.is_success()) and skill.failure is None and skill.shortfall() is None:
            skill.fail("not_reached", f"Skill '{skill.cfg.name}' says that it did not succeed")
        if judge.over:
            return skill.failure
        judge.end_stage(broken_off=skill.failure is not None)
        return skill.failure

    def _settle(self) -> Failure | None:
        """Stands still until the judge is content, for `settle_s` at most; what kept the scene from settling."""
        episode, judge = self.episode, self.episode.judge
        start = time.perf_counter()
        frame_start = episode.frame
        for _ in range(judge.settle_frames):
            if judge.over:
                break
            episode.advance(episode.standing(), skill=self._skill)
            episode.keep(phase=Phase.settle, command_index=self._skill.executor.index)
        episode.timings_ms["execute"] += 1e3 * (time.perf_counter() - start)
        if judge.success:
            return None
        episode.settle = judge.settle_entry(frame_start, episode.frame)
        return earliest(judge.not_settled(frame_start))

    def record(self) -> EpisodeRecord:
        """The record of what happened so far."""
        return self.episode.record()


def planned_skill(episode: Episode) -> Skill:
    """Begins an episode and plans its first skill as a demonstration would, without executing it.

    Raises:
        SimCoreError: The layout is invalid.
    """
    episode.begin()
    if episode.failure is not None:
        raise SimCoreError(f"{episode.failure.code}: {episode.failure.message}.")
    return Attempt(episode).plan()
