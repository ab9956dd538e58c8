"""Checks an entry of `skills` against the skill and the part that it names, before anything is written."""

from __future__ import annotations

from simcore.assets.annotation import Part
from simcore.assets.articulated_object import ObjectAsset
from simcore.assets.urdf_reader import read_urdf
from simcore.errors import ConfigError
from skills.catalog import SKILLS
from skills.config import SkillCfg
from tasks.layout import described
from workflows.console import banner_hidden

_PAST_LIMIT_RAD = 0.05
_PAST_LIMIT_M = 0.01
"""So far past a joint's limit a part may be pushed, so that it gets there for sure."""


def check_skill(skill: SkillCfg, part: Part, asset: ObjectAsset, *, where: str) -> None:
    """Checks what a skill is asked for: a way to judge it that it has, and a way that its part can go.

    Args:
        skill: The entry.
        part: The part that it acts on.
        asset: The object that the part belongs to.
        where: Full key of the entry.

    Raises:
        ConfigError: The skill or the part cannot do it.
    """
    _check_mode(skill, f"{where}.planner_setting.success_mode")
    _check_follow(skill, part, asset, f"{where}.planner_setting.post_actuation_motions.follow_joint.to")


def _check_mode(skill: SkillCfg, where: str) -> None:
    with banner_hidden():
        modes = SKILLS.load(skill.name).success_modes
    mode = skill.planner_setting.success_mode
    if mode is not None and mode not in modes:
        names = [item.value for item in modes]
        raise ConfigError(
            f"{where}={mode.value} is no mode of skill '{skill.name}'. Expected one of {', '.join(names) or 'none'}. "
            "Choose one of them, or leave it out.",
            key=where,
            available=names,
        )


def _check_follow(skill: SkillCfg, part: Part, asset: ObjectAsset, where: str) -> None:
    follow = skill.planner_setting.follow_joint
    target = None if follow is None else follow.target(s_closed=part.openness.closed, s_open=part.openness.open)
    joint = read_urdf(asset.urdf_path).joints[part.joint]
    if follow is None or target is None or joint.kind == "continuous":
        return
    unit, past = ("m", _PAST_LIMIT_M) if joint.kind == "prismatic" else ("rad", _PAST_LIMIT_RAD)
    if not joint.lower - past <= target <= joint.upper + past:
        raise ConfigError(
            f"{where}={follow.to} leads '{part.name}' of {described(asset)} to {target:.3g} {unit}, which its joint "
            f"cannot reach. Expected {joint.lower:.3g} to {joint.upper:.3g} {unit} (at most {past:g} {unit} past a "
            "limit, to push against it), or a share such as 80%. Change it.",
            key=where,
        )
