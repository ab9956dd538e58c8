from .articulation import ArticulationSkill
from .artpreplan import ArtPreplan, ArtPreplanCfg
from .catalog import SKILLS
from .close import Close
from .concurrent_motions import planned_motion
from .contract.command import ManipCommand, ManipKind, Phase
from .contract.config import Sequences, SkillCfg, StrategyCfg
from .contract.context import FrameSpeeds, SkillContext, Views
from .contract.failure import Failure
from .contract.skill import Skill
from .hold import Hold, HoldCfg
from .holding import HoldingSkill
from .open import Open
from .rotate import Rotate
from .strategies.hand_fit import HandFit
from .strategies.ranking import DERIVABLE_SKILLS, STRATEGY_NAMES
from .strategies.rotate import MAX_DURATION_S

__all__ = [
    "DERIVABLE_SKILLS",
    "MAX_DURATION_S",
    "SKILLS",
    "STRATEGY_NAMES",
    "ArtPreplan",
    "ArtPreplanCfg",
    "ArticulationSkill",
    "Close",
    "Failure",
    "FrameSpeeds",
    "HandFit",
    "Hold",
    "HoldCfg",
    "HoldingSkill",
    "ManipCommand",
    "ManipKind",
    "Open",
    "Phase",
    "Rotate",
    "Sequences",
    "Skill",
    "SkillCfg",
    "SkillContext",
    "StrategyCfg",
    "Views",
    "planned_motion",
]
