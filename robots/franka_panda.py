"""Franka Emika Panda with the Franka Hand. The model is the one in PyBullet's wheel.

Limits are the maker's. Ranges, speeds and efforts come from franka_ros
(franka_description/robots/panda/joint_limits.yaml), and are narrower than the model's; accelerations come from
libfranka (rate_limiting.h), stiffnesses from libfranka's example joint_impedance_control. The limits of the hand come
from the product manual 220010 v1.2 (30 to 70 N continuously, 140 N at most, 80 mm, 50 mm/s a finger). The model states
an effort of 20 N for a finger; the manual's range holds here. A finger may bear the hand's largest force, 140 N.

The rubber pads of the fingers yield like the UR5's (`robots/ur5.py`). With rigid pads, the fingers entered parts by up
to 4.6 mm, and only one of the two coupled fingers pressed on a part beside the middle. It then bore the force of both.

The model in the wheel states 0.1 kg m^2 for each link, frames without mass included. Here the links have the masses and
inertias that Gaz, Cognetti, Oliva, Robuffo Giordano and De Luca identified (2019, IEEE RA-L 4 (4), 4147-4154), as in
`panda.xml` of MuJoCo Menagerie; hand and fingers have those of franka_description
(end_effectors/franka_hand/inertials.yaml).

The inertias of the rotors behind their gears are those that Franka gives for the Research 3, the successor with the
same torques (quoted in Drake, manipulation/models/franka_description/README.md). Franka publishes none for the Panda.
MuJoCo Menagerie has 0.1 kg m^2 for each joint, without a source.
"""

from __future__ import annotations

import shutil
import xml.etree.ElementTree as ET
from functools import lru_cache
from pathlib import Path

import numpy as np
import pybullet_data

from unlatch.robots.changed_model import align_inertias, cached_model, repair_inertias, to_text, write_inertia
from unlatch.robots.description import ArmCfg, RobotCfg
from unlatch.robots.gripper import GripperCfg
from unlatch.simcore.cache import cache_root
from unlatch.simcore.urdf.xml import parse_xml

_JOINTS = tuple(f"panda_joint{i}" for i in range(1, 8))
_INERTIALS: dict[str, tuple[float, tuple[float, ...], tuple[float, ...]]] = {
    "panda_link0": (
        0.629769,
        (-0.041018, -0.00014, 0.049974),
        (0.00315, 8.2904e-7, 0.00015, 0.00388, 8.2299e-6, 0.004285),
    ),
    "panda_link1": (
        4.970684,
        (0.003875, 0.002081, -0.04762),
        (0.70337, -0.000139, 0.006772, 0.70661, 0.019169, 0.009117),
    ),
    "panda_link2": (
        0.646926,
        (-0.003141, -0.02872, 0.003495),
        (0.007962, -0.003925, 0.010254, 0.02811, 0.000704, 0.025995),
    ),
    "panda_link3": (
        3.228604,
        (0.027518, 0.039252, -0.066502),
        (0.037242, -0.004761, -0.011396, 0.036155, -0.012805, 0.01083),
    ),
    "panda_link4": (
        3.587895,
        (-0.05317, 0.104419, 0.027454),
        (0.025853, 0.007796, -0.001332, 0.019552, 0.008641, 0.028323),
    ),
    "panda_link5": (
        1.225946,
        (-0.011953, 0.041065, -0.038437),
        (0.035549, -0.002117, -0.004037, 0.029474, 0.000229, 0.008627),
    ),
    "panda_link6": (
        1.666555,
        (0.060149, -0.014117, -0.010517),
        (0.001964, 0.000109, -0.001158, 0.004354, 0.000341, 0.005433),
    ),
    "panda_link7": (
        0.735522,
        (0.010517, -0.004252, 0.061597),
        (0.012516, -0.000428, -0.001196, 0.010027, -0.000741, 0.004815),
    ),
    "panda_hand": (
        0.6544,
        (-0.0000376, 0.0119128, 0.020726),
        (0.00186, 0.0, 0.0, 0.0003, -0.00002, 0.00174),
    ),
    "panda_leftfinger": (
        0.0291,
        (0.0, 0.015285, 0.0219675),
        (8.49e-6, 0.0, 0.0, 8.53e-6, -1.06e-6, 1.77e-6),
    ),
    "panda_rightfinger": (
        0.0291,
        (0.0, -0.015285, 0.0219675),
        (8.49e-6, 0.0, 0.0, 8.53e-6, 1.06e-6, 1.77e-6),
    ),
}
"""Mass [kg], centre of mass in the link frame [m] and inertia about it (xx, xy, xz, yy, yz, zz) [kg m^2] of each link;
the other links are frames. The right finger is the left one, turned by half a turn about the hand's approach axis.
"""


def urdf_path() -> Path:
    """Returns the URDF, made on first use from that of the installed `pybullet_data` package, with the links' inertias.

    Raises:
        AssetError: The package's URDF is missing or damaged, or the cache cannot be written.
    """
    return _make_model(cache_root())


def drawn_urdf_path() -> Path:
    """Returns the URDF for pictures: the same joints and colliders, with the maker's visual meshes where they exist.

    Raises:
        AssetError: As `urdf_path`.
    """
    from unlatch.robots.drawn.panda import drawn_panda

    return drawn_panda(urdf_path())


@lru_cache(maxsize=4)
def _make_model(root: Path) -> Path:
    source = Path(pybullet_data.getDataPath()) / "franka_panda" / "panda.urdf"
    robot = parse_xml(source)
    _set_inertials(robot)
    return model_with_meshes(root, "franka_panda", to_text(robot), source.parent / "meshes")


def model_with_meshes(root: Path, name: str, text: str, meshes: Path) -> Path:
    """Returns a URDF of the Panda with this text below the cache folder `root`, with a copy of its folder of meshes."""
    files = [(path.name, path) for path in sorted(meshes.glob("*/*")) if path.is_file()]

    def write_model(temporary: Path) -> None:
        # beside the URDF, as in the original: a URDF names no files outside its own folder
        shutil.copytree(meshes, temporary / "meshes")
        (temporary / f"{name}.urdf").write_text(text, encoding="utf-8")

    return cached_model(root, name, text, files, write_model)


def _set_inertials(robot: ET.Element) -> None:
    """Gives the links their masses and inertias, in place."""
    for link in robot.iter("link"):
        for old in link.findall("inertial"):
            link.remove(old)
        mass_kg, com, moments = _INERTIALS.get(link.get("name", ""), (0.0, (), ()))
        if mass_kg == 0.0:
            continue
        inertial = ET.SubElement(link, "inertial")
        ET.SubElement(inertial, "origin", {"xyz": " ".join(f"{value:g}" for value in com), "rpy": "0 0 0"})
        ET.SubElement(inertial, "mass", {"value": f"{mass_kg:g}"})
        xx, xy, xz, yy, yz, zz = moments
        write_inertia(ET.SubElement(inertial, "inertia"), np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]))
    repair_inertias(robot)
    align_inertias(robot, _JOINTS)


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
        joints=list(_JOINTS),
        home=[0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785],
        home_std=0.02,
        lower=[-2.8973, -1.7628, -2.8973, -3.0718, -2.8973, -0.0175, -2.8973],
        upper=[2.8973, 1.7628, 2.8973, -0.0698, 2.8973, 3.7525, 2.8973],
        max_velocity=[2.175, 2.175, 2.175, 2.175, 2.61, 2.61, 2.61],
        max_acceleration=[15.0, 7.5, 10.0, 12.5, 15.0, 20.0, 20.0],
        max_effort=[87.0, 87.0, 87.0, 87.0, 12.0, 12.0, 12.0],
        stiffness=[600.0, 600.0, 600.0, 600.0, 250.0, 150.0, 50.0],
        armature=[0.606, 0.606, 0.462, 0.462, 0.206, 0.206, 0.206],
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
