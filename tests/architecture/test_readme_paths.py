"""Files that the README and CONTRIBUTING name are there; `NAME` in one stands for those of at least one thing."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = "benchmarks|configs|docs|examples|objects|robots|simcore|skills|solver|tasks|tests|workflows"
PATHS = re.compile(rf"`((?:{FOLDERS})/[\w./-]*)`")


def test_paths_that_are_named_exist():
    pages = [(ROOT / page).read_text(encoding="utf-8") for page in ("README.md", "CONTRIBUTING.md")]
    named = sorted({path for page in pages for path in PATHS.findall(page)})
    assert len(named) > 20
    assert [path for path in named if not list(ROOT.glob(path.replace("NAME", "*")))] == []
