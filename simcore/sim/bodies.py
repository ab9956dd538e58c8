"""Bodies, links and joints by name, with their masses. Poses are those of URDF link frames."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import pybullet as p
from numpy.typing import ArrayLike

from unlatch.simcore.errors import FrameNotFoundError, WorldError, close_matches
from unlatch.simcore.geometry import Array, Pose
from unlatch.simcore.sim.core import BodyState, Core
from unlatch.simcore.sim.visuals.visual_shapes import Finish

if TYPE_CHECKING:
    from unlatch.simcore.meshes.mesh_reader import SurfaceMesh
    from unlatch.simcore.meshes.triangle_mesh import TriangleMesh
    from unlatch.simcore.sim.visuals.visual_shapes import VisualShape


@dataclass
class LinkMass:
    """Mass and inertia of one link, and the armature of its joint."""

    mass_kg: float
    inertia_kg_m2: Array
    """(3,) principal moments, in the order of Bullet's inertial frame."""
    inertia_is_given: bool
    """Whether the moments were set; then a change of mass leaves them unchanged."""
    added_mass_kg: float
    """Mass of the armature of a sliding joint; gravity must not act on it."""
    added_inertia_kg_m2: Array
    """(3,) principal moments of the armature of a turning joint."""


class LinkMasses:
    """The links of one body by Bullet's number; -1 is the root."""

    def __init__(self, client: int, body_id: int) -> None:
        self._client = client
        self._body_id = body_id
        self._links: dict[int, LinkMass] = {}

    def link(self, index: int) -> LinkMass:
        """Returns the mass of a link without armature; it is read from Bullet once."""
        if index not in self._links:
            info = p.getDynamicsInfo(self._body_id, index, physicsClientId=self._client)
            self._links[index] = LinkMass(info[0], np.array(info[2]), False, 0.0, np.zeros(3))
        return self._links[index]

    def set_mass(self, index: int, mass_kg: float) -> None:
        """Sets a link's mass; its inertia changes in proportion, unless it was set or the link has no mass."""
        link = self.link(index)
        if link.mass_kg > 0.0 and not link.inertia_is_given:
            link.inertia_kg_m2 = link.inertia_kg_m2 * (mass_kg / link.mass_kg)
        link.mass_kg = float(mass_kg)
        self._write_dynamics(index)

    def set_inertia(self, index: int, inertia_kg_m2: ArrayLike) -> None:
        """Sets a link's principal moments (3,) [kg m^2]; a later change of mass leaves them unchanged."""
        link = self.link(index)
        link.inertia_kg_m2 = np.array(inertia_kg_m2, dtype=float)
        link.inertia_is_given = True
        self._write_dynamics(index)

    def set_armature(self, index: int, armature: float, *, axis_link: ArrayLike, prismatic: bool) -> None:
        """Sets the armature of a joint on its child link; an axis between principal axes is split among them.

        Args:
            index: The child link.
            armature: Inertia at the joint [kg m^2], or mass of one that slides [kg].
            axis_link: (3,) the joint's axis in the link frame.
            prismatic: Whether the joint slides.
        """
        link = self.link(index)
        if prismatic:
            link.added_mass_kg = float(armature)
        else:
            info = p.getDynamicsInfo(self._body_id, index, physicsClientId=self._client)
            R_link_inertia = Pose.from_quat_xyzw(np.zeros(3), np.array(info[4])).R
            link.added_inertia_kg_m2 = armature * (R_link_inertia.T @ np.array(axis_link, dtype=float)) ** 2
        self._write_dynamics(index)

    def _write_dynamics(self, index: int) -> None:
        link = self.link(index)
        inertia = link.inertia_kg_m2 + link.added_inertia_kg_m2
        p.changeDynamics(
            self._body_id,
            index,
            mass=link.mass_kg + link.added_mass_kg,
            localInertiaDiagonal=inertia.tolist(),
            physicsClientId=self._client,
        )


Item = TypeVar("Item")
ROOT = -1
"""Bullet's number of a body's root link."""
WITH_LINKS = 2
"""What the core writes into `is_known` where it has read the frames of links, too."""


@dataclass(frozen=True)
class JointInfo:
    """One joint as the model states it."""

    name: str
    index: int
    prismatic: bool
    movable: bool
    lower: float
    upper: float
    max_effort: float
    max_velocity: float
    axis: tuple[float, float, float]
    """Direction in the child link's URDF frame."""

    @property
    def limited(self) -> bool:
        """Whether it has limits; Bullet reports a lower one above the upper one where there are none."""
        return self.lower <= self.upper


class Body:
    """One body of a world. Bullet reports centre-of-mass frames; they are converted here and nowhere else."""

    def __init__(self, core: Core, body_id: int, *, name: str, friction: float, has_model: bool = False) -> None:
        """Wraps a loaded body of a world: motors off, no hidden damping, no restitution, no sleeping.

        `has_model` says whether a URDF names its links.
        """
        self.client = client = core.client
        self.core = core
        """The physics loop of its world."""
        self.body_id = body_id
        self.name = name
        self.fixed = True
        """Whether its root is fixed in the world."""
        self.environment: int | None = None
        """Number of its environment in the world; None: shared by all environments, such as a floor."""
        self.semantic_class = name
        """Class in segmentation images: `robot` or a category; by default its name."""
        self.part_names: dict[str, str] = {}
        """Names of annotated parts by the link of each, such as `door` for `link_0`."""
        self.meshes: dict[str, TriangleMesh] = {}
        """Visible triangles of links, each in its frame: those of `link_mesh`, or those of scenery whose vertices were
        given to Bullet, which does not report them."""
        self.surface: SurfaceMesh | None = None
        """The visible surface of scenery whose vertices were given to Bullet."""
        self.follow: Callable[[], None] = lambda: None
        """Moves scenery that a link carries to where the link is."""
        self.sheet = False
        """Whether it is visible from its front alone and casts no shadow, as a panel is."""
        self.finish = Finish()
        """The finish of its shapes, where neither their colour nor their mesh file states one."""
        self.finish_by_colour: Mapping[tuple[float, float, float, float], Finish] = {}
        """Finishes of its shapes by their own colour, of at most four decimals."""
        root, _ = p.getBodyInfo(body_id, physicsClientId=client)
        # a box has no model that names its link: its link has the name of the body
        self.root_link: str = root.decode() if has_model else name
        self.links: dict[str, int] = {self.root_link: ROOT}
        self.joints: dict[str, JointInfo] = {}
        group_of = {ROOT: ROOT}  # the first link of each link's rigid group
        numbers: list[tuple[int, int, int]] = []
        n_links = p.getNumJoints(body_id, physicsClientId=client)
        for index in range(n_links):
            info = p.getJointInfo(body_id, index, physicsClientId=client)
            kind, link = info[2], info[12].decode()
            self.links[link] = index
            group_of[index] = group_of[info[16]] if kind == p.JOINT_FIXED else index  # its parent came before
            self.joints[info[1].decode()] = JointInfo(
                name=info[1].decode(),
                index=index,
                prismatic=kind == p.JOINT_PRISMATIC,
                movable=kind in (p.JOINT_REVOLUTE, p.JOINT_PRISMATIC),
                lower=info[8],
                upper=info[9],
                max_effort=info[10],
                max_velocity=info[11],
                axis=self._joint_axis(index, info[13]),
            )
            if kind in (p.JOINT_REVOLUTE, p.JOINT_PRISMATIC):
                numbers.append((index, info[3], info[4]))
        self.link_names = {index: link for link, index in self.links.items()}
        self.rigid_groups = tuple(
            frozenset(self.link_names[index] for index, first in group_of.items() if first == group)
            for group in sorted(set(group_of.values()))
        )
        """Groups of links that no joint moves relative to each other; the root's group first."""
        self.movable_joints = [j for j in self.joints.values() if j.movable]
        self.rows = {joint.name: row for row, joint in enumerate(self.movable_joints)}
        """Place of each movable joint in the arrays of `state`."""
        self.state = BodyState(body_id, numbers, n_links)
        """State and mechanisms of its joints, in the core; the state is that of now after `read_state`."""
        self._T_root_com = self._inertial_frame(ROOT)
        self._T_com_root = self._T_root_com.inverse()
        self._com_is_root = not self._T_root_com.p.any()
        self._poses: dict[int, tuple[bytes, Pose]] = {}
        self._root_frame: tuple[Pose | None, Array] = None, np.zeros(7)
        for index in self.links.values():
            p.changeDynamics(
                body_id,
                index,
                lateralFriction=friction,
                restitution=0.0,
                linearDamping=0.0,
                angularDamping=0.0,
                physicsClientId=client,
            )
            # in a call of its own: given with friction, Bullet drops the friction of every link but the root
            p.changeDynamics(
                body_id, index, activationState=p.ACTIVATION_STATE_DISABLE_SLEEPING, physicsClientId=client
            )
        for joint in self.movable_joints:
            # every free joint carries a default velocity motor that would brake it
            p.setJointMotorControl2(
                body_id, joint.index, p.VELOCITY_CONTROL, targetVelocity=0.0, force=0.0, physicsClientId=client
            )
            p.changeDynamics(body_id, joint.index, jointDamping=0.0, physicsClientId=client)

    @cached_property
    def solid_links(self) -> frozenset[int]:
        """Returns Bullet's numbers of the links that have colliders."""
        shapes = {i: p.getCollisionShapeData(self.body_id, i, physicsClientId=self.client) for i in self.link_names}
        return frozenset(index for index, found in shapes.items() if found)

    @property
    def mounted_links(self) -> frozenset[str]:
        """Returns the links that no joint moves: the root and the links fixed to it."""
        return self.rigid_groups[0]

    def ignore_rigid_pairs(self) -> None:
        """Switches contacts off between links of this body that no joint moves relative to each other."""
        for group in self.rigid_groups:
            for first, second in combinations(sorted(group), 2):
                self.ignore_collision(self, first, second)

    def _inertial_frame(self, index: int) -> Pose:
        """Returns the pose of a link's inertial frame in its URDF frame."""
        info = p.getDynamicsInfo(self.body_id, index, physicsClientId=self.client)
        return Pose.from_quat_xyzw(info[3], info[4])

    def _joint_axis(self, index: int, axis_com: Sequence[float]) -> tuple[float, float, float]:
        """Returns a joint's axis in the link frame; Bullet states it in the inertial frame of the child link."""
        x, y, z = self._inertial_frame(index).rotate(np.array(axis_com, dtype=float)).tolist()
        return (x, y, z)

    @cached_property
    def masses(self) -> LinkMasses:
        """Masses and inertias of its links, and the armatures added to them at joints."""
        return LinkMasses(self.client, self.body_id)

    @cached_property
    def visual_shapes(self) -> tuple[VisualShape, ...]:
        """Visual shapes of its model, link by link."""
        from unlatch.simcore.sim.visuals.kept_shapes import read_visual_shapes

        return read_visual_shapes(self.body_id, client=self.client)

    def label(self, index: int) -> str:
        """`<body>/<link>` of a link by Bullet's number, or the body's name alone for a box."""
        return f"{self.name}/{self.link_names[index]}" if self.joints else self.name

    def joint(self, name: str) -> JointInfo:
        """A joint by name.

        Raises:
            FrameNotFoundError: No such joint.
        """
        return self._find(name, "joint", self.joints)

    def link_index(self, name: str) -> int:
        """Bullet's number of a link.

        Raises:
            FrameNotFoundError: No such link.
        """
        return self._find(name, "link", self.links)

    def _find(self, name: str, kind: str, known: Mapping[str, Item]) -> Item:
        if name not in known:
            raise FrameNotFoundError(
                f"{kind.capitalize()} '{name}' is not on body '{self.name}'.{close_matches(name, known)} "
                f"{kind.capitalize()}s: {sorted(known)}.",
                **{kind: name, "available": sorted(known)},
            )
        return known[name]

    def root_pose(self) -> Pose:
        """`T_world_root` of the root link's frame."""
        there = self.read_state().root[:7]
        return self._reuse_pose(ROOT, there, lambda: Pose.from_quat_xyzw(there[:3], there[3:]) @ self._T_com_root)

    def _reuse_pose(self, index: int, there: Array, make: Callable[[], Pose]) -> Pose:
        """Returns the pose of a link; a link that has not moved, like most, keeps its last `Pose` object."""
        before, T_world_link = self._poses.get(index, (b"", None))
        key = there.tobytes()
        if T_world_link is None or before != key:
            T_world_link = make()
            self._poses[index] = (key, T_world_link)
        return T_world_link

    def set_root_pose(self, T_world_root: Pose) -> None:
        """Moves the root link's frame and sets its velocity to 0."""
        T_world_com = T_world_root @ self._T_root_com
        p.resetBasePositionAndOrientation(
            self.body_id, T_world_com.p.tolist(), T_world_com.quat_xyzw.tolist(), physicsClientId=self.client
        )
        self.forget_state()
        # a pose that is read back is the written one: the way over the centre of mass would round it
        self._poses[ROOT] = (self.read_state().root[:7].tobytes(), T_world_root)

    def link_pose(self, name: str) -> Pose:
        """`T_world_link` of a link's URDF frame.

        Raises:
            FrameNotFoundError: No such link.
        """
        index = self.link_index(name)
        if index == ROOT:
            return self.root_pose()
        there = self.read_state().links[index]
        return self._reuse_pose(index, there, lambda: Pose.from_quat_xyzw(there[:3], there[3:]))

    def link_frame(self, name: str) -> Array:
        """(7,) position and quaternion xyzw of a link's URDF frame, in the world frame.

        Raises:
            FrameNotFoundError: No such link.
        """
        index = self.link_index(name)
        if index == ROOT:
            T_world_root = self.root_pose()
            if self._root_frame[0] is not T_world_root:
                self._root_frame = T_world_root, np.concatenate([T_world_root.p, T_world_root.quat_xyzw])
            return self._root_frame[1]
        frame: Array = self.read_state().links[index]
        return frame

    def link_velocity(self, name: str) -> tuple[Array, Array]:
        """Linear (3,) [m/s] and angular velocity (3,) [rad/s] of a link's URDF frame, in the world frame.

        Raises:
            FrameNotFoundError: No such link.
        """
        p_world_com, linear, angular = self._com_motion(self.link_index(name), computeForwardKinematics=1)
        arm = self.link_pose(name).p - np.array(p_world_com)
        return np.array(linear) + np.cross(angular, arm), np.array(angular)

    def _com_motion(self, index: int, **options: int) -> tuple[tuple[float, ...], ...]:
        """Returns position, linear and angular velocity of a link's centre of mass, world frame.

        `options` are further arguments of Bullet's `getLinkState`.
        """
        if index == ROOT:
            position = p.getBasePositionAndOrientation(self.body_id, physicsClientId=self.client)[0]
            return (position, *p.getBaseVelocity(self.body_id, physicsClientId=self.client))
        state = p.getLinkState(self.body_id, index, computeLinkVelocity=1, physicsClientId=self.client, **options)
        return state[0], state[6], state[7]

    def apply_force(self, index: int, force_n: Array, p_world: Array | None = None) -> None:
        """Applies a force (3,) to a link for one step, at a point (3,) or at its centre of mass, world frame [N, m].

        The link is given by Bullet's number.
        """
        where = self._com_motion(index)[0] if p_world is None else p_world.tolist()
        p.applyExternalForce(self.body_id, index, force_n.tolist(), where, p.WORLD_FRAME, physicsClientId=self.client)

    def root_velocity(self) -> tuple[Array, Array]:
        """Linear (3,) [m/s] and angular velocity (3,) [rad/s] of the root link's frame, in the world frame."""
        if not self._com_is_root:
            return self.link_velocity(self.root_link)
        root = self.read_state().root
        return root[7:10].copy(), root[10:13].copy()

    def set_root_velocity(self, linear_m_s: ArrayLike, angular_rad_s: ArrayLike) -> None:
        """Sets linear (3,) and angular velocity (3,) of the root link's frame, in the world frame; a free body only."""
        linear, angular = np.asarray(linear_m_s, dtype=float), np.asarray(angular_rad_s, dtype=float)
        if not self._com_is_root:
            p_world_com = np.array(p.getBasePositionAndOrientation(self.body_id, physicsClientId=self.client)[0])
            linear = linear + np.cross(angular, p_world_com - self.root_pose().p)
        p.resetBaseVelocity(self.body_id, linear.tolist(), angular.tolist(), physicsClientId=self.client)
        self.forget_state()

    def point_velocity(self, index: int, p_world: Iterable[float]) -> Array:
        """(3,) velocity of a point (3,) that moves with a link, world frame [m/s]; the link by Bullet's number."""
        com, linear, angular = self._com_motion(index)
        # written out: np.cross of two triples takes ten times as long, and this runs for every contact
        (x, y, z), (wx, wy, wz) = (float(a) - b for a, b in zip(p_world, com, strict=True)), angular
        return np.array([linear[0] + (wy * z - wz * y), linear[1] + (wz * x - wx * z), linear[2] + (wx * y - wy * x)])

    def joint_states(self, names: Sequence[str] | None = None) -> tuple[Array, Array, Array]:
        """Positions, velocities and motor efforts (n,) of joints, all movable ones by default [rad or m, N m or N].

        Efforts are those of the last physics step.
        """
        state = self.read_state()
        if names is None:
            return state.q.copy(), state.dq.copy(), state.effort.copy()
        rows = self.rows_of(names)
        return state.q[rows], state.dq[rows], state.effort[rows]

    def rows_of(self, names: Sequence[str]) -> Array:
        """Returns the rows (n,) of joints in the arrays of `state`.

        Raises:
            FrameNotFoundError: No such joint.
            WorldError: A joint cannot move.
        """
        fixed = [self.joint(name).name for name in names if name not in self.rows]
        if fixed:
            raise WorldError(f"Joints {fixed} of body '{self.name}' cannot move and have no state. Leave them out.")
        return np.array([self.rows[name] for name in names], dtype=int)

    def joint_positions(self, names: Sequence[str]) -> Array:
        """Positions (n,) of joints [rad or m]."""
        return self.read_state().q[self.rows_of(names)]

    def max_joint_speed(self) -> float:
        """Largest speed of a movable joint now [rad/s or m/s]; 0 without movable joints."""
        return float(np.abs(self.read_state().dq).max(initial=0.0))

    @property
    def frame_speed(self) -> float:
        """Largest speed of a movable joint in the physics steps of this record frame [rad/s or m/s]."""
        return float(self.state.struct.max_speed)

    @property
    def fastest_joint(self) -> JointInfo:
        """The joint that had `frame_speed`."""
        return self.movable_joints[self.state.struct.fastest]

    def read_state(self) -> BodyState:
        """Returns the state of now; it is read only if a physics step or a method of this class has changed it."""
        if self.state.struct.is_known != WITH_LINKS:
            self.core.read(self.state)
        return self.state

    def forget_state(self) -> None:
        """Lets the state be read anew, since the body may have moved."""
        self.state.struct.is_known = 0

    def set_joint_positions(
        self, names: Sequence[str], positions: ArrayLike, velocities: ArrayLike | None = None
    ) -> None:
        """Writes joint positions (n,) and velocities (n,; zero by default), past the motors: for resets and replay."""
        values = np.asarray(positions, dtype=float)
        speeds = np.zeros_like(values) if velocities is None else np.asarray(velocities, dtype=float)
        if not len(names) == len(values) == len(speeds):
            raise WorldError(
                f"Body '{self.name}' got {len(values)} positions and {len(speeds)} velocities for {len(names)} joints. "
                "Give one of each per joint.",
                body=self.name,
            )
        if not len(names):
            return
        self.forget_state()
        # in one call: Bullet updates all links in each
        p.resetJointStatesMultiDof(
            self.body_id,
            [self.joint(name).index for name in names],
            values[:, None].tolist(),
            speeds[:, None].tolist(),
            physicsClientId=self.client,
        )

    def set_contact_material(
        self,
        link: str,
        *,
        friction: float,
        spinning_friction: float = 0.0,
        friction_anchor: bool = False,
        stiffness_n_m: float = 0.0,
        damping_n_s_m: float = 0.0,
    ) -> None:
        """Sets the friction of one link; Bullet multiplies the coefficients of two links in contact.

        Args:
            link: The link.
            friction: Coefficient of sliding friction.
            spinning_friction: Coefficient of friction about the contact's normal.
            friction_anchor: Whether sticking contacts are anchored against drift.
            stiffness_n_m: Stiffness of each contact point, such as of a rubber pad [N/m]; 0 = rigid.
            damping_n_s_m: Damping of each compliant contact point [N s/m].
        """
        soft = {"contactStiffness": stiffness_n_m, "contactDamping": damping_n_s_m} if stiffness_n_m > 0.0 else {}
        p.changeDynamics(
            self.body_id,
            self.link_index(link),
            lateralFriction=friction,
            spinningFriction=spinning_friction,
            frictionAnchor=int(friction_anchor),
            **soft,
            physicsClientId=self.client,
        )

    def set_rolling_friction(self, arm_m: float) -> None:
        """Sets the rolling friction of all links: its moment is the force of a contact times this arm [m]."""
        for index in self.links.values():
            p.changeDynamics(self.body_id, index, rollingFriction=arm_m, physicsClientId=self.client)

    def ignore_collision(self, other: Body, link: str, other_link: str) -> None:
        """Switches contacts between two links off permanently."""
        first, second = self.link_index(link), other.link_index(other_link)
        if first in self.solid_links and second in other.solid_links:  # each call costs up to 60 us
            p.setCollisionFilterPair(self.body_id, other.body_id, first, second, 0, physicsClientId=self.client)

    def find_overlaps(self, least_m: float) -> list[tuple[str, str]]:
        """Returns pairs of links of this body that overlap by more than `least_m` now [m]."""
        found = []
        solid = sorted(self.solid_links)
        boxes = {i: p.getAABB(self.body_id, i, physicsClientId=self.client) for i in solid}
        for first, second in combinations(solid, 2):
            (low, high), (other_low, other_high) = boxes[first], boxes[second]
            if any(a > b for a, b in (*zip(low, other_high, strict=True), *zip(other_low, high, strict=True))):
                continue
            points = p.getClosestPoints(self.body_id, self.body_id, 0.0, first, second, physicsClientId=self.client)
            if min((point[8] for point in points), default=0.0) < -least_m:
                found.append((self.link_names[first], self.link_names[second]))
        return found

    def restore_as_loaded(self, T_world_root: Pose) -> None:
        """Moves the body to a pose with all joints at 0, and drops the contacts that Bullet keeps of it.

        Kept contacts change later ones: without them, contacts are those of a body that was just loaded.
        """
        self.set_joint_positions([joint.name for joint in self.movable_joints], np.zeros(len(self.movable_joints)))
        self.set_root_pose(T_world_root)
        self.drop_kept_contacts()

    def drop_kept_contacts(self) -> None:
        """Drops the contact points that Bullet keeps of this body from step to step; the next step finds them anew."""
        # a pair that cannot touch anyway: Bullet adds the colliders of both bodies to its broad phase anew
        p.setCollisionFilterPair(self.body_id, self.body_id, ROOT, ROOT, 0, physicsClientId=self.client)

    def stand_on(self, other: Body) -> None:
        """Switches contacts off between the immovable links of this body and the body without joints below it."""
        for link in sorted(self.mounted_links - {self.root_link}):
            self.ignore_collision(other, link, other.root_link)

    def aabb(self) -> Array:
        """(2, 3) lower and upper corner of all links' bounding boxes in the world [m]."""
        corners = np.array([self.link_aabb(name) for name in self.links])  # (L, 2, 3)
        return np.stack([corners[:, 0].min(axis=0), corners[:, 1].max(axis=0)])

    def link_aabb(self, name: str) -> Array:
        """(2, 3) lower and upper corner of a link's bounding box in the world [m].

        Raises:
            FrameNotFoundError: No such link.
        """
        return np.array(p.getAABB(self.body_id, self.link_index(name), physicsClientId=self.client))

    def __repr__(self) -> str:
        return f"Body({self.name}, joints={[j.name for j in self.movable_joints]})"


def moved_links(body: Body, joint: str) -> frozenset[int]:
    """Returns the numbers of the links that move with a joint of a body."""
    moved = {body.joint(joint).index}
    for index in range(p.getNumJoints(body.body_id, physicsClientId=body.client)):  # a parent comes before its children
        if p.getJointInfo(body.body_id, index, physicsClientId=body.client)[16] in moved:
            moved.add(index)
    return frozenset(moved)
