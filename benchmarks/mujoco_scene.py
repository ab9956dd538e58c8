"""Builds the scene of a recorded episode in MuJoCo, from the inputs that the Bullet scene is built from.

Nothing of the Bullet scene is read: robot and objects come from their URDFs, poses from the recorded layout, motors from
the robot's description, and the friction and damping of joints from the object. Each URDF link becomes a body, so masses,
inertias and joint axes are those of the files. Needs the extra `bench`.

Rules of Bullet that are stated here once more:

- The friction of a contact is the product of the two coefficients. MuJoCo takes the larger one, so every pair of shapes
  that may touch is an explicit contact pair with its own coefficient.
- Shapes of one link, of links that no joint moves relative to each other, and of parent and child never touch. Nor do the
  pairs of `RobotCfg.self_collision_ignored`. Links of one object do not touch each other.
- A mesh is one convex hull per object of its OBJ file, and the hull grows by a margin of 1 mm.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from unlatch.objects.annotation import PartKind
from unlatch.objects.articulated_object import ObjectAsset
from unlatch.objects.friction import OBJECT_FRICTION
from unlatch.objects.scene_object import SPINDLE_KG_M2
from unlatch.robots.description import ArmCfg, RobotCfg, base_pose
from unlatch.robots.gripper import GripperCfg
from unlatch.robots.model import model_path
from unlatch.simcore.errors import AssetError, ConfigError
from unlatch.simcore.extras import import_extra
from unlatch.simcore.geometry import Pose
from unlatch.simcore.meshes.mesh_reader import read_mesh
from unlatch.simcore.urdf.model import Inertial, Joint, Link, Shape, ShapeKind, UrdfModel, rigid_links
from unlatch.simcore.urdf.reader import read_urdf
from unlatch.tasks.layout import TABLE, Layout, plinth_name
from unlatch.workflows.episode.scene import TABLE_CENTER_M, TABLE_SIZE_M

Array = np.ndarray

STEP_HZ = 960
"""Physics steps per second: four in each step of Bullet."""
BODY_FRICTION = 0.6
"""Friction of table, plinths, and links of the robot other than fingers (default of `World.load_urdf`)."""
SPINNING_FRICTION_M = 0.005
"""Coefficient of the fingers' friction about the normal of a contact, as `Arm` gives it to Bullet."""
HULL_MARGIN_M = 0.001
"""By how much Bullet's convex hulls are larger than their meshes (`gUrdfDefaultCollisionMargin`)."""
CONTACT_SOLREF = (0.004, 1.0)
"""Time constant [s] and damping ratio of contacts and limits: about the stiffest that the step allows (2 steps)."""
FRICTION_IMPEDANCE_RATIO = 10.0
"""`impratio`: how much stiffer friction is than the normal force. With 1, fingers creep along a handle."""
FINGER_SERVO_GAIN = 300.0
"""Velocity gain of the finger motors in N s/m at a sliding joint; turning joints get the same at their lever."""
ROBOT = "robot"
"""Beginning of the names of the robot's bodies and joints."""
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
        return int(self.model.jnt_qposadr[self._joint(owner, joint)])

    def dof(self, owner: str, joint: str) -> int:
        """Returns the index of a joint in `qvel`."""
        return int(self.model.jnt_dofadr[self._joint(owner, joint)])

    def motor(self, joint: str) -> int:
        """Returns the index of the motor of a joint of the robot in `ctrl`."""
        return int(self.model.actuator(_name(ROBOT, joint)).id)

    def slides(self, owner: str, joint: str) -> bool:
        """Returns whether a joint slides."""
        return bool(self.model.jnt_type[self._joint(owner, joint)] == _SLIDE)

    def _joint(self, owner: str, joint: str) -> int:
        return int(self.model.joint(_name(owner, joint)).id)


@dataclass(frozen=True)
class _Collider:
    """One shape in the model, with what decides which others it may touch."""

    geom: str
    owner: str
    link: str
    moves: bool
    friction: float
    spinning: float
    margin_m: float


@dataclass
class _Builder:
    """A specification that grows body by body."""

    mj: Any
    spec: Any
    colliders: list[_Collider] = field(default_factory=list)
    meshes: dict[tuple[Path, tuple[float, ...]], tuple[str, ...]] = field(default_factory=dict)


def build_mujoco_scene(robot: RobotCfg, assets: Mapping[str, ObjectAsset], layout: Layout) -> MujocoScene:
    """Builds table, plinths, robot and objects.

    Args:
        robot: The robot; its grippers press with their `grip_force_n`.
        assets: Objects by name, in the order of the record.
        layout: Where they stand.

    Raises:
        PluginError: MuJoCo is not installed.
        AssetError: A shape has no counterpart in MuJoCo.
    """
    mj = import_extra("mujoco", extra="bench", needed_by="The second engine")
    build = _Builder(mj, mj.MjSpec())
    _set_options(build)
    _add_box(build, TABLE, TABLE_SIZE_M, Pose.from_translation(TABLE_CENTER_M))
    _add_robot(build, robot)
    objects = {}
    for name, asset in assets.items():
        place = layout.objects[name]
        if place.plinth_size_m is not None and place.T_world_plinth is not None:
            _add_box(build, plinth_name(name), place.plinth_size_m, place.T_world_plinth)
        objects[name] = _add_object(build, name, asset, place.T_world_root)
    _add_pairs(build, {ROBOT: _excluded_links(robot)})
    return MujocoScene(build.spec.compile(), robot, objects)


def with_grip_force(robot: RobotCfg, force_n: float | None) -> RobotCfg:
    """Returns a robot whose grippers press with a force; None: with that of its description."""
    if force_n is None:
        return robot
    arms = [replace(arm, gripper=replace(arm.gripper, grip_force_n=force_n)) for arm in robot.arms]
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
    shape = Shape(ShapeKind.box, tuple(size_m), T_world_box)
    _add_shape(build, build.spec.worldbody, shape, _Collider("", name, name, False, BODY_FRICTION, 0.0, 0.0))


def _add_robot(build: _Builder, robot: RobotCfg) -> None:
    model = read_urdf(model_path(robot))
    fingers = {link: arm.gripper for arm in robot.arms for link in arm.gripper.finger_links}
    turning = {name for name, joint in model.joints.items() if joint.kind != "prismatic"}
    armatures = {
        joint: arm.gripper.armature_kg_m2 for arm in robot.arms for joint in arm.gripper.joints if joint in turning
    }

    def friction_of(link: str) -> tuple[float, float]:
        gripper = fingers.get(link)
        return (BODY_FRICTION, 0.0) if gripper is None else (gripper.friction, SPINNING_FRICTION_M)

    def finish(joint: Joint, made: Any) -> None:
        made.armature = armatures.get(joint.name, 0.0)

    _add_urdf(build, ROBOT, model, base_pose(robot), friction_of, finish)
    for arm in robot.arms:
        _add_arm_motors(build, arm)
        _couple_fingers(build, arm.gripper)
    _hold_other_joints(build, model, robot)


def _add_arm_motors(build: _Builder, arm: ArmCfg) -> None:
    gripper = arm.gripper
    for joint, most in zip(arm.joints, arm.max_effort, strict=True):
        motor = build.spec.add_actuator(name=_name(ROBOT, joint), target=_name(ROBOT, joint))
        _finish_motor(build, motor, most).set_to_motor()
    for joint, most, travel in zip(gripper.joints, gripper.efforts(), gripper.travel(), strict=True):
        lever = abs(travel) / (0.5 * gripper.max_width_m)  # motion of the joint per motion of one finger
        motor = build.spec.add_actuator(name=_name(ROBOT, joint), target=_name(ROBOT, joint))
        _finish_motor(build, motor, most).set_to_velocity(FINGER_SERVO_GAIN / lever**2)


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
        made.damping[0] = asset.damping.get(joint.name, 0.0)
        made.armature = SPINDLE_KG_M2 if joint.name in on_spindle else 0.0
        made.solref_friction[:] = CONTACT_SOLREF

    return _add_urdf(build, name, asset.model, T_world_root, lambda _: (OBJECT_FRICTION, 0.0), finish)


def _add_urdf(
    build: _Builder,
    owner: str,
    model: UrdfModel,
    T_world_root: Pose,
    friction_of: Any,
    finish_joint: Any,
) -> tuple[str, ...]:
    """Adds the links of a model, one body each, its root fixed in the world; returns its movable joints in depth-first
    order of the file, as Bullet numbers them.
    """
    fixed = set(rigid_links(model, model.root))
    order: list[str] = []

    def add_link(parent: Any, link: Link, T_parent_link: Pose, joint: Joint | None) -> None:
        body = parent.add_body(name=_name(owner, link.name), pos=T_parent_link.p, quat=_wxyz(T_parent_link))
        if link.inertial is not None:
            _set_inertial(body, link.inertial)
        if joint is not None and joint.moves:
            order.append(joint.name)
            finish_joint(joint, _add_joint(build, body, owner, joint))
        friction, spinning = friction_of(link.name)
        for shape in link.collisions:
            margin_m = HULL_MARGIN_M if shape.kind is ShapeKind.mesh else 0.0
            about = _Collider("", owner, link.name, link.name not in fixed, friction, spinning, margin_m)
            _add_shape(build, body, shape, about)
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
    body.iquat = _wxyz(Pose(axes, inertial.com_link))


def _add_joint(build: _Builder, body: Any, owner: str, joint: Joint) -> Any:
    kinds = build.mj.mjtJoint
    made = body.add_joint(name=_name(owner, joint.name), axis=joint.axis)
    made.type = kinds.mjJNT_SLIDE if joint.kind == "prismatic" else kinds.mjJNT_HINGE
    made.limited = joint.kind != "continuous" and joint.lower < joint.upper
    made.range = [joint.lower, joint.upper]
    made.solref_limit[:] = CONTACT_SOLREF
    return made


def _add_shape(build: _Builder, body: Any, shape: Shape, about: _Collider) -> None:
    types = build.mj.mjtGeom
    if shape.concave:
        raise AssetError(
            f"Link '{about.link}' of '{about.owner}' has a concave collider, which MuJoCo takes for its convex hull. "
            "Expected convex colliders. Convert the object with colliders=convexDecomposition."
        )
    pose = shape.T_link_shape
    values: list[dict[str, Any]]
    if shape.kind is ShapeKind.mesh:
        values = [{"type": types.mjGEOM_MESH, "meshname": name} for name in _add_hulls(build, shape)]
    elif shape.kind is ShapeKind.box:
        values = [{"type": types.mjGEOM_BOX, "size": [0.5 * length for length in shape.size]}]
    elif shape.kind is ShapeKind.cylinder:
        values = [{"type": types.mjGEOM_CYLINDER, "size": [shape.size[0], 0.5 * shape.size[1], 0.0]}]
    else:
        values = [{"type": types.mjGEOM_SPHERE, "size": [shape.size[0], 0.0, 0.0]}]
    for value in values:
        name = f"shape{len(build.colliders)}"
        body.add_geom(name=name, pos=pose.p, quat=_wxyz(pose), contype=0, conaffinity=0, **value)
        build.colliders.append(replace(about, geom=name))


def _add_hulls(build: _Builder, shape: Shape) -> tuple[str, ...]:
    """Adds the meshes of a shape and returns their names; a file that is used again is added once."""
    if shape.path is None:
        raise AssetError(f"Mesh '{shape.mesh}' has no file. Expected an OBJ. Convert the object.")
    key = (shape.path, tuple(shape.size))
    if key not in build.meshes:
        names = []
        for points in _hull_points(shape.path):
            names.append(f"hull{len(build.meshes)}_{len(names)}")
            build.spec.add_mesh(name=names[-1], uservert=(points * np.array(shape.size)).ravel())
        build.meshes[key] = tuple(names)
    return build.meshes[key]


def _hull_points(path: Path) -> list[Array]:
    """Returns (V, 3) the points of each hull that Bullet makes of a file: one for each object of an OBJ."""
    if path.suffix != ".obj":
        return [read_mesh(path).mesh.vertices]
    points: list[list[float]] = []
    used: list[set[int]] = [set()]
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        words = line.split()
        if words[:1] == ["v"]:
            points.append([float(word) for word in words[1:4]])
        elif words[:1] in (["o"], ["g"]):
            used.append(set())
        elif words[:1] == ["f"]:
            corners = [int(word.split("/")[0]) for word in words[1:]]
            used[-1].update(corner - 1 if corner > 0 else len(points) + corner for corner in corners)
    return [np.array(points)[sorted(indices)] for indices in used if indices]


def _excluded_links(robot: RobotCfg) -> set[frozenset[str]]:
    """Returns the pairs of the robot's links that never touch."""
    model = read_urdf(model_path(robot))
    pairs = {frozenset(pair) for pair in robot.self_collision_ignored}
    pairs |= {frozenset((joint.parent, joint.child)) for joint in model.joints.values()}
    for link in model.links:
        pairs |= {frozenset((link, other)) for other in rigid_links(model, link)}
    return pairs


def _add_pairs(build: _Builder, excluded: Mapping[str, set[frozenset[str]]]) -> None:
    for first, second in _touching_pairs(build.colliders, excluded):
        spin = first.spinning * second.friction + second.spinning * first.friction  # as Bullet combines it
        pair = build.spec.add_pair(geomname1=first.geom, geomname2=second.geom)
        pair.condim = 4 if spin > 0.0 else 3
        sliding = first.friction * second.friction
        pair.friction[:] = [sliding, sliding, max(spin, 1e-5), 1e-5, 1e-5]
        pair.margin = first.margin_m + second.margin_m
        pair.solref[:] = CONTACT_SOLREF


def _touching_pairs(
    colliders: list[_Collider], excluded: Mapping[str, set[frozenset[str]]]
) -> Iterator[tuple[_Collider, _Collider]]:
    for first, second in combinations(colliders, 2):
        if not (first.moves or second.moves):
            continue
        if first.owner != second.owner:
            yield first, second
        elif first.owner in excluded and frozenset((first.link, second.link)) not in excluded[first.owner]:
            yield first, second


def _name(owner: str, name: str) -> str:
    return f"{owner}/{name}"


def _wxyz(pose: Pose) -> list[float]:
    x, y, z, w = pose.quat_xyzw.tolist()
    return [w, x, y, z]
