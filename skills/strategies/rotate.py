"""Rotating a part that no file describes a task for: how far it is turned, and how the hand may hold it."""

from __future__ import annotations

from typing import Any

from unlatch.objects.annotation import HandleType, Part, PartKind
from unlatch.objects.articulated_object import ObjectAsset
from unlatch.simcore.errors import ConfigError
from unlatch.skills.strategies.grasp import HandGrasp
from unlatch.skills.strategies.setting import planner_setting

MOST_TURNED_RAD = {PartKind.knob: 1.5, PartKind.lever: 0.7}
"""How far a part is turned, where it goes further: a knob or wheel by more than a wrist has at half of its poses, a
lever by what a hand does in one sweep."""
TURNED_SHARE = 0.6
"""And at most this share of its range."""
FURTHER = 1.2
"""The hand turns so much farther than what is asked for: a part lags behind pads that give."""
MAX_DURATION_S = 90.0
"""Eight turns of ten seconds, and the way there."""
_CENTRED_M = 0.0003
"""How near the axis the hand holds a knob: on its spindle it does not give way sideways, and two coupled fingers that
close beside its middle press with one only."""
_FLAT_RAD = 0.005
"""How nearly parallel to the pads a blade is when they close: held askew it springs straight while it turns."""
_ROUND = 0.1
"""What is as wide as long, to this share, is round: it may be held at any angle about its axis."""


def check_turns(part: Part) -> None:
    """Refuses a part that is not turned in a hand.

    Args:
        part: The part.

    Raises:
        ConfigError: The skill does not fit it.
    """
    if part.kind not in MOST_TURNED_RAD:
        raise ConfigError(
            f"skill=rotate does not fit part '{part.name}': it is a {part.kind.value}, which is pulled or pushed. Use "
            "skill=open or skill=close, or name another part.",
            key="skill",
        )
    if part.handle.type is HandleType.none:
        raise ConfigError(
            f"skill=rotate does not fit part '{part.name}': nothing of it fits between fingers (handle.type is none). "
            "Name another part, or set the handle in an articulation.yaml.",
            key="skill",
        )


def turned_by(part: Part) -> float:
    """The angle that counts as turned [rad].

    Args:
        part: The part.
    """
    openness = part.openness
    return _rounded(min(MOST_TURNED_RAD[part.kind], TURNED_SHARE * abs(openness.open - openness.closed)))


def turned_to(part: Part) -> float:
    """How far from closed the hand turns a part [rad].

    Args:
        part: The part.
    """
    return _rounded(FURTHER * turned_by(part))


def is_round(part: Part) -> bool:
    """Whether a part is held at any angle about its axis as well as at the annotated one.

    Args:
        part: The part.
    """
    _, across, along = part.handle.size
    return part.handle.type is HandleType.knob and abs(across - along) <= _ROUND * max(across, along)


def rotate_setting(part: Part, asset: ObjectAsset, grasp: HandGrasp | None, *, along: bool = False) -> dict[str, Any]:
    """The planner setting for turning a part from closed; a default of the schema is not repeated.

    Args:
        part: The part.
        asset: The object.
        grasp: How the hand takes it; None = on the head, with fingers wide open.
        along: Whether the fingers close along a blade, and not across it.
    """
    held = planner_setting("open", part, asset, (0.0, 0.0), grasp, along=along)
    sign = 1.0 if part.openness.open > part.openness.closed else -1.0
    constraints = held["constraint_list"]
    if part.kind is PartKind.knob:
        point, closing, palm = constraints
        constraints = [{**point, "tolerance": _CENTRED_M}, {**closing, "tolerance": _FLAT_RAD}, palm]
    if is_round(part):
        constraints = [item for item in constraints if item.get("axis_to_keypoint_name") != "tool_side"]
    return {
        **held,
        "success_threshold": turned_by(part),
        "update_art_joint": True,
        "constraint_list": constraints,
        "post_actuation_motions": {"follow_joint": {"to": _rounded(part.openness.closed + sign * turned_to(part))}},
    }


def _rounded(value: float) -> float:
    return float(f"{value:.3g}")
