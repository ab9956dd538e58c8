"""Labels for the states that a policy visits: what the planner would do from there (DAgger, Ross et al. 2011)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from unlatch.robots.action import ArmAction
from unlatch.simcore.rng import stream
from unlatch.skills.articulation import ArticulationSkill
from unlatch.skills.contract.command import Phase
from unlatch.skills.contract.config import SkillCfg
from unlatch.skills.contract.skill import Skill
from unlatch.skills.holding import HoldingSkill
from unlatch.skills.recovery.step_back import StepBack
from unlatch.solver.settings.conventions import read_scene
from unlatch.solver.terms.row import PointRow
from unlatch.workflows.episode.episode import Episode
from unlatch.workflows.episode.skill_run import SkillRun

Array = np.ndarray

_BESIDE_M = 0.02
"""A hand that is farther than this beside the line of its approach first goes to the start of it [m]."""
_SHORTEST_M = 0.005
"""Length of the approach of a hand that is already there [m]."""
_REACHED_RAD = 0.03
"""A motion that is shorter leads nowhere."""
_AHEAD_ROWS = 5
"""Rows of a motion that show where it goes first."""


class PlannerLabels:
    """Says, frame by frame, what the planner would do where a policy acts; it plans anew every few frames."""

    def __init__(self, episode: Episode, *, every: int) -> None:
        """Makes labels from plans that are made every `every` frames; 0: there are none."""
        self._episode = episode
        self._every = every
        self._run: SkillRun | None = None
        self._targets: dict[str, Array] = {}
        """Joint targets of the frame before, by arm."""
        self._left = 0
        self._actions: Iterator[ArmAction] = iter(())

    def next_labels(self) -> dict[str, ArmAction]:
        """Returns the planner's action of every arm in the next frame; empty if it has none. Called once a frame."""
        if self._every == 0:
            return {}
        run = self._find_run()
        if self._left == 0 or run is not self._run:
            self._left, self._run = self._every, run
            self._actions = iter(() if run is None else self._plan_actions(run))
        self._left -= 1
        self._targets = {name: arm.q_target for name, arm in self._episode.scene.robot.arms.items()}
        action = next(self._actions, None)
        return {} if action is None or run is None else {**self._episode.frames.idle_actions(), run.arm: action}

    def _find_run(self) -> SkillRun | None:
        """Returns the skill that the policy carries out; None if there are several, or if it moves no part."""
        runs = [run for run in self._episode.judge.current if run.is_open]
        skill = runs[0].skill if len(runs) == 1 else None
        return runs[0] if isinstance(skill, ArticulationSkill) and not isinstance(skill, HoldingSkill) else None

    def _plan_actions(self, run: SkillRun) -> list[ArmAction]:
        """Returns the planner's actions from the present state on, at most as many as are needed."""
        skill = self._plan(run)
        if skill is None:
            return []
        q = skill.context.arm.q_target
        step = q - self._targets.get(run.arm, q)
        _skip_reached(skill, step)
        _begin_moving(skill, step)
        skill.start()
        actions: list[ArmAction] = []
        while len(actions) < self._every and not skill.is_done():
            actions.append(skill.next_action())
            if skill.executor.remaining()[0][1] == 0:
                skill.executor.advance()
        return actions

    def _plan(self, run: SkillRun) -> Skill | None:
        """Returns a skill with a plan from the present state, or None.

        A hand that holds the part goes on with its grasp. Another hand steps back where the part is where it should be.
        Else, if it does not touch the part, the skill is planned from here.
        """
        planner = self._episode.planner
        held = planner.plan_from_grasp(run.chain_index, earlier=[run.skill], steps_back=False)
        if not isinstance(held, str):
            return held
        if run.skill.unmet_condition() is None:
            return self._plan_step_back(run)
        if isinstance(run.skill, ArticulationSkill) and run.skill.is_touched:
            return None
        for entry in planner.strategies(run.chain_index, earlier=[run.skill]):
            shortened = _shorten_approach(planner.make_skill(entry, earlier=[run.skill]))
            skill = planner.make_skill(shortened, budget=planner.budget.first_look(), earlier=[run.skill])
            if skill.plan(stream(self._episode.seed, f"planner.label.{run.chain_index}")):
                return skill
        return None

    def _plan_step_back(self, run: SkillRun) -> Skill | None:
        """Returns the way back of a hand that is at its part; None if it is elsewhere, or the way is blocked."""
        if not isinstance(run.skill, ArticulationSkill) or not StepBack.is_near(run.skill):
            return None
        step_back = StepBack(run.skill)
        return step_back if step_back.plan(stream(self._episode.seed, "planner.back")) else None


def _shorten_approach(skill: Skill) -> SkillCfg:
    """Returns the entry with which a skill is planned: a hand on its approach has only the rest of it before it."""
    cfg, motions = skill.cfg, list(skill.cfg.planner_setting.pre_actuation_motions)
    if not isinstance(skill, ArticulationSkill) or len(motions) != 1 or motions[0][0] != "translate_z":
        return cfg
    arm, scene = skill.context.arm_model, skill.snapshot()
    scene = read_scene(cfg.planner_setting, scene, opens=skill.opens)
    rows = [term.row(arm.tool_keypoints, scene) for term in cfg.planner_setting.constraint_list]
    point = next((row for row in rows if isinstance(row, PointRow) and row.weight is None), None)
    if point is None:
        return cfg
    T = arm.kinematics.pose(skill.context.arm.q_target)
    way, approach = point.target - T @ point.x_ee, T.R @ arm.approach_axis()
    left_m, full_m = float(way @ approach), -float(motions[0][1])
    if not -_BESIDE_M < left_m < full_m or float(np.linalg.norm(way - left_m * approach)) > _BESIDE_M:
        return cfg
    setting = replace(cfg.planner_setting, pre_actuation_motions=[["translate_z", -max(left_m, _SHORTEST_M)]])
    return replace(cfg, planner_setting=setting)


def _skip_reached(skill: Skill, step: Array) -> None:
    """Removes what a plan begins with where it is done already: motions that lead nowhere, and the grasp of a hand that
    leads the part. `step` (n,) is how far the targets moved in the last frame [rad].
    """
    plan = skill.keyframe_plan
    is_led = plan is not None and plan.segments[0].kind == "follow" and bool(step.any())
    while len(skill.commands) > 1:
        command = skill.commands[0]
        if command.motion is None:
            is_reached = command.frames == 0 or (is_led and command.phase is Phase.grasp)
        else:
            way_rad = float(np.linalg.norm(np.diff(command.motion.q, axis=0), axis=1).sum())
            is_reached = way_rad < _REACHED_RAD and command.phase is not Phase.follow
        if not is_reached:
            break
        del skill.commands[0]


def _begin_moving(skill: Skill, step: Array) -> None:
    """Changes the first motion of a plan from rest so that it begins at the speed of an arm that moves along it.

    The frames in which the plan speeds up are replaced by those that cover the same way at that speed. `step` (n,) is
    how far the targets moved in the last frame [rad].
    """
    index = next((i for i, command in enumerate(skill.commands) if command.frames), None)
    motion = None if index is None else skill.commands[index].motion
    if index is None or motion is None or len(motion) < 2:
        return
    steps = np.linalg.norm(np.diff(motion.q, axis=0), axis=1)
    ahead = motion.q[min(_AHEAD_ROWS, len(motion) - 1)] - motion.q[0]
    speed = float(step @ ahead) / max(1e-9, float(np.linalg.norm(ahead)))
    first = int(np.argmax(steps >= min(speed, float(steps.max()))))
    along = np.concatenate([[0.0], np.cumsum(steps)])
    if speed <= 0.0 or first == 0:
        return
    moving = np.concatenate([np.full(round(along[first] / steps[first]), steps[first]), steps[first:]])
    way = np.cumsum(moving) * along[-1] / moving.sum()
    q = np.column_stack([np.interp(way, along, joint) for joint in motion.q.T])
    skill.commands[index] = replace(skill.commands[index], motion=replace(motion, q=q, s=None))
