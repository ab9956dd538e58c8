"""Objects as files: converts meshes, URDFs and USDs for simulation, and writes generated objects."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from dataclasses import dataclass, field, fields
from functools import cached_property
from multiprocessing import get_context
from pathlib import Path
from typing import Annotated, Any

from unlatch.objects.annotate.source import PARTNET_URDF, has_urdf, urdf_of
from unlatch.objects.annotation import ANNOTATION_FILE
from unlatch.objects.importers.asset_converter import MARKER_FILE, AssetConverterBase, MassPropertiesCfg
from unlatch.objects.importers.mesh_object import MeshConverter, MeshConverterCfg
from unlatch.objects.importers.urdf_converter import DriveType, InertiaFallback, UrdfConverter, UrdfConverterCfg
from unlatch.objects.importers.usd_stage import USD_SUFFIXES, import_openusd
from unlatch.objects.library import URDF_FILE
from unlatch.objects.procedural.assembly import GeneratedObject
from unlatch.objects.procedural.catalog import GENERATORS
from unlatch.objects.procedural.textured_files import textured_files
from unlatch.simcore.errors import AssetError, ConfigError, UnlatchError, unknown_name
from unlatch.simcore.files import user_path
from unlatch.simcore.meshes.convex_decomposition import CollisionApproximation
from unlatch.simcore.meshes.mesh_reader import MESH_SUFFIXES
from unlatch.simcore.ranges import Range, check_ranges
from unlatch.simcore.urdf.reader import PACKAGE_FILE
from unlatch.workflows.viewing.object_picture import object_sheet, write_report
from unlatch.workflows.viewing.picture import write_picture

_MAX_DEPTH = 4
_IN_FOLDERS = (".urdf", *MESH_SUFFIXES)
"""Files that are found in a folder. A USD must be named: those beside it may be parts of it."""
_SUFFIXES = (*_IN_FOLDERS, *USD_SUFFIXES)


@dataclass
class ConvertCfg:
    """Options of `unlatch convert`."""

    out: str = "converted"
    """Folder of the results."""
    force: bool = False
    """Whether to convert objects again that are up to date."""
    usd: bool = False
    """Whether to write a USD file too."""
    report: bool = False
    """Whether to measure and draw the colliders."""
    workers: Annotated[int, Range(1, 256)] = 1
    """Objects that are converted at the same time."""
    make_instanceable: bool = True
    """See `AssetConverterBaseCfg`."""
    fix_base: bool = True
    """See `UrdfConverterCfg`, also for the fields down to `override_joint_dynamics`."""
    scale: float | None = None
    """Metres per unit; None: 1, or the scale in the `info.json` of a PartNet folder."""
    convex_decompose_mesh: bool = True
    merge_fixed_joints: bool = False
    link_density: float = 0.0
    link_face_density: float = 0.0
    inertia_fallback: InertiaFallback = InertiaFallback.volume
    import_inertia_tensor: bool = True
    self_collision: bool = False
    default_drive_type: DriveType = DriveType.none
    default_drive_stiffness: float = 0.0
    default_drive_damping: float = 0.0
    override_joint_dynamics: bool = False
    collision_approximation: CollisionApproximation = CollisionApproximation.convexDecomposition
    """See `MeshConverterCfg`, also for the fields below."""
    translation: list[float] = field(default_factory=lambda: [0.0, 0.0, 0.0])
    rotation: list[float] = field(default_factory=lambda: [1.0, 0.0, 0.0, 0.0])
    mass: float | None = None
    density: float | None = None

    def __post_init__(self) -> None:
        if not self.out.strip():
            raise ConfigError("out is empty. Name the folder of the results.", key="out")
        check_ranges(self)


@dataclass(frozen=True)
class ConvertJob:
    """One object to convert."""

    name: str
    """Folder of the result, below `out`."""
    path: Path
    """The mesh, URDF or USD."""
    cfg: ConvertCfg

    @property
    def target(self) -> Path:
        """Folder of the result."""
        return user_path(self.cfg.out).absolute() / self.name


@dataclass(frozen=True)
class ConvertOutcome:
    """Result of converting one object."""

    name: str
    message: str
    """One line about the result, or the message of the error."""
    failed: bool
    notices: tuple[str, ...] = ()
    was_converted: bool = False


def find_jobs(path: Path, cfg: ConvertCfg) -> list[ConvertJob]:
    """Finds the objects of a path and checks the configuration for each of them.

    Raises:
        AssetError: There is no such path, or nothing to convert.
        ConfigError: A value is out of range.
    """
    jobs = [ConvertJob(name, file, cfg) for name, file in find_assets(path).items()]
    for job in jobs:
        _converter_cfg(job)
    return jobs


def find_assets(path: Path) -> dict[str, Path]:
    """Returns the assets of a path by the name of their results, sorted.

    The assets of a folder are the first of these that it has: `mobility.urdf`, other URDFs, meshes, or the assets of
    its subfolders. A ROS package has meshes and URDFs in different folders: only its URDFs count.
    Folders that this command wrote are skipped.

    Raises:
        AssetError: There is no such path, or nothing to convert.
    """
    path = user_path(path)
    if path.is_file():
        if path.suffix.lower() not in _SUFFIXES:
            raise AssetError(
                f"'{path}' is neither a URDF, a USD nor a supported mesh. Expected one of {', '.join(_SUFFIXES)}.",
                path=str(path),
            )
        absolute = path.resolve()
        return {absolute.parent.name if absolute.name == PARTNET_URDF else absolute.stem: absolute}
    if not path.is_dir():
        raise AssetError(f"'{path}' does not exist. Give a mesh, a URDF, or a folder of them.", path=str(path))
    root = path.resolve()
    found = list(_find_files(root, depth=_MAX_DEPTH))
    if not found:
        raise AssetError(
            f"'{path}' contains nothing to convert. Expected {PARTNET_URDF}, URDFs or meshes "
            f"({', '.join(_IN_FOLDERS)}).",
            path=str(path),
        )
    names: dict[str, Path] = {}
    for file in found:
        inner = file.parent if file.name == PARTNET_URDF else file.with_suffix("")
        name = inner.relative_to(root).as_posix() if inner != root else root.name
        names[name if name not in names else f"{name}_{file.suffix[1:].lower()}"] = file
    return names


def convert_one(job: ConvertJob) -> ConvertOutcome:
    """Converts one object; an error is part of the result."""
    target, started = job.target, time.perf_counter()
    missing = [folder for folder in (target.parent, *target.parent.parents) if not folder.exists()]
    try:
        cfg = _converter_cfg(job)
        made: AssetConverterBase[Any] = MeshConverter(cfg) if isinstance(cfg, MeshConverterCfg) else UrdfConverter(cfg)
        words = f"{time.perf_counter() - started:.1f} s" if made.was_converted else "up to date"
        notices = (*(urdf_of(job.path).notices if has_urdf(job.path) else ()), *made.notices)
        message = f"{made.urdf_path} ({words})"
        if job.cfg.usd:
            message += f", {made.usd_file_name}"
        if job.cfg.report:
            message += f"; {write_report(Path(made.urdf_path), target)}"
        return ConvertOutcome(job.name, message, False, notices, made.was_converted)
    except UnlatchError as exc:
        for folder in missing:  # the failed conversion may have created it
            with suppress(OSError):
                folder.rmdir()
        return ConvertOutcome(job.name, exc.message, failed=True)


def _converter_cfg(job: ConvertJob) -> MeshConverterCfg | UrdfConverterCfg:
    cfg = job.cfg
    common: dict[str, Any] = {
        "asset_path": str(urdf_of(job.path).path if has_urdf(job.path) else job.path),
        "out_dir": str(job.target),
        "usd": cfg.usd,
        "force_conversion": cfg.force,
        "make_instanceable": cfg.make_instanceable,
    }
    if job.path.suffix.lower() != ".urdf" and not has_urdf(job.path):
        props = MassPropertiesCfg(cfg.mass, cfg.density) if cfg.mass is not None or cfg.density is not None else None
        factor = cfg.scale if cfg.scale is not None else 1.0
        return MeshConverterCfg(
            **common,
            mass_props=props,
            collision_approximation=cfg.collision_approximation,
            translation=tuple(cfg.translation),  # type: ignore[arg-type]  # its length is checked there
            rotation=tuple(cfg.rotation),  # type: ignore[arg-type]
            scale=(factor, factor, factor),
        )
    of_urdfs = {item.name for item in fields(UrdfConverterCfg)} - {*common, "scale"}
    values = {item.name: getattr(cfg, item.name) for item in fields(cfg) if item.name in of_urdfs}
    return UrdfConverterCfg(**common, scale=cfg.scale if cfg.scale is not None else _partnet_scale(job.path), **values)


def _partnet_scale(path: Path) -> float:
    """Returns the metres per unit in the `info.json` beside the URDF of a PartNet folder, or else 1."""
    if path.name != PARTNET_URDF:
        return 1.0
    try:
        value = json.loads((path.parent / "info.json").read_text(encoding="utf-8-sig")).get("scale")
    except (OSError, ValueError, RecursionError, AttributeError):
        return 1.0
    return float(value) if isinstance(value, (int, float)) and 0.001 <= value <= 100.0 else 1.0


def _find_files(folder: Path, *, depth: int) -> Iterator[Path]:
    if (folder / MARKER_FILE).exists():
        return
    if (folder / PARTNET_URDF).is_file():
        yield folder / PARTNET_URDF
        return
    entries = sorted(folder.iterdir())
    for suffixes in ((".urdf",), MESH_SUFFIXES):
        files = [entry for entry in entries if entry.suffix.lower() in suffixes and entry.is_file()]
        if files:
            yield from files
            return
    if depth > 0:
        folders = [entry for entry in entries if entry.is_dir() and not entry.name.startswith(".")]
        inner = [file for entry in folders for file in _find_files(entry, depth=depth - 1)]
        urdfs = [file for file in inner if file.suffix.lower() == ".urdf"]
        yield from urdfs if urdfs and (folder / PACKAGE_FILE).is_file() else inner


def convert_all(jobs: Sequence[ConvertJob], *, workers: int) -> Iterator[ConvertOutcome]:
    """Converts objects, `workers` of them at the same time, and yields each outcome as it comes."""
    if workers == 1 or len(jobs) == 1:
        for job in jobs:
            yield convert_one(job)
        return
    left = list(jobs)
    with suppress(BrokenProcessPool):
        for job, result in _convert_in_pool(left, min(workers, len(jobs))):
            left.remove(job)
            yield result
    # a crash in native code ends the whole pool: converting the rest one by one shows which object causes it
    for job in left:
        try:
            for _, result in _convert_in_pool([job], 1):
                yield result
        except BrokenProcessPool:
            yield ConvertOutcome(job.name, "its worker crashed in native code. Leave the object out.", failed=True)


def _convert_in_pool(jobs: Sequence[ConvertJob], workers: int) -> Iterator[tuple[ConvertJob, ConvertOutcome]]:
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        futures: dict[Future[ConvertOutcome], ConvertJob] = {pool.submit(convert_one, job): job for job in jobs}
        try:
            for future in as_completed(futures):
                yield futures[future], future.result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


ALL = "all"
PICTURE_FILE = "objects.png"
USD_FOLDER = "usd"


@dataclass
class MakeObjectCfg:
    """Options of `unlatch make-object`."""

    seed: Annotated[int, Range(0)] = 0
    """The first instance."""
    count: Annotated[int, Range(1, 10_000)] = 1  # largest number of instances of a category in one call
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
    known = GENERATORS.names()
    if category not in (ALL, *known):
        what, listed_by = "`all` or a category of generated objects", "unlatch list objects"
        raise unknown_name(category, what, where="category", known=known, listed_by=listed_by)
    categories = known if category == ALL else [category]
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
            place: dict[str, Any] = {"asset_path": str(item.urdf), "usd_dir": str(item.folder / USD_FOLDER)}
            UrdfConverter(UrdfConverterCfg(**place, fix_base=True, make_instanceable=False, force_usd_conversion=True))
    if not cfg.picture:
        return items, None
    path = out / PICTURE_FILE
    write_picture(object_sheet([(item.category, item.made, item.urdf) for item in items]), path)
    return items, path


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
