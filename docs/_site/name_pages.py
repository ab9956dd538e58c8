"""Writes a page for each table of names of another system, `docs/coming_from/names/*.csv`."""

from __future__ import annotations

import csv
from itertools import groupby
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1] / "coming_from" / "names"
_HEAD = """# Names of {system}

This page lists each name of {system} with what it is called in Unlatch. A name with dots is a key of the
configuration, or a Python name if it begins with `unlatch.`; `dr` comes from `from unlatch import randomization as dr`.
A word before a colon says what kind of name follows: a `skill`, a `term` (type of a constraint), a `meaning` (type that
Unlatch rewrites), a `keypoint`, an `axis`, a `relation` of objects, a `record` (array of an episode), an `annotator`, a
`node` or a `port` of a graph.
"""


def name_pages() -> dict[str, str]:
    """Returns Markdown by path on the site."""
    return {f"reference/names/{path.stem}.md": _page(path) for path in sorted(FOLDER.glob("*.csv"))}


def _page(path: Path) -> str:
    with path.open(encoding="utf-8", newline="") as file:
        (_, system, *_), *rows = csv.reader(file)
    parts = [_HEAD.format(system=system)]
    for section, group in groupby(rows, lambda row: row[0]):
        lines = [f"## {section}", "", f"| {system} | Unlatch | note |", "|---|---|---|"]
        lines += [f"| {_quote(theirs)} | {_quote(ours) or 'none'} | {note} |" for _, theirs, ours, note in group]
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)


def _quote(names: str) -> str:
    return ", ".join(f"`{name}`" for name in names.split("; ") if name)
