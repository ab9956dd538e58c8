"""Reads URDF files as untrusted input, and finds the files that they name, also those of `package://NAME/PATH`."""

from __future__ import annotations

import math
import os
import re
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path
from urllib.parse import unquote
from xml.parsers import expat

import numpy as np

from unlatch.simcore.errors import AssetError, close_matches
from unlatch.simcore.files import home_folder, refuse_placeholder
from unlatch.simcore.geometry import Pose, matrix_from_rpy
from unlatch.simcore.urdf.model import (
    ENDLESS,
    SIZE_ATTRIBUTES,
    Follows,
    Inertial,
    Joint,
    Link,
    Shape,
    ShapeKind,
    UrdfModel,
    capsule_shapes,
)

MAX_XML_BYTES = 8_000_000
MAX_ELEMENTS = 200_000


def parse_xml(path: Path, *, root_tag: str | None = None, most_bytes: int = MAX_XML_BYTES) -> ET.Element:
    """Returns the root element of an XML file, which must have the tag `root_tag` if it is given.

    Prefixes of names (`drake:member`) stay as they are written, and need no declaration: as for the URDF readers of
    Bullet and ROS.

    Raises:
        AssetError: The file is missing, too large or not XML, declares a DOCTYPE or an ENTITY, or has another root.
    """
    try:
        size = path.stat().st_size
        if size > most_bytes:
            raise AssetError(f"{path}: {size} bytes, at most {most_bytes} are read.", path=str(path))
        data = path.read_bytes()
    except OSError as exc:
        raise AssetError(f"{path}: the file cannot be read ({exc.strerror or exc}).", path=str(path)) from exc
    refuse_placeholder(path)
    root = _parse_elements(_from_declaration(data), path)
    if root_tag is not None and root.tag != root_tag:
        advice = f" An SDF file says the same in other elements: {_FROM_SDF}." if root.tag == "sdf" else ""
        raise AssetError(f"{path}: the root element is <{root.tag}>, expected <{root_tag}>.{advice}", path=str(path))
    return root


_FROM_SDF = "use the URDF or xacro from which it was made, or convert it"
_PROLOGUE = re.compile(rb"(?:\xef\xbb\xbf)?(?:\s|<!--.*?-->)+(?=<\?xml\s)", re.DOTALL)
"""Blank lines and comments before the XML declaration, which a strict reader refuses."""


def _from_declaration(data: bytes) -> bytes:
    """Returns a document without the blank lines and comments before its declaration, as many generators write them."""
    found = _PROLOGUE.match(data)
    return data if found is None else data[found.end() :]


def _parse_elements(data: bytes, path: Path) -> ET.Element:
    """Returns the root element of a document, without resolving namespaces."""
    builder = ET.TreeBuilder()
    count = 0

    def refuse(*_: object) -> None:
        raise AssetError(
            f"{path}: the XML declares a DOCTYPE or an ENTITY, which is refused. Remove the declaration.",
            path=str(path),
        )

    def start_element(tag: str, attributes: dict[str, str]) -> None:
        nonlocal count
        count += 1
        if count > MAX_ELEMENTS:
            raise AssetError(f"{path}: more than {MAX_ELEMENTS} XML elements.", path=str(path))
        builder.start(tag, attributes)

    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartDoctypeDeclHandler = refuse
    parser.EntityDeclHandler = refuse
    parser.StartElementHandler = start_element
    parser.EndElementHandler = builder.end
    parser.CharacterDataHandler = builder.data
    try:
        parser.Parse(data, True)
    except (expat.ExpatError, LookupError, ValueError) as exc:  # an unknown encoding, too
        raise AssetError(f"{path}: not well-formed XML ({exc}).", path=str(path)) from exc
    return builder.close()


PACKAGE_PREFIXES = ("package://", "model://")
"""Beginnings of names in a ROS package, and in a model of Gazebo."""
PACKAGE_FILE = "package.xml"
"""The file that makes a folder a ROS package."""
_FILE_PREFIXES = ("file://localhost/", "file://")
_URDF_FOLDERS = ("urdf", "urdfs")
"""Names of the folder of a package that has only URDFs: their meshes are beside it."""
_DRIVE = re.compile(r"[A-Za-z]:/")
_MOST_NAMED = 3
_MOST_SEARCHED = 20_000
"""Entries of a folder among which a mesh is searched by its name."""


def asset_folder(urdf: Path, mesh_names: Iterable[str], *, where: str) -> Path:
    """Returns the folder in which every file of an asset must lie; `where` names the asset in errors.

    It is the folder of the URDF; or, if that is called `urdf`, the one above; or the one that also holds the packages
    and the files that mesh names state with their whole path.

    Raises:
        AssetError: Only the user's home, or a folder above it, holds all of them.
    """
    base = urdf.parent.resolve()
    above = base.name in _URDF_FOLDERS and not is_shared_folder(base.parent)
    own = base.parent if above else base
    folders = {own: ""}
    for name in sorted(set(mesh_names)):
        folder = _named_folder(urdf, name)
        if folder is not None:
            folders.setdefault(folder, name)
    common = Path(os.path.commonpath(folders))
    if common == own or not is_shared_folder(common):
        return common
    far = next(name for folder, name in folders.items() if not folder.is_relative_to(own))
    raise AssetError(
        f"{where}: '{far}' is not a path relative to the asset's folder {own}, and only {common} holds both. Copy the "
        "mesh into that folder.",
        file=far,
    )


def mesh_paths(urdf: Path, mesh_names: Iterable[str], *, where: str) -> dict[str, Path]:
    """Returns the file of each mesh that a URDF of the user's own robot names, see `find_mesh`.

    `where` names the URDF in errors.

    Raises:
        AssetError: A package or a file is missing; the message names all missing files, or the first of many.
    """
    found = {name: find_mesh(urdf, name) for name in mesh_names}
    missing = [name for name, path in found.items() if path is None]
    if missing:
        folder, rest = urdf.parent, _plain_address(missing[0])
        if missing[0].startswith(PACKAGE_PREFIXES):
            folder, rest = package_path(urdf, missing[0], where=where)
        expected = (folder / rest).resolve()
        more = f" and {len(missing) - _MOST_NAMED} more" if len(missing) > _MOST_NAMED else ""
        raise AssetError(
            f"{where}: {len(missing)} of {len(found)} meshes are missing: "
            f"{', '.join(map(repr, missing[:_MOST_NAMED]))}{more}. Expected the first one at {expected}. Copy "
            "the meshes there, or correct their names in the URDF.",
            path=str(expected),
            missing=missing,
        )
    return {name: path for name, path in found.items() if path is not None}


def find_mesh(urdf: Path, name: str) -> Path | None:
    """Returns the resolved file that a URDF means by the name of a mesh; None if there is none.

    A name is a path relative to the URDF, an absolute path, `file://PATH`, `package://NAME/PATH` as in `package_path`,
    or `package:///PATH`, relative to the URDF. Backslashes are slashes, and `%20` is a blank, unless a file has that
    name. Where the stated folders are those of another machine, the end of the path counts, beside the URDF or in the
    folder above it, then the name of the file alone, if one file below these folders has it.
    """
    for path in _stated_paths(urdf, name):
        if path.is_file():
            return path.resolve()
    folder = asset_folder(urdf, (), where=str(urdf))
    parts = [part for part in _plain_address(name).split("/") if part not in ("", ".", "..")]
    for first in range(1, len(parts)):
        tail = Path(*parts[first:])
        found = next((base / tail for base in (urdf.parent, folder) if (base / tail).is_file()), None)
        if found is not None and found.resolve().is_relative_to(folder):
            return found.resolve()
    return _find_by_name(folder, parts[-1]) if parts else None


def package_path(urdf: Path, name: str, *, where: str) -> tuple[Path, str]:
    """Returns the package folder of a file name `package://NAME/PATH`, and the path in it.

    A package is a folder of that name beside the URDF, as in Bullet. Without one, it is the nearest folder above the
    URDF that has the name or whose `package.xml` states it, as in ROS, or one beside them that has the name. The
    user's home, its parents and the first folders below the root of the file system are never packages, so that a URDF
    cannot read them by naming them. Without NAME, it is the folder of the URDF.

    Raises:
        AssetError: The name is invalid, or there is no such package.
    """
    package, _, rest = _plain_address(name).partition("/")
    base = urdf.parent.resolve()
    if not package and rest:
        return base, rest.lstrip("/")
    if not rest or package in ("", ".", "..") or "\0" in package:
        raise AssetError(f"{where}: '{name}' is not a file of a package. Expected package://NAME/PATH.", file=name)
    if (base / package).is_dir():
        return base / package, rest
    for folder in (base, *base.parents):
        if is_shared_folder(folder):
            continue
        if folder.name == package or _declared_name(folder) == package:
            return folder, rest
        if (folder.parent / package).is_dir() and not is_shared_folder(folder.parent / package):
            return folder.parent / package, rest
    raise AssetError(
        f"{where}: the package '{package}' of '{name}' is missing. Expected a folder {package} beside or above "
        f"the URDF, or a folder above it whose {PACKAGE_FILE} has this name. Keep the URDF in its package.",
        file=name,
        package=package,
    )


def _plain_address(name: str) -> str:
    """Returns the path in the name of a mesh, with slashes; that of a package begins with its name."""
    plain = name.strip().replace("\\", "/")
    for prefix in (*PACKAGE_PREFIXES, *_FILE_PREFIXES):
        if plain.startswith(prefix):
            rest = plain.removeprefix(prefix)
            return f"/{rest.lstrip('/')}" if prefix in _FILE_PREFIXES and not _DRIVE.match(rest.lstrip("/")) else rest
    return plain


def _stated_paths(urdf: Path, name: str) -> Iterator[Path]:
    """Yields where the name of a mesh says that its file is, as it is written and with `%20` as a blank."""
    for text in dict.fromkeys((name, unquote(name))):
        if "\0" in text:
            continue
        folder, rest = urdf.parent, _plain_address(text)
        if text.startswith(PACKAGE_PREFIXES):
            try:
                folder, rest = package_path(urdf, text, where=str(urdf))
            except AssetError:  # the end of the path may still be found
                continue
        if "://" not in rest and not _DRIVE.match(rest):
            yield folder / rest


def _named_folder(urdf: Path, name: str) -> Path | None:
    """Returns the folder that a mesh name states: its package, or that of a file by its whole path."""
    if name.startswith(PACKAGE_PREFIXES):
        try:
            return package_path(urdf, name, where=str(urdf))[0]
        except AssetError:  # see `find_mesh`
            return None
    whole = [path for path in _stated_paths(urdf, name) if Path(_plain_address(name)).is_absolute()]
    found = next((path.resolve() for path in whole if path.is_file()), None)
    return None if found is None or found.suffix.lower() not in _MESH_ENDINGS else found.parent


_MESH_ENDINGS = (".3ds", ".dae", ".fbx", ".glb", ".gltf", ".obj", ".off", ".ply", ".stl")


def _find_by_name(folder: Path, name: str) -> Path | None:
    """Returns the file below a folder that has a name, in any case; None if there is none, or several as near."""
    wanted, found = {name.casefold(), unquote(name).casefold()}, set()
    for path in islice(folder.rglob("*"), _MOST_SEARCHED):
        if path.name.casefold() in wanted and path.is_file() and path.resolve().is_relative_to(folder):
            found.add(path.resolve())
    least = min((len(path.parts) for path in found), default=0)
    nearest = [path for path in found if len(path.parts) == least]
    return nearest[0] if len(nearest) == 1 else None


def is_read_by_bullet(path: Path) -> bool:
    """Returns whether Bullet reads mesh files of this ending."""
    return path.suffix.lower() in (".dae", ".obj", ".stl")


def is_shared_folder(folder: Path) -> bool:
    """Returns whether a folder is never that of one asset: the user's home, its parents, the uppermost folders."""
    home = (home_folder() or Path("/")).resolve()
    return folder == home or folder in home.parents or len(folder.parts) <= 2


def _declared_name(folder: Path) -> str | None:
    """Returns the name in the `package.xml` of a folder; None without a readable one."""
    try:
        name = parse_xml(folder / PACKAGE_FILE).findtext("name")
    except AssetError:  # there is none, or it does not belong to the asset
        return None
    return name.strip() if name is not None else None


MAX_MESH_BYTES = 64_000_000


_JOINT_TYPES = ("revolute", "continuous", "prismatic", "fixed", "floating", "planar", "spherical")
"""Those of the specification, and the one that Bullet has besides."""
_DECIMAL_COMMA = re.compile(r"\d,\d")
_MIMIC_NUMBERS = (("multiplier", "1"), ("offset", "0"))
"""Attributes of `<mimic>` and what they are if they are not stated."""


def read_urdf(path: Path | str, *, packages: bool = True, meshes_anywhere: bool = False) -> UrdfModel:
    """Reads links, joints and geometry of a URDF.

    Meshes are not opened, but their files must exist, lie inside the folder of the asset and be of bounded size. With
    `packages`, a name `package://NAME/PATH` is resolved as in `package_path`, and the asset's folder is that of the
    package. Without, such a name is refused, and the asset's folder is that of the URDF. With `meshes_anywhere`, meshes
    may lie anywhere, as `mesh_paths` finds them: for a robot that the user names.

    Raises:
        AssetError: The file is not a valid URDF; the message names the element.
    """
    file = Path(path)
    root = parse_xml(file, root_tag="robot")
    _refuse_xacro(file, root)
    named = [mesh.get("filename", "") for mesh in root.iter("mesh")] if packages else []
    known = mesh_paths(file, named, where=str(file)) if meshes_anywhere else {}
    folder = file.parent if meshes_anywhere else asset_folder(file, named, where=str(file))
    if root.find("gazebo") is not None:
        from unlatch.simcore.urdf.gazebo_colours import take_gazebo_colours  # few files have such blocks

        take_gazebo_colours(root)
    # a colour that a link states goes for later links, too
    coloured = [material for material in root.iter("material") if material.find("color") is not None]
    materials = {material.get("name", ""): material for material in (*coloured, *root.findall("material"))}
    reader = _UrdfReader(file, materials, folder, packages=packages, paths=known)
    links = [reader.read_link(element) for element in root.findall("link")]
    joints = [reader.read_joint(element) for element in root.findall("joint")]
    _check_names(file, "link", [link.name for link in links])
    _check_names(file, "joint", [joint.name for joint in joints])
    model = UrdfModel(
        root.get("name", file.stem),
        {link.name: link for link in links},
        {joint.name: joint for joint in joints},
        tuple(reader.notices),
    )
    _check_tree(file, model)
    return model


def _refuse_xacro(file: Path, root: ET.Element) -> None:
    """Raises an error for a file of the macro language xacro, which its tool expands to a URDF."""
    macros = (f"<{element.tag}>" for element in root.iter() if element.tag.startswith("xacro:"))
    values = (f"'{text}'" for element in root.iter() for text in element.attrib.values() if "${" in text)
    macro = next(chain(macros, values), None)
    if macro is None:
        return
    raise AssetError(
        f"{file}: it is a xacro file, not a URDF: it has {macro}. Expected a URDF without macros. {xacro_remedy(file)}",
        path=str(file),
    )


def xacro_remedy(file: Path) -> str:
    """Returns how a URDF is made of a file of the macro language xacro."""
    urdf = f"{file.name.partition('.')[0]}_expanded.urdf"
    return (
        f"Expand it with ROS (`xacro {file.name} > {urdf}`), or without ROS (`pip install xacrodoc`, then "
        f"`xacrodoc {file.name} -o {urdf}`), and name the new file."
    )


def model_folder(urdf: Path, model: UrdfModel) -> Path:
    """Returns the resolved folder that holds every file of a URDF: its own, or that of its packages.

    Raises:
        AssetError: A package is missing.
    """
    shapes = [shape for link in model.links.values() for shape in (*link.visuals, *link.collisions)]
    return asset_folder(urdf, [shape.mesh for shape in shapes if shape.mesh], where=str(urdf))


def resolve_inside(folder: Path, name: str, *, where: str, asset_folder: Path | None = None) -> Path:
    """Returns the path of a file named by an asset; it must lie in the asset's own resolved folder.

    The name is relative to `folder`, which is the asset's folder by default; `where` names the asset in errors.

    Raises:
        AssetError: The name is absolute, a URL or leads out of the folder; or the file is missing or too large.
    """
    if "://" in name or Path(name).is_absolute() or "\\" in name or "\0" in name:
        raise AssetError(
            f"{where}: '{name}' is not a path relative to the asset's folder {folder}. Others are not read: an asset "
            "from elsewhere could name any file of this computer. Use relative paths only, or export one file (GLB).",
            file=name,
        )
    base = folder.resolve()
    path = (base / name).resolve()
    if not path.is_relative_to(asset_folder or base):
        raise AssetError(
            f"{where}: '{name}' leads out of the asset's folder {asset_folder or folder}. Keep files inside it.",
            file=name,
        )
    if not path.is_file():
        raise AssetError(f"{where}: file '{name}' is missing in {folder}.", file=name)
    check_file_size(path, name, where=where)
    return path


def check_file_size(path: Path, name: str, *, where: str) -> None:
    """Checks the size of a file that an asset names, and that it is more than a placeholder.

    Raises:
        AssetError: The file is too large, or a placeholder, see `refuse_placeholder`.
    """
    size = path.stat().st_size
    if size > MAX_MESH_BYTES:
        raise AssetError(f"{where}: '{name}' has {size} bytes, at most {MAX_MESH_BYTES} are read.", file=name)
    refuse_placeholder(path)


class _UrdfReader:
    """Reads the elements of one URDF."""

    def __init__(
        self,
        file: Path,
        materials: dict[str, ET.Element],
        folder: Path,
        *,
        packages: bool,
        paths: Mapping[str, Path],
    ) -> None:
        self.file = file
        self.packages = packages
        self.folder = folder
        self.materials = materials
        self.notices: list[str] = []
        """One line for each mesh that is found elsewhere than where its name says."""
        self._paths = dict(paths)
        self._rotations: dict[str, np.ndarray] = {}
        """By their text in the file."""

    def read_link(self, element: ET.Element) -> Link:
        name = self._read_attribute(element, "name", "link")
        visuals, collisions = (
            [shape for each in element.findall(tag) for shape in self.read_shapes(each, f"{tag} of link '{name}'")]
            for tag in ("visual", "collision")
        )
        inertial = element.find("inertial")
        return Link(
            name=name,
            visuals=tuple(visuals),
            collisions=tuple(collisions),
            inertial=self.read_inertial(inertial, f"inertial of link '{name}'") if inertial is not None else None,
        )

    def read_inertial(self, element: ET.Element, where: str) -> Inertial | None:
        mass, inertia = element.find("mass"), element.find("inertia")
        if mass is None or inertia is None:
            return None
        pose = self.read_origin(element, where)
        keys = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
        xx, xy, xz, yy, yz, zz = (self._read_numbers(inertia.get(key) or "0", 1, where)[0] for key in keys)
        tensor = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        return Inertial(self._read_numbers(mass.get("value") or "0", 1, where)[0], pose.p, pose.R @ tensor @ pose.R.T)

    def read_shapes(self, element: ET.Element, where: str) -> list[Shape]:
        """Returns the shape of an element; those of a capsule, whose length is without its caps, are three."""
        capsule = element.find("geometry/capsule")
        if capsule is None:
            return [self.read_shape(element, where)]
        radius, length = (self._read_numbers(capsule.get(key, ""), 1, where)[0] for key in ("radius", "length"))
        self._check_size(capsule, [radius, length], where)
        rgba = self._read_colour(element.find("material"), where)
        return capsule_shapes(radius, length, self.read_origin(element, where), element.get("name", ""), rgba)

    def read_shape(self, element: ET.Element, where: str) -> Shape:
        name = element.get("name", "")
        pose = self.read_origin(element, where)
        rgba = self._read_colour(element.find("material"), where)
        geometry = element.find("geometry")
        child = next(iter(geometry), None) if geometry is not None else None
        if child is None:
            raise self._make_error(where, "has no geometry")
        known = [kind.value for kind in ShapeKind]
        if child.tag not in known:
            listed = ", ".join([*known, "capsule"])
            raise self._make_error(where, f"has an unknown geometry <{child.tag}>; known: {listed}")
        kind = ShapeKind(child.tag)
        unset = "1 1 1" if kind is ShapeKind.mesh else ""
        attributes = SIZE_ATTRIBUTES[kind].items()
        sizes = [self._read_numbers(child.get(key) or unset, count, where) for key, count in attributes]
        if kind is not ShapeKind.mesh:
            self._check_size(child, list(chain(*sizes)), where)
        if kind is ShapeKind.mesh and 0.0 in sizes[0]:
            raise self._make_error(where, f"has the scale {child.get('scale')}, which leaves nothing of its mesh")
        shape = Shape(kind, tuple(chain(*sizes)), pose, name, rgba)
        if kind is not ShapeKind.mesh:
            return shape
        mesh = child.get("filename", "")
        if mesh not in self._paths:
            self._paths[mesh] = self._find_file(mesh, f"{self.file}: {where}")
        return replace(shape, mesh=mesh, path=self._paths[mesh], concave=element.get("concave") == "yes")

    def _check_size(self, geometry: ET.Element, size: list[float], where: str) -> None:
        if min(size) < 0.0:
            raise self._make_error(where, f"has a {geometry.tag} of size {size}, expected numbers of 0 or more")

    def read_joint(self, element: ET.Element) -> Joint:
        name = self._read_attribute(element, "name", "joint")
        where = f"joint '{name}'"
        kind = self._read_attribute(element, "type", where)
        if kind not in _JOINT_TYPES:
            raise self._make_error(
                where,
                f"is of type '{kind}'.{close_matches(kind.lower(), _JOINT_TYPES)} Known: {', '.join(_JOINT_TYPES)}",
            )

        def find_text(tag: str, key: str, default: str) -> str:
            owner = element.find(tag)
            return default if owner is None else owner.get(key) or default  # empty ones are left by exporters

        def read_number(tag: str, key: str, default: str) -> float:
            return self._read_numbers(find_text(tag, key, default), 1, f"<{tag} {key}> of {where}")[0]

        ends = {tag: find_text(tag, "link", "") for tag in ("parent", "child")}
        for tag, link in ends.items():
            if not link:
                raise self._make_error(where, f"names no {tag} link")
        axis = self._read_numbers(find_text("axis", "xyz", "1 0 0"), 3, where)
        if kind not in ("fixed", "floating") and float(np.linalg.norm(axis)) < 1e-6:
            raise self._make_error(where, "has an axis of length 0")
        range_texts = [find_text("limit", key, "") for key in ("lower", "upper")]
        has_range = any(range_texts)
        if any(abs(_as_float(text)) >= ENDLESS for text in range_texts):
            kind, has_range = "continuous" if kind == "revolute" else kind, False

        def read_limit(key: str, unset: float) -> float:
            text = find_text("limit", key, "")
            is_none = not has_range if key in ("lower", "upper") else math.isinf(_as_float(text))
            return unset if is_none or not text else self._read_numbers(text, 1, where)[0]

        return Joint(
            name=name,
            kind=kind,
            **ends,
            T_parent_joint=self.read_origin(element, where),
            axis=np.array(axis),
            lower=read_limit("lower", 0.0),
            upper=read_limit("upper", 0.0),
            effort=read_limit("effort", 100.0),
            velocity=read_limit("velocity", 10.0),
            friction=read_number("dynamics", "friction", "0"),
            damping=read_number("dynamics", "damping", "0"),
            has_range=has_range,
            follows=self._read_mimic(element, where),
            has_axis=element.find("axis") is not None,
        )

    def _read_mimic(self, element: ET.Element, where: str) -> Follows | None:
        mimic = element.find("mimic")
        if mimic is None or not mimic.get("joint"):
            return None
        numbers = (self._read_numbers(mimic.get(key, unset), 1, where)[0] for key, unset in _MIMIC_NUMBERS)
        return Follows(mimic.get("joint", ""), *numbers)

    def read_origin(self, element: ET.Element, where: str) -> Pose:
        origin = element.find("origin")
        if origin is None:
            return Pose.identity()
        rpy = origin.get("rpy") or "0 0 0"
        if rpy not in self._rotations:
            self._rotations[rpy] = matrix_from_rpy(self._read_numbers(rpy, 3, where))
        return Pose(self._rotations[rpy], self._read_numbers(origin.get("xyz") or "0 0 0", 3, where))

    def _find_file(self, name: str, where: str) -> Path:
        found = find_mesh(self.file, name) if self.packages else None
        if found is None or not found.is_relative_to(self.folder):
            folder, rest = self.file.parent, name
            if self.packages and name.startswith(PACKAGE_PREFIXES):
                folder, rest = package_path(self.file, name, where=where)
            return resolve_inside(folder, rest, where=where, asset_folder=self.folder)
        check_file_size(found, name, where=where)
        if not any(path.is_file() for path in _stated_paths(self.file, name)):
            self.notices.append(f"mesh '{name}' is not where it is named: read from {found.relative_to(self.folder)}")
        return found

    def _read_colour(self, material: ET.Element | None, where: str) -> tuple[float, float, float, float] | None:
        if material is None:
            return None
        for source in (material, self.materials.get(material.get("name", ""))):
            if source is not None and (colour := source.find("color")) is not None:
                text = colour.get("rgba", "")
                count = len(text.split())
                if count > 2 and count != 4:  # without an opacity, or with numbers that nothing explains
                    text = " ".join([*text.split()[:3], "1"])
                r, g, b, a = self._read_numbers(text, 4, where)
                return (r, g, b, a)
        return None

    def _read_attribute(self, element: ET.Element, key: str, where: str) -> str:
        value = element.get(key)
        if not value:
            raise self._make_error(where, f"has no {key}")
        return value

    def _read_numbers(self, text: str, count: int, where: str) -> list[float]:
        try:
            values = [float(word) for word in text.split()]
        except ValueError:
            values = []
        if len(values) != count or not all(map(math.isfinite, values)):
            comma = ", with a point for a comma" if _DECIMAL_COMMA.search(text) else ""
            raise self._make_error(
                where, f"has '{text}' where {count} finite number{'s belong' if count > 1 else ' belongs'}{comma}"
            )
        return values

    def _make_error(self, where: str, problem: str) -> AssetError:
        return AssetError(f"{self.file}: {where} {problem}.", path=str(self.file), where=where)


def _as_float(text: str) -> float:
    """Returns the number of a text, which may be infinite; NaN if it is none."""
    try:
        return float(text)
    except ValueError:
        return math.nan


def _check_names(file: Path, kind: str, names: list[str]) -> None:
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise AssetError(f"{file}: {kind} '{twice[0]}' is defined twice.", path=str(file))


def _check_tree(file: Path, model: UrdfModel) -> None:
    if not model.links:
        raise AssetError(f"{file}: the robot has no links.", path=str(file))
    for joint in model.joints.values():
        for end in (joint.parent, joint.child):
            if end not in model.links:
                raise AssetError(
                    f"{file}: joint '{joint.name}' names link '{end}', which does not exist. "
                    f"Links: {', '.join(model.links)}.",
                    path=str(file),
                )
    _check_parents(file, model)
    _check_loops(file, model)
    children = {joint.child for joint in model.joints.values()}
    roots = [name for name in model.links if name not in children]
    if len(roots) != 1:
        raise AssetError(
            f"{file}: {len(roots)} root links ({', '.join(roots)}), expected one: a link that no joint moves, to which "
            "joints connect all others. Connect them by fixed joints, or take out what is no part of the object.",
            path=str(file),
        )


def _check_parents(file: Path, model: UrdfModel) -> None:
    counts = Counter(joint.child for joint in model.joints.values())
    twice = next((name for name, count in counts.items() if count > 1), None)
    if twice is not None:
        joints = [joint for joint in model.joints.values() if joint.child == twice]
        named = " and ".join(f"'{joint.name}' (from '{joint.parent}')" for joint in joints)
        raise AssetError(
            f"{file}: link '{twice}' hangs on {len(joints)} joints, {named}. Expected one parent: the links of a URDF "
            "are a tree. Keep the joint by which it moves, and take the other out.",
            path=str(file),
            joints=[joint.name for joint in joints],
        )


def _check_loops(file: Path, model: UrdfModel) -> None:
    above = {joint.child: joint for joint in model.joints.values()}
    for name in model.links:
        way: list[str] = []
        link = name
        while link in above and len(way) <= len(model.links):
            way.append(above[link].name)
            link = above[link].parent
            if link == name:
                raise AssetError(
                    f"{file}: the joints at link '{name}' form a loop: {', '.join(reversed(way))}. Expected a tree, "
                    "which begins at a link that no joint moves. Take one of them out.",
                    path=str(file),
                    joints=way,
                )
