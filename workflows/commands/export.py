"""`unlatch export`: writes a data set in a format that policies are trained from."""

from __future__ import annotations

import time

from unlatch.simcore.errors import ConfigError, count_noun
from unlatch.simcore.recording.data_set.data_set import DataSet
from unlatch.simcore.recording.export.catalog import EXPORTERS
from unlatch.simcore.recording.export.run import ExportReport
from unlatch.workflows.cli.arguments import read_pairs
from unlatch.workflows.cli.command import command
from unlatch.workflows.cli.command_line import split_paths
from unlatch.workflows.cli.console import OK, print_line, print_note, relative_path
from unlatch.workflows.hub.config import HubCfg
from unlatch.workflows.images.export import DEFAULT_FORMAT, HUB_KEYS, export_data_set
from unlatch.workflows.runs.progress import StepProgress


@command
def main(arguments: list[str]) -> int:
    """Runs the command; returns its exit code."""
    (path,), pairs = split_paths("export", arguments, count=1)
    given = {key: value for key, _, value in (pair.partition("=") for pair in pairs)}
    name, out = given.get("format") or DEFAULT_FORMAT, given.get("out")
    cfg = read_pairs(EXPORTERS.load(name).cfg_type, pairs, others=("format", "out", *HUB_KEYS))
    hub = read_pairs(HubCfg, [pair for pair in pairs if pair.partition("=")[0] in HUB_KEYS])
    if not out:
        raise ConfigError("out is missing. Expected a place for the export. Give it as out=PATH.", key="out")
    started = time.perf_counter()

    def print_export(report: ExportReport) -> None:
        progress.end()
        wall = time.perf_counter() - started
        if report.left_out:
            print_note(
                f"unlatch: {count_noun(report.left_out, 'attempt')} left out: not successful, or without states "
                "(failed ones: all=true)"
            )
        before = f" ({report.there} more existed before)" if report.there else ""
        print_line(
            f"{name}: {count_noun(report.taken, 'episode')}, {count_noun(report.frames, 'frame')} in {wall:.1f} s"
            f"{before}: {relative_path(report.target)}"
        )
        if hub.push:
            print_note(f"unlatch: pushing to {hub.push}")

    with StepProgress("episodes") as progress:
        report = export_data_set(
            DataSet.open(path), name, cfg, out, hub=hub, on_episode=progress.update, on_exported=print_export
        )
    if report.url:
        print_line(f"pushed: {report.url}")
    return OK
