"""How a search for a layout is asked for, and what came of it; nothing of the engine is imported here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from unlatch.simcore.errors import ConfigError
from unlatch.skills.contract.config import SkillCfg

MAX_CANDIDATES = 1000


@dataclass
class ArtPreplanCfg(SkillCfg):
    """Entry of `artpreplan`: first in the chain; it searches for all skills that follow."""

    candidates: int = 16
    """Layouts that are tried at most: object poses in their regions, openings, and start joints of the arms."""
    best_of: int = 1
    """Layouts that plan among which the one with the most room to the joint limits is taken; 1 = the first."""
    planner_setting: Any = None
    """None: what is planned stands in the entries that follow."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 1 <= self.candidates <= MAX_CANDIDATES:
            raise ConfigError(
                f"skills[{self.name}].candidates={self.candidates} is out of range. Expected 1 to {MAX_CANDIDATES}.",
                key="candidates",
            )
        if not 1 <= self.best_of <= self.candidates:
            raise ConfigError(
                f"skills[{self.name}].best_of={self.best_of} is out of range. Expected 1 to candidates "
                f"({self.candidates}).",
                key="best_of",
            )


@dataclass
class PreplanReport:
    """What came of the candidates."""

    tried: int = 0
    """How many were tried."""
    chosen: int | None = None
    """Number of the one that was taken; None where none plans."""
    margin_rad: float | None = None
    """Smallest distance of a joint to its limit while a part is led, in that one [rad]."""
    strategies: dict[int, str] = field(default_factory=dict)
    """The way in which each skill plans there, by its index in the chain."""
    arms: dict[int, str] = field(default_factory=dict)
    """The arm with which it does, of a robot that has several."""
    failures: list[dict[str, Any]] = field(default_factory=list)
    """Of each that failed: `candidate`, `skill` (index; -1: the layout itself), `name`, `code`, `message`."""

    thorough: set[int] = field(default_factory=set)
    """Numbers of those that were tried once more, with all that a planner has."""

    @property
    def at_first_look(self) -> bool:
        """Whether the chain planned without all that a planner has."""
        return self.chosen is not None and self.chosen not in self.thorough

    def begin(self, candidate: int, *, thorough: bool = False) -> None:
        """A candidate is tried, for the first time or once more: what it failed with before counts no longer."""
        self.tried = max(self.tried, candidate + 1)
        if thorough:
            self.thorough.add(candidate)
        self.failures = [item for item in self.failures if item["candidate"] != candidate]

    def counts(self) -> dict[str, int]:
        """Failures by `skill index code`, the most frequent first."""
        return _counts(self.failures)

    def counts_text(self) -> str:
        """`1 open: path_infeasible 3, layout: invalid_layout 1`, or `none`."""
        return ", ".join(f"{label} {count}" for label, count in self.counts().items()) or "none"

    def reason(self) -> str:
        """Why the last one failed that failed as most did, in its own words; empty where none failed.

        Of those that were tried with all that a planner has, where any were: they say most.
        """
        told = [item for item in self.failures if item["candidate"] in self.thorough] or self.failures
        most = next(iter(_counts(told)), None)
        last = next((item for item in reversed(told) if _label(item) == most), None)
        return "" if last is None else f"Number {last['candidate']}, {last['name']}: {last['message']}"

    def __str__(self) -> str:
        tried = f"{self.tried} layouts tried" if self.tried != 1 else "1 layout tried"
        if self.chosen is None:
            return f"{tried}, none plans: {self.counts_text()}"
        taken = f"{tried}, number {self.chosen} taken, {self.margin_rad or 0.0:.2f} rad from the joint limits"
        return taken if not self.failures else f"{taken}; refused: {self.counts_text()}"

    def to_dict(self) -> dict[str, Any]:
        """The report as plain values, for the record."""
        return {
            "tried": self.tried,
            "chosen": self.chosen,
            "margin_rad": self.margin_rad,
            "strategies": {str(index): name for index, name in self.strategies.items()},
            **({"arms": {str(index): name for index, name in self.arms.items()}} if self.arms else {}),
            "counts": self.counts(),
            "failures": [dict(item) for item in self.failures],
        }


def _counts(failures: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    found = Counter(_label(item) for item in failures)
    return dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))


def _label(item: Mapping[str, Any]) -> str:
    where = "layout" if item["skill"] < 0 else f"{item['skill']} {item['name']}"
    return f"{where}: {item['code']}"
