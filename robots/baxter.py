"""Rethink Robotics Baxter with two electric grippers. The model is from `example-robot-data` (extra `robots`).

Joint ranges come from the maker's SDK wiki ("Hardware Specifications"). For the first four joints we keep the speed of
the model, 1.5 rad/s; the maker states 2 rad/s. The maker states no accelerations: ours stop a joint within 0.4 s.
Stroke and force of the grippers (44 mm and 35 N; the model has 41.7 mm) could not be checked again, because their data
sheet is no longer available.

The fingers differ from the model's. In its file the left hand has paddle tips and the right hand half-round ones, and
closed pads are 16 mm apart, too far for most handles. Here both hands have paddle tips, and the fingers are 8 mm
further in, so that they meet.

The springs that carry part of the arm's weight at its second joint ("springs attached to the S1 joint", SDK wiki,
"Gravity Compensation") are not in the URDF. Without them, the level arm alone needs 56 N m of a joint that has 50. The
maker does not state their effort. With the rated payload of 2.2 kg at a reach of 1.04 m they carry at least 28 N m; we
use 30.

The tips are rubber and yield like the UR5's pads (`robots/ur5.py`).

The maker states no inertia of the rotors. We use 0.01 kg m^2 for each joint, as `baxter.xml` of MuJoCo Menagerie does,
without a source. It is small because a spring lies between gear and link, which keeps the rotor out of an impact.

The torso is 0.1 m above the table, on its pedestal, and 0.2 m behind the origin.
"""

from __future__ import annotations

import copy
import xml.etree.ElementTree as ET
from pathlib import Path

from unlatch.robots.changed_model import align_inertias, changed_model, repair_inertias
from unlatch.robots.description import ArmCfg, RobotCfg
from unlatch.robots.gripper import GripperCfg
from unlatch.robots.model import example_robot_urdf
from unlatch.simcore.errors import AssetError

TRAVEL_M = 0.020833
"""How far each finger moves [m]."""
_SIDES = ("left", "right")
_PAD_GAP_M = 0.016
_SPRING_N_M = 30.0
"""Effort of the springs at the second joint where the upper arm is level."""
_JOINTS = ("s0", "s1", "e0", "e1", "w0", "w1", "w2")
_TWISTS = ("s0", "e0", "w0", "w2")
_HOME = [0.375, -0.89, -1.69, 1.667, 0.676, 1.57, 0.22]
"""Home of the left arm, with its elbow out to the side; the right arm mirrors it [rad]."""
_ARM_LINKS = (
    "upper_shoulder",
    "lower_shoulder",
    "upper_elbow",
    "upper_elbow_visual",
    "lower_elbow",
    "upper_forearm",
    "upper_forearm_visual",
    "lower_forearm",
    "wrist",
    "hand_link",
    "gripper_base_link",
)


def urdf_path() -> Path:
    """Returns the URDF, made on first use from that of `example-robot-data`, with the fingers further in.

    Raises:
        AssetError: The extra `robots` is not installed.
    """
    return changed_model(
        "baxter", example_robot_urdf("baxter_description/urdf/baxter.urdf", robot="baxter"), _make_hands_alike
    )


def baxter() -> RobotCfg:
    """Returns the configuration of both arms."""
    ignored = [[f"{side}_{a}", f"{side}_{b}"] for side in _SIDES for a, b in _OVERLAPPING]
    ignored += [list(pair) for pair in _HEAD]
    for side in _SIDES:
        hand = [*_finger_links(side), f"{side}_gripper_base_link"]
        ignored += [[a, b] for i, a in enumerate(hand) for b in hand[i + 1 :]]
        ignored += [["torso", f"{side}_{link}"] for link in _ON_TORSO]
    return RobotCfg(
        name="baxter",
        arms=[_make_arm(side) for side in _SIDES],
        self_collision_ignored=ignored,
        base_x_m=-0.2,
        base_height_m=0.1,
    )


_OVERLAPPING = (
    ("upper_shoulder", "upper_elbow"),
    ("upper_elbow_visual", "upper_elbow"),
    ("upper_elbow_visual", "lower_elbow"),
    ("upper_elbow_visual", "upper_forearm"),
    ("upper_forearm_visual", "upper_forearm"),
    ("upper_forearm_visual", "lower_forearm"),
    ("upper_forearm_visual", "wrist"),
)
"""Links of an arm whose cylinders overlap next to a joint, as in the package's own SRDF."""
_ON_TORSO = ("upper_shoulder", "lower_shoulder", "upper_elbow", "upper_elbow_visual")
"""Links near the armpits, inside the convex hull of the torso."""
_HEAD = tuple(
    (sphere, link) for sphere in ("collision_head_link_1", "collision_head_link_2") for link in ("head", "screen")
)
"""The head turns inside spheres that keep the arms away from it."""


def _make_arm(side: str) -> ArmCfg:
    gripper = GripperCfg(
        joints=[f"{side[0]}_gripper_l_finger_joint", f"{side[0]}_gripper_r_finger_joint"],
        closed=[0.0, 0.0],
        opened=[TRAVEL_M, -TRAVEL_M],
        max_width_m=2.0 * TRAVEL_M,
        max_force_n=35.0,
        grip_force_n=35.0,
        max_speed_m_s=0.05,
        finger_links=_finger_links(side),
        friction=1.2,
        pad_stiffness_n_m=5e4,
        pad_damping_n_s_m=200.0,
    )
    return ArmCfg(
        name=side,
        base_link=f"{side}_arm_mount",
        ee_link=f"{side}_gripper_base_link",
        joints=[f"{side}_{joint}" for joint in _JOINTS],
        home=[-q if side == "right" and joint in _TWISTS else q for joint, q in zip(_JOINTS, _HOME, strict=True)],
        home_std=0.02,
        lower=[-1.7016, -2.147, -3.0541, -0.05, -3.059, -1.5707, -3.059],
        upper=[1.7016, 1.047, 3.0541, 2.618, 3.059, 2.094, 3.059],
        max_velocity=[1.5, 1.5, 1.5, 1.5, 4.0, 4.0, 4.0],
        max_acceleration=[5.0, 5.0, 5.0, 5.0, 10.0, 10.0, 10.0],
        max_effort=[50.0, 50.0, 50.0, 50.0, 15.0, 15.0, 15.0],
        armature=[0.01] * 7,
        keypoints={
            "tool_head": [0.0, 0.0, 0.1235],
            "tool_tail": [0.0, 0.0, 0.0785],
            "tool_side": [0.0, 0.04, 0.1235],
            "tool_tip": [0.0, 0.0, 0.1362],
        },
        forbidden_links=[f"{side}_{link}" for link in _ARM_LINKS],
        workspace=[[-0.6, -1.3, -0.9], [1.3, 1.3, 1.1]],
        gripper=gripper,
        counterbalance={f"{side}_s1": -_SPRING_N_M},
    )


def _finger_links(side: str) -> list[str]:
    names = [f"{side[0]}_gripper_{finger}_finger" for finger in ("l", "r")]
    return [*names, *(f"{name}_tip" for name in names)]


def _make_hands_alike(robot: ET.Element) -> None:
    """Gives the right hand the tips of the left one and moves all fingers further in."""
    links = {link.get("name"): link for link in robot.iter("link")}
    joints = {joint.get("name"): joint for joint in robot.iter("joint") if joint.get("type")}
    for finger, sign in (("l", 1.0), ("r", -1.0)):
        tip, other = links.get(f"l_gripper_{finger}_finger_tip"), links.get(f"r_gripper_{finger}_finger_tip")
        if tip is None or other is None:
            raise AssetError(
                f"The Baxter of example-robot-data has no tip on finger '{finger}' of each hand. Install the version "
                "that pyproject.toml names."
            )
        for element in list(other):
            other.remove(element)
        other.extend(copy.deepcopy(element) for element in tip)
        for side in _SIDES:
            origin = joints[f"{side[0]}_gripper_{finger}_finger_joint"].find("origin")
            if origin is not None:
                x, y, z = (float(value) for value in origin.get("xyz", "0 0 0").split())
                origin.set("xyz", f"{x:g} {y - sign * _PAD_GAP_M / 2:g} {z:g}")
    repair_inertias(robot)
    align_inertias(robot, [f"{side}_{joint}" for side in _SIDES for joint in _JOINTS])
