"""The reason why there is no plan, with its numbers and the names of the YAML file, and its lines for a terminal."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from unlatch.solver.solution import Solution

_WIDTH = 110
MESSAGE_LENGTH = 400
"""A message takes no more evidence beyond this number of characters; the lines of `unlatch plan` have all of it."""
_LARGEST_TOLERANCE = {"m": 0.02, "rad": 1.3}
"""With a larger tolerance the hand does not grasp what it should, so it is no remedy [m, rad]."""
_MOST = 4
"""Largest number of remedies, and of places where candidates ended, that are printed."""


def keeps_grasp(relaxation: Mapping[str, Any]) -> bool:
    """Returns whether a changed tolerance, as `Relaxation.to_dict` has it, still keeps the hand at its place."""
    largest = _LARGEST_TOLERANCE[relaxation["unit"]]
    return relaxation["kind"] != "constraint" or relaxation["needed"] <= largest


def compose_message(what: str, advice: str, evidence: Iterable[str]) -> str:
    """Returns what could not be done, the one thing to do, then the evidence, the shortest sentence first.

    All are sentences. Evidence beyond `MESSAGE_LENGTH` is left out.
    """
    message = f"{what} {advice}"
    for sentence in sorted(evidence, key=len):
        if len(message) + 1 + len(sentence) > MESSAGE_LENGTH:
            break
        message = f"{message} {sentence}"
    return message


def format_amount(value: float, unit: str, *, digits: int = 4, degree_digits: int = 1) -> str:
    """Returns a number with its unit; an angle in degrees too."""
    degrees = f" ({math.degrees(value):.{degree_digits}f} degrees)" if unit == "rad" else ""
    return f"{value:.{digits}g} {unit}{degrees}"


def format_point(p: Sequence[float] | np.ndarray) -> str:
    """Returns a point (3,) [m] with three decimals."""
    return "[" + ", ".join(f"{v:.3f}" for v in p) + "]"


def _format_list(heading: str, items: Sequence[str]) -> list[str]:
    if not items:
        return []
    wrapped = [textwrap.wrap(item, _WIDTH - 4, subsequent_indent="    ") for item in items]
    return [heading, *(f"  {line}" for lines in wrapped for line in lines)]


def _format_table(constraints: Mapping[str, Any], faces: Mapping[str, float]) -> list[str]:
    if not constraints:
        return []
    rows = [
        (name, f"{c['value']:.4f}", f"{c.get('tolerance', 0.0):.4g} {c['unit']}", _format_state(c["out_by"], c["unit"]))
        for name, c in constraints.items()
    ]
    rows += [(f"workspace {face}", f"{out:.4f}", "0 m", _format_state(out, "m")) for face, out in faces.items()]
    wide = [max(len(row[i]) for row in rows) for i in range(3)]
    return [
        "best compromise (value of tolerance):",
        *(f"  {n:<{wide[0]}}  {v:>{wide[1]}} of {t:<{wide[2]}}  {state}" for n, v, t, state in rows),
    ]


def _format_state(out: float, unit: str) -> str:
    return "holds" if out <= 1e-6 else f"OUT by {format_amount(out, unit, degree_digits=2)}"


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
        """Returns the reason, then its evidence, as lines of at most 110 characters for a terminal."""
        message, evidence = self.message, self.evidence
        lines = textwrap.wrap(f"{self.code}: {message}", _WIDTH, subsequent_indent="  ")
        reasons = [item["message"] for key in ("out_of_reach", "contradictions") for item in evidence.get(key, [])]
        # the message may have a reason, or what follows the colon of the reason
        untold = [reason for reason in reasons if reason.rpartition(": ")[2].lower() not in message.lower()]
        lines += _format_list("more:", untold)
        lines += _format_table(evidence.get("constraints", {}), evidence.get("workspace_out_by", {}))
        lines += _format_list("held back by:", evidence.get("active_bounds", []))
        useful = [item["words"] for item in evidence.get("relaxations", []) if keeps_grasp(item)][:_MOST]
        together = [item["words"] for item in evidence.get("relaxed_together", [])]
        if useful:
            others = [words for words in useful if words not in message]
            also = "" if len(others) == len(useful) else ", too"
            lines += _format_list(f"any one of these would be enough{also}:", others)
        elif together:
            lines += _format_list("no single change is enough; these together would be:", together)
        elif "relaxations" in evidence:
            lines += ["no change of one or two constraints was found that is enough and keeps the hand at the part"]
        counts = sorted(evidence.get("ended_at", {}).items(), key=lambda item: (-item[1], item[0]))[:_MOST]
        return lines + _format_list("where the candidates ended:", [f"{count:4d} x {where}" for where, count in counts])

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
