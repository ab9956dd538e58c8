"""One skill's share of the verdict, as the judge keeps it and as the record has it."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from typing import Any

from unlatch.simcore.sim.contacts import Violation
from unlatch.skills.contract.failure import Failure
from unlatch.skills.contract.skill import Skill
from unlatch.tasks.language import step_language


@dataclass
class Stage:
    """One skill's share of the verdict."""

    skill: Skill
    """What must be reached, and by which rules; whether it also moves the arm is none of the judge's business."""
    part: str
    """Part of the object that is acted on."""
    joint: str
    """Its joint."""
    index: int
    """The joint's place in the object's arrays."""
    entry: int
    """Place of the skill in the chain."""
    number: int
    """Which stage of the chain it belongs to; skills of one number run side by side, one sequence an arm."""
    frame_start: int
    """State frame at which it began."""
    s0: float
    """Position of its joint then [rad or m]."""
    s: float
    """Position of its joint at its end, or in the last frame [rad or m]."""
    frame_end: int | None = None
    """State frame at which it ended."""
    broken_off: bool = False
    """Whether it ended before its time."""
    success: bool = False
    """Whether nothing was missing at its end."""
    collision_valid: bool = True
    process_valid: bool = True
    touching_frames: int = 0
    moving_frames: int = 0
    touching_while_moving: int = 0
    free_frames: int = 0
    """For how many frames the fingers have not touched the part, up to the last one."""
    first_violation: Violation | None = None
    refused: list[dict[str, Any]] = field(default_factory=list)
    """Ways of the skill that did not plan, with code and message."""
    zero_force_contacts: int = 0
    """Forbidden contacts without force: reported, never judged."""

    @property
    def object_name(self) -> str:
        """The object that is acted on."""
        return self.skill.cfg.objects[0]

    @property
    def arm(self) -> str:
        """The arm that acts."""
        return self.skill.context.arm.name

    @property
    def is_open(self) -> bool:
        """Whether it has not ended yet."""
        return self.frame_end is None

    @property
    def of_several_arms(self) -> bool:
        """Whether the robot has other arms: what is said about the skill then names its own."""
        return len(self.skill.context.robot.arms) > 1

    def blamed(self, failure: Failure) -> Failure:
        """A failure of this skill with its place in the chain and its arm, where there are several.

        Args:
            failure: What went wrong.
        """
        if not self.of_several_arms:
            return failure
        return replace(failure, evidence={**failure.evidence, "skill": self.entry, "arm": self.arm})


def entry_of(stage: Stage, *, last_frame: int, draw: float) -> dict[str, Any]:
    """A stage as an entry of the record's `skills`.

    Args:
        stage: The stage.
        last_frame: State frame at which the episode ended.
        draw: Which of its phrasings is in front, a draw in [0, 1).
    """
    skill, cfg = stage.skill, stage.skill.cfg
    asset = skill.context.objects[stage.object_name].asset
    openness = asset.articulation.part(stage.part).openness
    violation = stage.first_violation
    side = {}
    if stage.of_several_arms:
        side = {
            "arm": stage.arm,
            "stage": stage.number,
            "entry": stage.entry,
            "broken_off": stage.broken_off or stage.is_open,
        }
    return {
        "name": cfg.name,
        **side,
        "object": stage.object_name,
        "part": stage.part,
        **({} if skill.touched_link is None else {"link": skill.touched_link}),
        "language": step_language(cfg.language, cfg.name, asset, stage.part, draw),
        "joint": stage.joint,
        "joint_index": stage.index,
        "strategy": cfg.strategy if skill.executes else None,
        "refused": [dict(item) for item in stage.refused],
        **skill.success_rule.to_entry(),
        "s0": stage.s0,
        "s_end": stage.s,
        "s_closed": openness.closed,
        "s_open": openness.open,
        "frame_start": stage.frame_start,
        "frame_end": last_frame if stage.frame_end is None else stage.frame_end,
        "first_violation": None if violation is None else {**asdict(violation), "pair": list(violation.pair)},
        "success": stage.success,
        "zero_force_contacts": stage.zero_force_contacts,
        "plan": None if skill.keyframe_plan is None else skill.keyframe_plan.to_dict(),
    }
