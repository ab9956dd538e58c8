"""Compares the mutants that survived `mutmut run` with those that `explained.yaml` explains; `make mutants` runs it.

A mutant is a copy of a function with one small change, such as `<` for `<=`. A test kills it by failing. Exits with 1
if fewer than 90 % are killed in a module, if a mutant survived without an explanation, or if an explanation has no
mutant any more.
"""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path

import yaml
from mutmut.mutation.data import SourceFileMutationData
from mutmut.mutation.diff_apply import get_diff_for_mutant
from mutmut.stats import status_by_exit_code
from mutmut.utils.file_utils import walk_mutatable_files

LEAST_KILLED = 0.9
"""Least share of killed mutants in each module."""
EXPLAINED = Path(__file__).with_name("explained.yaml")
KILLED = ("killed", "timeout", "segfault")


@dataclass(frozen=True)
class Mutant:
    """One changed function."""

    function: str
    """Full name: `unlatch.workflows.episode.judge.GoalJudge.observe`."""
    change: str
    """The lines that are removed and added, without indentation."""


def read_results(module: str) -> dict[str, dict[str, str]]:
    """Returns the status of each mutant that was tested, by module and mutmut's name; `module` filters, "" does not."""
    found: dict[str, dict[str, str]] = defaultdict(dict)
    for path in walk_mutatable_files():
        data = SourceFileMutationData(path=path)
        data.load()
        for name, exit_code in data.exit_code_by_key.items():
            owner = name.partition(".x_" if ".x_" in name else ".xǁ")[0]
            if exit_code is not None and module in ("", owner):
                found[owner][name] = status_by_exit_code[exit_code]
    return dict(found)


def describe(name: str, module: str) -> Mutant:
    """Returns a mutant by mutmut's name, `module.x_function__mutmut_1` or `module.xǁClassǁmethod__mutmut_1`."""
    words = name.removeprefix(f"{module}.").rpartition("__mutmut_")[0]
    function = words.removeprefix("x_").removeprefix("xǁ").replace("ǁ", ".")
    lines = get_diff_for_mutant(name).splitlines()
    changed = [f"{line[0]} {line[1:].strip()}" for line in lines if line[:1] in "+-" and line[:3] not in ("+++", "---")]
    return Mutant(f"{module}.{function}", "\n".join(changed))


def read_explained(module: str) -> set[Mutant]:
    """Returns the explained mutants of a module; of all modules if it is ""."""
    entries = yaml.safe_load(EXPLAINED.read_text(encoding="utf-8"))
    for entry in entries:
        if not str(entry["reason"]).strip():
            sys.exit(f"{EXPLAINED}: the mutant of {entry['function']} has no reason. State why no test can kill it.")
    found = {
        Mutant(entry["function"], "\n".join(f"{line[0]} {line[1:].strip()}" for line in entry["change"].splitlines()))
        for entry in entries
    }
    return {mutant for mutant in found if mutant.function.startswith(module)}


def print_mutants(what: str, mutants: set[Mutant]) -> None:
    """Prints each mutant: what is wrong with it, its function and its change."""
    for mutant in sorted(mutants, key=lambda item: (item.function, item.change)):
        print(f"\n{what}: {mutant.function}\n    " + mutant.change.replace("\n", "\n    "))


def main(module: str) -> int:
    """Prints a table of the modules, and the mutants without explanation; returns the exit code."""
    results, explained = read_results(module), read_explained(module)
    if not results:
        print(f"No mutant of '{module}' was tested. Expected a module of `source_paths` in pyproject.toml.")
        return 1
    survived: set[Mutant] = set()
    is_good = True
    print(f"{'module':50} mutants  killed  explained  unexplained")
    for name, statuses in sorted(results.items()):
        counts = Counter(statuses.values())
        share = sum(counts[status] for status in KILLED) / len(statuses)
        survivors = {describe(mutant, name) for mutant, status in statuses.items() if status not in KILLED}
        survived |= survivors
        n_explained = len(survivors & explained)
        is_good &= share >= LEAST_KILLED and n_explained == len(survivors)
        killed = f"{int(1000 * share) / 10} %"  # rounded down: 100 % means all
        print(f"{name:50} {len(statuses):7} {killed:>7} {n_explained:10} {len(survivors) - n_explained:12}")
    print_mutants("no test fails, and no reason is given", survived - explained)
    print_mutants("explained, but a test fails or there is no such mutant", explained - survived)
    is_good &= explained <= survived
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else ""))
