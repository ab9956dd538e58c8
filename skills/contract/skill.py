"""The contract of a skill.

For each skill the runner calls once, in this order: `plan`, `is_feasible`, `is_ready`, `start`. Then for every record
frame it calls `next_action`, simulates the frame, and calls `update` (which calls `is_subtask_done`) and `is_done`. At
the end it calls `is_success` and `failure`. A skill without a plan is not started. Every frame is recorded, so that the
record can be replayed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from unlatch.objects.annotation import Articulation, Part
from unlatch.objects.articulated_object import ObjectAsset
from unlatch.objects.carrying.conditions import ObjectCondition
from unlatch.robots.action import ArmAction
from unlatch.robots.gripper import GripperCfg
from unlatch.simcore.errors import SkillError
from unlatch.simcore.geometry import Pose
from unlatch.simcore.recording.success_rules import SuccessRule
from unlatch.skills.contract.command import ManipCommand, Phase
from unlatch.skills.contract.config import SkillCfg
from unlatch.skills.contract.context import SkillContext
from unlatch.skills.contract.execution import CommandExecutor
from unlatch.skills.contract.failure import Failure, earliest
from unlatch.skills.contract.method_checks import check_methods
from unlatch.skills.contract.target import SkillTarget
from unlatch.solver.planning.plan import KeyframePlan
from unlatch.solver.settings.setting import SuccessMode

_BLOCKED_ERROR_RAD = 0.15
_BLOCKED_S = 0.5
"""An arm that is away from its target for this time is blocked."""


_DECLARED = {
    "finger_contact_required": "a class attribute",
    "success_rule": "declare_rule()",
    "carries": "a class attribute",
    "touched_link": "declare_link()",
}
"""What a skill states as a class, and where a subclass writes it."""


class Skill(ABC):
    """One skill of one episode. A subclass writes `plan`, `unmet_condition` and, if it may end early, `check_frame`."""

    cfg_type: ClassVar[type[SkillCfg]] = SkillCfg
    """Dataclass of its entry in `skills`."""
    executes: ClassVar[bool] = True
    """Whether it moves an arm; a skill that does not has no plan and no frames."""
    derived_as: ClassVar[str | None] = None
    """`open`, `close` or `rotate`: the skill whose derived strategies and tasks serve this one if its entry has no
    `planner_setting`; None = none. Those three serve themselves."""
    success_modes: ClassVar[tuple[SuccessMode, ...]] = ()
    """Values of `success_mode` that the skill accepts, its default first."""
    finger_contact_required: ClassVar[bool] = False
    """Whether the fingers must be on the part, or on the free object, while it moves."""
    carries: ClassVar[bool] = False
    """Whether it acts on a whole free object, not on a part: its entry names no `part`."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "_on_frame" in cls.__dict__:
            raise SkillError(f"{cls.__qualname__}._on_frame is not called. Expected `check_frame`. Rename it.")
        for name, remedy in _DECLARED.items():
            if isinstance(cls.__dict__.get(name), property):
                raise SkillError(
                    f"{cls.__qualname__}.{name} is a property, which only a running episode can read. Expected "
                    f"{remedy}: `unlatch check` asks the class for its rule. Change it.",
                    name=name,
                )
        check_methods(cls)

    def __init__(self, cfg: SkillCfg, context: SkillContext) -> None:
        self.cfg = cfg
        self.context = context
        self.commands: list[ManipCommand] = []
        self.executor = CommandExecutor(
            context.arm,
            forward=context.arm_model.kinematics.fk_batch,
            rates=context.rates,
        )
        self.keyframe_plan: KeyframePlan | None = None
        self._failures: list[Failure] = []
        self.is_started = False
        """Whether `start` was called; False if a policy acts in place of the skill."""
        self._blocked_frames = 0
        self.suggestion: object | None = None
        """`choice` of this skill in the search that found the layout: it is tried first. None: there is none."""

    @abstractmethod
    def plan(self, rng: np.random.Generator) -> bool:
        """Fills `commands` from the scene as it is now; returns False, with a failure noted, if there is no plan.

        Called once, before the first frame. It must not change the simulated scene.
        """

    def plan_next(self) -> bool:
        """Replaces the plan by one with another choice, such as another grasp; returns False if there is none.

        A search for a layout calls it, with the scene as it was for `plan`, where a later skill has no plan.
        """
        return False

    @property
    def choice(self) -> object | None:
        """What the plan chose and later skills depend on, such as a grasp; see `suggestion`."""
        return None

    def check_frame(self) -> None:
        """Checks the record frame that just ended; notes failures that end the skill early, with `fail`.

        Called by `update`, once for every frame.
        """
        return

    @abstractmethod
    def unmet_condition(self) -> Failure | None:
        """Returns the condition of success that is not met now; None if all are met.

        Also called on a skill that never planned, when a policy carries out its task.
        """

    def start(self) -> None:
        """Gives the commands to the arm; called once, before the first frame.

        Raises:
            SkillError: There is no plan to carry out.
        """
        if not self.is_ready():
            raise SkillError(
                f"Skill '{self.cfg.name}' has no plan to carry out: {len(self.commands)} commands, failure "
                f"{self.failure}. Call plan() first, and start() only where is_ready() is true.",
                skill=self.cfg.name,
            )
        self.is_started = True
        self.executor.load(self.commands)

    def next_action(self) -> ArmAction:
        """The arm's action for the next record frame.

        Raises:
            SkillError: The skill was not started.
        """
        if not self.is_started:
            raise SkillError(
                f"Skill '{self.cfg.name}' was asked for an action before it was started. Call start() first.",
                skill=self.cfg.name,
            )
        return self.executor.next_action()

    def update(self) -> None:
        """Checks the record frame that just ended: whether the arm is on its path and the part still held.

        The runner checks forbidden contacts, speeds and time for every skill.
        """
        self._check_blocked()
        self.check_frame()
        if self._failures:
            self.executor.stop()
        elif self.is_subtask_done():
            self.executor.advance()

    def is_feasible(self) -> bool:
        """Whether nothing failed before the start; called after `plan`."""
        return self.is_started or not self._failures

    def is_ready(self) -> bool:
        """Whether there is a plan and no failure; called before `start`."""
        return bool(self.commands) and not self._failures

    def is_subtask_done(self) -> bool:
        """Whether the current command is done and the next one may begin; called by `update`."""
        return self.executor.is_subtask_done()

    def is_done(self) -> bool:
        """Whether all commands are done or a failure ended the skill."""
        return self.executor.is_done()

    def is_success(self) -> bool:
        """Whether every condition of success is met and nothing failed; called after `is_done`."""
        return not self._failures and self.unmet_condition() is None

    @property
    def failure(self) -> Failure | None:
        """The earliest violated condition."""
        return earliest(self._failures)

    def held_joints(self) -> dict[str, frozenset[str]]:
        """Returns joints, by object, that are held in place during the next frame, with at most their own friction."""
        return {}

    @classmethod
    def declare_rule(cls, cfg: SkillCfg, gripper: GripperCfg) -> SuccessRule:
        """Returns what the skill must do to succeed, as data, from its entry in the chain and the arm's gripper alone.

        The judge of a running episode uses it, and the skill's entry in the record carries it. `unlatch check` asks
        for it again, without an episode: a skill with a rule of its own overrides this method.
        """
        is_stated = cls.executes and not cfg.planner_setting.derived
        return SuccessRule(
            success_mode=None,
            success_threshold=float(cfg.planner_setting.success_threshold) if is_stated else None,
            finger_contact_required=cls.finger_contact_required,
            collision_valid_enabled=cfg.collision_valid,
            process_valid_enabled=cfg.process_valid,
            contact_force_threshold_n=cfg.contact_force_threshold_n,
            finger_force_limit_n=gripper.finger_force_limit_n,
            scene_force_threshold_n=cfg.scene_force_threshold_n,
        )

    @classmethod
    def declare_conditions(cls, cfg: SkillCfg, assets: Mapping[str, ObjectAsset]) -> list[ObjectCondition]:
        """Returns what must hold of free objects when the skill ends, in the order in which they are judged.

        Like `declare_rule`, it knows only the entry in the chain, and the objects. `lifted` counts from where the
        object was when the skill began.
        """
        return []

    @classmethod
    def declare_target(cls, cfg: SkillCfg, assets: Mapping[str, ObjectAsset]) -> SkillTarget | None:
        """Returns where the skill puts a free object; None: it puts nothing anywhere.

        The pose of the region is recorded, and instructions name it as `{target}`.
        """
        return None

    @classmethod
    def has_own_condition(cls) -> bool:
        """Returns whether a plugin wrote its `unmet_condition`: no record shows whether that condition was met."""
        owner = next(base for base in cls.__mro__ if "unmet_condition" in vars(base))
        return owner.__module__.partition(".")[0] != __name__.partition(".")[0]

    @property
    def success_rule(self) -> SuccessRule:
        """What this skill must do to succeed: the rule that its class declares for its entry and its arm."""
        return self.declare_rule(self.cfg, self.context.arm.cfg.gripper)

    @classmethod
    def declare_link(cls, cfg: SkillCfg, articulation: Articulation) -> str | None:
        """Returns the link of the object that the fingers may touch; None = the link of its part.

        Like `declare_rule`, it knows only the entry in the chain, and the annotation of the object.
        """
        return None

    @classmethod
    def declare_press(cls, cfg: SkillCfg, asset: ObjectAsset, part: Part | None, gripper: GripperCfg) -> float | None:
        """Returns the force with which closed fingertips press on the part to drag it [N]; None: they do not drag it.

        Like `declare_rule`, it knows only the entry in the chain, the object and the arm's gripper.
        """
        return None

    @property
    def touched_link(self) -> str | None:
        """The link that the class of this skill declares for its entry and its object."""
        return self.declare_link(self.cfg, self.context.objects[self.cfg.objects[0]].asset.articulation)

    def predicted_poses(self) -> Mapping[str, Pose]:
        """Returns `T_world_root` of the free objects that the plan moves, at its end; called after `plan`.

        A search for a layout puts them there, so that the next skill can be planned.
        """
        return {}

    def predicted_opening_m(self) -> float | None:
        """Returns the opening of the gripper at the end of the plan [m]; None: as it is now. See `predicted_poses`."""
        return None

    @property
    def phase(self) -> Phase:
        """What the arm is doing."""
        return self.executor.phase

    def fail(self, code: str, message: str, **evidence: object) -> None:
        """Notes a violated condition at the present time."""
        self._failures.append(self.make_failure(code, message, **evidence))

    def make_failure(self, code: str, message: str, **evidence: object) -> Failure:
        """Returns a violated condition at the present time, such as for `unmet_condition`; notes nothing."""
        return Failure(code, message, self.context.time_s, evidence)

    def _check_blocked(self) -> None:
        arm = self.context.arm
        error = float(abs(arm.q_read - arm.q_target).max())
        self._blocked_frames = self._blocked_frames + 1 if error > _BLOCKED_ERROR_RAD else 0
        if self._blocked_frames >= self.context.frames(_BLOCKED_S):
            self.fail(
                "motion_blocked",
                f"The arm stayed {error:.2f} rad from its target for {self._blocked_frames} frames "
                f"in phase {self.phase.name}",
                error_rad=error,
                phase=self.phase.name,
            )
