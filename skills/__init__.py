"""Skills, and what a new skill is written with.

    from unlatch.skills import Skill, SkillCfg

`Skill` is the contract; `Open`, `Close` and `Rotate` are skills of Unlatch, and bases of new ones.
`SKILLS.load("pick")` returns the class of any skill by its name.
"""

from unlatch.simcore.errors import check_range
from unlatch.simcore.ranges import Range, check_ranges
from unlatch.skills.articulation import ArticulationSkill
from unlatch.skills.catalog import SKILLS
from unlatch.skills.close import Close
from unlatch.skills.commands import JointMotion, ManipCommand, ManipKind, Phase
from unlatch.skills.config import HoldCfg, HomeCfg, SkillCfg, StrategyCfg
from unlatch.skills.context import Failure, FrameSpeeds, SkillContext, Views
from unlatch.skills.holding import HoldingSkill
from unlatch.skills.layout_search import LayoutSearchCfg
from unlatch.skills.open import Open
from unlatch.skills.rotate import Rotate
from unlatch.skills.skill import Skill

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
    "Open",
    "Phase",
    "Range",
    "Rotate",
    "Skill",
    "SkillCfg",
    "SkillContext",
    "StrategyCfg",
    "Views",
    "check_range",
    "check_ranges",
]
