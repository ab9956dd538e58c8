"""Counts the attempts of a data set in one pass over its index, and success rates by what was attempted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from unlatch.simcore.errors import RecordingError
from unlatch.simcore.recording.data_set import DataSet
from unlatch.simcore.recording.episode_reading import verify_episode
from unlatch.simcore.recording.index import EpisodeSummary
from unlatch.workflows.runs.statistics import (
    CorruptEpisodes,
    DecimatingSampler,
    PolicyCounter,
    episode_ms,
    wilson_interval,
)

SAMPLE = 10_000
"""Largest number of attempts for maps and distributions; of more, every second, fourth, ... is kept."""
MOST_VERIFIED = 10_000
"""Largest number of attempts whose files are verified; of more, every second, third, ... attempt."""
EXAMPLES = 12
"""How many episode numbers are kept for each outcome."""
STANDING = "bottom"
"""Side that is down if the record of an object names none."""
MAX_INSTANCES = 100_000
"""Largest number of instances that are counted separately."""
TOTAL = "total"
"""Key of the wall times of whole episodes, beside those of their stages."""
_OPENING = "opening."


@dataclass
class Counts:
    """Counts of attempts and their outcomes."""

    n: int = 0
    successes: int = 0
    codes: Counter[str] = field(default_factory=Counter)
    """Failures by code."""

    def add(self, code: str | None) -> None:
        """Counts an attempt; None: it succeeded."""
        self.n += 1
        if code is None:
            self.successes += 1
        else:
            self.codes[code] += 1

    def __add__(self, other: Counts) -> Counts:
        return Counts(self.n + other.n, self.successes + other.successes, self.codes + other.codes)

    @property
    def rate(self) -> float:
        """Share of successes; NaN without attempts."""
        return self.successes / self.n if self.n else float("nan")

    @property
    def interval(self) -> tuple[float, float]:
        """95 % Wilson interval of the rate."""
        return wilson_interval(self.successes, self.n)

    def to_dict(self) -> dict[str, Any]:
        """Returns plain values for JSON."""
        low, high = self.interval
        rate = self.rate if self.n else None
        codes = dict(self.codes.most_common())
        return {"n": self.n, "successes": self.successes, "rate": rate, "interval_95": [low, high], "codes": codes}


@dataclass(frozen=True)
class MapPoint:
    """One attempt on a map."""

    number: int
    code: str | None
    """Failure code; None: it succeeded."""
    x_m: float
    y_m: float
    yaw_rad: float
    opening: float | None
    """How far open the part was at the start [rad or m]; None if that was not drawn."""


@dataclass
class Tally:
    """Counts and samples of the attempts of one data set."""

    name: str
    """Shortest unique name of the data set."""
    data_set: DataSet
    total: Counts = field(default_factory=Counts)
    replanned: Counts = field(default_factory=Counts)
    """Attempts in which a skill was planned anew."""
    by_category: dict[str, Counts] = field(default_factory=dict)
    by_instance: dict[str, Counts] = field(default_factory=dict)
    by_side: dict[str, Counts] = field(default_factory=dict)
    """By the side of the object that is down."""
    uncounted_instances: int = 0
    """Attempts with instances beyond `MAX_INSTANCES`."""
    examples: dict[str | None, list[int]] = field(default_factory=dict)
    """First episodes of each code; None: success."""
    places: DecimatingSampler[MapPoint] = field(default_factory=lambda: DecimatingSampler(SAMPLE))
    """Places of the object, of all attempts or of an evenly spaced sample."""
    timings_ms: dict[str, DecimatingSampler[float]] = field(default_factory=dict)
    """Wall times by stage, and of whole episodes as `TOTAL`, of all attempts or of an evenly spaced sample [ms]."""
    damaged: CorruptEpisodes = field(default_factory=CorruptEpisodes)
    """Episodes that cannot be read; they are not counted."""
    verified_every: int = 1
    """1: the files of every attempt were verified; 2: those of every second attempt, and so on."""
    policy: PolicyCounter = field(default_factory=PolicyCounter)
    """Counts of a policy by both measures of success and by stage; empty for demonstrations."""

    def add(self, summary: EpisodeSummary) -> None:
        """Counts an attempt."""
        self.total.add(summary.code)
        self.policy.add(summary)
        if summary.replans:
            self.replanned.add(summary.code)
        numbers = self.examples.setdefault(summary.code, [])
        if len(numbers) < EXAMPLES:
            numbers.append(summary.number)
        acted_on = summary.objects.get(self.object_name, {})
        self._count_instance(acted_on, summary.code)
        self._sample(summary, acted_on)

    def _count_instance(self, acted_on: dict[str, Any], code: str | None) -> None:
        category = acted_on.get("category")
        if category is None:
            return
        self.by_category.setdefault(category, Counts()).add(code)
        self.by_side.setdefault(acted_on.get("rests_on", STANDING), Counts()).add(code)
        instance = f"{category} {acted_on.get('instance', '')}".rstrip()
        if instance in self.by_instance or len(self.by_instance) < MAX_INSTANCES:
            self.by_instance.setdefault(instance, Counts()).add(code)
        else:
            self.uncounted_instances += 1

    def _sample(self, summary: EpisodeSummary, acted_on: dict[str, Any]) -> None:
        if "x_m" in acted_on and "y_m" in acted_on:
            opening = next((value for key, value in acted_on.items() if key.startswith(_OPENING)), None)
            place = (acted_on["x_m"], acted_on["y_m"], acted_on.get("yaw_rad", 0.0), opening)
            self.places.add(MapPoint(summary.number, summary.code, *place))
        total = episode_ms(summary.timings_ms)
        for stage, value in {**summary.timings_ms, **({} if total is None else {TOTAL: total})}.items():
            self.timings_ms.setdefault(stage, DecimatingSampler(SAMPLE)).add(value)

    @property
    def config(self) -> dict[str, Any]:
        """Configuration of the episodes from the header; empty if there is none."""
        config = self.data_set.header.get("config")
        return config if isinstance(config, dict) else {}

    def label(self, group: str) -> str:
        """Returns the name of the `task`, `robot` or `randomization`."""
        chosen = self.config.get(group)
        return str(chosen.get("name", "?")) if isinstance(chosen, dict) else "?"

    @property
    def object_name(self) -> str:
        """Name of the object that is acted on first."""
        for entry in self.config.get("skills", ()):
            if isinstance(entry, dict) and entry.get("objects"):
                return str(entry["objects"][0])
        chosen = self.config.get("object")
        return str(chosen.get("name", "")) if isinstance(chosen, dict) else ""


def tally(data_set: DataSet, *, name: str) -> Tally:
    """Counts the attempts of a data set that can be read.

    The files of up to `MOST_VERIFIED` attempts are verified; the values that are counted come from the index.

    Raises:
        FormatVersionError: An episode has a format that this version cannot read.
    """
    counted = Tally(name, data_set, verified_every=1 + len(data_set) // MOST_VERIFIED)
    for place, summary in enumerate(data_set.each_summary(counted.damaged.add)):
        if place % counted.verified_every == 0:
            try:
                verify_episode(data_set.folder_of(summary.number))
            except RecordingError as exc:
                counted.damaged.add(summary.number, exc)
                continue
        counted.add(summary)
    for numbers in counted.examples.values():
        numbers.sort()
    return counted


MOST_ROWS = 24
"""Largest number of rows of a breakdown; rows with the lowest rates are kept."""


Breakdown = dict[str, Any]
"""Success by one property: its `title`, and `rows` with a `label` and `columns`: the `Counts` of each data set of a
comparison, or of all together. `left_out` describes what is not shown. If `has_one_value`, the rate is that of
all attempts; if there are as many rows as data sets, they say nothing that the data sets do not say."""


def breakdowns(columns: Sequence[Sequence[Tally]]) -> list[Breakdown]:
    """Returns the success rates of groups of data sets by each property, all attempts first."""
    found = [make_breakdown("all", columns, lambda item: {"all attempts": item.total})]
    if any(len(column) > 1 for column in columns):
        found.append(make_breakdown("data set", columns, lambda item: {item.name: item.total}))
    for group in ("task", "robot", "randomization"):
        found.append(make_breakdown(group, columns, lambda item, group=group: {item.label(group): item.total}))  # type: ignore[misc]
    found.append(make_breakdown("category", columns, lambda item: item.by_category))
    sides = make_breakdown("rests on", columns, lambda item: item.by_side)
    if [row["label"] for row in sides["rows"]] != [STANDING]:
        found.append(sides)
    found.append(_instance_breakdown(columns))
    return [item for item in found if item["rows"]]


def make_breakdown(
    title: str, columns: Sequence[Sequence[Tally]], counts_of: Callable[[Tally], Mapping[str, Counts]]
) -> Breakdown:
    """Returns the counts of groups of data sets by the labels that `counts_of` gives to each data set, sorted."""
    parts = [[counts_of(item) for item in column] for column in columns]
    labels = sorted({label for column in parts for part in column for label in part})
    rows = [
        {
            "label": label,
            "columns": [sum((part[label] for part in column if label in part), Counts()) for column in parts],
        }
        for label in labels
    ]
    return _breakdown_of(title, rows)


def _breakdown_of(title: str, rows: list[dict[str, Any]], left_out: str = "") -> Breakdown:
    has_one_value = len(rows) == 1 and not left_out
    return {"title": title, "rows": rows, "left_out": left_out, "has_one_value": has_one_value, "row_count": len(rows)}


def _instance_breakdown(columns: Sequence[Sequence[Tally]]) -> Breakdown:
    """Returns the rates of instances that were drawn more than once; other rates mean little."""
    rows = make_breakdown("instance", columns, lambda item: item.by_instance)["rows"]
    repeated = [row for row in rows if max(counts.n for counts in row["columns"]) > 1]
    pooled = {row["label"]: sum(row["columns"], Counts()) for row in repeated}
    repeated.sort(key=lambda row: (pooled[row["label"]].rate, -pooled[row["label"]].n))
    beyond = sum(item.uncounted_instances for column in columns for item in column)
    words = {
        "more with higher rates": len(repeated) - MOST_ROWS,
        "instances that were drawn once": len(rows) - len(repeated),
        "attempts of further instances": beyond,
    }
    left_out = "; ".join(f"{count:,} {what}" for what, count in words.items() if count > 0)
    return _breakdown_of("instance", repeated[:MOST_ROWS], left_out)
