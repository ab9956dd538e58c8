"""Hands get what holding needs: colliders, and a jaw that is fixed to the palm as a link of its own.

A hand without colliders takes its visuals. Where one jaw moves, what faces it is the other finger.
"""

from __future__ import annotations

import copy
import hashlib
import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import scipy

from unlatch.robots.changed_models import RepairedInertias
from unlatch.robots.hand_shape import PAD_M, tool_frame
from unlatch.robots.hands import (
    LEAST_JOINTS,
    Chain,
    find_chains,
    find_mimics,
    hand_forward,
    measure_hand,
    opens,
    read_mimics,
    turns_round,
)
from unlatch.robots.made_models import fixed_joint
from unlatch.simcore.errors import AssetError
from unlatch.simcore.geometry import Pose, rpy_from_matrix, unit
from unlatch.simcore.meshes.obj_file import format_obj
from unlatch.simcore.meshes.shape_surface import shape_mesh
from unlatch.simcore.meshes.solids import convex_hull, convex_solid
from unlatch.simcore.meshes.triangle_mesh import TriangleMesh, sample_surface
from unlatch.simcore.temporary_folders import scratch_files
from unlatch.simcore.urdf.model import Joint, Link, Shape, ShapeKind, UrdfModel, rigid_links
from unlatch.simcore.urdf.reader import MAX_MESH_BYTES, read_urdf

Array = np.ndarray

_SLAB_M = 0.03
"""Thickness of the slices whose convex hulls stand for a jaw that is not convex."""
_PALM_SHARE = 0.3
"""Share of the way from the joint of a jaw to the fingertips that belongs to the palm."""
_SPACING_M = 0.002
_HIDDEN_M = 1e-4
_POSITIONS = 9
_ALONG = 0.7
"""An axis leads along a direction if it is within 45 degrees of it."""


@dataclass(frozen=True)
class MendedModel:
    """A change of a model for `changed_model`: `mend_hands`, and `RepairedInertias` for some joints."""

    urdf: Path
    joints: tuple[str, ...] = ()

    def __call__(self, robot: ET.Element) -> None:
        """Changes the model, in place."""
        mend_hands(robot, self.urdf)
        RepairedInertias(self.joints, self.urdf)(robot)


def mend_hands(robot: ET.Element, urdf: Path) -> list[str]:
    """Gives hands what holding needs, in place; returns a line for each change.

    Where no finger has a collider, visuals become colliders. Where the only finger closes on the palm's own shape, the
    part of that shape in front of the palm becomes a link that may touch a part, and both jaws become convex pieces.

    Args:
        robot: Root element of the URDF.
        urdf: Its file, as it is on disk.

    Raises:
        AssetError: The file cannot be read.
    """
    model = read_urdf(urdf, meshes_anywhere=True)
    branched, ended = find_chains(model, urdf)
    lines = []
    for chain in (*branched, *ended):
        model, bare = _with_visuals_as_colliders(robot, model, chain)
        if bare:
            lines.append(f"colliders of {', '.join(bare)} are taken from their visuals: the hand has none")
    for chain in branched:
        lines += _turn_mimics(robot, model, chain, read_mimics(urdf))
        lines += _clear_gap(robot, model, chain)
    for chain in ended if not branched else ():
        if opens(model, chain):
            continue
        jaw = _find_fixed_jaw(model, chain)
        if jaw is not None and opens(jaw.model, chain):
            jaw.write(robot)
            model = jaw.model
            lines.append(f"{jaw.name} is made from the shape of {chain.ee_link}: the jaw on which {jaw.moving} closes")
    return lines


def _turn_mimics(
    robot: ET.Element, model: UrdfModel, chain: Chain, mimics: Mapping[str, tuple[str, float, float]]
) -> list[str]:
    """Gives mimic joints of a hand the other sign, in place, if only so its fingers open; returns a line for each.

    Such a joint is led out of its own limits as the file has it, and stays within them the other way. It and joints
    that mimic a mimic joint then name the joint at the beginning of their chain.
    """
    turned = dict(mimics)
    for name in mimics.keys() & set(chain.finger_joints):
        of, factor, offset = mimics[name]
        if not _stays_inside(model, name, mimics[name]) and _stays_inside(model, name, (of, -factor, offset)):
            turned[name] = (of, -factor, offset)
    if turned == mimics or opens(model, chain, mimics) or not opens(model, chain, turned):
        return []
    lines = []
    for joint in robot.findall("joint"):
        name, mimic = joint.get("name", ""), joint.find("mimic")
        if mimic is None or name not in chain.finger_joints:
            continue
        of, factor, offset = turned[name]
        if turned[name] != mimics[name] or mimic.get("joint") != of:
            mimic.attrib |= {"joint": of, "multiplier": f"{factor:.9g}", "offset": f"{offset:.9g}"}
        if turned[name] != mimics[name]:
            lines.append(f"{name}: mimic with multiplier {factor:g}, as {-factor:g} leads it out of its own limits")
    return lines


def _clear_gap(robot: ET.Element, model: UrdfModel, chain: Chain) -> list[str]:
    """Leaves out the colliders of a palm that fill the gap between the pads, in place; returns a line for each link.

    Such colliders are drawn about all that the fingers may sweep, to keep arms apart. Nothing could be held.
    """
    try:
        hand = measure_hand(model, chain, find_mimics(robot))
    except AssetError:
        return []
    T_ee_tool = tool_frame(hand.keypoints)
    T_tool_root = (model.link_pose(chain.ee_link) @ T_ee_tool).inverse()
    lines = []
    for link in robot.findall("link"):
        name = link.get("name", "")
        if name not in rigid_links(model, chain.ee_link) or name in hand.finger_links:
            continue
        shapes = iter(model.links[name].collisions)
        filling = []
        for element in link.findall("collision"):
            own = [next(shapes) for _ in range(3 if element.find("geometry/capsule") is not None else 1)]
            points = np.concatenate([_surface(shape) for shape in own])
            if _lies_ahead(T_tool_root @ model.link_pose(name) @ points):
                filling.append(element)
        for element in filling:
            link.remove(element)
        if filling:
            count = f"{len(filling)} colliders" if len(filling) > 1 else "a collider"
            lines.append(f"{count} of {name} left out: nothing fits between the fingers with it")
    return lines


def _lies_ahead(points: Array) -> bool:
    """Returns whether the half line from the origin along x passes through the convex hull of points (N, 3)."""
    solid = convex_solid(points)
    slopes, room = solid.normals[:, 0], solid.offsets
    if np.any(room[slopes == 0.0] <= 0.0):
        return False
    enters, leaves = ((room[side] / slopes[side]) for side in (slopes < 0.0, slopes > 0.0))
    return bool(max(0.0, enters.max()) < leaves.min())


def _stays_inside(model: UrdfModel, name: str, mimic: tuple[str, float, float]) -> bool:
    """Returns whether a joint mimics another one inside its own limits, for most of the way."""
    of, factor, offset = mimic
    own, leader = model.joints[name], model.joints.get(of)
    if leader is None or not own.is_limited or not leader.is_limited or own.upper <= own.lower:
        return True
    low, high = sorted((factor * leader.lower + offset, factor * leader.upper + offset))
    return min(high, own.upper) - max(low, own.lower) > 0.5 * (high - low)


def hold_base(robot: ET.Element, urdf: Path) -> list[str]:
    """Fixes the joints that move the whole robot, and those of free parts, in place; returns lines that name them.

    Simulators add such joints between the world and a mobile base, whose links before it have no shape. Unlatch holds a
    base where it stands, and with it planar and floating joints. Where the base of an arm has no shape, the first joint
    of the arm moves all shapes too, and so does a lift: joints of an arm stay, but for those of a mobile base, see
    `_planar_base`.

    Args:
        robot: Root element of the URDF.
        urdf: Its file, as it is on disk.

    Raises:
        AssetError: The file cannot be read.
    """
    model = read_urdf(urdf, meshes_anywhere=True)
    solid = [name for name, link in model.links.items() if link.collisions or link.visuals]
    leading = [
        joint for joint in model.joints.values() if solid and all(model.is_below(name, joint.child) for name in solid)
    ]
    above = [joint for joint in leading if joint.moves]
    above.sort(key=lambda joint: len(model.joints_above(joint.child)))
    chains = [set(chain.joints) for chains in find_chains(model, urdf) for chain in chains]
    planar = _planar_base(model, above)
    if any(chain & planar and len(chain - planar) < LEAST_JOINTS for chain in chains):
        planar = set()
    kept = set().union(*chains) - planar
    if above and above[-1].kind == "prismatic" and _is_upright(model, above[-1]):
        kept.add(above[-1].name)
    found = [joint.name for joint in above if joint.name not in kept]
    found += [joint.name for joint in leading if joint.kind in _WITHOUT_MOTOR]
    free = [name for name, joint in model.joints.items() if joint.kind in _WITHOUT_MOTOR and name not in found]
    for element in robot.findall("joint"):
        if element.get("name") in (*found, *free):
            element.set("type", "fixed")
            for tag in ("axis", "limit", "dynamics", "mimic"):
                for each in element.findall(tag):
                    element.remove(each)
    lines = [f"{', '.join(found)}: held, for they move the whole robot"] if found else []
    return lines + ([f"{', '.join(free)}: held, for no motor moves planar and floating joints"] if free else [])


def free_telescopes(robot: ET.Element, urdf: Path) -> list[str]:
    """Lets the stages of a telescope slide by themselves, in place; returns a line that names them.

    Stages that slide along the line of a stage before them and mimic it are joints of the arm: together, they take the
    hand to the same places. A joint that does not follow them hangs below them; below the stages of a finger is none.

    Args:
        robot: Root element of the URDF.
        urdf: Its file, as it is on disk.

    Raises:
        AssetError: The file cannot be read.
    """
    model = read_urdf(urdf, meshes_anywhere=True)
    freed, mimics = [], find_mimics(robot)
    for name, (of, factor, _) in mimics.items():
        first, joint = model.joints.get(of), model.joints.get(name)
        if first is None or joint is None or {first.kind, joint.kind} != {"prismatic"} or factor <= 0.0:
            continue
        along = float(_root_axis(model, first) @ _root_axis(model, joint))
        others = [each for each in model.joints.values() if each.moves and mimics.get(each.name, (each.name,))[0] != of]
        carries = any(model.is_below(each.parent, joint.child) for each in others)
        if carries and along > _SAME_LINE and model.is_below(joint.child, first.child):
            freed.append(name)
    for element in robot.findall("joint"):
        mimic = element.find("mimic")
        if mimic is not None and element.get("name") in freed:
            element.remove(mimic)
    return [f"{', '.join(freed)}: stages of a telescope, which move by themselves here"] if freed else []


_SAME_LINE = 0.999
"""Cosine of the angle between the axes of two stages of a telescope, but for rounded numbers."""
_WITHOUT_MOTOR = ("planar", "floating")
"""Kinds of joints of a base that stands where it is put, or of a free part; Bullet has none."""


def _planar_base(model: UrdfModel, above: list[Joint]) -> set[str]:
    """Returns the first joints of a robot if they move it over the floor.

    These are two slides, and perhaps a turn, or a whole turn and a slide in the direction in which it looks. An arm
    with cylindrical joints begins with a turn and a slide too, but seldom turns all around.
    """
    slides: list[Joint] = []
    turns: list[Joint] = []
    for joint in above:
        if joint.kind == "prismatic" and len(slides) < 2 and not _is_upright(model, joint):
            slides.append(joint)
        elif joint.kind != "prismatic" and not turns and _is_upright(model, joint):
            turns.append(joint)
        else:
            break
    directions = [_root_axis(model, joint) for joint in slides]
    if turns and slides and above[:2] == [*turns, *slides] and turns_round(turns[0]):
        return {joint.name for joint in above[:2]}
    if len(slides) < 2 or abs(float(directions[0] @ directions[1])) > _ALONG:
        return set()
    return {joint.name for joint in (*slides, *turns)}


def _is_upright(model: UrdfModel, joint: Joint) -> bool:
    return abs(float(_root_axis(model, joint)[2])) > _ALONG


def _root_axis(model: UrdfModel, joint: Joint) -> Array:
    """Returns (3,) the axis of a joint, root frame."""
    axis: Array = model.link_pose(joint.child).R @ unit(joint.axis)
    return axis


def mend_lengths(robot: ET.Element, urdf: Path) -> list[str]:
    """Gives a robot lengths in metres, in place, where they are in millimetres; returns a line for each change.

    Places and sizes are in millimetres if the joints of an arm are further apart than any on a table, meshes if they
    are larger than any link. Each has its own unit: drawings in millimetres are often put at places in metres. With
    places, inertias in kg mm^2 are converted.

    Args:
        robot: Root element of the URDF.
        urdf: Its file, as it is on disk.

    Raises:
        AssetError: The file or a mesh cannot be read, or a mesh has no triangles.
    """
    model = read_urdf(urdf, meshes_anywhere=True)
    lengths = [sum(float(np.linalg.norm(j.T_parent_joint.p)) for j in model.joints_above(name)) for name in model.links]
    lines = []
    if max(lengths) > _MOST_LENGTH_M:
        for element in robot.iter():
            for key in _LENGTHS.get(element.tag, ()):
                if key in element.attrib:
                    element.set(key, _in_metres(element.attrib[key]))
        lines.append(f"places and sizes are read as millimetres: in metres, it would be {max(lengths):.0f} m long")
        lines += _mend_inertias(robot, model)
    large = {key for key, extent in _mesh_extents(model, urdf).items() if extent > _MOST_MESH_M}
    for mesh in robot.iter("mesh"):
        scale = mesh.get("scale", "1 1 1")
        if (mesh.get("filename"), tuple(map(float, scale.split()))) in large:
            mesh.set("scale", _in_metres(scale))
    if large:
        lines.append(f"meshes are read as millimetres: {', '.join(sorted({Path(name).name for name, _ in large}))}")
    return lines


def _mend_inertias(robot: ET.Element, model: UrdfModel) -> list[str]:
    """Converts inertias in kg mm^2 to kg m^2, in place: as the latter, the masses of most links would lie too far out.

    Returns:
        A line that says so.
    """
    inertials = [link.inertial for link in model.links.values() if link.inertial is not None]
    squares = [float(np.linalg.eigvalsh(each.inertia).max()) / each.mass_kg for each in inertials if each.mass_kg > 0.0]
    if not squares or float(np.median(squares)) <= _MOST_GYRATION_M**2:
        return []
    for inertia in robot.iter("inertia"):
        for key in {"ixx", "ixy", "ixz", "iyy", "iyz", "izz"} & set(inertia.attrib):
            inertia.set(key, f"{1e-6 * float(inertia.attrib[key]):.9g}")
    return ["inertias are read as kg mm^2"]


def _mesh_extents(model: UrdfModel, urdf: Path) -> dict[tuple[str, tuple[float, ...]], float]:
    """Returns the largest extent of each mesh without a unit by its name in the URDF and its scale there [m]."""
    extents: dict[tuple[str, tuple[float, ...]], float] = {}
    for link in model.links.values():
        for shape in (*link.visuals, *link.collisions):
            key = (str(shape.mesh), shape.size)
            if shape.kind is not ShapeKind.mesh or key in extents or not _states_no_unit(shape.path):
                continue
            mesh = shape_mesh(shape)
            if not len(mesh.faces):
                raise AssetError(
                    f"{urdf}: the mesh '{shape.mesh}' of link '{link.name}' has no triangles. Expected a surface. "
                    "Export it again, or remove it from the URDF.",
                    path=str(urdf),
                    link=link.name,
                )
            extents[key] = float(np.ptp(mesh.vertices, axis=0).max())
    return extents


def _states_no_unit(path: Path | None) -> bool:
    """Returns whether a file is a mesh of a format without a unit, and not too large to be read."""
    return path is not None and path.suffix.lower() in (".obj", ".stl") and path.stat().st_size <= MAX_MESH_BYTES


def _in_metres(text: str) -> str:
    return " ".join(f"{1e-3 * float(word):.9g}" for word in text.split())


_LENGTHS = {
    "origin": ("xyz",),
    "box": ("size",),
    "sphere": ("radius",),
    **dict.fromkeys(("cylinder", "capsule"), ("radius", "length")),
}
"""Attributes of a URDF that are lengths, by element; a mesh has its own unit."""
_MOST_LENGTH_M, _MOST_MESH_M = 15.0, 5.0
"""Largest sum of the distances between the joints of a robot, and largest extent of one of its meshes [m]."""
_MOST_GYRATION_M = 1.0
"""Largest radius of gyration of most links [m]."""


def mend_limits(robot: ET.Element) -> list[str]:
    """Gives the joints of a robot limits in radians and metres, in place; returns a line for each change.

    Limits in degrees or millimetres are converted, exchanged ones exchanged back, and a hinge whose limits are both 0
    gets half a turn to either side. The median of all joints of a kind tells the unit: one large limit alone stays. An
    effort or a speed that is left out is written as 0, which says that the file states none.

    Args:
        robot: Root element of a URDF that `read_urdf` has read.
    """
    lines: list[str] = []
    for joint in robot.findall("joint"):
        if joint.get("type") in (*_UNITS, "continuous"):
            limit = joint.find("limit")
            limit = ET.SubElement(joint, "limit") if limit is None else limit
            limit.attrib |= {key: limit.get(key, "0") for key in ("effort", "velocity")}
    followers = [joint.get("name") for joint in robot.findall("joint") if joint.find("mimic") is not None]
    limits = [
        (joint, limit)
        for joint in robot.findall("joint")
        if joint.get("type") in _UNITS and (limit := joint.find("limit")) is not None
    ]
    for kind, (most, factor, short, said) in _UNITS.items():
        own = [(joint.get("name", ""), limit) for joint, limit in limits if joint.get("type") == kind]
        ends = [[float(limit.get(key) or "0") for key in ("lower", "upper")] for _, limit in own]
        sizes = [size for pair in ends if 0.0 < (size := max(map(abs, pair))) < _ENDLESS]
        is_other = bool(sizes) and float(np.median(sizes)) > most
        if is_other:
            lines.append(f"limits of {', '.join(name for name, _ in own)} are read as {said}")
        for (name, limit), pair in zip(own, ends, strict=True):
            low, high = (value * (factor if is_other else 1.0) for value in pair)
            if low > high:
                low, high = high, low
                lines.append(f"{name}: its lower limit is above its upper one; {low:.4g} to {high:.4g} {short} is read")
            if low == high == 0.0 and kind == "revolute" and name not in followers:
                low, high = -np.pi, np.pi
                lines.append(f"{name}: both limits are 0; half a turn to either side is assumed")
            if [low, high] != pair:
                limit.attrib |= {"lower": f"{low:.9g}", "upper": f"{high:.9g}"}
    return lines


_ENDLESS = 1e4
"""A limit beyond it is none, in any unit."""
_UNITS = {
    "revolute": (4.0 * np.pi + 0.1, np.pi / 180.0, "rad", "degrees"),
    "prismatic": (9.0, 1e-3, "m", "millimetres"),
}
"""Kinds of joints: the largest limit of most, and the unit of larger ones: its size, ours, and its name."""


def _with_visuals_as_colliders(robot: ET.Element, model: UrdfModel, chain: Chain) -> tuple[UrdfModel, list[str]]:
    """Returns the model with colliders at the hand of a chain, and the links that got some."""
    hand = [name for name in model.links if model.is_below(name, chain.ee_link)]
    fingers = [name for name in hand if {joint.name for joint in model.joints_above(name)} & set(chain.finger_joints)]
    if any(model.links[name].collisions for name in fingers):
        return model, []
    bare = [name for name in hand if model.links[name].visuals and not model.links[name].collisions]
    elements = {element.get("name", ""): element for element in robot.iter("link")}
    for name in bare:
        for visual in elements[name].findall("visual"):
            collision = copy.deepcopy(visual)
            collision.tag = "collision"
            for material in collision.findall("material"):
                collision.remove(material)
            elements[name].append(collision)
    links = {name: replace(link, collisions=link.visuals) for name, link in model.links.items() if name in bare}
    return replace(model, links=model.links | links), bare


@dataclass(frozen=True)
class _FixedJaw:
    """A jaw that is cut from the shape of the palm."""

    name: str
    palm: str
    moving: str
    model: UrdfModel
    """With the jaw as a link."""

    def write(self, robot: ET.Element) -> None:
        """Writes the new link and the colliders of palm and jaws into a URDF, in place."""
        elements = {element.get("name", ""): element for element in robot.iter("link")}
        elements[self.name] = ET.SubElement(robot, "link", {"name": self.name})
        robot.append(fixed_joint(f"{self.name}_joint", self.palm, self.name))
        for name in (self.palm, self.moving, self.name):
            for old in elements[name].findall("collision"):
                elements[name].remove(old)
            for shape in self.model.links[name].collisions:
                elements[name].append(_collision_element(shape))
        # a link without a visual is drawn by its colliders: the palm's own visual shows the jaw
        hidden = _collision_element(Shape(ShapeKind.sphere, (_HIDDEN_M,), self._inside()))
        hidden.tag = "visual"
        elements[self.name].append(hidden)

    def _inside(self) -> Pose:
        """Returns a place inside the jaw."""
        return Pose.from_translation(_surface(self.model.links[self.name].collisions[0]).mean(axis=0))


def _find_fixed_jaw(model: UrdfModel, chain: Chain) -> _FixedJaw | None:
    """Returns the model with a jaw cut from the palm of a hand with one finger; None if nothing reaches its tip."""
    joint = model.joints[chain.finger_joints[0]]
    palm, moving = model.links[chain.ee_link], model.links[joint.child]
    T_root_ee = model.link_pose(chain.ee_link)
    own = [_surface(shape) for shape in palm.collisions]
    swept = _surface_of(moving)
    if not own or not len(swept) or joint.upper <= joint.lower:
        return None
    clouds = [
        T_root_ee.inverse() @ model.link_pose(moving.name, {joint.name: float(position)}) @ swept
        for position in np.linspace(joint.lower, joint.upper, _POSITIONS)
    ]
    forward = hand_forward(model, chain, [{moving.name: cloud} for cloud in clouds])
    reach, jaw = (max(float((points @ forward).max()) for points in each) for each in (own, clouds))
    pivot = float((T_root_ee.inverse() @ model.link_pose(moving.name)).p @ forward)
    if joint.kind == "prismatic":
        pivot = min(float((points @ forward).min()) for points in clouds)
    if reach < jaw - PAD_M or reach <= pivot:
        return None
    cut = pivot + _PALM_SHARE * (reach - pivot)
    stays: list[Shape] = []
    jaws: list[Shape] = []
    for shape, points in zip(palm.collisions, own, strict=True):
        along = points @ forward
        if along.max() <= cut:
            stays.append(shape)
            continue
        stays += _slabs(points, forward, float(along.min()), cut)
        jaws += _slabs(points, forward, cut, float(along.max()))
    name = f"{palm.name}_fixed_jaw"
    links = {
        **model.links,
        palm.name: replace(palm, collisions=tuple(stays)),
        moving.name: replace(moving, collisions=tuple(_sliced_jaw(moving))),
        name: Link(name, collisions=tuple(jaws)),
    }
    fixed = replace(joint, name=f"{name}_joint", kind="fixed", parent=palm.name, child=name)
    joints = {**model.joints, fixed.name: replace(fixed, T_parent_joint=Pose.identity())}
    return _FixedJaw(name, palm.name, moving.name, UrdfModel(model.name, links, joints))


def _sliced_jaw(link: Link) -> list[Shape]:
    """Returns the colliders of a jaw, its meshes in slices along it."""
    cloud = _surface_of(link)
    along = unit(cloud[int(np.argmax(np.linalg.norm(cloud, axis=1)))])
    found: list[Shape] = []
    for shape in link.collisions:
        points = _surface(shape)
        low, high = float((points @ along).min()), float((points @ along).max())
        found += _slabs(points, along, low, high) if shape.kind is ShapeKind.mesh else [shape]
    return found


def _slabs(points: Array, direction: Array, low: float, high: float) -> list[Shape]:
    """Returns the convex hulls of slices of points (N, 3) across a direction, between two places along it [m]."""
    along = points @ direction
    edges = np.linspace(low, high, max(1, int(np.ceil((high - low) / _SLAB_M))) + 1)
    found = []
    for first, last in pairwise(edges):
        inside = points[(along >= first - _SPACING_M) & (along <= last + _SPACING_M)]
        try:
            found.append(_mesh_shape(convex_hull(inside)))
        except (scipy.spatial.QhullError, ValueError):  # a slice without extent
            continue
    return found


def _mesh_shape(hull: TriangleMesh) -> Shape:
    text = format_obj([hull], decimals=6).encode()
    folder = scratch_files(f"jaw-{hashlib.sha256(text).hexdigest()[:24]}", {"piece.obj": text})
    path = folder / "piece.obj"
    return Shape(ShapeKind.mesh, (1.0, 1.0, 1.0), Pose.identity(), mesh=str(path), path=path)


def _surface(shape: Shape) -> Array:
    return sample_surface(shape_mesh(shape).moved(shape.T_link_shape), spacing_m=_SPACING_M)


def _surface_of(link: Link) -> Array:
    return np.concatenate([np.zeros((0, 3)), *(_surface(shape) for shape in link.collisions)])


def _collision_element(shape: Shape) -> ET.Element:
    """Returns a collider as an element of a URDF."""

    def text(values: Sequence[float] | Array) -> str:
        return " ".join(f"{value:.9g}" for value in values)

    collision = ET.Element("collision")
    pose = shape.T_link_shape
    ET.SubElement(collision, "origin", {"xyz": text(pose.p), "rpy": text(rpy_from_matrix(pose.R))})
    geometry = ET.SubElement(collision, "geometry")
    if shape.kind is ShapeKind.mesh:
        ET.SubElement(geometry, "mesh", {"filename": str(shape.path), "scale": text(shape.size)})
    elif shape.kind is ShapeKind.cylinder:
        ET.SubElement(geometry, "cylinder", {"radius": text(shape.size[:1]), "length": text(shape.size[1:])})
    elif shape.kind is ShapeKind.sphere:
        ET.SubElement(geometry, "sphere", {"radius": text(shape.size)})
    else:
        ET.SubElement(geometry, "box", {"size": text(shape.size)})
    return collision
