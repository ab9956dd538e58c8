"""Configuration of a skill entry: what every skill has."""

from __future__ import annotations

from dataclasses import dataclass, field

from omegaconf import MISSING

from simcore.errors import ConfigError
from solver.settings.setting import PlannerSettingCfg, left_out


@dataclass
class SkillCfg:
    """One entry of `skills`."""

    name: str = MISSING
    """Name in the skill catalog."""
    objects: list[str] = field(default_factory=list)
    """Objects; the first is acted on."""
    part: str | None = None
    """Part of the annotation; None where the object has one only."""
    arm: str | None = None
    """`left` or `right`; None where the robot has one arm only."""
    ignore_substring: list[str] = field(default_factory=list)
    """Links whose name contains one of these are left out of the planner's collision pairs."""
    collision_valid: bool = True
    """Whether forbidden contacts fail the skill; switching it off is recorded."""
    process_valid: bool = True
    """Whether overspeed fails the skill; switching it off is recorded."""
    contact_force_threshold_n: float = 1.0
    """Force above which a forbidden contact counts [N]."""
    language: list[str] = field(default_factory=list)
    """Phrasings of this step; `{object}`, `{part}` and `{side}` are filled in."""
    planner_setting: PlannerSettingCfg = field(default_factory=left_out)
    """What the planner solves; left out, it is derived from the part's kind when the skill begins."""

    def __post_init__(self) -> None:
        if not 0.0 <= self.contact_force_threshold_n <= 1000.0:
            raise ConfigError(
                f"skills[{self.name}].contact_force_threshold_n={self.contact_force_threshold_n} is out of range. "
                "Expected 0 to 1000.",
                key="contact_force_threshold_n",
            )
