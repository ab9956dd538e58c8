"""Puts links, joints and annotated parts together into the object of a seed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from unlatch.objects.annotation import Articulation, FramedVector, Openness, Part, PartKind
from unlatch.objects.annotation_entries import FixedHandle
from unlatch.objects.closing_force_values import record_forces, with_drawn_forces
from unlatch.objects.mechanisms import Mechanism
from unlatch.objects.procedural.colours import TextureKind
from unlatch.objects.procedural.handles import HandlePlace, PanelGrip, PanelHandle
from unlatch.objects.procedural.links import FLAP_BELOW, LinkBuilder, PanelBuilder, PanelFrame
from unlatch.objects.procedural.parameters import Colour, Drawn, Table, draw_table, parameter_record
from unlatch.simcore.geometry import Pose
from unlatch.simcore.rng import stream
from unlatch.simcore.urdf.model import Joint, Link, UrdfModel, moved_bounds, primitive_bounds

LICENCE = "Apache-2.0"
TAIL_M = 0.05
"""Distance between the keypoints `articulated_object_head` and `articulated_object_tail` [m]."""
HOLDING = 1.3
"""Friction with which a part stays where it is released, as a multiple of the largest moment of gravity."""
LEAST_FRICTION_N_M = 0.2
_GRAVITY_M_S2 = 9.81
_GROUND_CLEARANCE_M = 0.004
"""Distance that the handle of an open door keeps from the ground."""
_MOMENT_SAMPLES = 25


@dataclass(frozen=True)
class GeneratedObject:
    """An object in memory, before it is written."""

    model: UrdfModel
    articulation: Articulation
    bounds_obj: np.ndarray
    """(2, 3) bounds of the closed object in its root link frame [m]."""
    friction: dict[str, float]
    damping: dict[str, float]
    parameters: dict[str, float | str]
    textures: dict[Colour, TextureKind] = field(default_factory=dict)
    """Texture by colour of the visuals; other colours are plain. See `write_textured_urdf`."""


def model_bounds(model: UrdfModel, positions: dict[str, float] | None = None) -> np.ndarray:
    """Returns (2, 3) bounds of all colliding primitives in the root link frame [m]; other joints are at 0."""
    found = []
    for link in model.links.values():
        pose = model.link_pose(link.name, positions)
        found += [moved_bounds(primitive_bounds(shape), pose) for shape in link.collisions]
    bounds = np.array(found)  # (N, 2, 3)
    return np.stack([bounds[:, 0].min(axis=0), bounds[:, 1].max(axis=0)])


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
    """Dry friction [N m or N]; `holding` may raise it."""
    damping: float
    """[N m s/rad or N s/m]."""
    holding: float = 0.0
    """The friction is at least this multiple of the largest moment of gravity."""
    beyond: float = 0.0
    """How far it can be pressed beyond closed [rad or m]."""


def hinge_motion(
    kind: PartKind, frame: PanelFrame, at: Sequence[float], p: Drawn, *, limit_rad: float | None = None
) -> PartMotion:
    """Returns the motion of a panel that turns about its `along` axis, out of the closed pose, at `at` (3,) [m].

    `p` has `damping_n_m_s` and, unless `limit_rad` is given, `limit_rad`. A door also has `friction_n_m`; what stays
    where it is released has `holding` instead.
    """
    values = vars(p)
    axis = np.abs(frame.along)
    limit_rad = p.limit_rad if limit_rad is None else limit_rad
    opens = -float(np.sign(frame.along @ axis)) * limit_rad  # about -along, across turns towards out
    friction, holding = values.get("friction_n_m", 0.0), values.get("holding", 0.0)
    return PartMotion(kind, "body", at, axis.tolist(), opens, friction, p.damping_n_m_s, holding)


def lid_motion(frame: PanelFrame, at: Sequence[float], p: Drawn, *, limit_rad: float | None = None) -> PartMotion:
    """Returns the motion of a lid on a hinge at `at` (3,) [m]; the lid stays where it is released; see `hinge_motion`.

    `p` has `holding`, `damping_n_m_s` and, unless `limit_rad` is given, `limit_rad`.
    """
    return hinge_motion(PartKind.lid, frame, at, p, limit_rad=limit_rad)


def flap_motion(at: Sequence[float], p: Drawn, place: HandlePlace) -> PartMotion:
    """Returns the motion of a door in the front that is hinged below, at `at` (3,) [m]; it stays when released.

    It opens until its handle, `p.handle` at `place`, touches the ground, and at most by `p.most_open_rad`. `p` also has
    `holding` and `damping_n_m_s`.
    """
    out, across, _ = p.handle.extents_m
    far_m, out_m = place.at[0] + across / 2, place.face + out
    # far cos(a) - out sin(a) = -height at the angle a where the handle touches
    reach = float(np.hypot(far_m, out_m))
    height_m = at[2] - _GROUND_CLEARANCE_M
    touching = float(np.arccos(np.clip(-height_m / reach, -1.0, 1.0)) - np.arctan2(out_m, far_m))
    limit_rad = round(min(p.most_open_rad, touching), 4)
    return hinge_motion(PartKind.hinge_horizontal, FLAP_BELOW, at, p, limit_rad=limit_rad)


def slide_motion(at: Sequence[float], axis: Sequence[float], p: Drawn, *, opens: float) -> PartMotion:
    """Returns the motion of a part that slides by `opens` along `axis` (3,) from `at` (3,) [m]."""
    return PartMotion(PartKind.slider, "body", at, axis, opens, p.friction_n, p.damping_n_s_m)


class Assembly:
    """Collects the links, joints and parts of an object; the first link is the root."""

    def __init__(self, category: str, *, name: str, seed: int) -> None:
        """Starts empty; `name` is that of the robot element in the URDF, and the seed is recorded as the instance."""
        self._category, self._name, self._seed = category, name, seed
        self._shape_names: set[str] = set()
        self.renames_shapes = True
        """Whether a shape whose name another link uses gets its link's name as suffix: MuJoCo requires unique names."""
        self.links: dict[str, Link] = {}
        self.joints: dict[str, Joint] = {}
        self.parts: dict[str, Part] = {}
        self.handles: dict[str, FixedHandle] = {}
        """Handles of the object that do not move."""
        self.mechanisms: dict[str, Mechanism] = {}
        """What couples, holds or pulls its joints, by name."""
        self._textures: dict[Colour, TextureKind] = {}
        self._edge: Sequence[float] = (0.0, 0.0, 0.0)

    def add_body(self, builder: LinkBuilder, *, mass_kg: float, edge: Sequence[float] = (0.0, 0.0, 0.0)) -> None:
        """Adds the link that does not move; `edge` (3,) is the base contact point of its parts, link frame [m]."""
        self._add_link(builder.build(mass_kg=mass_kg))
        self._edge = edge

    def add_part(
        self,
        builder: LinkBuilder,
        motion: PartMotion,
        grip: PanelGrip,
        *,
        mass_kg: float,
        push: np.ndarray,
        edge: Sequence[float] | None = None,
    ) -> None:
        """Adds a moving link with its joint and its annotation; the part has the link's name.

        Args:
            builder: The link; its frame is that of the joint.
            motion: The joint.
            grip: Where a hand holds the part.
            mass_kg: Mass of the link [kg].
            push: (3,) a clear spot of the outer face, link frame [m].
            edge: (3,) a point at the upper front edge of the parent, in the parent's frame [m]; None: that of the body.
        """
        name = builder.name
        joint = self.add_link(builder, motion, mass_kg=mass_kg)
        slides = motion.kind is PartKind.slider
        opening = joint.axis * np.sign(motion.opens) if slides else joint.axis
        self.parts[name] = Part(
            name=name,
            joint=joint.name,
            link=name,
            base=motion.parent,
            kind=motion.kind,
            keypoints={
                "articulated_object_head": FramedVector.of("link", grip.head),
                "articulated_object_tail": FramedVector.of("link", grip.head + TAIL_M * np.asarray(grip.frame.across)),
                "link_contact_point": FramedVector.of("link", push),
                "base_contact_point": FramedVector.of("base", self._edge if edge is None else edge),
            },
            axes={
                "link0_move_axis" if slides else "link0_rot_axis": FramedVector.of("link", opening),
                "link0_contact_axis": FramedVector.of("link", grip.frame.along),
                "base_front_axis": FramedVector.of("base", [1.0, 0.0, 0.0]),
            },
            handle=grip.handle,
            openness=Openness(closed=0.0, open=motion.opens),
        )

    def add_link(self, builder: LinkBuilder, motion: PartMotion, *, mass_kg: float) -> Joint:
        """Adds a moving link with its joint, without an annotation, and returns the joint.

        Args:
            builder: The link; its frame is that of the joint.
            motion: The joint.
            mass_kg: Mass of the link [kg].
        """
        name = builder.name
        link = builder.build(mass_kg=mass_kg)
        slides = motion.kind is PartKind.slider
        joint = Joint(
            name=f"{name}_slide" if slides else f"{name}_hinge",
            kind="prismatic" if slides else "revolute",
            parent=motion.parent,
            child=name,
            T_parent_joint=Pose.from_translation(np.round(np.asarray(motion.at, dtype=float), 6)),
            axis=np.asarray(motion.axis, dtype=float),
            lower=min(0.0, motion.opens) - (motion.beyond if motion.opens > 0.0 else 0.0),
            upper=max(0.0, motion.opens) + (motion.beyond if motion.opens < 0.0 else 0.0),
            effort=200.0 if slides else 50.0,
            velocity=5.0 if slides else 10.0,
            friction=motion.friction,
            damping=motion.damping,
        )
        if motion.holding:
            needed = round(motion.holding * gravity_moment(link, joint), 4)
            joint = replace(joint, friction=max(joint.friction, needed, LEAST_FRICTION_N_M))
        self._add_link(link)
        self.joints[joint.name] = joint
        return joint

    def add_panel(
        self,
        panel: PanelBuilder,
        motion: PartMotion,
        handle: PanelHandle,
        place: HandlePlace,
        *,
        rgba: Colour,
        density_kg_m3: float,
        push: np.ndarray | None = None,
    ) -> None:
        """Adds a moving panel with its handle.

        Args:
            panel: The panel without its handle.
            motion: Its joint.
            handle: The handle, which is added at `place`.
            place: Where a hand holds the panel.
            rgba: Colour of the handle.
            density_kg_m3: Density of panel and handle [kg/m^3].
            push: (3,) a clear spot of the outer face, link frame [m]; None: beside the handle, towards the hinge.
        """
        grip = handle.add_to(panel, place, rgba)
        push = handle.push_point(panel.frame, place) if push is None else push
        self.add_part(panel, motion, grip, mass_kg=panel.mass_kg(density_kg_m3), push=push)

    def set_texture(self, kind: TextureKind | Callable[[Colour], TextureKind | None] | None, *colours: Colour) -> None:
        """Gives shapes of these colours a texture: `kind`, or what it returns for a colour. None leaves them plain."""
        for colour in colours:
            texture = kind(colour) if callable(kind) else kind
            if texture is not None:
                self._textures[colour] = texture

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

    def finish(self, record: dict[str, float | str], rng: np.random.Generator) -> GeneratedObject:
        """Returns the object with the record of its parameters; `rng` draws the closing forces of its parts."""
        model = UrdfModel(self._name, self.links, self.joints)
        articulation = Articulation(
            category=self._category,
            source={"dataset": "procedural", "id": str(self._seed), "licence": LICENCE},
            parts=self.parts,
            handles=self.handles,
            mechanisms=self.mechanisms,
        )
        articulation = with_drawn_forces(articulation, self._category, rng)
        return GeneratedObject(
            model=model,
            articulation=articulation,
            bounds_obj=model_bounds(model),
            friction={joint.name: joint.friction for joint in self.joints.values()},
            damping={joint.name: joint.damping for joint in self.joints.values()},
            parameters={**record, **record_forces(articulation)},
            textures=self._textures,
        )


@dataclass(frozen=True)
class ObjectGenerator:
    """The generator of one category: it draws the values of its table and builds the object from them."""

    category: str
    table: Table | Callable[[np.random.Generator], Any]
    """What is drawn from a random stream of the seed and the category; in the form of version 0.2, a function that
    draws a dataclass."""
    build: Callable[[Assembly, Any], None]
    """Fills an empty assembly, without random numbers."""
    unrecorded: tuple[str, ...] = ()
    """Keys that the record of the parameters lacks: the records of older objects do not have them."""

    def variant(
        self,
        category: str,
        changes: Table,
        build: Callable[[Assembly, Any], None] | None = None,
        *,
        without: Collection[str] = (),
    ) -> ObjectGenerator:
        """Returns the generator of another category, whose table has other and further values.

        Args:
            category: Its name.
            changes: Values in the places of those of the same names, then further ones.
            build: What builds it; None: as this category.
            without: Names of values that it does not have, or has at the end.
        """
        own = {} if callable(self.table) else {key: value for key, value in self.table.items() if key not in without}
        return replace(self, category=category, table={**own, **changes}, build=build or self.build)

    def __call__(self, seed: int, *, name: str | None = None) -> GeneratedObject:
        """Generates the object of a seed, any whole number from 0. `name` is that of the robot element in the URDF;
        None: the category.
        """
        rng = stream(seed, f"assets.procedural.{self.category}")
        drawn = self.table(rng) if callable(self.table) else draw_table(self.table, rng)
        assembly = Assembly(self.category, name=name or self.category, seed=seed)
        self.build(assembly, drawn)
        record = {key: value for key, value in parameter_record(drawn).items() if key not in self.unrecorded}
        return assembly.finish(record, rng)  # drawn last: the other values of a seed stay what they are


def gravity_moment(link: Link, joint: Joint) -> float:
    """Returns the largest moment of gravity about a hinge over its range, with an upright parent [N m]."""
    if link.inertial is None:
        return 0.0
    T_down = np.array([0.0, 0.0, -_GRAVITY_M_S2 * link.inertial.mass_kg])
    moments = []
    for position in np.linspace(joint.lower, joint.upper, _MOMENT_SAMPLES):
        arm = joint.child_pose(float(position)).rotate(link.inertial.com_link)
        moments.append(abs(float(np.cross(arm, T_down) @ joint.axis)))
    return max(moments)
