"""Tells whether the runs of a data set were made with different code."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from unlatch.workflows.runs.run_times.run_clock import RunTime


def describe_mixed_code(runs: Iterable[RunTime]) -> str:
    """Returns the packages whose code differs between runs that made episodes, in words; empty: none is known to."""
    found: defaultdict[str, set[tuple[str, str]]] = defaultdict(set)
    for run in runs:
        for name, noted in run.packages.items() if run.episodes else ():
            found[name].add((str(noted.get("version", "")), str(noted.get("sha256", ""))))
    return ", ".join(_describe(name, codes) for name, codes in sorted(found.items()) if len(codes) > 1)


def _describe(name: str, codes: set[tuple[str, str]]) -> str:
    versions = sorted({version for version, _ in codes})
    return f"{name} {' and '.join(versions)}" if len(versions) > 1 else name
