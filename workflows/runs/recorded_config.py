"""Reads the configuration that a data set was made with, and checks its episode numbers."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from unlatch.configs.dataclass_reader import read_dataclass
from unlatch.configs.schema import EpisodeCfg
from unlatch.simcore.errors import ConfigError, RecordingError, UnknownEntryError
from unlatch.simcore.files import user_path
from unlatch.simcore.randomization.config import RandomizationCfg
from unlatch.simcore.recording.data_set import DataSet
from unlatch.simcore.recording.episode import EPISODE_FILE, EpisodeRecord
from unlatch.simcore.recording.episode_reading import read_episode
from unlatch.simcore.recording.index import EpisodeSummary

FROM_KEY = "randomization.from"


def config_of(data_set: DataSet) -> EpisodeCfg:
    """Reads and checks the configuration of a data set's episodes.

    Raises:
        RecordingError: Its header has none, or one that this version cannot read.
    """
    values: Any = data_set.header.get("config")
    if not isinstance(values, dict):
        raise RecordingError(
            f"Data set '{data_set.path}' has no configuration in its header. Expected one that `unlatch collect` made.",
            path=str(data_set.path),
        )
    skills = values.get("skills")
    if isinstance(skills, list):  # a rule that its version did not have stays off
        off = {"scene_force_threshold_n": None}
        values = {**values, "skills": [{**off, **entry} if isinstance(entry, dict) else entry for entry in skills]}
    try:
        values = _add_roots(values, data_set.info.get("object_roots"))
        return read_dataclass(EpisodeCfg, values, where="")
    except ConfigError as exc:
        if isinstance(exc.__cause__, UnknownEntryError):
            raise RecordingError(
                f"Data set '{data_set.path}' was made with a plugin that is not installed here: {exc.message} Install "
                "the package of the plugin.",
                path=str(data_set.path),
            ) from exc
        raise RecordingError(
            f"The configuration of data set '{data_set.path}' cannot be read by this version: {exc.message} "
            f"It was made by unlatch {data_set.header.get('versions', {}).get('unlatch', 'of unknown version')}.",
            path=str(data_set.path),
        ) from exc


def config_of_record(record: EpisodeRecord) -> EpisodeCfg:
    """Reads and checks the configuration of the data set that a record was read from.

    Raises:
        ConfigError: It was not read from a data set.
        RecordingError: The data set has no configuration that this version can read.
    """
    if record.data_set is None:
        raise ConfigError(
            f"Episode {record.number} was not read from a data set, so its configuration is not known. Give cfg.",
            key="cfg",
        )
    return config_of(DataSet.open(record.data_set))


def check_episode(data_set: DataSet, number: int) -> None:
    """Raises an error unless a data set has an episode.

    Raises:
        RecordingError: It has no such episode; the message names the numbers that it has.
    """
    numbers = data_set.numbers()
    if number not in numbers:
        raise RecordingError(
            f"episode={number} is not in '{data_set.path}'. It has {format_ranges(numbers)}. Name one of them.",
            number=number,
            available=numbers,
        )


def chosen_summaries(data_set: DataSet, *, only: Sequence[int] | None, all: bool = False) -> list[EpisodeSummary]:
    """Returns the summaries of the episodes in `only`, sorted by number; without `only`, of all or all successful ones.

    Raises:
        RecordingError: A named episode does not exist.
    """
    for number in only or ():
        check_episode(data_set, number)
    found = data_set.summaries()
    return [item for item in found if (all or item.success if only is None else item.number in only)]


def format_ranges(numbers: Sequence[int]) -> str:
    """Returns `0 to 4, 7` for sorted numbers; of many, the first few."""
    runs = [[number for _, number in run] for _, run in groupby(enumerate(numbers), key=lambda pair: pair[1] - pair[0])]
    words = [f"{run[0]} to {run[-1]}" if len(run) > 1 else str(run[0]) for run in runs]
    return "episodes " + ", ".join(words[:6]) + (", ..." if len(words) > 6 else "") if words else "no episodes yet"


def _add_roots(values: dict[str, Any], roots: Any) -> dict[str, Any]:
    """Returns the configuration with the folders or files of its objects, if they exist here."""

    def add_root(item: Any) -> Any:
        root = roots.get(item.get("name")) if isinstance(item, dict) else None
        return {**item, "root": root} if isinstance(root, str) and Path(root).exists() else item

    if not isinstance(roots, dict):
        return values
    others = values.get("objects")
    return {
        **values,
        "object": add_root(values.get("object")),
        "objects": [add_root(item) for item in others] if isinstance(others, list) else others,
    }


def with_recorded(cfg: RandomizationCfg) -> RandomizationCfg:
    """Returns the randomization with the values of the episode that its `from` names, if any.

    Raises:
        ConfigError: There is no such episode, or it has no randomization.
    """
    if cfg.source is None or cfg.recorded is not None:
        return cfg
    try:
        applied = _read_applied(cfg.source)
    except RecordingError as exc:
        raise ConfigError(f"{FROM_KEY}='{cfg.source}': {exc.message}", key=FROM_KEY) from exc
    if not applied:
        raise ConfigError(
            f"{FROM_KEY}='{cfg.source}' is an episode in which nothing was randomized. Name one that was made with a "
            "randomization.",
            key=FROM_KEY,
        )
    return RandomizationCfg(name=cfg.name, source=cfg.source, recorded=applied)


def _read_applied(source: str) -> dict[str, Any]:
    folder = user_path(source)
    if (folder / EPISODE_FILE).is_file():
        return read_episode(folder, arrays=False).applied
    path, _, number = source.rpartition(":")
    if not path or not number.isdigit():
        raise ConfigError(
            f"{FROM_KEY}='{source}' is not an episode. Expected DATA:NUMBER, or the folder of an episode. Change it.",
            key=FROM_KEY,
        )
    return DataSet.open(user_path(path)).read(int(number), arrays=False).applied
