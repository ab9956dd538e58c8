"""Files that the README names are there; `NAME` in one stands for those of at least one thing that is there."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = "benchmarks|configs|docs|examples|robots|simcore|skills|solver|tasks|tests|workflows"
PATHS = re.compile(rf"`((?:{FOLDERS})/[\w./-]*)`")


def test_paths_of_the_readme_exist():
    named = sorted(set(PATHS.findall((ROOT / "README.md").read_text(encoding="utf-8"))))
    assert len(named) > 20
    assert [path for path in named if not list(ROOT.glob(path.replace("NAME", "*")))] == []
