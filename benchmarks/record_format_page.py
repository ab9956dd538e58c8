"""Fills the tables of the page `docs/record_format.md` from the tables of keys; its other text is written by hand.

`python -m benchmarks.record_format_page docs/record_format.md` does it. A test fails if the page is out of
date.
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterable, Sequence
from pathlib import Path

from unlatch.simcore.errors import RecordingError
from unlatch.simcore.recording.check import not_compared
from unlatch.simcore.recording.episode_fields import (
    APPLIED_FIELDS,
    EPISODE_FIELDS,
    EVENT_FIELDS,
    GOAL_FIELDS,
    GOAL_RESULT_FIELDS,
    INSTANCE_FIELDS,
    LAYOUT_FIELDS,
    PLACE_FIELDS,
    PLAN_FIELDS,
    PREPLAN_FIELDS,
    REFUSAL_FIELDS,
    RULE_FIELDS,
    SETTLE_FIELDS,
    SKILL_FIELDS,
    VIOLATION_FIELDS,
)
from unlatch.simcore.recording.episode_structure import Table, describe_kind
from unlatch.simcore.recording.keys import ACTION, INTERVAL, KEYS, STATE
from unlatch.simcore.recording.success_rules import FAILURE_CODES

_ARRAYS = {"states": STATE, "actions": ACTION, "intervals": INTERVAL}
"""Kind of the arrays in a table, by its name on the page."""
_FIELDS: dict[str, Table] = {
    "episode.json": EPISODE_FIELDS,
    "layout": LAYOUT_FIELDS,
    "layout.instances": INSTANCE_FIELDS,
    "layout.objects": PLACE_FIELDS,
    "layout.preplan": PREPLAN_FIELDS,
    "applied": APPLIED_FIELDS,
    "applied.rules": RULE_FIELDS,
    "skills": SKILL_FIELDS,
    "skills.plan": PLAN_FIELDS,
    "skills.refused": REFUSAL_FIELDS,
    "skills.first_violation": VIOLATION_FIELDS,
    "goal.conditions": GOAL_FIELDS,
    "goal": GOAL_RESULT_FIELDS,
    "settle": SETTLE_FIELDS,
    "events": EVENT_FIELDS,
}
"""Keys of `episode.json` in a table, by its name on the page."""


def fill_record_format_page(page: str) -> str:
    """Returns the page with its tables made anew: what stands between `<!-- begin: NAME -->` and `<!-- end: NAME -->`.

    Raises:
        RecordingError: The page lacks a table.
    """
    tables = {
        **{name: _array_table(kind) for name, kind in _ARRAYS.items()},
        **{name: _field_table(table) for name, table in _FIELDS.items()},
        "failure codes": _table(("Code", "Meaning"), ((f"`{code}`", text) for code, text in FAILURE_CODES.items())),
        "not compared": _list_not_compared(),
    }
    for name, table in tables.items():
        begin, end = f"<!-- begin: {name} -->\n\n", f"\n<!-- end: {name} -->"
        if page.count(begin) != 1 or page.count(end) != 1:
            raise RecordingError(f"The page has no table between {begin.strip()} and {end.strip()}. Add both lines.")
        before, rest = page.split(begin)
        page = before + begin + table + end + rest.split(end)[1]
    return page


def _list_not_compared() -> str:
    lines = []
    for reason, places in not_compared(replay=False).items():
        words = textwrap.wrap(
            f"- {reason}: {', '.join(f'`{place}`' for place in places)};", 118, subsequent_indent="  "
        )
        lines += words
    return "\n".join(lines).removesuffix(";") + ".\n"


def _array_table(kind: str) -> str:
    rows = []
    for spec in KEYS:
        if spec.kind == kind:
            shape = "any" if spec.shape is None else "(" + ", ".join(str(size) for size in spec.shape) + ")"
            optional = "" if spec.required else " Optional."
            rows.append((f"`{spec.pattern}`", shape, spec.dtype, spec.unit, f"{spec.meaning}{optional}"))
    return _table(("Key", "Row shape", "Type", "Unit", "Meaning"), rows)


def _field_table(table: Table) -> str:
    rows = []
    for key, field in table.items():
        says_so = not field.optional or field.meaning.startswith(("Optional", "Only"))
        rows.append((f"`{key}`", describe_kind(field.kind), field.meaning if says_so else f"Optional. {field.meaning}"))
    return _table(("Key", "Type", "Meaning"), rows)


def _table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(row) + " |\n" for row in (titles, *rows)]
    return "".join([lines[0], "|" + "---|" * len(titles) + "\n", *lines[1:]])


if __name__ == "__main__":
    path = Path(sys.argv[1])
    path.write_text(fill_record_format_page(path.read_text(encoding="utf-8")), encoding="utf-8")
