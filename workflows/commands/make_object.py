"""`unlatch make-object`: generated objects as files, for any simulator."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from unlatch.objects.annotation import ANNOTATION_FILE
from unlatch.objects.importers.usd.openusd import import_openusd
from unlatch.objects.library import URDF_FILE
from unlatch.objects.procedural.building.dressing import dressed_files
from unlatch.objects.procedural.building.generated import GeneratedObject
from unlatch.objects.procedural.catalog import GENERATORS
from unlatch.simcore.errors import AssetError, ConfigError, close_matches
from unlatch.workflows.cli.arguments import read_pairs
from unlatch.workflows.cli.command import run_command
from unlatch.workflows.cli.console import OK, banner_hidden, print_line

HELP = """usage: unlatch make-object CATEGORY|all [key=value ...]

Writes generated objects: object.urdf, articulation.yaml, and the meshes and pictures of what carries a texture; what is
touched are boxes, cylinders and spheres alone. The same category and seed give the same bytes. `unlatch list objects`
names the categories.

  seed=0             which instance, from 0
  count=1            how many, from that seed on
  out=FOLDER         default: CATEGORY_SEED here, of several objects: objects; several get a folder each
  force=false        replace files of another content
  usd=false          write usd/object.usd as well (extra usd)
  picture=false      draw what was made: objects.png, a row for each category, opened further from left to right

  unlatch make-object oven seed=3 out=oven_3
  unlatch make-object all count=6 picture=true out=objects
"""

ALL = "all"
PICTURE_FILE = "objects.png"
USD_FOLDER = "usd"
MOST = 10_000
"""So many instances of a category are made at once."""


@dataclass
class MakeObjectCfg:
    """What `unlatch make-object` takes beside the category."""

    seed: int = 0
    """The first instance."""
    count: int = 1
    """How many."""
    out: str | None = None
    """Where to."""
    force: bool = False
    """Whether files of another content are replaced."""
    usd: bool = False
    """Whether to write a USD too."""
    picture: bool = False
    """Whether to draw them."""

    def __post_init__(self) -> None:
        if self.out is not None and not self.out.strip():
            raise ConfigError("out is empty. Name the folder of the results.", key="out")
        if self.seed < 0:
            raise ConfigError(f"seed={self.seed} is out of range. Expected a whole number from 0.", key="seed")
        if not 1 <= self.count <= MOST:
            raise ConfigError(f"count={self.count} is out of range. Expected 1 to {MOST}.", key="count")


@dataclass(frozen=True)
class MadeObject:
    """A generated object and where its files go."""

    category: str
    seed: int
    folder: Path
    made: GeneratedObject

    @cached_property
    def files(self) -> dict[str, bytes]:
        """Contents by name."""
        model, drawn = dressed_files(self.made)
        return {
            URDF_FILE: model.to_urdf().encode(),
            ANNOTATION_FILE: self.made.articulation.to_yaml().encode(),
            **drawn,
        }


def main(argv: Sequence[str]) -> int:
    """Runs the command; returns its exit code."""
    return run_command(argv, HELP, _main)


def _main(arguments: list[str]) -> int:
    names = [argument for argument in arguments if "=" not in argument and not argument.startswith("-")]
    if len(names) != 1:
        raise ConfigError(
            f"make-object got {len(names)} categories ({' '.join(names) or 'none'}), expected 1, then key=value. "
            "`unlatch list objects` names them; `all` means every one."
        )
    cfg = read_pairs(MakeObjectCfg, [argument for argument in arguments if argument not in names])
    return make_objects(names[0], cfg)


def make_objects(category: str, cfg: MakeObjectCfg) -> int:
    """Makes objects, writes them, and says where they are.

    Args:
        category: One, or `all`.
        cfg: Which of it, and where to.

    Returns:
        The exit code.

    Raises:
        ConfigError: There is no such category.
        AssetError: Files of another content are in the way, or cannot be written.
    """
    categories = _categories(category)
    several = len(categories) > 1 or cfg.count > 1
    out = Path(cfg.out or ("objects" if several else f"{category}_{cfg.seed}")).expanduser()
    if cfg.usd:
        import_openusd()
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
            _check_place(item)
    for item in items:
        _write(item)
        said = f"{item.category} {item.seed}: {item.folder / URDF_FILE}; {_parts(item.made)}"
        print_line(f"{said}; {_write_usd(item)}" if cfg.usd else said)
    if cfg.picture:
        with banner_hidden():
            from unlatch.workflows.viewing.object_picture import object_sheet
            from unlatch.workflows.viewing.picture import write_picture
        path = out / PICTURE_FILE
        write_picture(object_sheet([(i.category, i.made, i.folder / URDF_FILE) for i in items]), path)
        print_line(f"picture: {path}")
    return OK


def _categories(category: str) -> list[str]:
    known = GENERATORS.names()
    if category == ALL:
        return known
    if category not in known:
        raise ConfigError(
            f"'{category}' is no category of generated objects.{close_matches(category, known)} "
            f"Known: {', '.join(known)}. Or `all`.",
            key="category",
            available=known,
        )
    return [category]


def _check_place(item: MadeObject) -> None:
    for name, data in item.files.items():
        path = item.folder / name
        if path.exists() and (not path.is_file() or path.read_bytes() != data):
            raise AssetError(
                f"'{path}' is there with another content. Expected a free folder. Change out, or set force=true to "
                "replace it.",
                path=str(path),
            )


def _write(item: MadeObject) -> None:
    try:
        item.folder.mkdir(parents=True, exist_ok=True)
        for name, data in item.files.items():
            (item.folder / name).write_bytes(data)
    except OSError as exc:
        raise AssetError(
            f"'{item.folder}' cannot be written ({exc.strerror or exc}). Change out.", path=str(item.folder)
        ) from exc


def _write_usd(item: MadeObject) -> Path:
    from unlatch.objects.importers.urdf_converter import UrdfConverter, UrdfConverterCfg

    made = UrdfConverter(
        UrdfConverterCfg(
            asset_path=str(item.folder / URDF_FILE),
            usd_dir=str(item.folder / USD_FOLDER),
            fix_base=True,
            make_instanceable=False,
            force_usd_conversion=True,
        )
    )
    return Path(made.usd_path)


def _parts(made: GeneratedObject) -> str:
    return ", ".join(f"{name} ({part.kind.value})" for name, part in made.articulation.parts.items())
