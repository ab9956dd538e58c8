"""Saves the results of jobs in a file, so that a table or picture needs no episode to run again."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

from any_urdf import Job, Result

from unlatch.simcore.errors import ConfigError


def read_results(path: Path) -> list[dict[str, Any]]:
    """Returns the entries of a file; none if the file does not exist.

    Raises:
        ConfigError: The file does not contain results.
    """
    if not path.exists():
        return []
    try:
        entries = json.loads(path.read_text(encoding="utf-8"))["entries"]
    except (ValueError, KeyError, TypeError, OSError) as exc:
        raise ConfigError(
            f"{path} contains no results: {exc}. Name another file, or one that does not exist yet."
        ) from exc
    return list(entries)


def write_results(path: Path, entries: list[dict[str, Any]]) -> None:
    """Writes entries in a fixed order, one per line; replaces the whole file."""
    keys = ("robot", "name", "skill", "seed")
    lines = [json.dumps(entry) for entry in sorted(entries, key=lambda entry: [entry[key] for key in keys])]
    temporary = path.with_name(path.name + ".part")
    temporary.write_text('{"entries": [\n' + ",\n".join(lines) + "\n]}\n", encoding="utf-8")
    temporary.replace(path)


def entry_of(result: Result, *, seed: int, commit: str) -> dict[str, Any]:
    """Returns a result as data: for successes only the episode numbers, grouped by their start."""
    return {
        "robot": result.job.robot,
        "name": result.job.name,
        "skill": result.job.skill,
        "seed": seed,
        "n": len(result.all),
        "commit": commit,
        "ajar": sorted(result.ajar),
        "failed": sorted(number for number, success in result.all.items() if not success),
        "codes": dict(result.codes),
        "refusals": {str(number): reason for number, reason in result.refusals.items()},
        "planned": result.planned,
        "executed": result.executed,
        "contact_valid": result.contact_valid,
        "strict": sum(result.strict),
        "first_layouts": result.first_layouts,
        "problem": result.problem,
    }


def result_of(entry: dict[str, Any], job: Job) -> Result:
    """Returns the result of an entry; the times of the search for layouts are not saved."""
    ajar, failed = set(entry["ajar"]), set(entry["failed"])
    success = {number: number not in failed for number in range(entry["n"])}
    return Result(
        job,
        closed={number: value for number, value in success.items() if number not in ajar},
        ajar={number: value for number, value in success.items() if number in ajar},
        strict=[index < entry["strict"] for index in range(entry["n"])],
        first_layouts=entry["first_layouts"],
        codes=Counter(entry["codes"]),
        refusals={int(number): reason for number, reason in entry["refusals"].items()},
        planned=entry["planned"],
        executed=entry["executed"],
        contact_valid=entry["contact_valid"],
        problem=entry["problem"],
    )
