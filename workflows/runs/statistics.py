"""Counts, confidence intervals and median times of a run."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from statistics import median
from typing import Generic, TypeVar

from unlatch.simcore.recording.data_set.index import EpisodeSummary

T = TypeVar("T")

Z_95 = 1.959963984540054
"""Two-sided 95 % quantile of the normal distribution."""
STAGES = ("plan", "reset", "execute", "write")
"""Timed stages of an episode, in their order."""
SEARCH = "preplan"
"""The stage before them, in chains that begin with a search for a layout."""
SAMPLE = 10_000
"""Most times of each stage that a median is computed from."""


def wilson_interval(successes: int, n: int, *, z: float = Z_95) -> tuple[float, float]:
    """Returns Wilson's score interval of a proportion for a normal quantile `z`; (0, 1) without attempts."""
    if n == 0:
        return 0.0, 1.0
    share = successes / n
    denominator = 1.0 + z * z / n
    middle = (share + z * z / (2 * n)) / denominator
    half = z * math.sqrt(share * (1.0 - share) / n + z * z / (4 * n * n)) / denominator
    return max(0.0, middle - half), min(1.0, middle + half)


class DecimatingSampler(Generic[T]):
    """Keeps an even sample of a stream: every item, then every second, every fourth, ...; at most `most` items."""

    def __init__(self, most: int) -> None:
        self.items: list[T] = []
        """The sample, in the order of the stream."""
        self.seen = 0
        """Number of items of the stream so far."""
        self._most = most
        self._stride = 1

    def add(self, item: T) -> None:
        """Takes the next item of the stream."""
        if self.seen % self._stride == 0:
            self.items.append(item)
        self.seen += 1
        if len(self.items) > self._most:
            self._stride *= 2
            self.items = self.items[::2]


@dataclass(frozen=True)
class RunStatistics:
    """Counts of a number of episodes; refused layouts count like any other attempt."""

    n: int
    """Attempts."""
    successes: int
    """Attempts that succeeded."""
    codes: dict[str, int] = field(default_factory=dict)
    """Failures by code, most frequent first."""
    medians_ms: dict[str, float] = field(default_factory=dict)
    """Median wall time by stage [ms], over the episodes that reached it or an even sample of them."""
    first: dict[str, int] = field(default_factory=dict)
    """Lowest episode number of each failure code."""

    @classmethod
    def of(cls, summaries: Iterable[EpisodeSummary]) -> RunStatistics:
        """Counts the summaries of a data set one by one: there may be millions."""
        n = successes = 0
        counts: Counter[str] = Counter()
        first: dict[str, int] = {}
        times: dict[str, DecimatingSampler[float]] = {stage: DecimatingSampler(SAMPLE) for stage in (SEARCH, *STAGES)}
        for item in summaries:
            n += 1
            successes += item.success
            if item.code is not None:
                counts[item.code] += 1
                first[item.code] = min(first.get(item.code, item.number), item.number)
            for stage, sample in times.items():
                if value := item.timings_ms.get(stage):
                    sample.add(value)
        return cls(
            n=n,
            successes=successes,
            codes=dict(sorted(counts.items(), key=lambda item: (-item[1], item[0]))),
            medians_ms={stage: median(sample.items) for stage, sample in times.items() if sample.items},
            first=first,
        )

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's 95 % interval of the success rate."""
        return wilson_interval(self.successes, self.n)

    def success_text(self) -> str:
        """`18/20 = 90.0 % (95 % interval 69.9 to 97.2 %)`."""
        low, high = self.interval
        share = 100.0 * self.successes / self.n if self.n else 0.0
        return f"{self.successes}/{self.n} = {share:.1f} % (95 % interval {100 * low:.1f} to {100 * high:.1f} %)"

    def codes_text(self) -> str:
        """`plan_infeasible 1, slipped 1`, or `none`."""
        return ", ".join(f"{code} {count}" for code, count in self.codes.items()) or "none"
