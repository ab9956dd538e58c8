"""Opens a USD file with everything that it refers to, and places its prims in metres with z up."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from os.path import commonpath
from pathlib import Path
from typing import Any

import numpy as np

from unlatch.simcore.errors import AssetError
from unlatch.simcore.geometry import Pose
from unlatch.simcore.process import hide_native_output
from unlatch.simcore.registry import import_extra
from unlatch.simcore.urdf.reader import is_shared_folder

_MODULES = ("Ar", "Gf", "Sdf", "Tf", "Usd", "UsdGeom", "UsdPhysics", "UsdShade", "UsdUtils", "Vt")


def import_openusd(needed_by: str = "USD output") -> Any:
    """Imports OpenUSD and returns it; its modules are attributes, such as `pxr.UsdGeom`.

    `needed_by` says in the error what needs it.

    Raises:
        AssetError: It is not installed; the message names the extra.
    """
    pxr = import_extra("pxr", extra="usd", needed_by=needed_by, error=AssetError)
    for name in _MODULES:
        import_module(f"pxr.{name}")
    return pxr


USD_SUFFIXES = (".usd", ".usda", ".usdc", ".usdz")
"""Endings of USD files, in lower case."""

MAX_USD_BYTES = 256_000_000
"""Largest size of one file of a USD asset."""

_MOST_PRIMS = 200_000
_MOST_NAMED = 3
_Z_UP = np.eye(3)
_Y_UP = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])
"""(3, 3) rotation from axes with y up to axes with z up."""
_SCALES_M = (1e-6, 1e6)


def is_usd(path: Path | str) -> bool:
    """Returns whether the name of a file ends like that of a USD."""
    return Path(path).suffix.lower() in USD_SUFFIXES


def usd_files(path: Path) -> dict[str, Path]:
    """Returns every file that a USD consists of, by a name relative to their common folder: layers and pictures.

    Files that are missing are left out; `OpenedStage` reports those that matter.

    Raises:
        AssetError: OpenUSD is not installed, the file cannot be read, a file is too large, or the files have no common
            folder of their own.
    """
    pxr = import_openusd("A USD object")
    try:
        with hide_native_output():
            layers, assets, _ = pxr.UsdUtils.ComputeAllDependencies(str(path))
    except pxr.Tf.ErrorException as exc:
        raise unreadable(path, exc) from exc
    # a file inside a package has the name `PACKAGE.usdz[FILE]`
    named = [layer.realPath for layer in layers] + [str(asset) for asset in assets]
    files = {path.resolve(), *(Path(name.partition("[")[0]).resolve() for name in named if name)}
    files = {file for file in files if file.is_file()}
    folder = Path(commonpath([file.parent for file in files]))
    if folder != path.resolve().parent and is_shared_folder(folder):
        outside = sorted(str(file) for file in files if not file.is_relative_to(path.resolve().parent))
        raise AssetError(
            f"{path}: refers to {outside[0]}, which has no folder in common with it but {folder}. Expected an asset in "
            "one folder. Copy its files into one, or flatten it: usdcat --flatten.",
            path=str(path),
            file=outside[0],
        )
    for file in sorted(files):
        size = file.stat().st_size
        if size > MAX_USD_BYTES:
            raise AssetError(f"{path}: {file} has {size} bytes, at most {MAX_USD_BYTES} are read.", path=str(path))
    return {file.relative_to(folder).as_posix(): file for file in sorted(files)}


def unreadable(path: Path, exc: Exception) -> AssetError:
    """Returns the error of a file that OpenUSD cannot read."""
    lines = [line.rpartition(" : ")[2].strip("'\" ") for line in str(exc).replace("\\n", "\n").splitlines()]
    reason = next((line for line in lines if line), "unknown reason")
    return AssetError(
        f"{path}: no readable USD ({reason}). Expected a file that `usdchecker` accepts. Export it again.",
        path=str(path),
    )


@dataclass(frozen=True)
class UsdUnits:
    """Units of a stage."""

    length_m: float
    """Metres per unit."""
    mass_kg: float
    """Kilograms per unit."""


class OpenedStage:
    """A composed stage: references, payloads, variants and instances are resolved."""

    def __init__(self, path: Path) -> None:
        """Opens the file.

        Raises:
            AssetError: OpenUSD is not installed, the file cannot be read, something that it refers to is missing, or
                its units make no sense.
        """
        self.path = path
        self.pxr = import_openusd("A USD object")
        self.notices: list[str] = []
        try:
            with hide_native_output():
                self.stage = self.pxr.Usd.Stage.Open(str(path))
        except self.pxr.Tf.ErrorException as exc:
            raise unreadable(path, exc) from exc
        self._check_references()
        self.units = self._read_units()
        up = str(self.pxr.UsdGeom.GetStageUpAxis(self.stage))
        self._R_up = _Y_UP if up == "Y" else _Z_UP
        self.time = self.pxr.Usd.TimeCode.EarliestTime()
        self._transforms = self.pxr.UsdGeom.XformCache(self.time)
        self._places: dict[str, np.ndarray] = {}

    def error(self, where: Any, problem: str) -> AssetError:
        """Returns an error about a prim."""
        place = str(where.GetPath()) if hasattr(where, "GetPath") else str(where)
        return AssetError(f"{self.path}: {place} {problem}", path=str(self.path), where=place)

    def prims(self) -> Iterator[Any]:
        """Yields every active, defined prim with those of instances: below the default prim if joints are there."""
        root = self.stage.GetDefaultPrim()
        own = list(self._below(root)) if root else []
        if any(prim.IsA(self.pxr.UsdPhysics.Joint) for prim in own):
            yield from own
        else:
            yield from self._below(self.stage.GetPseudoRoot())

    def place(self, prim: Any) -> np.ndarray:
        """Returns (4, 4) the affine map from a prim's own coordinates to the stage, in metres with z up."""
        key = str(prim.GetPath())
        if key not in self._places:
            local = np.array(self._transforms.GetLocalToWorldTransform(prim), dtype=float).T
            metric = np.eye(4)
            metric[:3, :3] = self._R_up * self.units.length_m
            found = metric @ local
            if not np.all(np.isfinite(found)) or abs(np.linalg.det(found[:3, :3])) < 1e-30:
                raise self.error(prim, "has a transform that is not finite or makes it flat. Correct its xformOps.")
            self._places[key] = found
        return self._places[key]

    def _below(self, root: Any) -> Iterator[Any]:
        usd = self.pxr.Usd
        for count, prim in enumerate(usd.PrimRange(root, usd.TraverseInstanceProxies(usd.PrimDefaultPredicate))):
            if count >= _MOST_PRIMS:
                raise self.error(root, f"has more than {_MOST_PRIMS} prims. Expected one object. Export it alone.")
            yield prim

    def _check_references(self) -> None:
        found = [" ".join(str(error).split()) for error in self.stage.GetCompositionErrors()]
        if found:
            more = f" And {len(found) - _MOST_NAMED} more like it." if len(found) > _MOST_NAMED else ""
            raise AssetError(
                f"{self.path}: {len(found)} broken references. {' '.join(found[:_MOST_NAMED])}{more} Put the missing "
                "files in their places, or flatten the asset where it is complete: usdcat --flatten.",
                path=str(self.path),
                broken=found,
            )

    def _read_units(self) -> UsdUnits:
        geom, physics = self.pxr.UsdGeom, self.pxr.UsdPhysics
        units = UsdUnits(
            float(geom.GetStageMetersPerUnit(self.stage)), float(physics.GetStageKilogramsPerUnit(self.stage))
        )
        for name, value in (("metersPerUnit", units.length_m), ("kilogramsPerUnit", units.mass_kg)):
            if not _SCALES_M[0] <= value <= _SCALES_M[1]:
                raise AssetError(f"{self.path}: {name} is {value:g}. Expected a positive number.", path=str(self.path))
        if not geom.StageHasAuthoredMetersPerUnit(self.stage):
            self.notices.append("metersPerUnit is missing: read as centimetres, the default of USD")
        return units


def rotation_of(quat: Any) -> np.ndarray:
    """Returns (3, 3) the rotation of a quaternion of OpenUSD; the identity for one of length 0."""
    w, (x, y, z) = float(quat.GetReal()), (float(v) for v in quat.GetImaginary())
    length = float(np.linalg.norm([x, y, z, w]))
    if length < 1e-9:
        return np.eye(3)
    return np.array(Pose.from_quat_xyzw(np.zeros(3), [x / length, y / length, z / length, w / length]).R)
