"""Ways off the plan and back: disturbed targets, pushes on the part, and the step back before a skill is planned
anew.
"""

from __future__ import annotations

import math
from functools import partial
from typing import TypeAlias

import numpy as np

from unlatch.robots.arm_control import ArmAction
from unlatch.simcore.geometry import Pose
from unlatch.skills.articulation import ArticulationSkill
from unlatch.skills.carrying import CarryingSkill
from unlatch.skills.commands import CommandExecutor, JointMotion, ManipCommand, ManipKind, Phase
from unlatch.skills.config import DisturbCfg
from unlatch.skills.context import Failure
from unlatch.skills.gripping import joint_load
from unlatch.skills.skill import RELEASE_S, Skill
from unlatch.solver.joint_transit import plan_step_back
from unlatch.solver.kinematics import Kinematics
from unlatch.solver.motion import Clearance
from unlatch.solver.plan import PlanRequest
from unlatch.solver.scene import ArmModel
from unlatch.solver.timing import HINGE_SPEED_RAD_S, SLIDER_SPEED_M_S, time_path

Array = np.ndarray

_MAX_DEVIATIONS = 2.5
"""The noise stays within this many standard deviations."""
_MEMORY_TIMES = 20
"""The filters forget what is longer ago than this number of correlation times."""
_FREE = frozenset({Phase.transit, Phase.approach, Phase.retreat})
"""Phases in which the hand touches nothing."""


class SmoothNoise:
    """Correlated noise of standard deviation 1 with continuous velocity and acceleration.

    White noise passes three first-order low-pass filters of the same pole `exp(-k dt)`; after the first one it is an
    Ornstein-Uhlenbeck process. Its correlation is `(1 + k t + (k t)^2 / 3) exp(-k t)` (Matern 5/2; Rasmussen and
    Williams 2006, 4.2.1). The integral of that over t >= 0, the correlation time, is `8 / (3 k)`.
    """

    def __init__(self, size: int, *, correlation_s: float, dt: float, rng: np.random.Generator) -> None:
        """Starts at 0; `size` is the number of independent values."""
        self._pole = math.exp(-8.0 / 3.0 * dt / correlation_s)
        lag = np.arange(math.ceil(_MEMORY_TIMES * correlation_s / dt))
        response = (lag + 1) * (lag + 2) / 2 * self._pole**lag
        self._gain = 1.0 / math.sqrt(float((response**2).sum()))
        self._stages = np.zeros((3, size))
        self._rng = rng

    def step(self) -> Array:
        """Returns the next values (size,)."""
        values: Array = self._rng.standard_normal(self._stages.shape[1])
        for stage in self._stages:
            stage[:] = values = self._pole * stage + values
        return self._gain * values


class Disturbance:
    """Turns the actions of a plan into the executed actions of one arm, frame by frame.

    Executed targets keep the joint limits of the planner and the arm's limits of speed and acceleration.
    """

    def __init__(self, cfg: DisturbCfg, arm: ArmModel, *, frame_s: float, rng: np.random.Generator) -> None:
        self._cfg = cfg
        self._kinematics: Kinematics = arm.kinematics
        self._lower, self._upper = arm.q_lower, arm.q_upper
        self._max_step = arm.max_velocity * frame_s
        self._max_change = arm.max_acceleration * frame_s**2
        self._fade_frames = max(1, round(cfg.fade_s / frame_s))
        self._noise = SmoothNoise(arm.n_q, correlation_s=cfg.correlation_s, dt=frame_s, rng=rng)
        self._deviation_rad = 0.0
        self._frames = 0
        self._executor: CommandExecutor | None = None
        self._last: tuple[Array, Array] | None = None
        """Targets of the last frame, and their change from the frame before [rad]."""

    def disturb(self, planned: ArmAction, executor: CommandExecutor, *, q_target: Array) -> ArmAction:
        """Returns the action to execute in place of the one that the executor planned for the next frame.

        Tells the executor how far it is off. The targets of the frame before are `q_target` (n,) [rad].
        """
        offset = self._next_offset(executor)
        q = np.clip(
            planned.joint_targets + offset,
            np.minimum(self._lower, planned.joint_targets),
            np.maximum(self._upper, planned.joint_targets),
        )
        q = self._limit(q, q_target)
        executor.offset = q - planned.joint_targets
        if not executor.offset.any():
            return planned
        return ArmAction.of(q, planned.gripper_target_m, self._kinematics.fk)

    def _next_offset(self, executor: CommandExecutor) -> Array:
        """Returns the noise (n,) of the next frame [rad]; it is 0 where a stretch of phases begins and ends."""
        deviation_rad = self._deviation_in(executor.phase)
        goes_on = deviation_rad == self._deviation_rad and executor is self._executor
        self._frames = self._frames + 1 if goes_on else 0
        self._deviation_rad, self._executor = deviation_rad, executor
        left = 0
        for phase, frames in executor.remaining():
            if frames and self._deviation_in(phase) != deviation_rad:
                break
            left += frames
        share = min(1.0, min(self._frames, left) / self._fade_frames)
        noise = _MAX_DEVIATIONS * np.tanh(self._noise.step() / _MAX_DEVIATIONS)
        return deviation_rad * share * share * (3.0 - 2.0 * share) * noise

    def _deviation_in(self, phase: Phase) -> float:
        """Returns the standard deviation of each joint in a phase [rad]."""
        if phase in _FREE:
            return self._cfg.free_rad
        return self._cfg.follow_rad if phase is Phase.follow else 0.0

    def _limit(self, q: Array, q_target: Array) -> Array:
        """Returns targets that the arm can follow from those of the frame before."""
        last, change = self._last if self._last is not None else (q_target, np.zeros_like(q_target))
        if not np.array_equal(last, q_target):  # others moved the arm meanwhile
            change = np.zeros_like(q_target)
        low = np.maximum(change - self._max_change, -self._max_step)
        high = np.minimum(change + self._max_change, self._max_step)
        limited: Array = np.clip(q, q_target + low, q_target + high)
        self._last = (limited, limited - q_target)
        return limited


_SHARES = (0.04, 0.12)
"""Least and largest displacement, as shares of the range from closed to open."""
_BEGIN = (0.1, 0.5)
"""When the push begins, as a share of the transit."""
_EFFORT_FACTOR = 1.5
"""Factor on the effort that the planner's own motion of the part needs."""
_LONGEST_S = 1.0
_FREE_SHARE = 0.02
"""A part that a catch or a gasket may hold is pushed where it stands farther open than this share of its range."""


def can_be_nudged(skill: ArticulationSkill) -> bool:
    """Whether the part of a skill moves freely: a push that overcomes a catch would fling it open."""
    openness = skill.part.openness
    return skill.part.closing_forces is None or abs(skill.s - openness.closed) > _FREE_SHARE * openness.span


class Nudge:
    """One push on the joint of a skill's part: a constant effort that is off while the part is fast enough."""

    def __init__(self, skill: ArticulationSkill, rng: np.random.Generator) -> None:
        """Draws the push for a planned skill."""
        openness, joint = skill.part.openness, skill.object.body.joint(skill.part.joint)
        self._skill = skill
        self._distance = float(rng.uniform(*_SHARES)) * openness.span
        frames = sum(count for phase, count in skill.executor.remaining() if phase is Phase.transit)
        self._wait = max(1, round(float(rng.uniform(*_BEGIN)) * frames))
        sign = 1.0 if rng.uniform() < 0.5 else -1.0
        if not joint.lower <= skill.s + sign * self._distance <= joint.upper:  # no room on that side
            sign = -sign
        self._sign = sign
        self._speed = SLIDER_SPEED_M_S if joint.prismatic else HINGE_SPEED_RAD_S
        self._effort = _EFFORT_FACTOR * joint_load(skill.object.asset, skill.part)
        self._left = skill.context.frames(_LONGEST_S)
        self._start: float | None = None

    def next_effort(self) -> float:
        """Returns the effort on the joint in the next record frame [N m or N]; 0 before and after the push."""
        self._wait -= 1
        if self._wait > 0 or self._left <= 0:
            return 0.0
        s = self._skill.s
        self._start = s if self._start is None else self._start
        self._left -= 1
        if self._sign * (s - self._start) >= self._distance:
            self._left = 0
            return 0.0
        _, speeds, _ = self._skill.object.body.joint_states([self._skill.part.joint])
        return self._sign * self._effort if self._sign * float(speeds[0]) < self._speed else 0.0


_LAG_RAD = 0.02
"""An arm that is farther from its targets is first given targets where it is, so that it stops pressing."""
_YIELD_SPEED_SCALE = 0.3
_NEAR_M = 0.02
"""A hand that is nearer to something than this steps back before the skill is planned [m]."""
_BRAKE_S = 0.27
"""Time in which a moving arm comes to rest on its way."""
_REST_S = 2.0
"""Longest time to wait until the part rests."""
_REST_SPEED = {True: 0.005, False: 0.02}
"""Speed below which a part rests: sliders (True) [m/s], others [rad/s]."""
_OBJECT_REST_M_S, _OBJECT_REST_RAD_S = 0.005, 0.1
"""Speeds below which a free object rests."""

RepeatableSkill: TypeAlias = ArticulationSkill | CarryingSkill
"""A skill that may be planned anew after it was broken off."""


class StepBack(Skill):
    """Takes the hand of a skill that was broken off away from its part or object; no condition of its own judges it."""

    def __init__(self, broken: RepeatableSkill, *, begun: StepBack | None = None, on_planned_way: bool = True) -> None:
        """Makes it for a skill that has ended. A hand that was in transit is not at the part: it only brakes.

        `begun` has braked and found the part near the hand; this one steps back from there. An arm that is not
        `on_planned_way` brakes harder where it would run into something.
        """
        super().__init__(broken.cfg, broken.context)
        self._broken = broken
        self._stops: CommandExecutor | None = broken.executor if begun is None else None
        self._ended_in = broken.executor.last_phase if begun is None else Phase.approach
        self._brake_s = (_BRAKE_S,) if on_planned_way else (_BRAKE_S, 0.5 * _BRAKE_S, 0.25 * _BRAKE_S)
        """Times in which the arm comes to rest; the first one is taken on which it meets nothing [s]."""
        self._waited = 0

    def _braking_path(self) -> Array:
        """Returns (k, n) joints on which a moving arm comes to rest; empty if it rests [rad]."""
        paths = [] if self._stops is None else [self._stops.braking_path(self.context.frames(t)) for t in self._brake_s]
        return next((path for path in paths[:-1] if not self._meets(path)), paths[-1] if paths else np.zeros((0, 0)))

    def _meets(self, path: Array) -> bool:
        """Whether the hand runs into something on a path (k, n) [rad] that does not touch it at present."""
        broken, arm = self._broken, self.context.arm
        broken.load_checker()
        find = partial(self.context.checker.deepest_collision, s=_joint_position(broken), gripper=arm.gripper_target_m)
        return find(arm.q_target) is None and any(find(q) is not None for q in path)

    def plan(self, rng: np.random.Generator) -> bool:
        """See `Skill.plan`; fails where the way straight back is blocked."""
        del rng
        arm, model = self.context.arm, self.context.arm_model
        braking = self._braking_path()
        is_lagging = not len(braking) and float(np.abs(arm.q_read - arm.q_target).max()) > _LAG_RAD
        q = braking[-1] if len(braking) else arm.q_read if is_lagging else arm.q_target
        width_m, T_base_ee = self._width_m, model.kinematics.pose(q)
        if len(braking):
            motion = JointMotion(braking, gripper_m=arm.gripper_target_m)
            self.commands.append(ManipCommand(ManipKind.joint_ctrl, T_base_ee, self._ended_in, motion=motion))
        if self.only_brakes:
            self._wait_at(T_base_ee)
            return True
        back = self._plan_way(q)
        if back is None:
            thing = self._broken.part.name if isinstance(self._broken, ArticulationSkill) else self._broken.object_name
            self.fail("motion_blocked", f"The hand cannot step back from '{thing}'")
            return False
        if is_lagging:
            relief, _ = time_path(
                np.vstack([arm.q_target, q]), model, dt=self.context.frame_s, speed_scale=_YIELD_SPEED_SCALE
            )
            motion = JointMotion(relief, gripper_m=arm.gripper_target_m)
            self.commands.append(ManipCommand(ManipKind.joint_ctrl, T_base_ee, Phase.release, motion=motion))
        if width_m > arm.gripper_target_m:
            opens, params = ManipKind.open_gripper, {"width_m": width_m}
            frames = self.context.frames(RELEASE_S)
            self.commands.append(ManipCommand(opens, T_base_ee, Phase.release, dwell_frames=frames, params=params))
        motion = JointMotion(back, gripper_m=width_m)
        T_base_end = model.kinematics.pose(back[-1])
        self.commands.append(ManipCommand(ManipKind.joint_ctrl, T_base_end, Phase.retreat, motion=motion))
        self._wait_at(T_base_end)
        return True

    def _wait_at(self, T_base_ee: Pose) -> None:
        """Adds a command that waits until the part rests."""
        width_m = self.context.arm.gripper_target_m if self.only_brakes else self._width_m
        kind = ManipKind.close_gripper if width_m <= 0.0 else ManipKind.open_gripper
        self.commands.append(ManipCommand(kind, T_base_ee, Phase.retreat, dwell_frames=1, params={"width_m": width_m}))

    @property
    def only_brakes(self) -> bool:
        """Whether the hand stays where the arm comes to rest, with its fingers as they are."""
        return self._ended_in is Phase.transit

    def further(self) -> StepBack | None:
        """Returns the step back that follows where this one only braked and the part came near the hand meanwhile."""
        return StepBack(self._broken, begun=self) if self.only_brakes and self.is_near(self._broken) else None

    @staticmethod
    def is_near(broken: RepeatableSkill) -> bool:
        """Returns whether the hand of a skill is so near to something that it steps back before it is planned."""
        broken.load_checker()
        arm, checker = broken.context.arm, broken.context.checker
        s, gripper = _joint_position(broken), arm.gripper_target_m
        return checker.deepest_collision(arm.q_target, s=s, gripper=gripper, clearance_m=_NEAR_M) is not None

    def _plan_way(self, q: Array) -> Array | None:
        broken, width_m = self._broken, self._width_m
        broken.load_checker()
        s = _joint_position(broken)
        pairs = broken.request().part_pairs if isinstance(broken, ArticulationSkill) else broken.finger_pairs()
        links = tuple(sorted({link for _, link in pairs}))
        clearance = Clearance(
            self.context.checker, contact_links=links, s0=s, gripper_m=width_m, held_gripper_m=width_m
        )
        context, distance_m = self.context, self.context.scale * PlanRequest.retreat_m
        return plan_step_back(q, context.arm_model, clearance, s=s, distance_m=distance_m, frame_s=context.frame_s)

    @property
    def _width_m(self) -> float:
        """Opening of the fingers on the way back [m]: that of the approach, or what lets go of an object."""
        broken = self._broken
        if isinstance(broken, CarryingSkill):
            return broken.release_width_m
        return 0.0 if broken.closed_gripper else broken.approach_width_m

    def is_subtask_done(self) -> bool:
        """See `Skill.is_subtask_done`; the last command also waits for the part."""
        if not super().is_subtask_done():
            return False
        if self.executor.index < len(self.commands) - 1:
            return True
        self._waited += 1
        return self._is_part_at_rest() or self._waited >= self.context.frames(_REST_S)

    def _is_part_at_rest(self) -> bool:
        body = self._broken.object.body
        if isinstance(self._broken, CarryingSkill):
            linear, angular = (float(np.linalg.norm(each)) for each in body.root_velocity())
            return linear < _OBJECT_REST_M_S and angular < _OBJECT_REST_RAD_S
        joint = self._broken.part.joint
        _, speed, _ = body.joint_states([joint])
        return abs(float(speed[0])) < _REST_SPEED[body.joint(joint).prismatic]

    def unmet_condition(self) -> Failure | None:
        """See `Skill.unmet_condition`: it has none."""
        return None


def _joint_position(broken: RepeatableSkill) -> float:
    """Returns the joint position of the part of a skill [rad or m]; 0 for a skill that carries: nothing is led."""
    return broken.snapshot().s if isinstance(broken, ArticulationSkill) else 0.0
