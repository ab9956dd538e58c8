from .pace import pace_of
from .write import ReportCfg, write_report

__all__ = [
    "ReportCfg",
    "pace_of",
    "write_report",
]
