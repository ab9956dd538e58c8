"""Measures how often objects open and close when Unlatch has only their URDF.

Usage: UNLATCH_PARTNET_DIR=FOLDER python benchmarks/any_urdf.py [n=20] [seed=0] [workers=2] [only=TEXT]
       [skills=open,close] [openness=SHARE] [categories=all] [keypoints=derived,hand] [seed_is=fresh]
       [rests_on=SIDE] [search_off=false] [out=data/bench-any-urdf] [results=FILE.json]

Opens and closes every object of the categories below, or with `categories=all` of the whole folder, with
`unlatch collect object=PATH skill=...`, without any other file. The folder may also be that of `published_models.py`.
`openness=0.9` opens each part by this share of its range. `rests_on=back` lays each object on a side, see
`object.rests_on`. `keypoints=derived,hand` runs each object a second time. It then uses the head that a person set in
`info.json` instead of the derived one, and compares the two runs episode by episode. Starts from closed and from ajar
are counted separately. Data sets stay in the folder. The same command again continues an interrupted benchmark.
`skill_matrix.py` explains `seed_is`, `search_off` and `results`.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, median

import numpy as np
from rich.box import MARKDOWN
from rich.table import Table
from success_runs import Job, Result, RunCfg, rate, run_or_read, with_interval

from unlatch.objects.annotate.annotator import AnnotateCfg, annotate_source
from unlatch.objects.annotate.source import read_source
from unlatch.objects.annotate.storage import with_mark, write_annotation_file
from unlatch.objects.annotation import ANNOTATION_FILE
from unlatch.simcore.errors import ConfigError
from unlatch.workflows.cli.arguments import read_pairs
from unlatch.workflows.cli.terminal import OK, print_line, result_console, run_guarded
from unlatch.workflows.runs.statistics import wilson_interval

CATEGORIES = ("microwave", "drawer", "refrigerator", "safe", "oven", "door", "laptop")
"""Names of object folders begin with them."""
SOURCES = ("derived", "hand")


@dataclass
class AnyUrdfCfg(RunCfg):
    """The keys of this benchmark."""

    keypoints: str = "derived"
    """`derived` or `derived,hand`."""
    categories: str = ",".join(CATEGORIES)
    """Beginnings of the names of object folders, separated by commas, or `all`."""


def objects_of(root: Path, cfg: AnyUrdfCfg) -> list[Path]:
    """Returns the folders of the selected objects."""
    found = sorted({path.parent for path in root.rglob("*.urdf")})
    wanted = "" if cfg.categories == "all" else tuple(cfg.categories.split(","))
    tried = [path for path in found if path.relative_to(root).parts[0].startswith(wanted)]
    return [path for path in tried if cfg.wants(str(path))]


def copy_with_hand_keypoints(folder: Path, out: Path) -> Path:
    """Returns a copy of an object whose `articulation.yaml` has the head of `info.json`."""
    shutil.copytree(folder, out, dirs_exist_ok=True)
    articulation = annotate_source(read_source(out), AnnotateCfg(use_info=True)).articulation
    write_annotation_file(out / ANNOTATION_FILE, with_mark(articulation).to_yaml().encode())
    return out


def instance_table(results: Sequence[Result]) -> Table:
    """Returns the table of successes, with one row per job."""
    table = Table(box=MARKDOWN)
    for column in ("object", "skill", "keypoints", "closed", "ajar", "95 % interval", "strict", "failures"):
        table.add_column(column, no_wrap=column != "failures")
    for result in results:
        low, high = wilson_interval(len(result.succeeded), result.n)
        failures = result.problem or ", ".join(f"{code} {n}" for code, n in result.codes.most_common())
        table.add_row(
            result.job.name,
            result.job.skill,
            result.job.keypoints,
            rate(result.successes(ajar=False)),
            rate(result.successes(ajar=True)),
            f"{100 * low:.0f} to {100 * high:.0f} %",
            rate(result.strict),
            failures,
        )
    return table


def summary_lines(results: Sequence[Result]) -> list[str]:
    """Returns lines with means over objects, pooled rates by start, and the comparison of keypoints."""
    lines = []
    for keypoints in dict.fromkeys(result.job.keypoints for result in results):
        for skill in (*dict.fromkeys(result.job.skill for result in results), "all"):
            found = [r for r in results if r.job.keypoints == keypoints and skill in (r.job.skill, "all") and r.n]
            if not found:
                continue
            ratio = mean(len(r.succeeded) / r.n for r in found)
            values = [value for r in found for value in r.successes()]
            low, high = wilson_interval(sum(values), len(values))
            closed = [value for r in found for value in r.successes(ajar=False)]
            ajar = [value for r in found for value in r.successes(ajar=True)]
            lines.append(
                f"{skill}, {keypoints} keypoints: mean over {len(found)} objects {100 * ratio:.1f} %; pooled "
                f"{rate(values)} ({100 * low:.1f} to {100 * high:.1f} %), from closed {with_interval(closed)}, "
                f"from ajar {with_interval(ajar)}; strict {with_interval([v for r in found for v in r.strict])}"
            )
    searched = [ms for result in results for ms in result.search_ms]
    if searched:
        first = sum(len(result.first) for result in results)
        lines.append(
            f"plan for the first layout: {first}/{len(searched)}; "
            f"search {median(searched):.0f} ms (median), {mean(searched):.0f} ms (mean)"
        )
    return lines + compared_lines(results)


def compared_lines(results: Sequence[Result]) -> list[str]:
    """Returns the comparison of derived keypoints and those set by hand, over their common episodes."""
    by_source = {
        source: {(r.job.name, r.job.skill): r for r in results if r.job.keypoints == source} for source in SOURCES
    }
    pairs = [
        pair
        for key, hand in by_source["hand"].items()
        if key in by_source["derived"]
        for pair in zip(by_source["derived"][key].successes(), hand.successes(), strict=False)
    ]
    if not pairs:
        return []
    difference = [float(a) - float(b) for a, b in pairs]
    half = 1.96 * float(np.std(difference)) / len(pairs) ** 0.5
    return [
        f"paired episodes: {len(pairs)}; derived {rate(a for a, _ in pairs)}, set by hand {rate(b for _, b in pairs)}; "
        f"difference {100 * mean(difference):+.1f} points (95 % interval +- {100 * half:.1f})"
    ]


def main(arguments: list[str]) -> int:
    """Runs every job and prints the results."""
    cfg = read_pairs(AnyUrdfCfg, arguments)
    root = os.environ.get("UNLATCH_PARTNET_DIR")
    if not root:
        raise ConfigError("UNLATCH_PARTNET_DIR is not set. Set it to a folder of PartNet-Mobility objects.")
    jobs = []
    for folder in objects_of(Path(root), cfg):
        name = folder.relative_to(root).as_posix()
        for keypoints in cfg.keypoints.split(","):
            copy = Path(cfg.out) / "objects" / name
            source = folder if keypoints == "derived" else copy_with_hand_keypoints(folder, copy)
            jobs += [
                Job(cfg.kind("real", skill), name, skill, str(source), keypoints=keypoints)
                for skill in cfg.skills.split(",")
            ]
    results = run_or_read(jobs, cfg)
    result_console().print(instance_table(results))
    for line in summary_lines(results):
        print_line(line)
    return OK


if __name__ == "__main__":
    sys.exit(run_guarded(lambda: main(sys.argv[1:]), usage=__doc__))
