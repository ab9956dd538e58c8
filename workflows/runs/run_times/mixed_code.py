"""Tells whether the episodes of a data set were made with different code, or with other code than there is now."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

from unlatch.workflows.runs.run_times.run_clock import read_run_times


def describe_mixed_code(data_set: Path, now: Mapping[str, Mapping[str, str]] | None = None) -> str:
    """Returns the packages whose code differs between episodes of a data set, in words; empty: none is known to.

    Args:
        data_set: Its folder; the code of each run is kept there.
        now: Code of episodes that are to be added, see `CodeVersions.packages`; None: there are none.
    """
    found: defaultdict[str, set[tuple[str, str]]] = defaultdict(set)
    for packages in [*(run.packages for run in read_run_times(data_set) if run.episodes), now or {}]:
        for name, noted in packages.items():
            found[name].add((str(noted.get("version", "")), str(noted.get("sha256", ""))))
    return ", ".join(_describe(name, codes) for name, codes in sorted(found.items()) if len(codes) > 1)


def count_other_code(data_set: Path, now: Mapping[str, Mapping[str, str]]) -> tuple[int, str]:
    """Returns how many episodes of a data set were made with other code than `now`, and the packages that differ.

    Episodes that ended as `error`, and those of which the code is not known, do not count.

    Args:
        data_set: Its folder; the code of each run is kept there.
        now: The code now, see `CodeVersions.packages`.
    """
    count, differing = 0, dict[str, None]()
    for run in read_run_times(data_set):
        names = [name for name, noted in sorted(run.packages.items()) if dict(noted) != dict(now.get(name, {}))]
        if names and run.episodes:
            count += run.episodes
            differing |= dict.fromkeys(names)
    return count, ", ".join(sorted(differing))


def _describe(name: str, codes: set[tuple[str, str]]) -> str:
    versions = sorted({version for version, _ in codes})
    return f"{name} {' and '.join(versions)}" if len(versions) > 1 else name
