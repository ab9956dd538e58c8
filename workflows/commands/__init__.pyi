from .collect import collect_and_report

__all__ = [
    "collect_and_report",
]
