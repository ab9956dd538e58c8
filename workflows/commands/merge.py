"""`unlatch merge`: joins data sets of the same configuration, such as shards from different disks."""

from __future__ import annotations

import shlex
import time
from collections.abc import Sequence
from dataclasses import dataclass

from unlatch.simcore.errors import ConfigError, count_noun
from unlatch.workflows.cli.arguments import read_pairs
from unlatch.workflows.cli.command import command
from unlatch.workflows.cli.command_line import split_some_paths
from unlatch.workflows.cli.console import FAILED, OK, print_line, print_note
from unlatch.workflows.runs.merge import merge


@dataclass
class MergeCfg:
    """Options of `unlatch merge`."""

    link: bool = False
    """Whether files are linked where the file system can do that."""


@command
def main(arguments: list[str]) -> int:
    """Runs the command; returns its exit code."""
    paths, pairs = split_some_paths("merge", arguments, least=0)
    _check_place(paths, pairs)
    (out, *sources), pairs = split_some_paths("merge", arguments, least=2)
    cfg = read_pairs(MergeCfg, pairs)
    started = time.perf_counter()
    report = merge(out, sources, link=cfg.link, notify=print_note)
    seconds = time.perf_counter() - started
    print_line(
        f"{count_noun(report.episodes, 'episode')}, {report.taken} taken in {seconds:.1f} s: {report.data_set.path}"
    )
    return FAILED if report.left_out else OK


def _check_place(paths: Sequence[str], pairs: Sequence[str]) -> None:
    """Raises an error for a key `out`: the command without it would write into a folder that was meant as a source.

    Raises:
        ConfigError: There is such a key.
    """
    for pair in pairs:
        key, _, value = pair.partition("=")
        if key.lstrip("+") == "out":
            words = shlex.join(["unlatch", "merge", value or "OUT", *(paths or ["DATA"])])
            raise ConfigError(
                f"{pair} is no key of merge: the first folder is the result, `unlatch merge OUT DATA [DATA ...]`. "
                f"Write {words}",
                key="out",
            )
