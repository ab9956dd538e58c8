"""A demonstration: skills plan their motions and move the arms through one episode."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING

import numpy as np

from unlatch.robots.arm_control import ArmAction
from unlatch.simcore.errors import UnlatchError
from unlatch.simcore.recording.success_rules import MAX_SETTLE_CHANGE_M, MAX_SETTLE_CHANGE_RAD
from unlatch.simcore.rng import stream
from unlatch.skills.articulation import ArticulationSkill
from unlatch.skills.catalog import SKILLS
from unlatch.skills.commands import JointMotion, ManipCommand, ManipKind, Phase
from unlatch.skills.config import StageSequences, stages_of
from unlatch.skills.context import Failure, earliest
from unlatch.skills.skill import HoldingSkill, Skill
from unlatch.solver.motion import is_timed_motion_clear
from unlatch.solver.plan import PlanBudget
from unlatch.solver.timing import join_motions
from unlatch.workflows.episode.chain_planner import PlannedSkill
from unlatch.workflows.episode.episode import Episode
from unlatch.workflows.episode.frame_loop import ArmStatus
from unlatch.workflows.episode.skill_run import ArmQueue, SkillRun

if TYPE_CHECKING:
    from unlatch.skills.recovery import Disturbance, Nudge
    from unlatch.workflows.episode.recovery import Recovery

Array = np.ndarray

_LEAST_CHANGE_M = 0.005
"""Change of the gripper's opening below which its fingers are taken to be where they will be [m]."""
_FLOW_S = 0.35
"""Longest time before the end of a step back from which the arm may go on to the next skill [s]."""


class Attempt:
    """One demonstration: `run` makes it, `episode` records it."""

    def __init__(self, episode: Episode) -> None:
        self.episode = episode
        self._disturbances: dict[str, Disturbance] = {}
        """By arm; made on first use."""
        self._nudges: dict[tuple[str, str], Nudge] = {}
        """By object and joint."""
        self._last_rows: Array | None = None
        """(k, n) joints that are left of the last step back, while the next skill is planned from its end [rad]."""

    def run(self) -> None:
        """Runs the whole episode: every stage of the chain, then settling."""
        self.episode.begin()
        self._run_to_end(stages_of(self.episode.cfg.skills), self.episode.failure)

    def _run_to_end(self, stages: Sequence[StageSequences], failure: Failure | None) -> None:
        """Runs stages and lets the scene settle, unless the episode has failed."""
        judge = self.episode.judge
        for sequences in stages:
            if failure is None and not judge.over:
                failure = self._run_stage(sequences)
        if failure is None and not judge.over:
            failure = self._settle()
        self.episode.conclude(failure)

    def run_from_here(self) -> None:
        """Takes over an episode that a policy has begun, and runs it to its end.

        Raises:
            UnlatchError: No skill is under way, or several arms act at the same time.
        """
        stages = stages_of(self.episode.cfg.skills)
        runs = [run for run in self.episode.judge.current if run.is_open]
        if len(runs) != 1 or len(stages[runs[0].stage]) != 1:
            raise UnlatchError(f"{len(runs)} skills are under way. A planner takes over where one arm acts.")
        (sequence,), index = stages[runs[0].stage], runs[0].chain_index
        queue = ArmQueue(sequence[sequence.index(index) + 1 :], run=runs[0])
        self._recovery.take_over(queue)
        with self._timing("execute"):
            failure = self._move_arms([queue], [queue], [])
        self._run_to_end(stages[runs[0].stage + 1 :], failure)

    @cached_property
    def _recovery(self) -> Recovery:
        """Plans skills anew after they were broken off; an episode in which nothing fails needs none."""
        from unlatch.workflows.episode.recovery import Recovery

        return Recovery(self.episode)

    def _plan_moved_part_anew(self, queue: ArmQueue, moving: Sequence[ArmQueue]) -> None:
        """Plans the skill of an arm anew if its part moved after it was planned and before the hand is there."""
        watches, run = self.episode.cfg.replan > 0 or self.episode.may_push, queue.run
        if not watches or run is None or not run.is_open or not isinstance(run.skill, ArticulationSkill):
            return
        is_slider = run.skill.object.body.joint(run.skill.part.joint).prismatic
        if run.skill.distance_from_plan() > (MAX_SETTLE_CHANGE_M if is_slider else MAX_SETTLE_CHANGE_RAD):
            self._recovery.plan_anew(queue, run.skill, concurrent=_skills_of_others(queue, moving))

    def _keeps_going(self, queue: ArmQueue, moving: Sequence[ArmQueue]) -> bool:
        """Starts what an arm whose skill is done does next in the same skill; False: it has ended for good."""
        is_plain = queue.step_back is None and not self._misses(queue)
        return not is_plain and self._recovery.keeps_going(queue, concurrent=_skills_of_others(queue, moving))

    def _misses(self, queue: ArmQueue) -> bool:
        """Whether the skill of an arm ended without success."""
        run = queue.run
        return run is not None and (
            run.skill.failure is not None or (run.is_open and bool(self.episode.judge.unmet_conditions(run)))
        )

    def plan(self, index: int = 0) -> Skill:
        """Begins and plans a skill; returns it with its plan or its failure.

        A skill that moves nothing ends at once, and the next one is planned.
        """
        return self.plan_stage(index)[0]

    def plan_stage(self, index: int = 0) -> list[Skill]:
        """Begins and plans all skills that begin together with the first skill of a stage; see `plan`."""
        stages = stages_of(self.episode.cfg.skills)
        sequences = next(each for each in stages if any(index in sequence for sequence in each))
        queues = self._queues_that_begin([ArmQueue(list(sequence)) for sequence in sequences])
        self._begin_skills(queues, [])
        skills = [queue.skill for queue in queues]
        return skills if all(skill.executes for skill in skills) else self.plan_stage(index + 1)

    def _begin_skills(self, queues: Sequence[ArmQueue], concurrent: Sequence[Skill]) -> None:
        """Begins the next skill of every arm and plans it against the motions of the others."""
        episode, rows = self.episode, self._last_rows
        (arm,) = episode.scene.robot.arms.values() if rows is not None else (None,)
        start = nullcontext() if arm is None or rows is None else arm.planned_from(rows[-1])
        with self._timing("plan"), start:
            indices = [queue.remaining.pop(0) for queue in queues]
            # an object that was dropped is picked again: the skill that puts it down begins once more
            earlier = [episode.judge.attempts_at(index) if episode.cfg.replan > 0 else [] for index in indices]
            runs = [
                episode.begin_skill(index, concurrent=concurrent, earlier=attempts)
                for index, attempts in zip(indices, earlier, strict=True)
            ]
            if runs[0].skill.executes:
                found = self._plan_as_searched(indices, concurrent, budget=runs[0].skill.context.budget)
                if not found or not found[-1].skill.commands:
                    found = episode.planner.plan_together(indices, first_skill=runs[0].skill, concurrent=concurrent)
                for run, planned in zip(runs, found, strict=False):
                    run.skill, run.refused = planned
            for queue, run, attempts in zip(queues, runs, earlier, strict=True):
                queue.begin(run)
                queue.broken = attempts
        with self._timing("plan"):
            for queue in queues:
                self._go_on_from_step_back(queue.skill)

    def _plan_as_searched(
        self, indices: Sequence[int], concurrent: Sequence[Skill], *, budget: PlanBudget
    ) -> list[PlannedSkill]:
        """Returns skills planned with the budget that found the layout; none for the last skill, or without a search.

        The full budget may find another grip first, and later skills or other arms were never planned for that grip.
        No skill depends on the last one, so it gets the full budget: it tries further waves of starts before the slower
        solver.
        """
        planner = self.episode.planner
        is_last = len(indices) == 1 and len(self.episode.judge.begun_entries) == len(self.episode.cfg.skills)
        if planner.layout_search is None or not planner.layout_search.at_first_look or is_last:
            return []
        return planner.plan_together(indices, budget=budget.first_look(), concurrent=concurrent)

    def _run_stage(self, sequences: StageSequences) -> Failure | None:
        """Runs one stage from its plans to the end of its last skill; returns a failure that the judge does not see."""
        queues = [ArmQueue(list(sequence)) for sequence in sequences]
        first = self._queues_that_begin(queues)
        self._begin_skills(first, [])
        if not all(queue.skill.executes for queue in first):
            return None
        failure = self._start_skills(first)
        waiting = [queue for queue in queues if queue not in first]
        with self._timing("execute"):
            return self._move_arms(queues, first if failure is None else [], waiting) or failure

    @contextmanager
    def _timing(self, stage: str) -> Iterator[None]:
        """Adds the time of the block to a stage, without planning inside it; also if it ends by an exception."""
        timings_ms = self.episode.timings_ms
        start, planned_ms = time.perf_counter(), timings_ms["plan"]
        try:
            yield
        finally:
            timings_ms[stage] += 1e3 * (time.perf_counter() - start) - (timings_ms["plan"] - planned_ms)

    def _move_arms(self, queues: Sequence[ArmQueue], moving: list[ArmQueue], waiting: list[ArmQueue]) -> Failure | None:
        """Moves the arms of a stage until their last skills have ended; returns a failure that the judge does not see.

        Args:
            queues: All arms of the stage.
            moving: Those whose skills run.
            waiting: Those that begin once the others hold.
        """
        judge, failure = self.episode.judge, None
        while moving and failure is None:
            holding = [
                queue.skill for queue in moving if isinstance(queue.skill, HoldingSkill) and queue.skill.is_holding
            ]
            if waiting and len(holding) == len(moving):
                self._begin_skills(waiting, list(holding))
                failure = self._start_skills(waiting)
                moving, waiting = list(queues), []
                continue
            if not waiting and len(holding) == len(moving):
                for skill in holding:
                    skill.let_go()
            for queue in moving:
                self._plan_moved_part_anew(queue, moving)
            done = [queue for queue in moving if queue.skill.is_done() or self._flows_on(queue)]
            if judge.over:
                failure = earliest([queue.skill.failure for queue in queues if queue.skill.failure is not None])
                break
            done = [queue for queue in done if not self._keeps_going(queue, moving)]
            moving = [queue for queue in moving if queue not in done]
            failure = self._end_skills(done)
            following = [queue for queue in done if queue.remaining]
            if failure is None and following and not judge.over:
                self._begin_skills(following, [queue.skill for queue in moving])
                failure = self._start_skills(following)
                moving = [queue for queue in queues if queue in moving or queue in following]
            elif failure is None and not judge.over and moving and not done:
                self._run_frame(moving)
        return failure

    def _flows_on(self, queue: ArmQueue) -> bool:
        """Ends a skill a little before its step back has ended, where the same arm goes on with the next skill."""
        episode, run = self.episode, queue.run
        cfg = episode.cfg
        is_last = len(episode.judge.begun_entries) == len(cfg.skills)
        if run is None or is_last or len(cfg.robot.arms) > 1 or cfg.disturb.moves_targets:
            return False
        rows = queue.skill.executor.last_rows(queue.skill.context.frames(_FLOW_S))
        if rows is None or self._misses(queue) or not self._next_moves(queue, run):
            return False
        self._last_rows = rows
        queue.skill.executor.stop()
        return True

    def _next_moves(self, queue: ArmQueue, run: SkillRun) -> bool:
        """Whether the skill that follows moves something: another one leaves the arm where it is."""
        skills, place = self.episode.cfg.skills, (queue.remaining or [run.chain_index + 1])[0]
        return place < len(skills) and SKILLS.load(skills[place].name).executes

    def _go_on_from_step_back(self, skill: Skill) -> None:
        """Lets the commands of a planned skill begin with what is left of the step back of the skill before it.

        Where the way is not free for the fingers as they stand now, they open or close before it.
        """
        rows, self._last_rows = self._last_rows, None
        index = next((n for n, command in enumerate(skill.commands) if command.frames), None)
        if index is None:
            if rows is not None:
                pose = skill.context.arm_model.kinematics.pose(rows[-1])
                way = ManipCommand(ManipKind.joint_ctrl, pose, Phase.transit, motion=JointMotion(rows))
                skill.commands.append(way)
            return
        command, context, arm = skill.commands[index], skill.context, skill.context.arm
        motion, opening_m = command.motion, arm.gripper_target_m
        load_checker = getattr(skill, "load_checker", None)  # skills of plugins may plan in their own way
        if motion is None or command.phase is not Phase.transit or command.dwell_frames or load_checker is None:
            if rows is not None:
                way = ManipCommand(ManipKind.joint_ctrl, command.T_base_ee, Phase.transit, motion=JointMotion(rows))
                skill.commands.insert(index, way)
            return
        n_back = 0 if rows is None else len(rows)
        widest_m = arm.cfg.gripper.max_width_m
        openings = command.openings(len(motion), widest_m)
        to_m = opening_m if openings is None else float(openings[0])
        change_m = abs(to_m - opening_m)
        if rows is None and change_m < _LEAST_CHANGE_M:
            return
        load_checker()
        s = skill.s if isinstance(skill, ArticulationSkill) else None
        free = partial(is_timed_motion_clear, checker=context.checker, s=s, gripper=opening_m)

        q = np.vstack([arm.q_target, motion.q])
        if rows is not None:
            q, _ = join_motions(
                np.vstack([arm.q_target, rows]),
                motion.q,
                context.arm_model,
                frame_s=context.frame_s,
                most=n_back,
                is_clear=lambda samples, clearance_m: free(samples, clearance_m=clearance_m)[0],
            )
        q = q[1:]
        n_fingers = context.frames(change_m / (min(len(arm.cfg.gripper.joints), 2) * arm.cfg.gripper.max_speed_m_s))
        if len(q) - n_back < n_fingers:  # they would not be done at the object: they begin at once, if they have room
            waits = not free(np.vstack([arm.q_target, q[: n_back + 1]]), gripper=to_m)[0]
            n_back = 0
        else:
            waits = change_m >= _LEAST_CHANGE_M and not free(np.vstack([arm.q_target, q[: n_back + n_fingers]]))[0]
        if waits:
            parts = [] if rows is None else [JointMotion(rows)]
            parts.append(JointMotion(np.tile(motion.q[:1], (n_fingers, 1)), gripper_m=to_m))
            skill.commands[index:index] = [
                ManipCommand(ManipKind.joint_ctrl, command.T_base_ee, Phase.transit, motion=part) for part in parts
            ]
            return
        # until the step back is over, the fingers are around what they held: they stay as they are
        openings = command.openings(len(q), widest_m)
        if openings is not None:
            openings[:n_back] = opening_m
        skill.commands[index] = replace(command, motion=replace(motion, q=q, gripper_m=openings))

    def _queues_that_begin(self, queues: Sequence[ArmQueue]) -> list[ArmQueue]:
        """Returns the arms that begin a stage: those that hold something for the others, or all."""
        skills = self.episode.cfg.skills
        holding = [queue for queue in queues if issubclass(SKILLS.load(skills[queue.remaining[0]].name), HoldingSkill)]
        return holding or list(queues)

    def _start_skills(self, queues: Sequence[ArmQueue]) -> Failure | None:
        """Starts planned skills; returns a failure where a skill has no plan."""
        for queue in queues:
            skill = queue.skill
            if not (skill.is_feasible() and skill.is_ready()):
                if skill.failure is None:
                    skill.fail("plan_infeasible", f"Skill '{skill.cfg.name}' made no commands and gave no reason")
                return self._end_skills([queue])
        for queue in queues:
            queue.skill.start()
            self._draw_nudge(queue)
        return None

    def _draw_nudge(self, queue: ArmQueue) -> None:
        """Decides whether the part of a skill that just started is pushed while the hand is on its way to it."""
        run, probability = queue.run, self.episode.cfg.disturb.nudge_probability
        if probability == 0.0 or run is None or isinstance(run.skill, HoldingSkill):
            return
        from unlatch.skills.recovery import Nudge, can_be_nudged

        rng = stream(self.episode.seed, f"disturb.nudge.{run.chain_index}")
        if isinstance(run.skill, ArticulationSkill) and can_be_nudged(run.skill) and rng.uniform() < probability:
            self._nudges[run.object_name, run.joint] = Nudge(run.skill, rng)

    def _run_frame(self, queues: Sequence[ArmQueue]) -> None:
        """Runs one record frame of concurrent skills."""
        episode, skills = self.episode, [queue.skill for queue in queues]
        phases = [skill.phase for skill in skills]
        planned = {skill.context.arm.name: skill.next_action() for skill in skills}
        executed = planned
        if episode.cfg.disturb.moves_targets:
            executed = {skill.context.arm.name: self._disturb(skill, planned) for skill in skills}
        pushes = {joint: nudge.next_effort() for joint, nudge in self._nudges.items()}
        episode.frames.advance(executed, skills=skills, labels=planned, pushes=pushes)
        for skill in skills:
            skill.update()
        episode.frames.record_state(
            {
                skill.context.arm.name: ArmStatus(phase, -1 if queue.step_back is skill else skill.executor.index)
                for queue, skill, phase in zip(queues, skills, phases, strict=True)
            }
        )

    def _disturb(self, skill: Skill, planned: Mapping[str, ArmAction]) -> ArmAction:
        """Returns the action that a skill's arm executes in place of the planned one."""
        from unlatch.skills.recovery import Disturbance

        context, name = skill.context, skill.context.arm.name
        if name not in self._disturbances:
            rng = stream(self.episode.seed, f"disturb.{name}")
            self._disturbances[name] = Disturbance(
                self.episode.cfg.disturb, context.arm_model, frame_s=context.frame_s, rng=rng
            )
        return self._disturbances[name].disturb(planned[name], skill.executor, q_target=context.arm.q_target)

    def _end_skills(self, queues: Sequence[ArmQueue]) -> Failure | None:
        """Ends skills that are done; returns the earliest failure that the judge does not see."""
        found = []
        for queue in queues:
            skill, run = queue.skill, queue.run
            if run is not None and queue.given_up is not None:
                self.episode.judge.end_skill(run, broken_off=True)
                found.append(run.label_failure(queue.given_up))
                continue
            if not skill.is_success() and skill.failure is None and skill.unmet_condition() is None:
                skill.fail("not_reached", f"Skill '{skill.cfg.name}' says that it did not succeed")
            if run is not None:
                self.episode.judge.end_skill(run, broken_off=skill.failure is not None)
                if skill.failure is not None:
                    found.append(run.label_failure(skill.failure))
        return earliest(found)

    def _settle(self) -> Failure | None:
        """Stands still until the goal has lasted, for `settle_s` at most; returns why the scene did not settle."""
        episode, judge = self.episode, self.episode.judge
        frame_start = episode.frames.frame
        skills = [run.skill for run in judge.current]
        statuses = {skill.context.arm.name: ArmStatus(Phase.settle, skill.executor.index) for skill in skills}
        with self._timing("execute"):
            for _ in range(judge.settle_frames):
                if judge.over:
                    break
                episode.frames.advance(episode.frames.idle_actions(), skills=skills)
                episode.frames.record_state(statuses)
        if judge.success:
            return None
        episode.settle = judge.goal.settle_entry(frame_start, episode.frames.frame)
        return earliest(judge.goal.failures_since(frame_start))


def _skills_of_others(queue: ArmQueue, moving: Sequence[ArmQueue]) -> list[Skill]:
    """Returns the skills of the arms that move beside one."""
    return [other.skill for other in moving if other is not queue]
