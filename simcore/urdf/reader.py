"""Reads URDF files as untrusted input, and finds the files that they name, also those of `package://NAME/PATH`."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import chain
from pathlib import Path
from xml.parsers import expat

import numpy as np

from unlatch.simcore.errors import AssetError
from unlatch.simcore.files import home_folder
from unlatch.simcore.geometry import Pose
from unlatch.simcore.urdf.model import SIZE_ATTRIBUTES, Inertial, Joint, Link, Shape, ShapeKind, UrdfModel

MAX_XML_BYTES = 8_000_000
MAX_ELEMENTS = 200_000


def parse_xml(path: Path, *, root_tag: str | None = None) -> ET.Element:
    """Returns the root element of an XML file, which must have the tag `root_tag` if it is given.

    Prefixes of names (`drake:member`) stay as they are written, and need no declaration: as for the URDF readers of
    Bullet and ROS.

    Raises:
        AssetError: The file is missing, too large or not XML, declares a DOCTYPE or an ENTITY, or has another root.
    """
    try:
        size = path.stat().st_size
        if size > MAX_XML_BYTES:
            raise AssetError(f"{path}: {size} bytes, at most {MAX_XML_BYTES} are read.", path=str(path))
        data = path.read_bytes()
    except OSError as exc:
        raise AssetError(f"{path}: the file cannot be read ({exc.strerror or exc}).", path=str(path)) from exc
    root = _parse_elements(data, path)
    if root_tag is not None and root.tag != root_tag:
        raise AssetError(f"{path}: the root element is <{root.tag}>, expected <{root_tag}>.", path=str(path))
    return root


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


PACKAGE_PREFIX = "package://"
PACKAGE_FILE = "package.xml"
"""The file that makes a folder a ROS package."""
_MOST_NAMED = 3


def asset_folder(urdf: Path, mesh_names: Iterable[str], *, where: str) -> Path:
    """Returns the folder in which every file of an asset must lie; `where` names the asset in errors.

    Without `package://` in the mesh names, it is the folder of the URDF. Else it is the uppermost of the folder of the
    URDF and the folders of all named packages.

    Raises:
        AssetError: A package is missing, or a name is invalid.
    """
    names = sorted({name for name in mesh_names if name.startswith(PACKAGE_PREFIX)})
    folders = [urdf.parent.resolve(), *(package_path(urdf, name, where=where)[0] for name in names)]
    return min(folders, key=lambda folder: len(folder.parts))


def mesh_paths(urdf: Path, mesh_names: Iterable[str], *, where: str) -> dict[str, Path]:
    """Returns the file of each mesh that a URDF of the user's own robot names.

    A name is a path relative to the URDF (also one with `../`), an absolute path, `file://PATH`, or
    `package://NAME/PATH` as in `package_path`. `where` names the URDF in errors.

    Raises:
        AssetError: A package or a file is missing; the message names all missing files, or the first of many.
    """
    paths: dict[str, Path] = {}
    for name in mesh_names:
        folder, rest = urdf.parent, name.removeprefix("file://")
        if name.startswith(PACKAGE_PREFIX):
            folder, rest = package_path(urdf, name, where=where)
        paths[name] = (folder / rest).resolve()
    missing = [name for name, path in paths.items() if not path.is_file()]
    if missing:
        more = f" and {len(missing) - _MOST_NAMED} more" if len(missing) > _MOST_NAMED else ""
        raise AssetError(
            f"{where}: {len(missing)} of {len(paths)} meshes are missing: "
            f"{', '.join(map(repr, missing[:_MOST_NAMED]))}{more}. Expected the first one at {paths[missing[0]]}. Copy "
            "the meshes there, or correct their names in the URDF.",
            path=str(paths[missing[0]]),
            missing=missing,
        )
    return paths


def package_path(urdf: Path, name: str, *, where: str) -> tuple[Path, str]:
    """Returns the package folder of a file name `package://NAME/PATH`, and the path in it.

    A package is a folder of that name beside the URDF, as in Bullet. Without one, it is the nearest folder above the
    URDF that has the name or whose `package.xml` states it, as in ROS. The user's home, its parents and the first
    folders below the root of the file system are never packages, so that a URDF cannot read them by naming them.

    Raises:
        AssetError: The name is invalid, or there is no such package.
    """
    package, _, rest = name.removeprefix(PACKAGE_PREFIX).partition("/")
    if not rest or package in ("", ".", "..") or "\\" in package or "\0" in package:
        raise AssetError(f"{where}: '{name}' is not a file of a package. Expected package://NAME/PATH.", file=name)
    base = urdf.parent.resolve()
    if (base / package).is_dir():
        return base / package, rest
    for folder in (base, *base.parents):
        if not is_shared_folder(folder) and (folder.name == package or _declared_name(folder) == package):
            return folder, rest
    raise AssetError(
        f"{where}: the package '{package}' of '{name}' is missing. Expected a folder {package} beside or above "
        f"the URDF, or a folder above it whose {PACKAGE_FILE} has this name. Keep the URDF in its package.",
        file=name,
        package=package,
    )


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
    materials = {material.get("name", ""): material for material in root.findall("material")}
    reader = _UrdfReader(file, materials, folder, packages=packages, paths=known)
    links = [reader.read_link(element) for element in root.findall("link")]
    joints = [reader.read_joint(element) for element in root.findall("joint")]
    _check_names(file, "link", [link.name for link in links])
    _check_names(file, "joint", [joint.name for joint in joints])
    model = UrdfModel(
        root.get("name", file.stem), {link.name: link for link in links}, {joint.name: joint for joint in joints}
    )
    _check_tree(file, model)
    return model


def _refuse_xacro(file: Path, root: ET.Element) -> None:
    """Raises an error for a file of the macro language xacro, which its tool expands to a URDF."""
    macro = next((element.tag for element in root.iter() if element.tag.startswith("xacro:")), None)
    if macro is None:
        return
    urdf = f"{file.name.partition('.')[0]}_expanded.urdf"
    raise AssetError(
        f"{file}: it is a xacro file, not a URDF: it has <{macro}>. Expected a URDF without macros. Expand it with "
        f"ROS (`xacro {file.name} > {urdf}`), or without ROS (`pip install xacrodoc`, then "
        f"`xacrodoc {file.name} -o {urdf}`), and name the new file.",
        path=str(file),
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
            f"{where}: '{name}' is not a path relative to the asset's folder {folder}. Use relative paths only.",
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
    """Checks the size of a file that an asset names.

    Raises:
        AssetError: The file is too large.
    """
    size = path.stat().st_size
    if size > MAX_MESH_BYTES:
        raise AssetError(f"{where}: '{name}' has {size} bytes, at most {MAX_MESH_BYTES} are read.", file=name)


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
        self._paths = dict(paths)

    def read_link(self, element: ET.Element) -> Link:
        name = self._read_attribute(element, "name", "link")
        visuals = [self.read_shape(e, f"visual of link '{name}'") for e in element.findall("visual")]
        collisions = [self.read_shape(e, f"collision of link '{name}'") for e in element.findall("collision")]
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
        xx, xy, xz, yy, yz, zz = (self._read_numbers(inertia.get(key, "0"), 1, where)[0] for key in keys)
        tensor = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        return Inertial(self._read_numbers(mass.get("value", "0"), 1, where)[0], pose.p, pose.R @ tensor @ pose.R.T)

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
            raise self._make_error(where, f"has an unknown geometry <{child.tag}>; known: {', '.join(known)}")
        kind = ShapeKind(child.tag)
        unset = "1 1 1" if kind is ShapeKind.mesh else ""
        attributes = SIZE_ATTRIBUTES[kind].items()
        sizes = [self._read_numbers(child.get(key, unset), count, where) for key, count in attributes]
        shape = Shape(kind, tuple(chain(*sizes)), pose, name, rgba)
        if kind is not ShapeKind.mesh:
            return shape
        mesh = child.get("filename", "")
        if mesh not in self._paths:
            folder, rest, place = self.file.parent, mesh, f"{self.file}: {where}"
            if self.packages and mesh.startswith(PACKAGE_PREFIX):
                folder, rest = package_path(self.file, mesh, where=place)
            self._paths[mesh] = resolve_inside(folder, rest, where=place, asset_folder=self.folder)
        return replace(shape, mesh=mesh, path=self._paths[mesh], concave=element.get("concave") == "yes")

    def read_joint(self, element: ET.Element) -> Joint:
        name = self._read_attribute(element, "name", "joint")
        where = f"joint '{name}'"
        kind = self._read_attribute(element, "type", where)

        def find_text(tag: str, key: str, default: str) -> str:
            owner = element.find(tag)
            return default if owner is None else owner.get(key, default)

        def read_number(tag: str, key: str, default: str) -> float:
            return self._read_numbers(find_text(tag, key, default), 1, where)[0]

        ends = {tag: find_text(tag, "link", "") for tag in ("parent", "child")}
        for tag, link in ends.items():
            if not link:
                raise self._make_error(where, f"names no {tag} link")
        axis = self._read_numbers(find_text("axis", "xyz", "1 0 0"), 3, where)
        if kind not in ("fixed", "floating") and float(np.linalg.norm(axis)) < 1e-6:
            raise self._make_error(where, "has an axis of length 0")
        return Joint(
            name=name,
            kind=kind,
            **ends,
            T_parent_joint=self.read_origin(element, where),
            axis=np.array(axis),
            lower=read_number("limit", "lower", "0"),
            upper=read_number("limit", "upper", "0"),
            effort=read_number("limit", "effort", "100"),
            velocity=read_number("limit", "velocity", "10"),
            friction=read_number("dynamics", "friction", "0"),
            damping=read_number("dynamics", "damping", "0"),
            has_range=any(find_text("limit", key, "") for key in ("lower", "upper")),
        )

    def read_origin(self, element: ET.Element, where: str) -> Pose:
        origin = element.find("origin")
        if origin is None:
            return Pose.identity()
        return Pose.from_rpy(
            self._read_numbers(origin.get("xyz", "0 0 0"), 3, where),
            self._read_numbers(origin.get("rpy", "0 0 0"), 3, where),
        )

    def _read_colour(self, material: ET.Element | None, where: str) -> tuple[float, float, float, float] | None:
        if material is None:
            return None
        for source in (material, self.materials.get(material.get("name", ""))):
            if source is not None and (colour := source.find("color")) is not None:
                r, g, b, a = self._read_numbers(colour.get("rgba", ""), 4, where)
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
        if len(values) != count or not np.all(np.isfinite(values)):
            raise self._make_error(where, f"has '{text}' where {count} finite number{'s' * (count > 1)} belong")
        return values

    def _make_error(self, where: str, problem: str) -> AssetError:
        return AssetError(f"{self.file}: {where} {problem}.", path=str(self.file), where=where)


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
    children = [joint.child for joint in model.joints.values()]
    _check_names(file, "child link", children)
    roots = [name for name in model.links if name not in set(children)]
    if len(roots) != 1:
        raise AssetError(f"{file}: {len(roots)} root links ({', '.join(roots)}), expected one.", path=str(file))
    parents = {joint.child: joint.parent for joint in model.joints.values()}
    for name in model.links:
        steps, link = 0, name
        while link in parents:
            link, steps = parents[link], steps + 1
            if steps > len(model.links):
                raise AssetError(f"{file}: the joints at link '{name}' form a loop.", path=str(file))
