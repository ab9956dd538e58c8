"""An articulated object in a world, as a Module."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from unlatch.objects.annotation import Part, PartKind
from unlatch.objects.annotation_entries import Catch, Gasket, Region
from unlatch.objects.articulated_object import ObjectAsset
from unlatch.objects.closing_force_values import handle_lever_m, moved_inertia
from unlatch.simcore.closing_profile import DRAWING_SPEED_M_S
from unlatch.simcore.geometry import Pose, matrix_from_quat_xyzw
from unlatch.simcore.sim.bodies import Body
from unlatch.simcore.sim.drives import DriveGroup, DriveMode, JointDrive
from unlatch.simcore.sim.joint_mechanisms import ClosedStop
from unlatch.simcore.sim.pose_estimate_error import PoseEstimateError
from unlatch.simcore.sim.world import World
from unlatch.simcore.state import Buffer, Module
from unlatch.simcore.urdf.model import UrdfModel

SPINDLE_KG_M2 = 3e-5
"""Inertia that turns with a knob or lever behind its panel: spindle, valve, gear. The value is that of a brass plug of
3 by 4.5 cm. A plastic knob alone has a tenth of it. So light a part rattles between two pads that press it, because
Bullet's contact solver does not converge."""
_STABLE_PHASE = 0.5
"""Largest phase of a spring and the inertia on it in a physics step [rad], and largest share of its speed that damping
takes from a part in one. Bullet adds both efforts explicitly: from 2 on, either throws the part at 100 rad/s."""
OVERLAP_M = 5e-4
"""Depth from which two links overlap [m]."""
FEET_M = 0.004
"""Height of the feet of an object that nothing fastens [m]: as far as others stand above what they stand on."""
ROLLING_FRICTION_M = 1e-3
"""Arm of the rolling friction of free objects, so that a round one comes to rest [m]."""
_NO_CATCH, _NO_GASKET = Catch(leave_n=0.0, reach_m=0.0), Gasket(pull_n=0.0, reach_m=0.0)


class SceneObject(Module):
    """The body, its joints' friction, and its annotated points in the world."""

    def __init__(self, body: Body, asset: ObjectAsset, *, world: World | None = None) -> None:
        super().__init__()
        self.body = body
        """The body in the world."""
        self.asset = asset
        """Model and annotation of the object."""
        self.joint_names = [j.name for j in body.movable_joints]
        parts = asset.articulation.parts
        for name, part in parts.items():
            body.part_names.setdefault(part.link, name)
        self._has_mechanisms = bool(asset.articulation.mechanisms)
        on_spindle = {part.joint for part in parts.values() if part.kind in (PartKind.knob, PartKind.lever)}
        drives = {
            name: JointDrive(
                mode=DriveMode.passive,
                damping=asset.damping.get(name, 0.0),
                armature=SPINDLE_KG_M2 if name in on_spindle else 0.0,
                friction=asset.friction.get(name, 0.0),
            )
            for name in self.joint_names
        }
        stiffness: Mapping[str, float] = {}
        if self._has_mechanisms:
            from unlatch.objects import acting_mechanisms as acting  # few objects have any

            if world is not None:
                drives, stiffness = acting.spring_drives(asset.articulation, asset.model, drives)
        if world is not None:
            drives = {
                name: with_stable_inertia(drive, name, asset.model, dt=world.dt, stiffness=stiffness.get(name, 0.0))
                for name, drive in drives.items()
            }
        self.drives = DriveGroup(body, drives, world=world)
        """Friction, damping and springs of its joints."""
        for part in parts.values():
            stop = closed_stop(part, asset.model)
            if stop is not None:
                self.drives.set_closed_stop(part.joint, stop)
        points = [(name, point) for name, part in parts.items() for point in part.keypoints]
        self.pose_error = PoseEstimateError(points, joints=self.joint_names)
        """The pose error of the planner: what it knows of the object, and what is true."""
        self._acted_links: dict[str, str] = {}
        self._held: frozenset[str] = frozenset()
        if self._has_mechanisms:
            self.mechanisms = acting.ActingMechanisms(body, asset.articulation, asset.model, self.drives)
        self.root_position = Buffer()
        self.root_quat_xyzw = Buffer()
        self.joint_positions = Buffer()
        self.joint_velocities = Buffer()
        self._remembers = any(mechanism.held_joints for mechanism in asset.articulation.mechanisms.values())
        if self._remembers:
            self.gates = Buffer()
        if asset.articulation.has_solid_parts:
            self._ignore_overlaps()
        if asset.free:
            body.set_rolling_friction(ROLLING_FRICTION_M)
        if asset.can_move:
            self.root_linear_velocity = Buffer()
            self.root_angular_velocity = Buffer()

    def _ignore_overlaps(self) -> None:
        """Switches contacts off between links that overlap while all parts rest: their colliders are too coarse.

        Links that meet in another pose, as a drawer and the door before it, stay solid. Links that no joint moves
        relative to each other never touch.
        """
        self.body.ignore_rigid_pairs()
        self.set_joints(self.asset.rest_positions)
        for first, second in self.body.find_overlaps(OVERLAP_M):
            self.body.ignore_collision(self.body, first, second)

    def keep_parts_off(self, support: Body) -> None:
        """Switches contacts off between what the object stands on and parts that would rub on it.

        An object stands on its body, as if it had feet of `FEET_M`: doors are flush with the underside of many.
        """
        self.set_joints(self.asset.rest_positions)
        lows = {link: float(self.body.link_aabb(link)[0, 2]) for link in self.body.links}
        lowest = min(lows.values())
        for link, low in lows.items():
            if link not in self.body.mounted_links and low < lowest + FEET_M:
                self.body.ignore_collision(support, link, support.root_link)

    @property
    def free(self) -> bool:
        """Whether a hand can carry the object away."""
        return self.asset.free

    @property
    def can_move(self) -> bool:
        """Whether the whole object moves if it is pushed."""
        return self.asset.can_move

    def speed(self) -> float:
        """Returns the speed of the farthest point of the object now, at most [m/s]; 0 of one that is fastened."""
        if not self.can_move:
            return 0.0
        linear, angular = self.body.root_velocity()
        reach = float(np.linalg.norm(self.asset.bounds_obj, axis=1).max())
        return float(np.linalg.norm(linear)) + reach * float(np.linalg.norm(angular))

    def acted_link(self, arm: str) -> str | None:
        """Returns the link of the part that an arm acts on now; contact views split by it."""
        return self._acted_links.get(arm)

    @property
    def acted_on(self) -> bool:
        """Whether an arm acts on the object now; otherwise the object is part of the environment."""
        return bool(self._acted_links)

    def act_on(self, part: str | None, *, arm: str, link: str | None = None) -> None:
        """Sets the part that an arm acts on from now on; None = the whole object, which is free.

        `link` names another link that its fingers may touch.
        """
        own = self.body.root_link if part is None else self.asset.articulation.part(part).link
        self._acted_links[arm] = own if link is None else link

    def stop_acting(self, arm: str) -> None:
        """Records that an arm no longer acts on the object."""
        self._acted_links.pop(arm, None)

    def joint_index(self, joint: str) -> int:
        """Returns the index of a joint in the arrays of this module."""
        self.body.joint(joint)
        return self.joint_names.index(joint)

    def joint_position(self, joint: str) -> float:
        """Returns the position of a joint now [rad or m]."""
        return float(self.body.joint_states([joint])[0][0])

    def hold(self, joints: frozenset[str]) -> None:
        """Holds these joints at their present positions, with at most their own friction, and releases the others.

        A joint without limits brakes with its friction instead: Bullet takes 0 for both of its limits, and a motor that
        holds a place would drive it there.
        """
        for name in self.joint_names:
            if name in joints or name in self._held:
                self.drives.hold(name, enabled=name in joints and self.asset.model.joints[name].is_limited)
        self._held = joints

    def max_joint_speed(self) -> float:
        """Returns the largest joint speed now [rad/s or m/s]."""
        return self.body.max_joint_speed()

    def set_joints(self, positions: Mapping[str, float]) -> None:
        """Writes joint positions [rad or m]; used by resets only."""
        self.body.set_joint_positions(list(positions), list(positions.values()))
        if self._has_mechanisms:
            self.mechanisms.forget()

    def keypoints_world(self, part: str) -> dict[str, np.ndarray]:
        """Returns the annotated points (3,) of a part in the world, by name [m]."""
        found = self.asset.articulation.part(part)
        frames = self.frames(part)
        return {name: frames[point.frame] @ point.xyz for name, point in found.keypoints.items()}

    def frames(self, part: str) -> dict[str, Pose]:
        """Returns `T_world_*` of the frames that an annotation may name."""
        found = self.asset.articulation.part(part)
        return {
            "link": self.body.link_pose(found.link),
            "base": self.body.link_pose(found.base),
            "obj": self.body.root_pose(),
        }

    def seen_frames(self, part: str) -> dict[str, Pose]:
        """Returns `frames` with the pose error that the planner has."""
        T_world_root = self.body.root_pose()
        return {name: self.pose_error.estimate_frame(T_world_root, T) for name, T in self.frames(part).items()}

    def _read_state(self) -> None:
        T_world_root = self.body.root_pose()
        positions, velocities = self.body.read_state().joints[:2].copy()
        self._hold(
            root_position=T_world_root.p,
            root_quat_xyzw=T_world_root.quat_xyzw,
            joint_positions=positions,
            joint_velocities=velocities,
        )
        if self.can_move:
            linear, angular = self.body.root_velocity()
            self._hold(root_linear_velocity=linear, root_angular_velocity=angular)
        if self._remembers:
            self._hold(gates=self.mechanisms.gates.states())

    def _write_state(self) -> None:
        position, quat_xyzw = self.root_position.get_value(), self.root_quat_xyzw.get_value()
        T_world_root = self.body.root_pose()
        # Bullet stores the pose of the centre of mass: writing an unchanged pose would round it
        is_same = np.array_equal(position, T_world_root.p) and np.array_equal(quat_xyzw, T_world_root.quat_xyzw)
        if position is not None and quat_xyzw is not None and not is_same:
            self.body.set_root_pose(Pose.from_recorded(position, quat_xyzw))
        positions = self.joint_positions.get_value()
        if positions is not None:
            self.body.set_joint_positions(self.joint_names, positions, self.joint_velocities.get_value())
        if self._remembers and (states := self.gates.get_value()) is not None:
            self.mechanisms.gates.set_states(states)
        elif self._remembers:
            self.mechanisms.forget()
        if self.can_move:
            linear, angular = self.root_linear_velocity.get_value(), self.root_angular_velocity.get_value()
            if linear is not None and angular is not None:
                self.body.set_root_velocity(linear, angular)


class ObjectRegion(Module):
    """The pose of a region of an object, in the world frame."""

    def __init__(self, owner: SceneObject, region: Region) -> None:
        super().__init__()
        self._owner = owner
        self.region = region
        """The region."""
        self.position = Buffer()
        self.quat_xyzw = Buffer()

    @property
    def T_world_region(self) -> Pose:
        """Pose of the region's frame now."""
        return self._owner.body.link_pose(self.region.link) @ self.region.T_link_region

    def _read_state(self) -> None:
        T = self.T_world_region
        self.position.hold(T.p)
        self.quat_xyzw.hold(T.quat_xyzw)


class ObjectKeypoints(Module):
    """The annotated points of one part of an object, in the world frame."""

    def __init__(self, owner: SceneObject, part: str) -> None:
        super().__init__()
        self._body = owner.body
        found = owner.asset.articulation.part(part)
        links = {"link": found.link, "base": found.base, "obj": owner.body.root_link}
        by_link: dict[str, dict[str, np.ndarray]] = {}
        for name, point in found.keypoints.items():
            by_link.setdefault(links[point.frame], {})[name] = point.xyz
            setattr(self, name, Buffer())
        self._points = {
            link: ([self._buffers[name] for name in points], np.array(list(points.values())).T[..., None])
            for link, points in by_link.items()
        }
        """By link: buffers of its K points, and the points (3, K, 1) in its frame [m]."""
        self._last: dict[str, tuple[bytes, list[np.ndarray]]] = {}
        """By link: its last frame, and the points (3,) there: most links do not move."""

    def _read_state(self) -> None:
        for link, (buffers, (x, y, z)) in self._points.items():
            frame = self._body.link_frame(link)
            last, points = self._last.get(link, (b"", []))
            if last != frame.tobytes():
                R = matrix_from_quat_xyzw(frame[3:])
                # summed as in `multiply_in_order`, for all points at once
                points = list(R[:, 0] * x + R[:, 1] * y + R[:, 2] * z + frame[:3])
                self._last[link] = frame.tobytes(), points
            for buffer, point in zip(buffers, points, strict=True):
                buffer.hold(point)


def with_stable_inertia(
    drive: JointDrive, joint: str, model: UrdfModel, *, dt: float, stiffness: float = 0.0
) -> JointDrive:
    """Returns the drive of a joint with the armature that its damping and springs need to be stable.

    Files of others give a lever of a gram a damping of 2 N m s/rad, which would stop it within a hundredth of a step.

    Args:
        drive: The drive.
        joint: The joint of the model that it drives.
        model: Masses and inertias of the links that the joint moves.
        dt: A physics step [s].
        stiffness: Sum of the stiffnesses that act on the joint [N m/rad or N/m].
    """
    least = max(stiffness * (dt / _STABLE_PHASE) ** 2, drive.damping * dt / _STABLE_PHASE)
    if least <= drive.armature:
        return drive
    return replace(drive, armature=max(drive.armature, least - moved_inertia(joint, model)))


def closed_stop(part: Part, model: UrdfModel) -> ClosedStop | None:
    """Returns the efforts at the closed stop of a part; None if it has neither catch nor gasket."""
    forces = part.closing_forces
    if forces is None or forces.reach_m == 0.0:
        return None
    lever = handle_lever_m(part, model)
    catch, gasket = forces.catch or _NO_CATCH, forces.gasket or _NO_GASKET
    return ClosedStop(
        closed=part.openness.closed,
        sign=part.openness.sign,
        catch_effort=catch.leave_n * lever,
        enter_share=catch.enter_n / catch.leave_n if catch.leave_n else 0.0,
        catch_reach=catch.reach_m / lever,
        gasket_effort=gasket.pull_n * lever,
        gasket_reach=gasket.reach_m / lever,
        drawing_speed=DRAWING_SPEED_M_S / lever,
    )
