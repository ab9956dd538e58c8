"""Which skills there are, and for which of them planner settings can be derived."""

from __future__ import annotations

from unlatch.simcore.errors import ConfigError
from unlatch.simcore.registry import Catalog, own_entries

SKILLS = Catalog(
    "skill",
    own_entries(
        "skills.",
        {
            "artpreplan": (
                "layout_search:LayoutSearchSkill",
                "search for a layout in which the whole chain plans; nothing is executed",
            ),
            "close": (
                "close:Close",
                "push a door, lid or drawer closed with the fingers closed, press a button, or turn a knob back",
            ),
            "hold": ("hold:Hold", "hold a handle of an object while another arm moves a part of it"),
            "hold_pressed": (
                "hold:HoldPressed",
                "keep a button pressed while another arm moves the part that it frees",
            ),
            "home": ("home:Home", "move an arm to its home, with what it holds"),
            "open": ("open:Open", "take a handle or an edge and open a door, lid or drawer"),
            "pick": ("pick:Pick", "grasp a free object and lift it"),
            "place": ("place:Place", "put what the hand holds into or onto something, or on the table"),
            "rotate": ("rotate:Rotate", "turn a knob, a lever or a wheel, in several turns where it must"),
        },
    ),
    group="unlatch.skills",
    contract="unlatch.skills.skill:Skill",
    listed_by="unlatch list skills",
)
STRATEGY_NAMES = ("bar", "beside", "drag", "edge", "front", "hook", "inside", "knob", "push")
"""Beginnings of the names of derived strategies."""
DERIVABLE_SKILLS = ("close", "open", "rotate")
"""Skills whose planner settings can be derived."""


def derivable_skill(skill: str) -> str:
    """Returns the one of `DERIVABLE_SKILLS` that a skill derives settings and tasks from: itself or its `derived_as`.

    Raises:
        ConfigError: There is none.
        PluginError: The skill cannot be loaded.
    """
    if skill in DERIVABLE_SKILLS:
        return skill
    named: str | None = SKILLS.load(skill).derived_as if skill in SKILLS.names() else None
    if named not in DERIVABLE_SKILLS:
        raise ConfigError(
            f"skill '{skill}' has no planner_setting, and none can be derived for it. Expected a planner_setting, one "
            f"of {', '.join(DERIVABLE_SKILLS)}, or a skill whose class has `derived_as` set to one of them. Add it.",
            key="planner_setting",
        )
    return named
