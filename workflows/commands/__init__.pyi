from .collect import collect_and_report as collect_and_report
