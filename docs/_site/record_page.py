"""Makes the page of all keys of a record, and the lists in the page of the record format, from the tables of keys.

`python docs/_site/record_page.py docs/record_format.md` fills the lists of the page, whose other text is written by
hand. A test fails if the page is out of date. The page of all keys is made with the site.
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

_ARRAYS = {
    "States, T+1 rows": STATE,
    "Actions, T rows": ACTION,
    "Measured between two states, T rows": INTERVAL,
}
"""Kind of the arrays in a table, by its heading."""
_MAPS: dict[str, Table] = {
    "episode.json": EPISODE_FIELDS,
    "`layout`": LAYOUT_FIELDS,
    "Each object of `layout.instances`": INSTANCE_FIELDS,
    "Each object of `layout.objects`": PLACE_FIELDS,
    "`layout.preplan`": PREPLAN_FIELDS,
    "`applied`": APPLIED_FIELDS,
    "Each entry of `rules` in `applied`": RULE_FIELDS,
    "Each entry of `skills`": SKILL_FIELDS,
    "`plan` of an entry of `skills`": PLAN_FIELDS,
    "Each entry of `refused` of an entry of `skills`": REFUSAL_FIELDS,
    "`first_violation` of an entry of `skills`": VIOLATION_FIELDS,
    "Each entry of `goal.conditions`": GOAL_FIELDS,
    "Further keys of `goal`": GOAL_RESULT_FIELDS,
    "`settle`": SETTLE_FIELDS,
    "Each entry of `events`": EVENT_FIELDS,
}
"""The map of `episode.json` and those inside of it, by the heading of their tables."""
_HEAD = """# Keys of a record

This page lists every array of `state.npz` and every key of `episode.json`. [Record format](../record_format.md) says
how the files are made and checked. A record has no other arrays and keys than these. Where a record may lack one, its
meaning says `Optional` or `Only`.

In a shape, `n` is the number of arm joints, `k` that of gripper joints, `m` that of an object's movable joints, and `j`
that of all of them. `ee` is the frame of the arm's `ee_link` (the hand), and `tcp` a frame between the fingertips.
"""
_RESULT_NOTE = "Only in episodes of a policy that go on after a broken rule (`unlatch evaluate`).\n"


def record_keys_page() -> str:
    """Returns the page of all keys of a record as Markdown, with a table for each kind of array and each map."""
    parts = [_HEAD]
    for title, kind in _ARRAYS.items():
        parts += [f"## {title}\n", _array_table(kind)]
    for title, table in _MAPS.items():
        parts += [f"## {title}\n", *([_RESULT_NOTE] if table is GOAL_RESULT_FIELDS else []), _field_table(table)]
    return "\n".join(parts)


def fill_record_format_page(page: str) -> str:
    """Returns the page with its lists made anew: what stands between `<!-- begin: NAME -->` and `<!-- end: NAME -->`.

    Raises:
        RecordingError: The page lacks a list.
    """
    lists = {
        "failure codes": textwrap.fill(", ".join(f"`{code}`" for code in FAILURE_CODES) + ".", 118) + "\n",
        "not compared": _list_not_compared(),
    }
    for name, text in lists.items():
        begin, end = f"<!-- begin: {name} -->\n\n", f"\n<!-- end: {name} -->"
        if page.count(begin) != 1 or page.count(end) != 1:
            raise RecordingError(f"The page has no list between {begin.strip()} and {end.strip()}. Add both lines.")
        before, rest = page.split(begin)
        page = before + begin + text + end + rest.split(end)[1]
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
