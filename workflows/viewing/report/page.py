"""Puts a report's parts into one page that needs no other file and no network."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Iterator, Sequence
from html import escape
from importlib import resources
from string import Template

from unlatch.workflows.viewing.report.breakdown import Breakdown
from unlatch.workflows.viewing.report.content import Column, Report
from unlatch.workflows.viewing.report.examples import Strip
from unlatch.workflows.viewing.report.tally import Counts

_KEYS = ("set-a", "set-b")


def page(report: Report) -> str:
    """The page.

    Args:
        report: What it says.
    """
    template = Template((resources.files("unlatch.workflows.viewing.report") / "page.html").read_text(encoding="utf-8"))
    lines = (line for section in _SECTIONS for line in section(report))
    return template.substitute(title=escape(report.title), body="\n".join(lines))


def _head(report: Report) -> Iterator[str]:
    yield f"<h1>{escape(report.title)}</h1>"
    yield f"<p>{escape(report.subtitle)}</p>"
    for index, column in enumerate(report.columns):
        if len(report.columns) > 1:
            yield f'<h3><span class="key {_KEYS[index]}"></span>{escape(column.name)}</h3>'
        total = column.total
        low, high = total.interval
        rate = f"{100 * total.rate:.1f} %" if total.n else "-"
        speed = "-" if column.per_hour is None else f"{column.per_hour:,.0f}"
        code, count = next(iter(total.codes.most_common(1)), ("none", 0))
        tiles = [
            (rate, f"success, 95 % interval {100 * low:.1f} to {100 * high:.1f} %"),
            (f"{total.successes:,} of {total.n:,}", "attempts succeeded"),
            (f"{total.n - total.successes:,}", f"failed, most often {code} ({count:,})" if count else "failed"),
            (speed, "episodes an hour, pauses left out"),
            (_seconds(column.median_ms), "wall time of an episode, median"),
        ]
        yield '<div class="tiles">'
        yield from (f'<div class="card"><b>{value}</b><span>{escape(words)}</span></div>' for value, words in tiles)
        yield "</div>"


def _seconds(ms: float | None) -> str:
    return "-" if ms is None else f"{ms / 1000.0:.2f} s"


def _success(report: Report) -> Iterator[str]:
    yield "<section><h2>Success</h2>"
    yield "<p>Every attempt counts, refused layouts too. The thin line is Wilson's 95 % interval.</p>"
    if len(report.columns) > 1:
        yield from _column_legend(report.columns)
    yield '<div class="card rates">'
    whole, *parts = report.breakdowns
    yield from _rows(whole)
    same = [f"{part.title} {part.rows[0].label}" for part in parts if part.tells_nothing]
    if same:
        yield f'<div class="words">all of them: {escape(", ".join(same))}</div>'
    for part in parts:
        if part.tells_nothing:
            continue
        yield f'<div class="group">{escape(part.title)}</div>'
        yield from _rows(part)
        if part.left_out:
            yield f'<div class="words">not shown: {escape(part.left_out)}</div>'
    yield "</div></section>"


def _rows(part: Breakdown) -> Iterator[str]:
    for row in part.rows:
        for index, counts in enumerate(row.columns):
            label = escape(row.label) if index == 0 else ""
            bar, figure = _bar(counts, _KEYS[index]), _figure(counts)
            yield f'<div class="label">{label}</div><div class="figure">{figure}</div>{bar}'


def _bar(counts: Counts, key: str) -> str:
    if not counts.n:
        return '<div class="bar"></div>'
    low, high = (100.0 * share for share in counts.interval)
    at = 100.0 * counts.rate
    return (
        f'<div class="bar"><i class="{key}" style="width:{at:.2f}%"></i>'
        f'<u class="{key}" style="left:{low:.2f}%;width:{high - low:.2f}%"></u><s style="left:{at:.2f}%"></s></div>'
    )


def _figure(counts: Counts) -> str:
    if not counts.n:
        return "<small>no attempt</small>"
    low, high = counts.interval
    return (
        f"{100 * counts.rate:.1f} % <small>({100 * low:.1f} to {100 * high:.1f}), "
        f"{counts.successes:,}/{counts.n:,}</small>"
    )


def _column_legend(columns: Sequence[Column]) -> Iterator[str]:
    names = (
        f'<span><span class="key {key}"></span>{escape(column.name)}</span>'
        for key, column in zip(_KEYS, columns, strict=False)
    )
    yield f'<div class="legend">{"".join(names)}</div>'


def _failures(report: Report) -> Iterator[str]:
    codes = report.codes
    yield "<section><h2>Failures</h2>"
    if not codes:
        yield "<p>None.</p></section>"
        return
    yield "<p>Share of the attempts that ended with each code; what is left of a bar succeeded.</p>"
    yield '<div class="card"><div class="legend">'
    for code, count in codes.most_common():
        yield f'<span><span class="key" style="background:var(--code-{code})"></span>{code} {count:,}</span>'
    yield "</div>"
    for label, counts in report.stacks:
        yield f"<h3>{escape(label)}: {counts.n - counts.successes:,} of {counts.n:,}</h3>"
        yield '<div class="stack">'
        for code in codes:
            if counts.codes[code]:
                share = 100.0 * counts.codes[code] / counts.n
                title = f"{code} {counts.codes[code]:,} = {share:.1f} %"
                yield f'<i title="{title}" style="width:{share:.3f}%;background:var(--code-{code})"></i>'
        yield "</div>"
    yield "</div></section>"


def _strips(report: Report) -> Iterator[str]:
    if not report.strips:
        return
    yield "<section><h2>What happened</h2>"
    yield "<p>Successes, then an episode of each failure code; recorded states, seen from where they show most.</p>"
    for strip in report.strips:
        yield from _strip(strip, named=report.n_sets > 1)
    yield "</section>"


def _strip(strip: Strip, *, named: bool) -> Iterator[str]:
    color = "var(--good)" if strip.code is None else f"var(--code-{strip.code})"
    of_set = f"{escape(strip.data_set)}, " if named else ""
    yield '<div class="strip card"><header>'
    yield f'<span class="badge" style="background:{color}">{strip.code or "success"}</span>'
    yield f"<b>{of_set}episode {strip.number}</b><span>{escape(strip.words)}</span>"
    yield f'</header><div class="message">{escape(strip.message)}</div><div class="film">'
    for moment in strip.moments:
        at = "" if moment.time_s is None else f"{moment.time_s:.1f} s, "
        data = base64.b64encode(moment.jpeg).decode()
        failed = ' class="failed"' if moment.failed else ""
        label = escape(moment.label)
        yield f'<figure{failed}><img alt="{label}" src="data:image/jpeg;base64,{data}">'
        yield f"<figcaption>{at}{label}</figcaption></figure>"
    yield "</div></div>"


def _maps(report: Report) -> Iterator[str]:
    yield from _charts("Where it fails", "Dots succeeded, other marks failed.", report.maps, report, legend=True)


def _curves(report: Report) -> Iterator[str]:
    words = "A few successes, and failures of each code in which something moved."
    yield from _charts("How the part moved", words, report.curves, report, legend=True)


def _times(report: Report) -> Iterator[str]:
    words = "Wall times by stage; the slowest hundredth stands in the last bin."
    yield from _charts("Times", words, [("", report.times)], report, legend=False)


def _charts(
    title: str, words: str, groups: Sequence[tuple[str, Sequence[str]]], report: Report, *, legend: bool
) -> Iterator[str]:
    if not any(charts for _, charts in groups):
        return
    yield f"<section><h2>{title}</h2><p>{words}</p>"
    if legend:
        yield from _code_legend(report)
    elif len(report.columns) > 1:
        yield from _column_legend(report.columns)
    side_by_side = len(report.columns) > 1 and len(groups) > 1
    yield '<div class="pair">' if side_by_side else "<div>"
    for name, charts in groups:
        yield f"<div><h3>{escape(name)}</h3>" if len(groups) > 1 else "<div>"
        yield '<div class="charts">'
        yield from (f'<div class="card">{chart}</div>' for chart in charts)
        yield "</div></div>"
    yield "</div></section>"


def _code_legend(report: Report) -> Iterator[str]:
    keys = [("good", "success"), *((f"code-{code}", code) for code, _ in report.codes.most_common())]
    words = (f'<span><span class="key" style="background:var(--{key})"></span>{name}</span>' for key, name in keys)
    yield f'<div class="legend">{"".join(words)}</div>'


def _reproduction(report: Report) -> Iterator[str]:
    yield "<section><h2>Any episode again</h2>"
    yield "<p>An episode is a function of configuration and number alone: made again, it is equal to the bit.</p>"
    for index, source in enumerate(report.sources):
        yield f'<div class="card" style="margin-bottom:12px"><b>{escape(source.name)}</b>'
        yield f"<p>{escape(source.made)}</p>"
        yield f'<label>episode <input type="number" min="0" id="n{index}" value="{source.example}"></label>'
        for words, command in source.commands.items():
            yield f"<h3>{escape(words)}</h3><div class=command>"
            yield f'<code data-number="n{index}" data-command="{escape(command)}">{escape(command)}</code>'
            yield "<button data-copy>copy</button></div>"
        yield f"<details><summary>configuration</summary><pre>{escape(source.yaml)}</pre></details></div>"
    yield "</section>"


def _differences(report: Report) -> Iterator[str]:
    if len(report.columns) < 2:
        return
    names = [escape(column.name) for column in report.columns]
    yield "<section><h2>What differs</h2>"
    if not report.differences:
        yield "<p>Nothing: both were made with the same configuration and versions.</p></section>"
        return
    yield f'<div class="card wide"><table><tr><th>key</th><th>{names[0]}</th><th>{names[1]}</th></tr>'
    for key, one, other in report.differences:
        yield f"<tr><td>{escape(key)}</td><td>{escape(one)}</td><td>{escape(other)}</td></tr>"
    yield "</table></div></section>"


def _notices(report: Report) -> Iterable[str]:
    if not report.notices:
        return []
    lines = "".join(f"<li>{escape(line)}</li>" for line in report.notices)
    return [f"<section><h2>Left out</h2><ul>{lines}</ul></section>"]


_SECTIONS: tuple[Callable[[Report], Iterable[str]], ...] = (
    _head,
    _success,
    _failures,
    _strips,
    _maps,
    _curves,
    _times,
    _reproduction,
    _differences,
    _notices,
)
"""In the order of the page."""
