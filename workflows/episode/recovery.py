"""An arm that misses its grasp, loses its part or is blocked steps back, and its skill is planned anew."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

from unlatch.simcore.errors import UnlatchError
from unlatch.simcore.recording.success_rules import (
    NO_FAILURES,
    PART_MOVED,
    TAKEN_OVER,
)
from unlatch.simcore.rng import stream
from unlatch.skills.articulation import ArticulationSkill
from unlatch.skills.context import Failure
from unlatch.skills.pick import Pick
from unlatch.skills.place import Place
from unlatch.skills.recovery import RepeatableSkill, StepBack
from unlatch.skills.skill import HoldingSkill, Skill
from unlatch.workflows.episode.episode import Episode
from unlatch.workflows.episode.skill_run import ArmQueue, SkillRun

RECOVERABLE = frozenset({"grasp_missed", "slipped", "motion_blocked", "not_reached"})
"""Failure codes after which a skill may be planned anew. Forbidden contact, overload and overspeed are final."""
DROPPED = frozenset({"slipped"})
"""Failures of `place` after which the object is picked again. After others it may still be in the hand."""

_BRAKE_S = 0.5
"""Longest time in which an arm that a policy moved goes on along its way [s]."""
MAX_ATTEMPTS = 30
"""Most attempts at one skill, of all kinds."""


class Recovery:
    """Decides whether and how the skills of one episode are planned anew."""

    def __init__(self, episode: Episode) -> None:
        self._episode = episode

    def plan_anew(self, queue: ArmQueue, skill: ArticulationSkill, *, concurrent: Sequence[Skill]) -> None:
        """Plans the skill of an arm anew whose part moved after it was planned and before the hand is there."""
        if queue.step_back is None and len(queue.broken) < MAX_ATTEMPTS:
            message = f"'{skill.part.name}' moved by {skill.distance_from_plan():.3f} before the hand was there"
            failure = Failure(PART_MOVED, message, skill.context.time_s)
            _ = self.break_off(queue, failure) or self.plan_from_here(queue, concurrent=concurrent)

    def take_over(self, queue: ArmQueue) -> None:
        """Brakes an arm that a policy moved until now; `keeps_going` then decides how its skill goes on.

        Where the policy has moved its part far enough, the hand lets go and steps back, and that is all. Else, if the
        hand holds the part well, the skill goes on with this grasp. Else a hand that is near something steps back, and
        the skill is planned from there.

        Raises:
            UnlatchError: The skill moves no part.
        """
        run = queue.run
        if run is None or not isinstance(run.skill, ArticulationSkill):
            raise UnlatchError("Only a skill that moves a part can be taken over from a policy.")
        targets = self._episode.frames.recorder.last_actions(
            f"actions.{self._episode.cfg.robot.name}.{run.arm}.joint_targets"
        )
        run.skill.executor.assume_motion(targets[0], frames=run.skill.context.frames(_BRAKE_S))
        queue.step_back = StepBack(run.skill, on_planned_way=False)
        self._start_step_back(queue)

    def keeps_going(self, queue: ArmQueue, *, concurrent: Sequence[Skill]) -> bool:
        """Starts what an arm does next in the same skill; returns False if its skill has ended for good.

        Args:
            queue: The arm; its skill, or its step back, is done.
            concurrent: Planned skills of other arms that run at the same time.
        """
        if queue.run is None or queue.given_up is not None:
            return False
        if queue.step_back is not None:
            if queue.run.is_open and queue.step_back.only_brakes and queue.run.skill.unmet_condition() is not None:
                message = "The planner takes over from the policy"
                taken_over = Failure(TAKEN_OVER, message, queue.run.skill.context.time_s)
                self._episode.judge.break_off_skill(queue.run, taken_over)
                queue.broken.append(queue.run)
                if self._keeps_grasp(queue, concurrent=concurrent):
                    return True
            further = queue.step_back.further()
            if further is not None:
                queue.step_back = further
                if self._start_step_back(queue):
                    return True
            return not queue.run.is_open and self._try_again(queue, concurrent=concurrent)
        failure = self._find_failure(queue)
        if failure is None:
            return False
        return self.break_off(queue, failure) or self._try_again(queue, concurrent=concurrent)

    def _try_again(self, queue: ArmQueue, *, concurrent: Sequence[Skill]) -> bool:
        """Begins the next attempt at a skill that was broken off; what was dropped on its way is first picked again."""
        last = queue.broken[-1]
        if isinstance(last.skill, Place) and (pick := self._pick_before(last)) is not None:
            queue.remaining.insert(0, last.chain_index)
            queue.broken = self._episode.judge.attempts_at(pick)
        return self.plan_from_here(queue, concurrent=concurrent)

    def _pick_before(self, place: SkillRun) -> int | None:
        """Returns the index in the chain of the skill with which the arm picked up what it was to put down."""
        runs = [run for run in self._episode.judge.runs if run.arm == place.arm and run.chain_index < place.chain_index]
        picks = [run for run in runs if isinstance(run.skill, Pick) and run.object_name == place.object_name]
        return picks[-1].chain_index if picks else None

    def break_off(self, queue: ArmQueue, failure: Failure) -> bool:
        """Breaks off the skill of an arm and lets its hand step back; returns False if there is no free way back."""
        run = queue.run
        if run is None or not isinstance(run.skill, RepeatableSkill):
            return False
        run.skill.executor.stop()
        self._episode.judge.break_off_skill(run, failure)
        queue.broken.append(run)
        queue.step_back = StepBack(run.skill)
        return self._start_step_back(queue)

    def _start_step_back(self, queue: ArmQueue) -> bool:
        """Plans and starts the step back of an arm, if it has one; returns False if there is no free way back."""
        step_back = queue.step_back
        if step_back is None or not step_back.plan(stream(self._episode.seed, "planner.back")):
            return False
        step_back.start()
        return True

    def _keeps_grasp(self, queue: ArmQueue, *, concurrent: Sequence[Skill]) -> bool:
        """Goes on with the grasp in which a policy left the part, if there is a plan; `events` says whether it does."""
        episode, last, start = self._episode, queue.broken[-1], time.perf_counter()
        if not isinstance(last.skill, ArticulationSkill) or not last.skill.is_touched:
            return False
        earlier = [run.skill for run in queue.broken]
        found = episode.planner.plan_from_grasp(last.chain_index, earlier=earlier, concurrent=concurrent)
        episode.timings_ms["plan"] += 1e3 * (time.perf_counter() - start)
        frame = episode.frames.frame
        if isinstance(found, str):
            episode.events.append({"event": "grasp_released", "frame": frame, "reason": found})
            return False
        episode.events.append({"event": "grasp_kept", "frame": frame})
        queue.step_back = None
        queue.run = episode.begin_skill(last.chain_index, concurrent=concurrent, earlier=queue.broken)
        queue.run.skill = found
        found.start()
        return True

    def plan_from_here(self, queue: ArmQueue, *, concurrent: Sequence[Skill] = ()) -> bool:
        """Begins the next attempt at a skill that was broken off, planned from where arm and part are now.

        The arm may stand anywhere, and the part too. Where there is no plan, or the part got where it should be without
        the hand, `queue.given_up` says why the attempt before was broken off.
        """
        episode, last, start = self._episode, queue.broken[-1], time.perf_counter()
        queue.step_back = None
        run = queue.run = episode.begin_skill(last.chain_index, concurrent=concurrent, earlier=queue.broken)
        is_displaced = run.skill.unmet_condition() is None
        if not is_displaced:
            earlier = [each.skill for each in queue.broken]
            run.skill, run.refused = episode.planner.plan_again(
                run.chain_index, run.skill, earlier=earlier, concurrent=concurrent
            )
        episode.timings_ms["plan"] += 1e3 * (time.perf_counter() - start)
        if not is_displaced and run.skill.is_feasible() and run.skill.is_ready():
            run.skill.start()
            return True
        reason = f"'{run.thing}' got where it should be without the hand" if is_displaced else str(run.skill.failure)
        before = last.broken_by
        if before is None or before.code in NO_FAILURES:
            message = before.message if before is not None else f"'{run.thing}' was moved"
            if is_displaced:
                message += " and needs it no more. A part must stay where it is let go: raise the friction of its joint"
            before = run.skill.failure or Failure("not_reached", message, run.skill.context.time_s)
        queue.given_up = replace(before, evidence={**before.evidence, "replan": reason})
        return False

    def _find_failure(self, queue: ArmQueue) -> Failure | None:
        """Returns why the skill of an arm ended without success; None if it succeeded or may not be planned anew."""
        run, allowed = queue.run, self._episode.cfg.replan
        spent = sum(each.broken_by is None or each.broken_by.code not in NO_FAILURES for each in queue.broken)
        if run is None or spent >= allowed or not isinstance(run.skill, RepeatableSkill):
            return None
        if isinstance(run.skill, HoldingSkill) or not run.skill.commands:
            return None
        if isinstance(run.skill, Place) and (run.skill.failure is None or self._pick_before(run) is None):
            return None
        unmet = self._episode.judge.unmet_conditions(run) if run.is_open else []
        failure = run.skill.failure or next(iter(unmet), None)
        codes = DROPPED if isinstance(run.skill, Place) else RECOVERABLE
        return failure if failure is not None and failure.code in codes else None
