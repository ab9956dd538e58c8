"""The reason why there is no plan, with its numbers and the names of the YAML file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from unlatch.solver.diagnosis.diagnosis_text import compose_message, diagnosis_lines, format_amount
from unlatch.solver.goal.solution import Solution

CHANGE_ADVICE = "Move or turn the object, or change the constraints."
"""What to do about constraints that no joints of the arm meet."""


@dataclass(frozen=True)
class Diagnosis:
    """One reason, with its numbers."""

    code: str
    """Failure code of the design: `plan_infeasible`, `path_infeasible` or `motion_blocked`."""
    message: str
    """What could not be done, the one thing to do, then the evidence, the shortest sentence first."""
    evidence: dict[str, Any] = field(default_factory=dict)
    """Numbers and names behind the message, as plain values."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {"code": self.code, "message": self.message, "evidence": self.evidence}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Diagnosis:
        """Returns the diagnosis of a record: `plan.diagnosis` of an entry of `skills` in `episode.json`."""
        return cls(str(values["code"]), str(values["message"]), dict(values["evidence"]))

    @property
    def is_proved(self) -> bool:
        """Whether it is proved that no pose of the hand meets the constraints; a longer search then finds nothing."""
        return bool(self.evidence.get("contradictions"))

    def with_stop(self, counts: Mapping[str, int]) -> Diagnosis:
        """Returns the diagnosis of a search that stopped early because its limit of work was spent.

        `counts` says how much was tried.
        """
        tried = {name: counts[name] for name in ("goals", "candidates", "queries")}
        message = self.message + _describe_stop(tried)
        return replace(self, message=message, evidence={**self.evidence, "stopped_after": tried})

    def without_stop(self) -> Diagnosis:
        """Returns the diagnosis without what `with_stop` added, for a search over several plans that says it itself."""
        evidence = dict(self.evidence)
        tried = evidence.pop("stopped_after", None)
        if tried is None:
            return self
        return replace(self, message=self.message.removesuffix(_describe_stop(tried)), evidence=evidence)

    def lines(self) -> list[str]:
        """Returns the reason and its evidence as lines for a terminal."""
        return diagnosis_lines(self.code, self.message, self.evidence)

    def __repr__(self) -> str:
        return "\n  ".join(self.lines())


def _describe_stop(tried: Mapping[str, int]) -> str:
    if not any(tried.values()):
        return " The search stopped because planner.work was spent; a larger one makes it try more."
    return (
        f" The search stopped after {tried['goals']} goals, {tried['candidates']} paths and {tried['queries']} "
        "collision queries, because planner.work was spent; a larger one makes it try more."
    )


def nearest_goal(best: Solution) -> Diagnosis:
    """Returns the diagnosis that no goal is found, with the violations at the best end of the goal solve.

    It needs no solve.
    """
    return Diagnosis(
        "plan_infeasible",
        compose_message(describe_failed_search(describe_unmet(best)), CHANGE_ADVICE, [describe_starts(best)]),
        {"stage": "goal", "starts_tried": best.starts_tried, "constraints": constraint_evidence(best)},
    )


def describe_failed_search(missed: Sequence[str]) -> str:
    """Returns the sentence that no goal was found; `missed` are the violations at the nearest configuration."""
    text = "No arm configuration was found that meets all constraints"
    return f"{text}: at the nearest one, {', '.join(missed)}." if missed else f"{text}."


def describe_starts(solution: Solution) -> str:
    """Returns the sentence that says how many starts were tried."""
    return f"{solution.starts_tried} starts were tried."


def describe_unmet(solution: Solution) -> list[str]:
    """Returns for each constraint that does not hold by how much it is out, in words."""
    return [f"'{r.name}' is out by {format_amount(r.excess, r.unit)}" for r in solution.residuals if not r.satisfied]


def constraint_evidence(solution: Solution) -> dict[str, dict[str, Any]]:
    """Returns the violation of each constraint as plain values."""
    return {
        r.name: {"out_by": r.excess, "value": r.value, "tolerance": r.tolerance, "unit": r.unit}
        for r in solution.residuals
    }
