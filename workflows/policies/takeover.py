"""How policy and planner share an episode: its reset, when the planner takes over, and the labels that it gives
to the states which the policy visits.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from unlatch.robots.arm_control import ArmAction
from unlatch.simcore.errors import AssetError, ConfigError, UnlatchError
from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.simcore.rng import stream
from unlatch.skills.articulation import ArticulationSkill
from unlatch.skills.commands import Phase
from unlatch.skills.config import SkillCfg
from unlatch.skills.recovery import StepBack
from unlatch.skills.skill import HoldingSkill, Skill
from unlatch.solver.setting_reader import read_scene
from unlatch.solver.term import PointRow
from unlatch.workflows.episode.attempt import Attempt
from unlatch.workflows.episode.criteria import TAKEOVER, Actor
from unlatch.workflows.episode.episode import Episode, EpisodeOptions
from unlatch.workflows.episode.skill_run import SkillRun
from unlatch.workflows.gym.config import SuccessWhen
from unlatch.workflows.policies.catalog import Policy, load_policy
from unlatch.workflows.runs.loading import config_as
from unlatch.workflows.runs.schema import CollectCfg, EnvCfg

if TYPE_CHECKING:
    from unlatch.workflows.gym.env import UnlatchEnv


def let_act(env: UnlatchEnv, policy: Policy, number: int) -> bool:
    """Resets an environment to an episode and lets a policy act in it.

    An exception in the policy, or an object that cannot be used, ends the episode with code `error`, not the run.

    Returns:
        Whether the episode is over; it is not if the policy returned None.

    Raises:
        UnlatchError: The configuration, an action's shape or the policy's server is wrong.
    """
    over, start = True, None
    try:
        observation, info = env.reset(options={"episode": number})
        over, start = info["code"] is not None, time.perf_counter()
        if not over:
            policy.reset(observation, info)
        while not over:
            action = policy.act(observation)
            if action is None:
                break
            observation, _, terminated, truncated, _ = env.step(action)
            over = terminated or truncated
    except Exception as exc:  # code of a user, or a later skill does not fit the drawn object
        if isinstance(exc, UnlatchError) and not isinstance(exc, AssetError):
            raise
        env.episode.fail_with_bug(exc)
        over = True
    if start is not None:
        if over:
            env.finish()
        env.episode.timings_ms["execute"] += 1e3 * (time.perf_counter() - start)
    return over


Array = np.ndarray

RANDOM_FRAMES = (1, 180)
"""Frames of `takeover=random`: the first 6 s at 30 Hz, as long as a demonstration takes."""
_RANGE = re.compile(r"(\d+)(?:-(\d+))?\Z")
_STUCK_S = 2.0
"""A hand that stays within `_STUCK_M` for this time makes no progress."""
_STUCK_M = 0.01
_AHEAD_FRAMES = 6
"""An arm that brakes from now on goes on about as far as in this number of frames."""
_LATEST_SHARE = 0.5
"""With `failing`, the planner takes over after this share of the time limit at the latest."""


@dataclass(frozen=True)
class TakeoverRule:
    """`random`, `failing`, a frame or a range of frames, as on the command line."""

    first: int
    """First frame at which the planner may take over."""
    last: int | None
    """Last such frame; None: the policy acts until it is about to fail."""

    @classmethod
    def parse(cls, text: str) -> TakeoverRule:
        """Reads `random`, `failing`, `40` or `40-90`.

        Raises:
            ConfigError: It is none of these.
        """
        if text == "random":
            return cls(*RANDOM_FRAMES)
        if text == "failing":
            return cls(1, None)
        found = _RANGE.match(text)
        if found is None or int(found[2] or found[1]) < max(1, int(found[1])):
            raise ConfigError(
                f"takeover={text} cannot be read. Expected random, failing, a frame from 1 on such as 40, or a range "
                "of frames such as 40-90. Change it.",
                key="takeover",
            )
        return cls(int(found[1]), int(found[2] or found[1]))

    def draw(self, rng: np.random.Generator) -> int | None:
        """Returns the number of frames in which the policy acts; None: until it is about to fail."""
        return None if self.last is None else int(rng.integers(self.first, self.last + 1))


class FailureWatch:
    """Sees that a policy is about to fail: its hand stands still, or its next targets are in collision."""

    def __init__(self, episode: Episode) -> None:
        self._episode = episode
        self._positions: list[Array] = []

    def sees_failure(self, arms: dict[str, ArmAction]) -> str | None:
        """Returns why the policy is about to fail with its next action, by arm; None if it is not."""
        episode = self._episode
        run = episode.judge.current[-1]
        skill, arm = run.skill, episode.scene.robot.arm(run.arm)
        self._positions.append(arm.T_base_ee.p)
        recent = np.array(self._positions[-skill.context.frames(_STUCK_S) :])
        if len(recent) >= skill.context.frames(_STUCK_S) and float(np.ptp(recent, axis=0).max()) < _STUCK_M:
            return f"the hand made no progress for {_STUCK_S:g} s"
        if episode.scene.world.time_s > _LATEST_SHARE * episode.cfg.task.max_duration_s:
            return "half of the time is over"
        return self._find_collision(skill, arms[run.arm]) if isinstance(skill, ArticulationSkill) else None

    def _find_collision(self, skill: ArticulationSkill, action: ArmAction) -> str | None:
        skill.load_checker()
        checker, arm, s = skill.context.checker, skill.context.arm, skill.snapshot().s
        step = action.joint_targets - arm.q_target
        with checker.allow(skill.request().contact_links):
            for frames in (1, _AHEAD_FRAMES // 2, _AHEAD_FRAMES):
                hit = checker.deepest_collision(arm.q_target + frames * step, s=s, gripper=arm.gripper_opening_m)
                if hit is not None:
                    return f"{hit.link_a} would meet {hit.link_b}"
        return None


_BESIDE_M = 0.02
"""A hand that is farther than this beside the line of its approach first goes to the start of it [m]."""
_REACHED_RAD = 0.03
"""A motion that is shorter leads nowhere."""


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
            # a hand that is elsewhere, or whose way is blocked, does not step back
            if not isinstance(run.skill, ArticulationSkill) or not StepBack.is_near(run.skill):
                return None
            step_back = StepBack(run.skill)
            return step_back if step_back.plan(stream(self._episode.seed, "planner.back")) else None
        if isinstance(run.skill, ArticulationSkill) and run.skill.is_touched:
            return None
        for entry in planner.strategies(run.chain_index, earlier=[run.skill]):
            shortened = _shorten_approach(planner.make_skill(entry, earlier=[run.skill]))
            skill = planner.make_skill(shortened, budget=planner.budget.first_look(), earlier=[run.skill])
            if skill.plan(stream(self._episode.seed, f"planner.label.{run.chain_index}")):
                return skill
        return None


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
    # length of the approach of a hand that is already there [m]
    setting = replace(cfg.planner_setting, pre_actuation_motions=[["translate_z", -max(left_m, 0.005)]])
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
    ahead = motion.q[min(5, len(motion) - 1)] - motion.q[0]  # rows of a motion that show where it goes first
    speed = float(step @ ahead) / max(1e-9, float(np.linalg.norm(ahead)))
    first = int(np.argmax(steps >= min(speed, float(steps.max()))))
    along = np.concatenate([[0.0], np.cumsum(steps)])
    if speed <= 0.0 or first == 0:
        return
    moving = np.concatenate([np.full(round(along[first] / steps[first]), steps[first]), steps[first:]])
    way = np.cumsum(moving) * along[-1] / moving.sum()
    q = np.column_stack([np.interp(way, along, joint) for joint in motion.q.T])
    skill.commands[index] = replace(skill.commands[index], motion=replace(motion, q=q, s=None))


@contextmanager
def open_corrections(cfg: CollectCfg, options: EpisodeOptions) -> Iterator[Callable[[int], EpisodeRecord]]:
    """Opens an environment and the policy of a run; yields the function that makes an episode by its number.

    The episodes call `on_bug` and `on_state` of the options.

    Raises:
        ConfigError: The policy cannot be made.
    """
    from unlatch.workflows.gym.env import UnlatchEnv

    if cfg.policy is None:
        raise ConfigError("policy is missing. Expected the policy that acts before the planner.", key="policy")
    env_cfg = config_as(EnvCfg, cfg, success_when=SuccessWhen.still)
    with closing(UnlatchEnv(cfg=env_cfg)) as env:
        env.options = replace(env.options, actor=Actor.both, on_bug=options.on_bug, on_state=options.on_state)
        with closing(load_policy(cfg.policy, env, timeout_s=cfg.policy_timeout_s)) as policy:
            rule = TakeoverRule.parse(cfg.takeover)
            yield partial(run_correction, env, policy, rule, cfg.policy, label_every=cfg.label_every)


class _UntilTakeover(Policy):
    """A policy that returns None where the planner takes over; beside its actions, it has the planner's labels."""

    def __init__(self, env: UnlatchEnv, policy: Policy, rule: TakeoverRule, *, label_every: int) -> None:
        self._env, self._policy, self._rule, self._label_every = env, policy, rule, label_every
        self.reason = "as drawn"
        """Why the planner takes over."""

    def reset(self, observation: Mapping[str, Array], info: Mapping[str, Any]) -> None:
        """Begins an episode."""
        episode = self._env.episode
        self._left = self._rule.draw(stream(episode.seed, "disturb.takeover"))
        self._watch, self._labels = FailureWatch(episode), PlannerLabels(episode, every=self._label_every)
        episode.frames.labels_are_valid = False
        self._policy.reset(observation, info)

    def act(self, observation: Mapping[str, Array]) -> Array | None:
        """Returns the policy's action for one frame; None: the planner takes over now."""
        if self._left == 0:
            return None
        action = self._policy.act(observation)
        if action is None:
            self.reason = "the policy ended"
            return None
        if self._left is None:
            failing = self._watch.sees_failure(self._env.decode(action))
            if failing is not None:
                self.reason = failing
                return None
        else:
            self._left -= 1
        frames = self._env.episode.frames
        frames.labels = self._labels.next_labels()
        frames.labels_are_valid = bool(frames.labels)
        return action


def run_correction(
    env: UnlatchEnv, policy: Policy, rule: TakeoverRule, name: str, number: int, *, label_every: int = 0
) -> EpisodeRecord:
    """Lets a policy act until the planner takes over, and the planner until the end; returns the record.

    With `label_every` the frames of the policy have labels too, from plans that are made every so many frames.
    An episode that is over before ends as the policy left it. See `let_act` for errors.
    """
    acting = _UntilTakeover(env, policy, rule, label_every=label_every)
    over = let_act(env, acting, number)
    episode = env.episode
    if over:
        return env.record()
    episode.frames.labels, episode.frames.labels_are_valid = {}, True
    frame = episode.frames.frame
    episode.events.append({"event": TAKEOVER, "frame": frame, "policy": name, "reason": acting.reason})
    try:
        Attempt(episode).run_from_here()
    except ConfigError:
        raise
    except Exception as exc:  # noqa: BLE001 - as in EpisodeRunner.run: a bug ends this episode only
        episode.fail_with_bug(exc)
    return env.record()
