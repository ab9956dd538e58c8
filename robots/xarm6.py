"""UFACTORY xArm 6 with the xArm Gripper. The model is the one in PyBullet's wheel.

Ranges, speeds and accelerations of the joints come from the maker's documentation ("Robot specifications": 180 deg/s,
1145 deg/s^2), efforts from the maker's own URDF (xarm_ros, xarm_description/urdf/xarm6.urdf.xacro), of which the model
is a copy. Stroke and force of the gripper come from its manual (V1.11.0: 84 mm, 30 N), which states no speed.

The gripper is a linkage: one motor turns the left outer knuckle, five joints mimic it, and the fingers stay parallel
while they swing in, which moves their tips 10 mm forward. The keypoints hold for fingers that grip 20 mm, the thickness
of a handle.

The rubber pads of the fingers yield like the UR5's (`robots/ur5.py`); the maker states no stiffness.

The maker states no inertia of the rotors behind their gears. We use 0.1 kg m^2 for each joint, as `xarm7.xml` of MuJoCo
Menagerie does for the xArm 7, without a source.
"""

from __future__ import annotations

from math import cos, pi, sin
from pathlib import Path

import pybullet_data

from unlatch.robots.changed_model import RepairedInertias, changed_model
from unlatch.robots.description import ArmCfg, RobotCfg
from unlatch.robots.gripper import GripperCfg

_CLOSED_RAD, _OPENED_RAD = 0.85, 0.0582
"""Positions of the drive joint: with closed fingers (the model's upper limit), and open by the maker's stroke."""
_JOINTS = tuple(f"joint{i}" for i in range(1, 7))
_INTERVALS = 8
"""Number of intervals in the table of openings, which is within 0.1 mm of the linkage."""


def urdf_path() -> Path:
    """Returns the URDF of the installed `pybullet_data` package, with repaired inertias of links 2 and 3.

    Their smallest moments become 3 and 24 % larger.
    """
    source = Path(pybullet_data.getDataPath()) / "xarm" / "xarm6_with_gripper.urdf"
    return changed_model("xarm6", source, RepairedInertias(_JOINTS))


def pad_opening_m(drive_rad: float) -> float:
    """Returns the opening between the pads at a position of the drive joint [m], from the model's geometry.

    An outer knuckle turns at 35 mm from the middle and carries the finger at (35.465, 42.039) mm, whose pad lies 26 mm
    further in.
    """
    return 2.0 * (0.035 + 0.035465 * cos(drive_rad) - 0.042039 * sin(drive_rad) - 0.026)


def xarm6() -> RobotCfg:
    """Returns the xArm 6's configuration."""
    links = ["link_base", *(f"link{i}" for i in range(1, 7)), "xarm_gripper_base_link"]
    knuckles = [f"{side}_{kind}_knuckle" for side in ("left", "right") for kind in ("outer", "inner")]
    joints = ["drive_joint", "left_finger_joint", "left_inner_knuckle_joint"]
    joints += ["right_outer_knuckle_joint", "right_finger_joint", "right_inner_knuckle_joint"]
    drives = [_CLOSED_RAD + i / _INTERVALS * (_OPENED_RAD - _CLOSED_RAD) for i in range(_INTERVALS + 1)]
    widths_m = [round(pad_opening_m(drive), 5) for drive in drives]
    gripper = GripperCfg(
        joints=joints,
        closed=[_CLOSED_RAD] * len(joints),
        opened=[_OPENED_RAD] * len(joints),
        widths_m=widths_m,
        max_width_m=widths_m[-1],
        max_force_n=30.0,
        grip_force_n=30.0,
        max_speed_m_s=0.05,
        armature_kg_m2=1e-3,
        finger_links=["left_finger", "right_finger"],
        friction=1.2,
        pad_stiffness_n_m=5e4,
        pad_damping_n_s_m=200.0,
    )
    arm = ArmCfg(
        name="left",
        base_link="link_base",
        ee_link="xarm_gripper_base_link",
        joints=list(_JOINTS),
        home=[0.0, -0.6, -1.3, 0.0, 1.9, 0.0],
        home_std=0.02,
        lower=[-2.0 * pi, -2.059, -3.927, -2.0 * pi, -1.69297, -2.0 * pi],
        upper=[2.0 * pi, 2.0944, 0.19198, 2.0 * pi, pi, 2.0 * pi],
        max_velocity=[3.14] * 6,
        max_acceleration=[20.0] * 6,
        max_effort=[50.0, 50.0, 32.0, 32.0, 32.0, 20.0],
        armature=[0.1] * 6,
        keypoints={
            "tool_head": [0.0, 0.0, 0.166],
            "tool_tail": [0.0, 0.0, 0.121],
            "tool_side": [0.0, 0.04, 0.166],
            "tool_tip": [0.0, 0.0, 0.1745],
        },
        forbidden_links=[*links, *knuckles],
        workspace=[[-0.3, -0.85, -0.1], [0.9, 0.85, 1.1]],
        gripper=gripper,
    )
    hand = ["xarm_gripper_base_link", *knuckles, "left_finger", "right_finger"]
    return RobotCfg(
        name="xarm6",
        arms=[arm],
        self_collision_ignored=[
            *([first, second] for i, first in enumerate(hand) for second in hand[i + 1 :]),
            ["link5", "xarm_gripper_base_link"],
        ],
        base_x_m=0.06,
    )
