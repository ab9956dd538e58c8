"""Finds joints and colliders of a URDF that no real object has, and writes the URDF with each of them mended."""

from __future__ import annotations

import os
import shutil
import xml.etree.ElementTree as ET
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

import numpy as np

from unlatch.objects.annotate.couplings import hangs_on_leader
from unlatch.objects.annotate.grips import STUB_M
from unlatch.objects.annotate.joints import SHORT_SHARE, all_joint_ends, part_names
from unlatch.objects.annotate.posing import pose_object, surface_points
from unlatch.objects.annotate.source import LARGEST_M, ObjectGeometry, SourceObject
from unlatch.objects.annotation import PartKind
from unlatch.objects.friction import HOLDING, gravity_load
from unlatch.simcore.errors import AssetError
from unlatch.simcore.meshes.collider_pieces import SolidPieces
from unlatch.simcore.meshes.mesh_store import model_files
from unlatch.simcore.meshes.shape_surface import shape_mesh
from unlatch.simcore.urdf.model import Joint, UrdfModel, format_number, rigid_links
from unlatch.simcore.urdf.reader import find_mesh, parse_xml

MENDED_FOLDER = "mended"
"""Folder of a mended URDF, beside the original."""

_MOST_TURN_RAD = 4 * np.pi + 0.1
"""A hinge or cap that turns farther has its limits in degrees: the cap of a bottle makes two turns."""
_MOST_RPY_RAD = 2 * np.pi + 0.1
"""An origin that is turned farther is turned by degrees."""
_MOST_SLIDE = 1.5
"""A slider that moves farther than this share of the object's largest extent has its limits in another unit."""
_UNITS = {1000.0: "millimetres", 100.0: "centimetres"}
_MESH_UNITS = {1e-3: "millimetres", 1e-2: "centimetres", 0.0254: "inches"}
_MOST_NAMED = 3
_MOST_METRES = 1.0
"""Among meshes in another unit, one of this extent may be in metres."""
_BESIDE = 0.1
"""A joint lies within its body, or beside it by this share of the body's largest extent."""
_LEAST_SLIDE = 0.01
"""A slider moves by more than this share of the object's largest extent, in the right unit."""
_QUARTER_RAD = float(np.pi / 2)
_SLIDE_SHARE = 0.8
"""A slider without a range moves by this share of its length."""
_PANELS = (PartKind.hinge_vertical, PartKind.hinge_horizontal, PartKind.lid)

_POINTS = 400
_STEPS = 40
"""At these steps, a part does not pass a wall of a hundredth of the object between two of them."""
_WAY = 0.7
"""Share of the range in which a part must not cross the body: models often overlap where a part is closed."""
_DEEP = 0.005
"""A point is in the body if it is deeper than this share of the object's largest extent."""
_MUCH, _LITTLE = 0.2, 0.05
"""An axis leads into the body if more than the first share of the part's points comes into it. It is reversed if no
more than the second then does: doors of PartNet-Mobility, which open as they should, cross their body by up to 0.03."""
_THIN = 0.3
"""A panel is thinner than this share of its other extents."""
_COVERED = 0.6
"""A drawer is in what holds this share of it. A panel lies on a face of the body if the face covers this share of each
of its extents, ..."""
_NEAR = 1.5
"""... and its middle is within this multiple of its thickness of the face."""
_SHALLOW = 0.2
"""A body that reaches less far behind a panel, as a share of its smaller extent, is a frame and has no inside."""
_ALONG = 0.9
"""An axis is along a direction if the cosine of their angle is larger."""
_AT_EDGE = 0.3
"""A place is at the edge of a panel if it is farther from its middle than this share of its extent."""
_PROBE_RAD = 0.2
_SLOW_RAD_S, _SLOW_M_S = 0.5, 0.1
_MOST_PULL_N = 100.0
"""A part that resists a slow hand at its far end with more is stuck for a person and for an arm."""
_DENSEST_KG_M3 = 22_600.0
"""Density of osmium."""
_BESIDE_SHARE = 0.25
"""Colliders are beside what is seen if their middles are apart by this share of the link's extent along an axis, and by
its square of the largest extent."""


@dataclass(frozen=True)
class Doubt:
    """Something in a URDF that no real object has."""

    text: str
    """What it is, and what its mend is, on one line."""
    joint: Joint | None = None
    """The joint as it should be; None: the mend is not about a joint, or there is none."""
    link: str = ""
    """The link whose visuals must become colliders, too."""
    mesh_scale: float = 1.0
    """By what the scale of `meshes` must be multiplied."""
    meshes: tuple[tuple[str, tuple[float, ...]], ...] = ()
    """Names and scales of meshes in another unit, as the file has them."""
    turns: tuple[str, ...] = ()
    """Values of `rpy` in degrees, as the file has them."""

    @property
    def has_mend(self) -> bool:
        """Whether `write_mended` removes it."""
        return self.joint is not None or bool(self.link) or self.mesh_scale != 1.0 or bool(self.turns)


def find_doubts(source: SourceObject) -> list[Doubt]:
    """Returns what is implausible in an object, in the order of its joints; later doubts build on earlier mends.

    Raises:
        AssetError: A mesh cannot be read.
    """
    geometry = ObjectGeometry(source)
    points = geometry.points(geometry.model.links)
    if not len(points):
        return []
    extent = float(np.max(np.ptp(points, axis=0)))
    unit = _find_turns_in_degrees(source) or _find_mesh_unit(geometry, extent)
    if unit is not None:
        return [unit]  # the others depend on size and places
    doubts = []
    for joint in geometry.model.joints.values():
        if not joint.moves or not any(len(geometry.vertices(link)) for link in geometry.moving_links(joint)):
            continue
        for check in _OF_JOINTS:
            found = check(geometry, joint, extent)
            if found is not None:
                doubts.append(found)
                joint = found.joint or joint
    of_links = chain(_find_bare_links(geometry), _find_heavy_links(geometry), _find_displaced(geometry))
    return [*doubts, *of_links, *_find_unstated_axes(source)]


def write_mended(source: SourceObject, doubts: list[Doubt], folder: Path, *, force: bool) -> Path:
    """Writes the URDF of an object with its doubts mended, and its meshes, into a folder; returns the URDF.

    All else stays as it is in the file. Of an SDF, MJCF, USD or glTF, it is the URDF that was made of it.

    Raises:
        AssetError: Nothing in it has a mend, or the file exists.
    """
    original = source.folder / source.urdf
    if not any(doubt.has_mend for doubt in doubts):
        raise AssetError(f"{source.file}: nothing to mend is found. Leave fix=true out.", path=str(source.file))
    target = folder / original.name
    if target.exists() and (not force or target.resolve() == original.resolve()):
        raise AssetError(f"{target} exists. Give out=FOLDER, or force=true to replace a mended one.", path=str(target))
    root = _mended(original, doubts)
    files = model_files(source.model, source.asset_folder)
    for name, path in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, folder / name)
    for mesh in root.iter("mesh"):
        found = find_mesh(original, mesh.get("filename", ""))
        if found is not None:
            mesh.set("filename", os.path.relpath(found, source.asset_folder))
    folder.mkdir(parents=True, exist_ok=True)
    _write(root, target)
    return target


def mend_further(urdf: Path, doubts: list[Doubt]) -> None:
    """Mends a URDF that `write_mended` wrote: some doubts are seen only where units of meshes and angles are right."""
    _write(_mended(urdf, doubts), urdf)


def _mended(urdf: Path, doubts: list[Doubt]) -> ET.Element:
    """Returns the elements of a URDF with all doubts mended."""
    root = parse_xml(urdf)
    for doubt in doubts:
        _apply(root, doubt)
    return root


def _write(root: ET.Element, target: Path) -> None:
    ET.indent(root)
    ET.ElementTree(root).write(target, encoding="utf-8", xml_declaration=True)


def _apply(root: ET.Element, doubt: Doubt) -> None:
    """Changes the elements of a URDF by one mend."""
    if doubt.joint is not None:
        joint = doubt.joint
        element = next(each for each in root.findall("joint") if each.get("name") == joint.name)
        element.set("type", joint.kind)
        axis = " ".join(map(format_number, joint.axis))
        if element.find("axis") is not None or axis != "1 0 0":  # an axis that is not stated stays a doubt
            _child(element, "axis").set("xyz", axis)
        for name, value in (("friction", joint.friction), ("damping", joint.damping)):
            if value > 0.0:
                _child(element, "dynamics").set(name, format_number(value))
            elif element.find("dynamics") is not None:
                _child(element, "dynamics").attrib.pop(name, None)
        if joint.kind != "continuous":
            limit = _child(element, "limit")
            limit.attrib |= {"lower": format_number(joint.lower), "upper": format_number(joint.upper)}
            for key, usual in (("effort", joint.effort), ("velocity", joint.velocity)):
                limit.set(key, limit.get(key, format_number(usual)))
    for mesh in root.iterfind("link/*/geometry/mesh"):
        scale = tuple(map(float, mesh.get("scale", "1 1 1").split()))
        if (mesh.get("filename", ""), scale) in doubt.meshes:
            mesh.set("scale", " ".join(format_number(doubt.mesh_scale * value) for value in scale))
    for origin in _origins(root):
        if origin.get("rpy", "") in doubt.turns:
            origin.set("rpy", _in_radians(origin.get("rpy", "")))
    if doubt.link:
        element = next(each for each in root.findall("link") if each.get("name") == doubt.link)
        for visual in element.findall("visual"):
            collision = ET.SubElement(element, "collision", visual.attrib)
            collision.extend(child for child in visual if child.tag in ("origin", "geometry"))


def _find_turns_in_degrees(source: SourceObject) -> Doubt | None:
    """Finds origins that are turned by more than a turn."""
    if source.original is not None:
        return None
    stated = (each.get("rpy", "") for each in _origins(parse_xml(source.folder / source.urdf)))
    found = tuple(dict.fromkeys(rpy for rpy in stated if max(map(abs, _numbers(rpy)), default=0.0) > _MOST_RPY_RAD))
    if not found:
        return None
    named = ", ".join(f"'{rpy}'" for rpy in found[:_MOST_NAMED])
    mended = f"'{_in_radians(found[0])}'" + " and so on" * (len(found) > 1)
    return Doubt(
        f"rpy {named} of <origin> turns by more than a turn: it is in degrees. Mend: rpy {mended}.", turns=found
    )


def _origins(root: ET.Element) -> Iterator[ET.Element]:
    """Yields the origins of joints and of what links have: elements of simulators may have others, with any text."""
    for path in ("joint/origin", "link/inertial/origin", "link/visual/origin", "link/collision/origin"):
        yield from root.iterfind(path)


def _in_radians(rpy: str) -> str:
    return " ".join(format_number(round(float(np.radians(value)), 6)) for value in _numbers(rpy))


def _numbers(text: str) -> list[float]:
    return [float(word) for word in text.split()]


def _child(element: ET.Element, tag: str) -> ET.Element:
    found = element.find(tag)
    return ET.SubElement(element, tag) if found is None else found


def _find_mesh_unit(geometry: ObjectGeometry, extent: float) -> Doubt | None:
    """Finds meshes in another unit than metres beside joints in metres."""
    model = geometry.model
    joints = [joint for joint in model.joints.values() if joint.moves]
    places = [float(np.abs(joint.T_parent_joint.p).max()) for joint in model.joints.values()]
    travels = [max(abs(joint.lower), abs(joint.upper)) for joint in joints if joint.kind == "prismatic"]
    largest = max([*places, *travels], default=0.0)
    if extent <= LARGEST_M or not 0.0 < largest < LARGEST_M:
        return None
    sizes: dict[tuple[str, tuple[float, ...]], float] = {}
    for shape in (shape for link in model.links.values() for shape in (*link.visuals, *link.collisions)):
        if shape.mesh and (shape.mesh, shape.size) not in sizes:
            sizes[shape.mesh, shape.size] = float(np.ptp(shape_mesh(shape).vertices, axis=0).max(initial=0.0))
    scales = {key[1] for key, size in sizes.items() if size > LARGEST_M}
    # a screw of 8 mm is small among meshes of its unit
    meshes = tuple(key for key, size in sizes.items() if key[1] in scales and size > _MOST_METRES)
    problem = f"the meshes measure {extent:.0f} m, and the joints lie and slide within {largest:.2g} m"
    unit = next((unit for unit in _MESH_UNITS if _fits(model, meshes, unit)), None)
    if unit is None:
        return Doubt(f"{problem}. Correct the scale of the meshes.")
    are_all = len(meshes) == len(sizes)
    which = "the meshes" if are_all else f"those of {', '.join(dict.fromkeys(name for name, _ in meshes))}"
    mend = f"scale {unit:g} of each mesh" if are_all else f"{unit:g} times the scale of each of them"
    return Doubt(f"{problem}: {which} are in {_MESH_UNITS[unit]}. Mend: {mend}.", mesh_scale=unit, meshes=meshes)


def _fits(model: UrdfModel, meshes: Collection[tuple[str, tuple[float, ...]]], unit: float) -> bool:
    """Returns whether the joints lie within their bodies and slide within the object, with some meshes in a unit."""

    def points(names: Iterable[str]) -> np.ndarray:
        clouds = [np.zeros((0, 3))]
        for name in names:
            T_root_link = model.link_pose(name)
            for shape in model.links[name].visuals or model.links[name].collisions:
                scale = unit if (shape.mesh, shape.size) in meshes else 1.0
                clouds.append(T_root_link @ (shape.T_link_shape @ (scale * shape_mesh(shape).vertices)))
        return np.concatenate(clouds)

    extent = float(np.ptp(points(model.links), axis=0).max())
    if extent > LARGEST_M:
        return False
    bodies = 0
    for joint in (joint for joint in model.joints.values() if joint.moves):
        if joint.kind == "prismatic" and joint.upper - joint.lower > _MOST_SLIDE * extent:
            return False
        body = points(_body_links(model, joint))
        place = model.link_pose(joint.child).p
        if len(body):
            bodies += 1
            room = _BESIDE * float(np.ptp(body, axis=0).max())
            if np.any(place < body.min(axis=0) - room) or np.any(place > body.max(axis=0) + room):
                return False
    return bodies > 0


def _body_links(model: UrdfModel, joint: Joint) -> set[str]:
    """Returns the links on which a joint sits, and those that nothing moves."""
    moved = [other.child for other in model.joints.values() if other.moves]
    still = {name for name in model.links if not any(model.is_below(name, top) for top in moved)}
    return still.union(rigid_links(model, joint.parent))


def _find_swapped(geometry: ObjectGeometry, joint: Joint, extent: float) -> Doubt | None:
    if joint.kind == "continuous" or joint.lower <= joint.upper:
        return None
    mended = replace(joint, lower=joint.upper, upper=joint.lower)
    return _doubt(joint, f"has its lower limit {joint.lower:g} above its upper one {joint.upper:g}", mended)


def _find_unit(geometry: ObjectGeometry, joint: Joint, extent: float) -> Doubt | None:
    most = max(abs(joint.lower), abs(joint.upper))
    if joint.kind == "revolute" and most > _MOST_TURN_RAD:
        mended = replace(joint, lower=float(np.radians(joint.lower)), upper=float(np.radians(joint.upper)))
        problem = f"has limits {joint.lower:g} to {joint.upper:g} rad, {most / (2 * np.pi):.0f} turns: they are degrees"
        return _doubt(joint, problem, mended)
    if joint.kind != "prismatic" or joint.upper - joint.lower <= _MOST_SLIDE * extent:
        return None
    span = joint.upper - joint.lower
    fitting = [scale for scale in _UNITS if _LEAST_SLIDE * extent < span / scale <= _MOST_SLIDE * extent]
    usual = _usual_slide(geometry, joint)
    unit = min([*fitting, 1.0], key=lambda scale: abs(np.log(span / scale / usual)))
    if unit == 1.0:
        problem = f"slides by {span:g} m, farther than the object, which measures {extent:.3g} m"
        upper = joint.lower + usual if abs(joint.lower) <= abs(joint.upper) else joint.upper
        return _doubt(joint, problem, replace(joint, lower=round(upper - usual, 4), upper=round(upper, 4)))
    mended = replace(joint, lower=joint.lower / unit, upper=joint.upper / unit)
    problem = (
        f"slides from {joint.lower:g} to {joint.upper:g} m, and the object measures {extent:.3g} m: its limits are "
        f"{_UNITS[unit]}"
    )
    return _doubt(joint, problem, mended)


def _find_endless(geometry: ObjectGeometry, joint: Joint, extent: float) -> Doubt | None:
    """Finds a door or lid that turns without end."""
    if joint.kind != "continuous":
        return None
    ends = all_joint_ends(geometry)
    posed = pose_object(geometry, joint, scale=1.0, ends=ends, names=part_names(geometry, joint), rigid_only=True)
    if posed.kind not in _PANELS:
        return None
    mended = replace(joint, kind="revolute", lower=0.0, upper=_QUARTER_RAD, has_range=True)
    return _doubt(joint, f"is continuous, and its part is {posed.reason}, which must stop", mended)


def _find_still(geometry: ObjectGeometry, joint: Joint, extent: float) -> Doubt | None:
    """Finds a joint that moves by its type, and not by its limits."""
    if joint.kind == "continuous" or joint.upper > joint.lower:
        return None
    if not any(len(geometry.vertices(link)) for link in rigid_links(geometry.model, joint.child)):
        return None  # a frame between two joints, of which the other one moves
    problem = f"is {joint.kind}, and its limits are both {joint.lower:g}" if joint.has_range else "has no limits"
    if joint.kind == "revolute":
        return _doubt(joint, problem, replace(joint, lower=0.0, upper=_QUARTER_RAD, has_range=True))
    length = _usual_slide(geometry, joint)
    return _doubt(joint, problem, replace(joint, lower=0.0, upper=round(length, 4), has_range=True))


def _usual_slide(geometry: ObjectGeometry, joint: Joint) -> float:
    """Returns how far a slider of its length moves."""
    points = geometry.points(geometry.moving_links(joint))
    axis = geometry.model.link_pose(joint.child).rotate(joint.axis / np.linalg.norm(joint.axis))
    return max(_SLIDE_SHARE * float(np.ptp(points @ axis)), 1e-6)


def _find_inward(geometry: ObjectGeometry, joint: Joint, extent: float) -> Doubt | None:
    """Finds a joint that leads its part into the body, where the reversed axis would lead it out."""
    if joint.kind == "continuous" or (joint.kind == "prismatic" and joint.upper - joint.lower < SHORT_SHARE * extent):
        return None  # a button is pressed into its body
    model = geometry.model
    if hangs_on_leader(model, joint) or not any(map(geometry.meshes, rigid_links(model, joint.child))):
        return None  # it moves in only while what carries it, or what it carries, is open
    start = min(max(0.0, joint.lower), joint.upper)
    far = max((joint.lower, joint.upper), key=lambda end: abs(end - start))
    if min(start - joint.lower, joint.upper - start) > _PROBE_RAD or far == start:
        return None  # it moves both ways
    motion = _Motion(geometry, joint, extent)
    back = start - (far - start)
    if joint.kind == "prismatic" and (motion.slides_in_plane(start, far) or _is_pressed(geometry, joint, start, far)):
        return None  # a sliding door goes into its wall, and a button that stands far out is pressed
    if motion.entering(start, far) <= _MUCH:
        return None
    problem = f"leads its part into the body: from {start:g} to {far:.3g}"
    if motion.entering(start, back) > _LITTLE:
        if any(above.moves for above in model.joints_above(joint.parent)):
            return None  # it may move in while what carries it is open, as the second leaf of a folding door
        if motion.crossing(start, far) <= _LITTLE:
            return None  # it swings through an opening, as the flap of a bin
        expected = "; a door or lid turns about one of its edges" if joint.kind == "revolute" else ""
        return Doubt(
            f"joint '{joint.name}' {problem}, and the reversed axis would, too. Correct its axis or origin{expected}."
        )
    # positions keep their meaning: the part stands at the start as it did, and moves the other way from there
    mended = replace(joint, axis=-joint.axis)
    if start != 0.0:
        mended = replace(joint, lower=min(start, back), upper=max(start, back))
    return _doubt(joint, problem, mended)


def _is_pressed(geometry: ObjectGeometry, joint: Joint, start: float, far: float) -> bool:
    """Returns whether a slider is a stud that stands out of the body also at the end of its way into it."""
    axis = geometry.model.link_pose(joint.child).rotate(joint.axis / np.linalg.norm(joint.axis))
    part = geometry.points(geometry.moving_links(joint), {joint.name: far})
    body = geometry.points(_body_links(geometry.model, joint))
    across = np.eye(3) - np.outer(axis, axis)
    if not len(body) or float(np.ptp(part @ across, axis=0).max()) > STUB_M:
        return False
    way = axis * (far - start)
    return bool((part @ way).min() < (body @ way).min())


def _find_turned_in_plane(geometry: ObjectGeometry, joint: Joint, extent: float) -> Doubt | None:
    """Finds a door or lid whose axis is at right angles to it."""
    if joint.kind == "prismatic" or hangs_on_leader(geometry.model, joint):
        return None
    T_root_link = geometry.model.link_pose(joint.child)
    part, body = _clouds(geometry, joint)
    face = _find_face(part, body, deep=_DEEP * extent)
    if face is None or not face.is_covered or abs(T_root_link.rotate(joint.axis)[face.axis]) < _ALONG:
        return None
    beside = np.abs(T_root_link.p - (part.min(axis=0) + part.max(axis=0)) / 2)
    if not np.any(np.delete(beside > _AT_EDGE * np.ptp(part, axis=0), face.axis)):
        return None  # a round cover turns about its middle
    return Doubt(
        f"joint '{joint.name}' turns its panel in its own plane, as a cover that is pushed aside. Correct its axis if "
        "it is a door or lid, which turns about one of its edges."
    )


def _clouds(geometry: ObjectGeometry, joint: Joint) -> tuple[np.ndarray, np.ndarray]:
    """Returns points (N, 3) and (M, 3) all over a part and over its body, in the root frame."""

    def cloud(links: Iterable[str]) -> np.ndarray:
        placed = [item.mesh.moved(geometry.model.link_pose(name)) for name in links for item in geometry.meshes(name)]
        return surface_points(placed) if placed else np.zeros((0, 3))

    return cloud(geometry.moving_links(joint)), cloud(sorted(_body_links(geometry.model, joint)))


@dataclass(frozen=True)
class _Face:
    """The face of a body on which a panel lies, at right angles to an axis of the root frame."""

    axis: int
    side: float
    """1: the face is at the upper end of the axis; -1: at the lower one."""
    thickness: float
    """That of the panel."""
    is_covered: bool
    """Whether the panel covers most of the face."""


def _find_face(panel: np.ndarray, body: np.ndarray, *, deep: float) -> _Face | None:
    """Returns the face of a body (M, 3) that points (N, 3) lie on as a panel; None: they do not."""
    if not len(panel) or not len(body):
        return None
    first, last = np.percentile(panel, (5, 95), axis=0)
    extents, middle = last - first, np.median(panel, axis=0)
    k = int(np.argmin(extents))
    others = [other for other in range(3) if other != k]
    low, high = body.min(axis=0), body.max(axis=0)
    covered = (np.minimum(high, last) - np.maximum(low, first))[others]
    if extents[k] > _THIN * min(extents[others]) or np.any(covered < _COVERED * extents[others]):
        return None
    side = 1.0 if abs(middle[k] - high[k]) < abs(middle[k] - low[k]) else -1.0
    if max(middle[k] - low[k], high[k] - middle[k]) < _SHALLOW * min(extents[others]):
        return None  # a door in its frame may turn to either side
    if abs(middle[k] - (high[k] if side > 0 else low[k])) > max(_NEAR * extents[k], 2 * deep):
        return None
    return _Face(k, side, float(extents[k]), bool(np.all(covered > _COVERED * (high - low)[others])))


def _find_falling(geometry: ObjectGeometry, joint: Joint, extent: float) -> Doubt | None:
    """Finds a part that falls when it is let go: the file states a friction, and it does not hold the part's weight."""
    if joint.friction <= 0.0 or joint.upper - joint.lower < SHORT_SHARE * extent:
        return None  # a part without a friction gets one that holds it
    load = gravity_load(geometry.model, joint)
    if joint.friction >= load:
        return None
    unit = "N" if joint.kind == "prismatic" else "N m"
    problem = (
        f"has a friction of {joint.friction:.3g} {unit}, and its part weighs up to {load:.3g} {unit} on it: let go, it "
        "falls"
    )
    return _doubt(joint, problem, replace(joint, friction=round(HOLDING * load, 3)))


def _find_stuck(geometry: ObjectGeometry, joint: Joint, extent: float) -> Doubt | None:
    """Finds a part that no hand moves: pulled at its far end, its friction and damping resist with too much force."""
    slides = joint.kind == "prismatic"
    speed, unit = (_SLOW_M_S, "m/s") if slides else (_SLOW_RAD_S, "rad/s")
    T_root_link = geometry.model.link_pose(joint.child)
    axis = T_root_link.rotate(joint.axis / np.linalg.norm(joint.axis))
    points = geometry.points(geometry.moving_links(joint)) - T_root_link.p
    lever = 1.0 if slides else max(float(np.linalg.norm(points - np.outer(points @ axis, axis), axis=1).max()), 1e-9)
    pull = {"friction": joint.friction / lever, "damping": joint.damping * speed / lever}
    if sum(pull.values()) > _MOST_PULL_N and joint.friction <= HOLDING * gravity_load(geometry.model, joint) + 1e-3:
        pull["friction"] = 0.0  # a heavy part: without a friction it would get one that holds it
    total_n = sum(pull.values())
    too_much: list[str] = []
    for name in sorted(pull, key=lambda name: -pull[name]):
        if sum(pull.values()) > _MOST_PULL_N:
            too_much.append(name)
            pull[name] = 0.0
    if not too_much:
        return None
    units = {"friction": "N" if slides else "N m", "damping": f"{'N' if slides else 'N m'}/({unit})"}
    values = " and ".join(f"a {name} of {getattr(joint, name):.3g} {units[name]}" for name in too_much)
    problem = f"has {values}: at {speed:g} {unit}, a hand must pull with {total_n:.3g} N"
    friction, damping = (0.0 if name in too_much else float(getattr(joint, name)) for name in ("friction", "damping"))
    return _doubt(joint, problem, replace(joint, friction=friction, damping=damping))


class _Motion:
    """Where points of a part are along its joint, and how deep in the body; root frame."""

    def __init__(self, geometry: ObjectGeometry, joint: Joint, extent: float) -> None:
        model, self._joint = geometry.model, joint
        self._deep = _DEEP * extent
        moving = geometry.moving_links(joint)
        body = _body_links(model, joint)
        T_child = model.link_pose(joint.child)
        self._T_parent = model.link_pose(joint.parent)
        meshes = [
            item.mesh.moved(T_child.inverse() @ model.link_pose(name))
            for name in moving
            for item in geometry.meshes(name)
        ]
        points = surface_points(meshes)
        self._points = points[:: max(1, len(points) // _POINTS)]
        placed = [item.mesh.moved(model.link_pose(name)) for name in sorted(body) for item in geometry.meshes(name)]
        self._body = np.concatenate([np.zeros((0, 3)), *(mesh.vertices for mesh in placed)])
        self._solids = SolidPieces(placed)

    def at(self, position: float) -> np.ndarray:
        """Returns (N, 3) the points at a position of the joint."""
        return np.asarray(self._T_parent @ (self._joint.child_pose(position) @ self._points))

    def slides_in_plane(self, start: float, end: float) -> bool:
        """Returns whether the part is a panel that slides in its own plane."""
        points = self.at(start)
        extents, way = np.ptp(points, axis=0), np.mean(self.at(end) - points, axis=0)
        k = int(np.argmin(extents))
        is_panel = extents[k] <= _THIN * np.min(np.delete(extents, k))
        return bool(is_panel and abs(way[k]) < (1 - _ALONG) * np.linalg.norm(way))

    def crossing(self, start: float, end: float) -> float:
        """Returns the share of the points that come to be in the body on the way, and are not so at the start."""
        free = self._solids.depths(self.at(start)) <= self._deep
        hit: np.ndarray = np.zeros(len(free), dtype=bool)
        for position in self._way(start, end):
            hit |= self._solids.depths(self.at(position)) > self._deep
        return float(np.mean(hit & free))

    def entering(self, start: float, end: float) -> float:
        """Returns the share of the points that come to be in the body on the way, or behind the face they cover."""
        return max(self.crossing(start, end), self.sinking(start, end))

    def sinking(self, start: float, end: float) -> float:
        """Returns the share of the points of a panel on a face of the body that come to be behind that face."""
        points = self.at(start)
        face = None if self._joint.kind == "prismatic" else _find_face(points, self._body, deep=self._deep)
        if face is None:
            return 0.0
        others = [other for other in range(3) if other != face.axis]
        low, high = self._body.min(axis=0)[others], self._body.max(axis=0)[others]
        depth = max(face.thickness, 2 * self._deep)  # a hinge lies within the thickness of its panel
        sunk: np.ndarray = np.zeros(len(points), dtype=bool)
        # farther than a quarter turn, a panel may come beside the body, where feet widen its box
        for position in self._way(start, start + float(np.clip(end - start, -_QUARTER_RAD, _QUARTER_RAD))):
            moved = self.at(position)
            within = np.all((moved[:, others] > low) & (moved[:, others] < high), axis=1)
            sunk |= within & (face.side * (points - moved)[:, face.axis] > depth)
        return float(np.mean(sunk))

    def _way(self, start: float, end: float) -> list[float]:
        return [float(position) for position in np.linspace(start, start + _WAY * (end - start), _STEPS + 1)[1:]]


def _find_bare_links(geometry: ObjectGeometry) -> Iterator[Doubt]:
    """Finds links that are seen and that nothing touches."""
    model = geometry.model
    if not any(link.collisions for link in model.links.values()):
        return  # a file without any colliders: all are made from what is seen
    for link in model.links.values():
        rigid = rigid_links(model, link.name)
        if link.visuals and not any(model.links[name].collisions for name in rigid):
            yield Doubt(
                f"link '{link.name}' has no <collision>: a hand meets its <visual>. Mend: the same shapes as "
                "<collision>.",
                link=link.name,
            )


def _find_unstated_axes(source: SourceObject) -> Iterator[Doubt]:
    """Finds joints that move along or about x only because the file states no axis."""
    for joint in [] if source.original is not None else parse_xml(source.folder / source.urdf).findall("joint"):
        axis = joint.find("axis")
        is_stated = axis is not None and (axis.get("xyz") or "").strip() != ""
        if joint.get("type") in ("revolute", "continuous", "prismatic") and not is_stated:
            yield Doubt(f"joint '{joint.get('name')}' states no <axis>, so it is x, 1 0 0. Add the axis.")


def _find_heavy_links(geometry: ObjectGeometry) -> Iterator[Doubt]:
    """Finds links that are denser than any metal."""
    for link in geometry.model.links.values():
        points = geometry.vertices(link.name)
        if link.inertial is None or not len(points):
            continue
        volume = float(np.prod(np.ptp(points, axis=0)))
        mass_kg = link.inertial.mass_kg
        if volume > 0.0 and mass_kg > _DENSEST_KG_M3 * volume:
            yield Doubt(
                f"link '{link.name}' weighs {mass_kg:.4g} kg, which is {mass_kg / volume:.3g} kg/m^3 of its box, "
                f"and no metal has more than {_DENSEST_KG_M3:g}. Correct its mass."
            )


def _find_displaced(geometry: ObjectGeometry) -> Iterator[Doubt]:
    """Finds links whose colliders are beside what is seen of them."""
    for link in geometry.model.links.values():
        clouds = [
            [shape.T_link_shape @ mesh.vertices for shape in shapes if len((mesh := shape_mesh(shape)).faces)]
            for shapes in (link.visuals, link.collisions)
        ]
        if not all(clouds):
            continue
        seen, touched = (np.concatenate(each) for each in clouds)
        size = np.ptp(seen, axis=0)
        off = np.abs((seen.min(axis=0) + seen.max(axis=0) - touched.min(axis=0) - touched.max(axis=0)) / 2)
        if np.any(off > np.maximum(_BESIDE_SHARE * size, _BESIDE_SHARE**2 * size.max())):
            yield Doubt(
                f"link '{link.name}' has its <collision> up to {1e3 * off.max():.0f} mm beside its <visual>: a hand "
                "meets what is not there. Correct the <origin> of its <collision>."
            )


def _doubt(joint: Joint, problem: str, mended: Joint) -> Doubt:
    unit = "m" if mended.kind == "prismatic" else "rad"
    changes: list[str] = []
    if mended.kind != joint.kind:
        changes.append(f"type {mended.kind}")
    if (mended.lower, mended.upper) != (joint.lower, joint.upper) or mended.kind != joint.kind:
        changes.append(f"{mended.lower:.4g} to {mended.upper:.4g} {unit}")
    changes += [f"no {name}" for name in ("friction", "damping") if getattr(joint, name) > getattr(mended, name) == 0.0]
    if mended.friction > joint.friction:
        changes.append(f"friction {mended.friction:.3g} {'N' if mended.kind == 'prismatic' else 'N m'}")
    if np.any(mended.axis != joint.axis):
        changes.append(f"axis {' '.join(map(format_number, mended.axis))}")
    return Doubt(f"joint '{joint.name}' {problem}. Mend: {', '.join(changes)}.", mended)


_OF_JOINTS = (
    _find_swapped,
    _find_unit,
    _find_endless,
    _find_still,
    _find_inward,
    _find_turned_in_plane,
    _find_stuck,
    _find_falling,
)
