"""Splits the motion of a part into turns, each with its own grasp, where the wrist cannot turn it at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from unlatch.solver.plan import LEAST_TURN_RAD, MOST_TURNS, KeyframePlan, PlannedTurn, TurningPlan

if TYPE_CHECKING:
    from unlatch.solver.diagnosis import Diagnosis

Array = np.ndarray

TurnPlanner = Callable[[str, float, Array, float], KeyframePlan]
"""Plans one turn; arguments: strategy, joint position of the part, joints (n,) of the arm, end of the turn [rad]."""


def plan_turns(
    plan_turn: TurnPlanner,
    strategies: Sequence[str],
    *,
    s: float,
    q: Array,
    target_s: float,
    least_rad: float = LEAST_TURN_RAD,
) -> TurningPlan:
    """Splits the motion of a part into turns that can be planned.

    Each turn first tries the whole angle that is left, then a half, a third, ... of it, with every strategy in order,
    and takes the first plan. If a turn has no plan, the result has the diagnosis of that turn.

    Args:
        plan_turn: Plans one turn.
        strategies: Names of strategies, in the order in which they are tried.
        s: Joint position of the part at the start [rad].
        q: (n,) joints of the arm at the start [rad].
        target_s: Joint position of the part at the end [rad].
        least_rad: Smallest turn that is tried [rad], unless less is left.
    """
    from unlatch.solver.diagnosis import Diagnosis

    turns: list[PlannedTurn] = []
    refused: list[KeyframePlan] = []
    here, start = s, q
    while True:
        turn, tried = _plan_furthest_turn(plan_turn, strategies, here, start, target_s, least_rad)
        refused += tried
        if turn is None:
            plan, diagnosis = tried[0], tried[0].diagnosis
            if turns and diagnosis is not None:
                message = f"Turn {len(turns) + 1}, from {here:.3f} to {target_s:.3f} rad: {diagnosis.message}"
                evidence = {**diagnosis.evidence, "turns": len(turns), "s": here}
                diagnosis = replace(diagnosis, message=message, evidence=evidence)
            return _build_refusal(turns, refused, plan, diagnosis)
        turns.append(turn)
        here, start = turn.s_to, turn.q_end
        if here == target_s:
            return _join_turns(turns, refused)
        if len(turns) == MOST_TURNS:
            message = f"After {len(turns)} turns the part would stand at {here:.3f} of {target_s:.3f} rad"
            evidence = {"reached_s": here, "target_s": target_s, "turns": len(turns)}
            return _build_refusal(turns, refused, turn.plan, Diagnosis("path_infeasible", message, evidence))


def _plan_furthest_turn(
    plan_turn: TurnPlanner, strategies: Sequence[str], s: float, q: Array, target_s: float, least_rad: float
) -> tuple[PlannedTurn | None, list[KeyframePlan]]:
    """Returns the largest turn that can be planned, and the plans that were refused before it."""
    refused: list[KeyframePlan] = []
    usable = list(strategies)
    left, portions = target_s - s, 1
    while portions == 1 or abs(left) / portions >= least_rad:
        to = target_s if portions == 1 else s + left / portions
        for strategy in list(usable):
            plan = plan_turn(strategy, s, q, to)
            if plan.found:
                return PlannedTurn(s, to, plan, portions, strategy), refused
            refused.append(plan)
            if plan.diagnosis is not None and plan.diagnosis.evidence.get("stage") == "goal":
                usable.remove(strategy)  # a hand that cannot grasp the part cannot turn it by any angle
        if not usable:
            break
        portions += 1
    return None, refused


def _join_turns(turns: list[PlannedTurn], refused: list[KeyframePlan]) -> TurningPlan:
    """Returns all turns as one plan, with the solution of the first goal."""
    plans = [turn.plan for turn in turns]
    first = plans[0]
    notices = [f"turn {number} of {len(turns)}: {notice}" for number, p in enumerate(plans, 1) for notice in p.notices]
    if len(turns) > 1:
        turned_ranges = ", ".join(f"{turn.s_from:.3f} to {turn.s_to:.3f}" for turn in turns)
        notices.insert(0, f"The part is turned in {len(turns)} turns: {turned_ranges} rad.")
    return TurningPlan(
        found=True,
        keyframes=tuple(keyframe for plan in plans for keyframe in plan.keyframes),
        contact_pose_index=first.contact_pose_index,
        segments=tuple(segment for plan in plans for segment in plan.segments),
        **_sum_work([*plans, *refused]),
        notices=tuple(notices),
        solution=first.solution,
        margin_rad=min(plan.margin_rad for plan in plans),
        slip=first.slip,
        turns=tuple(turns),
    )


def _build_refusal(
    turns: list[PlannedTurn], refused: list[KeyframePlan], plan: KeyframePlan, diagnosis: Diagnosis | None
) -> TurningPlan:
    """Returns a plan with `found` false, the turns planned until then, and all times and counts."""
    return TurningPlan(
        found=False,
        keyframes=plan.keyframes[:1],
        diagnosis=diagnosis,
        **_sum_work([*(turn.plan for turn in turns), *refused]),
        notices=plan.notices,
        solution=plan.solution,
        turns=tuple(turns),
    )


def _sum_work(plans: list[KeyframePlan]) -> dict[str, Any]:
    """Returns the sums of times and counts, as fields of a plan."""
    sums: dict[str, Any] = {}
    for field in ("timings_ms", "counts"):
        tables = [getattr(plan, field) for plan in plans]
        sums[field] = {key: sum(table.get(key, 0) for table in tables) for key in dict.fromkeys(chain(*tables))}
    return sums
