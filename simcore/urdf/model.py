"""A URDF in memory: links with shapes, joints, and its text."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from enum import Enum
from itertools import islice, product
from pathlib import Path

import numpy as np

from unlatch.simcore.geometry import Pose, rpy_from_matrix
from unlatch.simcore.rng import sum_in_order


class ShapeKind(Enum):
    """The geometries of URDF."""

    box = "box"
    cylinder = "cylinder"
    sphere = "sphere"
    mesh = "mesh"


SIZE_ATTRIBUTES = {
    ShapeKind.box: {"size": 3},
    ShapeKind.cylinder: {"radius": 1, "length": 1},
    ShapeKind.sphere: {"radius": 1},
    ShapeKind.mesh: {"scale": 3},
}
"""Attributes of a geometry's element that hold `Shape.size`, and the number of values in each."""


@dataclass(frozen=True)
class Shape:
    """One geometry of a link."""

    kind: ShapeKind
    size: tuple[float, ...]
    """Box: full extents (3). Cylinder: radius, length along z. Sphere: radius. Mesh: scale (3). [m]"""
    T_link_shape: Pose
    name: str = ""
    rgba: tuple[float, float, float, float] | None = None
    mesh: str = ""
    """File name of a mesh in the URDF."""
    path: Path | None = None
    """Path of the file of a mesh."""
    concave: bool = False
    """Whether a static mesh collider keeps its triangles instead of its convex hull."""


@dataclass(frozen=True)
class Inertial:
    """Mass, centre and inertia of a link."""

    mass_kg: float
    com_link: np.ndarray
    """(3,) centre of mass in the link frame [m]."""
    inertia: np.ndarray
    """(3, 3) about the centre of mass, axes of the link frame [kg m^2]."""


@dataclass(frozen=True)
class Link:
    """A rigid body."""

    name: str
    visuals: tuple[Shape, ...] = ()
    collisions: tuple[Shape, ...] = ()
    inertial: Inertial | None = None


@dataclass(frozen=True)
class Follows:
    """How a joint follows another one, as `<mimic>` states it: q = ratio * (position of `joint`) + offset."""

    joint: str
    ratio: float = 1.0
    offset: float = 0.0


ENDLESS = 1e6
"""A limit, speed or effort from this on is none: Gazebo writes 1e16 for none."""


@dataclass(frozen=True)
class Joint:
    """A joint; `T_parent_joint` is the child link's frame at joint position 0."""

    name: str
    kind: str
    """URDF type: revolute, prismatic, continuous, fixed."""
    parent: str
    child: str
    T_parent_joint: Pose
    axis: np.ndarray = field(default_factory=lambda: np.array([1.0, 0.0, 0.0]))
    """(3,) in the joint frame; of unit length unless a file states another length."""
    lower: float = 0.0
    upper: float = 0.0
    effort: float = 100.0
    velocity: float = 10.0
    friction: float = 0.0
    damping: float = 0.0
    has_range: bool = True
    """Whether the file states `lower` or `upper`; without them both are 0, and only a continuous joint moves."""
    follows: Follows | None = None
    """The joint that it follows; None: it moves by itself."""
    has_axis: bool = field(default=True, compare=False)
    """Whether the file states `axis`."""

    @property
    def moves(self) -> bool:
        """Whether the joint has a degree of freedom."""
        return self.kind in ("revolute", "prismatic", "continuous")

    @property
    def is_limited(self) -> bool:
        """Whether `lower` and `upper` are the ends of its range."""
        return self.has_range and self.kind != "continuous"

    @property
    def unit(self) -> str:
        """Unit of its position."""
        return "m" if self.kind == "prismatic" else "rad"

    def child_pose(self, position: float) -> Pose:
        """Returns the child link frame in the parent link frame at a joint position [rad or m]."""
        if not self.moves:
            return self.T_parent_joint
        axis = self.axis / np.linalg.norm(self.axis)
        if self.kind == "prismatic":
            return self.T_parent_joint @ Pose.from_translation(axis * position)
        half = 0.5 * position
        return self.T_parent_joint @ Pose.from_quat_xyzw(np.zeros(3), [*(axis * np.sin(half)), float(np.cos(half))])


@dataclass(frozen=True)
class UrdfModel:
    """Links and joints by name; the root is the link that is no joint's child."""

    name: str
    links: dict[str, Link]
    joints: dict[str, Joint]
    notices: tuple[str, ...] = ()
    """What was read in another way than the file says, one line each."""

    @property
    def root(self) -> str:
        """Name of the root link."""
        children = {joint.child for joint in self.joints.values()}
        return next(name for name in self.links if name not in children)

    def parent_joint(self, link: str) -> Joint | None:
        """Returns the joint whose child is the link, or None for the root."""
        return next((joint for joint in self.joints.values() if joint.child == link), None)

    def joints_above(self, link: str) -> list[Joint]:
        """Returns the joints from a link to the root, the nearest first."""
        found = []
        while (joint := self.parent_joint(link)) is not None:
            found.append(joint)
            link = joint.parent
        return found

    def is_below(self, link: str, top: str) -> bool:
        """Returns whether a link is `top`, or is connected below it by joints of any kind."""
        return link == top or any(joint.parent == top for joint in self.joints_above(link))

    def link_pose(self, link: str, positions: dict[str, float] | None = None) -> Pose:
        """Returns the link frame in the root link frame; missing joints are at 0."""
        pose = Pose.identity()
        for joint in self.joints_above(link):
            pose = joint.child_pose((positions or {}).get(joint.name, 0.0)) @ pose
        return pose

    def to_urdf(self) -> str:
        """Returns the text of the URDF, one element per line (Bullet's reader fails on one long line)."""
        lines = ['<?xml version="1.0" encoding="utf-8"?>', f"<robot name={_quote_attribute(self.name)}>"]
        for link in self.links.values():
            lines += _link_lines(link)
        for joint in self.joints.values():
            lines += _joint_lines(joint)
        return "\n".join([*lines, "</robot>", ""])


def movable_joints(model: UrdfModel) -> tuple[str, ...]:
    """Returns the movable joints in the order of a record: depth first from the root, as the engine numbers them."""
    found: list[str] = []

    def visit(link: str) -> None:
        for joint in model.joints.values():
            if joint.parent == link:
                found.extend([joint.name] if joint.moves else [])
                visit(joint.child)

    visit(model.root)
    return tuple(found)


def rigid_links(model: UrdfModel, link: str) -> list[str]:
    """Returns a link and all links fixed to it, directly or indirectly, in the order of the model."""
    found = {link}
    pairs = [{joint.parent, joint.child} for joint in model.joints.values() if not joint.moves]
    while more := set().union(*(pair for pair in pairs if pair & found)) - found:
        found |= more
    return [name for name in model.links if name in found]


def rigid_shapes(model: UrdfModel, link: str) -> list[Shape]:
    """Returns the colliders of a link and of all links fixed to it; a link without colliders gives its visuals."""
    T_link_root = model.link_pose(link).inverse()
    return [
        replace(shape, T_link_shape=T_link_fixed @ shape.T_link_shape)
        for name in rigid_links(model, link)
        for T_link_fixed in (T_link_root @ model.link_pose(name),)
        for shape in model.links[name].collisions or model.links[name].visuals
    ]


def composed_inertial(shapes: Iterable[Shape], mass_kg: float) -> Inertial:
    """Returns mass, centre and inertia of solid primitives that have one density and, together, a given mass.

    Overlapping volumes count twice. For procedural objects, this changes the results by less than a percent.
    """
    parts = [(*_solid_properties(shape), shape) for shape in shapes]
    density = mass_kg / sum_in_order(volume for volume, _, _ in parts)
    com: np.ndarray = sum((v * s.T_link_shape.p for v, _, s in parts), np.zeros(3)) * density / mass_kg
    inertia = np.zeros((3, 3))
    for volume, moments, shape in parts:
        m = density * volume
        R, d = shape.T_link_shape.R, shape.T_link_shape.p - com
        inertia += R @ np.diag(moments * m) @ R.T + m * (d @ d * np.eye(3) - np.outer(d, d))
    return Inertial(mass_kg=mass_kg, com_link=com, inertia=inertia)


def primitive_bounds(shape: Shape) -> np.ndarray:
    """Returns bounds (2, 3) of a primitive in its link frame [m]; exact for boxes and for upright cylinders."""
    if shape.kind is ShapeKind.box:
        half = np.asarray(shape.size) / 2
    elif shape.kind is ShapeKind.cylinder:
        half = np.array([shape.size[0], shape.size[0], shape.size[1] / 2])
    else:
        half = np.full(3, shape.size[0])
    reach = np.abs(shape.T_link_shape.R) @ half
    return np.stack([shape.T_link_shape.p - reach, shape.T_link_shape.p + reach])


def box_corners(bounds: np.ndarray) -> np.ndarray:
    """Returns the corners (8, 3) of bounds (2, 3) [m]."""
    return np.array(list(product(*bounds.T)))


def moved_bounds(bounds: np.ndarray, T: Pose) -> np.ndarray:
    """Returns bounds (2, 3) of a box in another frame [m]; `T` is the pose of its own frame there."""
    corners = T @ box_corners(bounds)
    return np.stack([corners.min(axis=0), corners.max(axis=0)])


def capsule_shapes(
    radius: float,
    length: float,
    T_link_shape: Pose,
    name: str = "",
    rgba: tuple[float, float, float, float] | None = None,
) -> list[Shape]:
    """Returns a cylinder along z of a length without caps, and the two spheres at its ends [m]."""
    ends = [T_link_shape @ Pose.from_translation(np.array([0.0, 0.0, side * length / 2])) for side in (-1.0, 1.0)]
    cylinders = [Shape(ShapeKind.cylinder, (radius, length), T_link_shape, name, rgba)] if length > 0.0 else []
    return [*cylinders, *(Shape(ShapeKind.sphere, (radius,), pose, name, rgba) for pose in ends)]


def format_number(value: float) -> str:
    """Formats a number for a URDF: at most nine digits, never `-0`."""
    return f"{float(value) + 0.0:.9g}" if abs(value) > 1e-12 else "0"


def _solid_properties(shape: Shape) -> tuple[float, np.ndarray]:
    """Returns volume [m^3] and principal moments of inertia (3,) per kilogram [m^2] of a primitive."""
    if shape.kind is ShapeKind.box:
        x, y, z = (v * v / 12.0 for v in shape.size)
        return float(np.prod(shape.size)), np.array([y + z, x + z, x + y])
    r = shape.size[0]
    if shape.kind is ShapeKind.cylinder:
        h = shape.size[1]
        side = (3 * r * r + h * h) / 12.0
        return float(np.pi * r**2 * h), np.array([side, side, r * r / 2.0])
    return float(4.0 / 3.0 * np.pi * r**3), np.full(3, 0.4 * r**2)


_ENTITIES = str.maketrans(
    {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "\n": "&#10;", "\r": "&#13;", "\t": "&#9;"}
)


def _quote_attribute(text: str) -> str:
    """Returns the value of an attribute; `xml.sax.saxutils` would import an HTTP client."""
    return f'"{text.translate(_ENTITIES)}"'


def _format_tag(tag: str, **attributes: str | float | Iterable[float]) -> str:
    """Returns the name of an element and its attributes; empty texts are left out."""
    words = [tag]
    for key, value in attributes.items():
        if isinstance(value, str):
            words += [f"{key}={_quote_attribute(value)}"] if value else []
        else:
            numbers = [value] if isinstance(value, float) else value
            words.append(f'{key}="{" ".join(format_number(number) for number in numbers)}"')
    return " ".join(words)


def _format_origin(pose: Pose) -> str:
    return f"<{_format_tag('origin', xyz=pose.p, rpy=rpy_from_matrix(pose.R, gimbal_lock_rad=1e-7))}/>"


def _format_geometry(shape: Shape) -> str:
    sizes = iter(shape.size)
    values = {key: list(islice(sizes, count)) for key, count in SIZE_ATTRIBUTES[shape.kind].items()}
    return f"<geometry><{_format_tag(shape.kind.value, filename=shape.mesh, **values)}/></geometry>"


def _link_lines(link: Link) -> list[str]:
    lines = [f"  <{_format_tag('link', name=link.name)}>"]
    if link.inertial is not None:
        xx, xy, xz, _, yy, yz, _, _, zz = (float(v) for v in np.ravel(link.inertial.inertia))
        lines += [
            "    <inertial>",
            f"      {_format_origin(Pose.from_translation(link.inertial.com_link))}",
            f"      <{_format_tag('mass', value=link.inertial.mass_kg)}/>",
            f"      <{_format_tag('inertia', ixx=xx, ixy=xy, ixz=xz, iyy=yy, iyz=yz, izz=zz)}/>",
            "    </inertial>",
        ]
    for shape in link.visuals:
        lines += [f"    <{_format_tag('visual', name=shape.name)}>"]
        lines += [f"      {_format_origin(shape.T_link_shape)}", f"      {_format_geometry(shape)}"]
        if shape.rgba is not None:
            # Bullet keeps materials by name for the whole file: the name must say the colour.
            name = "rgba_" + "_".join(f"{round(c * 255):02x}" for c in shape.rgba)
            lines += [f'      <material name="{name}"><{_format_tag("color", rgba=shape.rgba)}/></material>']
        lines += ["    </visual>"]
    for shape in link.collisions:
        lines += [f"    <{_format_tag('collision', name=shape.name, concave='yes' if shape.concave else '')}>"]
        lines += [f"      {_format_origin(shape.T_link_shape)}", f"      {_format_geometry(shape)}", "    </collision>"]
    return [*lines, "  </link>"]


def _joint_lines(joint: Joint) -> list[str]:
    lines = [
        f"  <{_format_tag('joint', name=joint.name, type=joint.kind)}>",
        f"    {_format_origin(joint.T_parent_joint)}",
        f"    <{_format_tag('parent', link=joint.parent)}/>",
        f"    <{_format_tag('child', link=joint.child)}/>",
    ]
    if joint.moves:
        stated = ("lower", "upper") if joint.has_range or joint.kind == "continuous" else ()
        limits = {key: float(getattr(joint, key)) for key in (*stated, "effort", "velocity")}
        lines += [
            f"    <{_format_tag('axis', xyz=joint.axis)}/>",
            f"    <{_format_tag('limit', **limits)}/>",
            f"    <{_format_tag('dynamics', damping=float(joint.damping), friction=float(joint.friction))}/>",
        ]
        if joint.follows is not None:
            mimic = joint.follows
            tag = _format_tag("mimic", joint=mimic.joint, multiplier=float(mimic.ratio), offset=float(mimic.offset))
            lines.append(f"    <{tag}/>")
    return [*lines, "  </joint>"]
