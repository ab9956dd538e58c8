"""The contract of an export format."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from unlatch.configs.dataclass_reader import read_dataclass
from unlatch.simcore.errors import RecordingError
from unlatch.simcore.recording.data_set.data_set import DataSet
from unlatch.simcore.recording.export.catalog import EXPORTERS
from unlatch.simcore.recording.export.config import ExportCfg
from unlatch.simcore.recording.export.exporter import Exporter
from unlatch.simcore.recording.export.run import run_export
from unlatch.simcore.recording.export.source import ExportSource
from unlatch.workflows.runs.header import header_of
from unlatch.workflows.runs.loading import load_config
from unlatch.workflows.runs.runner import EpisodeRunner
from unlatch.workflows.runs.schema import CollectCfg
from unlatch.workflows.testing.contract_checks import require

_OVERRIDES = ("task=close_drawer", "seed=1")
_MAX_ATTEMPTS = 10


def check_exporter(name: str, *, data: str | Path | None = None, keys: Mapping[str, Any] | None = None) -> None:
    """Checks the contract of an export format.

    The format is listed and its keys are read; it exports every episode; two exports have equal files; the data set
    stays unchanged; an interrupted export leaves no target; the same command on an existing target adds nothing or is
    refused, and the target stays unchanged.

    Args:
        name: Name of the format.
        data: A data set with two successes; None = two episodes of `close_drawer` are made in a few seconds.
        keys: Keys of the format, as for `unlatch export`.

    Raises:
        AssertionError: A condition is broken; the message names it.
        ConfigError: A key is wrong.
        RecordingError: The data set cannot be read.
    """
    require(name in EXPORTERS.names(), f"Format '{name}' is not listed. Is its package installed?")
    cls: type[Exporter] = EXPORTERS.load(name)
    require(issubclass(cls.cfg_type, ExportCfg), f"cfg_type of format '{name}' is no ExportCfg: {cls.cfg_type}.")
    cfg = read_dataclass(cls.cfg_type, dict(keys or {}), where="")
    with TemporaryDirectory(prefix="unlatch-export-") as scratch:
        folder = Path(scratch)
        data_set = make_successes(folder / "data") if data is None else DataSet.open(data)
        _check_exports(name, cls, cfg, data_set, folder)


def _check_exports(name: str, cls: type[Exporter], cfg: ExportCfg, data_set: DataSet, folder: Path) -> None:
    before = _file_digests(data_set.path)
    targets = [folder / f"{place}{cls.suffix}" for place in ("first", "second", "broken")]
    reports = [run_export(cls(ExportSource(data_set, cfg), cfg), target) for target in targets[:2]]
    wanted = len(ExportSource(data_set, cfg).numbers)
    require(wanted > 0, f"Data set '{data_set.path}' has no episode that would be exported.")
    require(reports[0].taken == wanted, f"Format '{name}' took {reports[0].taken} of {wanted} episodes.")
    first, second = _file_digests(targets[0]), _file_digests(targets[1])
    require(bool(first), f"Format '{name}' wrote nothing to {targets[0].name}.")
    differing = sorted(key for key in {*first, *second} if first.get(key) != second.get(key))
    require(not differing, f"Format '{name}' wrote {', '.join(differing)} differently the second time.")
    _check_interruption(name, cls, cfg, data_set, targets[2])
    try:
        again = run_export(cls(ExportSource(data_set, cfg), cfg), targets[0])
    except RecordingError:
        pass  # this format does not extend a target
    else:
        require(again.taken == 0, f"Format '{name}' took {again.taken} episodes that its target had already.")
    require(_file_digests(targets[0]) == first, f"The same command again changed what format '{name}' had written.")
    require(_file_digests(data_set.path) == before, f"Format '{name}' changed the data set that it exports.")


class _InterruptedError(Exception):
    pass


def _check_interruption(name: str, cls: type[Exporter], cfg: ExportCfg, data_set: DataSet, target: Path) -> None:
    def stop(_done: int, _of: int) -> None:
        raise _InterruptedError

    try:
        run_export(cls(ExportSource(data_set, cfg), cfg), target, on_episode=stop)
    except _InterruptedError:
        pass
    else:
        raise AssertionError(f"Format '{name}' ignores an error while its episodes are read, or does not read them.")
    require(not target.exists(), f"Format '{name}' left {target.name} behind after an interruption.")


def make_successes(path: Path) -> DataSet:
    """Makes a data set with two successes in a folder."""
    cfg = load_config("collect", CollectCfg, _OVERRIDES).cfg
    with EpisodeRunner(cfg) as runner, DataSet.create_or_resume(path, header=header_of(cfg)) as data_set:
        found = 0
        for number in range(_MAX_ATTEMPTS):
            record = runner.run(number)
            data_set.write(record)
            found += record.success
            if found == 2:
                break
    return DataSet.open(path)


def _file_digests(path: Path) -> dict[str, str]:
    """Returns the digests of the files in a folder, or of one file, by relative path."""
    files = sorted(item for item in path.rglob("*") if item.is_file()) if path.is_dir() else [path]
    return {
        str(file.relative_to(path)): hashlib.sha256(file.read_bytes()).hexdigest() for file in files if file.exists()
    }
