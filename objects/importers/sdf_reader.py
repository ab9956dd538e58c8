"""Reads an SDF model, as Gazebo has them, as a URDF: its frames, its tree of links, the values of its joints."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from unlatch.objects.importers.urdf_parts import (
    WORLD,
    AssetFile,
    BodyJoint,
    FileBody,
    MeshFiles,
    build_tree,
    unused_name,
    write_model,
)
from unlatch.simcore.geometry import Pose
from unlatch.simcore.meshes.mesh_reader import read_pieces
from unlatch.simcore.meshes.mesh_store import mesh_dependencies
from unlatch.simcore.urdf.model import (
    SIZE_ATTRIBUTES,
    Follows,
    Inertial,
    Link,
    Shape,
    ShapeKind,
    capsule_shapes,
)
from unlatch.simcore.urdf.reader import find_mesh, is_shared_folder, parse_xml

SDF_SUFFIXES = (".sdf", ".world")
"""Endings of SDF files, in lower case."""

_SCOPE = "::"
_MODEL_FRAME = "__model__"
_KINDS = ("revolute", "prismatic", "fixed", "continuous")
_DEPTH = 8
"""Models in models that are read."""


def sdf_files(path: Path) -> dict[str, Path]:
    """Returns every file that an SDF consists of, by its name relative to their common folder.

    Raises:
        AssetError: The file or one that it includes cannot be read, or a mesh is missing.
    """
    return SdfFile(path).files()


@dataclass(frozen=True)
class _Frame:
    """A named frame that is stated in another."""

    parent: str
    T: Pose


class SdfFile(AssetFile):
    """An opened SDF; links, joints and frames of models in models have the name of their model before theirs."""

    def __init__(self, path: Path) -> None:
        """Opens the file with all models that it includes.

        Raises:
            AssetError: It is no SDF, damaged, has no model, or several that are no part of one world.
        """
        super().__init__(path)
        self.links: dict[str, tuple[ET.Element, Path]] = {}
        """Elements of links by name, with the file that has them."""
        self.joints: dict[str, tuple[ET.Element, str]] = {}
        """Elements of joints by name, with the beginning of the names of their model."""
        self._frames: dict[str, _Frame] = {}
        self._poses: dict[str, Pose] = {}
        self._includes: list[Path] = [path]
        root = parse_xml(path, root_tag="sdf")
        worlds = root.findall("world")
        models = [*root.findall("model"), *(model for world in worlds for model in world.findall("model"))]
        models += [m for w in worlds for each in w.findall("include") if (m := self._included(each, path)) is not None]
        models = [
            model for model in models if model.find("joint") is not None or model.find(".//model/joint") is not None
        ] or models
        if len(models) != 1:
            names = ", ".join(model.get("name", "?") for model in models) or "none"
            raise self.error(
                "the file", f"has {len(models)} models ({names}). Expected one object. Write it to a file."
            )
        self.name = models[0].get("name", path.stem)
        self._read_model(models[0], "", path, 0)

    def files(self) -> dict[str, Path]:
        """Returns the file, those that it includes, its meshes and what they name."""
        found = {path.resolve() for path in self._includes}
        for link, path in self.links.values():
            for uri in link.iter("uri"):
                mesh = find_mesh(path, (uri.text or "").strip())
                if mesh is not None:
                    found |= {mesh, *mesh_dependencies(mesh, mesh.parent).values()}
        return {path.as_posix(): path for path in sorted(found)}

    def pose(self, name: str) -> Pose:
        """Returns the pose of a link, joint or frame in the model.

        Raises:
            AssetError: There is no such frame, or it is stated in itself.
        """
        if name not in self._poses:
            chain, at = [], name
            while at:
                if at not in self._frames or at in chain:
                    known = ", ".join(list(self._frames)[:6])
                    raise self.error(f"'{at}'", f"is no frame of the model, or is relative to itself. Frames: {known}.")
                chain.append(at)
                at = self._frames[at].parent
            pose = Pose.identity()
            for frame in reversed(chain):
                pose = pose @ self._frames[frame].T
            self._poses[name] = pose
        return self._poses[name]

    def numbers(self, element: ET.Element | None, count: int, where: str, default: str = "") -> list[float]:
        """Returns the numbers in an element."""
        text = default if element is None else (element.text or default)
        try:
            values = [float(word) for word in text.split()]
        except ValueError:
            values = []
        if len(values) != count or not np.all(np.isfinite(values)):
            raise self.error(where, f"has '{text.strip()}' where {count} finite numbers belong. Correct it.")
        return values

    def own_pose(self, element: ET.Element, where: str) -> Pose:
        """Returns the pose that an element states; the identity without one."""
        found = element.find("pose")
        if found is None or not (found.text or "").strip():
            return Pose.identity()
        if found.get("rotation_format") == "quat_xyzw":
            values = self.numbers(found, 7, where)
            return Pose.from_quat_xyzw(np.array(values[:3]), values[3:])
        values = self.numbers(found, 6, where)
        turn = np.radians(values[3:]) if found.get("degrees") == "true" else np.array(values[3:])
        return Pose.from_rpy(values[:3], turn.tolist())

    def _read_model(self, model: ET.Element, scope: str, path: Path, depth: int) -> None:
        if depth > _DEPTH:
            raise self.error(f"model '{scope}'", f"has more than {_DEPTH} models in each other. Flatten it.")
        frame = f"{scope}{_MODEL_FRAME}"
        if not scope:
            self._frames[frame] = _Frame("", Pose.identity())  # where the model stands in its world does not matter
        names = [(each, str(each.get("name"))) for tag in ("link", "frame", "joint") for each in model.findall(tag)]
        for element, name in names:
            key, usual = f"{scope}{name}", _MODEL_FRAME
            if element.tag == "joint":
                usual = self._end(element, "child", "", key)
                self.joints[key] = element, scope
            elif element.tag == "link":
                self.links[key] = element, path
            self._add_frame(element, key, scope, element.get("attached_to") or usual)
        inner = [
            *model.findall("model"),
            *(m for e in model.findall("include") if (m := self._included(e, path)) is not None),
        ]
        for each in inner:
            below = f"{scope}{each.get('name')}{_SCOPE}"
            self._add_frame(each, f"{below}{_MODEL_FRAME}", scope, _MODEL_FRAME)
            self._frames[below.removesuffix(_SCOPE)] = _Frame(f"{below}{_MODEL_FRAME}", Pose.identity())
            self._read_model(each, below, Path(each.get("file", str(path))), depth + 1)

    def _add_frame(self, element: ET.Element, key: str, scope: str, usual: str) -> None:
        if key in self._frames:
            raise self.error(f"{element.tag} '{key}'", "has a name that is used twice. Rename one.")
        pose = element.find("pose")
        stated = "" if pose is None else (pose.get("relative_to") or pose.get("frame") or "")
        parent = f"{scope}{_MODEL_FRAME}" if (stated or usual) == "world" else f"{scope}{stated or usual}"
        self._frames[key] = _Frame(parent, self.own_pose(element, f"{element.tag} '{key}'"))

    def _end(self, joint: ET.Element, tag: str, scope: str, where: str) -> str:
        """Returns the name of the link at an end of a joint."""
        element = joint.find(tag)
        text = "" if element is None else (element.findtext("link") or element.text or "").strip()
        if not text:
            raise self.error(f"joint '{where}'", f"names no {tag}. Expected the name of a link.")
        return text if text == "world" else f"{scope}{text}"

    def _included(self, element: ET.Element, path: Path) -> ET.Element | None:
        """Returns the model of an `<include>`, with the pose and the name that it gets; None, with a notice."""
        uri = (element.findtext("uri") or "").strip()
        folder = path.parent / uri.removeprefix("model://").removeprefix("file://")
        candidates = [folder, path.parent.parent / folder.name]
        files = [each for each in candidates if each.is_file()]
        files += [
            file for each in candidates if each.is_dir() for file in (each / "model.sdf", *sorted(each.glob("*.sdf")))
        ]
        found = next((file for file in files if file.is_file()), None)
        if found is None or is_shared_folder(found.parent.resolve()):
            self.notices.append(f"left out, not found beside the file: {uri}")
            return None
        model = parse_xml(found, root_tag="sdf").find("model")
        if model is None:
            self.notices.append(f"left out, it has no model: {uri}")
            return None
        self._includes.append(found)
        model.set("file", str(found))
        model.set("name", str(element.findtext("name") or model.get("name", "model")))
        if (own := model.find("pose")) is not None:
            model.remove(own)
        if (given := element.find("pose")) is not None:
            model.append(given)
        return model

    def link_at(self, joint: str, tag: str) -> str:
        """Returns the key of the link at an end of a joint: a joint may name a frame, which is attached to one."""
        element, scope = self.joints[joint]
        name = self._end(element, tag, scope, joint)
        seen = 0
        while name not in self.links and name != "world" and name in self._frames and seen < len(self._frames):
            name, seen = self._frames[name].parent, seen + 1
        if name == "world":
            return WORLD
        if name not in self.links:
            listed = ", ".join(list(self.links)[:6])
            raise self.error(f"joint '{joint}'", f"names the {tag} '{name}', which is no link. Links: {listed}.")
        return name


def write_urdf(path: Path, folder: Path, name: str) -> list[str]:
    """Reads an SDF and writes a URDF with its meshes into a folder.

    Args:
        path: The SDF.
        folder: Where to write.
        name: File name of the URDF.

    Returns:
        One line for each thing that is left out.

    Raises:
        AssetError: The file cannot be read, has no joint that moves, or one that no URDF has.
    """
    file = SdfFile(path)
    bodies = {WORLD: FileBody(WORLD, "world", Pose.identity())}
    taken = {"world"}
    for key in file.links:
        plain = unused_name(key.replace(_SCOPE, "_"), taken)
        bodies[key] = FileBody(key, plain, file.pose(key))
    joints = [_read_joint(file, key, bodies) for key in file.joints]
    if all(joint.kind == "fixed" for joint in joints):
        said = "".join(f" {notice[0].upper()}{notice[1:]}." for notice in file.notices)
        raise file.error(
            "the model", f"has no joint that moves. Expected a revolute or prismatic joint. Add one.{said}"
        )
    tree = build_tree(
        file, bodies, joints, has_static_shape=False, alone="Export each alone.", remedy="Leave one of its joints out."
    )
    files = MeshFiles(folder)
    links = {}
    for key, T_body_link in tree.T_body_link.items():
        own = Link("world") if key == WORLD else _read_link(file, key, T_body_link.inverse(), bodies[key].name, files)
        links[bodies[key].name] = own
    return write_model(file, folder / name, file.name, links, tree.joints)


def _read_joint(file: SdfFile, key: str, bodies: dict[str, FileBody]) -> BodyJoint:
    element, scope = file.joints[key]
    where = f"joint '{key}'"
    kind = element.get("type", "")
    if kind not in _KINDS:
        raise file.error(where, f"is of type '{kind}'. Expected {', '.join(_KINDS)}. Replace it by one of these.")
    first, second = file.link_at(key, "parent"), file.link_at(key, "child")
    T_joint = file.pose(key)
    axis = element.find("axis")
    direction, values, follows = np.array([0.0, 0.0, 1.0]), {}, None
    if axis is not None:
        xyz = axis.find("xyz")
        direction = np.array(file.numbers(xyz, 3, where, "0 0 1"))
        frame = "" if xyz is None else xyz.get("expressed_in", "")
        if (axis.findtext("use_parent_model_frame") or "").strip() in ("1", "true"):
            frame = _MODEL_FRAME
        if frame:
            T_frame = Pose.identity() if frame == "world" else file.pose(f"{scope}{frame}")
            direction = T_joint.R.T @ T_frame.rotate(direction)
        values = {
            tag: axis.findtext(f".//{tag}") for tag in ("lower", "upper", "effort", "velocity", "damping", "friction")
        }
        follows = _read_mimic(file, where, scope, axis.find("mimic"))
    if kind != "fixed" and float(np.linalg.norm(direction)) < 1e-6:
        raise file.error(where, "has an axis of length 0. Correct it.")
    number = {tag: _number(file, where, text) for tag, text in values.items() if text is not None}
    return BodyJoint(
        name=key.replace(_SCOPE, "_"),
        place=where,
        kind=kind,
        first=first,
        second=second,
        T_first=bodies[first].T_file_body.inverse() @ T_joint,
        T_second=bodies[second].T_file_body.inverse() @ T_joint,
        axis=direction,
        lower=number.pop("lower", -np.inf),
        upper=number.pop("upper", np.inf),
        values=number,
        follows=follows,
    )


def _read_mimic(file: SdfFile, where: str, scope: str, mimic: ET.Element | None) -> Follows | None:
    """Returns how a joint follows another one: multiplier * (position - reference) + offset."""
    if mimic is None:
        return None
    ratio, offset, reference = (
        _number(file, where, mimic.findtext(tag) or unset)
        for tag, unset in (("multiplier", "1"), ("offset", "0"), ("reference", "0"))
    )
    leader = f"{scope}{mimic.get('joint', '')}".replace(_SCOPE, "_")
    return Follows(leader, ratio, offset - ratio * reference)


def _number(file: SdfFile, where: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = np.nan
    if np.isnan(value):
        raise file.error(where, f"has '{text.strip()}' where a number belongs. Correct it.")
    return value


def _read_link(file: SdfFile, key: str, T_link_body: Pose, name: str, files: MeshFiles) -> Link:
    element, path = file.links[key]
    shapes: dict[str, list[Shape]] = {"visual": [], "collision": []}
    for tag, own in shapes.items():
        for each in element.findall(tag):
            own += _read_shapes(file, each, path, T_link_body, f"{tag} of link '{key}'", files)
    return Link(
        name, tuple(shapes["visual"]), tuple(shapes["collision"]), _read_inertial(file, element, key, T_link_body)
    )


def _read_shapes(
    file: SdfFile, element: ET.Element, path: Path, T_link_body: Pose, where: str, files: MeshFiles
) -> Iterator[Shape]:
    geometry = element.find("geometry")
    child = next(iter(geometry), None) if geometry is not None else None
    if child is None or child.tag == "empty":
        return
    T, name = T_link_body @ file.own_pose(element, where), str(element.get("name", ""))
    colour = element.find("material/diffuse") if element.tag == "visual" else None
    rgba = None
    if colour is not None:
        values = [float(value) for value in (colour.text or "").split()] + [1.0]
        rgba = (values[0], values[1], values[2], values[3]) if len(values) >= 4 else None
    if child.tag == "mesh":
        yield from _read_mesh(file, child, path, T, rgba, where, files)
    elif child.tag == "capsule":
        radius, length = (file.numbers(child.find(key), 1, where)[0] for key in ("radius", "length"))
        yield from capsule_shapes(radius, length, T, name, rgba)
    elif child.tag in ("box", "cylinder", "sphere"):
        kind = ShapeKind(child.tag)
        sizes = [file.numbers(child.find(key), count, where) for key, count in SIZE_ATTRIBUTES[kind].items()]
        yield Shape(kind, tuple(value for size in sizes for value in size), T, name, rgba)
    else:
        file.notices.append(f"{where} is left out: no <{child.tag}> in a URDF")


def _read_mesh(
    file: SdfFile, child: ET.Element, path: Path, T: Pose, rgba: Any, where: str, files: MeshFiles
) -> Iterator[Shape]:
    uri = (child.findtext("uri") or "").strip()
    mesh = find_mesh(path, uri)
    if mesh is None:
        raise file.error(where, f"names the mesh '{uri}', which is not beside the file. Copy it there.")
    scale = np.array(file.numbers(child.find("scale"), 3, where, "1 1 1"))
    submesh = child.findtext("submesh/name")
    pieces = list(read_pieces(mesh, up="z"))
    chosen = [piece for piece in pieces if submesh is None or submesh in (piece.name, *piece.above)]
    for piece in chosen or pieces:
        vertices = piece.mesh.vertices * scale
        faces = piece.mesh.faces[:, ::-1] if float(np.prod(scale)) < 0 else piece.mesh.faces
        scaled = replace(piece, mesh=type(piece.mesh)(vertices, faces))
        yield replace(files.piece_shape(scaled, T), **({} if rgba is None or piece.picture else {"rgba": rgba}))


def _read_inertial(file: SdfFile, element: ET.Element, key: str, T_link_body: Pose) -> Inertial | None:
    inertial = element.find("inertial")
    mass = None if inertial is None else inertial.find("mass")
    if inertial is None or mass is None:
        return None
    where = f"inertial of link '{key}'"
    T = T_link_body @ file.own_pose(inertial, where)
    tensor = inertial.find("inertia")
    if tensor is None:
        return None
    xx, xy, xz, yy, yz, zz = (
        file.numbers(tensor.find(name), 1, where, "0")[0] for name in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
    )
    inertia = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    return Inertial(file.numbers(mass, 1, where)[0], T.p, T.R @ inertia @ T.R.T)
