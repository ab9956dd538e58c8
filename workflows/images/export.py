"""Exports a data set in a format that policies are trained from."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from unlatch.configs.dataclass_reader import read_dataclass
from unlatch.simcore.recording.data_set.data_set import DataSet
from unlatch.simcore.recording.export.catalog import EXPORTERS
from unlatch.simcore.recording.export.config import ExportCfg
from unlatch.simcore.recording.export.run import ExportReport, run_export
from unlatch.simcore.recording.export.source import ExportSource
from unlatch.simcore.recording.json_values import plain
from unlatch.workflows.episode.observed_scene import recorded_scene
from unlatch.workflows.runs.recorded_config import config_of

DEFAULT_FORMAT = "lerobot"


def export(
    data: DataSet | str | Path, *, out: str | Path, format: str = DEFAULT_FORMAT, **options: Any
) -> ExportReport:
    """Exports the successful episodes of a data set.

    The target is written completely or not at all. Exporting again adds missing episodes to a LeRobot set; other
    formats need a new target.

    Args:
        data: The data set, or its folder.
        out: The folder or file to write.
        format: Name of the format: `lerobot`, `robomimic`, `maniskill` or that of a plugin.
        **options: Fields of the format's configuration, see `ExportCfg`; such as `action="ee_delta"` or `all=True`.

    Returns:
        Counts of exported episodes and frames.

    Raises:
        PluginError: The format is unknown, or a package that it needs is not installed.
        ConfigError: An option is wrong.
        RecordingError: The data set cannot be read, an episode cannot be exported, or the target cannot be written.

    Example:
        >>> unlatch.export(data, format="lerobot", out="data/lerobot").taken
        4
    """
    cfg = read_dataclass(EXPORTERS.load(format).cfg_type, plain(options), where="")
    return export_data_set(data if isinstance(data, DataSet) else DataSet.open(data), format, cfg, str(out))


def export_data_set(data_set: DataSet, name: str, cfg: ExportCfg, out: str) -> ExportReport:
    """Exports a data set with a configuration that is read already; see `export`."""
    episodes = cache(lambda: config_of(data_set))
    source = ExportSource(data_set, cfg, scene_of=lambda record: recorded_scene(episodes(), record))
    return run_export(EXPORTERS.load(name)(source, cfg), out)
