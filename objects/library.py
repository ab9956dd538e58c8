"""Loads any object: a generated one, or one of a data set on disk."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast

import numpy as np

from unlatch.objects.annotation import ANNOTATION_FILE, PartKind
from unlatch.objects.articulated_object import ObjectAsset
from unlatch.objects.closing_force_values import record_forces, with_category_forces
from unlatch.objects.config import (
    PARTNET_VARIABLE,
    RANDOM,
    SEEDS,
    ObjectCfg,
    ObjectSource,
    RestsOn,
    Split,
    check_category,
    split_of,
)
from unlatch.objects.friction import holding_friction, joint_friction
from unlatch.objects.procedural.catalog import GENERATORS, first_matching_seed
from unlatch.objects.validation import check_articulation
from unlatch.simcore.cache import CACHE_VARIABLE, FileCache, content_hash
from unlatch.simcore.errors import ConfigError, count_noun
from unlatch.simcore.files import user_path
from unlatch.simcore.geometry import turn_to_x
from unlatch.simcore.registry import DISTRIBUTION
from unlatch.simcore.temporary_folders import scratch_files

if TYPE_CHECKING:
    from unlatch.objects.procedural.assembly import GeneratedObject


class Importer(Protocol):
    """What the module of a source of objects does; its functions take the configuration of an object."""

    def load_source_object(self, cfg: ObjectCfg) -> ObjectAsset:
        """Loads one instance, and converts it first unless the cache holds it."""

    def source_object_set(self, cfg: ObjectCfg, *, among: Sequence[str]) -> dict[str, Any]:
        """Returns the identity of the set that an object is drawn from, see `describe_object_set`.

        `among` are the instances that may be drawn; it is empty if the configuration names one.
        """

    def source_instances(self, cfg: ObjectCfg) -> list[str] | None:
        """Returns the ids in a data set or folder; None where there is only one object, or one for each seed."""

    def check_source_objects(self, cfg: ObjectCfg, *, among: Sequence[str] | None) -> None:
        """Checks objects without loading them, `among` those of some ids; None: all."""


_IMPORTERS = {
    ObjectSource.partnet_mobility: "unlatch.objects.importers.partnet_object",
    ObjectSource.scene_synthesizer: "unlatch.objects.importers.synthesized_object",
    ObjectSource.urdf: "unlatch.objects.importers.urdf_object",
}
"""Modules that read meshes, USD and glTF and derive annotations: they are imported when an object needs them."""
_SHOWN_IDS = 3
_ASSETS: FileCache[ObjectAsset] = FileCache(8)
"""The objects that this process read last; each takes a few MB."""
_STANDING = (RestsOn.bottom, RestsOn.any)
_LARGEST_POSITION = {PartKind.slider: 0.5, PartKind.knob: 13.0}
"""By kind: the joints of generated parts keep within it, on either side of 0 [m or rad]; others within half a turn. The
cap of a bottle makes two turns."""
URDF_FILE = "object.urdf"
"""Name of the URDF in the folder of a generated or converted object."""


def load_object(cfg: ObjectCfg, *, rng: np.random.Generator, number: int = 0) -> ObjectAsset:
    """Finds, generates or converts the object of an episode and checks its annotation.

    It is `load_instance` of what `choose_instance` chooses; see there for the arguments and the errors.
    """
    return load_instance(choose_instance(cfg, rng=rng, number=number))


def choose_instance(cfg: ObjectCfg, *, rng: np.random.Generator, number: int = 0) -> ObjectCfg:
    """Returns the configuration of the instance that an episode uses.

    Exactly one number is drawn from `rng`, whatever the source, so that later draws do not depend on it.

    Args:
        cfg: Which object.
        rng: Draws the instance where the configuration names none.
        number: Number of the episode; it chooses the instance for `round_robin`.

    Raises:
        ConfigError: Unknown category, or no data set folder.
    """
    draw = int(rng.integers(SEEDS))
    if not chooses_instance(cfg):
        return cfg
    instance = cfg.choice.choose(_available_ids(cfg), draw=draw, number=number)
    if cfg.where and cfg.instances == RANDOM and instance is not None:
        check_category(cfg, GENERATORS.names())
        instance = first_matching_seed(cfg.category, cfg.where, int(instance), in_split=cfg.choice.is_in_split)
    return cfg if instance is None else cfg.with_instance(instance)


def load_instance(cfg: ObjectCfg) -> ObjectAsset:
    """Finds, generates or converts one instance of an object, lays it on its side and checks its annotation.

    With `rests_on=any`, it stands: only the search for a layout lays it on another side. A process reads an object of a
    data set or a URDF only once, unless one of its files changes.

    Raises:
        ConfigError: Unknown category or instance, or no data set folder.
        AssetError: The object is damaged or its annotation does not fit it.
    """
    if cfg.source is ObjectSource.procedural:
        return _read_instance(cfg)
    environment = [os.environ.get(name) for name in (CACHE_VARIABLE, PARTNET_VARIABLE)]
    key = json.dumps([Path.cwd(), environment, asdict(cfg)], default=str, sort_keys=True)
    return _ASSETS.get(key, lambda: _read_instance(cfg), files_of=_files_of)


def largest_joint_position(cfg: ObjectCfg, kind: PartKind) -> float:
    """Returns how far from 0 a joint of this kind may be in any instance of an object [rad or m].

    It is infinite for objects that no generator of Unlatch makes: their instances are not known before they are read.
    """
    ours = cfg.source is ObjectSource.procedural and GENERATORS.entry(cfg.category).origin == DISTRIBUTION
    return _LARGEST_POSITION.get(kind, math.pi) if ours else math.inf


def _importer(cfg: ObjectCfg) -> Importer:
    """Imports and returns the module of the source of an object, which is not a generator."""
    return cast(Importer, import_module(_IMPORTERS[cfg.source]))


def _read_instance(cfg: ObjectCfg) -> ObjectAsset:
    procedural = cfg.source is ObjectSource.procedural
    asset = _load_procedural(cfg) if procedural else _importer(cfg).load_source_object(cfg)
    if cfg.rests_on not in _STANDING:
        asset = _lay_down(asset, cfg)
    check_articulation(asset)
    asset = _with_closing_forces(asset)
    if not cfg.fixed:
        asset = _unfastened(asset)
    if cfg.size is None or cfg.size == 1.0:
        return asset
    from unlatch.objects.turned_object import scaled_object

    return scaled_object(asset, cfg.size)


def _unfastened(asset: ObjectAsset) -> ObjectAsset:
    """Returns an articulated object that nothing fastens.

    Raises:
        ConfigError: It is an object to carry, or its body has no mass.
    """
    inertial = asset.model.links[asset.model.root].inertial
    if asset.free or inertial is None or inertial.mass_kg <= 0.0:
        why = "is carried and never fastened" if asset.free else "has a body without mass, which cannot move"
        raise ConfigError(
            f"object.fixed=false has no meaning for {asset.category} '{asset.instance}': it {why}. Remove the key"
            + ("." if asset.free else ", or give its root link a mass."),
            key="object.fixed",
        )
    return asset.changed(fixed=False)


def _files_of(asset: ObjectAsset) -> list[Path]:
    """Returns the files that an object was read from and those that it was converted to; empty if not known."""
    return [*asset.files, *sorted(asset.urdf_path.parent.rglob("*"))] if asset.files else []


def chooses_instance(cfg: ObjectCfg) -> bool:
    """Returns whether episodes choose among several instances: none is named, and there may be more than one."""
    if cfg.instance is not None:
        return False
    return cfg.source is not ObjectSource.urdf or _folder_of_many(cfg) is not None


def split_record(cfg: ObjectCfg, instance: str) -> dict[str, str]:
    """Returns the record of the split that an instance belongs to; empty without a split."""
    return {} if cfg.split is Split.all else {"split": split_of(instance, held_out=cfg.held_out).value}


def describe_object_set(cfg: ObjectCfg) -> dict[str, Any]:
    """Returns the identity of the set that an object is drawn from, apart from configuration and software version.

    A resumed run must find the same set: in another set, the n-th object would be another object. The folder of the
    set does not count.

    Returns:
        For an object of a data set: the version of the converter, and a short hash of each object that may be drawn, by
        id. For a URDF: the same with a hash of its files. For a generated object: nothing.

    Raises:
        ConfigError: Unknown category, or no data set folder.
        AssetError: There is no such object.
    """
    if cfg.source is ObjectSource.procedural:
        return {}
    return _importer(cfg).source_object_set(cfg, among=_candidate_ids(cfg))


def describe_folder(cfg: ObjectCfg) -> str:
    """Returns one line about the folder that an object of each episode is drawn from; empty if there is none.

    Raises:
        AssetError: The folder holds no URDF.
    """
    folder = None if cfg.instance else _folder_of_many(cfg)
    if folder is None:
        return ""
    ids = _candidate_ids(cfg)
    some = ", ".join(ids[:_SHOWN_IDS]) + (", ..." if len(ids) > _SHOWN_IDS else "")
    return (
        f"'{folder}' is a folder of {count_noun(len(ids), 'object')} ({some}); each episode draws one. For one of "
        f"them, add object.instance={ids[0]}"
    )


def check_candidates(cfg: ObjectCfg) -> None:
    """Checks every object that an episode may draw, without loading it.

    Raises:
        ConfigError: Unknown category, or no data set folder.
        AssetError: Some objects are damaged; the message names each of them.
    """
    if cfg.source is not ObjectSource.procedural and cfg.instance is None:
        some = cfg.split is not Split.all or not isinstance(cfg.instances, str)
        _importer(cfg).check_source_objects(cfg, among=_candidate_ids(cfg) if some else None)


def _candidate_ids(cfg: ObjectCfg) -> list[str]:
    """Returns the instances that episodes choose among; empty if one is named or there are none."""
    if not chooses_instance(cfg):
        return []
    return cfg.choice.pool(_available_ids(cfg)) or []


def _available_ids(cfg: ObjectCfg) -> list[str] | None:
    """Returns the ids in a data set or folder; None for an object made from a seed and for a single URDF."""
    if cfg.source is ObjectSource.procedural or (cfg.source is ObjectSource.urdf and _folder_of_many(cfg) is None):
        return None
    return _importer(cfg).source_instances(cfg)


def _folder_of_many(cfg: ObjectCfg) -> Path | None:
    """Returns the folder of URDFs that an object is drawn from; None if `root` is another path."""
    if cfg.source is not ObjectSource.urdf or not cfg.root:
        return None
    from unlatch.objects.importers.urdf_object import is_urdf_folder

    path = user_path(cfg.root)
    return path if is_urdf_folder(path) else None


def _with_closing_forces(asset: ObjectAsset) -> ObjectAsset:
    """Returns an object with the closing forces of its category where its file states none, and with their record."""
    articulation = with_category_forces(
        asset.articulation, asset.model, category=asset.category, instance=asset.instance
    )
    parameters = {**asset.parameters, **record_forces(articulation)}
    return asset.changed(articulation=articulation, parameters=parameters)


def _lay_down(asset: ObjectAsset, cfg: ObjectCfg) -> ObjectAsset:
    """Returns a standing object on the side of its configuration.

    Its parts stay where they are let go, as those of any imported object: a door that is a lid now does not fall shut.
    A friction that the URDF states stays as it is, and so does that of joints that are no parts, such as rails.
    """
    if cfg.source is not ObjectSource.procedural:
        from unlatch.objects.turned_object import write_turned_object

        asset = write_turned_object(asset, cfg.rests_on, front_part=cfg.part, cache_dir=cfg.cache_dir)
    parts, model = asset.articulation.parts.values(), asset.model
    if cfg.source in (ObjectSource.procedural, ObjectSource.partnet_mobility):
        held = {part.joint: round(holding_friction(model, part), 4) for part in parts}
        friction = {joint: max(value, held.get(joint, 0.0)) for joint, value in asset.friction.items()}
    else:
        friction = asset.friction | {part.joint: joint_friction(model, part)[0] for part in parts}
    return asset.changed(friction=friction, rests_on=cfg.rests_on)


def _load_procedural(cfg: ObjectCfg) -> ObjectAsset:
    check_category(cfg, GENERATORS.names())
    generate: Callable[..., GeneratedObject] = GENERATORS.load(cfg.category)
    seed = int(cfg.instance or 0)
    standing, R_obj_peer = generate(seed, name=cfg.category), turn_to_x(2)
    made = standing
    if cfg.rests_on not in _STANDING:
        from unlatch.objects.turned_object import turn_object

        lying = turn_object(made.model, made.articulation, made.bounds_obj, cfg.rests_on, front_part=None)
        made = replace(made, model=lying.model, articulation=lying.articulation, bounds_obj=lying.bounds_obj)
        R_obj_peer = lying.R_lying_standing @ R_obj_peer
    files = {URDF_FILE: made.model.to_urdf().encode(), ANNOTATION_FILE: made.articulation.to_yaml().encode()}
    digest = content_hash(files)
    folder = scratch_files(f"{cfg.category}-{digest[:24]}", files)

    def write_textured() -> Path:
        from unlatch.objects.procedural.textured_files import textured_files

        model, drawn = textured_files(standing)
        if cfg.rests_on not in _STANDING:
            from unlatch.objects.turned_object import turn_object

            bounds = standing.bounds_obj
            model = turn_object(model, standing.articulation, bounds, cfg.rests_on, front_part=None).model
        drawn = {URDF_FILE: model.to_urdf().encode(), **drawn}
        return scratch_files(f"{folder.name}-drawn", drawn) / URDF_FILE

    return ObjectAsset(
        name=cfg.name,
        category=cfg.category,
        instance=str(seed),
        source=cfg.source.value,
        urdf_path=folder / URDF_FILE,
        articulation=made.articulation,
        content_hash=digest,
        bounds_obj=made.bounds_obj,
        friction=made.friction,
        damping=made.damping,
        R_obj_peer=R_obj_peer,
        parameters=made.parameters,
        write_textured=write_textured,
    )
