"""The page says what annotators put out."""

from __future__ import annotations

from pathlib import Path

from benchmarks.annotators_page import outputs_table, update_table

PAGE = Path(__file__).parents[4] / "docs" / "annotators.md"


def test_the_page_is_up_to_date():
    assert "| `occlusion` |" in outputs_table()
    page = PAGE.read_text(encoding="utf-8")
    assert page == update_table(page), (
        "docs/annotators.md is out of date. Run:\npython -m benchmarks.annotators_page docs/annotators.md"
    )
