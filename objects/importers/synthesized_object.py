"""Loads objects that `scene-synthesizer` generates as URDFs (extra `synthesizer`).

Note:
    It needs the package `triangle`, whose licence bars commercial use. So it is an extra, imported only on use.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from unlatch.objects.articulated_object import ObjectAsset
from unlatch.objects.config import ObjectCfg, ObjectSource, check_category
from unlatch.objects.importers import urdf_object
from unlatch.simcore.cache import cache_root, cached_folder
from unlatch.simcore.errors import AssetError
from unlatch.simcore.extras import import_extra

PACKAGE = "scene_synthesizer"
EXTRA = "synthesizer"
VERSION = 1
"""Raise it with every change of the URDF: objects are then generated again."""

GENERATORS: Mapping[str, str] = {
    "base_cabinet": "BaseCabinetAsset",
    "dishwasher": "DishwasherAsset",
    "range": "RangeAsset",
    "refrigerator": "RefrigeratorAsset",
    "sink_cabinet": "SinkCabinetAsset",
    "wall_cabinet": "WallCabinetAsset",
}
"""Classes of `scene_synthesizer.procedural_assets` that take a seed, by our category."""

_URDF = "object.urdf"


def load_source_object(cfg: ObjectCfg) -> ObjectAsset:
    """Loads an object, and generates it first unless the cache holds it; its instance is the seed.

    Raises:
        ConfigError: No such category.
        AssetError: The extra is not installed, or the object cannot be generated, converted or annotated.
    """
    asset = urdf_object.load_source_object(_as_urdf_object(cfg))
    return replace(asset, instance=cfg.instance or "0", source=cfg.source.value)


def source_object_set(cfg: ObjectCfg, *, among: Sequence[str]) -> dict[str, Any]:
    """Returns the identity of what objects are made with, see `describe_object_set`.

    Raises:
        ConfigError: No such category.
        AssetError: The extra is not installed.
    """
    _find_generator(cfg)
    made = {"synthesizer": version("scene-synthesizer"), "urdf": VERSION}
    if cfg.instance is None:
        return made
    return {**urdf_object.source_object_set(_as_urdf_object(cfg), among=()), **made}


def source_instances(cfg: ObjectCfg) -> None:
    """Returns None: every seed is an instance."""


def check_source_objects(cfg: ObjectCfg, *, among: Sequence[str] | None) -> None:
    """Checks nothing: an object is generated when it is loaded."""


def _as_urdf_object(cfg: ObjectCfg) -> ObjectCfg:
    """Returns the configuration of the object as a URDF in the cache."""
    generator = _find_generator(cfg)
    seed = int(cfg.instance or 0)
    key = f"{PACKAGE} {version('scene-synthesizer')} {VERSION} {cfg.category} {seed}"
    folder = cache_root(cfg.cache_dir) / PACKAGE / f"{cfg.category}-{seed}-{version('scene-synthesizer')}-{VERSION}"
    cached_folder(
        folder, key=key, make=lambda temporary: _generate_urdf(generator, seed, temporary, category=cfg.category)
    )
    named = cfg.with_instance(str(seed))
    return replace(named, source=ObjectSource.urdf, root=str(folder / _URDF), instance=None)


def _find_generator(cfg: ObjectCfg) -> Any:
    check_category(cfg, GENERATORS)
    module = import_extra(
        f"{PACKAGE}.procedural_assets", extra=EXTRA, needed_by=f"source={cfg.source.value}", error=AssetError
    )
    return getattr(module, GENERATORS[cfg.category])


def _generate_urdf(generator: Any, seed: int, folder: Path, *, category: str) -> None:
    try:
        # it prints its progress
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            generator.random(seed=seed).scene().export(str(folder / _URDF))
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, RuntimeError) as exc:
        raise AssetError(
            f"scene-synthesizer cannot make {category} {seed}: {type(exc).__name__}: {exc}. Set object.instance to "
            "another seed.",
            category=category,
            seed=seed,
        ) from exc
