"""Reads the object to annotate: its URDF, or that made of a USD or glTF, the files beside it, its meshes and its
size.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from unlatch.objects.annotation import ANNOTATION_FILE
from unlatch.objects.annotation_entries import FreedJoint
from unlatch.objects.annotation_reader import read_articulation
from unlatch.objects.importers.gltf_reader import gltf_files, has_joints, is_gltf
from unlatch.objects.importers.mjcf_reader import mjcf_files
from unlatch.objects.importers.sdf_reader import SDF_SUFFIXES, sdf_files
from unlatch.objects.importers.usd_stage import USD_SUFFIXES, is_usd, usd_files
from unlatch.simcore.cache import cache_root, cached_folder, content_hash, json_hash
from unlatch.simcore.errors import AssetError, unknown_entry
from unlatch.simcore.files import path_word, plain_name
from unlatch.simcore.meshes.mesh_reader import GLTF_SUFFIXES, MESH_SUFFIXES
from unlatch.simcore.meshes.mesh_store import model_files
from unlatch.simcore.meshes.mjcf import MJCF_SUFFIXES, is_mjcf
from unlatch.simcore.meshes.shape_surface import shape_mesh
from unlatch.simcore.meshes.triangle_mesh import TriangleMesh
from unlatch.simcore.urdf.model import Joint, Shape, ShapeKind, UrdfModel
from unlatch.simcore.urdf.reader import is_shared_folder, model_folder, read_urdf, xacro_remedy

FRAMES_FILE = "frames.json"
"""Beside the URDF of a USD: the frames of its prims in those of the links."""

VERSION = 16
"""Raise it with every change of the output: cached files are then made again."""

MODEL_SUFFIXES = (*USD_SUFFIXES, *GLTF_SUFFIXES, *SDF_SUFFIXES, *MJCF_SUFFIXES)
"""Endings of files, other than URDFs, that can be an object with joints."""

_NOTICES_FILE = "notices.json"


@dataclass(frozen=True)
class MadeUrdf:
    """The URDF of a USD or glTF."""

    path: Path
    """The URDF, in a folder of the cache with its meshes."""
    notices: tuple[str, ...]
    """One line for each thing that is left out or read in a way that its author may not expect."""


def needs_urdf(path: Path | str) -> bool:
    """Returns whether the name of a file ends like that of a USD, glTF, SDF or MJCF."""
    return str(path).lower().endswith(MODEL_SUFFIXES)


def has_urdf(path: Path) -> bool:
    """Returns whether a URDF can be made of a file: of a glTF if it names an extension with joints."""
    return _kind_of(path) is not None and (not is_gltf(path) or has_joints(path))


_KINDS: dict[str, tuple[Callable[[Path], bool], Callable[[Path], dict[str, Path]]]] = {
    "usd": (is_usd, usd_files),
    "gltf": (is_gltf, gltf_files),
    "sdf": (lambda path: path.suffix.lower() in SDF_SUFFIXES, sdf_files),
    "mjcf": (is_mjcf, mjcf_files),
}
"""What tells the formats of objects with joints apart, and the files of each; `KIND_reader` writes its URDF."""


def _kind_of(path: Path) -> str | None:
    return next((kind for kind, (is_kind, _) in _KINDS.items() if is_kind(path)), None)


def urdf_of(path: Path, *, cache_dir: str | None = None) -> MadeUrdf:
    """Returns the URDF of a USD, glTF, SDF or MJCF with joints; it is written first unless the cache holds it.

    Links and joints have the names of their prims or nodes. A link has the axes of its body, and its origin on the
    axis of its joint. The link of the root is upright. Of a USD, masses, inertias, limits, damping and friction
    are kept, and of an SDF or MJCF; of a glTF, masses and limits.

    Args:
        path: The file.
        cache_dir: Folder of the cache; None: see `cache_root`.

    Raises:
        AssetError: OpenUSD or MuJoCo is not installed, the file or something that it names cannot be read, or it has no
            joint that moves, or one that no URDF has.
    """
    kind = _kind_of(path)
    if kind is None:
        raise AssetError(
            f"'{path}' is no MJCF: it has no <mujoco>. Expected a whole model, which may include this file, or a URDF "
            "called .urdf.",
            path=str(path),
        )
    files = _KINDS[kind][1](path)
    content = content_hash({name: file.read_bytes() for name, file in files.items()})
    key = json_hash([VERSION, content, path.name])
    folder = cache_root(cache_dir) / kind / f"{plain_name(path.stem)[:64]}-{key[:16]}"
    urdf = f"{plain_name(path.stem)}.urdf"

    def make(temporary: Path) -> None:
        reader = import_module(f"unlatch.objects.importers.{kind}_reader")
        notices = reader.write_urdf(path, temporary, urdf)
        (temporary / _NOTICES_FILE).write_text(json.dumps(notices, indent=1) + "\n", encoding="utf-8")

    cached_folder(folder, key=key, make=make)
    notices = json.loads((folder / _NOTICES_FILE).read_text(encoding="utf-8"))
    return MadeUrdf(folder / urdf, tuple(notices))


PARTNET_URDF = "mobility.urdf"
"""Name of the URDF in a folder of PartNet-Mobility."""

UNKNOWN_CATEGORY = "object"
"""Category of an object whose files name none."""

_MAX_TEXT_BYTES = 1_000_000
_LONG = 5
"""A category of so many letters counts at the end of a word, too; `pen` is in `open`."""
_SYNONYMS = {"fridge": "refrigerator"}
_TASK_ENDINGS = ("_rotate", "_press", "_swing", "_move")
"""GenSim2 names the folder of a category after its task."""


@dataclass(frozen=True)
class SourceObject:
    """One object as read, not converted."""

    category: str
    """What it is, in lower case, such as `microwave`; `object` if unknown."""
    instance: str
    folder: Path
    """The folder of its URDF, resolved. For a USD or glTF, whose URDF is in the cache, it is a folder there."""
    model: UrdfModel
    semantics: dict[str, str]
    """Part name by link, from `semantics.txt`."""
    info: dict[str, Any] = field(default_factory=dict)
    """Content of `info.json`, or empty."""
    urdf: str = PARTNET_URDF
    """File name of its URDF."""
    is_metric: bool = False
    """Whether its lengths are metres: true for any URDF, not for PartNet-Mobility, whose objects have unit size."""
    original: Path | None = None
    """The USD or glTF that it was read from, resolved; None for a URDF."""
    notices: tuple[str, ...] = ()
    """What the original has that is left out or read in another way, one line each."""
    frames: Mapping[str, np.ndarray] = field(default_factory=dict)
    """(4, 4) by link, for a USD: the map from the coordinates of its prim to the link [m]."""

    @property
    def file(self) -> Path:
        """The URDF, USD or glTF that the user has; an annotation is beside it and names it."""
        return self.original or self.folder / self.urdf

    @property
    def asset_folder(self) -> Path:
        """The folder that holds all its files: that of its URDF, or that of the packages that the URDF names."""
        return model_folder(self.folder / self.urdf, self.model)

    def files_hash(self, side_files: Iterable[str]) -> str:
        """Returns SHA-256 over the URDF, the existing `side_files` beside it, and every file that it refers to."""
        beside = {name: path for name, path in self._beside(side_files).items() if path.is_file()}
        files = beside | model_files(self.model, self.asset_folder)
        return content_hash({name: path.read_bytes() for name, path in files.items()})

    def all_files(self, side_files: Iterable[str]) -> tuple[Path, ...]:
        """Returns its files, those beside it that may come to exist, and its folder; empty for a USD or glTF.

        Those name other files, which are not known here.
        """
        if self.original is not None:
            return ()
        meshes = model_files(self.model, self.asset_folder).values()
        return (self.folder, *self._beside(side_files).values(), *meshes)

    def _beside(self, side_files: Iterable[str]) -> dict[str, Path]:
        return {self.urdf: self.folder / self.urdf, **{name: self.file.with_name(name) for name in side_files}}

    @property
    def word(self) -> str:
        """The category in its name or that of its file, for instructions; empty if that is stated or unknown.

        A name is too little for what depends on the category: forces, masses and sizes.
        """
        if self.category != UNKNOWN_CATEGORY:
            return ""
        return named_category(self.instance) or named_category(self.model.name) or ""

    @property
    def info_scale(self) -> float | None:
        """The scale in `info.json` [m per unit]; None if there is none."""
        return info_scale(self.info)

    @property
    def info_head(self) -> np.ndarray | None:
        """(3,) unscaled `articulated_object_head` of GenSim2's `info.json`, in its own frame; None if there is none."""
        keypoints = self.info.get("keypoints")
        value = keypoints.get("articulated_object_head") if isinstance(keypoints, dict) else None
        if not isinstance(value, list) or len(value) != 3 or not all(isinstance(v, (int, float)) for v in value):
            return None
        point = np.array(value, dtype=float)
        return point if np.all(np.isfinite(point)) else None


def info_scale(info: Mapping[str, Any]) -> float | None:
    """Returns the scale in the content of an `info.json` [m per unit]; None if there is none."""
    value = info.get("scale")
    scales = info.get("object_scale")
    if isinstance(scales, list) and scales:
        value = scales[0]
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return float(value) if 0.001 <= value <= 100.0 else None


def find_urdf(path: Path) -> Path:
    """Returns the file that a path names: a URDF, USD or glTF, `mobility.urdf` of a folder, or the only one there.

    A glTF in a folder counts if it has joints: others are meshes.

    Raises:
        AssetError: There is none, or it is not clear which.
    """
    if path.is_file():
        if path.suffix.lower() in MESH_SUFFIXES and not needs_urdf(path):
            raise AssetError(
                f"'{path}' is a mesh without joints. Say which part moves: "
                f"unlatch annotate {path_word(path)} joint=hinge moving=NODE axis=z at=+x",
                path=str(path),
            )
        if path.suffix.lower() == ".xacro":
            raise AssetError(f"'{path}' is a xacro file. Expected a URDF. {xacro_remedy(path)}", path=str(path))
        if path.suffix.lower() != ".urdf" and not needs_urdf(path):
            raise AssetError(
                f"'{path}' is no URDF, USD, glTF, SDF or MJCF: its name ends in '{path.suffix}'. Expected .urdf, "
                f"{', '.join(MODEL_SUFFIXES)}.",
                path=str(path),
            )
        return path
    if not path.is_dir():
        raise AssetError(
            f"'{path}' does not exist. Expected a URDF, USD, glTF, SDF, MJCF or the folder of an object.",
            path=str(path),
        )
    if (path / PARTNET_URDF).is_file():
        return path / PARTNET_URDF
    found = sorted(path.glob("*.urdf")) or sorted(file for file in path.iterdir() if file.is_file() and has_urdf(file))
    if len(found) == 1:
        return found[0]
    names = ", ".join(file.name for file in found)
    have = f"{len(found)} objects ({names})" if found else "no URDF, USD, SDF, MJCF or glTF with joints"
    raise AssetError(f"'{path}' holds {have}, expected one. Name the file.", path=str(path))


def read_source(
    path: Path, *, category: str | None = None, packages: bool = False, cache_dir: str | None = None
) -> SourceObject:
    """Reads an object with all files beside it.

    Args:
        path: A URDF, USD or glTF, or a folder that holds one.
        category: What it is; without it, `meta.json` or the name of the folder above says.
        packages: Whether its files may lie in the packages around it, see `SourceObject.asset_folder`.
        cache_dir: Folder of the cache for the URDF of a USD or glTF; None: see `cache_root`.

    Raises:
        AssetError: There is no such file, it is damaged, or it names files that are missing or lie outside the folder.
    """
    file = find_urdf(Path(path)).resolve()
    folder = file.parent
    is_partnet = file.name == PARTNET_URDF
    made = urdf_of(file, cache_dir=cache_dir) if needs_urdf(file) else None
    urdf = file if made is None else made.path
    model = read_urdf(urdf, packages=packages)
    return SourceObject(
        category=category or category_of(folder, is_partnet=is_partnet),
        instance=folder.name if is_partnet else file.stem,
        folder=urdf.parent,
        model=model,
        semantics=read_semantics(folder),
        info=read_json(folder / "info.json"),
        urdf=urdf.name,
        is_metric=not is_partnet,
        original=None if made is None else file,
        notices=model.notices if made is None else made.notices,
        frames={name: np.array(rows) for name, rows in read_json(urdf.parent / FRAMES_FILE).items()},
    )


def read_model(file: Path, *, packages: bool = True) -> UrdfModel:
    """Returns the links and joints of a URDF, USD or glTF.

    Raises:
        AssetError: The file cannot be read.
    """
    return read_urdf(urdf_of(file).path if needs_urdf(file) else file, packages=packages)


def read_category(urdf: Path) -> str:
    """Returns the category of the object of a URDF: from an annotation beside it, else from its files."""
    path = urdf.resolve()
    annotated = path.parent / ANNOTATION_FILE
    if annotated.is_file():
        try:
            found = read_articulation(annotated)
        except AssetError:  # reported when the object is loaded
            return UNKNOWN_CATEGORY
        if found.is_about(path.name):
            return found.category
    return category_of(path.parent, is_partnet=path.name == PARTNET_URDF)


def category_of(folder: Path, *, is_partnet: bool) -> str:
    """Returns the category of an object: `model_cat` of `meta.json`, that in its folder's name, or a data set's folder.

    A data set has a folder for each category, and in it one for each object, whose name is mostly a number; that of
    GenSim2 has folders named after tasks. Another folder may have any name, such as that of a user: only a category
    in it counts.
    """
    stated = read_json(folder / "meta.json").get("model_cat")
    if isinstance(stated, str) and stated.strip():
        return plain_category(stated)
    if not is_partnet:
        return UNKNOWN_CATEGORY
    own, above = named_category(folder.name), folder.parent
    if own is not None:
        return own
    is_number = sum(map(str.isdigit, folder.name)) > sum(map(str.isalpha, folder.name))
    if is_shared_folder(above) or not (is_number or above.name.lower().endswith(_TASK_ENDINGS)):
        return named_category(above.name) or UNKNOWN_CATEGORY
    name = plain_category(above.name)
    return name if name and not name.isdigit() else UNKNOWN_CATEGORY


def named_category(name: str) -> str | None:
    """Returns the last category that a name has in it; None without one.

    Names are such as `microwave_1`, `faucetBase`, `hingecabinet`, `washing_machine` and `fridge`.
    """
    words = [word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)]
    for before, word in reversed(list(zip(["", *words], words, strict=False))):
        for whole in (before + word, _SYNONYMS.get(word, word)):
            if whole in LARGEST_EXTENT_M:
                return whole
        long = next((each for each in LARGEST_EXTENT_M if len(each) >= _LONG and word.endswith(each)), None)
        if long is not None:
            return long
    return None


def plain_category(name: str) -> str:
    """Returns a category in the spelling of our tables, for example `safe` for `safe_rotate`."""
    plain = name.strip().lower()
    for ending in _TASK_ENDINGS:
        plain = plain.removesuffix(ending)
    return re.sub(r"[^a-z0-9]", "", plain)


def read_semantics(folder: Path) -> dict[str, str]:
    """Returns part names by link from the `semantics.txt` of a folder; empty without the file."""
    semantics: dict[str, str] = {}
    for line in read_text(folder / "semantics.txt").splitlines():
        words = line.split()
        if len(words) == 3:
            semantics[words[0]] = words[2]
    return semantics


def read_text(path: Path) -> str:
    """Returns the text of a small file; empty if it is missing.

    Raises:
        AssetError: It is not small.
    """
    if not path.is_file():
        return ""
    if path.stat().st_size > _MAX_TEXT_BYTES:
        raise AssetError(f"{path}: more than {_MAX_TEXT_BYTES} bytes.", path=str(path))
    return path.read_text(encoding="utf-8-sig", errors="replace")


def read_json(path: Path) -> dict[str, Any]:
    """Returns the JSON object of a small file; empty if the file is missing or empty.

    Raises:
        AssetError: It holds anything else.
    """
    text = read_text(path)
    if not text:
        return {}
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as exc:
        raise AssetError(f"{path}: no readable JSON ({exc}).", path=str(path)) from exc
    if not isinstance(data, dict):
        raise AssetError(f"{path}: expected a JSON object, got {type(data).__name__}.", path=str(path))
    return data


def with_freed_joints(model: UrdfModel, freed: Mapping[str, FreedJoint], *, where: str) -> UrdfModel:
    """Returns a model in which joints that its file fixes move, as an annotation states.

    They come after the others: `info.json` tells of the first joint that moves in the file.

    Args:
        model: The model, in the unit of its file.
        freed: The joints, by name.
        where: The annotation, for messages.

    Raises:
        AssetError: The model has no such joint, or it moves already, or it states no axis.
    """
    joints = dict(model.joints)
    for name, stated in freed.items():
        if name not in joints:
            fixed = [joint.name for joint in joints.values() if not joint.moves]
            said = f"{where}: freed_joints: joint '{name}' is not in the URDF."
            raise unknown_entry(said, name, fixed, heading="Fixed joints", error=AssetError, path=where)
        if joints[name].moves:
            raise AssetError(
                f"{where}: freed_joints: joint '{name}' is {joints[name].kind} in the URDF and moves already. Remove "
                "the entry, or change the limits in the URDF.",
                path=where,
            )
        if not joints[name].has_axis:
            raise AssetError(
                f"{where}: freed_joints: joint '{name}' states no <axis> in the URDF, so nothing says about or along "
                'what it moves. Add <axis xyz="X Y Z"/> to the joint, in its own frame.',
                path=where,
            )
        joints[name] = replace(joints[name], kind=stated.kind, lower=stated.lower, upper=stated.upper, has_range=True)
    own = {name: joint for name, joint in joints.items() if name not in freed}
    return replace(model, joints={**own, **{name: joints[name] for name in freed}})


def without_empty_colliders(model: UrdfModel) -> UrdfModel:
    """Returns a model without the colliders of links of which none has a triangle: a hand meets their visuals.

    Raises:
        AssetError: A mesh cannot be read.
    """
    empty = [name for name, link in model.links.items() if not any(map(_has_triangles, link.collisions))]
    return replace(model, links=model.links | {name: replace(model.links[name], collisions=()) for name in empty})


def _has_triangles(shape: Shape) -> bool:
    return shape.kind is not ShapeKind.mesh or len(shape_mesh(shape).faces) > 0


@dataclass(frozen=True)
class LinkMesh:
    """One mesh of a link; a file that is both visual and collider is read once."""

    shape: Shape
    mesh: TriangleMesh
    """The mesh in the link frame, in the units of the source."""
    is_visual: bool
    """Whether the mesh counts as visible; so do colliders of a link without visuals."""
    is_collider: bool
    """Whether the mesh counts as a collider; so do visuals of a link without colliders."""


class ObjectGeometry:
    """Meshes by link and the tree of joints; lengths are in the units of the source."""

    def __init__(self, source: SourceObject) -> None:
        """Takes an object; its meshes are read on first use."""
        self.source = source
        self.model = source.model
        self._meshes: dict[str, list[LinkMesh]] = {}
        self.empty: dict[str, None] = {}
        """One line for each mesh without a triangle, in order."""

    def meshes(self, link: str) -> list[LinkMesh]:
        """Returns the meshes of a link.

        Raises:
            AssetError: A file holds no mesh.
        """
        if link not in self._meshes:
            self._meshes[link] = self._read_meshes(link)
        return self._meshes[link]

    def vertices(self, link: str) -> np.ndarray:
        """Returns (N, 3) vertices of a link, in its frame."""
        return np.concatenate([np.zeros((0, 3)), *(item.mesh.vertices for item in self.meshes(link))])

    def points(self, links: Iterable[str], positions: dict[str, float] | None = None) -> np.ndarray:
        """Returns (N, 3) vertices of links in the root frame; joints without a position are at 0."""
        clouds = [self.model.link_pose(name, positions) @ self.vertices(name) for name in links]
        return np.concatenate([np.zeros((0, 3)), *clouds])

    def moving_links(self, joint: Joint) -> list[str]:
        """Returns the links that a joint moves."""
        return [name for name in self.model.links if self.model.is_below(name, joint.child)]

    @cached_property
    def fixed_links(self) -> list[str]:
        """Links that no joint moves relative to the root."""
        moved = [joint.child for joint in self.model.joints.values() if joint.moves]
        return [name for name in self.model.links if not any(self.model.is_below(name, top) for top in moved)]

    def _read_meshes(self, link: str) -> list[LinkMesh]:
        entry = self.model.links[link]
        visuals, colliders = _shapes_by_file(entry.visuals), _shapes_by_file(entry.collisions)
        shapes = {**colliders, **visuals}
        meshes = {key: shape_mesh(shape).moved(shape.T_link_shape) for key, shape in shapes.items()}
        for key, shape in shapes.items():
            if not len(meshes[key].faces):
                self.empty[f"mesh '{shape.mesh}' of link '{link}' has no triangle: it is left out"] = None
                del meshes[key]
        seen, hit = meshes.keys() & visuals.keys(), meshes.keys() & colliders.keys()
        return [
            LinkMesh(shapes[key], mesh, key in seen or not seen, key in hit or not hit) for key, mesh in meshes.items()
        ]


def _shapes_by_file(shapes: tuple[Shape, ...]) -> dict[tuple[str, bytes], Shape]:
    # primitives have no file: their kind and size identify them
    return {
        (
            shape.mesh or f"{shape.kind.name} {shape.size}",
            np.round(shape.T_link_shape.matrix, 6).tobytes(),
        ): shape
        for shape in shapes
    }


LARGEST_EXTENT_M: dict[str, float] = {
    "bottle": 0.25,
    "box": 0.35,
    "bucket": 0.40,
    "cabinet": 0.50,
    "camera": 0.16,
    "cart": 0.90,
    "chair": 1.00,
    "clock": 0.35,
    "coffeemachine": 0.40,
    "dishwasher": 0.60,
    "dispenser": 0.25,
    "display": 0.60,
    "door": 1.20,
    "drawer": 0.50,
    "eyeglasses": 0.15,
    "fan": 0.50,
    "faucet": 0.30,
    "foldingchair": 0.90,
    "globe": 0.35,
    "kettle": 0.25,
    "keyboard": 0.45,
    "kitchenpot": 0.35,
    "knife": 0.25,
    "lamp": 0.50,
    "laptop": 0.36,
    "lighter": 0.08,
    "microwave": 0.46,
    "mouse": 0.12,
    "oven": 0.60,
    "pen": 0.15,
    "phone": 0.16,
    "pliers": 0.20,
    "printer": 0.45,
    "refrigerator": 0.80,
    "remote": 0.20,
    "safe": 0.45,
    "scissors": 0.20,
    "stapler": 0.15,
    "storagefurniture": 0.50,
    "suitcase": 0.55,
    "switch": 0.12,
    "table": 0.50,
    "toaster": 0.32,
    "toilet": 0.70,
    "trashcan": 0.45,
    "usb": 0.06,
    "washingmachine": 0.60,
    "window": 0.80,
}
"""Largest extent of the closed object [m]. For furniture, doors and refrigerators it is a small one, because a fixed
arm reaches less than a metre."""

UNKNOWN_EXTENT_M = 0.40
"""Largest extent for other categories: something that stands on a table [m]."""

SMALLEST_M, LARGEST_M = 0.01, 10.0
"""An arm does not open objects outside this range [m]."""


def unit_scale(category: str, extent: float) -> float:
    """Returns the metres per unit for an object whose largest extent is `extent` units."""
    return LARGEST_EXTENT_M.get(category, UNKNOWN_EXTENT_M) / extent


def base_scale(
    source: SourceObject, extent: float, *, scale: float | None = None, size_m: float | None = None
) -> tuple[float, bool]:
    """Returns the metres per unit of a source, and whether this scale is certain; otherwise it is only an estimate.

    Args:
        source: The object.
        extent: Largest extent of the closed object in the units of the source.
        scale: Metres per unit, if they are given.
        size_m: Largest extent of the closed object [m], if it is given.
    """
    if scale is not None:
        return scale, True
    if size_m is not None:
        return size_m / extent, True
    if source.info_scale is not None:
        return source.info_scale, False
    if source.is_metric:
        return 1.0, True
    return unit_scale(source.category, extent), False


def check_extent(extent_m: float, *, where: str) -> None:
    """Refuses objects of an absurd size.

    Raises:
        AssetError: The largest extent is out of range.
    """
    if not SMALLEST_M <= extent_m <= LARGEST_M:
        raise AssetError(
            f"{where}: the largest extent is {extent_m:.4g} m, expected {SMALLEST_M:g} to {LARGEST_M:g} m. "
            "Give scale=METRES_PER_UNIT or size=LARGEST_EXTENT_M.",
            path=where,
            extent_m=extent_m,
        )
