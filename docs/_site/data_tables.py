"""Makes the tables of arrays, keys and values that the site adds to the pages about data.

`TABLES` says which mark of a page each of them replaces. `python docs/_site/data_tables.py docs/record_format.md` fills
the lists of the page of the record format; a test fails if they are out of date.
"""

from __future__ import annotations

import inspect
import re
import sys
import textwrap
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from unlatch.randomization import physics_view
from unlatch.simcore.catalogs import ANNOTATORS
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
from unlatch.simcore.recording.observed_scene import GEOMETRY
from unlatch.simcore.recording.success_rules import FAILURE_CODES
from unlatch.simcore.sim.sensors.camera import CAMERA_MODELS

_ARRAYS = {
    "States, T+1 rows": STATE,
    "Actions, T rows": ACTION,
    "Measured between two states, T rows": INTERVAL,
}
"""Kind of the arrays in a table, by its heading."""
_MAPS: dict[str, Table] = {
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
"""Maps inside of `episode.json`, by the heading of their tables."""
_SIZES = """In a shape, `n` is the number of arm joints, `k` that of gripper joints, `m` that of an object's movable
joints, and `j` that of all of them. `ee` is the frame of the arm's `ee_link` (the hand), and `tcp` a frame between the
fingertips. Where a record may lack an array or key, its meaning says `Optional` or `Only`.
"""
_RESULT_NOTE = "Only in episodes of a policy that go on after a broken rule (`unlatch evaluate`).\n"


def array_tables() -> str:
    """Returns a table of the arrays of a record for each number of rows."""
    return "\n".join([_SIZES, *(f"### {title}\n\n{_array_table(kind)}" for title, kind in _ARRAYS.items())])


def episode_tables() -> str:
    """Returns the table of `episode.json`, and one for each map inside of it."""
    parts = [_field_table(EPISODE_FIELDS)]
    for title, table in _MAPS.items():
        parts += [f"### {title}\n", *([_RESULT_NOTE] if table is GOAL_RESULT_FIELDS else []), _field_table(table)]
    return "\n".join(parts)


def geometry_table() -> str:
    """Returns the numbers of the value `geometry` of a state."""
    head = "| numbers | endings of their names | unit | meaning |\n|---|---|---|---|\n"
    return head + "\n".join(entry.table_row() for entry in GEOMETRY) + "\n"


def annotator_table() -> str:
    """Returns a table with one row for each array of each annotator of this distribution."""
    rows = []
    for name, entry in ANNOTATORS.entries().items():
        if not entry.target.startswith("unlatch."):
            continue  # an annotator of another installed distribution
        for output in ANNOTATORS.load(name).outputs:
            sizes = ", ".join(str(size) for size in output.shape)
            rows.append((f"`{name}`", f"`{output.name}`", f"({sizes})", output.dtype, output.unit, output.meaning))
    return _table(("annotator", "array", "shape", "type", "unit", "meaning"), rows)


def camera_table() -> str:
    """Returns the data of commercial cameras, by `preset`."""
    rows = []
    for name, model in CAMERA_MODELS.items():
        least, most = model.depth_range_m
        view = f"{model.fov_across_deg:g} x {model.fov_down_deg:g} deg"
        rows.append((f"`{name}`", f"{model.width} x {model.height}", view, f"{least:g} to {most:g} m", model.source))
    return _table(("`preset`", "pixels", "horizontal x vertical", "depth", "source"), rows)


def attribute_tables() -> str:
    """Returns a table of the attributes of each kind of view, from the arguments of the functions that vary them."""
    views = {"rigid prim view": physics_view.randomize_rigid_prim_view}
    views["articulation view"] = physics_view.randomize_articulation_view
    parts = []
    for title, function in views.items():
        arguments = inspect.cleandoc(function.__doc__ or "").partition("Args:\n")[2].partition("\n\n")[0]
        found = dict(re.findall(r"^    (\w+): (.*?)(?=^    \w|\Z)", arguments, re.MULTILINE | re.DOTALL))
        rows = [(f"`{name}`", " ".join(found[name].split())) for name in function.__kwdefaults__ or {}]
        parts.append(_table((title, "values and meaning"), rows))
    return "\n".join(parts)


TABLES: dict[str, Callable[[], str]] = {
    "<!-- arrays of a record -->": array_tables,
    "<!-- keys of episode.json -->": episode_tables,
    "<!-- numbers of the geometry -->": geometry_table,
    "<!-- outputs of annotators -->": annotator_table,
    "<!-- commercial cameras -->": camera_table,
    "<!-- attributes of views -->": attribute_tables,
}
"""Tables that replace a mark on a page of the site."""


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
            optional = " Optional." if spec.only else ""
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
