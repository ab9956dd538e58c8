"""Franka Emika Panda with the Franka Hand. The model is the one in PyBullet's wheel.

Limits are the maker's. Ranges, speeds and efforts come from franka_ros
(franka_description/robots/panda/joint_limits.yaml), and are narrower than the model's; accelerations come from
libfranka (rate_limiting.h), stiffnesses from libfranka's example joint_impedance_control. The limits of the hand come
from the product manual 220010 v1.2 (30 to 70 N continuously, 140 N at most, 80 mm, 50 mm/s a finger). The model states
an effort of 20 N for a finger; the manual's range holds here. A finger may bear the hand's largest force, 140 N.

The rubber pads of the fingers yield like the UR5's (`robots/ur5.py`). With rigid pads, the fingers entered parts by up
to 4.6 mm, and only one of the two coupled fingers pressed on a part beside the middle. It then bore the force of both.
"""

from __future__ import annotations

from pathlib import Path

import pybullet_data

from unlatch.robots.description import ArmCfg, RobotCfg
from unlatch.robots.gripper import GripperCfg


def urdf_path() -> Path:
    """Returns the URDF in the installed `pybullet_data` package."""
    return Path(pybullet_data.getDataPath()) / "franka_panda" / "panda.urdf"


def franka_panda() -> RobotCfg:
    """Returns the Panda's configuration."""
    links = [f"panda_link{i}" for i in range(8)]
    hand = GripperCfg(
        joints=["panda_finger_joint1", "panda_finger_joint2"],
        max_width_m=0.08,
        max_force_n=70.0,
        grip_force_n=50.0,
        least_force_n=30.0,
        max_speed_m_s=0.05,
        finger_force_limit_n=140.0,
        finger_links=["panda_leftfinger", "panda_rightfinger"],
        friction=1.2,
        pad_stiffness_n_m=5e4,
        pad_damping_n_s_m=200.0,
    )
    arm = ArmCfg(
        name="left",
        base_link="panda_link0",
        ee_link="panda_hand",
        joints=[f"panda_joint{i}" for i in range(1, 8)],
        home=[0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785],
        home_std=0.02,
        lower=[-2.8973, -1.7628, -2.8973, -3.0718, -2.8973, -0.0175, -2.8973],
        upper=[2.8973, 1.7628, 2.8973, -0.0698, 2.8973, 3.7525, 2.8973],
        max_velocity=[2.175, 2.175, 2.175, 2.175, 2.61, 2.61, 2.61],
        max_acceleration=[15.0, 7.5, 10.0, 12.5, 15.0, 20.0, 20.0],
        max_effort=[87.0, 87.0, 87.0, 87.0, 12.0, 12.0, 12.0],
        stiffness=[600.0, 600.0, 600.0, 600.0, 250.0, 150.0, 50.0],
        keypoints={
            "tool_head": [0.0, 0.0, 0.1034],
            "tool_tail": [0.0, 0.0, 0.0584],
            "tool_side": [0.0, 0.04, 0.1034],
            "tool_tip": [0.0, 0.0, 0.1122],
        },
        forbidden_links=[*links, "panda_hand"],
        workspace=[[-0.3, -0.85, -0.1], [0.9, 0.85, 1.1]],
        gripper=hand,
    )
    return RobotCfg(
        name="franka_panda",
        arms=[arm],
        self_collision_ignored=[
            ["panda_leftfinger", "panda_rightfinger"],
            ["panda_hand", "panda_link7"],
            ["panda_link5", "panda_link7"],
            ["panda_hand", "panda_link6"],
        ],
    )
