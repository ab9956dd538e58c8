"""The base of all converters: it decides whether to convert, and puts the output in place; the physics it can add."""

from __future__ import annotations

import hashlib
import json
import math
import shutil
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from enum import Enum
from pathlib import Path
from typing import Any, Generic, TypeVar

from unlatch.objects.articulated_object import PHYSICS_FILE
from unlatch.objects.importers.converted_asset import ConvertedAsset
from unlatch.objects.importers.usd_stage import import_openusd
from unlatch.objects.importers.usd_writer import write_usd
from unlatch.simcore.cache import MANIFEST_FILE, intact_hash, json_hash, replaced_folder, write_manifest
from unlatch.simcore.errors import AssetError, ConfigError, check_range, unknown_name
from unlatch.simcore.files import user_path
from unlatch.simcore.registry import installed_version

Choice = TypeVar("Choice", bound=Enum)


@dataclass
class MassPropertiesCfg:
    """Mass of a body; if both are given, the mass is used."""

    mass: float | None = None
    """Mass [kg], above 0."""
    density: float | None = None
    """Density [kg/m^3], above 0."""

    def __post_init__(self) -> None:
        for name in ("mass", "density"):
            check_number(f"mass_props.{name}", getattr(self, name), 0.0, above=True)


_PHYSX_BODY = (
    *("max_depenetration_velocity", "max_contact_impulse", "enable_gyroscopic_forces", "retain_accelerations"),
    *("solver_position_iteration_count", "solver_velocity_iteration_count", "sleep_threshold"),
    "stabilization_threshold",
)
"""Fields of Isaac Lab's rigid bodies that only its engine has."""


@dataclass
class RigidBodyPropertiesCfg:
    """How a free body moves; None leaves a value to the engine."""

    disable_gravity: bool | None = None
    """Whether gravity does not act on the body."""
    linear_damping: float | None = None
    """Rate at which the linear velocity decays [1/s]: after a second, exp(-damping) is left."""
    angular_damping: float | None = None
    """Rate at which the angular velocity decays [1/s]."""
    max_linear_velocity: float | None = None
    """[m/s]"""
    max_angular_velocity: float | None = None
    """[rad/s]"""
    kinematic: bool | None = None
    """Whether forces and contacts do not move the body: it moves only if its pose is written."""
    kinematic_enabled: bool | None = None
    """The present name of `kinematic` in Isaac Lab."""
    rigid_body_enabled: bool | None = None
    """True says nothing; a body that is no rigid body has no counterpart."""
    max_depenetration_velocity: float | None = None
    """PhysX's own: refused."""
    max_contact_impulse: float | None = None
    """PhysX's own: refused."""
    enable_gyroscopic_forces: bool | None = None
    """PhysX's own: refused."""
    retain_accelerations: bool | None = None
    """PhysX's own: refused."""
    solver_position_iteration_count: int | None = None
    """PhysX's own: refused."""
    solver_velocity_iteration_count: int | None = None
    """PhysX's own: refused."""
    sleep_threshold: float | None = None
    """PhysX's own: refused."""
    stabilization_threshold: float | None = None
    """PhysX's own: refused."""

    def __post_init__(self) -> None:
        refuse_fields(self, "rigid_props", _PHYSX_BODY, "PhysX alone has it")
        if self.rigid_body_enabled is False:
            raise ConfigError(
                "rigid_props.rigid_body_enabled=false makes no body. Expected true. For one that stays where it is, "
                "set kinematic_enabled=true.",
                key="rigid_props.rigid_body_enabled",
            )
        if None not in (self.kinematic, self.kinematic_enabled) and self.kinematic != self.kinematic_enabled:
            raise ConfigError(
                "rigid_props.kinematic and kinematic_enabled are two names of one value. Give one of them.",
                key="rigid_props.kinematic_enabled",
            )
        self.kinematic = self.kinematic if self.kinematic_enabled is None else self.kinematic_enabled
        self.kinematic_enabled = self.rigid_body_enabled = None
        for name in ("linear_damping", "angular_damping"):
            check_number(f"rigid_props.{name}", getattr(self, name), 0.0)
        for name in ("max_linear_velocity", "max_angular_velocity"):
            check_number(f"rigid_props.{name}", getattr(self, name), 0.0, above=True)


@dataclass
class CollisionPropertiesCfg:
    """Contact properties of a collider; None leaves a value to the engine."""

    collision_enabled: bool | None = None
    """False: nothing collides with it."""
    contact_offset: float | None = None
    """Distance at which contacts begin [m]; above `rest_offset`."""
    rest_offset: float | None = None
    """Distance at which two colliders come to rest [m]; below 0, they overlap."""
    torsional_patch_radius: float | None = None
    """PhysX's own: refused."""
    min_torsional_patch_radius: float | None = None
    """PhysX's own: refused."""

    def __post_init__(self) -> None:
        radii = ("torsional_patch_radius", "min_torsional_patch_radius")
        refuse_fields(self, "collision_props", radii, "PhysX alone has it")
        check_number("collision_props.contact_offset", self.contact_offset, 0.0)
        check_number("collision_props.rest_offset", self.rest_offset)
        contact, rest = self.contact_offset, self.rest_offset
        if contact is not None and rest is not None and rest >= contact:
            raise ConfigError(
                f"collision_props.rest_offset={rest:g} is not below collision_props.contact_offset={contact:g}. "
                "Lower it.",
                key="collision_props.rest_offset",
            )


def refuse_fields(group: Any, key: str, names: Sequence[str], why: str) -> None:
    """Refuses fields that Isaac Lab has and that have no effect here; None passes.

    Raises:
        ConfigError: One of them has a value; the message names it.
    """
    found = next((name for name in names if getattr(group, name) is not None), None)
    if found is not None:
        full = f"{key}.{found}" if key else found
        raise ConfigError(f"{full}={getattr(group, found)} has no counterpart: {why}. Remove it.", key=full)


def check_number(key: str, value: float | None, low: float = -math.inf, *, above: bool = False) -> None:
    """Checks that a value is a finite number in a range, see `check_range`; None passes.

    Raises:
        ConfigError: The value is not a number, not finite, or out of the range.
    """
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if value is not None and not (is_number and math.isfinite(value)):
        raise ConfigError(f"{key}={value} is not a finite number.", key=key)
    check_range(key, value, low, above=above)


def read_choice(key: str, value: object, kind: type[Choice]) -> Choice:
    """Returns a member of an enum from the member itself or its value.

    Raises:
        ConfigError: There is no such member.
    """
    try:
        return kind(value)
    except ValueError as exc:
        raise unknown_name(str(value), "known", where=key, known=[member.value for member in kind]) from exc


def given_values(group: Any) -> dict[str, Any]:
    """Returns the fields of a group that are not None, by name; empty without a group."""
    return {} if group is None else {name: value for name, value in asdict(group).items() if value is not None}


MISSING = "???"
"""OmegaConf's mark for a required field without a value."""

MARKER_FILE = ".unlatch-asset"
"""A mark in every output folder: a folder without it that holds other files is never replaced."""

USD_SUFFIXES = (".usd", ".usda")
MESHES_USD = "Props/instanceable_meshes.usd"
"""Shared meshes, relative to the folder of the USD file."""

_NOT_IN_KEY = ("asset_path", "usd_dir", "usd_file_name", "force_usd_conversion", "out_dir", "force_conversion", "usd")


class MissingAssetError(AssetError, ValueError):
    """The asset to convert does not exist."""


@dataclass
class AssetConverterBaseCfg:
    """Options of every converter."""

    asset_path: str = MISSING
    """The asset file to convert."""
    usd_dir: str | None = None
    """Folder of the USD output. None: `out_dir` if that is given, else a unique temporary folder. If you set it, the
    converter writes a USD. A folder holds one asset.
    """
    usd_file_name: str | None = None
    """Name of the USD file; `.usd` is appended unless it ends with `.usd` or `.usda`. None: the asset's name. If you
    set it, the converter writes a USD.
    """
    force_usd_conversion: bool = False
    """Convert even if the output is up to date, and overwrite it."""
    make_instanceable: bool = True
    """One mesh is shared by all its copies; False: every copy has its own."""
    out_dir: str | None = None
    """Folder of the URDF output. None: `usd_dir` if that is given, else a unique temporary folder."""
    usd: bool = False
    """Write a USD too, without naming its folder or file. Without it, the USD is made when `usd_path` is first read."""
    force_conversion: bool = False
    """The same as `force_usd_conversion`, under a name that fits both outputs."""

    def __post_init__(self) -> None:
        if self.asset_path == MISSING or not self.asset_path:
            raise ConfigError("asset_path is missing. Give the path of the file to convert.", key="asset_path")
        name = self.usd_file_name
        if name is not None and (not name.strip() or Path(name).name != name or name in (".", "..")):
            raise ConfigError(
                f"usd_file_name='{name}' is not a file name. Expected a name without folders. Set usd_dir for the "
                "folder.",
                key="usd_file_name",
            )
        if self.usd_dir is not None and self.out_dir is not None:
            usd, out = (user_path(folder).resolve() for folder in (self.usd_dir, self.out_dir))
            if usd != out and (usd.is_relative_to(out) or out.is_relative_to(usd)):
                raise ConfigError(
                    f"usd_dir='{self.usd_dir}' and out_dir='{self.out_dir}' lie one inside the other. "
                    "Give the same folder, or two that lie apart.",
                    key="usd_dir",
                )

    @property
    def wants_usd(self) -> bool:
        """Whether a USD is written."""
        return self.usd or self.usd_dir is not None or self.usd_file_name is not None


CfgT = TypeVar("CfgT", bound=AssetConverterBaseCfg)


class AssetConverterBase(ABC, Generic[CfgT]):
    """Converts one asset file, or finds it converted; the output is there when the constructor returns.

    With a given folder, the asset is converted again only if it or any referenced file changed, the configuration
    changed (other than its paths), the converter's version changed, or the output is missing or damaged. The manifest
    with the hash is written last and the folder is renamed into place, so an interrupted conversion never counts. If
    two processes convert the same asset at once, one good result stays. Files that others put into the folder stay
    there. Without a folder, the output goes to a new temporary folder each time.

    A subclass writes `_convert_asset`, which is called if a conversion is due. It also writes `_source_files`, which is
    called first, if the asset refers to other files, and `VERSION` once its output changes.
    """

    VERSION: int = 1
    """Raise it with every change of the output."""

    def __init__(self, cfg: CfgT) -> None:
        """Converts the asset unless the output is up to date.

        Raises:
            MissingAssetError: There is no such file. The error is a ValueError too.
            AssetError: The asset cannot be converted, or the output not written; nothing is left behind.
        """
        # configurations are plain dataclasses: values set after their creation are checked here
        self.cfg = replace(cfg)
        self._asset = user_path(cfg.asset_path).absolute()
        if not self._asset.is_file():
            raise MissingAssetError(
                f"The asset '{cfg.asset_path}' does not exist or is not a file. Set asset_path to the file to convert.",
                path=str(cfg.asset_path),
            )
        self._asset = self._asset.resolve()
        self.notices: list[str] = []
        """Notices for the reader of a report, one line each; empty if nothing was converted."""
        self.was_converted = False
        """Whether this instance converted the asset; False if the output was up to date."""
        self._out, self._usd = self._choose_folders()
        self._is_forced = cfg.force_usd_conversion or cfg.force_conversion
        self._key = self._make_key()
        # a new temporary folder is empty, so it is never up to date
        if self._is_forced or not all(self._is_intact(folder) for folder in {self._out, self._usd}):
            self._convert_or_clean_up()

    @property
    def out_dir(self) -> str:
        """The absolute path of the folder with the URDF."""
        return str(self._out)

    @property
    def urdf_path(self) -> str:
        """The absolute path of the converted URDF."""
        return str(self._out / self._urdf_name)

    @property
    def usd_dir(self) -> str:
        """The absolute path of the folder with the USD files."""
        return str(self._usd)

    @property
    def usd_file_name(self) -> str:
        """The name of the USD file."""
        name = self.cfg.usd_file_name or self._asset.stem
        return name if name.endswith(USD_SUFFIXES) else f"{name}.usd"

    @property
    def usd_path(self) -> str:
        """The absolute path of the USD file; if the configuration does not ask for a USD, it is made now.

        Raises:
            AssetError: The extra `usd` is not installed, or the asset cannot be converted.
        """
        if not self.cfg.wants_usd:
            import_openusd()  # without it, the URDF stays as it is
            self.cfg = replace(self.cfg, usd=True)
            self._key = self._make_key()
            if not self._is_intact(self._usd):
                self._convert_or_clean_up()
        return str(self._usd / self.usd_file_name)

    @property
    def usd_instanceable_meshes_path(self) -> str:
        """The path of the USD file with the shared meshes, relative to `usd_dir`, so that the folder can be moved."""
        return MESHES_USD

    @property
    def physics_path(self) -> str:
        """The absolute path of the file with drives, self-collision and property groups, which a URDF cannot hold."""
        return str(self._out / PHYSICS_FILE)

    @property
    def content_hash(self) -> str:
        """SHA-256 over the output that holds the URDF."""
        return intact_hash(self._out, key=self._key, allow_unlisted=True) or ""

    def _source_files(self) -> dict[str, Path]:
        """Returns every file of the asset, by a name that does not depend on its folder; here the asset file alone.

        The asset is converted again if one of them changes.
        """
        return {self._asset.name: self._asset}

    @abstractmethod
    def _convert_asset(self, folder: Path) -> ConvertedAsset:
        """Writes the meshes into an empty folder, which is moved later, and returns the content of URDF and physics."""

    @property
    def _urdf_name(self) -> str:
        return f"{self._asset.stem}.urdf"

    def _choose_folders(self) -> tuple[Path, Path]:
        """Returns the folders of the URDF and of the USD."""
        chosen = self.cfg.out_dir or self.cfg.usd_dir
        if chosen is None:
            stamp = time.strftime("%Y%m%d_%H%M%S")
            out = Path(tempfile.mkdtemp(prefix=f"unlatch-usd_{stamp}_")) / self._asset.stem
            return out, out
        out = user_path(chosen).resolve()
        usd = user_path(self.cfg.usd_dir).resolve() if self.cfg.usd_dir else out
        for key, folder in (("out_dir", out), ("usd_dir", usd)):
            if self._asset.is_relative_to(folder):
                raise ConfigError(
                    f"{key}='{folder}' holds the asset itself, and an output folder is replaced as a whole. "
                    "Name another folder.",
                    key=key,
                )
        return out, usd

    def _make_key(self) -> str:
        """Returns SHA-256 over contents, configuration and versions; paths do not count."""
        files = {}
        for name, path in sorted(self._source_files().items()):
            try:
                files[name] = hashlib.sha256(path.read_bytes()).hexdigest()
            except OSError as exc:
                raise AssetError(f"{path}: the file cannot be read ({exc.strerror or exc}).", path=str(path)) from exc
        sources = {
            "converter": type(self).__name__,
            "version": self.VERSION,
            "packages": {
                name: installed_version(name) or "none"
                for name in ("coacd", *(["usd-core"] if self.cfg.wants_usd else []))
            },
            "files": files,
            "name": self._asset.stem,
            "cfg": {name: value for name, value in asdict(self.cfg).items() if name not in _NOT_IN_KEY},
        }
        return json_hash(sources)

    def _is_intact(self, folder: Path) -> bool:
        if intact_hash(folder, key=self._key, allow_unlisted=True) is None:
            return False
        needed = [self._urdf_name] if folder == self._out else []
        if self.cfg.wants_usd and folder == self._usd:
            needed.append(self.usd_file_name)
        return all((folder / name).is_file() for name in needed)

    def _convert_or_clean_up(self) -> None:
        try:
            self._write_output()
        except BaseException:
            if not (self.cfg.out_dir or self.cfg.usd_dir):  # the folder is a temporary one
                shutil.rmtree(self._out.parent, ignore_errors=True)
            raise

    def _write_output(self) -> None:
        if self.cfg.wants_usd:
            import_openusd()  # before minutes of work, not after them
        for folder in {self._out, self._usd}:
            _refuse_foreign(folder)
        with ExitStack() as stack:
            out = stack.enter_context(replaced_folder(self._out, is_good=self._is_good, carry_over=_carry_over))
            usd = out
            if self._usd != self._out:
                usd = stack.enter_context(replaced_folder(self._usd, carry_over=_carry_over))
            asset = self._convert_asset(out)
            (out / self._urdf_name).write_text(asset.model.to_urdf(), encoding="utf-8")
            physics = json.dumps(asset.physics, indent=1, sort_keys=True) + "\n"
            (out / PHYSICS_FILE).write_text(physics, encoding="utf-8")
            self.notices = list(asset.notices)
            if self.cfg.wants_usd:
                write_usd(asset, usd / self.usd_file_name, usd / MESHES_USD, instanceable=self.cfg.make_instanceable)
            for written in {out, usd}:
                (written / MARKER_FILE).write_text("Written by unlatch; replaced as a whole.\n", encoding="utf-8")
                write_manifest(written, key=self._key)
        self.was_converted = True

    def _is_good(self, folder: Path) -> bool:
        """Returns whether output that another process has just written is kept."""
        return not self._is_forced and self._is_intact(folder)


def _refuse_foreign(folder: Path) -> None:
    """Refuses a folder with foreign files, because it would be replaced."""
    if folder.exists() and not folder.is_dir():
        raise AssetError(f"'{folder}' is a file, expected a folder for the output. Name another one.", path=str(folder))
    if folder.is_dir() and not (folder / MARKER_FILE).is_file() and any(folder.iterdir()):
        raise AssetError(
            f"The output folder '{folder}' holds files that no converter has written. An output folder is replaced as "
            "a whole: name a new or empty one.",
            path=str(folder),
        )


def _carry_over(old: Path, new: Path) -> None:
    """Copies files that others put into an output folder, for example an annotation, to its successor."""
    try:
        listed = set(json.loads((old / MANIFEST_FILE).read_text(encoding="utf-8"))["files"])
    except (OSError, ValueError, KeyError, TypeError):
        listed = set()  # it is unknown which files are ours: all are copied, so that no annotation is lost
    for path in sorted(old.rglob("*")):
        name = str(path.relative_to(old))
        target = new / name
        if path.is_file() and name != MANIFEST_FILE and name not in listed and not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)
