"""Puts links, joints and annotated parts together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from unlatch.objects.annotation import Articulation, FramedVector, Handle, Openness, Part, PartKind
from unlatch.objects.fixed_handle import FixedHandle
from unlatch.objects.procedural.building.drawing import Colour, parameter_record
from unlatch.objects.procedural.building.generated_object import GeneratedObject, model_bounds
from unlatch.objects.procedural.building.link_builder import LinkBuilder
from unlatch.objects.procedural.building.panel import FLAP_BELOW, PanelFrame
from unlatch.objects.procedural.building.textures import TextureKind
from unlatch.simcore.geometry import Pose
from unlatch.simcore.urdf.model import Joint, Link, UrdfModel

LICENCE = "Apache-2.0"
TAIL_M = 0.05
"""Distance from head to tail."""
HOLDING = 1.3
"""Factor on the largest moment of gravity: with this friction a part stays where it is released."""
LEAST_FRICTION_N_M = 0.2
_GRAVITY_M_S2 = 9.81
_SAMPLES = 25


@dataclass(frozen=True)
class PanelGrip:
    """Where a hand holds a panel; all values are in the frame of its link."""

    handle: Handle
    head: np.ndarray
    """(3,) middle of the graspable cross-section [m]."""
    frame: PanelFrame


@dataclass(frozen=True)
class PartMotion:
    """The joint of a part."""

    kind: PartKind
    parent: str
    at: Sequence[float]
    """(3,) origin of the part's link in the frame of its parent [m]."""
    axis: Sequence[float]
    """(3,) unit axis of the joint."""
    opens: float
    """Joint position of the open part [rad or m]; closed is 0."""
    friction: float
    """[N m or N]; a part with `holding` has at least the friction that holds its weight."""
    damping: float
    """[N m s/rad or N s/m]."""
    holding: float = 0.0
    """The friction is at least this multiple of the largest moment of gravity."""


def hinge_motion(
    frame: PanelFrame,
    *,
    kind: PartKind,
    at: Sequence[float],
    limit_rad: float,
    friction: float,
    damping: float,
    parent: str = "body",
    holding: float = 0.0,
) -> PartMotion:
    """Returns the motion of a panel that turns about its `along` axis, out of the closed pose; see `PartMotion`. `at`
    (3,) is a point on the hinge, the origin of the panel's link [m].
    """
    axis = np.abs(frame.along)
    opens = -float(np.sign(frame.along @ axis)) * limit_rad  # about -along, across turns towards out
    return PartMotion(kind, parent, at, axis.tolist(), opens, friction, damping, holding)


class SwingParameters(Protocol):
    """The parameters of a door on a vertical hinge."""

    @property
    def limit_rad(self) -> float:
        """How far it opens."""

    @property
    def friction_n_m(self) -> float:
        """Dry friction."""

    @property
    def damping_n_m_s(self) -> float:
        """Viscous damping."""


class FlapParameters(Protocol):
    """The parameters of a door that is hinged below."""

    @property
    def holding(self) -> float:
        """Friction divided by the moment of gravity."""

    @property
    def damping_n_m_s(self) -> float:
        """Viscous damping."""


class LidParameters(FlapParameters, Protocol):
    """The parameters of a lid."""

    @property
    def limit_rad(self) -> float:
        """How far it opens."""


def door_motion(frame: PanelFrame, at: Sequence[float], p: SwingParameters) -> PartMotion:
    """Returns the motion of a door on a vertical hinge at `at` (3,) [m]."""
    kind = PartKind.hinge_vertical
    return hinge_motion(
        frame, kind=kind, at=at, limit_rad=p.limit_rad, friction=p.friction_n_m, damping=p.damping_n_m_s
    )


def lid_motion(frame: PanelFrame, at: Sequence[float], p: LidParameters) -> PartMotion:
    """Returns the motion of a lid on a hinge at `at` (3,) [m]; the lid stays where it is released."""
    moving = hinge_motion(frame, kind=PartKind.lid, at=at, limit_rad=p.limit_rad, friction=0.0, damping=p.damping_n_m_s)
    return replace(moving, holding=p.holding)


def flap_motion(at: Sequence[float], p: FlapParameters, *, limit_rad: float) -> PartMotion:
    """Returns the motion of a door in the front that is hinged below, at `at` (3,) [m]; it stays when released."""
    kind = PartKind.hinge_horizontal
    moving = hinge_motion(FLAP_BELOW, kind=kind, at=at, limit_rad=limit_rad, friction=0.0, damping=p.damping_n_m_s)
    return replace(moving, holding=p.holding)


class Assembly:
    """Collects the links, joints and parts of an object; the first link is the root."""

    def __init__(self, category: str, *, name: str, seed: int) -> None:
        """Starts empty; `name` is that of the robot element in the URDF, and the seed is recorded as the instance."""
        self._category, self._name, self._seed = category, name, seed
        self._shape_names: set[str] = set()
        self.renames_shapes = True
        """Whether a shape with the name of a shape of another link also gets its link's name, as MuJoCo requires."""
        self.links: dict[str, Link] = {}
        self.joints: dict[str, Joint] = {}
        self.parts: dict[str, Part] = {}
        self.handles: dict[str, FixedHandle] = {}
        """Handles of the object that do not move."""
        self._textures: dict[Colour, TextureKind] = {}
        self._edge: Sequence[float] = (0.0, 0.0, 0.0)

    def add_body(self, builder: LinkBuilder, *, mass_kg: float, edge: Sequence[float] = (0.0, 0.0, 0.0)) -> None:
        """Adds the link that does not move; `edge` (3,) is a point at its upper front edge, to press against [m]."""
        self._add_link(builder.build(mass_kg=mass_kg))
        self._edge = edge

    def add_part(
        self,
        builder: LinkBuilder,
        moving: PartMotion,
        held: PanelGrip,
        *,
        mass_kg: float,
        push: np.ndarray,
        edge: Sequence[float] | None = None,
    ) -> None:
        """Adds a moving link with its joint and its annotation; the part has the link's name.

        The shapes are in the frame of the joint. `push` (3,) is a clear spot of the outer face; `edge` (3,) is a point
        at the upper front edge of the parent, in the parent's frame [m]; None: that of the body.
        """
        name = builder.name
        link = builder.build(mass_kg=mass_kg)
        slides = moving.kind is PartKind.slider
        joint = Joint(
            name=f"{name}_slide" if slides else f"{name}_hinge",
            kind="prismatic" if slides else "revolute",
            parent=moving.parent,
            child=name,
            T_parent_joint=Pose.from_translation(np.round(np.asarray(moving.at, dtype=float), 6)),
            axis=np.asarray(moving.axis, dtype=float),
            lower=min(0.0, moving.opens),
            upper=max(0.0, moving.opens),
            effort=200.0 if slides else 50.0,
            velocity=5.0 if slides else 10.0,
            friction=moving.friction,
            damping=moving.damping,
        )
        if moving.holding:
            needed = round(moving.holding * gravity_moment(link, joint), 4)
            joint = replace(joint, friction=max(joint.friction, needed, LEAST_FRICTION_N_M))
        opening = joint.axis * np.sign(moving.opens) if slides else joint.axis
        self._add_link(link)
        self.joints[joint.name] = joint
        self.parts[name] = Part(
            name=name,
            joint=joint.name,
            link=name,
            base=moving.parent,
            kind=moving.kind,
            keypoints={
                "articulated_object_head": FramedVector.of("link", held.head),
                "articulated_object_tail": FramedVector.of("link", held.head + TAIL_M * np.asarray(held.frame.across)),
                "link_contact_point": FramedVector.of("link", push),
                "base_contact_point": FramedVector.of("base", self._edge if edge is None else edge),
            },
            axes={
                "link0_move_axis" if slides else "link0_rot_axis": FramedVector.of("link", opening),
                "link0_contact_axis": FramedVector.of("link", held.frame.along),
                "base_front_axis": FramedVector.of("base", [1.0, 0.0, 0.0]),
            },
            handle=held.handle,
            openness=Openness(closed=0.0, open=moving.opens),
        )

    def set_texture(self, kind: TextureKind | None, *colours: Colour) -> None:
        """Gives everything of these colours a texture; None leaves it plain."""
        if kind is not None:
            self._textures |= dict.fromkeys(colours, kind)

    def _add_link(self, link: Link) -> None:
        """Adds a link; see `renames_shapes`."""
        taken = self._shape_names & {shape.name for shape in (*link.visuals, *link.collisions)}
        if taken and self.renames_shapes:
            visuals, collisions = (
                tuple(replace(s, name=f"{s.name}_{link.name}") if s.name in taken else s for s in shapes)
                for shapes in (link.visuals, link.collisions)
            )
            link = replace(link, visuals=visuals, collisions=collisions)
        self._shape_names |= {shape.name for shape in link.visuals}
        self.links[link.name] = link

    def finish(self, *parameters: Any, **more: float | str) -> GeneratedObject:
        """Returns the object; its record holds the fields of the parameters, and the values given by name."""
        model = UrdfModel(self._name, self.links, self.joints)
        values: dict[str, float | str] = {}
        for item in parameters:
            values |= parameter_record(item)
        return GeneratedObject(
            model=model,
            articulation=Articulation(
                category=self._category,
                source={"dataset": "procedural", "id": str(self._seed), "licence": LICENCE},
                parts=self.parts,
                handles=self.handles,
            ),
            bounds_obj=model_bounds(model),
            friction={joint.name: joint.friction for joint in self.joints.values()},
            damping={joint.name: joint.damping for joint in self.joints.values()},
            parameters=values | more,
            textures=self._textures,
        )


def gravity_moment(link: Link, joint: Joint) -> float:
    """Returns the largest moment of gravity about a hinge over its range, with an upright parent [N m]."""
    if link.inertial is None:
        return 0.0
    T_down = np.array([0.0, 0.0, -_GRAVITY_M_S2 * link.inertial.mass_kg])
    moments = []
    for position in np.linspace(joint.lower, joint.upper, _SAMPLES):
        arm = joint.child_pose(float(position)).rotate(link.inertial.com_link)
        moments.append(abs(float(np.cross(arm, T_down) @ joint.axis)))
    return max(moments)


def flap_limit(*, far_m: float, out_m: float, height_m: float, most_rad: float) -> float:
    """Returns how far a door that is hinged below may open before its handle touches the ground, at most `most_rad`
    [rad].

    The far side of the handle is `far_m` from the hinge along the door, and `out_m` out of the hinge's plane; the hinge
    is `height_m` over the ground, clearance taken off.
    """
    # far cos(a) - out sin(a) = -height at the angle where it touches
    reach = float(np.hypot(far_m, out_m))
    touching = float(np.arccos(np.clip(-height_m / reach, -1.0, 1.0)) - np.arctan2(out_m, far_m))
    return round(min(most_rad, touching), 4)
