"""How a knob, lever or wheel is grasped to turn it, and how far it is turned, if no task file states it."""

from __future__ import annotations

from dataclasses import replace

from unlatch.objects.annotation import HandleType, Part, PartKind
from unlatch.simcore.errors import ConfigError
from unlatch.skills.strategies.hand_fit import HandGrasp
from unlatch.skills.strategies.open_close import LITTLE_LED_SHARE, grasp_setting, rounded
from unlatch.solver.settings.setting import FollowJointCfg, PlannerSettingCfg

MOST_TURNED_RAD = {PartKind.knob: 1.5, PartKind.lever: 0.7}
"""Angle that counts as turned. A knob or wheel turns by more than a wrist can at half of its poses; a lever turns by
one sweep of the hand."""
TURNED_SHARE = 0.6
"""Largest such angle as a share of the part's range."""
_TURN_FACTOR = 1.2
"""The hand turns by this factor farther than is wanted: the part lags behind the soft pads."""
MAX_DURATION_S = 90.0
"""Longest episode: eight turns of ten seconds, and the transit."""


def check_turns(part: Part, *, held: bool = True) -> None:
    """Checks that a part can be turned in a hand; if not `held`, only that it turns.

    Raises:
        ConfigError: The skill does not fit it.
    """
    if part.kind not in MOST_TURNED_RAD:
        raise ConfigError(
            f"skill=rotate does not fit part '{part.name}': it is a {part.kind.value}, which is pulled or pushed. Use "
            "skill=open or skill=close, or name another part.",
            key="skill",
        )
    if held and part.handle.type is HandleType.none:
        raise ConfigError(
            f"skill=rotate does not fit part '{part.name}': nothing of it fits between fingers (handle.type is none). "
            "Name another part, or set the handle in an articulation.yaml.",
            key="skill",
        )


def turned_by(part: Part) -> float:
    """Returns the angle that counts as turned [rad]."""
    return rounded(min(MOST_TURNED_RAD[part.kind], TURNED_SHARE * part.openness.span))


def turned_to(part: Part) -> float:
    """Returns the angle from closed to which the hand turns a part [rad]."""
    led = _TURN_FACTOR * turned_by(part)
    return rounded(LITTLE_LED_SHARE * part.openness.span if part.moves_little else led)


def rotate_setting(part: Part, grasp: HandGrasp | None, *, along: bool = False) -> PlannerSettingCfg:
    """Returns the planner setting for turning a part from closed; see `grasp_setting` for `grasp` and `along`."""
    return replace(
        grasp_setting(part, (0.0, 0.0), grasp, along=along),
        success_threshold=turned_by(part),
        update_art_joint=True,
        post_actuation_motions=FollowJointCfg(to=rounded(part.openness.position(turned_to(part)))),
    )
