"""Turning a part in several turns: for each one the angle that goes furthest, from where the one before leaves off."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from unlatch.solver.diagnosis.diagnosis import Diagnosis
from unlatch.solver.planning.plan import KeyframePlan

Array = np.ndarray
_Number = TypeVar("_Number", int, float)

MOST_TURNS = 8
"""A part that is not where it should be after so many turns is given up."""
LEAST_TURN_RAD = 0.15
"""A turn that goes less far is not worth taking the part again."""

PlanTurn = Callable[[str, float, Array, float], KeyframePlan]
"""Plans one turn: way to take the part, its joint position [rad], joints (n,) from which the arm comes [rad], its end
[rad]."""


@dataclass(frozen=True)
class Turn:
    """One time the part is taken, turned and let go."""

    s_from: float
    """Joint position at which it is taken [rad]."""
    s_to: float
    """Joint position at which it is let go [rad]."""
    plan: KeyframePlan
    """The motion."""
    tries: int
    """Angles that were tried, the largest first."""
    strategy: str
    """The way in which it is taken."""

    @property
    def q_end(self) -> Array:
        """(n,) joints after the step back [rad]."""
        end: Array = self.plan.segments[-1].q[-1]
        return end

    def to_dict(self) -> dict[str, Any]:
        """Plain values for a record or a report."""
        return {
            "s_from": self.s_from,
            "s_to": self.s_to,
            "tries": self.tries,
            "strategy": self.strategy,
            "margin_rad": self.plan.margin_rad,
            "slip": None if self.plan.slip is None else self.plan.slip.mode.value,
        }


@dataclass(frozen=True, repr=False)
class TurningPlan(KeyframePlan):
    """The motions of all turns, one after the other, or why there are none."""

    turns: tuple[Turn, ...] = ()
    """In order of execution; those that were planned where the plan was not found."""

    def to_dict(self) -> dict[str, Any]:
        """See `KeyframePlan.to_dict`; with the turns."""
        return {**super().to_dict(), "turns": [turn.to_dict() for turn in self.turns]}


def plan_turns(plan_turn: PlanTurn, grips: Sequence[str], *, s: float, q: Array, target_s: float) -> TurningPlan:
    """Splits the way of a part into turns that can be carried out.

    The whole of what is left is tried first, then a half, a third, ... of it, in every way to take the part; the first
    that can be planned is taken.

    Args:
        plan_turn: Plans one turn.
        grips: Ways to take the part, in the order in which they are tried.
        s: Joint position of the part [rad].
        q: (n,) joints of the arm [rad].
        target_s: Joint position that is wanted [rad].

    Returns:
        The plan; without one, the diagnosis of the turn that could not be planned.
    """
    turns: list[Turn] = []
    refused: list[KeyframePlan] = []
    here, start = s, q
    while True:
        turn, tried = _furthest(plan_turn, grips, here, start, target_s)
        refused += tried
        if turn is None:
            return _stopped(turns, refused, tried[0], s=here, target_s=target_s)
        turns.append(turn)
        here, start = turn.s_to, turn.q_end
        if here == target_s:
            return _joined(turns, refused)
        if len(turns) == MOST_TURNS:
            return _too_many(turns, refused, s=here, target_s=target_s)


def _furthest(
    plan_turn: PlanTurn, grips: Sequence[str], s: float, q: Array, target_s: float
) -> tuple[Turn | None, list[KeyframePlan]]:
    """The largest share of what is left that can be planned, and the plans that were refused before."""
    refused: list[KeyframePlan] = []
    usable = list(grips)
    left, portions = target_s - s, 1
    while portions == 1 or abs(left) / portions >= LEAST_TURN_RAD:
        to = target_s if portions == 1 else s + left / portions
        for grip in list(usable):
            plan = plan_turn(grip, s, q, to)
            if plan.found:
                return Turn(s, to, plan, portions, grip), refused
            refused.append(plan)
            if _goal_refused(plan):  # where the hand cannot take the part, no angle is small enough
                usable.remove(grip)
        if not usable:
            break
        portions += 1
    return None, refused


def _goal_refused(plan: KeyframePlan) -> bool:
    return plan.diagnosis is not None and plan.diagnosis.evidence.get("stage") == "goal"


def _joined(turns: list[Turn], refused: list[KeyframePlan]) -> TurningPlan:
    """All turns as one plan; what it says of a goal is that of the first."""
    plans = [turn.plan for turn in turns]
    first = plans[0]
    notices = [f"turn {number} of {len(turns)}: {notice}" for number, p in enumerate(plans, 1) for notice in p.notices]
    if len(turns) > 1:
        ways = ", ".join(f"{turn.s_from:.3f} to {turn.s_to:.3f}" for turn in turns)
        notices.insert(0, f"The part is turned in {len(turns)} turns: {ways} rad.")
    return TurningPlan(
        found=True,
        keyframes=tuple(keyframe for plan in plans for keyframe in plan.keyframes),
        contact_pose_index=first.contact_pose_index,
        segments=tuple(segment for plan in plans for segment in plan.segments),
        timings_ms=_summed([plan.timings_ms for plan in [*plans, *refused]]),
        counts=_summed([plan.counts for plan in [*plans, *refused]]),
        notices=tuple(notices),
        solution=first.solution,
        margin_rad=min(plan.margin_rad for plan in plans),
        slip=first.slip,
        turns=tuple(turns),
    )


def _stopped(
    turns: list[Turn], refused: list[KeyframePlan], plan: KeyframePlan, *, s: float, target_s: float
) -> TurningPlan:
    """No plan, in the words of the turn that could not be planned."""
    diagnosis = plan.diagnosis
    if turns and diagnosis is not None:
        diagnosis = replace(
            diagnosis,
            message=f"Turn {len(turns) + 1}, from {s:.3f} to {target_s:.3f} rad: {diagnosis.message}",
            evidence={**diagnosis.evidence, "turns": len(turns), "s": s},
        )
    return _refused(turns, refused, plan, diagnosis)


def _too_many(turns: list[Turn], refused: list[KeyframePlan], *, s: float, target_s: float) -> TurningPlan:
    diagnosis = Diagnosis(
        "path_infeasible",
        f"After {len(turns)} turns the part would stand at {s:.3f} of {target_s:.3f} rad",
        {"reached_s": s, "target_s": target_s, "turns": len(turns)},
    )
    return _refused(turns, refused, turns[-1].plan, diagnosis)


def _refused(
    turns: list[Turn], refused: list[KeyframePlan], plan: KeyframePlan, diagnosis: Diagnosis | None
) -> TurningPlan:
    """No plan; with what was planned until then, and all the work."""
    made = [*(turn.plan for turn in turns), *refused]
    return TurningPlan(
        found=False,
        keyframes=plan.keyframes[:1],
        diagnosis=diagnosis,
        timings_ms=_summed([item.timings_ms for item in made]),
        counts=_summed([item.counts for item in made]),
        notices=plan.notices,
        solution=plan.solution,
        turns=tuple(turns),
    )


def _summed(tables: list[dict[str, _Number]]) -> dict[str, _Number]:
    total: dict[str, _Number] = {}
    for table in tables:
        for key, value in table.items():
            total[key] = total[key] + value if key in total else value
    return total
