"""Measures how often each skill succeeds on each object category with each robot, with a new object in every episode.

Usage: python benchmarks/skill_matrix.py [n=100] [seed=0] [seed_is=fresh] [workers=2] [only=TEXT]
       [skills=open,close,rotate] [robots=franka_panda,xarm6,ur5,baxter] [search_off=false] [picture=FILE.png]
       [openness=SHARE] [out=data/bench-skill-matrix] [results=FILE.json]

Runs `unlatch collect object=CATEGORY skill=SKILL robot=ROBOT`, which derives the task in each episode. Leaves out
categories that do not fit a skill. Names what a robot cannot reach, with the reason. Data sets stay in the folder. The
same command again continues an interrupted benchmark. `picture=` draws a heat map. `results=` saves the counts of every
entry with the commit of the code, and what `seed_is`: `fresh`, or `development` if its failures were studied before. An
entry that the file already has does not run again. `search_off=true` also counts successes without a search for a
layout: episodes whose first layout has no plan run a second time with `skills.0.candidates=1`.

For every entry, prints the successes with their Wilson interval, and these counts of episodes:

  of reachable    successes over the episodes for which `artpreplan` found a layout
  planned         every skill has a plan
  executed        planned, and the part reached its goal, whatever the contacts
  contact-valid   executed, without forbidden contacts, and the fingers stayed on the part
  strict          contact-valid, and the part is at the end of its range
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from any_urdf import summary_lines
from rich.box import MARKDOWN
from rich.table import Table
from success_runs import DOES_NOT_FIT, ROBOT, Job, Result, RunCfg, rate, run_or_read, with_interval

from unlatch.objects.procedural.catalog import GENERATORS
from unlatch.robots.catalog import ROBOTS
from unlatch.simcore.errors import ConfigError
from unlatch.workflows.cli.arguments import read_pairs
from unlatch.workflows.cli.terminal import OK, print_line, result_console, run_guarded
from unlatch.workflows.runs.statistics import wilson_interval


@dataclass
class CountedCfg(RunCfg):
    """The keys of a benchmark that counts successes of robots."""

    robots: str = ROBOT
    """Robots, separated by commas."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in self.robots.split(","):
            ROBOTS.entry(name)


@dataclass
class SkillMatrixCfg(CountedCfg):
    """The keys of this benchmark."""

    n: int = 100
    """Number of episodes of each category, skill and robot."""
    skills: str = "open,close,rotate"
    """Skills, separated by commas."""
    picture: str | None = None
    """File of the heat map."""
    out: str = "data/bench-skill-matrix"
    """Folder of the data sets."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.picture is not None and not self.picture.endswith(".png"):
            raise ConfigError(f"picture={self.picture} is not a PNG. Expected a name that ends in .png.", key="picture")


def matrix_table(results: Sequence[Result]) -> Table:
    """Returns the table of successes, with one row per entry."""
    table = Table(box=MARKDOWN)
    columns = ("robot", "category", "skill", "successes", "95 % interval", "of reachable", "planned", "executed")
    for column in (*columns, "contact-valid", "strict", "failures"):
        table.add_column(column, no_wrap=column != "failures")
    for result in results:
        n, successes = result.n, len(result.succeeded)
        low, high = wilson_interval(successes, n)
        table.add_row(
            result.job.robot,
            result.job.name,
            result.job.skill,
            rate(result.successes()),
            f"{100 * low:.0f} to {100 * high:.0f} %",
            f"{successes}/{n - len(result.refusals)}",
            str(len(result.planned)),
            str(result.executed),
            str(result.contact_valid),
            str(sum(result.strict)),
            result.problem or ", ".join(f"{code} {count}" for code, count in result.codes.most_common()),
        )
    return table


def robot_lines(results: Sequence[Result]) -> list[str]:
    """Returns lines for each robot: the pooled rates, and what it cannot reach, with the reason."""
    lines = []
    for robot in dict.fromkeys(result.job.robot for result in results):
        own = [result for result in results if result.job.robot == robot]
        values = [value for result in own for value in result.successes()]
        reached = [value for r in own for number, value in enumerate(r.successes()) if number not in r.refusals]
        lines.append(
            f"{robot}: {len(own)} entries, pooled {with_interval(values)}, over what artpreplan calls reachable "
            f"{with_interval(reached)}; refused layouts {len(values) - len(reached)}"
        )
        for result in own:
            if result.refusals and 2 * len(result.refusals) >= result.n:
                reason = Counter(result.refusals.values()).most_common(1)[0][0]
                lines.append(
                    f"  {robot} does not reach {result.job.name} {result.job.skill}: {len(result.refusals)} of "
                    f"{result.n} layouts refused, mostly: {reason}"
                )
    return lines


def draw_heat_map(results: Sequence[Result], path: str) -> None:
    """Writes the heat map: one panel per robot, one row per category, one column per skill; white: no fit."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt
    import numpy as np

    robots, skills, names = (
        list(dict.fromkeys(getattr(result.job, key) for result in results)) for key in ("robot", "skill", "name")
    )
    found = {(r.job.robot, r.job.name, r.job.skill): r for r in results if r.n}
    figure, axes = plt.subplots(
        1, len(robots), figsize=(1.2 + 2.1 * len(robots), 1.2 + 0.27 * len(names)), sharey=True, squeeze=False
    )
    for axis, robot in zip(axes[0], robots, strict=True):
        shares = np.full((len(names), len(skills)), np.nan)
        for row, name in enumerate(names):
            for column, skill in enumerate(skills):
                result = found.get((robot, name, skill))
                if result is None:
                    continue
                shares[row, column] = len(result.succeeded) / result.n
                refused = f" ({len(result.refusals)})" if result.refusals else ""
                ink = "black" if 0.2 < shares[row, column] < 0.9 else "white"
                text = f"{100 * shares[row, column]:.0f}{refused}"
                axis.text(column, row, text, ha="center", va="center", size=7, color=ink)
        image = axis.imshow(shares, vmin=0.0, vmax=1.0, cmap="RdYlGn", aspect="auto")
        axis.set_xticks(range(len(skills)), skills, size=8)
        axis.set_yticks(range(len(names)), [name.replace("_", " ") for name in names], size=8)
        counts = [r.n for r in results if r.job.robot == robot and r.n] or [0]
        least, most = min(counts), max(counts)
        axis.set_title(f"{robot}, n = {least}" + (f" to {most}" if most > least else ""), size=9)
    figure.suptitle("successes in %; in brackets: refused layouts", size=9)
    figure.colorbar(image, ax=axes[0].tolist(), shrink=0.5)
    figure.savefig(path, dpi=130, bbox_inches="tight")
    print_line(f"picture: {path}")


def main(arguments: list[str]) -> int:
    """Runs every job and prints the results."""
    cfg = read_pairs(SkillMatrixCfg, arguments)
    generators = {name: GENERATORS.load(name) for name in GENERATORS.names() if cfg.wants(name)}
    names = [name for name, generate in generators.items() if not generate(0).articulation.free]
    jobs = [
        Job(cfg.kind("library", skill), name, skill, name, robot=robot)
        for robot in cfg.robots.split(",")
        for name in names
        for skill in cfg.skills.split(",")
    ]
    tried = [result for result in run_or_read(jobs, cfg) if DOES_NOT_FIT not in result.problem]
    result_console().print(matrix_table(tried))
    for robot in cfg.robots.split(","):
        own = [result for result in tried if result.job.robot == robot]
        for line in summary_lines(own):
            print_line(f"{robot}, {line}")
    for line in robot_lines(tried):
        print_line(line)
    if cfg.picture is not None:
        draw_heat_map(tried, cfg.picture)
    return OK


if __name__ == "__main__":
    sys.exit(run_guarded(lambda: main(sys.argv[1:]), usage=__doc__))
