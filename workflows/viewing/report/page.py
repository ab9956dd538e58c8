"""Fills the page of a report, which needs no other file and no network."""

from __future__ import annotations

from unlatch.workflows.viewing.report.content import Report
from unlatch.workflows.viewing.template import fill_template


def fill_page(report: Report) -> str:
    """Returns the page as HTML."""
    return fill_template(
        "unlatch.workflows.viewing.report",
        "page.html",
        report=report,
        compared=len(report.columns) > 1,
        keys=("set-a", "set-b"),
    )
