"""The file formats of `unlatch view` by name."""

from unlatch.simcore.registry import Catalog, CatalogEntry

VIEWERS = Catalog(
    "format",
    {
        "html": CatalogEntry("unlatch.workflows.viewing.viewers.html:to_html", "a page for any browser (extra view)"),
        "rrd": CatalogEntry(
            "unlatch.workflows.viewing.viewers.rrd:to_rrd", "a recording for the Rerun viewer (extra rerun)"
        ),
    },
    group="unlatch.viewers",
)
"""Formats by name, which is also the ending of their files."""
