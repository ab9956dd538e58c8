"""Views of rigid bodies and of articulated bodies, one in each environment, and of the errors of estimated poses."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pybullet as p

from unlatch.simcore.errors import WorldError
from unlatch.simcore.geometry import Array, Pose
from unlatch.simcore.sim.attribute_views import AttributeView, BodyView
from unlatch.simcore.sim.bodies import ROOT, Body
from unlatch.simcore.sim.contact_properties import ContactMaterials, ContactOffset
from unlatch.simcore.sim.drives import DriveGroup, DriveMode, JointDrive
from unlatch.simcore.sim.impedance import MAX_DAMPING_RATIO
from unlatch.simcore.sim.joint_gates import JointGates
from unlatch.simcore.sim.joint_mechanisms import ClosedStop, TendonCfg
from unlatch.simcore.sim.pose_estimate_error import PoseEstimateError
from unlatch.simcore.sim.world import World

LEAST_MASS_KG = 1e-6
LEAST_INERTIA_KG_M2 = 1e-9


class RigidPrimView(BodyView):
    """Bodies of one link. Fixed bodies have only a pose and a material."""

    kind = "rigid prim view"

    def __init__(
        self, world: World, bodies: Sequence[Body], *, name: str, origins: Sequence[Pose] | None = None
    ) -> None:
        """Makes a view; see `BodyView`.

        Raises:
            WorldError: A body has movable joints, or an error of `BodyView`.
        """
        super().__init__(world, bodies, name=name, origins=origins)
        for body in self.bodies:
            if body.movable_joints:
                raise WorldError(
                    f"Body '{body.name}' of view '{name}' has joints that move. Make an ArticulationView of it.",
                    view=name,
                )
        self._materials = [ContactMaterials(world, body, [ROOT]) for body in self.bodies]
        self._offsets: dict[int, ContactOffset] = {}
        self._forces: dict[int, Array] = {}
        self._registered = False
        self._add_pose_and_velocity()
        fixed = self.bodies[0].fixed
        if not fixed:
            self._add_dynamics()
        self._add_attribute(
            "material_properties",
            3,
            "-",
            "static friction, dynamic friction, restitution",
            lambda env: self._materials[env].values(),
            lambda env, values: self._materials[env].set_values(values),
            least=0.0,
        )
        if not fixed:
            self._add_offsets()
        else:
            reason = "it stands still. Leave it out, or view a free body"
            self._missing.update(dict.fromkeys(("force", "mass", "inertia", "contact_offset", "rest_offset"), reason))

    def _add_dynamics(self) -> None:
        self._add_attribute("force", 3, "N", "x, y, z", self._read_force, self._set_force, lasts_one_step=True)
        self._add_attribute(
            "mass",
            1,
            "kg",
            "mass",
            lambda env: np.array([self.bodies[env].masses.link(ROOT).mass_kg]),
            lambda env, values: self.bodies[env].masses.set_mass(ROOT, float(values[0])),
            least=LEAST_MASS_KG,
        )
        self._add_attribute(
            "inertia",
            3,
            "kg m^2",
            "about the principal axes x, y, z",
            lambda env: self.bodies[env].masses.link(ROOT).inertia_kg_m2.copy(),
            lambda env, values: self.bodies[env].masses.set_inertia(ROOT, values),
            least=LEAST_INERTIA_KG_M2,
        )

    def _add_offsets(self) -> None:
        for name, field in (("contact_offset", "contact_m"), ("rest_offset", "rest_m")):

            def read(env: int, field: str = field) -> Array:
                return np.array([getattr(self._offset_of(env), field)])

            def write(env: int, values: Array, field: str = field) -> None:
                self._offset_of(env).set(**{field: float(values[0])})

            self._add_attribute(name, 1, "m", "offset", read, write, least=0.0)

    def _offset_of(self, env: int) -> ContactOffset:
        if env not in self._offsets:
            self._offsets[env] = ContactOffset(self.world, self.bodies[env])
        return self._offsets[env]

    def _read_force(self, env: int) -> Array:
        return self.origins[env].R.T @ self._forces.get(env, np.zeros(3))

    def _set_force(self, env: int, values: Array) -> None:
        if not np.any(values):
            self._forces.pop(env, None)
            return
        self._forces[env] = self.origins[env].R @ values
        if not self._registered:
            self.world.call_before_step(self._apply_forces)
            self._registered = True

    def _apply_forces(self) -> None:
        for env, force in self._forces.items():
            self.bodies[env].apply_force(ROOT, force)


_SERVO_FIELDS = {"stiffness": "position_gain", "damping": "velocity_gain"}
"""The fields of a servo for these two attributes."""
_WITH_TARGETS = (DriveMode.servo, DriveMode.impedance)
"""Modes whose targets move with at most `max_velocity`."""
_TENDONS = (
    ("tendon_stiffnesses", "stiffness", "N/m", 0.0),
    ("tendon_dampings", "damping", "N s/m", 0.0),
    ("tendon_limit_stiffnesses", "limit_stiffness", "N/m", 0.0),
    ("tendon_lower_limits", "lower_limit", "m", None),
    ("tendon_upper_limits", "upper_limit", "m", None),
    ("tendon_rest_lengths", "rest_length", "m", None),
    ("tendon_offsets", "offset", "m", None),
)
"""Attribute, field of `TendonCfg`, unit and least value."""
_NO_STOP = ClosedStop(closed=0.0, sign=1.0)
"""A joint without catch and gasket."""
_NO_LIMIT = 1e9
"""The number for no limit of a position, speed or effort."""


class ArticulationView(BodyView):
    """Bodies with joints; values are in the order of `joints` and `links`."""

    kind = "articulation view"

    def __init__(
        self,
        world: World,
        bodies: Sequence[Body],
        *,
        name: str,
        origins: Sequence[Pose] | None = None,
        drives: Sequence[Sequence[DriveGroup]] | None = None,
        joints: Sequence[str] | None = None,
        links: Sequence[str] | None = None,
        tendons: Sequence[TendonCfg] = (),
    ) -> None:
        """Makes a view.

        Args:
            world: The world that the bodies are in.
            bodies: One body per environment.
            name: Name of the view.
            origins: `T_world_env` of every environment.
            drives: The drive groups of every body; joints in none of them get a passive drive.
            joints: The joints of the view; by default all movable ones.
            links: The links of the view; by default all, the root first.
            tendons: The fixed tendons of each body.

        Raises:
            WorldError, FrameNotFoundError: A joint or link is missing or cannot move, or an error of `BodyView`.
        """
        super().__init__(world, bodies, name=name, origins=origins)
        first = self.bodies[0]
        self.joints = tuple(joints) if joints is not None else tuple(joint.name for joint in first.movable_joints)
        self.links = tuple(links) if links is not None else tuple(first.links)
        for joint in self.joints:
            if not first.joint(joint).movable:
                raise WorldError(f"Joint '{joint}' of view '{name}' is fixed. Name joints that move.", view=name)
        self._link_indices = [first.link_index(link) for link in self.links]
        self._groups = [
            self._groups_of(body, drives[env] if drives is not None else ()) for env, body in enumerate(self.bodies)
        ]
        self._materials = [ContactMaterials(world, body, self._link_indices) for body in self.bodies]
        self._limits = [self._limits_of(body) for body in self.bodies]
        self._efforts = np.zeros((self.count, self.num_dof))
        self._max_velocities = np.array([self._max_speeds(env) for env in range(self.count)]).reshape(self.count, -1)
        self._speed_parts = [self._split_by_group(env, "max_velocity") for env in range(self.count)]
        self.tendons = [Tendons(world, body, tendons) for body in self.bodies]
        self._add_pose_and_velocity()
        self._add_joints()
        self._add_links()
        self._add_tendons()

    @property
    def num_dof(self) -> int:
        """Number of joints."""
        return len(self.joints)

    @property
    def num_bodies(self) -> int:
        """Number of links, including the root."""
        return len(self.links)

    def _groups_of(self, body: Body, given: Sequence[DriveGroup]) -> dict[str, DriveGroup]:
        found = {joint: group for group in given for joint in group.drives}
        free = [joint for joint in self.joints if joint not in found]
        if free:
            own = DriveGroup(body, {joint: JointDrive(DriveMode.passive) for joint in free}, world=self.world)
            found.update(dict.fromkeys(free, own))
        return {joint: found[joint] for joint in self.joints}

    def _limits_of(self, body: Body) -> Array:
        """Returns (2, n) lower and upper limits of the model."""
        limits = [(body.joint(name).lower, body.joint(name).upper) for name in self.joints]
        return np.array([pair if pair[0] <= pair[1] else (-_NO_LIMIT, _NO_LIMIT) for pair in limits]).reshape(-1, 2).T

    def _max_speeds(self, env: int) -> list[float]:
        """Returns the present speed limits; a joint without servo has none until one is set."""
        drives = [self._drive_of(env, joint) for joint in self.joints]
        return [drive.max_velocity if drive.mode in _WITH_TARGETS else _NO_LIMIT for drive in drives]

    def _drive_of(self, env: int, joint: str) -> JointDrive:
        return self._groups[env][joint].drives[joint]

    def _add_joints(self) -> None:
        self._add_drive_field("stiffness", "stiffness", "N m/rad or N/m; of a servo its position gain")
        by_ratio = [self._drive_of(0, joint).mode is DriveMode.impedance for joint in self.joints]
        most_damping = np.where(by_ratio, MAX_DAMPING_RATIO, np.inf)
        unit = "N m s/rad or N s/m; of a servo its velocity gain"
        self._add_drive_field("damping", "damping", unit, most=most_damping)
        self._add_drive_field("joint_friction", "friction", "N m or N")
        self._add_closed_stop("catch", least=0.0)
        self._add_closed_stop("gasket")
        self._add_gate_value("mechanism_efforts", "N m or N", JointGates.effort, JointGates.scale_efforts)
        self._add_gate_value("mechanism_thresholds", "rad or m", JointGates.threshold, JointGates.scale_thresholds)
        for row, (name, unit) in enumerate((("joint_positions", "rad or m"), ("joint_velocities", "rad/s or m/s"))):
            self._add_joint_state(name, unit, row)
        for row, name in enumerate(("lower_dof_limits", "upper_dof_limits")):
            self._add_limits(name, row)
        self._add_drive_field("max_efforts", "max_effort", "N m or N")
        self._add_drive_field("joint_armatures", "armature", "kg m^2 or kg")
        self._add_joint_attribute(
            "joint_max_velocities",
            "rad/s or m/s",
            lambda env: self._max_velocities[env].copy(),
            self._set_speed_limits,
            least=0.0,
        )
        self._add_joint_attribute(
            "joint_efforts", "N m or N", lambda env: self._efforts[env].copy(), self._set_efforts, lasts_one_step=True
        )

    def _add_joint_attribute(
        self,
        name: str,
        unit: str,
        read: Callable[[int], Array],
        write: Callable[[int, Array], None],
        **options: Any,
    ) -> None:
        words = f"one per joint: {', '.join(self.joints)}"
        self._add_attribute(name, self.num_dof, unit, words, read, write, **options)

    def _add_drive_field(self, name: str, field: str, unit: str, **options: Any) -> None:
        """Adds a field of the joints' drives."""
        parts = [self._split_by_group(env, field) for env in range(self.count)]

        def read(env: int) -> Array:
            drives = [self._drive_of(env, joint) for joint in self.joints]
            return np.array([getattr(drive, _drive_field_name(drive, field)) for drive in drives], dtype=float)

        def write(env: int, values: Array) -> None:
            given = values.tolist()
            for group, own_field, names, places in parts[env]:
                group.change(own_field, names, [given[place] for place in places])

        self._add_joint_attribute(name, unit, read, write, least=0.0, **options)

    def _add_closed_stop(self, what: str, **options: Any) -> None:
        """Adds the efforts of catches or gaskets at the joints' closed stops; joints without one have 0 and keep it."""
        field = f"{what}_effort"

        def stop_of(env: int, joint: str) -> ClosedStop:
            return self._groups[env][joint].closed_stops.get(joint, _NO_STOP)

        def read(env: int) -> Array:
            return np.array([getattr(stop_of(env, joint), field) for joint in self.joints], dtype=float)

        def write(env: int, values: Array) -> None:
            for joint, value in zip(self.joints, values.tolist(), strict=True):
                stop = stop_of(env, joint)
                if value != getattr(stop, field):
                    self._groups[env][joint].set_closed_stop(joint, stop.with_effort(what, value))

        self._add_joint_attribute(f"{field}s", "N m or N", read, write, **options)

    def _add_gate_value(
        self,
        name: str,
        unit: str,
        value_of: Callable[[JointGates, str], float],
        scale: Callable[[JointGates, str, float], None],
    ) -> None:
        """Adds a value of the joints' gates; joints without have 0 and keep it."""

        def read(env: int) -> Array:
            gates = [self._groups[env][joint].gates for joint in self.joints]
            return np.array([0.0 if g is None else value_of(g, j) for g, j in zip(gates, self.joints, strict=True)])

        def write(env: int, values: Array) -> None:
            for joint, value, old in zip(self.joints, values.tolist(), read(env).tolist(), strict=True):
                gates = self._groups[env][joint].gates
                if gates is not None and old > 0.0:
                    scale(gates, joint, value / old)
                elif value != 0.0:
                    raise WorldError(
                        f"{name} of joint '{joint}' is set to {value:g}, but no mechanism of the object has such a "
                        "value there. Give this joint 0, or state a mechanism in the annotation."
                    )

        self._add_joint_attribute(name, unit, read, write, least=0.0)

    def _split_by_group(self, env: int, field: str) -> list[tuple[DriveGroup, str, list[str], list[int]]]:
        """Splits a member's joints by drive group and mode: group, name of its field, joint names and their places."""
        parts: dict[tuple[int, DriveMode], tuple[DriveGroup, str, list[str], list[int]]] = {}
        for place, joint in enumerate(self.joints):
            group = self._groups[env][joint]
            drive = group.drives[joint]
            part = parts.setdefault((id(group), drive.mode), (group, _drive_field_name(drive, field), [], []))
            part[2].append(joint)
            part[3].append(place)
        return list(parts.values())

    def _add_joint_state(self, name: str, unit: str, row: int) -> None:
        """Adds the positions (row 0) or velocities (row 1) of the joints."""

        def write(env: int, values: Array) -> None:
            states = list(self.bodies[env].joint_states(self.joints)[:2])
            states[row] = values
            self.bodies[env].set_joint_positions(self.joints, *states)

        self._add_joint_attribute(name, unit, lambda env: self.bodies[env].joint_states(self.joints)[row], write)

    def _add_limits(self, name: str, row: int) -> None:
        """Adds the lower (row 0) or upper (row 1) limits of the joints."""

        def write(env: int, values: Array) -> None:
            self._limits[env][row] = values
            body = self.bodies[env]
            for joint, lower, upper in zip(self.joints, *self._limits[env].tolist(), strict=True):
                p.changeDynamics(
                    body.body_id,
                    body.joint(joint).index,
                    jointLowerLimit=lower,
                    jointUpperLimit=max(lower, upper),  # a lower limit above the upper one means none for Bullet
                    physicsClientId=body.client,
                )

        self._add_joint_attribute(name, "rad or m", lambda env: self._limits[env][row].copy(), write)

    def _set_speed_limits(self, env: int, values: Array) -> None:
        self._max_velocities[env] = values
        given = values.tolist()
        for group, _, names, places in self._speed_parts[env]:
            if group.drives[names[0]].mode in _WITH_TARGETS:
                group.change("max_velocity", names, [given[place] for place in places])
                continue
            for name, place in zip(names, places, strict=True):
                group.limit_speed(name, given[place] if given[place] < _NO_LIMIT else math.inf)

    def _set_efforts(self, env: int, values: Array) -> None:
        self._efforts[env] = values
        for joint, value in zip(self.joints, values.tolist(), strict=True):
            self._groups[env][joint].set_effort(joint, value)

    def _add_links(self) -> None:
        one_per_link = f"one per link: {', '.join(self.links)}"
        count = self.num_bodies
        self._add_attribute("body_masses", count, "kg", one_per_link, self._read_masses, self._set_masses, least=0.0)
        self._add_attribute(
            "body_inertias",
            3 * count,
            "kg m^2",
            f"three principal moments, {one_per_link}",
            self._read_inertias,
            self._set_inertias,
            least=0.0,
        )
        self._add_attribute(
            "material_properties",
            3 * count,
            "-",
            f"static friction, dynamic friction, restitution for all links, or {one_per_link}",
            lambda env: self._materials[env].values(),
            lambda env, values: self._materials[env].set_values(values),
            least=0.0,
            repeat=3,
        )

    def _has_mass_effect(self, env: int, index: int) -> bool:
        """Returns whether a link's mass has an effect: that of a fixed root has none."""
        return not (index == ROOT and self.bodies[env].fixed)

    def _read_masses(self, env: int) -> Array:
        return np.array([self.bodies[env].masses.link(index).mass_kg for index in self._link_indices])

    def _set_masses(self, env: int, values: Array) -> None:
        for index, value in zip(self._link_indices, values.tolist(), strict=True):
            if self._has_mass_effect(env, index):
                # a link without mass, such as a frame at a fixed joint, may stay massless
                massless = value == 0.0 and self.bodies[env].masses.link(index).mass_kg == 0.0
                self.bodies[env].masses.set_mass(index, value if massless else max(value, LEAST_MASS_KG))

    def _read_inertias(self, env: int) -> Array:
        return np.concatenate([self.bodies[env].masses.link(index).inertia_kg_m2 for index in self._link_indices])

    def _set_inertias(self, env: int, values: Array) -> None:
        for index, moments in zip(self._link_indices, values.reshape(-1, 3), strict=True):
            if self._has_mass_effect(env, index):
                self.bodies[env].masses.set_inertia(index, np.maximum(moments, LEAST_INERTIA_KG_M2))

    def _add_tendons(self) -> None:
        count = len(self.tendons[0])
        if not count:
            reason = "it declares no tendons. Give it `tendons`"
            self._missing.update({name: reason for name, *_ in _TENDONS})
            return
        for name, field, unit, least in _TENDONS:

            def read(env: int, field: str = field) -> Array:
                return self.tendons[env].values[field].copy()

            def write(env: int, values: Array, field: str = field) -> None:
                self.tendons[env].values[field][:] = values

            self._add_attribute(name, count, unit, "one per tendon", read, write, least=least)


def _drive_field_name(drive: JointDrive, field: str) -> str:
    return _SERVO_FIELDS.get(field, field) if drive.mode is DriveMode.servo else field


class PoseEstimateView(AttributeView):
    """Errors of an object's pose, joints and keypoints, in the single environment of an episode."""

    kind = "pose estimate view"

    def __init__(self, pose_error: PoseEstimateError, *, name: str) -> None:
        super().__init__(name)
        xyz, rpy = "x, y, z", "roll, pitch, yaw"
        self._add_array("seen_position", pose_error, "position_m", "m", xyz)
        self._add_array("seen_orientation", pose_error, "rpy_rad", "rad", rpy)
        if pose_error.joints:
            self._add_array("seen_joints", pose_error, "joint_errors", "rad or m", ", ".join(pose_error.joints))
        names = ", ".join(f"{part}.{keypoint}" for part, keypoint in pose_error.keypoints)
        words = f"{xyz} for all keypoints, or one per keypoint: {names}"
        self._add_array("seen_keypoints", pose_error, "keypoints_m", "m", words, repeat=3)


class Tendons:
    """The tendons of one body; they act before every physics step until the world's next reset."""

    def __init__(self, world: World, body: Body, cfgs: Sequence[TendonCfg]) -> None:
        """Attaches tendons.

        Raises:
            WorldError: A joint of a tendon cannot move.
            FrameNotFoundError: A joint of a tendon does not exist.
        """
        self._body = body
        self._joints: list[Array] = []
        self._coefficients: list[Array] = []
        for cfg in cfgs:
            joints = [body.joint(name) for name in cfg.joints]
            for joint in joints:
                if not joint.movable:
                    raise WorldError(
                        f"A tendon of '{body.name}' runs over joint '{joint.name}', which is fixed. Name joints that "
                        "move.",
                        joint=joint.name,
                    )
            self._joints.append(np.array([joint.index for joint in joints]))
            self._coefficients.append(np.array(cfg.coefficients, dtype=float))
        self.values = {name: np.array([getattr(cfg, name) for cfg in cfgs], dtype=float) for _, name, *_ in _TENDONS}
        """(T,) values by field of `TendonCfg`; they may be changed and act from the next step on."""
        if cfgs:
            world.call_before_step(self._apply_tensions)

    def __len__(self) -> int:
        return len(self._joints)

    def tension(self, index: int) -> float:
        """Returns the present tension of a tendon [N]."""
        states = p.getJointStates(self._body.body_id, self._joints[index].tolist(), physicsClientId=self._body.client)
        q, dq = np.array([state[:2] for state in states]).T
        coefficients = self._coefficients[index]
        values = {name: array[index] for name, array in self.values.items()}
        length = float(values["offset"] + coefficients @ q)
        beyond = min(0.0, length - values["lower_limit"]) + max(0.0, length - values["upper_limit"])
        return float(
            values["stiffness"] * (length - values["rest_length"])
            + values["damping"] * (coefficients @ dq)
            + values["limit_stiffness"] * beyond
        )

    def _apply_tensions(self) -> None:
        for index, joints in enumerate(self._joints):
            tension = self.tension(index)
            if tension == 0.0:
                continue
            for joint, coefficient in zip(joints, self._coefficients[index], strict=True):
                p.setJointMotorControl2(
                    self._body.body_id,
                    int(joint),
                    p.TORQUE_CONTROL,
                    force=float(-coefficient * tension),
                    physicsClientId=self._body.client,
                )
