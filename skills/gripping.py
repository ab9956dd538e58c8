"""Chooses the force with which a hand grips a part, as its user sets it before the work begins.

A grip by friction holds the load `2 * friction * force / safety`, because two pads press with the force (Robotiq,
instruction manual of the Hand-E, "Payload and force"). So `force = safety * load / (2 * friction)`. The load is the
force at the handle that moves the part. A pad may also stand behind the handle and carry the load without friction. The
rule does not count that, so the force is then larger than needed.
"""

from __future__ import annotations

import numpy as np

from unlatch.objects.annotation import Part
from unlatch.objects.articulated_object import ObjectAsset
from unlatch.objects.friction import OBJECT_FRICTION
from unlatch.robots.description import GripperCfg
from unlatch.simcore.geometry import Pose
from unlatch.simcore.urdf.model import UrdfModel
from unlatch.solver.timing import HINGE_SPEED_RAD_S, PART_RISE_HZ, SLIDER_SPEED_M_S

SAFETY_FACTOR = 2.4
"""Factor on the load. It is that of the example in Robotiq's manual, which leaves the choice to the user."""
CARRYING_M_S2 = 5.0
"""Acceleration of a carried object for which the grip is chosen [m/s^2]."""
_GRAVITY_M_S2 = 9.81
_LEAST_LEVER_M = 1e-3


def grip_force(gripper: GripperCfg, load_n: float) -> float:
    """Returns the force with which a hand grips a part [N].

    It lies between `least_force_n` and `grip_force_n` of the hand. A heavier load, see `handle_load` [N], gets
    `grip_force_n`. The friction of a contact is the product of the pads' and `OBJECT_FRICTION`. A friction that is
    drawn by randomization is not known when the force is chosen.
    """
    friction = gripper.friction * OBJECT_FRICTION
    return gripper.commanded_force(SAFETY_FACTOR * load_n / (2.0 * friction))


def load_of(asset: ObjectAsset, part: str | None) -> float:
    """Returns the load of a hand that moves a part or, if `part` is None, carries the whole object [N].

    An object is carried by its weight, and its inertia at `CARRYING_M_S2`.
    """
    if part is None:
        return asset.mass_kg * (_GRAVITY_M_S2 + CARRYING_M_S2)
    return handle_load(asset, asset.articulation.part(part))


def handle_load(asset: ObjectAsset, part: Part) -> float:
    """Returns the force at the handle that moves a part as fast as the planner moves it [N].

    It is `joint_load` at the lever of the handle, the force that opens a catch or gasket, and that which presses a
    childproof cap down.
    """
    T_root_joint, axis = _find_axis(asset, part)
    lever_m = 1.0
    if asset.model.joints[part.joint].kind != "prismatic":
        # the distance from the axis at which the fingers press: on a knob, at half its width
        head = part.keypoint("articulated_object_head")
        links = {"link": part.link, "base": part.base, "obj": asset.model.root}
        T_root_frame = asset.model.link_pose(links[head.frame], asset.articulation.closed_positions())
        away_m = _measure_distance_to_axis(T_root_frame @ head.xyz, T_root_joint.p, axis)
        lever_m = max(away_m, 0.5 * float(min(part.handle.size[1:])), _LEAST_LEVER_M)
    load_n = joint_load(asset, part) / lever_m + part.peak_opening_force_n
    if asset.articulation.mechanisms:
        from unlatch.skills.mechanism_steps import press_load

        load_n += press_load(asset, part)
    return load_n


def joint_load(asset: ObjectAsset, part: Part) -> float:
    """Returns the effort at the joint that moves a part as fast as the planner moves it [N m or N].

    It is the sum of the dry friction and the damping of the joint, the weight along its motion, and the part's inertia.
    Friction, damping, mass and inertia are those of the object's files. The weight of a hinged part counts where its
    lever is longest.
    """
    joint = asset.model.joints[part.joint]
    T_root_joint, axis = _find_axis(asset, part)
    sliding = joint.kind == "prismatic"
    mass_kg, com, inertia_kg_m2 = _sum_moving_mass(asset, joint.child, axis, T_root_joint.p)
    upright = float(abs(axis[2]))
    if sliding:
        speed, inertia, weight = SLIDER_SPEED_M_S, mass_kg, mass_kg * _GRAVITY_M_S2 * upright
    else:
        arm_m = _measure_distance_to_axis(com, T_root_joint.p, axis)
        weight = mass_kg * _GRAVITY_M_S2 * arm_m * float(np.sqrt(max(0.0, 1.0 - upright**2)))
        speed, inertia = HINGE_SPEED_RAD_S, inertia_kg_m2
    effort = asset.friction.get(part.joint, 0.0) + asset.damping.get(part.joint, 0.0) * speed
    effort += weight + inertia * PART_RISE_HZ * speed
    return effort


def steady_load(asset: ObjectAsset, part: Part, *, opens: bool) -> float:
    """Returns the effort at the joint that keeps a part moving as fast as the planner moves it [N m or N].

    It is the dry friction and the damping of the joint and, of a slider, its weight along the motion. It is negative if
    the part would slide down by itself.
    """
    sliding = asset.model.joints[part.joint].kind == "prismatic"
    speed = SLIDER_SPEED_M_S if sliding else HINGE_SPEED_RAD_S
    effort = asset.friction.get(part.joint, 0.0) + asset.damping.get(part.joint, 0.0) * speed
    if sliding:
        T_root_joint, axis = _find_axis(asset, part)
        mass_kg, _, _ = _sum_moving_mass(asset, asset.model.joints[part.joint].child, axis, T_root_joint.p)
        effort += mass_kg * _GRAVITY_M_S2 * float(axis[2]) * part.openness.sign * (1.0 if opens else -1.0)
    return effort


def _find_axis(asset: ObjectAsset, part: Part) -> tuple[Pose, np.ndarray]:
    """Returns the frame of a part's joint, and its axis (3,), in the object's root link frame."""
    model, joint = asset.model, asset.model.joints[part.joint]
    T_root_joint: Pose = model.link_pose(joint.child, asset.articulation.closed_positions())
    return T_root_joint, T_root_joint.rotate(joint.axis / np.linalg.norm(joint.axis))


def _measure_distance_to_axis(point: np.ndarray, origin: np.ndarray, axis: np.ndarray) -> float:
    return float(np.linalg.norm(np.cross(point - origin, axis)))


def _sum_moving_mass(
    asset: ObjectAsset, top: str, axis: np.ndarray, origin: np.ndarray
) -> tuple[float, np.ndarray, float]:
    """Returns mass [kg], centre of mass (3,) [m] and inertia about an axis [kg m^2] of a link and all that it carries.

    Positions are those of the closed object in its root link frame.
    """
    model: UrdfModel = asset.model
    mass_kg, moment, inertia = 0.0, np.zeros(3), 0.0
    for name, link in model.links.items():
        if link.inertial is None or not model.is_below(name, top):
            continue
        T_root_link = model.link_pose(name, asset.articulation.closed_positions())
        com, axis_link = T_root_link @ link.inertial.com_link, T_root_link.R.T @ axis
        mass_kg += link.inertial.mass_kg
        moment += link.inertial.mass_kg * com
        inertia += float(axis_link @ link.inertial.inertia @ axis_link)
        inertia += link.inertial.mass_kg * _measure_distance_to_axis(com, origin, axis) ** 2
    return mass_kg, moment / mass_kg if mass_kg > 0.0 else origin, inertia
