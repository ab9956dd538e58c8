"""Links of pages that are read outside of the site, too, lead to a file, and to a heading where they name one."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
OUTSIDE = (
    "README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "SECURITY.md",
    "THIRD_PARTY.md",
    "examples/README.md",
    "examples/notebooks/README.md",
)
NOTES = sorted((ROOT / "benchmarks" / "notes").glob("*.md"))
PAGES = [*(ROOT / name for name in OUTSIDE), *sorted((ROOT / "docs").rglob("*.md")), *NOTES]
LINK = re.compile(r"\]\((?!https?://)([^)#\s]*)(?:#([^)\s]*))?\)")


def anchors(page: Path) -> set[str]:
    """Headings of a page, as hosts of repositories and the site name them."""
    headings = re.findall(r"^#+ +(.*)$", re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.S), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


def dead(page: Path, text: str) -> list[str]:
    found = []
    for path, anchor in LINK.findall(text):
        target = page.parent / path if path else page
        if not target.exists() or (anchor and target.suffix == ".md" and anchor not in anchors(target)):
            found.append(f"{path}#{anchor}" if anchor else path)
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_links_lead_somewhere(page: Path):
    assert dead(page, page.read_text(encoding="utf-8")) == []


def test_a_dead_link_is_found():
    text = "[a](docs/strat.md) [b](docs/start.md#instal) [c](docs/start.md#install) [d](#what-you-get) [e](https://x.y)"
    assert dead(ROOT / "README.md", text) == ["docs/strat.md", "docs/start.md#instal"]
