"""Skills, and what a new skill is written with.

    from dataclasses import dataclass
    from unlatch.skills import Close, SkillCfg

    @dataclass
    class PressCfg(SkillCfg):
        hold_s: float = 0.5

    class Press(Close):
        cfg_type = PressCfg
        derived_as = "close"

`Skill` is the contract: what every skill must have. `Open`, `Close` and `Rotate` are skills of Unlatch, and bases of
new ones; `SKILLS.load("pick")` returns the class of any skill by its name. A skill plans once, then gives one
`ManipCommand` after the other.
"""

from typing import TYPE_CHECKING, Any

from unlatch.objects.carrying_conditions import ObjectCondition
from unlatch.simcore.errors import check_range
from unlatch.simcore.ranges import Range, check_ranges
from unlatch.simcore.recording.success_rules import SuccessRule
from unlatch.skills.articulation import ArticulationSkill
from unlatch.skills.catalog import SKILLS
from unlatch.skills.commands import JointMotion, ManipCommand, ManipKind, Phase
from unlatch.skills.config import HoldCfg, HomeCfg, SkillCfg, StrategyCfg
from unlatch.skills.context import Failure, FrameSpeeds, SkillContext, SkillTarget, Views
from unlatch.skills.layout_search import LayoutSearchCfg
from unlatch.skills.open import Open
from unlatch.skills.skill import HoldingSkill, Skill

if TYPE_CHECKING:
    from unlatch.skills.close import Close
    from unlatch.skills.rotate import Rotate

__all__ = [
    "SKILLS",
    "ArticulationSkill",
    "Close",
    "Failure",
    "FrameSpeeds",
    "HoldCfg",
    "HoldingSkill",
    "HomeCfg",
    "JointMotion",
    "LayoutSearchCfg",
    "ManipCommand",
    "ManipKind",
    "ObjectCondition",
    "Open",
    "Phase",
    "Range",
    "Rotate",
    "Skill",
    "SkillCfg",
    "SkillContext",
    "SkillTarget",
    "StrategyCfg",
    "SuccessRule",
    "Views",
    "check_range",
    "check_ranges",
]


def __getattr__(name: str) -> Any:
    """Returns `Close` or `Rotate`, which an episode that opens a part does not load."""
    if name in ("Close", "Rotate"):
        return SKILLS.load(name.lower())
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
