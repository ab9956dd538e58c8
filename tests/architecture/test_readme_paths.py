"""Files that pages for contributors name exist; `NAME` in a path stands for any name."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = ("README.md", "CONTRIBUTING.md", "docs/repository.md", "docs/checks.md")
FOLDERS = "benchmarks|configs|docs|examples|objects|robots|simcore|skills|solver|tasks|tests|workflows"
PATHS = re.compile(rf"`((?:{FOLDERS})/[\w./-]*)`")


def test_paths_that_are_named_exist():
    pages = [(ROOT / page).read_text(encoding="utf-8") for page in PAGES]
    named = sorted({path for page in pages for path in PATHS.findall(page)})
    assert len(named) > 20
    assert [path for path in named if not list(ROOT.glob(path.replace("NAME", "*")))] == []
