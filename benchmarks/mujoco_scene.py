"""Builds the scene of a recorded episode in MuJoCo, from the inputs that the Bullet scene is built from.

Nothing of the Bullet scene is read: robot and objects come from their URDFs, poses from the recorded layout, motors
from the robot's description, and the friction and damping of joints from the object. Each URDF link becomes a body, so
masses, inertias and joint axes are those of the files. Needs the extra `bench`.

Links of the robot never touch each other if no joint moves one relative to the other, if one is the parent of the
other, or if `RobotCfg.self_collision_ignored` names them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
from mujoco_shapes import CONTACT_SOLREF, ShapeBuilder, Surface, placed

from unlatch.objects.annotation import PartKind
from unlatch.objects.articulated_object import ObjectAsset
from unlatch.objects.friction import OBJECT_FRICTION
from unlatch.objects.mechanisms import Detent, Mimic, Spring, spring_at
from unlatch.objects.scene_object import OVERLAP_M, SPINDLE_KG_M2
from unlatch.robots.description import ArmCfg, GripperCfg, RobotCfg, base_pose
from unlatch.robots.models import model_path
from unlatch.simcore.extras import import_extra
from unlatch.simcore.geometry import Pose
from unlatch.simcore.urdf.model import Inertial, Joint, Link, Shape, ShapeKind, UrdfModel, rigid_links
from unlatch.simcore.urdf.reader import read_urdf
from unlatch.tasks.layout import Layout, plinth_name
from unlatch.workflows.episode.scene import standing_boxes

STEP_HZ = 960
"""Physics steps per second: four in each step of Bullet."""
BODY_FRICTION = 0.6
"""Friction of table, plinths, and links of the robot other than fingers (default of `World.load_urdf`)."""
FRICTION_IMPEDANCE_RATIO = 100.0
"""`impratio`: how much stiffer friction is than the normal force. Coulomb friction does not creep; with MuJoCo's
default of 1, knobs slip through the fingers."""
DRY_FRICTION_IMPEDANCE = 0.9999
"""`solimpfriction` of the joints of objects, the largest there is. With the default of 0.9, a joint creeps under loads
below its dry friction: the lever of a toaster by 4 mm."""
FINGER_YIELD_M = 0.001
"""How far a finger is from its target where its motor presses with its whole effort; the damping is critical."""
ROBOT = "robot"
"""Beginning of the names of the robot's bodies and joints."""
ROOT_JOINT = "root"
"""Joint by which an object that nothing fastens moves as a whole."""
_SLIDE = 2
"""MuJoCo's number of a sliding joint, `mjJNT_SLIDE`."""


@dataclass(frozen=True)
class MujocoScene:
    """A model with the names by which the replay finds joints and motors."""

    model: Any
    """`mujoco.MjModel`."""
    robot: RobotCfg
    """The robot, with the grip force of the episode."""
    objects: Mapping[str, tuple[str, ...]]
    """Movable joints of each object, in the order of a record's `joint_positions`."""

    def qpos(self, owner: str, joint: str) -> int:
        """Returns the index of a joint in `qpos`; owner is `ROBOT` or the name of an object."""
        return int(self.model.jnt_qposadr[self.joint(owner, joint)])

    def dof(self, owner: str, joint: str) -> int:
        """Returns the index of a joint in `qvel`."""
        return int(self.model.jnt_dofadr[self.joint(owner, joint)])

    def motor(self, joint: str) -> int:
        """Returns the index of the motor of a joint of the robot in `ctrl`."""
        return int(self.model.actuator(_name(ROBOT, joint)).id)

    def root_pose(self, owner: str, qpos: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
        """Returns position (3,) [m] and quat_xyzw (4,) of the root of an object that stands free; None: it is fixed."""
        names = {self.model.joint(index).name for index in range(self.model.njnt)}
        if _name(owner, ROOT_JOINT) not in names:
            return None
        first = self.qpos(owner, ROOT_JOINT)
        return qpos[first : first + 3].copy(), np.roll(qpos[first + 3 : first + 7], -1)

    def slides(self, owner: str, joint: str) -> bool:
        """Returns whether a joint slides."""
        return bool(self.model.jnt_type[self.joint(owner, joint)] == _SLIDE)

    def joint(self, owner: str, joint: str) -> int:
        """Returns the number of a joint."""
        return int(self.model.joint(_name(owner, joint)).id)


@dataclass(frozen=True)
class _Builder:
    """A specification that grows body by body."""

    mj: Any
    """The module `mujoco`."""
    spec: Any
    """`mujoco.MjSpec`."""
    shapes: ShapeBuilder


def build_mujoco_scene(robot: RobotCfg, assets: Mapping[str, ObjectAsset], layout: Layout) -> MujocoScene:
    """Builds table or stand, plinths, robot and objects.

    Args:
        robot: The robot; its grippers press with their `grip_force_n`.
        assets: Objects by name, in the order of the record.
        layout: Where they stand.

    Raises:
        PluginError: MuJoCo is not installed.
        AssetError: A shape has no counterpart in MuJoCo.
    """
    mj = import_extra("mujoco", extra="bench", needed_by="The second engine")
    spec = mj.MjSpec()
    build = _Builder(mj, spec, ShapeBuilder(mj, spec))
    _set_options(build)
    for box in standing_boxes(layout):
        _add_box(build, box.name, box.size_m, box.T_world_box)
    _add_robot(build, robot)
    objects = {}
    for name, asset in assets.items():
        place = layout.objects[name]
        if place.plinth_size_m is not None and place.T_world_plinth is not None:
            _add_box(build, plinth_name(name), place.plinth_size_m, place.T_world_plinth)
        objects[name] = _add_object(build, name, asset, place.T_world_root)
        _add_gears(build, name, asset)
    apart = {ROBOT: _apart_links(robot)}
    solid = {name: asset for name, asset in assets.items() if asset.articulation.has_solid_parts}
    if solid:
        apart |= _apart_parts(build, solid)
    build.shapes.add_pairs(apart)
    scene = MujocoScene(build.spec.compile(), robot, objects)
    for name, asset in assets.items():
        for joint, damping in asset.damping.items():
            scene.model.dof_damping[scene.dof(name, joint)] = damping
        mechanisms = asset.articulation.mechanisms
        for detent in mechanisms.values():
            if isinstance(detent, Detent):
                scene.model.dof_damping[scene.dof(name, detent.joint)] += detent.damping
        for joint in {each.joint for each in mechanisms.values() if isinstance(each, Spring)}:
            if (spring := spring_at(joint, mechanisms)) is not None:
                scene.model.dof_damping[scene.dof(name, spring.joint)] += spring.damping
                scene.model.jnt_stiffness[scene.joint(name, spring.joint)] = spring.stiffness
                scene.model.qpos_spring[scene.qpos(name, spring.joint)] = spring.rest
    return scene


def with_grip_forces(robot: RobotCfg, skills: Sequence[Mapping[str, Any]]) -> RobotCfg:
    """Returns a robot whose grippers press with the forces in the entries of a record's `skills`.

    An arm without such an entry presses with the largest of these forces, within the bounds of its hand: in Bullet, all
    hands of a robot grip for the same part. Without any entry, all press with the force of their description.
    """
    forces = [(entry.get("arm"), entry["grip_force_n"]) for entry in skills if entry.get("grip_force_n") is not None]
    arms = []
    for arm in robot.arms:
        gripper, own = arm.gripper, [force_n for name, force_n in forces if name in (arm.name, None)]
        chosen = max(own or [gripper.commanded_force(force_n) for _, force_n in forces], default=gripper.grip_force_n)
        arms.append(replace(arm, gripper=replace(gripper, grip_force_n=chosen)))
    return replace(robot, arms=arms)


def _set_options(build: _Builder) -> None:
    mj, option = build.mj, build.spec.option
    option.timestep = 1.0 / STEP_HZ
    option.integrator = mj.mjtIntegrator.mjINT_IMPLICITFAST
    option.cone = mj.mjtCone.mjCONE_ELLIPTIC
    option.impratio = FRICTION_IMPEDANCE_RATIO
    option.gravity = [0.0, 0.0, -9.81]
    build.spec.compiler.degree = False
    build.spec.compiler.inertiafromgeom = mj.mjtInertiaFromGeom.mjINERTIAFROMGEOM_FALSE


def _add_box(build: _Builder, name: str, size_m: tuple[float, float, float], T_world_box: Pose) -> None:
    # the plinth of a narrow object has a negative depth, which Bullet accepts
    shape = Shape(ShapeKind.box, tuple(abs(length) for length in size_m), T_world_box)
    build.shapes.add(build.spec.worldbody, shape, Surface(name, name, moves=False, friction=BODY_FRICTION))


def _add_robot(build: _Builder, robot: RobotCfg) -> None:
    model = read_urdf(model_path(robot))
    fingers = {link: arm.gripper for arm in robot.arms for link in arm.gripper.finger_links}
    turning = {name for name, joint in model.joints.items() if joint.kind != "prismatic"}
    armatures = {
        joint: arm.gripper.armature_kg_m2 for arm in robot.arms for joint in arm.gripper.joints if joint in turning
    }
    for arm in robot.arms:
        armatures |= dict(zip(arm.joints, arm.armature, strict=True))

    def surface_of(link: str, moves: bool) -> Surface:
        gripper = fingers.get(link)
        if gripper is None:
            return Surface(ROBOT, link, moves, BODY_FRICTION)
        return Surface(ROBOT, link, moves, gripper.friction, gripper.spinning_friction)

    def finish(joint: Joint, made: Any) -> None:
        made.armature = armatures.get(joint.name, 0.0)

    _add_urdf(build, ROBOT, model, base_pose(robot), surface_of, finish)
    for arm in robot.arms:
        _add_arm_motors(build, arm)
        _couple_fingers(build, arm.gripper)
    _hold_other_joints(build, model, robot)


def _add_arm_motors(build: _Builder, arm: ArmCfg) -> None:
    gripper = arm.gripper
    for joint, most in zip(arm.joints, arm.max_effort, strict=True):
        motor = build.spec.add_actuator(name=_name(ROBOT, joint), target=_name(ROBOT, joint))
        _finish_motor(build, motor, most).set_to_motor()
    for joint, most, speed in zip(gripper.joints, gripper.efforts(), gripper.speeds(), strict=True):
        yielding = FINGER_YIELD_M * speed / gripper.max_speed_m_s  # of the joint
        motor = build.spec.add_actuator(name=_name(ROBOT, joint), target=_name(ROBOT, joint))
        _finish_motor(build, motor, most).set_to_position(kp=most / yielding, dampratio=1.0)


def _finish_motor(build: _Builder, motor: Any, max_effort: float) -> Any:
    motor.trntype = build.mj.mjtTrn.mjTRN_JOINT
    motor.forcelimited = True
    motor.forcerange = [-max_effort, max_effort]
    return motor


def _couple_fingers(build: _Builder, gripper: GripperCfg) -> None:
    """Makes the finger joints follow the first one. Bullet's coupling yields at 140 N; MuJoCo's has no such limit."""
    (first, *others), (travel, *travels), (offset, *offsets) = gripper.joints, gripper.travel(), gripper.offsets()
    for joint, its_travel, its_offset in zip(others, travels, offsets, strict=True):
        ratio = its_travel / travel
        coupling = build.spec.add_equality(name1=_name(ROBOT, joint), name2=_name(ROBOT, first))
        coupling.type = build.mj.mjtEq.mjEQ_JOINT
        coupling.objtype = build.mj.mjtObj.mjOBJ_JOINT
        coupling.data[:5] = [its_offset - ratio * offset, ratio, 0.0, 0.0, 0.0]
        coupling.solref[:] = CONTACT_SOLREF


def _hold_other_joints(build: _Builder, model: UrdfModel, robot: RobotCfg) -> None:
    """Holds joints that belong to no arm, such as those of a head, at 0."""
    used = {joint for arm in robot.arms for joint in (*arm.joints, *arm.gripper.joints)}
    for joint in model.joints.values():
        if joint.moves and joint.name not in used:
            hold = build.spec.add_equality(name1=_name(ROBOT, joint.name))
            hold.type = build.mj.mjtEq.mjEQ_JOINT
            hold.objtype = build.mj.mjtObj.mjOBJ_JOINT
            hold.data[:5] = 0.0


def _add_object(build: _Builder, name: str, asset: ObjectAsset, T_world_root: Pose) -> tuple[str, ...]:
    """Adds an object and returns its movable joints."""
    parts = asset.articulation.parts.values()
    on_spindle = {part.joint for part in parts if part.kind in (PartKind.knob, PartKind.lever)}

    def finish(joint: Joint, made: Any) -> None:
        made.frictionloss = asset.friction.get(joint.name, 0.0)
        made.armature = SPINDLE_KG_M2 if joint.name in on_spindle else 0.0
        made.solref_friction[:] = CONTACT_SOLREF
        made.solimp_friction[:2] = DRY_FRICTION_IMPEDANCE

    def surface_of(link: str, moves: bool) -> Surface:
        return Surface(name, link, moves, OBJECT_FRICTION)

    return _add_urdf(build, name, asset.model, T_world_root, surface_of, finish, stands_free=asset.can_move)


def _add_gears(build: _Builder, name: str, asset: ObjectAsset) -> None:
    """Lets the joints of an object follow each other as its mechanisms say."""
    for gear in asset.articulation.mechanisms.values():
        if isinstance(gear, Mimic):
            coupling = build.spec.add_equality(name1=_name(name, gear.joint), name2=_name(name, gear.follows))
            coupling.type = build.mj.mjtEq.mjEQ_JOINT
            coupling.objtype = build.mj.mjtObj.mjOBJ_JOINT
            coupling.data[:5] = [gear.offset, gear.ratio, 0.0, 0.0, 0.0]
            coupling.solref[:] = CONTACT_SOLREF


def _apart_parts(build: _Builder, assets: Mapping[str, ObjectAsset]) -> dict[str, set[frozenset[str]]]:
    """Returns the pairs of links of each object that never touch: neighbours, and links that overlap at rest."""
    model = build.spec.compile()
    data = build.mj.MjData(model)
    apart = {}
    for name, asset in assets.items():
        for joint, position in asset.rest_positions.items():
            data.qpos[model.jnt_qposadr[model.joint(_name(name, joint)).id]] = position
    build.mj.mj_kinematics(model, data)
    build.mj.mj_comPos(model, data)
    for name, asset in assets.items():
        links = asset.model.links
        pairs = {frozenset((joint.parent, joint.child)) for joint in asset.model.joints.values()}
        pairs |= {frozenset((link, other)) for link in links for other in rigid_links(asset.model, link)}
        geoms = {link: _geoms_of(model, _name(name, link)) for link in links}
        for first, second in combinations(links, 2):
            gaps = [
                build.mj.mj_geomDistance(model, data, a, b, 0.01, None) for a in geoms[first] for b in geoms[second]
            ]
            if min(gaps, default=1.0) < -OVERLAP_M:
                pairs.add(frozenset((first, second)))
        apart[name] = pairs
    return apart


def _geoms_of(model: Any, body: str) -> range:
    number = model.body(body).id
    return range(model.body_geomadr[number], model.body_geomadr[number] + model.body_geomnum[number])


def _add_urdf(
    build: _Builder,
    owner: str,
    model: UrdfModel,
    T_world_root: Pose,
    surface_of: Callable[[str, bool], Surface],
    finish_joint: Callable[[Joint, Any], None],
    *,
    stands_free: bool = False,
) -> tuple[str, ...]:
    """Adds the links of a model, one body each; returns its movable joints in depth-first order of the file, as Bullet
    numbers them. Its root is fixed in the world, unless it stands free.
    """
    fixed = set() if stands_free else set(rigid_links(model, model.root))
    order: list[str] = []

    def add_link(parent: Any, link: Link, T_parent_link: Pose, joint: Joint | None) -> None:
        body = parent.add_body(name=_name(owner, link.name), **placed(T_parent_link))
        if link.inertial is not None:
            _set_inertial(body, link.inertial)
        if joint is not None and joint.moves:
            order.append(joint.name)
            finish_joint(joint, _add_joint(build, body, owner, joint))
        if joint is None and stands_free:
            body.add_freejoint(name=_name(owner, ROOT_JOINT))
        surface = surface_of(link.name, link.name not in fixed)
        for shape in link.collisions:
            build.shapes.add(body, shape, surface)
        for child in model.joints.values():
            if child.parent == link.name:
                add_link(body, model.links[child.child], child.T_parent_joint, child)

    add_link(build.spec.worldbody, model.links[model.root], T_world_root, None)
    return tuple(order)


def _set_inertial(body: Any, inertial: Inertial) -> None:
    """Sets mass and inertia as the file states them, links with an inertia and no mass included."""
    moments, axes = np.linalg.eigh(inertial.inertia)
    axes[:, 2] *= np.linalg.det(axes)  # right-handed
    body.explicitinertial = True
    body.mass = inertial.mass_kg
    body.ipos = inertial.com_link
    body.inertia = np.maximum(moments, 0.0)
    body.iquat = placed(Pose(axes, inertial.com_link))["quat"]


def _add_joint(build: _Builder, body: Any, owner: str, joint: Joint) -> Any:
    kinds = build.mj.mjtJoint
    made = body.add_joint(name=_name(owner, joint.name), axis=joint.axis)
    made.type = kinds.mjJNT_SLIDE if joint.kind == "prismatic" else kinds.mjJNT_HINGE
    made.limited = joint.kind != "continuous" and joint.lower < joint.upper
    made.range = [joint.lower, joint.upper]
    made.solref_limit[:] = CONTACT_SOLREF
    return made


def _apart_links(robot: RobotCfg) -> set[frozenset[str]]:
    """Returns the pairs of the robot's links that never touch."""
    model = read_urdf(model_path(robot))
    pairs = {frozenset(pair) for pair in robot.self_collision_ignored}
    pairs |= {frozenset((joint.parent, joint.child)) for joint in model.joints.values()}
    for link in model.links:
        pairs |= {frozenset((link, other)) for other in rigid_links(model, link)}
    return pairs


def _name(owner: str, name: str) -> str:
    return f"{owner}/{name}"
