"""Exports a data set in a format that policies are trained from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
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
from unlatch.workflows.hub.config import HubCfg
from unlatch.workflows.runs.recorded_config import config_of

DEFAULT_FORMAT = "lerobot"
HUB_KEYS = tuple(item.name for item in fields(HubCfg))
"""Options that say where the export is uploaded, not what it contains."""


def export(
    data: DataSet | str | Path,
    *,
    out: str | Path,
    format: str = DEFAULT_FORMAT,
    **options: Any,
) -> ExportReport:
    """Exports the successful episodes of a data set, and pushes them to the Hugging Face Hub if `push` is given.

    The target is written completely or not at all. Exporting again adds missing episodes to a LeRobot set; other
    formats need a new target.

    Args:
        data: The data set, or its folder.
        out: The folder or file to write.
        format: Name of the format: `lerobot`, `robomimic`, `maniskill` or that of a plugin.
        **options: Fields of the format's configuration, see `ExportCfg`, such as `action="ee_delta"` or `all=True`; and
            those of `HubCfg`, such as `push="ann/microwaves"`.

    Returns:
        Counts of exported episodes and frames, and the address on the Hub.

    Raises:
        PluginError: The format is unknown, or a package that it needs is not installed.
        ConfigError: An option is wrong, or the name on the Hub is taken. Nothing is exported.
        RecordingError: The data set cannot be read, an episode cannot be exported, or the target cannot be written.
        HubError: The Hub refuses the token, or cannot be reached. If it happens after the export, the target stays.

    Example:
        >>> unlatch.export(data, format="lerobot", out="data/lerobot").taken
        4
    """
    values = plain(options)
    hub = read_dataclass(HubCfg, {key: values.pop(key) for key in HUB_KEYS if key in values}, where="")
    cfg = read_dataclass(EXPORTERS.load(format).cfg_type, values, where="")
    return export_data_set(data if isinstance(data, DataSet) else DataSet.open(data), format, cfg, str(out), hub=hub)


def export_data_set(
    data_set: DataSet,
    name: str,
    cfg: ExportCfg,
    out: str,
    *,
    hub: HubCfg | None = None,
    on_episode: Callable[[int, int], None] | None = None,
    on_exported: Callable[[ExportReport], None] | None = None,
) -> ExportReport:
    """Exports a data set with configurations that are read already; see `export`.

    Args:
        data_set: The data set.
        name: Name of the format.
        cfg: The options of the format.
        out: The folder or file to write.
        hub: Where the export is pushed to; None: nowhere.
        on_episode: Called with the number of episodes that have been read and the total number.
        on_exported: Called when the target is complete, before it is pushed.
    """
    hub = hub or HubCfg()
    if hub.push is not None:
        from unlatch.workflows.hub.push import prepare_push, push_export  # only here: it imports pyarrow

        connection = prepare_push(hub, name)
    episodes = cache(lambda: config_of(data_set))
    source = ExportSource(data_set, cfg, scene_of=lambda record: recorded_scene(episodes(), record))
    report = run_export(EXPORTERS.load(name)(source, cfg), out, on_episode=on_episode)
    if on_exported is not None:
        on_exported(report)
    if hub.push is None:
        return report
    return replace(report, url=push_export(connection, hub, source, report.target))
