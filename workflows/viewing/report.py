"""Collects the numbers, charts and pictures of a report on data sets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import add
from statistics import median
from typing import Any

import yaml

from unlatch.simcore.errors import UnlatchError, count_noun
from unlatch.simcore.recording.json_values import differences
from unlatch.simcore.recording.policy_outcome import STAGES
from unlatch.workflows.runs.earlier_code import describe_mixed_code
from unlatch.workflows.runs.progress import Pace, StepProgress, is_telling, pace_of, read_run_times
from unlatch.workflows.runs.recorded_config import config_of
from unlatch.workflows.runs.statistics import MOST_KEPT, SEARCH, MeanShare, SuccessMeasure
from unlatch.workflows.runs.statistics import STAGES as TIMED_STAGES
from unlatch.workflows.viewing import report_examples as charts
from unlatch.workflows.viewing.episode_files import commands_of, report_command, view_command
from unlatch.workflows.viewing.report_counts import (
    TOTAL,
    Breakdown,
    Counts,
    MapPoint,
    Tally,
    breakdowns,
    make_breakdown,
)
from unlatch.workflows.viewing.report_examples import (
    MOST_STRIPS,
    EpisodeCurves,
    PictureStrip,
    choose_strips,
    count_strip_pictures,
    read_curves,
    take_strips,
)

GROUPS = ("task", "robot", "randomization")


@dataclass(frozen=True)
class SweepRow:
    """One data set of a sweep."""

    name: str
    values: tuple[str, ...]
    """What differs between the data sets: names of task, robot, randomization."""
    total: Counts
    goal: SuccessMeasure | None
    """Successes of a policy that may break rules; None for demonstrations."""
    median_ms: float | None
    """Wall time of an episode, all stages together [ms]."""
    command: str
    """The command that shows the first failure of the most frequent code, or a success; empty: there is no attempt."""
    report: str
    """The command that writes the report of this data set alone."""

    def to_dict(self) -> dict[str, Any]:
        """Returns plain values for JSON."""
        return {"command": self.command, "report": self.report, "median_ms": self.median_ms}


def varied_groups(tallies: Sequence[Tally]) -> list[str]:
    """Returns which of task, robot and randomization differ between data sets, without those that their names say."""
    return [
        group
        for group in GROUPS
        if len({item.label(group) for item in tallies}) > 1 and any(item.label(group) != item.name for item in tallies)
    ]


def make_row(item: Tally, groups: Sequence[str], median_ms: float | None) -> SweepRow:
    """Returns the row of a data set."""
    code = next((code for code, _ in item.total.codes.most_common()), None)
    episode = next(iter(item.examples.get(code, [])), None)
    return SweepRow(
        item.name,
        tuple(item.label(group) for group in groups),
        item.total,
        item.policy.measure("goal", n=item.total.n) if item.policy.n else None,
        median_ms,
        "" if episode is None else view_command(item.data_set, episode),
        report_command(item.data_set),
    )


MOST_CHARTED = 12
"""Largest number of data sets whose charts are on a page; beyond it, each set's own report has them."""
_STAGE_WORDS = {
    SEARCH: "search for a layout",
    "plan": "planning",
    "reset": "reset",
    "execute": "simulation",
    "write": "writing",
}


@dataclass(frozen=True)
class ReportColumn:
    """Data sets that are counted together, a column of a comparison."""

    name: str
    total: Counts
    per_hour: float | None
    """Episodes per hour of the wall time of the runs, see `Pace`; None if it is not known."""
    median_ms: float | None
    """Wall time of an episode, all stages together [ms]."""
    replanned: Counts
    """Attempts in which a skill was planned anew."""


@dataclass(frozen=True)
class PolicyResult:
    """How far a policy came in one data set."""

    name: str
    goal: SuccessMeasure
    """The part is where it should be, and stays."""
    clean: SuccessMeasure
    """The same without a broken rule."""
    share: MeanShare | None
    """How far the parts were led at the end, as a share of what was asked; None: it is not known."""
    stages: list[tuple[str, str, int, int]]
    """Each stage, its meaning, how many episodes came no further, and in how many of all a rule was first broken in
    it."""

    @classmethod
    def of(cls, item: Tally) -> PolicyResult:
        """Returns the result of a data set whose episodes went on after broken rules."""
        found, n = item.policy, item.total.n
        stages = [(stage, meaning, found.stages[stage], found.violations[stage]) for stage, meaning in STAGES.items()]
        return cls(item.name, found.measure("goal", n=n), found.measure("clean", n=n), found.mean_share(n=n), stages)

    def to_dict(self) -> dict[str, Any]:
        """Returns plain values."""
        measures = {
            key: {**vars(measure), "rate": measure.rate, "interval_95": list(measure.interval)}
            for key, measure in (("goal", self.goal), ("clean", self.clean))
        }
        if self.share is not None:
            measures["share"] = {**vars(self.share), "interval_95": list(self.share.interval)}
        stages = {stage: {"episodes": n, "first_violations": broken} for stage, _, n, broken in self.stages}
        return {**measures, "stages": stages}


@dataclass(frozen=True)
class Origin:
    """Where a data set comes from, and how to reproduce its episodes."""

    name: str
    made: str
    """When, where and by which version it was made."""
    example: int
    """Number of an example episode: a failure if there is one."""
    examples: list[tuple[str | None, int, list[int]]]
    """Each failure code, or None for success, how many episodes ended so, and the numbers of the first ones."""
    commands: dict[str, str]
    """Commands by their purpose; `NUMBER` stands for the episode."""
    yaml: str
    """The configuration."""


@dataclass
class Report:
    """Contents of a report."""

    title: str
    subtitle: str
    n_sets: int
    columns: list[ReportColumn]
    breakdowns: list[Breakdown]
    stacks: list[tuple[str, Counts]]
    """Labels and counts of the bars of failure codes."""
    codes: Counter[str]
    """All failures by code."""
    origins: list[Origin]
    paces: dict[str, Pace]
    timings_ms: dict[str, dict[str, list[float]]]
    """Wall times by column and stage, of all attempts or of an evenly spaced sample [ms]."""
    differences: list[tuple[str, str, str]]
    """Keys whose values differ between two data sets, with both values."""
    n_damaged: int
    """How many episodes cannot be read and are not counted."""
    series: dict[str, list[EpisodeCurves]]
    places: dict[str, list[MapPoint]]
    maps: list[tuple[str, list[str]]] = field(default_factory=list)
    curves: list[tuple[str, list[str]]] = field(default_factory=list)
    times: list[str] = field(default_factory=list)
    strips: list[PictureStrip] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
    policies: list[PolicyResult] = field(default_factory=list)
    groups: list[str] = field(default_factory=list)
    """What differs between the data sets of a sweep."""
    rows: list[SweepRow] = field(default_factory=list)
    """The data sets of a sweep; empty for one or two data sets."""

    @property
    def charted(self) -> int:
        """How many data sets of a sweep have charts at most."""
        return MOST_CHARTED

    def strips_of(self, name: str) -> list[PictureStrip]:
        """Returns the strips of a data set."""
        return [strip for strip in self.strips if strip.data_set == name]

    def charts_of(self, name: str) -> list[str]:
        """Returns the maps and curves of a data set."""
        return [chart for groups in (self.maps, self.curves) for of, charts in groups if of == name for chart in charts]

    def to_dict(self) -> dict[str, Any]:
        """Returns the numbers as plain values."""
        names = [column.name for column in self.columns]
        times = {
            name: {stage: _quantiles(values) for stage, values in stages.items()}
            for name, stages in self.timings_ms.items()
        }
        return {
            "title": self.title,
            "total": {column.name: column.total.to_dict() for column in self.columns},
            "replanned": {column.name: column.replanned.to_dict() for column in self.columns if column.replanned.n},
            "success": {part.title: part.to_dict(names) for part in self.breakdowns},
            "pace": {name: vars(pace) for name, pace in self.paces.items()},
            "wall_time_ms": times,
            "places": {name: [vars(place) for place in places] for name, places in self.places.items()},
            "curves": {name: [item.to_dict() for item in items] for name, items in self.series.items()},
            "strips": [item.to_dict() for item in self.strips],
            "sweep": {row.name: row.to_dict() for row in self.rows},
            "commands": {origin.name: origin.commands for origin in self.origins},
            "differences": [{"key": key, "values": [one, other]} for key, one, other in self.differences],
            "left_out": self.notices,
            "policies": {item.name: item.to_dict() for item in self.policies},
        }


def make_report(tallies: Sequence[Tally], *, pictures: int, clips: int, progress: StepProgress | None = None) -> Report:
    """Makes a report with `pictures` strips of each outcome, of which the first `clips` have a clip.

    Two data sets are compared. More are a sweep: they are counted together, and each has a row in a table.
    `progress` counts the pictures.
    """
    groups = [[item] for item in tallies] if len(tallies) == 2 else [list(tallies)]
    names = [item.name for item in tallies] if len(tallies) <= 2 else [f"{len(tallies)} data sets"]
    paces = {item.name: pace_of(read_run_times(item.data_set.path)) for item in tallies}
    codes = Counter(dict(sum((item.total.codes for item in tallies), Counter()).most_common()))
    is_sweep = len(tallies) > 2
    charted = tallies[: MOST_CHARTED if is_sweep else None]
    varied = varied_groups(tallies) if is_sweep else []
    report = Report(
        title=" · ".join(
            ", ".join(dict.fromkeys(item.label(group) for item in tallies)) for group in ("task", "robot")
        ),
        subtitle=f"{count_noun(sum(item.total.n for item in tallies), 'attempt')} in "
        + ", ".join(item.name for item in tallies[:6])
        + (f" and {len(tallies) - 6} more data sets" if len(tallies) > 6 else ""),
        n_sets=len(tallies),
        columns=[_make_column(name, group, paces) for name, group in zip(names, groups, strict=True)],
        breakdowns=breakdowns(groups),
        stacks=_count_failures(tallies),
        codes=codes,
        origins=[_describe_origin(item) for item in tallies],
        paces=paces,
        timings_ms={name: _stage_times(group) for name, group in zip(names, groups, strict=True)},
        differences=list(differences(*(item.data_set.header for item in tallies))) if len(tallies) == 2 else [],
        series={item.name: read_curves(item) for item in charted},
        places={item.name: item.places for item in tallies},
        n_damaged=sum(len(item.damaged.numbers) for item in tallies),
        notices=[f"{item.name}: {line}" for item in tallies for line in _describe_damage(item)],
        policies=[PolicyResult.of(item) for item in tallies if item.policy.n],
        groups=varied,
        rows=[make_row(item, varied, _median_time([item])) for item in tallies] if is_sweep else [],
    )
    _draw_charts(report, [item.name for item in charted])
    if pictures:
        _take_pictures(
            report,
            tallies,
            pictures=pictures,
            clips=clips,
            progress=progress or StepProgress("pictures", is_shown=False),
        )
        report.strips.sort(key=lambda strip: -1 if strip.code is None else list(codes).index(strip.code))
    return report


def _describe_damage(item: Tally) -> list[str]:
    """Returns a line for each episode that cannot be read, what to do, and how many were not looked at."""
    lines = item.damaged.lines(most=MOST_KEPT)
    if lines:
        lines.append("the command that made this data set makes its damaged episodes again, if you run it once more")
    if item.verified_every > 1:
        lines.append(
            f"only one in {item.verified_every} episodes was read to find damaged ones; `unlatch check` reads all"
        )
    return lines


def _make_column(name: str, group: Sequence[Tally], paces: dict[str, Pace]) -> ReportColumn:
    total = reduce(add, (item.total for item in group))
    known = [pace for item in group if (pace := paces[item.name]).per_hour is not None]
    if not is_telling(episodes=total.n, successes=total.successes):
        known = []
    hours = sum(pace.worked_s for pace in known) / 3600.0
    made = sum(pace.per_hour * pace.worked_s / 3600.0 for pace in known if pace.per_hour is not None)
    replanned = reduce(add, (item.replanned for item in group))
    return ReportColumn(name, total, made / hours if hours else None, _median_time(group), replanned)


def _median_time(group: Sequence[Tally]) -> float | None:
    times = [value for item in group for value in item.timings_ms.get(TOTAL, [])]
    return median(times) if times else None


def _stage_times(group: Sequence[Tally]) -> dict[str, list[float]]:
    times = {
        stage: [value for item in group for value in item.timings_ms.get(stage, []) if value]
        for stage in (SEARCH, *TIMED_STAGES)
    }
    return {stage: values for stage, values in times.items() if values}


def _count_failures(tallies: Sequence[Tally]) -> list[tuple[str, Counts]]:
    """Returns the counts of each data set, then of each category if there are several."""
    rows = make_breakdown("category", [tallies], lambda item: item.by_category).rows
    categories = [(row.label, row.columns[0]) for row in rows] if len(rows) > 1 else []
    return [*((item.name, item.total) for item in tallies), *categories]


def _describe_origin(item: Tally) -> Origin:
    info, versions = item.data_set.info, item.data_set.header.get("versions", {})
    failures = [numbers[0] for code, numbers in item.examples.items() if code is not None]
    version = versions.get("unlatch", "?") if isinstance(versions, dict) else "?"
    made = f"started {info.get('created', '?')} on {info.get('host', '?')} by unlatch {version}: {item.data_set.path}"
    mixed = describe_mixed_code(item.data_set.path)
    made += f"; made with different code of {mixed}" if mixed else ""
    example = min(failures, default=next(iter(item.examples.get(None, [])), 0))
    counts = [*item.total.codes.most_common(), (None, item.total.successes)]
    examples = [(code, count, item.examples.get(code, [])) for code, count in counts if count]
    text = yaml.safe_dump(item.config, sort_keys=True, default_flow_style=None, width=110)
    return Origin(item.name, made, example, examples, commands_of(item.data_set), text)


def _draw_charts(report: Report, names: Sequence[str]) -> None:
    """Draws the charts of some data sets, and the times of all; a chart that would be empty is left out."""
    for name in names:
        places = report.places[name]
        if places and report.codes:  # without a failure there is no place where attempts fail
            report.maps.append((name, [charts.table_map(places), charts.yaw_map(places)]))
        if series := report.series[name]:
            drawn = [charts.opening_curves(series)]
            if any(item.finger_n.any() for item in series):
                drawn.append(charts.finger_force_curves(series))
            if any(item.forbidden_n.any() for item in series):
                drawn.append(charts.forbidden_force_curves(series))
            report.curves.append((name, drawn))
    if report.rows:
        return  # a sweep's times differ by data set: its table has them
    for stage in (SEARCH, *TIMED_STAGES):
        columns = {name: stages.get(stage, []) for name, stages in report.timings_ms.items()}
        if any(columns.values()):
            report.times.append(charts.distribution(_STAGE_WORDS[stage], columns))


def _take_pictures(
    report: Report,
    tallies: Sequence[Tally],
    *,
    pictures: int,
    clips: int,
    progress: StepProgress,
) -> None:
    chosen = choose_strips(tallies, pictures=pictures)
    with_clip = {(item.name, number) for item, number in chosen[:clips]}
    progress.begin(
        sum(count_strip_pictures(item, number, with_clip=(item.name, number) in with_clip) for item, number in chosen)
    )
    for item in tallies:
        numbers = [number for of, number in chosen if of is item]
        if not numbers:
            report.notices += [f"no pictures of {item.name}: a page has at most {MOST_STRIPS} episodes with pictures"]
            continue
        try:
            cfg = config_of(item.data_set)
        except UnlatchError as exc:  # made by another version: the report shows its numbers nevertheless
            report.notices.append(f"no pictures of {item.name}: {exc.message}")
            continue
        clipped = {number for name, number in with_clip if name == item.name}
        for found in take_strips(item, cfg, numbers, with_clip=clipped, on_picture=progress.advance):
            if isinstance(found, PictureStrip):
                report.strips.append(found)
            else:
                report.notices.append(found)


def _quantiles(values: Sequence[float]) -> dict[str, float]:
    ordered = sorted(values)
    last = len(ordered) - 1
    return {
        "n": len(ordered),
        "mean": sum(ordered) / len(ordered),
        **{f"p{share}": ordered[round(last * share / 100)] for share in (5, 50, 95, 99)},
    }
