from .html import to_html
from .rrd import to_rrd
from .view import ViewCfg, write_view

__all__ = [
    "ViewCfg",
    "to_html",
    "to_rrd",
    "write_view",
]
