"""One skill of the chain from its beginning to its end, as the judge follows it and as the record has it.

Beside it the queue of an arm: its skills in a stage, one after the other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from unlatch.objects.carrying_conditions import ObjectPoses
from unlatch.simcore.errors import UnlatchError
from unlatch.simcore.recording.success_rules import SuccessRule
from unlatch.simcore.sim.contacts import ContactView, Violation
from unlatch.skills.context import Failure
from unlatch.skills.skill import Skill
from unlatch.tasks.language import LanguageStep, step_language

if TYPE_CHECKING:
    from unlatch.skills.recovery import StepBack


@dataclass
class MovedJoint:
    """The joint of the part that a skill moves."""

    name: str
    index: int
    """Its place in the object's arrays."""
    s0: float
    """Its position when the skill began, at its first attempt [rad or m]."""
    s: float
    """Its position at the end of the skill, or in the last frame [rad or m]."""


@dataclass
class SkillRun:
    """One skill from its beginning to its end, whoever moves the arm."""

    skill: Skill
    """The skill, which says what must be reached."""
    part: str | None
    """Part of the object that is acted on; None: the whole object, which is free."""
    moved: MovedJoint | None
    """Joint of that part."""
    chain_index: int
    """Place of the skill in the chain."""
    stage: int
    """Stage of the chain that it belongs to; the arms of one stage act side by side."""
    frame_start: int
    """State frame at which it began."""
    start_poses: ObjectPoses
    """Where free objects were when it began, at its first attempt."""
    conditions: Sequence[Mapping[str, Any]] = ()
    """Conditions on free objects at its end, as the record has them."""
    frame_end: int | None = None
    """State frame at which it ended."""
    broken_off: bool = False
    """Whether it ended before its time."""
    success: bool = False
    """Whether all conditions were met at its end."""
    collision_valid: bool = True
    process_valid: bool = True
    overloaded: bool = False
    """Whether a finger of the arm bore more than its limit."""
    start_root: tuple[np.ndarray, np.ndarray] | None = None
    """Position [m] and quaternion xyzw of the root of its object at the start; None: it is fastened, or carried."""
    object_moved: bool = False
    """Whether the object itself moved too far, which nothing fastens."""
    pressed_n: float | None = None
    """Largest mean force of a frame on a finger while the hand led the part with something between its fingers [N]."""
    touching_frames: int = 0
    moving_frames: int = 0
    touching_while_moving: int = 0
    free_frames: int = 0
    """Number of last frames in which the fingers did not touch the part."""
    first_violation: Violation | None = None
    refused: list[dict[str, Any]] = field(default_factory=list)
    """Strategies of the skill that did not plan, with code and message."""
    attempt: int = 0
    """0 for the first attempt at its place in the chain, 1 for the next one, ..."""
    broken_by: Failure | None = None
    """Why it was broken off and is attempted again."""
    judged_views: list[ContactView] = field(default_factory=list)
    """Contact views that it is judged by; filled when they are first asked for."""
    zero_force_contacts: int = 0
    """Forbidden contacts without force: reported, never judged."""

    @cached_property
    def rule(self) -> SuccessRule:
        """The rule by which the skill succeeds."""
        return self.skill.success_rule

    @property
    def broke_rule(self) -> bool:
        """Whether a contact, a force, a speed or a motion of the object broke a rule in it."""
        return self.overloaded or self.object_moved or not (self.collision_valid and self.process_valid)

    @property
    def object_name(self) -> str:
        """The object that is acted on."""
        return self.skill.cfg.objects[0]

    @property
    def named_objects(self) -> set[str]:
        """The objects that it acts on and that its conditions name."""
        in_conditions = {str(item[key]) for item in self.conditions for key in ("object", "of") if item.get(key)}
        return {self.object_name} | in_conditions

    @cached_property
    def arm(self) -> str:
        """The arm that acts."""
        return self.skill.context.arm.name

    @property
    def is_open(self) -> bool:
        """Whether it has not ended yet."""
        return self.frame_end is None

    @property
    def has_other_arms(self) -> bool:
        """Whether the robot has other arms: failures then name the arm."""
        return len(self.skill.context.robot.arms) > 1

    def label_failure(self, failure: Failure) -> Failure:
        """Returns a failure of this skill with its place in the chain and its arm, where there are several arms."""
        if not self.has_other_arms:
            return failure
        return replace(failure, evidence={**failure.evidence, "skill": self.chain_index, "arm": self.arm})

    @property
    def weak_grip(self) -> str:
        """A sentence if the fingers pressed with less than half of the force that they were told; else empty."""
        told_n = self.skill.context.arm.cfg.gripper.grip_force_n
        if not self.pressed_n or self.pressed_n >= 0.5 * told_n:  # with 0 N, they hold nothing, and that is said
            return ""
        return (
            f"The fingers of {self.arm} pressed with {self.pressed_n:.1f} N at most, told {told_n:g} N: "
            "`unlatch check ROBOT.yaml` tries the hand."
        )

    @property
    def thing(self) -> str:
        """Name of the part that is moved, or of the free object."""
        return self.object_name if self.part is None else self.part

    @property
    def joint(self) -> str:
        """Name of the joint of that part; empty without a part."""
        return "" if self.moved is None else self.moved.name

    def continue_from(self, earlier: SkillRun) -> None:
        """Counts displacements from where an earlier attempt at the same skill began."""
        self.attempt, self.start_poses = earlier.attempt + 1, earlier.start_poses
        if self.moved is not None and earlier.moved is not None:
            self.moved.s0 = earlier.moved.s0

    def to_entry(
        self, *, last_frame: int, draw: float, step: LanguageStep | None = None, may_repeat: bool = False
    ) -> dict[str, Any]:
        """Returns the run as an entry of the record's `skills`.

        Args:
            last_frame: State frame at which the episode ended.
            draw: In [0, 1); chooses the first phrasing.
            step: What instructions say of the skill; None: that it acts on its part or object.
            may_repeat: Whether a skill may be attempted again; each attempt is then an entry with its number.
        """
        skill, cfg = self.skill, self.skill.cfg
        asset = skill.context.objects[self.object_name].asset
        violation, step = self.first_violation, step or LanguageStep(cfg.name, asset, self.part)
        target = {"target": step.target} if step.target else {}
        several = {
            "arm": self.arm,
            "stage": self.stage,
            "entry": self.chain_index,
            "broken_off": self.broken_off or self.is_open,
        }
        moved, part = self.moved, None if self.part is None else asset.articulation.part(self.part)
        gripper = skill.context.arm.cfg.gripper
        press_n = skill.declare_press(cfg, asset, part, gripper)
        return {
            "name": cfg.name,
            **(several if self.has_other_arms else {}),
            **(self._describe_attempt() if may_repeat else {}),
            "object": self.object_name,
            "part": self.part,
            **({} if skill.touched_link is None else {"link": skill.touched_link}),
            "language": step_language(cfg.language, step.skill, step.asset, step.part, draw, **target),
            "joint": None if moved is None else moved.name,
            "joint_index": None if moved is None else moved.index,
            "strategy": cfg.strategy if skill.executes else None,
            "refused": [dict(item) for item in self.refused],
            **self.rule.to_entry(),
            **({"conditions": [dict(item) for item in self.conditions]} if self.conditions else {}),
            "s0": None if moved is None else moved.s0,
            "s_end": None if moved is None else moved.s,
            "s_closed": None if part is None else part.openness.closed,
            "s_open": None if part is None else part.openness.open,
            "frame_start": self.frame_start,
            "frame_end": last_frame if self.frame_end is None else self.frame_end,
            "first_violation": None if violation is None else {**asdict(violation), "pair": list(violation.pair)},
            "success": self.success,
            "zero_force_contacts": self.zero_force_contacts,
            "grip_force_n": gripper.grip_force_n,
            **({} if press_n is None else {"press_force_n": press_n}),
            "plan": None if skill.keyframe_plan is None else skill.keyframe_plan.to_dict(),
        }

    def _describe_attempt(self) -> dict[str, Any]:
        """Returns number and end of this attempt, as part of an entry of the record's `skills`."""
        found: dict[str, Any] = {
            "entry": self.chain_index,
            "attempt": self.attempt,
            "broken_off": self.broken_off or self.is_open,
        }
        if self.broken_by is not None:
            found |= {"code": self.broken_by.code, "message": self.broken_by.message}
        return found


@dataclass
class ArmQueue:
    """The skills of one arm in a stage, one after the other."""

    remaining: list[int]
    """Indices in the chain of the skills that have not begun."""
    run: SkillRun | None = None
    """The skill that runs."""
    broken: list[SkillRun] = field(default_factory=list)
    """Attempts at this skill that were broken off."""
    step_back: StepBack | None = None
    """Carried out in place of the skill after it was broken off."""
    given_up: Failure | None = None
    """Why the last attempt was broken off, where the skill cannot be planned anew."""

    @property
    def skill(self) -> Skill:
        """The skill that moves the arm.

        Raises:
            UnlatchError: None has begun.
        """
        if self.run is None:
            raise UnlatchError("No skill of this arm has begun.")
        return self.step_back or self.run.skill

    def begin(self, run: SkillRun) -> None:
        """Notes the next skill of the chain."""
        self.run, self.broken, self.step_back, self.given_up = run, [], None, None
