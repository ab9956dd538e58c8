"""The configuration that a data set was made with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from configs.reading import read_dataclass
from configs.schema import EpisodeCfg
from simcore.errors import ConfigError, RecordingError
from simcore.recording.storage import DataSet
from workflows.console import banner_hidden


def config_of(data_set: DataSet) -> EpisodeCfg:
    """The configuration of a data set's episodes, read and checked anew.

    Args:
        data_set: The data set.

    Raises:
        RecordingError: Its header has none, or one that this version does not read.
    """
    values: Any = data_set.header.get("config")
    if not isinstance(values, dict):
        raise RecordingError(
            f"Data set '{data_set.path}' has no configuration in its header. Expected one that `unlatch collect` made.",
            path=str(data_set.path),
        )
    try:
        with banner_hidden():  # a type of sensor is code that may load the engine
            return read_dataclass(EpisodeCfg, _with_roots(values, data_set.info.get("object_roots")), where="")
    except ConfigError as exc:
        raise RecordingError(
            f"The configuration of data set '{data_set.path}' is not read by this version: {exc.message} "
            f"It was made by unlatch {data_set.header.get('versions', {}).get('unlatch', 'of unknown version')}.",
            path=str(data_set.path),
        ) from exc


def _with_roots(values: dict[str, Any], roots: Any) -> dict[str, Any]:
    """A configuration with the folders or files that its objects came from, where these are here too."""

    def rooted(item: Any) -> Any:
        root = roots.get(item.get("name")) if isinstance(item, dict) else None
        return {**item, "root": root} if isinstance(root, str) and Path(root).exists() else item

    if not isinstance(roots, dict):
        return values
    others = values.get("objects")
    return {
        **values,
        "object": rooted(values.get("object")),
        "objects": [rooted(item) for item in others] if isinstance(others, list) else others,
    }
