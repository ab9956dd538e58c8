"""How often each skill succeeds on each category of the object library, a new object in every episode.

Usage: python benchmarks/skill_matrix.py [n=100] [seed=0] [workers=2] [only=TEXT] [skills=open,close,rotate]
       [out=data/bench-skill-matrix]

Runs `unlatch collect object=CATEGORY skill=SKILL`, which derives the task in each episode; what a skill does not fit is
left out with the reason. Data sets stay in the folder; the same command again goes on where it was stopped.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

from any_urdf import Job, RunCfg, instance_table, run_all, summary_lines

from simcore.assets.procedural.catalog import GENERATORS
from workflows.commandline import read_pairs
from workflows.console import OK, guarded, result_console, say

DOES_NOT_FIT = "does not fit part"


@dataclass
class SkillMatrixCfg(RunCfg):
    """The benchmark's keys."""

    n: int = 100
    """Episodes of each category and skill."""
    skills: str = "open,close,rotate"
    """Skills, separated by commas."""
    out: str = "data/bench-skill-matrix"
    """Folder of the data sets."""


def main(arguments: list[str]) -> int:
    """Runs every job and prints what came of them."""
    cfg = read_pairs(SkillMatrixCfg, arguments)
    wanted = [text for text in cfg.only.split(",") if text]
    names = [name for name in GENERATORS.names() if not wanted or any(text in name for text in wanted)]
    results = run_all([Job(name, skill, "generated", name) for name in names for skill in cfg.skills.split(",")], cfg)
    tried = [result for result in results if DOES_NOT_FIT not in result.problem]
    result_console().print(instance_table(tried))
    for line in summary_lines(tried):
        say(line)
    return OK


if __name__ == "__main__":
    sys.exit(guarded(lambda: main(sys.argv[1:])))
