"""Collects one episode for a picture."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from unlatch.configs.schema import EpisodeCfg
from unlatch.simcore.recording.data_set import DataSet
from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.workflows.cli.run_report import load_configs
from unlatch.workflows.cli.terminal import CommandLine
from unlatch.workflows.commands.collect import collect_and_report
from unlatch.workflows.runs.recorded_config import config_of
from unlatch.workflows.runs.schema import CollectCfg


def collect_one(words: Sequence[str], out: Path) -> tuple[EpisodeRecord, EpisodeCfg]:
    """Collects episode 0 with keys of `unlatch collect` into a folder; returns its record and configuration."""
    line = CommandLine(overrides=[*words, "episodes=1", "pictures=0", "executor=serial"])
    (loaded,) = load_configs("collect", CollectCfg, line)
    loaded.cfg.out = str(out)
    collect_and_report(loaded.cfg)
    data_set = DataSet.open(out)
    return data_set.read(0), config_of(data_set)
