"""The header of a data set: configuration and versions that must be equal for two runs to write into it."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from unlatch.configs.schema import EpisodeCfg
from unlatch.objects.library import describe_object_set
from unlatch.simcore.recording.json_values import plain
from unlatch.workflows.runs.retries.code_versions import COMPARED_DISTRIBUTIONS, versions_of


def header_of(cfg: EpisodeCfg) -> dict[str, Any]:
    """Returns the header of a data set whose episodes have this configuration.

    It holds the episode's configuration, the versions of the simulation, and the objects that an episode may draw. It
    leaves out where objects are stored, because that does not change an episode.

    Raises:
        ConfigError, AssetError: There are no objects to draw from.
    """
    config = plain({item.name: getattr(cfg, item.name) for item in fields(EpisodeCfg)})
    for item in (config["object"], *config["objects"]):
        del item["cache_dir"]
        item["root"] = None
    config["randomization"] = plain(cfg.randomization.to_dict())
    header = {"config": config, "versions": versions_of(COMPARED_DISTRIBUTIONS)}
    sets = {name: found for name, item in cfg.all_objects().items() if (found := describe_object_set(item))}
    return {**header, "objects": sets} if sets else header
