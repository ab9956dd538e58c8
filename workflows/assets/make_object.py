"""Writes generated objects as files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated

from unlatch.objects.annotation import ANNOTATION_FILE
from unlatch.objects.importers.urdf_converter import UrdfConverter, UrdfConverterCfg
from unlatch.objects.importers.usd.openusd import import_openusd
from unlatch.objects.library import URDF_FILE
from unlatch.objects.procedural.assembly import GeneratedObject
from unlatch.objects.procedural.catalog import GENERATORS
from unlatch.objects.procedural.textured_files import textured_files
from unlatch.simcore.errors import AssetError, ConfigError, unknown_name
from unlatch.simcore.files import user_path
from unlatch.simcore.ranges import Range, check_ranges
from unlatch.workflows.viewing.object_picture import object_sheet
from unlatch.workflows.viewing.picture import write_picture

ALL = "all"
PICTURE_FILE = "objects.png"
USD_FOLDER = "usd"
MAX_COUNT = 10_000
"""Largest number of instances of a category in one call."""


@dataclass
class MakeObjectCfg:
    """Options of `unlatch make-object`."""

    seed: Annotated[int, Range(0)] = 0
    """The first instance."""
    count: Annotated[int, Range(1, MAX_COUNT)] = 1
    """How many instances."""
    out: str | None = None
    """Folder to write; null: CATEGORY_SEED, for several objects `objects`."""
    force: bool = False
    """Whether to replace files with another content."""
    usd: bool = False
    """Whether to write a USD too."""
    picture: bool = False
    """Whether to draw the objects."""

    def __post_init__(self) -> None:
        if self.out is not None and not self.out.strip():
            raise ConfigError("out is empty. Name the folder of the results.", key="out")
        check_ranges(self)


@dataclass(frozen=True)
class MadeObject:
    """A generated object and the folder of its files."""

    category: str
    seed: int
    folder: Path
    made: GeneratedObject

    @property
    def urdf(self) -> Path:
        """Its URDF file."""
        return self.folder / URDF_FILE

    @cached_property
    def files(self) -> dict[str, bytes]:
        """Contents of its files by name."""
        model, drawn = textured_files(self.made)
        return {
            URDF_FILE: model.to_urdf().encode(),
            ANNOTATION_FILE: self.made.articulation.to_yaml().encode(),
            **drawn,
        }


def make_objects(category: str, cfg: MakeObjectCfg) -> tuple[list[MadeObject], Path | None]:
    """Generates objects of a category, or of `all` categories, and writes them.

    Returns:
        The objects, and the picture of them if one was drawn.

    Raises:
        ConfigError: There is no such category.
        AssetError: Files with another content exist, or files cannot be written.
        PluginError: The extra `usd` is not installed.
    """
    categories = _find_categories(category)
    several = len(categories) > 1 or cfg.count > 1
    out = user_path(cfg.out or ("objects" if several else f"{category}_{cfg.seed}"))
    if cfg.usd:
        import_openusd()  # raises now, before anything is written
    items: list[MadeObject] = []
    for name in categories:
        generate: Callable[..., GeneratedObject] = GENERATORS.load(name)
        for seed in range(cfg.seed, cfg.seed + cfg.count):
            folder = out / f"{name}_{seed}" if several else out
            items.append(MadeObject(name, seed, folder, generate(seed, name=name)))
    for item in items:
        if item.folder.exists() and not item.folder.is_dir():
            raise AssetError(f"'{item.folder}' is a file. Expected a folder. Change out.", path=str(item.folder))
        if not cfg.force:
            _check_files(item)
    for item in items:
        _write_files(item)
        if cfg.usd:
            _write_usd(item)
    if not cfg.picture:
        return items, None
    path = out / PICTURE_FILE
    write_picture(object_sheet([(item.category, item.made, item.urdf) for item in items]), path)
    return items, path


def _find_categories(category: str) -> list[str]:
    known = GENERATORS.names()
    if category == ALL:
        return known
    if category not in known:
        raise unknown_name(
            category,
            "`all` or a category of generated objects",
            where="category",
            known=known,
            listed_by="unlatch list objects",
        )
    return [category]


def _check_files(item: MadeObject) -> None:
    for name, data in item.files.items():
        path = item.folder / name
        if path.exists() and (not path.is_file() or path.read_bytes() != data):
            raise AssetError(
                f"'{path}' exists with another content. Expected a free folder. Change out, or set force=true to "
                "replace it.",
                path=str(path),
            )


def _write_files(item: MadeObject) -> None:
    try:
        item.folder.mkdir(parents=True, exist_ok=True)
        for name, data in item.files.items():
            (item.folder / name).write_bytes(data)
    except OSError as exc:
        raise AssetError(
            f"'{item.folder}' cannot be written ({exc.strerror or exc}). Change out.", path=str(item.folder)
        ) from exc


def _write_usd(item: MadeObject) -> None:
    UrdfConverter(
        UrdfConverterCfg(
            asset_path=str(item.urdf),
            usd_dir=str(item.folder / USD_FOLDER),
            fix_base=True,
            make_instanceable=False,
            force_usd_conversion=True,
        )
    )
