"""Measures the success rates of four tasks under increasing perception noise.

Usage: python benchmarks/perception_noise.py [n=50] [seed=0] [workers=2] [randomization=none] [of=position,keypoint]
       [levels_mm=0,2,4,8,16] [levels_deg=0,1,2,4,8] [tasks=[open_microwave,...]] [picture=FILE.png]
       [out=data/bench-perception-noise]

`position` displaces an object as a whole. `keypoint` displaces each keypoint independently. Both use a normal draw with
this standard deviation in each coordinate. `orientation` turns the object about each of the world's axes (levels_deg).
Only the planner sees the noise; contacts and success use the true values. Prints successes with their Wilson intervals.
`picture=` draws them. Data sets stay in the folder. The same command again continues an interrupted benchmark.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from rich.box import MARKDOWN
from rich.table import Table

from unlatch.simcore.errors import ConfigError
from unlatch.simcore.recording.data_set import DataSet
from unlatch.workflows.cli.arguments import read_pairs
from unlatch.workflows.cli.run_report import load_configs
from unlatch.workflows.cli.terminal import CommandLine, print_line, result_console, run_guarded
from unlatch.workflows.commands.collect import collect_and_report
from unlatch.workflows.runs.schema import CollectCfg
from unlatch.workflows.runs.statistics import RunStatistics
from unlatch.workflows.runs.success_bench import TASKS

KINDS = {"position": "m", "keypoint": "m", "orientation": "deg"}
"""Kinds of noise with the unit of their key."""
DEFAULT_KINDS = ("position", "keypoint")

Curves = Mapping[tuple[str, str, float], RunStatistics]
"""Results by kind of noise, task and level [mm or degrees]."""


@dataclass
class PerceptionNoiseCfg:
    """The keys of the benchmark."""

    n: int = 50
    """Number of episodes of each task, kind and level."""
    seed: int = 0
    """Seed of the runs."""
    workers: int = 2
    """Number of processes."""
    randomization: str = "none"
    """Randomization that is added to the noise."""
    of: str = ",".join(DEFAULT_KINDS)
    """Kinds of noise, separated by commas."""
    levels_mm: str = "0,2,4,8,16"
    """Standard deviations [mm], separated by commas."""
    levels_deg: str = "0,1,2,4,8"
    """Standard deviations of `orientation` [degrees], separated by commas."""
    tasks: list[str] = field(default_factory=lambda: list(TASKS))
    """Tasks to run."""
    picture: str | None = None
    """File of the picture."""
    out: str = "data/bench-perception-noise"
    """Folder of the data sets."""

    def __post_init__(self) -> None:
        unknown = [kind for kind in self.of.split(",") if kind not in KINDS]
        if unknown:
            raise ConfigError(f"of={self.of} has '{unknown[0]}'. Expected some of {', '.join(KINDS)}.", key="of")
        if self.n < 1 or any(level < 0.0 for kind in KINDS for level in self.levels(kind)):
            raise ConfigError(
                f"n={self.n}, levels_mm={self.levels_mm}, levels_deg={self.levels_deg}: expected n from 1, levels from "
                "0.",
                key="n",
            )

    def levels(self, kind: str) -> list[float]:
        """Returns the standard deviations of a kind [mm or degrees]."""
        key = "levels_mm" if KINDS[kind] == "m" else "levels_deg"
        given = getattr(self, key)
        try:
            return [float(word) for word in str(given).split(",")]
        except ValueError as exc:
            raise ConfigError(f"{key}={given} are not numbers. Write numbers such as 0,2,4.", key=key) from exc


def curves(cfg: PerceptionNoiseCfg) -> dict[tuple[str, str, float], RunStatistics]:
    """Runs every task with every kind and level of noise; without noise once for all kinds."""
    found = {}
    for task in cfg.tasks:
        for kind in cfg.of.split(","):
            for level in cfg.levels(kind):
                noise = f"{kind}-{level_text(kind, level).replace(' ', '')}" if level else "truth-0mm"
                print_line(f"== {task}, {kind} {level_text(kind, level)}")
                out = Path(cfg.out, f"{task}-{noise}-{cfg.randomization}").absolute()
                found[kind, task, level] = run_task(cfg, task, kind, level, str(out))
    return found


def level_text(kind: str, level: float) -> str:
    """Returns a level with its unit."""
    return f"{level:g} {'mm' if KINDS[kind] == 'm' else 'deg'}"


def run_task(cfg: PerceptionNoiseCfg, task: str, kind: str, level: float, out: str) -> RunStatistics:
    """Returns the result of one task at one level."""
    overrides = [
        f"task={task}",
        f"randomization={cfg.randomization}",
        f"randomization.perception.{kind}_std_{KINDS[kind]}={level if KINDS[kind] == 'deg' else 1e-3 * level}",
        *(f"{key}={getattr(cfg, key)}" for key in ("seed", "workers")),
        f"episodes={cfg.n}",
        "pictures=0",
        "give_up_after=null",
        f"out={out}",
    ]
    (job,) = load_configs("collect", CollectCfg, CommandLine(overrides=overrides))
    collect_and_report(job.cfg)
    return RunStatistics.of(item for item in DataSet.open(out).summaries() if item.number < cfg.n)


def curve_table(found: Curves, kind: str) -> Table:
    """Returns a table of successes with one kind of noise: one row per task, one column per level."""
    levels = sorted({level for name, _, level in found if name == kind})
    table = Table(box=MARKDOWN)
    for column in (f"noise of {kind}", *(level_text(kind, level) for level in levels)):
        table.add_column(column, no_wrap=True)
    for task in dict.fromkeys(task for name, task, _ in found if name == kind):
        cells = []
        for level in levels:
            low, high = found[kind, task, level].interval
            cells.append(f"{found[kind, task, level].successes} ({100 * low:.0f} to {100 * high:.0f} %)")
        table.add_row(task, *cells)
    return table


def draw_curves(found: Curves, path: str, *, randomization: str) -> None:
    """Draws one panel per kind of noise and one curve per task, with intervals as bars."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    kinds = list(dict.fromkeys(kind for kind, _, _ in found))
    figure, axes = plt.subplots(1, len(kinds), figsize=(4.6 * len(kinds), 3.4), sharey=True, squeeze=False)
    for axis, kind in zip(axes[0], kinds, strict=True):
        for place, task in enumerate(dict.fromkeys(task for _, task, _ in found)):
            points = sorted((level, each) for (of, name, level), each in found.items() if (of, name) == (kind, task))
            shares = [100 * each.successes / each.n for _, each in points]
            bounds = [(100 * low, 100 * high) for low, high in (each.interval for _, each in points)]
            # for 25 in 25, the upper bound equals the share, up to rounding
            below = [max(0.0, share - low) for share, (low, _) in zip(shares, bounds, strict=True)]
            above = [max(0.0, high - share) for share, (_, high) in zip(shares, bounds, strict=True)]
            x = [level + 0.12 * (place - 1.5) for level, _ in points]  # side by side, so that the bars do not overlap
            axis.errorbar(x, shares, yerr=(below, above), marker="o", ms=4, capsize=2, label=task.replace("_", " "))
        axis.set_xlabel(f"standard deviation of {kind} noise [{'mm' if KINDS[kind] == 'm' else 'degrees'}]")
        axis.set_xticks(sorted({level for of, _, level in found if of == kind}))
        axis.grid(alpha=0.3)
        axis.set_ylim(-3, 103)
    axes[0][0].set_ylabel("successes [%], 95 % interval")
    axes[0][-1].legend(fontsize=8)
    axes[0][0].set_title(f"randomization={randomization}", fontsize=9, loc="left")
    figure.savefig(path, dpi=110, bbox_inches="tight")
    print_line(f"picture: {path}")


def main(arguments: list[str]) -> int:
    """Runs every level and prints the results; exit code 0."""
    cfg = read_pairs(PerceptionNoiseCfg, arguments)
    found = curves(cfg)
    for kind in cfg.of.split(","):
        result_console().print(curve_table(found, kind))
    for (kind, task, level), each in found.items():
        if each.codes:
            print_line(f"{task}, {kind} {level_text(kind, level)}: {each.codes_text()}")
    if cfg.picture is not None:
        draw_curves(found, cfg.picture, randomization=cfg.randomization)
    return 0


if __name__ == "__main__":
    sys.exit(run_guarded(lambda: main(sys.argv[1:]), usage=__doc__))
