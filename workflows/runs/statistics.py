"""Counts, confidence intervals and median times of a run, and the episodes that cannot be read."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from statistics import median
from typing import Generic, TypeVar

from unlatch.simcore.errors import RecordingError
from unlatch.simcore.recording.index import EpisodeSummary
from unlatch.simcore.recording.policy_outcome import STAGES as STAGES_OF_POLICY
from unlatch.simcore.recording.policy_outcome import STRICT_SHARE

MOST_NAMED = 5
"""How many episodes are named in a terminal."""
MOST_KEPT = 1000
"""How many reasons are kept."""


class CorruptEpisodes:
    """Episodes that cannot be read; pass `add` to `DataSet.each_summary`."""

    def __init__(self) -> None:
        self.numbers: list[int] = []
        self._reasons: dict[int, str] = {}

    def add(self, number: int, exc: RecordingError) -> None:
        """Adds an episode and the error that reading it raised."""
        self.numbers.append(number)
        if len(self._reasons) < MOST_KEPT:
            self._reasons[number] = exc.message

    def lines(self, most: int = MOST_NAMED) -> list[str]:
        """Returns one line for each of the first `most` episodes, up to `MOST_KEPT`, and one that counts the rest."""
        shown = sorted(self._reasons.items())[:most]
        more = len(self.numbers) - len(shown)
        return [
            *(f"episode {number} is damaged: {reason}" for number, reason in shown),
            *([f"{more:,} more episodes are damaged; `unlatch check` names all"] if more else []),
        ]

    def count_text(self) -> list[str]:
        """Returns `["damaged 2 (episodes 3, 17)"]`, or an empty list."""
        if not self.numbers:
            return []
        named = [str(number) for number in sorted(self.numbers)[:MOST_NAMED]]
        if len(self.numbers) > MOST_NAMED:
            named.append("...")
        word = "episode" if len(self.numbers) == 1 else "episodes"
        return [f"damaged {len(self.numbers):,} ({word} {', '.join(named)})"]


T = TypeVar("T")

Z_95 = 1.959963984540054
"""Two-sided 95 % quantile of the normal distribution."""
EXECUTE = "execute"
STAGES = ("plan", "reset", EXECUTE, "write")
"""Timed stages of an episode, in their order."""
SEARCH = "preplan"
"""The stage before them, in chains that begin with a search for a layout."""
SAMPLE = 10_000
"""Most times of each stage that a median is computed from."""


def episode_ms(timings_ms: Mapping[str, float]) -> float | None:
    """Returns the wall time of an episode, all its stages together [ms]; None if nothing was executed."""
    return sum(timings_ms.get(stage, 0.0) for stage in (SEARCH, *STAGES)) if timings_ms.get(EXECUTE) else None


def time_text(median_ms: float | None) -> str:
    """Returns the median wall time of an episode as every command and page writes it: `1.57 s`; `-` for None."""
    return "-" if median_ms is None else f"{median_ms / 1000.0:.2f} s"


def wilson_interval(successes: float, n: int, *, z: float = Z_95) -> tuple[float, float]:
    """Returns Wilson's score interval of a proportion for a normal quantile `z`; (0, 1) without attempts."""
    if n == 0:
        return 0.0, 1.0
    share = successes / n
    denominator = 1.0 + z * z / n
    middle = (share + z * z / (2 * n)) / denominator
    half = z * math.sqrt(share * (1.0 - share) / n + z * z / (4 * n * n)) / denominator
    return max(0.0, middle - half), min(1.0, middle + half)


def share_text(successes: int, n: int) -> str:
    """`18/20 = 90.0 % (95 % interval 69.9 to 97.2 %)`."""
    low, high = wilson_interval(successes, n)
    share = 100.0 * successes / n if n else 0.0
    return f"{successes}/{n} = {share:.1f} % (95 % interval {100 * low:.1f} to {100 * high:.1f} %)"


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
class SuccessMeasure:
    """How often, and how fast, episodes succeeded by one measure of success."""

    n: int
    """Attempts."""
    successes: int
    """Attempts that succeeded by this measure."""
    median_s: float | None = None
    """Median simulated time to success, over the attempts that succeeded [s]; None: it is not known."""

    @property
    def rate(self) -> float:
        """Share of attempts that succeeded, 0 to 1."""
        return self.successes / self.n if self.n else 0.0

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's 95 % interval of the rate."""
        return wilson_interval(self.successes, self.n)

    def __str__(self) -> str:
        time = "" if self.median_s is None else f", median time to success {self.median_s:.1f} s"
        return f"{share_text(self.successes, self.n)}{time}"


@dataclass(frozen=True)
class MeanShare:
    """The mean share of the asked motion over episodes; an attempt that was refused or lost counts as 0."""

    n: int
    """Attempts."""
    mean: float
    """Mean over the attempts, 0 to 1."""

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's 95 % interval, as if each attempt had a share of 0 or 1.

        Shares between 0 and 1 vary less, so it is wider than necessary. A normal interval would be too narrow where
        nearly all shares are equal: a point, however few they are.
        """
        return wilson_interval(self.mean * self.n, self.n)

    def __str__(self) -> str:
        low, high = self.interval
        return f"mean {100 * self.mean:.1f} % (95 % interval {100 * low:.1f} to {100 * high:.1f} %)"


class PolicyCounter:
    """Counts episodes of a policy by all measures of success, and by how far they came."""

    def __init__(self) -> None:
        self.n = 0
        """Episodes of a policy that went on after broken rules."""
        self.stages: Counter[str] = Counter()
        """Episodes by the last stage that they reached, see `policy_outcome.STAGES`."""
        self.violations: Counter[str] = Counter()
        """Episodes with a forbidden contact, an overload or an overspeed, by the stage in which the first one came."""
        self._reached = {"goal": 0, "clean": 0}
        self._times: dict[str, DecimatingSampler[float]] = {key: DecimatingSampler(SAMPLE) for key in self._reached}
        self._shares = 0
        self._share_sum = 0.0

    def add(self, summary: EpisodeSummary) -> None:
        """Counts an episode; one whose measures are not known is left out, one that was lost failed by both."""
        outcome = summary.policy
        if outcome is None:
            return
        self.n += 1
        self.stages[outcome.stage] += 1
        if outcome.share is not None:
            self._shares += 1
            self._share_sum += outcome.share
        if outcome.violation_stage is not None:
            self.violations[outcome.violation_stage] += 1
        for key, success, time_s in (
            ("goal", outcome.goal_reached, outcome.goal_s),
            ("clean", summary.success, outcome.clean_s),
        ):
            self._reached[key] += success
            if success and time_s is not None:
                self._times[key].add(time_s)

    def measure(self, key: str, *, n: int) -> SuccessMeasure:
        """Returns `goal` or `clean` over `n` attempts."""
        times = self._times[key].items
        return SuccessMeasure(n, self._reached[key], median(times) if times else None)

    def mean_share(self, *, n: int) -> MeanShare | None:
        """Returns the mean share of the asked motion over `n` attempts; None if that of an episode is not known."""
        if self._shares < self.n or not n:
            return None
        return MeanShare(n, self._share_sum / n)


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
    median_episode_ms: float | None = None
    """Median of `episode_ms` [ms]; None: nothing was executed."""
    first: dict[str, int] = field(default_factory=dict)
    """Lowest episode number of each failure code."""
    goal: SuccessMeasure | None = None
    """Policies: the part is where it should be, and stays. None: episodes ended at the first broken rule."""
    clean: SuccessMeasure | None = None
    """Policies: the same without a broken rule, which is the success of a demonstration. None: as for `goal`."""
    share: MeanShare | None = None
    """Policies: how far the parts were led, as a share of what was asked. None: as for `goal`, or an older record."""
    stages: dict[str, int] = field(default_factory=dict)
    """Policies: episodes by the last stage that they reached, see `policy_outcome.STAGES`."""
    violations: dict[str, int] = field(default_factory=dict)
    """Policies: episodes in which a forbidden contact, an overload or an overspeed broke a rule first, by stage."""
    replanned: int = 0
    """Attempts in which a skill was planned anew."""
    replanned_successes: int = 0
    """Those of them that succeeded."""
    strict: SuccessMeasure | None = None
    """Successes whose part ends in the last tenth of its range. None: the index is of an earlier version."""

    @classmethod
    def of(cls, summaries: Iterable[EpisodeSummary]) -> RunStatistics:
        """Counts the summaries of a data set one by one: there may be millions."""
        n = successes = replanned = replanned_successes = strict = 0
        knows_strict = True
        counts: Counter[str] = Counter()
        first: dict[str, int] = {}
        times: dict[str, DecimatingSampler[float]] = {stage: DecimatingSampler(SAMPLE) for stage in (SEARCH, *STAGES)}
        whole: DecimatingSampler[float] = DecimatingSampler(SAMPLE)
        policy = PolicyCounter()
        for item in summaries:
            n += 1
            policy.add(item)
            successes += item.success
            strict += item.success and (item.range_share or 0.0) >= STRICT_SHARE
            knows_strict &= not item.success or item.range_share is not None
            replanned += item.replans > 0
            replanned_successes += item.success and item.replans > 0
            if item.code is not None:
                counts[item.code] += 1
                first[item.code] = min(first.get(item.code, item.number), item.number)
            if (total := episode_ms(item.timings_ms)) is not None:
                whole.add(total)
            for stage, sample in times.items():
                if value := item.timings_ms.get(stage):
                    sample.add(value)
        return cls(
            n=n,
            successes=successes,
            codes=dict(sorted(counts.items(), key=lambda item: (-item[1], item[0]))),
            medians_ms={stage: median(sample.items) for stage, sample in times.items() if sample.items},
            median_episode_ms=median(whole.items) if whole.items else None,
            first=first,
            goal=policy.measure("goal", n=n) if policy.n else None,
            clean=policy.measure("clean", n=n) if policy.n else None,
            share=policy.mean_share(n=n) if policy.n else None,
            stages={stage: policy.stages[stage] for stage in STAGES_OF_POLICY if policy.stages[stage]},
            violations={stage: policy.violations[stage] for stage in STAGES_OF_POLICY if policy.violations[stage]},
            replanned=replanned,
            replanned_successes=replanned_successes,
            strict=SuccessMeasure(n, strict) if knows_strict else None,
        )

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's 95 % interval of the success rate."""
        return wilson_interval(self.successes, self.n)

    def success_text(self) -> str:
        """`18/20 = 90.0 % (95 % interval 69.9 to 97.2 %)`."""
        return share_text(self.successes, self.n)

    def first_attempt_text(self) -> str:
        """The same for successes in which no skill was planned anew: the rate without replans."""
        return share_text(self.successes - self.replanned_successes, self.n)

    def replans_text(self) -> str:
        """`5 of 7 attempts with a skill planned anew succeeded`."""
        return f"{self.replanned_successes} of {self.replanned} attempts with a skill planned anew succeeded"

    def times_text(self) -> str:
        """`1.57 s (plan 127, reset 110, execute 1305, write 23 ms)`: the median of an episode, and of each stage."""
        stages = [f"{stage} {self.medians_ms[stage]:.0f}" for stage in (SEARCH, *STAGES) if stage in self.medians_ms]
        if not stages:
            return "-"
        text = f"{', '.join(stages)} ms"
        return text if self.median_episode_ms is None else f"{time_text(self.median_episode_ms)} ({text})"

    def codes_text(self) -> str:
        """`plan_infeasible 1, slipped 1`, or `none`."""
        return ", ".join(f"{code} {count}" for code, count in self.codes.items()) or "none"
