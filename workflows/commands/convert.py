"""`unlatch convert`: meshes and URDFs as objects that can be simulated."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unlatch.objects.importers.urdf_converter import DriveType, InertiaFallback
from unlatch.simcore.errors import AssetError, ConfigError, SimCoreError
from unlatch.simcore.meshes.decomposition.collision_approximation import CollisionApproximation
from unlatch.workflows.cli.command import run_command
from unlatch.workflows.cli.console import BAD_INPUT, OK, banner_hidden, print_line, print_note

if TYPE_CHECKING:
    from unlatch.objects.importers.mesh_converter import MeshConverterCfg
    from unlatch.objects.importers.urdf_converter import UrdfConverterCfg

HELP = """usage: unlatch convert PATH [key=value ...]

Makes a mesh (OBJ, STL, PLY, GLB; DAE and FBX with the extra `assets`), a URDF, a folder of PartNet-Mobility, or a
folder of these ready for simulation: a URDF with convex colliders, masses and inertias; a USD beside it on request
(extra `usd`). What is up to date is not converted again. One line an object.

  out=converted      folder of the results, one folder an object
  force=false        convert again what is up to date
  usd=false          write a USD too
  report=false       measure the colliders and write FILE.report.json and a picture beside each result
  workers=1          objects at a time

of all:    make_instanceable=true
of URDFs:  fix_base=true scale=... convex_decompose_mesh=true merge_fixed_joints=false link_density=0
           inertia_fallback=volume|identity import_inertia_tensor=true self_collision=false
           default_drive_type=none|position|velocity default_drive_stiffness=0 default_drive_damping=0
           override_joint_dynamics=false
of meshes: collision_approximation=convexDecomposition|convexHull|boundingCube|boundingSphere|meshSimplification|none
           scale=... translation=[x,y,z] rotation=[w,x,y,z] mass=KG density=KG_M3

scale: metres per unit; by default 1, or what info.json of a PartNet folder says.
"""

PARTNET_URDF = "mobility.urdf"
_DEPTH = 4
_MOST_WORKERS = 256


@dataclass
class ConvertCfg:
    """What `unlatch convert` takes beside the path."""

    out: str = "converted"
    """Folder of the results."""
    force: bool = False
    """Convert again what is up to date."""
    usd: bool = False
    """Write a USD too."""
    report: bool = False
    """Measure the colliders, and draw them."""
    workers: int = 1
    """Objects at a time."""
    make_instanceable: bool = True
    """See `AssetConverterBaseCfg`."""
    fix_base: bool = True
    """See `UrdfConverterCfg`; so the rest down to `override_joint_dynamics`."""
    scale: float | None = None
    """Metres per unit; None: 1, or what a PartNet folder's `info.json` says."""
    convex_decompose_mesh: bool = True
    merge_fixed_joints: bool = False
    link_density: float = 0.0
    inertia_fallback: InertiaFallback = InertiaFallback.volume
    import_inertia_tensor: bool = True
    self_collision: bool = False
    default_drive_type: DriveType = DriveType.none
    default_drive_stiffness: float = 0.0
    default_drive_damping: float = 0.0
    override_joint_dynamics: bool = False
    collision_approximation: CollisionApproximation = CollisionApproximation.convexDecomposition
    """See `MeshConverterCfg`; so the rest."""
    translation: list[float] = field(default_factory=lambda: [0.0, 0.0, 0.0])
    rotation: list[float] = field(default_factory=lambda: [1.0, 0.0, 0.0, 0.0])
    mass: float | None = None
    density: float | None = None

    def __post_init__(self) -> None:
        if not self.out.strip():
            raise ConfigError("out is empty. Name the folder of the results.", key="out")
        if not 1 <= self.workers <= _MOST_WORKERS:
            raise ConfigError(f"workers={self.workers} is out of range. Expected 1 to {_MOST_WORKERS}.", key="workers")


@dataclass(frozen=True)
class ConvertJob:
    """One object to convert."""

    name: str
    """Its folder below `out`."""
    path: Path
    """The mesh or URDF."""
    cfg: ConvertCfg


@dataclass(frozen=True)
class Converted:
    """What has become of an object."""

    name: str
    said: str
    """One line, or the message of its error."""
    failed: bool
    took_s: float
    notices: tuple[str, ...] = ()
    was_converted: bool = False


def main(argv: Sequence[str]) -> int:
    """Runs the command; returns its exit code."""
    return run_command(argv, HELP, _main)


def _main(arguments: list[str]) -> int:
    from unlatch.workflows.cli.arguments import read_pairs, split_paths

    (path,), pairs = split_paths("convert", arguments, count=1)
    return convert(Path(path), read_pairs(ConvertCfg, pairs))


def convert(path: Path, cfg: ConvertCfg) -> int:
    """Converts an object or a folder of them, and says what became of each.

    Args:
        path: A mesh, a URDF, a folder of PartNet-Mobility, or a folder of these.
        cfg: How, and where to.

    Returns:
        The exit code: 2 if an object could not be converted; the others are there.

    Raises:
        SimCoreError: There is nothing to convert, or the configuration is wrong for all.
    """
    started = time.perf_counter()
    jobs = [ConvertJob(name, file, cfg) for name, file in find_assets(path).items()]
    for job in jobs:
        check_job(job)
    results: list[Converted] = []
    for result in _run(jobs, workers=cfg.workers):
        results.append(result)
        count = f"[{len(results)}/{len(jobs)}] " if len(jobs) > 1 else ""
        if result.failed:
            print_note(f"unlatch: {count}{result.name}: {' '.join(result.said.split())}")
        else:
            print_line(f"{count}{result.name}: {result.said}")
        for notice in result.notices:
            print_note(f"unlatch: {result.name}: {notice}")
    failed = sum(result.failed for result in results)
    if len(jobs) > 1:
        fresh = sum(result.was_converted for result in results)
        print_line(
            f"{len(jobs)} objects: {fresh} converted, {len(jobs) - fresh - failed} up to date, {failed} failed; "
            f"{time.perf_counter() - started:.1f} s"
        )
    return BAD_INPUT if failed else OK


def find_assets(path: Path) -> dict[str, Path]:
    """The assets of a path by the name of their results, sorted.

    In a folder: its `mobility.urdf`; else its URDFs; else its meshes; else those of its folders. In a ROS package,
    which has its meshes in one folder and its URDFs in another, the URDFs. Results of this command are not looked into.

    Raises:
        AssetError: There is no such path, or nothing to convert.
    """
    from unlatch.simcore.meshes.mesh_reader import MESH_SUFFIXES

    path = path.expanduser()
    suffixes = (".urdf", *MESH_SUFFIXES)
    if path.is_file():
        if path.suffix.lower() not in suffixes:
            raise AssetError(
                f"'{path}' is neither a URDF nor a mesh that is read. Expected one of {', '.join(suffixes)}.",
                path=str(path),
            )
        absolute = path.resolve()
        return {absolute.parent.name if absolute.name == PARTNET_URDF else absolute.stem: absolute}
    if not path.is_dir():
        raise AssetError(f"'{path}' does not exist. Give a mesh, a URDF, or a folder of them.", path=str(path))
    root = path.resolve()
    found = list(_walk(root, depth=_DEPTH))
    if not found:
        raise AssetError(
            f"'{path}' holds nothing to convert. Expected {PARTNET_URDF}, URDFs or meshes ({', '.join(suffixes)}).",
            path=str(path),
        )
    names: dict[str, Path] = {}
    for file in found:
        inner = file.parent if file.name == PARTNET_URDF else file.with_suffix("")
        name = inner.relative_to(root).as_posix() if inner != root else root.name
        names[name if name not in names else f"{name}_{file.suffix[1:].lower()}"] = file
    return names


def check_job(job: ConvertJob) -> None:
    """Reads the configuration of a converter, so that a mistake in it is said before anything is written.

    Raises:
        ConfigError: A value is out of its range.
    """
    _converter_cfg(job)


def convert_one(job: ConvertJob) -> Converted:
    """Converts one object; what is wrong with it is part of the result."""
    started = time.perf_counter()
    target = _target(job)
    missing = [folder for folder in (target.parent, *target.parent.parents) if not folder.exists()]
    try:
        said, notices, was_converted = _convert_one(job, target)
        return Converted(job.name, said, False, time.perf_counter() - started, tuple(notices), was_converted)
    except SimCoreError as exc:
        for folder in missing:  # made for a result that did not come
            with suppress(OSError):
                folder.rmdir()
        return Converted(job.name, exc.message, True, time.perf_counter() - started)


def _convert_one(job: ConvertJob, target: Path) -> tuple[str, list[str], bool]:
    from unlatch.objects.importers.asset_converter_base import AssetConverterBase
    from unlatch.objects.importers.mesh_converter import MeshConverter, MeshConverterCfg
    from unlatch.objects.importers.urdf_converter import UrdfConverter

    started = time.perf_counter()
    cfg = _converter_cfg(job)
    made: AssetConverterBase[Any] = MeshConverter(cfg) if isinstance(cfg, MeshConverterCfg) else UrdfConverter(cfg)
    words = f"{time.perf_counter() - started:.1f} s" if made.was_converted else "up to date"
    lines = f"{made.urdf_path} ({words})"
    if job.cfg.usd:
        lines += f", {made.usd_file_name}"
    if job.cfg.report:
        with banner_hidden():
            from unlatch.workflows.viewing.conversion_report import write_report

        lines += f"; {write_report(Path(made.urdf_path), target)}"
    return lines, made.notices, made.was_converted


def _converter_cfg(job: ConvertJob) -> MeshConverterCfg | UrdfConverterCfg:
    from unlatch.objects.importers.mesh_converter import MeshConverterCfg
    from unlatch.objects.importers.property_groups import MassPropertiesCfg
    from unlatch.objects.importers.urdf_converter import UrdfConverterCfg

    cfg = job.cfg
    common: dict[str, Any] = {
        "asset_path": str(job.path),
        "out_dir": str(_target(job)),
        "usd": cfg.usd,
        "force_conversion": cfg.force,
        "make_instanceable": cfg.make_instanceable,
    }
    if job.path.suffix.lower() != ".urdf":
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
    return UrdfConverterCfg(
        **common,
        scale=cfg.scale if cfg.scale is not None else _partnet_scale(job.path),
        **{
            name: getattr(cfg, name)
            for name in (
                "fix_base",
                "convex_decompose_mesh",
                "merge_fixed_joints",
                "link_density",
                "inertia_fallback",
                "import_inertia_tensor",
                "self_collision",
                "default_drive_type",
                "default_drive_stiffness",
                "default_drive_damping",
                "override_joint_dynamics",
            )
        },
    )


def _partnet_scale(path: Path) -> float:
    """Metres per unit that `info.json` beside the URDF of a PartNet folder gives, else 1."""
    if path.name != PARTNET_URDF:
        return 1.0
    try:
        value = json.loads((path.parent / "info.json").read_text(encoding="utf-8")).get("scale")
    except (OSError, ValueError, RecursionError, AttributeError):
        return 1.0
    return float(value) if isinstance(value, (int, float)) and 0.001 <= value <= 100.0 else 1.0


def _target(job: ConvertJob) -> Path:
    return Path(job.cfg.out).expanduser().absolute() / job.name


def _walk(folder: Path, *, depth: int) -> Iterator[Path]:
    from unlatch.objects.importers.asset_converter_base import MARKER_FILE
    from unlatch.simcore.meshes.mesh_reader import MESH_SUFFIXES
    from unlatch.simcore.urdf.package_paths import PACKAGE_FILE

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
        inner = [file for entry in folders for file in _walk(entry, depth=depth - 1)]
        urdfs = [file for file in inner if file.suffix.lower() == ".urdf"]
        yield from urdfs if urdfs and (folder / PACKAGE_FILE).is_file() else inner


def _run(jobs: Sequence[ConvertJob], *, workers: int) -> Iterator[Converted]:
    if workers == 1 or len(jobs) == 1:
        for job in jobs:
            yield convert_one(job)
        return
    left = list(jobs)
    with suppress(BrokenProcessPool):
        for job, result in _pooled(left, min(workers, len(jobs))):
            left.remove(job)
            yield result
    # a worker died of native code, and took the pool along: what is left goes on alone, so that its object is known
    for job in left:
        try:
            for _, result in _pooled([job], 1):
                yield result
        except BrokenProcessPool:
            yield Converted(job.name, "its worker died; this is a fault of native code. Leave it out.", True, 0.0)


def _pooled(jobs: Sequence[ConvertJob], workers: int) -> Iterator[tuple[ConvertJob, Converted]]:
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        futures: dict[Future[Converted], ConvertJob] = {pool.submit(convert_one, job): job for job in jobs}
        try:
            for future in as_completed(futures):
                yield futures[future], future.result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
