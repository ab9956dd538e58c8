"""How holding is asked for; nothing of the engine is imported here."""

from __future__ import annotations

from dataclasses import dataclass

from omegaconf import MISSING

from unlatch.skills.contract.config import SkillCfg


@dataclass
class HoldCfg(SkillCfg):
    """Entry of `hold`: it holds one of the object's handles that stand still; `part` is what moves meanwhile."""

    handle: str = MISSING
    """Name of the handle in the object's annotation: `left_handle` or `right_handle` of a pot."""
