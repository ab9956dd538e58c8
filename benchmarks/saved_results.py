"""What came of jobs as a file: episodes that were counted once are not made again to draw a table or a picture."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

from any_urdf import Job, Result

from unlatch.simcore.errors import ConfigError


def read_results(path: Path) -> list[dict[str, Any]]:
    """The entries of a file; none where there is no file.

    Raises:
        ConfigError: It is no such file.
    """
    if not path.exists():
        return []
    try:
        entries = json.loads(path.read_text(encoding="utf-8"))["entries"]
    except (ValueError, KeyError, TypeError, OSError) as exc:
        raise ConfigError(f"{path} holds no results: {exc}. Name another file, or one that is not there yet.") from exc
    return list(entries)


def write_results(path: Path, entries: list[dict[str, Any]]) -> None:
    """Writes entries, one a line, in a fixed order; the file is replaced whole."""
    keys = ("robot", "name", "skill", "seed")
    lines = [json.dumps(entry) for entry in sorted(entries, key=lambda entry: [entry[key] for key in keys])]
    beside = path.with_name(path.name + ".part")
    beside.write_text('{"entries": [\n' + ",\n".join(lines) + "\n]}\n", encoding="utf-8")
    beside.replace(path)


def entry_of(result: Result, *, seed: int, commit: str) -> dict[str, Any]:
    """A result as data: of every episode its number alone where it succeeded, by what it began as."""
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
    """The inverse of `entry_of`; how long layouts were searched for is not kept."""
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
