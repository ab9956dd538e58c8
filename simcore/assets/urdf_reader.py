"""Reads a URDF as untrusted input: no entities, no paths out of its folder, bounded sizes."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path
from xml.parsers import expat

import numpy as np

from simcore.assets.urdf_model import Inertial, Joint, Link, Shape, ShapeKind, UrdfModel
from simcore.errors import AssetError
from simcore.geometry import Pose

MAX_URDF_BYTES = 8_000_000
MAX_ELEMENTS = 200_000
MAX_MESH_BYTES = 64_000_000


def parse_xml(path: Path) -> ET.Element:
    """The root element of an XML file that has no document type and no entities of its own.

    Raises:
        AssetError: The file is missing, too large, not XML, or declares a DOCTYPE or an ENTITY.
    """
    try:
        size = path.stat().st_size
        if size > MAX_URDF_BYTES:
            raise AssetError(f"{path}: {size} bytes, at most {MAX_URDF_BYTES} are read.", path=str(path))
        data = path.read_bytes()
    except OSError as exc:
        raise AssetError(f"{path}: the URDF cannot be read ({exc.strerror or exc}).", path=str(path)) from exc
    _refuse_declarations(data, path)
    try:
        return ET.fromstring(data)
    except (ET.ParseError, ValueError, LookupError) as exc:
        raise AssetError(f"{path}: no well-formed XML ({exc}).", path=str(path)) from exc


def read_urdf(path: Path | str, *, packages: bool = False) -> UrdfModel:
    """Reads links, joints and geometry of a URDF.

    Meshes are not opened; their files must exist, lie inside the folder of the URDF and be of bounded size.

    Args:
        path: The URDF.
        packages: Whether `package://NAME/...` names the folder NAME beside the URDF, as for Bullet; else it is refused.

    Raises:
        AssetError: The file is not a URDF that can be used; the message names the element.
    """
    file = Path(path)
    root = parse_xml(file)
    if root.tag != "robot":
        raise AssetError(f"{file}: the root element is <{root.tag}>, expected <robot>.", path=str(file))
    reader = _UrdfReader(file, {m.get("name", ""): m for m in root.findall("material")}, packages=packages)
    links = [reader.link(element) for element in root.findall("link")]
    joints = [reader.joint(element) for element in root.findall("joint")]
    _check_names(file, "link", [link.name for link in links])
    _check_names(file, "joint", [joint.name for joint in joints])
    model = UrdfModel(
        root.get("name", file.stem), {link.name: link for link in links}, {joint.name: joint for joint in joints}
    )
    _check_tree(file, model)
    return model


def inside(folder: Path, name: str, *, where: str) -> Path:
    """The path of a file named by an asset; it must lie in the asset's own folder.

    Raises:
        AssetError: It is absolute, a URL, leads out of the folder, is missing or too large.
    """
    if "://" in name or Path(name).is_absolute() or "\\" in name or "\0" in name:
        raise AssetError(
            f"{where}: '{name}' is no path relative to the asset's folder {folder}. Use relative paths only.", file=name
        )
    base = folder.resolve()
    path = (base / name).resolve()
    if base != path and base not in path.parents:
        raise AssetError(
            f"{where}: '{name}' leads out of the asset's folder {folder}. Keep files inside it.", file=name
        )
    if not path.is_file():
        raise AssetError(f"{where}: file '{name}' is missing in {folder}.", file=name)
    size = path.stat().st_size
    if size > MAX_MESH_BYTES:
        raise AssetError(f"{where}: '{name}' has {size} bytes, at most {MAX_MESH_BYTES} are read.", file=name)
    return path


def _refuse_declarations(data: bytes, path: Path) -> None:
    count = 0

    def refuse(*_: object) -> None:
        raise AssetError(
            f"{path}: the XML declares a DOCTYPE or an ENTITY, which a URDF never needs. Remove the declaration.",
            path=str(path),
        )

    def element(*_: object) -> None:
        nonlocal count
        count += 1
        if count > MAX_ELEMENTS:
            raise AssetError(f"{path}: more than {MAX_ELEMENTS} XML elements.", path=str(path))

    parser = expat.ParserCreate()
    parser.StartDoctypeDeclHandler = refuse
    parser.EntityDeclHandler = refuse
    parser.StartElementHandler = element
    try:
        parser.Parse(data, True)
    except (expat.ExpatError, LookupError, ValueError) as exc:  # an encoding that is none, too
        raise AssetError(f"{path}: no well-formed XML ({exc}).", path=str(path)) from exc


class _UrdfReader:
    def __init__(self, file: Path, materials: dict[str, ET.Element], *, packages: bool) -> None:
        self.file = file
        self.packages = packages
        self.materials = materials
        self._paths: dict[str, Path] = {}

    def link(self, element: ET.Element) -> Link:
        name = self._attribute(element, "name", "link")
        visuals = [self.shape(e, f"visual of link '{name}'") for e in element.findall("visual")]
        collisions = [self.shape(e, f"collision of link '{name}'") for e in element.findall("collision")]
        inertial = element.find("inertial")
        return Link(
            name=name,
            visuals=tuple(visuals),
            collisions=tuple(collisions),
            inertial=self.inertial(inertial, f"inertial of link '{name}'") if inertial is not None else None,
        )

    def inertial(self, element: ET.Element, where: str) -> Inertial | None:
        mass, inertia = element.find("mass"), element.find("inertia")
        if mass is None or inertia is None:
            return None
        pose = self.origin(element, where)
        i = {k: self._numbers(inertia.get(k, "0"), 1, where)[0] for k in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")}
        tensor = np.array(
            [[i["ixx"], i["ixy"], i["ixz"]], [i["ixy"], i["iyy"], i["iyz"]], [i["ixz"], i["iyz"], i["izz"]]]
        )
        return Inertial(self._numbers(mass.get("value", "0"), 1, where)[0], pose.p, pose.R @ tensor @ pose.R.T)

    def shape(self, element: ET.Element, where: str) -> Shape:
        name = element.get("name", "")
        pose = self.origin(element, where)
        rgba = self._colour(element.find("material"), where)
        geometry = element.find("geometry")
        child = next(iter(geometry), None) if geometry is not None else None
        if child is None:
            raise self._fail(where, "has no geometry")
        concave = element.get("concave") == "yes"
        if child.tag == "box":
            size = self._numbers(child.get("size", ""), 3, where)
            return Shape(ShapeKind.box, tuple(size), pose, name, rgba)
        if child.tag == "cylinder":
            radius, length = (self._numbers(child.get(k, ""), 1, where)[0] for k in ("radius", "length"))
            return Shape(ShapeKind.cylinder, (radius, length), pose, name, rgba)
        if child.tag == "sphere":
            return Shape(ShapeKind.sphere, tuple(self._numbers(child.get("radius", ""), 1, where)), pose, name, rgba)
        if child.tag == "mesh":
            mesh = child.get("filename", "")
            scale = tuple(self._numbers(child.get("scale", "1 1 1"), 3, where))
            if mesh not in self._paths:
                name_there = mesh.removeprefix("package://") if self.packages else mesh
                self._paths[mesh] = inside(self.file.parent, name_there, where=f"{self.file}: {where}")
            path = self._paths[mesh]
            return Shape(ShapeKind.mesh, scale, pose, name, rgba, mesh=mesh, path=path, concave=concave)
        raise self._fail(where, f"has an unknown geometry <{child.tag}>; known: box, cylinder, sphere, mesh")

    def joint(self, element: ET.Element) -> Joint:
        name = self._attribute(element, "name", "joint")
        where = f"joint '{name}'"
        kind = self._attribute(element, "type", where)
        ends = {tag: element.find(tag) for tag in ("parent", "child")}
        missing = [tag for tag, end in ends.items() if end is None or not end.get("link")]
        if missing:
            raise self._fail(where, f"names no {missing[0]} link")
        axis_element, limit, dynamics = element.find("axis"), element.find("limit"), element.find("dynamics")
        axis = (
            self._numbers(axis_element.get("xyz", "1 0 0"), 3, where) if axis_element is not None else [1.0, 0.0, 0.0]
        )
        if kind not in ("fixed", "floating") and float(np.linalg.norm(axis)) < 1e-6:
            raise self._fail(where, "has an axis of length 0")

        def number(owner: ET.Element | None, key: str, default: str) -> float:
            return self._numbers(owner.get(key, default) if owner is not None else default, 1, where)[0]

        return Joint(
            name=name,
            kind=kind,
            parent=str(ends["parent"].get("link")) if ends["parent"] is not None else "",
            child=str(ends["child"].get("link")) if ends["child"] is not None else "",
            T_parent_joint=self.origin(element, where),
            axis=np.array(axis),
            lower=number(limit, "lower", "0"),
            upper=number(limit, "upper", "0"),
            effort=number(limit, "effort", "100"),
            velocity=number(limit, "velocity", "10"),
            friction=number(dynamics, "friction", "0"),
            damping=number(dynamics, "damping", "0"),
        )

    def origin(self, element: ET.Element, where: str) -> Pose:
        origin = element.find("origin")
        if origin is None:
            return Pose.identity()
        return Pose.from_rpy(
            self._numbers(origin.get("xyz", "0 0 0"), 3, where), self._numbers(origin.get("rpy", "0 0 0"), 3, where)
        )

    def _colour(self, material: ET.Element | None, where: str) -> tuple[float, float, float, float] | None:
        if material is None:
            return None
        colour = material.find("color")
        if colour is None:
            shared = self.materials.get(material.get("name", ""))
            colour = shared.find("color") if shared is not None else None
        if colour is None:
            return None
        r, g, b, a = self._numbers(colour.get("rgba", ""), 4, where)
        return (r, g, b, a)

    def _attribute(self, element: ET.Element, key: str, where: str) -> str:
        value = element.get(key)
        if not value:
            raise self._fail(where, f"has no {key}")
        return value

    def _numbers(self, text: str, count: int, where: str) -> list[float]:
        try:
            values = [float(word) for word in text.split()]
        except ValueError:
            values = []
        if len(values) != count or not np.all(np.isfinite(values)):
            raise self._fail(where, f"has '{text}' where {count} finite number{'s' * (count > 1)} belong")
        return values

    def _fail(self, where: str, problem: str) -> AssetError:
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
                    f"{file}: joint '{joint.name}' names link '{end}', which is not there. "
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
                raise AssetError(f"{file}: the joints at link '{name}' form a ring.", path=str(file))
