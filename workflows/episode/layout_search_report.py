"""Layouts that a search tries, and a report that counts the refused ones by skill and failure code."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from unlatch.simcore.errors import count_noun
from unlatch.solver.diagnosis import Diagnosis
from unlatch.tasks.layout import Layout


@dataclass
class LayoutCandidate:
    """A layout that is tried, and what of its chain plans."""

    number: int
    layout: Layout
    margins_rad: list[float] = field(default_factory=list)
    """Smallest distance of a joint to its limit while a part is led, for each skill [rad]."""
    strategies: dict[int, str] = field(default_factory=dict)
    """The strategy in which each skill plans, by its index in the chain."""
    arms: dict[int, str] = field(default_factory=dict)
    """The arm with which each skill plans; empty for a robot with one arm."""
    choices: dict[int, object] = field(default_factory=dict)
    """What the plan of each skill chose and later skills depend on, such as a grasp, by its index in the chain."""
    has_goals: bool = False
    """Whether the first skill that does not plan has goals that satisfy its constraints."""

    @property
    def margin_rad(self) -> float:
        """The smallest of the margins [rad]."""
        return min(self.margins_rad, default=0.0)


NO_GOAL = "plan_infeasible"
"""Code of a skill for which no arm configuration meets the constraints."""


@dataclass
class LayoutSearchReport:
    """Which layouts a search tried, which one it chose and why it refused the others."""

    tried: int = 0
    """How many layouts were tried."""
    chosen: LayoutCandidate | None = None
    """The chosen layout; None where the chain plans in no layout."""
    failures: list[dict[str, Any]] = field(default_factory=list)
    """One entry a refused layout: `candidate`, `skill` (index; -1: the layout itself), `name`, `code`, `message`."""
    diagnoses: dict[int, Diagnosis] = field(default_factory=dict)
    """Why the planner found no plan, by the number of the layout; not part of the record."""
    thorough: set[int] = field(default_factory=set)
    """Numbers of the layouts that were tried a second time, with the full budget."""

    sides: dict[str, str] = field(default_factory=dict)
    """The side that is down of each object with `rests_on=any`."""
    other_sides: list[dict[str, Any]] = field(default_factory=list)
    """One entry for each side on which objects lay in an earlier search without a plan: `rests_on` by object, and
    `tried` and `counts` of that search."""
    spent_work: int | None = None
    """The limit of work, if it ended the search before all layouts were tried; None: it did not."""

    @property
    def at_first_look(self) -> bool:
        """Whether the chain planned with the budget of a first look."""
        return self.chosen is not None and self.chosen.number not in self.thorough

    def begin_candidate(self, candidate: int, *, thorough: bool = False) -> None:
        """Counts a candidate as tried; drops its failures of an earlier trial. The second trial is `thorough`."""
        self.tried = max(self.tried, candidate + 1)
        if thorough:
            self.thorough.add(candidate)
        self.failures = [item for item in self.failures if item["candidate"] != candidate]
        self.diagnoses.pop(candidate, None)

    def earlier_sides(self) -> list[str]:
        """Returns the sides of `other_sides`, in order of trial; of several objects, their sides joined by `/`."""
        return ["/".join(item["rests_on"].values()) for item in self.other_sides]

    def describe_side(self) -> dict[str, Any]:
        """Returns the entry of `other_sides` for this search."""
        return {"rests_on": dict(self.sides), "tried": self.tried, "counts": self.refused_counts()}

    def refused_counts(self) -> dict[str, int]:
        """Returns the number of refused layouts by `skill index name: code`, the largest first."""
        return _count_labels(self.failures)

    def refused_text(self) -> str:
        """Returns the counts as text: `1 open: path_infeasible 3, layout: invalid_layout 1`, or `none`."""
        return ", ".join(f"{label} {count}" for label, count in self.refused_counts().items()) or "none"

    def reason(self) -> str:
        """Returns the message of the last failure of the most frequent kind; empty where no layout was refused."""
        last = self._find_typical_failure()
        return "" if last is None else f"Layout {last['candidate']}, {last['name']}: {last['message'].rstrip('.')}."

    def diagnosis(self) -> Diagnosis | None:
        """Returns the diagnosis of the failure of `reason`; None where the planner was not reached."""
        last = self._find_typical_failure()
        return None if last is None else self.diagnoses.get(last["candidate"])

    def _find_typical_failure(self) -> dict[str, Any] | None:
        """Returns the last failure of the most frequent kind; None where no layout was refused.

        If there are failures under the full budget, only these count.
        """
        failures = [item for item in self.failures if item["candidate"] in self.thorough] or self.failures
        most = next(iter(_count_labels(failures)), None)
        return next((item for item in reversed(failures) if _refusal_label(item) == most), None)

    def refusal(self) -> str:
        """Returns why no layout is chosen, for the record of the episode."""
        has_goals = any(item["code"] != NO_GOAL for item in self.failures)
        advice = "" if has_goals else " Change the region of the object, or the constraints."
        text = f"None of {self.tried} layouts tried has a plan.{advice} {self.reason()} Refused: {self.refused_text()}."
        if self.spent_work is None:
            return text
        more = "; a larger one makes it try more" if has_goals else ""
        return (
            f"{text} The search stopped because planner.work={self.spent_work} was spent, with "
            f"{count_noun(len(self.thorough), 'layout')} tried in full{more}."
        )

    def __str__(self) -> str:
        tried = f"{count_noun(self.tried, 'layout')} tried"
        if self.chosen is None:
            return f"{tried}, none plans: {self.refused_text()}"
        taken = f"{tried}, number {self.chosen.number} taken, {self.chosen.margin_rad:.2f} rad from the joint limits"
        sides = f"; no plan on its {', '.join(self.earlier_sides())}" if self.other_sides else ""
        return taken + sides if not self.failures else f"{taken}{sides}; refused: {self.refused_text()}"

    @classmethod
    def from_dict(cls, values: Mapping[str, Any] | None) -> LayoutSearchReport | None:
        """Returns the report of a record, with the strategies and arms of the chosen layout but without the layout."""
        if values is None or values["chosen"] is None:
            return None
        chosen = LayoutCandidate(values["chosen"], Layout({}, {}))
        chosen.strategies = {int(index): name for index, name in values["strategies"].items()}
        chosen.arms = {int(index): name for index, name in values.get("arms", {}).items()}
        return cls(tried=values["tried"], chosen=chosen)

    def to_dict(self) -> dict[str, Any]:
        """Returns the report as plain values, for the record."""
        chosen = self.chosen
        strategies, arms = ({}, {}) if chosen is None else (chosen.strategies, chosen.arms)
        return {
            "tried": self.tried,
            "chosen": None if chosen is None else chosen.number,
            "margin_rad": None if chosen is None else chosen.margin_rad,
            "strategies": {str(index): name for index, name in strategies.items()},
            **({"arms": {str(index): name for index, name in arms.items()}} if arms else {}),
            "counts": self.refused_counts(),
            "failures": [dict(item) for item in self.failures],
            **({"other_sides": [dict(item) for item in self.other_sides]} if self.other_sides else {}),
        }


def _count_labels(failures: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    found = Counter(_refusal_label(item) for item in failures)
    return dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))


def _refusal_label(item: Mapping[str, Any]) -> str:
    where = "layout" if item["skill"] < 0 else f"{item['skill']} {item['name']}"
    return f"{where}: {item['code']}"
