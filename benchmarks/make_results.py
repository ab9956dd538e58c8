"""Makes the figures of the README again with the present code: `make results`.

Usage: python benchmarks/make_results.py [size=1] [only=STEP,...] [cores=2] [cards=0] [all=false] [list=false]
       [out=data/results]

Runs the benchmarks below one after the other, adds their counts to `benchmarks/results.json`, `learning_results.jsonl`
and `other_results.json`, and writes the pages. The same command again continues: what the present physics has made is
not made again. `size=0.1` makes a tenth of the episodes. `all=true` also makes the tables of other pages. `list=true`
prints the steps and how long each takes on two cores.

The seed follows from the fingerprint of the behaviour (`fingerprint.py`). So nobody chooses it, nobody can have studied
its failures before, and a changed behaviour gets another one.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import gallery
import results_page
from fingerprint import PATH, fingerprint_here, present_fingerprints, present_seed
from rich.box import MARKDOWN
from rich.table import Table
from summary_tables import BELOW_AIM

from unlatch.simcore.errors import ConfigError, close_matches
from unlatch.workflows.cli.arguments import read_pairs
from unlatch.workflows.cli.terminal import OK, print_line, result_console, run_guarded

FOLDER = Path(__file__).parent
COUNTS = FOLDER / "results.json"
EVALUATIONS = FOLDER / "learning_results.jsonl"
_FAILED = 1


@dataclass(frozen=True)
class Step:
    """One benchmark whose counts stand in a row."""

    name: str
    script: str
    words: tuple[str, ...]
    n: int
    """Episodes of an entry, if size=1."""
    minutes: float
    """Time on two cores, if size=1 [min]."""
    key: str = "n"
    """Key of the script that takes the number of episodes."""
    needs: str = ""
    """What must be there: `objects` (UNLATCH_PARTNET_DIR), or the name of a Python package."""
    in_readme: bool = True

    def command(self, cfg: Cfg) -> list[str]:
        """Returns the command line."""
        words = [*self.words, f"seed={present_seed()}"]
        if self.script == "learning.py":
            words += ["seed_is=fresh", f"scale={cfg.size}", f"cores={cfg.cores}", f"cards={cfg.cards}"]
        else:
            key = "cores" if self.script == "image_cost.py" else "workers"
            words += [f"{self.key}={max(round(self.n * cfg.size), 1)}", f"{key}={cfg.cores}"]
        if self.script != "throughput.py" and self.script != "image_cost.py":
            words.append(f"out={Path(cfg.out).absolute() / fingerprint_here() / self.name}")
        return [sys.executable, str(FOLDER / self.script), *words]

    def missing(self) -> str:
        """Returns what is missing to run this step, in words; empty: nothing."""
        if self.needs == "objects":
            unset = not os.environ.get("UNLATCH_PARTNET_DIR")
            return "UNLATCH_PARTNET_DIR is not set to a folder of PartNet-Mobility objects" if unset else ""
        return f"the package {self.needs} is not installed" if self.needs and find_spec(self.needs) is None else ""


_COUNTS, _KEPT = f"results={COUNTS}", "results=true"
_WIDE = ("skills=open", "openness=0.9")
STEPS = (
    Step("tasks", "task_matrix.py", ("robots=franka_panda", _COUNTS), 100, 150),
    Step("library", "skill_matrix.py", ("robots=franka_panda", "search_off=true", _COUNTS), 30, 45),
    Step("real", "any_urdf.py", ("categories=all", _COUNTS), 20, 60, needs="objects"),
    Step("policy_states", "learning.py", ("one_policy", f"results={EVALUATIONS}"), 200, 240, needs="torch"),
    Step("policy_cameras", "learning.py", ("images_one_policy", f"results={EVALUATIONS}"), 200, 3000, needs="torch"),
    Step("second_engine", "second_engine.py", (_KEPT,), 50, 8, needs="mujoco"),
    Step("second_engine_library", "second_engine.py", ("tasks=library", _KEPT), 4, 12, needs="mujoco"),
    Step("pace", "throughput.py", (_KEPT,), 60, 2, key="episodes"),
    Step("images", "image_cost.py", (_KEPT,), 15, 15, key="minutes"),
    Step("tasks_of_robots", "task_matrix.py", ("robots=dual_panda,xarm6,ur5,baxter", _COUNTS), 3, 30, in_readme=False),
    Step(
        "library_of_robots",
        "skill_matrix.py",
        ("robots=dual_panda,xarm6,ur5,baxter", "search_off=true", _COUNTS),
        4,
        40,
        in_readme=False,
    ),
    Step("library_wide", "skill_matrix.py", (*_WIDE, _COUNTS), 20, 15, in_readme=False),
    Step("real_wide", "any_urdf.py", ("categories=all", *_WIDE, _COUNTS), 20, 35, needs="objects", in_readme=False),
    Step("peers", "peer_settings.py", (_COUNTS,), 10, 40, in_readme=False),
)


@dataclass
class Cfg:
    """The keys of this command."""

    size: float = 1.0
    """Share of the episodes."""
    only: str = ""
    """Names of steps, separated by commas; empty: those of the README."""
    cores: int = 2
    """Episodes at a time."""
    cards: int = 0
    """Graphics cards on which policies train; 0: they train on the cores."""
    all: bool = False
    """Whether the tables of other pages are made, too."""
    list: bool = False
    """Whether the steps are only listed."""
    out: str = "data/results"
    """Folder of the data sets; each fingerprint has its own in it."""

    def __post_init__(self) -> None:
        if not 0.0 < self.size <= 10.0 or self.cores < 1:
            raise ConfigError(f"size={self.size} cores={self.cores}: expected a size above 0, up to 10, and a core.")


def steps_of(cfg: Cfg) -> list[Step]:
    """Returns the steps that are asked for.

    Raises:
        ConfigError: A name of `only` is unknown.
    """
    names = [name.strip() for name in cfg.only.split(",") if name.strip()]
    known = [step.name for step in STEPS]
    for name in names:
        if name not in known:
            raise ConfigError(
                f"only={cfg.only}: step '{name}' is unknown.{close_matches(name, known)} Steps: {', '.join(known)}.",
                key="only",
            )
    return [step for step in STEPS if step.name in names or (not names and (step.in_readme or cfg.all))]


def steps_table(steps: Sequence[Step], cfg: Cfg) -> Table:
    """Returns the table of steps, with the time of each on two cores."""
    table = Table("step", "command", "on two cores", box=MARKDOWN)
    for step in steps:
        command = f"{step.script} {' '.join(word for word in step.words if not word.startswith('results='))}"
        table.add_row(step.name, command, f"{step.minutes * cfg.size:.0f} min")
    return table


def run_step(step: Step, cfg: Cfg) -> str:
    """Runs a step; returns the problem, or an empty text."""
    if step.missing():
        return f"not made: {step.missing()}"
    return "" if subprocess.run(step.command(cfg), check=False).returncode in (OK, BELOW_AIM) else "failed, see above"


def main(arguments: list[str]) -> int:
    """Runs the steps that are asked for and writes the pages."""
    cfg = read_pairs(Cfg, arguments)
    steps = steps_of(cfg)
    result_console().print(steps_table(steps, cfg))
    hours = sum(step.minutes for step in steps) * cfg.size / 60
    print_line(f"{len(steps)} steps, about {hours:.1f} h on two cores if nothing is there yet")
    if cfg.list:
        return OK
    if fingerprint_here() not in present_fingerprints():
        raise ConfigError(
            f"The fingerprint {fingerprint_here()} of this code on this machine is not in {PATH}. If the change of "
            "behaviour is wanted, run: python benchmarks/fingerprint.py write=true"
        )
    problems = {}
    for number, step in enumerate(steps, start=1):
        print_line(f"step {number} of {len(steps)}: {step.name}, about {step.minutes * cfg.size:.0f} min on two cores")
        began = time.monotonic()
        problem = run_step(step, cfg)
        problems |= {step.name: problem} if problem else {}
        print_line(f"{step.name}: {problem or f'done in {(time.monotonic() - began) / 60:.1f} min'}")
    results_page.main([])
    gallery.main([])
    for name, problem in problems.items():
        print_line(f"{name}: {problem}")
    return _FAILED if problems else OK


if __name__ == "__main__":
    sys.exit(run_guarded(lambda: main(sys.argv[1:]), usage=__doc__))
