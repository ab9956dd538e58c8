from .command import JointMotion, ManipCommand, ManipKind, Phase
from .config import Sequences, SkillCfg, StrategyCfg, part_acted_on, stages_of
from .context import FrameSpeeds, SkillContext, Views
from .failure import Failure, earliest
from .skill import Skill
from .success import Displacement

__all__ = [
    "Displacement",
    "Failure",
    "FrameSpeeds",
    "JointMotion",
    "ManipCommand",
    "ManipKind",
    "Phase",
    "Sequences",
    "Skill",
    "SkillCfg",
    "SkillContext",
    "StrategyCfg",
    "Views",
    "earliest",
    "part_acted_on",
    "stages_of",
]
