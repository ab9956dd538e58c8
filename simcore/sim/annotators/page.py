"""The tables of `docs/annotators.md`, made from what annotators declare.

`python -m simcore.sim.annotators.page docs/annotators.md` renews them; a test says when they are out of date.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from simcore.sim.annotators.annotator import Annotator
from simcore.sim.annotators.catalog import ANNOTATORS

_PLACE = re.compile(r"(?<=<!-- outputs -->\n\n).*?(?=\n<!-- end of outputs -->)", re.DOTALL)


def outputs_table() -> str:
    """One row for each array of each annotator of this distribution."""
    lines = ["| annotator | array | shape | type | unit | meaning |", "|---|---|---|---|---|---|"]
    for name, entry in ANNOTATORS.entries().items():
        if not entry.target.startswith("simcore."):
            continue  # one of another distribution that happens to be installed
        annotator: type[Annotator] = ANNOTATORS.load(name)
        for output in annotator.outputs:
            sizes = ", ".join(str(size) for size in output.shape)
            lines.append(
                f"| `{name}` | `{output.name}` | ({sizes}) | {output.dtype} | {output.unit} | {output.meaning} |"
            )
    return "\n".join(lines) + "\n"


def renewed(page: str) -> str:
    """A page with its table as it should be."""
    return _PLACE.sub(lambda _: outputs_table(), page)


if __name__ == "__main__":
    path = Path(sys.argv[1])
    path.write_text(renewed(path.read_text(encoding="utf-8")), encoding="utf-8")
