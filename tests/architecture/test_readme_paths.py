"""Files of the repository that pages name exist; `NAME` in a path stands for any name."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
FOLDERS = "benchmarks|configs|docs|examples|objects|robots|simcore|skills|solver|tasks|tests|unlatch|workflows"
PATHS = re.compile(rf"`((?:{FOLDERS})/[\w./-]*)`")
OF_THE_READER = {"configs/robot/iiwa.urdf", "configs/robot/my_arm.png", "configs/robot/my_arm.yaml"}
"""Files in a folder `configs` of the reader's own."""


@pytest.mark.parametrize(("page", "most"), [("README.md", 120), ("CONTRIBUTING.md", 60)])
def test_first_pages_are_short(page: str, most: int):
    assert len((ROOT / page).read_text(encoding="utf-8").splitlines()) <= most


def test_paths_that_are_named_exist():
    pages = [page.read_text(encoding="utf-8") for page in PAGES]
    named = sorted({path for page in pages for path in PATHS.findall(page)})
    assert len(named) > 50
    missing = {path for path in named if not list(ROOT.glob(path.replace("NAME", "*")))}
    assert missing == OF_THE_READER
