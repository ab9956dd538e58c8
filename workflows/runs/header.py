"""The header of a data set: configuration and versions that must be equal for two runs to write into it."""

from __future__ import annotations

import platform
from dataclasses import fields
from typing import Any

from unlatch.configs.schema import EpisodeCfg
from unlatch.objects.library import describe_object_set
from unlatch.simcore.extras import installed_version
from unlatch.simcore.recording.data_set.data_set import DataSet
from unlatch.simcore.recording.json_values import plain

COMPARED_DISTRIBUTIONS = ("unlatch", "pybullet", "casadi")
"""Distributions whose versions must be equal for two runs to write into one data set."""
NOTED_DISTRIBUTIONS = ("coacd", "hydra-core", "numpy", "ompl", "scipy", "toppra", "trimesh")
"""Further distributions whose versions are noted."""


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


def versions_of(names: tuple[str, ...]) -> dict[str, str]:
    """Returns the versions of installed distributions by name."""
    return {name: installed_version(name) or "not installed" for name in names}


def describe_machine(data_set: DataSet) -> str:
    """Returns the versions and the host that differ from those of a data set, for the end of a message.

    Derived numbers and replays may then differ without a forgery. Empty if nothing is known to differ.
    """
    found = [f"{name} {then}, here {now}" for name, (then, now) in differing_versions(data_set).items()]
    host: Any = data_set.info.get("host")
    if host is not None and host != platform.node():
        found.append(f"host {host}, here {platform.node()}")
    return f" The data set was made with {'; '.join(found)}." if found else ""


def differing_versions(data_set: DataSet) -> dict[str, tuple[str, str]]:
    """Returns (then, now) by name for the versions, of Python and platform too, that differ from a data set's."""
    then = {**data_set.header.get("versions", {}), **data_set.info.get("versions", {})}
    now = versions_of((*COMPARED_DISTRIBUTIONS, *NOTED_DISTRIBUTIONS))
    for name, here in (("python", platform.python_version()), ("platform", platform.platform())):
        if name in data_set.info:
            then[name], now[name] = data_set.info[name], here
    return {name: (str(then[name]), now[name]) for name in now if name in then and str(then[name]) != now[name]}
