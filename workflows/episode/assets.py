"""Loads the objects of one episode: drawn ones, or those that a record names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from unlatch.configs.derivation.derived_episode import fill_derived_task, part_of_skill
from unlatch.configs.schema import EpisodeCfg
from unlatch.objects.articulated_object import ObjectAsset
from unlatch.objects.config import ObjectCfg
from unlatch.objects.library import chooses_instance, load_object, split_record
from unlatch.simcore.errors import AssetError, ConfigError, RecordingError, SimCoreError
from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.skills.artpreplan import ArtPreplanCfg
from unlatch.skills.catalog import SKILLS
from unlatch.tasks.language import LanguageStep, target_words
from unlatch.tasks.layout import check_opening, describe_object


def load_assets(
    cfg: EpisodeCfg, number: int, recorded: EpisodeRecord | None, rng: np.random.Generator
) -> dict[str, ObjectAsset]:
    """Returns the objects by name: those of a record, or drawn ones.

    Raises:
        AssetError: An object does not exist, or is damaged.
        RecordingError: The objects are not those that were recorded.
    """
    pinned = {} if recorded is None else recorded.layout.get("instances", {})
    assets = {
        item.name: load_object(_pin_instance(item, pinned), rng=rng, number=number)
        for item in (cfg.object, *cfg.objects)
    }
    if recorded is not None:
        _check_same_objects(assets, recorded)
    return assets


def with_derived_task(cfg: EpisodeCfg, assets: Mapping[str, ObjectAsset]) -> EpisodeCfg:
    """Returns the configuration with its derived task. Where a drawn object does not fit, only this episode fails.

    Raises:
        ConfigError: The task does not fit the object.
        AssetError: It does not fit the drawn object.
    """
    for index, opening in enumerate(cfg.task.openness):
        asset = assets[opening.object]
        with naming_drawn_object(cfg.all_objects()[asset.name], asset):
            check_opening(opening, asset.articulation.part(opening.part), asset, index=index)
    with naming_drawn_object(cfg.object, assets[cfg.object.name]):
        return fill_derived_task(cfg, assets)


@contextmanager
def naming_drawn_object(
    cfg: ObjectCfg, asset: ObjectAsset, *, error: type[SimCoreError] = AssetError
) -> Iterator[None]:
    """Replaces a `ConfigError` within it by an error that names the object, if the object was drawn.

    A `ConfigError` stops a run. But a drawn object that a task or skill does not fit costs only its own episode, as a
    damaged object does, so it gives an `AssetError`.

    Args:
        cfg: The object's configuration.
        asset: The object.
        error: Class of the error for a drawn object.

    Raises:
        ConfigError: The object is the same in every episode.
        SimCoreError: An `error`; the object was drawn.
    """
    try:
        yield
    except ConfigError as exc:
        if not chooses_instance(cfg):
            raise
        name = describe_object(asset)
        message = exc.message if name in exc.message else f"{name}: {exc.message}"
        raise error(
            f"{message} To leave this object out, list others in object.instances.",
            **{**exc.values, "instance": asset.instance},
        ) from exc


def describe_instances(cfg: EpisodeCfg, assets: Mapping[str, ObjectAsset]) -> dict[str, dict[str, Any]]:
    """Returns category, instance, source, parameters and split of every object, for the record."""
    cfgs = cfg.all_objects()
    return {
        name: {
            "category": asset.category,
            "instance": asset.instance,
            "source": asset.source,
            "parameters": asset.parameters,
            **split_record(cfgs[name], asset.instance),
        }
        for name, asset in assets.items()
    }


def part_acted_on_by(cfg: EpisodeCfg, assets: Mapping[str, ObjectAsset], index: int) -> str | None:
    """Returns the name of the part that a skill acts on, for `artpreplan` that of the skill after it.

    None: the skill carries a whole object.
    """
    part = part_of_skill(cfg, index, assets)
    return None if part is None else part.name


def language_step(cfg: EpisodeCfg, assets: Mapping[str, ObjectAsset], index: int) -> LanguageStep:
    """Returns what instructions say of a skill of the chain."""
    entry = cfg.skills[index]
    target = SKILLS.load(entry.name).declare_target(entry, assets)
    words = "" if target is None else target_words(None if target.of is None else assets[target.of], target.region)
    return LanguageStep(entry.name, assets[entry.objects[0]], part_acted_on_by(cfg, assets, index), words)


def language_steps(cfg: EpisodeCfg, assets: Mapping[str, ObjectAsset]) -> list[LanguageStep]:
    """Returns what instructions say of each skill of the chain that moves something."""
    return [
        language_step(cfg, assets, index)
        for index, entry in enumerate(cfg.skills)
        if not isinstance(entry, ArtPreplanCfg)
    ]


def recorded_regions(cfg: EpisodeCfg, assets: Mapping[str, ObjectAsset]) -> list[tuple[str, str]]:
    """Returns (object, region) of each region that the goal or a skill names, each once.

    Raises:
        AssetError: An object has no such region.
    """
    found: list[tuple[str | None, str | None]] = [(goal.of, goal.region) for goal in cfg.task.goal]
    found += [SKILLS.load(entry.name).declare_target(entry, assets) or (None, None) for entry in cfg.skills]
    return list(dict.fromkeys((of, region) for of, region in found if of is not None and region is not None))


def _check_same_objects(assets: Mapping[str, ObjectAsset], recorded: EpisodeRecord) -> None:
    for name, asset in assets.items():
        if recorded.assets.get(name) != asset.content_hash:
            raise RecordingError(
                f"Object '{name}' of episode {recorded.number} is not the one that was recorded: content "
                f"{asset.content_hash[:12]}, expected {str(recorded.assets.get(name))[:12]}. Use the version of "
                "unlatch and the object files it was recorded with.",
                number=recorded.number,
                object=name,
            )


def _pin_instance(cfg: ObjectCfg, instances: Mapping[str, Any]) -> ObjectCfg:
    """Returns the object's configuration with the instance that a record names."""
    entry = instances.get(cfg.name)
    return cfg if not isinstance(entry, Mapping) else cfg.with_instance(str(entry["instance"]))
