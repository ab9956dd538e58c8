"""Forms in which a recorded episode can be looked at; each turns a `RecordedScene` into the bytes of one file.

To add one: one file here with a function `to_NAME(scene) -> bytes`, one catalog line whose name is the file's ending,
one test in `tests/workflows/commands/test_view.py`. What it needs beyond the core is an extra, imported by
`import_extra`.
"""

from unlatch.simcore.registry import Catalog, CatalogEntry

__all__ = ["VIEWERS"]

VIEWERS = Catalog(
    "format",
    {
        "html": CatalogEntry(
            "unlatch.workflows.viewing.viewers.html:to_html", "a page for any browser, nothing else needed (extra viz)"
        ),
        "rrd": CatalogEntry(
            "unlatch.workflows.viewing.viewers.rrd:to_rrd", "a recording for the Rerun viewer (extra rerun)"
        ),
    },
    group="unlatch.viewers",
)
"""Formats by name, which is also the ending of their files."""
