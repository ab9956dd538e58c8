"""Generates the table of `docs/annotators.md` from the outputs that annotators declare.

`python -m benchmarks.annotators_page docs/annotators.md` updates it; a test fails when it is out of
date.
"""

from __future__ import annotations

import sys
from pathlib import Path

from unlatch.simcore.catalogs import ANNOTATORS
from unlatch.simcore.sim.annotators.annotation import Annotator

_BEGIN, _END = "<!-- outputs -->\n", "<!-- end of outputs -->"


def outputs_table() -> str:
    """Returns a table with one row for each array of each annotator of this distribution."""
    lines = ["| annotator | array | shape | type | unit | meaning |", "|---|---|---|---|---|---|"]
    for name, entry in ANNOTATORS.entries().items():
        if not entry.target.startswith("unlatch."):
            continue  # an annotator of another installed distribution
        annotator: type[Annotator] = ANNOTATORS.load(name)
        for output in annotator.outputs:
            sizes = ", ".join(str(size) for size in output.shape)
            lines.append(
                f"| `{name}` | `{output.name}` | ({sizes}) | {output.dtype} | {output.unit} | {output.meaning} |"
            )
    return "\n".join(lines) + "\n"


def update_table(page: str) -> str:
    """Returns a page with an up-to-date table."""
    before, found, rest = page.partition(_BEGIN)
    _, end, after = rest.partition(_END)
    if not (found and end):
        raise ValueError(f"The page has no place for the table. Expected {_BEGIN.strip()} and {_END}.")
    return f"{before}{_BEGIN}\n{outputs_table()}\n{_END}{after}"


if __name__ == "__main__":
    path = Path(sys.argv[1])
    path.write_text(update_table(path.read_text(encoding="utf-8")), encoding="utf-8")
