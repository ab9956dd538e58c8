"""Loads the objects of one episode: drawn ones, or those that a record names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from unlatch.configs.schema import EpisodeCfg, part_of_skill
from unlatch.objects.articulated_object import ObjectAsset
from unlatch.objects.config import ObjectCfg, RestsOn
from unlatch.objects.library import chooses_instance, load_object, split_record
from unlatch.simcore.errors import AssetError, ConfigError, RecordingError, UnlatchError
from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.skills.catalog import SKILLS
from unlatch.skills.layout_search import LayoutSearchCfg
from unlatch.tasks.language import PRESS, LanguageStep, target_words, task_language
from unlatch.tasks.layout import check_opening, describe_object


def load_assets(
    cfg: EpisodeCfg, number: int, recorded: EpisodeRecord | None, rng: np.random.Generator
) -> dict[str, ObjectAsset]:
    """Returns the objects by name: those of a record, or drawn ones. With `rests_on=any`, drawn ones stand.

    Raises:
        AssetError: An object does not exist, or is damaged.
        RecordingError: The objects are not those that were recorded.
    """
    pinned = {} if recorded is None else recorded.layout.get("instances", {})
    assets = {
        item.name: load_object(pin_instance(item, pinned), rng=rng, number=number)
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
    if cfg.robot.scale != 1.0:
        from unlatch.configs.derived_task import scaled_task

        cfg = scaled_task(cfg, assets)
    for index, opening in enumerate(cfg.task.openness):
        asset = assets[opening.object]
        with naming_drawn_object(cfg.all_objects()[asset.name], asset):
            check_opening(opening, asset.articulation.part(opening.part), asset, index=index)
    if cfg.task.derived is not None:
        from unlatch.configs.derived_task import fill_derived_task

        with naming_drawn_object(cfg.object, assets[cfg.object.name]):
            cfg = fill_derived_task(cfg, assets)
    if not any(asset.articulation.mechanisms for asset in assets.values()):
        return cfg
    from unlatch.configs.derived_task import with_mechanism_steps

    filled = with_mechanism_steps(cfg, assets)
    if filled is cfg:
        return cfg
    # instructions are about the chain as the task states it
    language = task_language(cfg.task.language, language_steps(cfg, assets), 0.0)
    return replace(filled, task=replace(filled.task, language=language))


@contextmanager
def naming_drawn_object(
    cfg: ObjectCfg, asset: ObjectAsset, *, error: type[UnlatchError] = AssetError
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
        UnlatchError: An `error`; the object was drawn.
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
    """Returns category, instance, source, parameters, split and the side that is down of every object, for the record.

    The side is left out for an object that stands.
    """
    cfgs = cfg.all_objects()
    return {
        name: {
            "category": asset.category,
            "instance": asset.instance,
            "source": asset.source,
            "parameters": asset.parameters,
            **split_record(cfgs[name], asset.instance),
            **({} if asset.rests_on is RestsOn.bottom else {"rests_on": asset.rests_on.value}),
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
    asset = assets[entry.objects[0]]
    if asset.articulation.mechanisms and not entry.language:
        from unlatch.configs.derived_task import pressed_part

        pressed = pressed_part(cfg, assets, index)
        if pressed is not None:
            return LanguageStep(PRESS, asset, pressed.name)
    return LanguageStep(entry.name, asset, part_acted_on_by(cfg, assets, index), words)


def language_steps(cfg: EpisodeCfg, assets: Mapping[str, ObjectAsset]) -> list[LanguageStep]:
    """Returns what instructions say of each skill of the chain that moves something."""
    return [
        language_step(cfg, assets, index)
        for index, entry in enumerate(cfg.skills)
        if not isinstance(entry, LayoutSearchCfg)
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


def pin_instance(cfg: ObjectCfg, instances: Mapping[str, Any]) -> ObjectCfg:
    """Returns the object's configuration with the instance that a record names, on the recorded side.

    Raises:
        RecordingError: The record names no side of an object.
    """
    entry = instances.get(cfg.name)
    if not isinstance(entry, Mapping):
        return cfg
    return pin_side(cfg.with_instance(str(entry["instance"])), instances)


def pin_side(cfg: ObjectCfg, instances: Mapping[str, Any]) -> ObjectCfg:
    """Returns the object's configuration on the side that a record names, if the search for a layout chose it.

    Raises:
        RecordingError: The record names no side of an object.
    """
    entry = instances.get(cfg.name)
    if cfg.rests_on is not RestsOn.any or not isinstance(entry, Mapping):
        return cfg
    named, sides = entry.get("rests_on", RestsOn.bottom.value), [side.value for side in RestsOn]
    if named not in sides or named == RestsOn.any.value:
        raise RecordingError(
            f"layout.instances.{cfg.name}.rests_on={named!r} is not a side of an object. Expected one of "
            f"{', '.join(side for side in sides if side != RestsOn.any.value)}. The record is damaged.",
            object=cfg.name,
        )
    return replace(cfg, rests_on=RestsOn(named))
