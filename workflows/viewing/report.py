"""Collects the numbers, charts and pictures of a report on data sets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import reduce
from operator import add
from statistics import median
from typing import Any

import yaml

from unlatch.simcore.errors import UnlatchError, count_noun
from unlatch.simcore.recording.json_values import differences
from unlatch.simcore.recording.policy_outcome import STAGES
from unlatch.workflows.runs.earlier_code import describe_mixed_code
from unlatch.workflows.runs.progress import Pace, is_telling, pace_of, read_run_times
from unlatch.workflows.runs.recorded_config import config_of
from unlatch.workflows.runs.statistics import MOST_KEPT, SEARCH
from unlatch.workflows.runs.step_progress import StepProgress
from unlatch.workflows.viewing import report_examples as charts
from unlatch.workflows.viewing.episode_files import commands_of, report_command, view_command
from unlatch.workflows.viewing.report_counts import TOTAL, Tally, breakdowns, make_breakdown

GROUPS = ("task", "robot", "randomization")
MOST_CHARTED = 12
"""Largest number of data sets whose charts are on a page; beyond it, each set's own report has them."""
_STAGE_WORDS = {
    SEARCH: "search for a layout",
    "plan": "planning",
    "reset": "reset",
    "execute": "simulation",
    "write": "writing",
}

Report = dict[str, Any]
"""What the template `report.html` shows.

`columns` are data sets that are counted together, two of a comparison. `rows` are those of a sweep; empty for one
or two. `origins` say where each data set comes from, and how to make its episodes again. `stacks` have the
counts of the bars of failure codes.
"""


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
    varied = _varied_groups(tallies) if is_sweep else []
    labels = (", ".join(dict.fromkeys(item.label(group) for item in tallies)) for group in ("task", "robot"))
    more = f" and {len(tallies) - 6} more data sets" if len(tallies) > 6 else ""
    shown = ", ".join(item.name for item in tallies[:6])
    report: Report = {
        "title": " · ".join(labels),
        "subtitle": f"{count_noun(sum(item.total.n for item in tallies), 'attempt')} in {shown}{more}",
        "n_sets": len(tallies),
        "columns": [_make_column(name, group, paces) for name, group in zip(names, groups, strict=True)],
        "breakdowns": breakdowns(groups),
        "stacks": _count_failures(tallies),
        "codes": codes,
        "origins": [_describe_origin(item) for item in tallies],
        "paces": paces,
        "timings_ms": {name: _stage_times(group) for name, group in zip(names, groups, strict=True)},
        "differences": list(differences(*(item.data_set.header for item in tallies))) if len(tallies) == 2 else [],
        "series": {item.name: charts.read_curves(item) for item in tallies[: MOST_CHARTED if is_sweep else None]},
        "places": {item.name: item.places.items for item in tallies},
        "n_damaged": sum(len(item.damaged.numbers) for item in tallies),
        "notices": [f"{item.name}: {line}" for item in tallies for line in _describe_damage(item)],
        "policies": [_describe_policy(item) for item in tallies if item.policy.n],
        "groups": varied,
        "rows": [_make_row(item, varied) for item in tallies] if is_sweep else [],
        "charted": MOST_CHARTED,
        "strips": [],
    }
    report |= _draw_charts(report)
    if pictures:
        for found in _take_pictures(tallies, pictures, clips, progress or StepProgress("pictures", is_shown=False)):
            report["notices" if isinstance(found, str) else "strips"].append(found)
        report["strips"].sort(key=lambda strip: -1 if strip["code"] is None else list(codes).index(strip["code"]))
    return report


def numbers_of(report: Report) -> dict[str, Any]:
    """Returns the numbers of a report as plain values for JSON."""
    names = [column["name"] for column in report["columns"]]
    return {
        "title": report["title"],
        "total": {column["name"]: column["total"].to_dict() for column in report["columns"]},
        "replanned": {c["name"]: c["replanned"].to_dict() for c in report["columns"] if c["replanned"].n},
        "success": {
            part["title"]: {
                row["label"]: {name: counts.to_dict() for name, counts in zip(names, row["columns"], strict=True)}
                for row in part["rows"]
            }
            for part in report["breakdowns"]
        },
        "pace": {name: vars(pace) for name, pace in report["paces"].items()},
        "wall_time_ms": {
            name: {stage: _quantiles(values) for stage, values in stages.items()}
            for name, stages in report["timings_ms"].items()
        },
        "places": {name: [vars(place) for place in places] for name, places in report["places"].items()},
        "curves": report["series"],
        "strips": [
            {
                "data_set": strip["data_set"],
                "episode": strip["number"],
                "code": strip["code"],
                "command": strip["command"],
                "clip_frames": strip["clip"].frames if strip["clip"] else 0,
            }
            for strip in report["strips"]
        ],
        "sweep": {row["name"]: {key: row[key] for key in ("command", "report", "median_ms")} for row in report["rows"]},
        "commands": {origin["name"]: origin["commands"] for origin in report["origins"]},
        "differences": [{"key": key, "values": [one, other]} for key, one, other in report["differences"]],
        "left_out": report["notices"],
        "policies": {item["name"]: _policy_numbers(item) for item in report["policies"]},
    }


def _varied_groups(tallies: Sequence[Tally]) -> list[str]:
    """Returns which of task, robot and randomization differ between data sets, without those that their names say."""
    return [
        group
        for group in GROUPS
        if len({item.label(group) for item in tallies}) > 1 and any(item.label(group) != item.name for item in tallies)
    ]


def _make_row(item: Tally, groups: Sequence[str]) -> dict[str, Any]:
    """Returns the row of a data set; its command shows the first failure of the most frequent code, or a success."""
    code = next((code for code, _ in item.total.codes.most_common()), None)
    episode = next(iter(item.examples.get(code, [])), None)
    return {
        "name": item.name,
        "values": [item.label(group) for group in groups],
        "total": item.total,
        "goal": item.policy.measure("goal", n=item.total.n) if item.policy.n else None,
        "median_ms": _median_time([item]),
        "command": "" if episode is None else view_command(item.data_set, episode),
        "report": report_command(item.data_set),
    }


def _describe_policy(item: Tally) -> dict[str, Any]:
    """Returns how far a policy came in one data set.

    Each stage has its meaning, how many episodes came no further, and in how many of all a rule was first broken in it.
    """
    found, n = item.policy, item.total.n
    stages = [(stage, meaning, found.stages[stage], found.violations[stage]) for stage, meaning in STAGES.items()]
    measures = {
        "goal": found.measure("goal", n=n),
        "clean": found.measure("clean", n=n),
        "share": found.mean_share(n=n),
    }
    return {"name": item.name, **measures, "stages": stages}


def _policy_numbers(item: dict[str, Any]) -> dict[str, Any]:
    """Returns the measures of a policy as plain values."""
    found: dict[str, Any] = {}
    for key in ("goal", "clean", "share"):
        if (measure := item[key]) is not None:
            found[key] = {**vars(measure), "interval_95": list(measure.interval)}
            found[key] |= {} if key == "share" else {"rate": measure.rate}
    stages = {stage: {"episodes": n, "first_violations": broken} for stage, _, n, broken in item["stages"]}
    return {**found, "stages": stages}


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


def _make_column(name: str, group: Sequence[Tally], paces: dict[str, Pace]) -> dict[str, Any]:
    """Returns the counts of data sets together, their episodes an hour if known, see `Pace`, and their times."""
    total = reduce(add, (item.total for item in group))
    known = [pace for item in group if (pace := paces[item.name]).per_hour is not None]
    if not is_telling(episodes=total.n, successes=total.successes):
        known = []
    hours = sum(pace.worked_s for pace in known) / 3600.0
    made = sum(pace.per_hour * pace.worked_s / 3600.0 for pace in known if pace.per_hour is not None)
    return {
        "name": name,
        "total": total,
        "per_hour": made / hours if hours else None,
        "median_ms": _median_time(group),
        "replanned": reduce(add, (item.replanned for item in group)),
    }


def _median_time(group: Sequence[Tally]) -> float | None:
    """Returns the median wall time of an episode, all stages together [ms]."""
    times = [value for item in group if TOTAL in item.timings_ms for value in item.timings_ms[TOTAL].items]
    return median(times) if times else None


def _stage_times(group: Sequence[Tally]) -> dict[str, list[float]]:
    """Returns the wall times by stage, of all attempts or of an evenly spaced sample [ms]."""
    times = {
        stage: [v for item in group if stage in item.timings_ms for v in item.timings_ms[stage].items if v]
        for stage in _STAGE_WORDS
    }
    return {stage: values for stage, values in times.items() if values}


def _count_failures(tallies: Sequence[Tally]) -> list[tuple[str, Any]]:
    """Returns the counts of each data set, then of each category if there are several."""
    rows = make_breakdown("category", [tallies], lambda item: item.by_category)["rows"]
    categories = [(row["label"], row["columns"][0]) for row in rows] if len(rows) > 1 else []
    return [*((item.name, item.total) for item in tallies), *categories]


def _describe_origin(item: Tally) -> dict[str, Any]:
    """Returns when, where and how a data set was made, its first episodes by failure code, and commands about them."""
    info, versions = item.data_set.info, item.data_set.header.get("versions", {})
    failures = [numbers[0] for code, numbers in item.examples.items() if code is not None]
    version = versions.get("unlatch", "?") if isinstance(versions, dict) else "?"
    made = f"started {info.get('created', '?')} on {info.get('host', '?')} by unlatch {version}: {item.data_set.path}"
    mixed = describe_mixed_code(item.data_set.path)
    counts = [*item.total.codes.most_common(), (None, item.total.successes)]
    return {
        "name": item.name,
        "made": made + (f"; made with different code of {mixed}" if mixed else ""),
        "example": min(failures, default=next(iter(item.examples.get(None, [])), 0)),
        "examples": [(code, count, item.examples.get(code, [])) for code, count in counts if count],
        "commands": commands_of(item.data_set),
        "yaml": yaml.safe_dump(item.config, sort_keys=True, default_flow_style=None, width=110),
    }


def _draw_charts(report: Report) -> dict[str, Any]:
    """Draws the charts of some data sets, and the times of all; a chart that would be empty is left out."""
    maps, curves, times = [], [], []
    for name, series in report["series"].items():
        places = report["places"][name]
        if places and report["codes"]:  # without a failure there is no place where attempts fail
            maps.append((name, [charts.table_map(places), charts.yaw_map(places)]))
        if series:
            curves.append((name, charts.episode_curves(series)))
    if not report["rows"]:  # a sweep's times differ by data set: its table has them
        for stage, words in _STAGE_WORDS.items():
            columns = {name: stages.get(stage, []) for name, stages in report["timings_ms"].items()}
            if any(columns.values()):
                times.append(charts.distribution(words, columns))
    return {"maps": maps, "curves": curves, "times": times}


def _take_pictures(
    tallies: Sequence[Tally], pictures: int, clips: int, progress: StepProgress
) -> Iterator[dict[str, Any] | str]:
    """Yields strips of pictures, or lines that say why there is none."""
    chosen = charts.choose_strips(tallies, pictures=pictures)
    with_clip = [(item.name, number) for item, number in chosen[:clips]]
    progress.begin(
        sum(charts.count_strip_pictures(item, n, with_clip=(item.name, n) in with_clip) for item, n in chosen)
    )
    for item in tallies:
        numbers = [number for of, number in chosen if of is item]
        if not numbers:
            yield f"no pictures of {item.name}: a page has at most {charts.MOST_STRIPS} episodes with pictures"
            continue
        try:
            cfg = config_of(item.data_set)
        except UnlatchError as exc:  # made by another version: the report shows its numbers nevertheless
            yield f"no pictures of {item.name}: {exc.message}"
            continue
        clipped = {number for name, number in with_clip if name == item.name}
        yield from charts.take_strips(item, cfg, numbers, with_clip=clipped, on_picture=progress.advance)


def _quantiles(values: Sequence[float]) -> dict[str, float]:
    ordered = sorted(values)
    last = len(ordered) - 1
    return {
        "n": len(ordered),
        "mean": sum(ordered) / len(ordered),
        **{f"p{share}": ordered[round(last * share / 100)] for share in (5, 50, 95, 99)},
    }
